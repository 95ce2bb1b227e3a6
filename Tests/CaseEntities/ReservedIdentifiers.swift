import SyncEngine

/// 041: a table named order, columns named group, rowid, we"ird, 1st and Ünïcode.
enum ReservedIdentifiers {
  struct Order: Entity {
    var group = ""
    var select: Int64?
    var end: Int64?
    var rowid: String?
    var weird: Int64?
    var spaced: Int64?
    var first: Int64?
    var unicode: Int64?
    var limit: Int64?
    static let source = Source(.case, "order", paging: .none)
    static var mapping: Mapping<Order> {
      Key(\.group)
      Field(\.select)
      Field(\.end)
      Field(\.rowid)
      Field(\.weird, name: "we\"ird")
      Field(\.spaced, name: "a b")
      Field(\.first, name: "1st")
      Field(\.unicode, name: "Ünïcode")
      Field(\.limit, name: "Limit")
    }
    static let deletion = Deletion<Order>.missing
  }

  /// A declaration error: SQLite does not tell the two names apart.
  struct Twins: Entity {
    var group = ""
    var lower: Int64?
    var upper: Int64?
    static let source = Source(.case, "order", paging: .none)
    static var mapping: Mapping<Twins> {
      Key(\.group)
      Field(\.lower, "select", name: "Id")
      Field(\.upper, "end", name: "ID")
    }
  }

  struct Inject: Entity {
    var group = ""
    var x: Int64?
    static let source = Source(.case, "order", paging: .none)
    static var mapping: Mapping<Inject> {
      Key(\.group)
      Field(\.x, "select", name: "x\"; DROP TABLE t; --")
    }
  }
}
