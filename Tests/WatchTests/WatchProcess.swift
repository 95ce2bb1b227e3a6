import Foundation
import TestSupport

/// `syncd watch` in a folder of its own, beside a server that plays all APIs.
final class WatchProcess {
  let folder: TemporaryFolder
  let server: AnswerServer
  private(set) var child: ChildProcess?

  static let books = Route("/books", file: Repository.root + "/Tests/Fixtures/books/books.json")

  init(_ routes: [Route] = [books]) throws {
    folder = try TemporaryFolder()
    server = try AnswerServer(routes)
  }

  /// A configuration for the server, with more members in front.
  func configure(_ members: String = "", apis: [String] = [], entities: String = "") throws {
    let addresses = ["library", "placeholder", "nytimes", "marvel"].map {
      #""\#($0)": {"url": "\#(server.base)/", "rate": "unlimited"}"#
    }
    try write(
      "c.json",
      """
      { \(members)
        "apis": { \((apis.isEmpty ? addresses : apis).joined(separator: ", ")) },
        "entities": { \(entities) } }
      """)
  }

  func write(_ name: String, _ text: String) throws {
    try text.write(toFile: folder.path + "/" + name, atomically: true, encoding: .utf8)
  }

  /// - Parameter words: behind `syncd watch --config c.json`.
  func start(_ words: String..., environment: [String: String] = [:]) throws {
    for name in ["out", "err"] {
      try write(name, "")
    }
    let (output, errors) = (
      try FileHandle(forWritingTo: URL(filePath: folder.path + "/out")),
      try FileHandle(forWritingTo: URL(filePath: folder.path + "/err"))
    )
    let variables = [
      "NYT_API_KEY": "nyt-secret", "MARVEL_PUBLIC_KEY": "open-key", "MARVEL_PRIVATE_KEY": "hidden-key",
    ]
    child = try ChildProcess(
      [Shell.product("syncd"), "watch", "--config", "c.json"] + words,
      environment: TestEnvironment.variables.merging(variables) { $1 }.merging(environment) { $1 },
      directory: folder.path, output: output.fileDescriptor, errors: errors.fileDescriptor)
  }

  var output: String { text("out") }
  var errors: String { text("err") }
  var lines: [Substring] { output.split(separator: "\n") }

  private func text(_ name: String) -> String {
    (try? String(contentsOfFile: folder.path + "/" + name, encoding: .utf8)) ?? ""
  }

  func send(_ signal: Int32) { child?.send(signal) }

  /// Ends it.
  ///
  /// - Returns: its status, and how long that took.
  @discardableResult
  func stop(_ signal: Int32 = SIGTERM) -> (status: Int32, seconds: Double) {
    let start = ContinuousClock.now
    send(signal)
    let status = child?.wait() ?? -1
    let taken = ContinuousClock.now - start
    return (status, Double(taken.components.seconds) + Double(taken.components.attoseconds) / 1e18)
  }

  /// Waits until something holds; it is only a failure that takes long.
  func wait(_ what: String, until holds: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(90)
    while try !holds() {
      guard ContinuousClock.now < deadline, child?.isRunning != false else {
        throw TestFailure("\(what) did not happen; output:\n\(output)\nerrors:\n\(errors)")
      }
      Thread.sleep(forTimeInterval: 0.02)
    }
  }

  func rows(_ sql: String) throws -> String {
    try SQLiteFile.text(folder.path + "/syncd.sqlite", sql)
  }

  /// What a page of the service answers.
  func get(_ path: String, _ words: String...) throws -> String {
    let result = try Shell.result(["curl", "-s", "--max-time", "20"] + words + [page + path])
    return result.output
  }

  /// The address of the status page, which has to be configured as `127.0.0.1:PORT`.
  var page = ""
}

/// A port that is free now.
func freePort() throws -> Int {
  let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  defer { close(file) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let code = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(file, $0, length) | getsockname(file, $0, &length)
    }
  }
  guard code == 0 else { throw TestFailure("no port is free") }
  return Int(UInt16(bigEndian: address.sin_port))
}
