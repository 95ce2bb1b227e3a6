import Foundation
import TestSupport

/// The recorded answers of public APIs. They are other people's content and stay where they lie.
enum Payloads {
  static let folder =
    ProcessInfo.processInfo.environment["SYNCD_TEST_PAYLOADS"] ?? Repository.root + "/../shared/payloads"

  static var arePresent: Bool { FileManager.default.fileExists(atPath: folder + "/INDEX.md") }

  private struct Exchange: Decodable {
    struct Request: Decodable { var target: String }
    struct Response: Decodable {
      var status: Int
      var headers: [String: String]
      var bodyFile: String?
    }
    var request: Request
    var response: Response
  }

  /// One answer that a file holds.
  ///
  /// - Parameters:
  ///   - hosts: addresses in the body that stand for the server.
  static func file(
    _ name: String, at path: String, query: [String: String] = [:], hosts: [String] = [], times: Int? = nil
  ) -> Route {
    Route(
      path, query: query, file: "\(folder)/\(name)", times: times,
      replace: Dictionary(uniqueKeysWithValues: hosts.map { ($0, "{{base}}") }))
  }

  /// The recorded exchanges of a folder whose targets begin with `prefix`, with the header fields that link on.
  ///
  /// - Parameters:
  ///   - inOrder: the answers follow each other whatever the query says: for recordings without it.
  static func recorded(_ name: String, _ prefix: String, hosts: [String] = [], inOrder: Bool = false)
    -> [Route]
  {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    guard let data = FileManager.default.contents(atPath: "\(folder)/\(name)/exchanges.json"),
      let exchanges = try? decoder.decode([Exchange].self, from: data)
    else { return [] }
    let routes = exchanges.filter { $0.request.target.hasPrefix(prefix) && $0.response.status == 200 }.map {
      exchange in
      let target = exchange.request.target.split(separator: "?", maxSplits: 1)
      let query = target.count > 1 && !inOrder ? items(String(target[1])) : [:]
      let links = exchange.response.headers.filter { ["link", "next-page"].contains($0.key) }.mapValues {
        link in
        hosts.reduce(link) { $0.replacingOccurrences(of: $1, with: "{{base}}") }
      }
      return Route(
        String(target[0]), query: query, answer: links.isEmpty ? nil : links,
        file: "\(folder)/\(name)/\(exchange.response.bodyFile ?? "")",
        times: inOrder ? 1 : nil, replace: Dictionary(uniqueKeysWithValues: hosts.map { ($0, "{{base}}") }))
    }
    // The most particular query first: a route takes a request that has more than it asks for.
    return inOrder
      ? routes
      : routes.enumerated().sorted {
        ($1.element.query?.count ?? 0, $0.offset) < ($0.element.query?.count ?? 0, $1.offset)
      }.map(\.element)
  }

  private static func items(_ query: String) -> [String: String] {
    var items: [String: String] = [:]
    for pair in query.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1).map { $0.removingPercentEncoding ?? String($0) }
      items[parts[0]] = parts.count > 1 ? parts[1] : ""
    }
    return items
  }
}
