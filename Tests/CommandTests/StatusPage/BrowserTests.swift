import Foundation
import Synchronization
import TestSupport
import Testing

@testable import SyncCommand

/// The status page as a browser shows it.
@Suite("The status page in Chromium", .fewAtATime, .once)
struct BrowserTests {
  /// - Parameter budget: milliseconds of the page's own time, which stands still while an answer is waited for.
  private static func chromium(_ words: String..., page: String) throws -> Shell.Result {
    let folder = try TemporaryFolder()
    return try Shell.result(
      [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
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

  @Test("without the service the page says that it is out of date")
  func connectionLost() throws {
    let served = Mutex<ServiceSite?>(nil)
    let isFirst = Mutex(true)
    let site = try ServiceSite(address: "127.0.0.1:0", token: "0123456789abcdef0123") {
      // Only the first answer is one.
      var snapshot = SampleService.snapshot()
      if isFirst.withLock({ $0 }) { isFirst.withLock { $0 = false } } else { snapshot.entities = [] }
      return snapshot
    }
    _ = site
    _ = served
  }

  @Test("it can be looked at on a telephone and on a desk, in light and dark")
  func screenshots() throws {
    let site = try ServiceSite(address: "127.0.0.1:0", token: nil) { SampleService.snapshot() }
    try site.start()
    let folder = try TemporaryFolder()
    let kept = ProcessInfo.processInfo.environment["SYNCD_TEST_SCREENSHOTS"]
    for (name, size) in [("telephone", "390,844"), ("desk", "1280,900")] {
      for (shade, words) in [("light", "--blink-settings=preferredColorScheme=1"), ("dark", "--blink-settings=preferredColorScheme=0")] {
        let file = "\(kept ?? folder.path)/\(name)-\(shade).png"
        let result = try Self.chromium(
          "--screenshot=\(file)", "--window-size=\(size)", words, page: "http://127.0.0.1:\(try #require(site.port))/")
        #expect(Self.complaints(result) == [])
        let image = try Data(contentsOf: URL(fileURLWithPath: file))
        #expect(image.starts(with: [0x89, 0x50, 0x4E, 0x47]) && image.count > 10_000)
      }
    }
  }
}
