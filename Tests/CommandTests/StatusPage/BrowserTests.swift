import Foundation
import Synchronization
import TestSupport
import Testing
import WebServer

@testable import SyncCommand

/// The status page as a browser shows it.
@Suite("The status page in Chromium", .fewAtATime, .once)
struct BrowserTests {
  /// - Parameter budget: milliseconds of the page's own time, which stands still while an answer is waited for.
  private static func chromium(_ words: String..., page: String) throws -> Shell.Result {
    let folder = try TemporaryFolder()
    return try Shell.result(
      [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-dev-shm-usage",
        "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
        "--user-data-dir=\(folder.path)", "--enable-logging=stderr",
      ] + words + [page])
  }

  /// What the page's script and the browser complained of.
  private static func complaints(_ result: Shell.Result) -> [Substring] {
    result.errors.split(separator: "\n").filter { $0.contains("CONSOLE") || $0.contains("Refused to") }
  }

  /// A service whose entity has as many rows as the page was asked for.
  private static func countingSite() throws -> (ServiceSite, page: String) {
    let asked = Mutex(0)
    let site = try ServiceSite(address: "127.0.0.1:0", token: nil) {
      var entity = SampleService.entity("book")
      entity.rows = asked.withLock {
        $0 += 1
        return $0
      }
      return SampleService.snapshot([entity])
    }
    try site.start()
    return (site, "http://127.0.0.1:\(try #require(site.port))/")
  }

  private static func rows(_ result: Shell.Result) throws -> Int {
    let match = try #require(result.output.firstMatch(of: /<dt>Rows<.dt><dd>(\d+)</), "\(result)")
    return try #require(Int(match.1))
  }

  @Test("the script updates the page, and the browser has nothing to complain of")
  func live() throws {
    let (site, page) = try Self.countingSite()
    let result = try Self.chromium("--virtual-time-budget=9000", "--dump-dom", page: page)
    #expect(Self.complaints(result) == [])
    #expect(try Self.rows(result) > 2)
    #expect(result.output.contains(#"<p id="connection" role="status" hidden=""></p>"#))
    site.stop()
  }

  /// A server that gives the page as it is made by the number of the request, from 0 on; nil is an answer that is none.
  private static func page(_ make: @escaping @Sendable (Int) -> String?) throws -> (WebServer, page: String) {
    let asked = Mutex(0)
    let server = try WebServer(host: "127.0.0.1", port: 0) { _ in
      let number = asked.withLock {
        $0 += 1
        return $0 - 1
      }
      guard let html = make(number) else { return .text("broken", status: 503) }
      return WebResponse(headers: [("Content-Type", "text/html; charset=utf-8")], body: Array(html.utf8))
    }
    return (server, "http://127.0.0.1:\(server.port)/")
  }

  @Test("a page that gets no answers says that it is out of date, until they come again")
  func connectionLost() throws {
    let html = StatusPage.html(SampleService.snapshot())
    let (lost, first) = try Self.page { $0 == 0 ? html : nil }
    #expect(
      try Self.chromium("--virtual-time-budget=9000", "--dump-dom", page: first).output
        .contains(/<p id="connection" role="status">Connection lost. What is shown is \d+ s old.<.p>/))
    lost.stop()
    let (back, second) = try Self.page { $0 == 1 ? nil : html }
    #expect(
      try Self.chromium("--virtual-time-budget=9000", "--dump-dom", page: second).output
        .contains(#"<p id="connection" role="status" hidden=""></p>"#))
    back.stop()
  }

  @Test("what is open stays open, and the page where it is")
  func staysOpen() throws {
    // Opened and scrolled by the first answer alone, as a person would.
    let (server, page) = try Self.page { number in
      var snapshot = SampleService.snapshot(
        SampleService.all + (0..<20).map { SampleService.entity("more_\($0)") })
      snapshot.entities[0].rows = number
      let html = StatusPage.html(snapshot)
      guard number == 0 else { return html }
      return html.replacing("<details ", with: "<details open ")
        .replacing(
          "</body>",
          with: """
            <script>
            document.querySelector("summary").focus(); scrollTo(0, 500);
            setInterval(() => document.body.dataset.seen = scrollY + " " + document.activeElement.tagName, 100);
            </script></body>
            """)
    }
    let result = try Self.chromium("--virtual-time-budget=9000", "--dump-dom", page: page)
    #expect(result.output.contains(#"data-entity="article" open="">"#), "\(result)")
    #expect(result.output.contains(#"<body data-seen="500 SUMMARY">"#))
    #expect(!result.output.contains("<dt>Rows</dt><dd>0<"))
    server.stop()
  }

  @Test("nothing is wider than the screen", arguments: [320, 390, 700, 1280])
  func width(_ width: Int) throws {
    // Headless Chromium has no window that is narrower than 500 pixels: the page is put into a frame.
    let entities = SampleService.all + SampleService.odd
    let (server, page) = try Self.page { number in
      let html = StatusPage.html(SampleService.snapshot(entities))
        .replacing("<details ", with: "<details open ")
        .replacing(
          "</body>",
          with: """
            <script>
            const root = document.documentElement;
            parent.document.body.dataset.seen = innerWidth + " " + root.scrollWidth;
            </script></body>
            """)
      return number == 0
        ? "<!doctype html><body><iframe src=/page width=\(width) height=800 frameborder=0>" : html
    }
    let result = try Self.chromium(
      "--virtual-time-budget=1500", "--dump-dom", "--window-size=1400,900", page: page)
    #expect(result.output.contains(#"<body data-seen="\#(width) \#(width)">"#), "\(result)")
    server.stop()
  }

  @Test("it can be looked at on a telephone and on a desk, in light and dark", arguments: [390, 1280])
  func screenshots(_ width: Int) throws {
    let site = try ServiceSite(address: "127.0.0.1:0", token: nil) {
      SampleService.snapshot(SampleService.all + SampleService.odd)
    }
    try site.start()
    let folder = try TemporaryFolder()
    // Where a person wants to look at them.
    let kept = ProcessInfo.processInfo.environment["SYNCD_TEST_SCREENSHOTS"]
    for (shade, setting) in [("light", 1), ("dark", 0)] {
      let file = "\(kept ?? folder.path)/\(width)-\(shade).png"
      let result = try Self.chromium(
        "--screenshot=\(file)", "--window-size=\(width),1900",
        "--blink-settings=preferredColorScheme=\(setting)",
        page: "http://127.0.0.1:\(try #require(site.port))/")
      #expect(Self.complaints(result) == [])
      let image = try Data(contentsOf: URL(fileURLWithPath: file))
      #expect(image.starts(with: [0x89, 0x50, 0x4E, 0x47]) && image.count > 10_000)
    }
    site.stop()
  }
}
