import SyncEngine

import struct FoundationEssentials.Date

/// 007: one column, several JSON types: "12", "", "n/a", {}.
enum TypedCoercion {
  struct Score: Entity {
    var id: Int64 = 0
    var score: Int64?
    var seen: Date?
    var label: String?
    static let table = "scores"
    static let source = Source(.case, "scores", paging: .none)
    static var mapping: Mapping<Score> {
      Key(\.id)
      Field(\.score)
      Field(\.seen, .iso8601)
      Field(\.label)
    }
  }

  /// The text keeps its empty texts.
  struct EmptyIsNull: Entity {
    var id: Int64 = 0
    var score: Int64?
    var seen: Date?
    var label: String?
    static let table = "scores"
    static let source = Source(.case, "scores", paging: .none)
    static var mapping: Mapping<EmptyIsNull> {
      Key(\.id)
      Field(\.score, .emptyAsNull)
      Field(\.seen, .iso8601, .emptyAsNull)
      Field(\.label)
    }
  }
}
