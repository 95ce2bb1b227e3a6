import Foundation
import SyncEngine
import TestSupport
import Testing

/// What the compiler cannot see is refused before any request, in one sentence that says what to do.
@Suite("Broken declarations", .fewAtATime, .once)
struct DeclarationErrorTests {
  /// A source that every declaration here shares.
  static let plain = Source(.test, "items", paging: .none)

  struct Forgotten: Entity {
    var id = 0
    var title = ""
    static let source = plain
    static var mapping: Mapping<Forgotten> { Key(\.id) }
  }

  struct Twins: Entity {
    var id = 0
    var a = ""
    var b = ""
    static let source = plain
    static var mapping: Mapping<Twins> {
      Key(\.id)
      Field(\.a, name: "Name")
      Field(\.b, name: "name")
    }
  }

  struct BadPattern: Entity {
    var id = 0
    var day: Date?
    static let source = plain
    static var mapping: Mapping<BadPattern> {
      Key(\.id)
      Field(\.day, .pattern("dd MMM yyyy"))
    }
  }

  struct BadTemplate: Entity {
    var id = 0
    var url = ""
    static let source = plain
    static var mapping: Mapping<BadTemplate> {
      Key(\.id)
      Field(\.url, template: "{a}.{b")
    }
  }

  struct BadPath: Entity {
    var id = 0
    static let source = plain
    static var mapping: Mapping<BadPath> { Key(\.id, "a..b") }
  }

  struct KeyOfList: Entity {
    var id = ""
    static let source = plain
    static var mapping: Mapping<KeyOfList> { Key(\.id, "@key") }
  }

  struct NoParents: Entity {
    var id = 0
    static let source = Source(.test, "items/{parent.id}", paging: .none)
    static var mapping: Mapping<NoParents> { Key(\.id) }
  }

  struct WrongParentColumn: Entity {
    var id = 0
    static let source = Source(.test, "items/{parent.nr}", paging: .none, parents: Parents(Item.self))
    static var mapping: Mapping<WrongParentColumn> { Key(\.id) }
  }

  struct NoOwner: Entity {
    var id = 0
    static let source = Source(.test, "items/{parent.id}", paging: .none, parents: Parents(Item.self))
    static var mapping: Mapping<NoOwner> { Key(\.id) }
    static let deletion = Deletion<NoOwner>.missing
  }

  struct NoDefault: Entity {
    var id = 0
    var note: String?
    static let source = plain
    static var mapping: Mapping<NoDefault> {
      Key(\.id)
      Field(\.note, .nullAsDefault)
    }
  }

  struct SameTable: Entity {
    var id = 0
    static let table = "ITEM"
    static let source = plain
    static var mapping: Mapping<SameTable> { Key(\.id) }
  }

  struct NoSecret: Entity {
    var id = 0
    static let source = Source(
      API(
        "secretive", url: "https://secretive.example.invalid/",
        auth: .bearer(.environment("SYNCD_TEST_UNSET"))),
      "items", paging: .none)
    static var mapping: Mapping<NoSecret> { Key(\.id) }
  }

  struct BadURL: Entity {
    var id = 0
    static let source = Source(API("odd", url: "api.example.com/v1"), "items", paging: .none)
    static var mapping: Mapping<BadURL> { Key(\.id) }
  }

  struct Reserved: Entity {
    var id = 0
    static let table = "syncd_runs"
    static let source = plain
    static var mapping: Mapping<Reserved> { Key(\.id) }
  }

  static let cases: [(entities: [any Entity.Type], message: String)] = [
    (
      [Forgotten.self],
      #"forgotten: the property "title" stands in no statement of the mapping; add Field(\.title) or, if only the application writes it, Local(\.title)"#
    ),
    (
      [Twins.self],
      #"twins: the columns "Name" and "name" differ only in case, which databases do not tell apart"#
    ),
    (
      [BadPattern.self],
      #"bad_pattern: column "day": the date pattern "dd MMM yyyy" holds "M": it knows yyyy, MM, dd, HH, mm, ss and SSS"#
    ),
    (
      [BadTemplate.self],
      #"bad_template: column "url": the template "{a}.{b" has an opening brace without a closing one"#
    ),
    ([BadPath.self], #"bad_path: column "id": the path "a..b" has an empty part"#),
    (
      [KeyOfList.self],
      #"key_of_list: column "id" reads @key, but the records are not declared to be the values of an object (rows: .byKey)"#
    ),
    (
      [NoParents.self],
      #"no_parents: "parent.id" is read, but the source has no parents; add parents: Parents(….self)"#
    ),
    (
      [Item.self, WrongParentColumn.self],
      #"wrong_parent_column: "parent.nr" is read, but item has no column "nr"; it has id, v"#
    ),
    (
      [Item.self, NoOwner.self],
      #"no_owner: a deletion among rows of parents has to know whose row each one is; fill a column from the parent: Field(\.…, "@parent.id")"#
    ),
    (
      [NoDefault.self], #"no_default: column "note" is .nullAsDefault, but its property has no initial value"#
    ),
    ([Item.self, SameTable.self], #"two entities have the table "item" (case does not count)"#),
    (
      [NoSecret.self],
      #"API "secretive": its secret comes from the environment variable SYNCD_TEST_UNSET, which is not set or empty"#
    ),
    ([BadURL.self], #"API "odd": "api.example.com/v1" is not a usable address: "#),
    ([Reserved.self], "Reserved: table names that begin with syncd_ or sqlite_ are reserved"),
    ([], "no entity is declared; add one to the program's list of entities"),
  ]

  @Test("are refused with what is wrong and what to do", arguments: cases.indices)
  func refused(_ index: Int) throws {
    let (entities, message) = Self.cases[index]
    let engine = Engine(store: try Fixture().store)
    let error = #expect(throws: DeclarationError.self) { try engine.prepare(entities) }
    let said = error?.message ?? ""
    #expect(said.hasPrefix(message), "\(said)")
  }

  @Test("a parent that the program does not list is refused")
  func unlistedParent() throws {
    let engine = Engine(store: try Fixture().store)
    struct Child: Entity {
      var id = 0
      static let source = Source(.test, "items/{parent.id}", paging: .none, parents: Parents(Item.self))
      static var mapping: Mapping<Child> { Key(\.id) }
    }
    let error = #expect(throws: DeclarationError.self) { try engine.prepare([Child.self]) }
    #expect(error?.message == "child: its parent \"item\" is not in the program's list of entities")
    try engine.prepare([Child.self, Item.self])
    #expect(Engine.parentsFirst([Child.self, Item.self]).map { $0.table } == ["item", "child"])
  }
}
