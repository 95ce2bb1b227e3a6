import Foundation
import Synchronization

/// A program that a test runs. It is ended, at the latest, with this object.
///
/// Foundation's `Process` is not used: on Linux it crashes in a program with some thousand open descriptors, which tests
/// that run side by side have.
public final class ChildProcess: Sendable {
  public let processIdentifier: pid_t
  private let status = Mutex<Int32?>(nil)

  /// - Parameters:
  ///   - words: the program, looked for on the PATH, and its arguments.
  ///   - input: a descriptor that becomes its standard input; nil is `/dev/null`, and so for the others.
  public init(
    _ words: [String], environment: [String: String] = TestEnvironment.variables, directory: String? = nil,
    input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (stream, (descriptor, mode)) in [(input, O_RDONLY), (output, O_WRONLY), (errors, O_WRONLY)]
      .enumerated()
    {
      if let descriptor {
        posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(stream))
      } else {
        posix_spawn_file_actions_addopen(&actions, Int32(stream), "/dev/null", mode, 0)
      }
    }
    // A file that is not open is no error below the limit.
    for file in 3..<min(getdtablesize(), 4096) { posix_spawn_file_actions_addclose(&actions, file) }
    let words = (directory.map { ["env", "-C", $0] } ?? []) + words
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var process: pid_t = 0
    let code = posix_spawnp(&process, words[0], &actions, nil, &arguments, &variables)
    guard code == 0 else {
      throw TestFailure("\(words) cannot be started: \(String(cString: strerror(code)))")
    }
    processIdentifier = process
  }

  deinit {
    if isRunning {
      send(SIGKILL)
      wait()
    }
  }

  public var isRunning: Bool { end(WNOHANG) == nil }

  /// Waits for its end.
  ///
  /// - Returns: its exit status, or the number of the signal that ended it as a negative number.
  @discardableResult
  public func wait() -> Int32 {
    while true { if let status = end(0) { return status } }
  }

  private func end(_ options: Int32) -> Int32? {
    if let known = status.withLock({ $0 }) { return known }
    var code: Int32 = 0
    guard waitpid(processIdentifier, &code, options) == processIdentifier else {
      return status.withLock { $0 }
    }
    // The low seven bits hold the signal, the next byte the exit status (waitpid(2)).
    let found = code & 0x7F == 0 ? code >> 8 & 0xFF : -(code & 0x7F)
    status.withLock { $0 = found }
    return found
  }

  public func send(_ signal: Int32) {
    if status.withLock({ $0 == nil }) { kill(processIdentifier, signal) }
  }
}

/// A server on loopback that prints one line when it listens and ends with its standard input, so that it ends with this
/// object, and with this process however that ends.
public final class ServerProcess: Sendable {
  /// What it printed, without the line's end.
  public let line: String
  private let child: ChildProcess
  private let input: Int32

  public init(_ words: [String], environment: [String: String] = TestEnvironment.variables) throws {
    let (standardInput, standardOutput) = (try Self.pipeEnds(), try Self.pipeEnds())
    defer {
      close(standardInput.read)
      close(standardOutput.read)
    }
    input = standardInput.write
    do {
      defer { close(standardOutput.write) }
      child = try ChildProcess(
        words, environment: environment, input: standardInput.read, output: standardOutput.write, errors: 2)
    }
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while bytes.last != UInt8(ascii: "\n"), read(standardOutput.read, &byte, 1) == 1 { bytes.append(byte) }
    line = String(decoding: bytes.dropLast(), as: UTF8.self)
  }

  /// The number at the end of the line.
  public func port() throws -> Int {
    guard let port = line.split(separator: " ").last.flatMap({ Int($0) }) else {
      throw TestFailure("the server did not start: \(line)")
    }
    return port
  }

  /// - Parameter script: a file of `Tests/Support`.
  public convenience init(script: String, _ arguments: [String] = []) throws {
    try self.init(["python3", Repository.root + "/Tests/Support/" + script] + arguments)
  }

  private static func pipeEnds() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw TestFailure("pipe: \(String(cString: strerror(errno)))") }
    return (ends[0], ends[1])
  }

  deinit {
    close(input)
    child.send(SIGTERM)
    child.wait()
  }
}
