import JSON

/// A token that requests carry, and what the next one is asked for with.
struct Token: Sendable, Equatable {
  var value: String
  /// Unix time in seconds from which on it is not used any more; nil where only a 401 says so.
  var renewAt: Int?
  var refresh: String?

  /// - Parameter lifetime: in seconds. The end of it is not used: a request takes time to arrive. With 0 servers mean
  ///   that there is none to tell, since the token would be void already.
  init(_ value: String, lifetime: Int?, at now: Int, refresh: String? = nil) {
    (self.value, self.refresh) = (value, refresh)
    renewAt = lifetime.flatMap { $0 > 0 ? now + $0 - min(30, $0 / 4) : nil }
  }

  func isFresh(at now: Int) -> Bool { renewAt.map { now < $0 } ?? true }

  // MARK: As it is kept

  var json: String {
    let members = [
      "\"token\":\(quotedJSON(value))", renewAt.map { "\"renewAt\":\($0)" },
      refresh.map { "\"refresh\":\(quotedJSON($0))" },
    ]
    return "{\(members.compactMap { $0 }.joined(separator: ","))}"
  }

  init?(json: [UInt8]) {
    guard let root = try? JSONDocument.parse(json).root, let value = root["token"]?.string else { return nil }
    self.value = value
    renewAt = root["renewAt"]?.int64.map { Int($0) }
    refresh = root["refresh"]?.string
  }
}
