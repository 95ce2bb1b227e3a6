import Foundation
import HTTP
import TestSupport

/// A Python program that serves on loopback and prints `READY <port>`. It ends with this object.
final class LocalServer: Sendable {
  let port: Int
  private let process: ServerProcess

  /// - Parameter words: a file of `Tests/Support` with its arguments, or `-c` with a program.
  init(_ words: String...) throws {
    let isFile = words[0].hasSuffix(".py")
    process =
      isFile
      ? try ServerProcess(script: words[0], Array(words.dropFirst())) : try ServerProcess(["python3"] + words)
    port = try process.port()
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
