import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A real HTTP server on loopback that gives declared answers, for as long as this object is there.
public final class AnswerServer: Sendable {
  public let base: String
  private let process: ServerProcess

  public struct Request: Decodable, Sendable {
    public var target: String
    public var path: String
    public var query: [[String]]
    public var headers: [String: String]
    /// When it came, in seconds since 1970.
    public var at: Double?

    /// The value of a query item; nil if it did not come.
    public subscript(_ name: String) -> String? { query.first { $0[0] == name }?[1] }
  }

  public init(_ routes: [Route]) throws {
    // Starting one costs more than most tests do.
    if let idle = Self.idle.withLock({ $0.popLast() }) {
      process = idle
      base = "http://127.0.0.1:\(try process.port())"
      try reset()
    } else {
      process = try ServerProcess(script: "answers.py")
      base = "http://127.0.0.1:\(try process.port())"
    }
    try serve(routes)
  }

  /// Servers that another test is done with. They end with this process.
  private static let idle = Mutex<[ServerProcess]>([])

  deinit { Self.idle.withLock { $0.append(process) } }

  /// The requests since the start or the last ``reset()``.
  public func requests() throws -> [Request] {
    try JSONDecoder().decode([Request].self, from: get("/_log"))
  }

  public func reset() throws { _ = try get("/_reset") }

  /// Replaces all routes.
  public func serve(_ routes: [Route]) throws {
    try Shell.run(
      "curl", "-sf", "--data-binary", "@-", base + "/_routes", input: JSONEncoder().encode(routes))
  }

  private func get(_ path: String) throws -> Data { try Shell.run("curl", "-s", base + path) }
}

public struct TestFailure: Error, CustomStringConvertible {
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// Places in the repository.
public enum Repository {
  public static let root: String = {
    var url = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { url.deleteLastPathComponent() }
    return url.path
  }()
}

/// Runs other programs.
public enum Shell {
  public struct Result: Sendable, Equatable {
    public var status: Int32
    public var output: String
    public var errors: String

    public init(status: Int32, output: String, errors: String) {
      (self.status, self.output, self.errors) = (status, output, errors)
    }

    /// Without the runs' names, which are others each time.
    public var withoutRuns: Result {
      let name = /( run=|"run":")[0-9a-f]{12}"?,?/
      return Result(
        status: status, output: output.replacing(name, with: ""), errors: errors.replacing(name, with: ""))
    }
  }

  /// The output of a program that ends well.
  @discardableResult
  public static func run(_ words: String..., input: Data = Data()) throws -> Data {
    let result = try result(words, input: input)
    guard result.status == 0 else {
      throw TestFailure("\(words) ended with \(result.status): \(result.errors)")
    }
    return Data(result.output.utf8)
  }

  /// A program with its exit status and what it printed.
  ///
  /// Files rather than pipes: a pipe's end that another test's child inherits would never be closed.
  public static func result(
    _ words: [String], environment: [String: String] = [:], directory: String? = nil, input: Data = Data()
  ) throws -> Result {
    let folder = try TemporaryFolder()
    let files = ["in", "out", "err"].map { URL(fileURLWithPath: folder.path + "/" + $0) }
    for (file, content) in zip(files, [input, Data(), Data()]) { try content.write(to: file) }
    let (input, output, errors) = (
      try FileHandle(forReadingFrom: files[0]), try FileHandle(forWritingTo: files[1]),
      try FileHandle(forWritingTo: files[2])
    )
    let status = try ChildProcess(
      words, environment: TestEnvironment.variables.merging(environment) { $1 }, directory: directory,
      input: input.fileDescriptor, output: output.fileDescriptor, errors: errors.fileDescriptor
    ).wait()
    return Result(
      status: status, output: String(decoding: try Data(contentsOf: files[1]), as: UTF8.self),
      errors: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
  }

  /// A program of this package, from the folder that the tests were built into.
  public static func product(_ name: String) -> String {
    // The test runner lies beside the products.
    let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    var candidate = folder
    for _ in 0..<4 {
      let path = candidate.appendingPathComponent(name).path
      if FileManager.default.isExecutableFile(atPath: path) { return path }
      candidate.deleteLastPathComponent()
    }
    return Repository.root + "/.build/debug/" + name
  }
}

/// A folder that goes when this object does.
public final class TemporaryFolder: Sendable {
  public let path: String

  public init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("syncd-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
