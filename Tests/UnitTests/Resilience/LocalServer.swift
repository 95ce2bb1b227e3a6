import Foundation
import HTTP
import TestSupport

/// A Python program that serves on loopback and prints `READY <port>`. It ends with this object.
final class LocalServer: @unchecked Sendable {
  // Sendable: all properties are set in init; Process and Pipe are only touched again in deinit.
  let port: Int
  private let process = Process()
  private let input = Pipe()

  /// - Parameter words: a file of `Tests/Support` with its arguments, or `-c` with a program.
  init(_ words: String...) throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let isFile = words[0].hasSuffix(".py")
    process.arguments =
      ["python3"] + (isFile ? [Repository.root + "/Tests/Support/" + words[0]] + words.dropFirst() : words)
    let output = Pipe()
    (process.standardOutput, process.standardInput) = (output, input)
    try process.run()
    var line = ""
    while !line.hasSuffix("\n") {
      let part = output.fileHandleForReading.availableData
      if part.isEmpty { break }
      line += String(decoding: part, as: UTF8.self)
    }
    guard let port = line.split(separator: " ").last.flatMap({ Int($0.filter(\.isNumber)) }) else {
      throw TestFailure("\(words) did not start: \(line)")
    }
    self.port = port
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.terminate()
    process.waitUntilExit()
  }

  var base: String { "http://127.0.0.1:\(port)" }
}

extension CurlTransport {
  /// The body of one answer.
  func text(_ address: String, by method: String = "GET", body: String? = nil) async throws -> String {
    let request = HTTPRequest(method, url: try HTTPURL(address), body: body.map { Array($0.utf8) })
    return String(decoding: try await send(request, limits: HTTPLimits()).body, as: UTF8.self)
  }
}
