import Foundation
import SyncEngine
import Synchronization
import TestSupport
import Testing

@testable import SyncCommand

@Suite("The status page, the metrics and the health answers", .fewAtATime, .once)
struct StatusPageTests {
  private static let token = "0123456789abcdef0123"

  private static func site(
    _ address: String = "127.0.0.1:0", token: String? = nil,
    _ snapshot: @escaping @Sendable () -> ServiceSnapshot = { SampleService.snapshot() }
  ) throws -> ServiceSite {
    let site = try ServiceSite(address: address, token: token, snapshot: snapshot)
    try site.start()
    return site
  }

  /// The status, and the head with the body.
  private static func get(_ site: ServiceSite, _ path: String, _ words: String...) throws -> (Int, String) {
    let port = try #require(site.port)
    let result = try Shell.result(
      ["curl", "-sS", "-i", "--max-time", "120", "http://127.0.0.1:\(port)\(path)"] + words)
    let text = result.output.replacingOccurrences(of: "\r\n", with: "\n")
    let status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return (try #require(status, "\(result)"), text)
  }

  // MARK: Where it listens, and who may look

  @Test(
    "an address to listen on",
    arguments: [
      ("127.0.0.1:9469", "127.0.0.1", 9469, true), ("127.8.9.1:0", "127.8.9.1", 0, true),
      ("[::1]:80", "::1", 80, true), ("localhost:65535", "localhost", 65_535, true),
      ("LOCALHOST:1", "LOCALHOST", 1, true), ("[0:0::1]:1", "0:0::1", 1, true),
      ("0.0.0.0:1", "0.0.0.0", 1, false), ("[::]:1", "::", 1, false), ("127.1:1", "127.1", 1, false),
      ("[::ffff:127.0.0.1]:1", "::ffff:127.0.0.1", 1, false),
      ("my-host_2.example:1", "my-host_2.example", 1, false),
      ("[fe80::1%eth0]:1", "fe80::1%eth0", 1, false), ("128.0.0.1:1", "128.0.0.1", 1, false),
      ("localhost.example:1", "localhost.example", 1, false),
    ])
  func address(_ text: String, host: String, port: Int, isLoopback: Bool) throws {
    let address = try ListenAddress(text)
    #expect(address.host == host && address.port == port && address.isLoopback == isLoopback)
    #expect("\(address)" == text)
  }

  @Test(
    "what is no address to listen on",
    arguments: [
      ("9469", "the address is missing; write 127.0.0.1:9469"),
      ("localhost", "the port is missing; write localhost:9469"),
      (":9469", "the address is missing; write 127.0.0.1:9469"),
      ("http://127.0.0.1:9469", "neither a scheme nor a path belongs to it; write 127.0.0.1:9469"),
      ("127.0.0.1:9469/metrics", "neither a scheme nor a path belongs to it; write 127.0.0.1:9469"),
      ("::1:9469", "an IPv6 address stands in brackets, as in [::1]:9469"),
      ("[::g]:9469", "there is no IPv6 address between the brackets"),
      ("[127.0.0.1]:9469", "there is no IPv6 address between the brackets"),
      ("*:9469", "write 0.0.0.0:9469 or [::]:9469 for all addresses of the machine"),
      ("127.0.0.1:", "the port has to be a number up to 65535, as in 127.0.0.1:9469"),
      ("127.0.0.1:65536", "the port has to be a number up to 65535, as in 127.0.0.1:9469"),
      ("127.0.0.1:-1", "the port has to be a number up to 65535, as in 127.0.0.1:9469"),
      ("127.0.0.1:٣", "the port has to be a number up to 65535, as in 127.0.0.1:9469"),
      ("127.0.0.1:99999999999999999999", "the port has to be a number up to 65535, as in 127.0.0.1:9469"),
      ("höst:1", "\"höst\" is neither an address nor a name"),
      ("a b:1", "\"a b\" is neither an address nor a name"),
      ("", "write 127.0.0.1:9469"),
    ])
  func noAddress(_ text: String, reason: String) {
    let error = #expect(throws: UsageError.self) { try ListenAddress(text) }
    #expect(error?.description == "\"\(text)\" is no address to listen on: \(reason)")
  }

  @Test("other machines can ask only where there is a token that keeps somebody out")
  func tokenNeeded() {
    func message(_ address: String, _ token: String?) -> String? {
      #expect(throws: UsageError.self) {
        try ServiceSite(address: address, token: token) { SampleService.snapshot() }
      }?.description
    }
    #expect(
      message("0.0.0.0:9469", nil)
        == "0.0.0.0:9469 may be reached by other machines, so a token is needed: set \"http_token\" in the configuration, or listen on 127.0.0.1:9469"
    )
    #expect(
      message("[::]:9469", "")?.hasPrefix("\"http_token\" is too short to keep anyone out: 20 ") == true)
    #expect(message("127.0.0.1:9469", "short")?.hasPrefix("\"http_token\" is too short") == true)
    #expect(
      message("0.0.0.0:9469", "0123456789 abcdef 012")?
        .hasPrefix("\"http_token\" may have visible ASCII characters alone") == true)
    #expect(throws: Never.self) {
      try ServiceSite(address: "0.0.0.0:9469", token: Self.token) { SampleService.snapshot() }
    }
  }

  @Test("with a token: Bearer, or the password of any user; /healthz needs none")
  func token() throws {
    let site = try Self.site("0.0.0.0:0", token: Self.token)
    for path in ["/", "/metrics", "/readyz", "/nosuch"] {
      let (status, answer) = try Self.get(site, path)
      #expect(status == 401 && answer.contains("\nWWW-Authenticate: Basic realm=\"syncd\""), "\(answer)")
      #expect(answer.contains("\nWWW-Authenticate: Bearer realm=\"syncd\"\n") && !answer.contains("book"))
    }
    #expect(try Self.get(site, "/healthz").0 == 200)
    #expect(try Self.get(site, "/", "-H", "Authorization: Bearer \(Self.token)").0 == 200)
    #expect(try Self.get(site, "/", "-H", "authorization: bearer \(Self.token)").0 == 200)
    #expect(try Self.get(site, "/", "-u", "anyone:\(Self.token)").0 == 200)
    #expect(try Self.get(site, "/", "-u", ":\(Self.token)", "-H", "Host: any.example").0 == 200)
    for wrong in [
      "Bearer", "Bearer ", "Bearer \(Self.token)x", "Bearer \(Self.token.dropLast())", "Basic \(Self.token)",
      "Basic", "Digest \(Self.token)", Self.token, "Bearer \(Self.token) x", "Basic Og==", "Basic YQ==",
    ] {
      #expect(try Self.get(site, "/metrics", "-H", "Authorization: \(wrong)").0 == 401, "\(wrong)")
    }
    #expect(try Self.get(site, "/", "-u", "\(Self.token):wrong").0 == 401)
  }

  @Test(
    "on loopback without a token the names of other hosts are refused, as a browser sends them after DNS rebinding"
  )
  func hosts() throws {
    let site = try Self.site()
    for host in ["localhost", "LOCALHOST:9469", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:9469", ""] {
      #expect(try Self.get(site, "/", "-H", host.isEmpty ? "Host:" : "Host: \(host)").0 != 421, "\(host)")
    }
    for host in [
      "evil.example", "evil.example:9469", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1",
      "[::2]",
      "[::1].evil.example", "localhost:9469.evil.example", "localhost@evil.example", "[::1", "::1",
    ] {
      for path in ["/", "/metrics", "/healthz"] {
        let (status, answer) = try Self.get(site, path, "-H", "Host: \(host)")
        #expect(status == 421 && !answer.contains("book"), "\(host): \(answer)")
      }
    }
  }

  // MARK: Routes

  @Test("four pages, with headers that keep them where they are")
  func routes() throws {
    let site = try Self.site()
    for (path, type) in [
      ("/", "text/html; charset=utf-8"), ("/metrics", "text/plain; version=0.0.4; charset=utf-8"),
      ("/healthz", "text/plain; charset=utf-8"), ("/readyz", "text/plain; charset=utf-8"),
      ("/nosuch", "text/plain; charset=utf-8"),
    ] {
      let (status, answer) = try Self.get(site, path)
      #expect(status == ["/readyz": 503, "/nosuch": 404][path, default: 200], "\(path)")
      for header in [
        "Content-Type: \(type)", "X-Content-Type-Options: nosniff", "Cache-Control: no-store",
        "Referrer-Policy: no-referrer", "X-Frame-Options: DENY", "Cross-Origin-Resource-Policy: same-origin",
      ] {
        #expect(answer.contains("\n\(header)\n"), "\(path): \(header)")
      }
    }
    #expect(
      try Self.get(site, "/nosuch").1.hasSuffix(
        "there is no such page; there are /, /metrics, /healthz and /readyz\n"))
    #expect(try Self.get(site, "/metrics", "-X", "POST").0 == 405)
    #expect(try Self.get(site, "/", "--head").1.hasSuffix("\n\n"))
    site.stop()
    #expect(site.port == nil)
    try site.start()
    #expect(try Self.get(site, "/healthz").1.hasSuffix("\n\nok\n"))
  }

  @Test("a hundred clients at the same time see the whole page")
  func manyClients() throws {
    let site = try Self.site()
    let size = StatusPage.html(SampleService.snapshot()).utf8.count
    let result = try Shell.result([
      "curl", "-sS", "-Z", "--parallel-immediate", "--parallel-max", "100", "-o", "/dev/null", "-w",
      "%{http_code} %{size_download}\n", "http://127.0.0.1:\(try #require(site.port))/?[1-200]",
    ])
    #expect(result.output == String(repeating: "200 \(size)\n", count: 200), "\(result.errors)")
  }

  @Test("healthy while the scheduler turns")
  func health() throws {
    let age = Mutex(Duration.milliseconds(29_999))
    let site = try Self.site {
      var snapshot = SampleService.snapshot()
      snapshot.heartbeatAge = age.withLock { $0 }
      return snapshot
    }
    #expect(try Self.get(site, "/healthz").0 == 200)
    age.withLock { $0 = .seconds(45) }
    let (status, answer) = try Self.get(site, "/healthz")
    #expect(status == 503 && answer.hasSuffix("\n\nthe scheduler has not turned for 45 s\n"), "\(answer)")
    #expect(try Self.get(site, "/readyz").1.contains("\n\nthe scheduler has not turned for 45 s\n"))
    #expect(try Self.get(site, "/").1.contains("Not healthy: the scheduler has not turned for 45 s."))
  }

  @Test("ready while every entity is as fresh as was asked for")
  func readiness() throws {
    func unready(_ change: (inout EntitySnapshot) -> Void, upFor milliseconds: Int64 = 86_400_000) -> [String]
    {
      var entity = SampleService.entity("book")
      change(&entity)
      var snapshot = SampleService.snapshot([entity])
      snapshot.started = snapshot.now - milliseconds
      return ServiceHealth(snapshot).unready
    }
    let noon = SampleService.noon
    #expect(unready { _ in } == [])
    // Three intervals of 30 seconds, and a minute.
    #expect(unready { $0.lastSuccess = noon - 150_000 } == [])
    #expect(
      unready { ($0.lastSuccess, $0.failures, $0.lastError) = (noon - 151_000, 2, "HTTP 502\nfurther") }
        == ["book: last success 2 min ago, expected within 2 min: HTTP 502"])
    // A run that fails once is no reason yet.
    #expect(unready { ($0.failures, $0.lastError) = (1, "HTTP 502") } == [])
    // Runs that take ten minutes may be half an hour old.
    #expect(
      unready {
        $0.runs = [SampleService.run("book", ago: 1700, took: 600_000)]
        $0.lastSuccess = noon - 1_700_000
      } == [])
    // The first round: an old success, or none, is no reason until a run has ended or should have.
    func fresh(_ entity: inout EntitySnapshot) {
      (entity.lastSuccess, entity.totals.runs, entity.runs) = (nil, [:], [])
    }
    #expect(unready({ fresh(&$0) }, upFor: 150_000) == [])
    #expect(
      unready(
        {
          fresh(&$0)
          $0.lastSuccess = noon - 86_400_000
          $0.totals.runs = ["busy": 1, "failed": 0]
        }, upFor: 1000) == [])
    #expect(unready({ fresh(&$0) }, upFor: 151_000) == ["book: no success yet"])
    #expect(
      unready(
        {
          fresh(&$0)
          ($0.failures, $0.lastError, $0.totals.runs) = (1, "HTTP 502", ["failed": 1])
        }, upFor: 1000) == ["book: no success yet: HTTP 502"])
    // A clock that was set back makes nothing old.
    #expect(unready { $0.lastSuccess = noon + 3_600_000 } == [])
    #expect(
      ServiceHealth(SampleService.snapshot()).unready.map { String($0.prefix { $0 != ":" }) } == [
        "article", "post",
      ])
  }

  // MARK: Metrics

  @Test("promtool finds nothing to say about the metrics")
  func promtool() throws {
    var snapshot = SampleService.snapshot()
    snapshot.entities.append(SampleService.entity("we\"ird\\na\nme é ", table: "a\"b"))
    for text in [Metrics.text(snapshot), Metrics.text(SampleService.snapshot([]))] {
      let result = try Shell.result(["promtool", "check", "metrics"], input: Data(text.utf8))
      #expect(result == Shell.Result(status: 0, output: "", errors: ""), "\(result)\n\(text)")
    }
  }

  @Test("the metrics of one entity, whole")
  func metrics() throws {
    var process = ProcessUse()
    (process.processorTime, process.residentMemory, process.virtualMemory) = (1.25, 27_000_000, nil)
    (process.threads, process.openFiles, process.openFilesLimit) = (9, 14, 1024)
    var entity = SampleService.entity("bo\"ok")
    (entity.totals.duplicates, entity.totals.rejected, entity.nextRun) = (4, 5, nil)
    let text = Metrics.text(SampleService.snapshot([entity]), process: process)
      .split(separator: "\n").filter { !$0.hasPrefix("# HELP") }.joined(separator: "\n")
    expect(
      text,
      is: #"""
        # TYPE syncd_build_info gauge
        syncd_build_info{program="syncd",version="0.1.0"} 1
        # TYPE syncd_scheduler_heartbeat_age_seconds gauge
        syncd_scheduler_heartbeat_age_seconds 0.04
        # TYPE syncd_alerts_total counter
        syncd_alerts_total{result="sent"} 3
        syncd_alerts_total{result="failed"} 1
        syncd_alerts_total{result="dropped"} 0
        # TYPE syncd_entity_info gauge
        syncd_entity_info{entity="bo\"ok",table="bo\"ok",api="library"} 1
        # TYPE syncd_interval_seconds gauge
        syncd_interval_seconds{entity="bo\"ok"} 30
        # TYPE syncd_rows gauge
        syncd_rows{entity="bo\"ok"} 1234
        # TYPE syncd_running gauge
        syncd_running{entity="bo\"ok"} 0
        # TYPE syncd_consecutive_failures gauge
        syncd_consecutive_failures{entity="bo\"ok"} 0
        # TYPE syncd_last_run_timestamp_seconds gauge
        syncd_last_run_timestamp_seconds{entity="bo\"ok"} 1796039982
        # TYPE syncd_last_success_timestamp_seconds gauge
        syncd_last_success_timestamp_seconds{entity="bo\"ok"} 1796039982
        # TYPE syncd_runs_total counter
        syncd_runs_total{entity="bo\"ok",outcome="proven"} 60
        syncd_runs_total{entity="bo\"ok",outcome="unproven"} 0
        syncd_runs_total{entity="bo\"ok",outcome="incremental"} 0
        syncd_runs_total{entity="bo\"ok",outcome="failed"} 0
        syncd_runs_total{entity="bo\"ok",outcome="refused"} 0
        syncd_runs_total{entity="bo\"ok",outcome="busy"} 0
        # TYPE syncd_run_duration_seconds histogram
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="0.05"} 0
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="0.1"} 0
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="0.25"} 40
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="0.5"} 60
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="1"} 60
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="2.5"} 60
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="5"} 60
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="10"} 60
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="30"} 60
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="60"} 60
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="300"} 60
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="1800"} 60
        syncd_run_duration_seconds_bucket{entity="bo\"ok",le="+Inf"} 60
        syncd_run_duration_seconds_sum{entity="bo\"ok"} 18.5
        syncd_run_duration_seconds_count{entity="bo\"ok"} 60
        # TYPE syncd_pages_total counter
        syncd_pages_total{entity="bo\"ok"} 180
        # TYPE syncd_received_bytes_total counter
        syncd_received_bytes_total{entity="bo\"ok"} 4860000
        # TYPE syncd_records_total counter
        syncd_records_total{entity="bo\"ok"} 15000
        # TYPE syncd_duplicate_records_total counter
        syncd_duplicate_records_total{entity="bo\"ok"} 4
        # TYPE syncd_rejected_records_total counter
        syncd_rejected_records_total{entity="bo\"ok"} 5
        # TYPE syncd_inserted_rows_total counter
        syncd_inserted_rows_total{entity="bo\"ok"} 120
        # TYPE syncd_updated_rows_total counter
        syncd_updated_rows_total{entity="bo\"ok"} 180
        # TYPE syncd_unchanged_rows_total counter
        syncd_unchanged_rows_total{entity="bo\"ok"} 14700
        # TYPE syncd_deleted_rows_total counter
        syncd_deleted_rows_total{entity="bo\"ok"} 12
        # TYPE process_start_time_seconds gauge
        process_start_time_seconds 1795780800
        # TYPE process_cpu_seconds_total counter
        process_cpu_seconds_total 1.25
        # TYPE process_resident_memory_bytes gauge
        process_resident_memory_bytes 27000000
        # TYPE process_threads gauge
        process_threads 9
        # TYPE process_open_fds gauge
        process_open_fds 14
        # TYPE process_max_fds gauge
        process_max_fds 1024
        """#)
  }

  @Test("the process is measured where the system tells")
  func process() throws {
    let use = ProcessUse()
    #expect(use.processorTime > 0 && use.openFilesLimit > 2)
    #if os(Linux)
      #expect(try #require(use.residentMemory) > 1_000_000)
      #expect(try #require(use.virtualMemory) > 1_000_000)
      #expect(try #require(use.threads) >= 1)
      #expect(try #require(use.openFiles) >= 3)
    #endif
  }

  // MARK: The page

  @Test("what comes from elsewhere is text on the page, never markup")
  func escaping() throws {
    let hostile = "</pre></script><script>alert(1)</script><img src=x onerror='a'>\"&\u{0}\u{1B}[31m\u{85}"
    var entity = SampleService.entity(hostile, table: hostile, api: hostile)
    (entity.failures, entity.lastError) = (2, hostile + "\n" + hostile)
    var other = SampleService.entity("other")
    other.runs[59].outcome = .unproven
    other.runs[59].reason = hostile
    var snapshot = SampleService.snapshot([entity, other])
    (snapshot.program, snapshot.version, snapshot.store) = (hostile, hostile, hostile)
    let html = StatusPage.html(snapshot)
    let escaped =
      "&lt;/pre&gt;&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&#39;a&#39;&gt;&quot;&amp;\u{FFFD}\u{FFFD}[31m\u{FFFD}"
    // Title and heading, version, store, name, API, table, the error's entity and two lines, the reason. U+0085 ends a
    // line, so what is unfolded of an error ends before it.
    #expect(html.components(separatedBy: escaped).count - 1 == 11)
    #expect(html.components(separatedBy: "<script").count == 2 && !html.contains("<img"))
    #expect(!html.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || 0x7F..<0xA0 ~= $0.value })
  }

  @Test("of many entities the ones that need a person come first, and the page stays small")
  func manyEntities() throws {
    var entities = (0..<1500).map { SampleService.entity("entity_\($0)") }
    for index in 500..<1000 {
      entities[index].failures = 7
      entities[index].lastError = String(repeating: "a very long reason\n", count: 2000)
    }
    let html = StatusPage.html(SampleService.snapshot(entities))
    #expect(html.utf8.count < 3_000_000, "\(html.utf8.count)")
    let names = html.matches(of: /<h2><bdi>(\w+)/).map { String($0.1) }
    #expect(
      names.count == 1000 && names[0] == "entity_500" && names[499] == "entity_999"
        && names[500] == "entity_0")
    #expect(html.contains("And 500 more.") && html.contains("<title>(500) syncd</title>"))
    #expect(StatusPage.html(SampleService.snapshot([])).contains("No entity is synced."))
  }

  @Test("each state is a word")
  func states() throws {
    let html = StatusPage.html(SampleService.snapshot())
    let states = html.matches(of: /<h2><bdi>(\w+)<.bdi><.h2><p class="state">([a-z ]+)</).map {
      "\($0.1) \($0.2)"
    }
    #expect(
      states == [
        "article failing", "comment refused", "book ok", "hero running", "post not yet", "chapter ok",
      ])
    #expect(html.contains("3 of 6 ok</b>, 1 failing, 1 refused, 1 not yet</p>"))
  }
}
