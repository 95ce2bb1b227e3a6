import SyncEngine

/// 012: one object instead of a list; an object keyed by id; null elements.
enum RecordsShape {
  struct ListOrObject: Entity {
    var id: Int64 = 0
    var n: String?
    static let table = "items"
    static let source = Source(.case, "list", rows: .listOrObject("items.item"), paging: .none)
    static var mapping: Mapping<ListOrObject> {
      Key(\.id)
      Field(\.n)
    }
  }

  struct OnlyList: Entity {
    var id: Int64 = 0
    var n: String?
    static let table = "items"
    static let source = Source(.case, "list", rows: "items.item", paging: .none)
    static var mapping: Mapping<OnlyList> {
      Key(\.id)
      Field(\.n)
    }
  }

  struct Rate: Entity {
    var code = ""
    var n: String?
    static let table = "rates"
    static let source = Source(.case, "map", rows: .byKey("data"), paging: .none)
    static var mapping: Mapping<Rate> {
      Key(\.code, "@key")
      Field(\.n)
    }
  }

  /// A declaration error: records of a list have no key.
  struct ListedRate: Entity {
    var code = ""
    var n: String?
    static let table = "rates"
    static let source = Source(.case, "map", rows: "data", paging: .none)
    static var mapping: Mapping<ListedRate> {
      Key(\.code, "@key")
      Field(\.n)
    }
  }

  struct Officer: Entity {
    var id: Int64 = 0
    var n: String?
    static let table = "officers"
    static let source = Source(.case, "users", rows: "users[*].officer", paging: .none)
    static var mapping: Mapping<Officer> {
      Key(\.id)
      Field(\.n)
    }
  }

  struct NullElement: Entity {
    var id: Int64 = 0
    var n: String?
    static let table = "items"
    static let source = Source(.case, "nulls", rows: "data", paging: .none)
    static var mapping: Mapping<NullElement> {
      Key(\.id)
      Field(\.n)
    }
  }

  struct SkippedElement: Entity {
    var id: Int64 = 0
    var n: String?
    static let table = "items"
    static let source = Source(
      .case, "nulls", rows: "data", paging: .none, badRecords: .quarantine(atMost: 10))
    static var mapping: Mapping<SkippedElement> {
      Key(\.id)
      Field(\.n)
    }
  }
}
