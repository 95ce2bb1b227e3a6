import SyncEngine

/// Eight entities that are one unit each.
struct Plain<N: Number>: Entity {
  var id = 0
  var version = 0
  var asOf = 0

  static var table: String { "plain_\(N.value)" }
  static var source: Source { Source(.farm, "plain/\(N.value)", rows: "rows", paging: .next("next")) }

  static var mapping: Mapping<Plain> {
    Key(\.id)
    Field(\.version)
    Field(\.asOf, "as_of")
  }

  static var deletion: Deletion<Plain> { .missing(atMost: 1) }

  static var all: [any Entity.Type] {
    [
      Plain<One>.self, Plain<Two>.self, Plain<Three>.self, Plain<Four>.self, Plain<Five>.self,
      Plain<Six>.self, Plain<Seven>.self, Plain<Eight>.self,
    ]
  }
}

protocol Number: Sendable { static var value: Int { get } }

enum One: Number { static let value = 1 }
enum Two: Number { static let value = 2 }
enum Three: Number { static let value = 3 }
enum Four: Number { static let value = 4 }
enum Five: Number { static let value = 5 }
enum Six: Number { static let value = 6 }
enum Seven: Number { static let value = 7 }
enum Eight: Number { static let value = 8 }
