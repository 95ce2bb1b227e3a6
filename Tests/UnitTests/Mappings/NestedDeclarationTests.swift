import Foundation
import SyncEngine
import TestSupport
import Testing

/// Mistakes in mappings with records in records are refused before any request.
@Suite("Broken declarations of nested records", .fewAtATime, .once)
struct NestedDeclarationTests {
  static let plain = Source(.probe, "things", paging: .none)

  /// Rows of a thing by its number, found at a place that a test chooses.
  struct Tag: Record {
    var thing = 0
    var tag = ""
    static var mapping: Mapping<Tag> {
      Key(\.thing, "@parent.id")
      Key(\.tag, .root)
    }
  }

  struct NoOwner: Entity {
    struct Child: Record {
      var id = 0
      static var mapping: Mapping<Child> { Key(\.id) }
    }
    var id = 0
    static let source = plain
    static var mapping: Mapping<NoOwner> {
      Key(\.id)
      Children(Child.self, at: "list")
    }
  }

  struct HalfOwner: Entity {
    struct Child: Record {
      var a = 0
      var b = 0
      static var mapping: Mapping<Child> {
        Key(\.a, "@parent.a")
        Field(\.b, "@parent.b")
      }
    }
    var a = 0
    var b = 0
    static let source = plain
    static var mapping: Mapping<HalfOwner> {
      Key(\.a)
      Key(\.b)
      Children(Child.self, at: "list")
    }
  }

  struct WrongType: Entity {
    struct Child: Record {
      var owner = ""
      static var mapping: Mapping<Child> { Key(\.owner, "@parent.id") }
    }
    var id = 0
    static let source = plain
    static var mapping: Mapping<WrongType> {
      Key(\.id)
      Children(Child.self, at: "list")
    }
  }

  struct UnknownColumn: Entity {
    struct Child: Record {
      var owner = 0
      var name: String?
      static var mapping: Mapping<Child> {
        Key(\.owner, "@parent.id")
        Field(\.name, template: "{@parent.nmae}!")
      }
    }
    var id = 0
    static let source = plain
    static var mapping: Mapping<UnknownColumn> {
      Key(\.id)
      Children(Child.self, at: "list")
    }
  }

  struct LocalColumn: Entity {
    struct Child: Record {
      var owner = 0
      var note: String?
      static var mapping: Mapping<Child> {
        Key(\.owner, "@parent.id")
        Field(\.note, "@parent.note")
      }
    }
    var id = 0
    var note: String?
    static let source = plain
    static var mapping: Mapping<LocalColumn> {
      Key(\.id)
      Local(\.note)
      Children(Child.self, at: "list")
    }
  }

  struct Cyclic: Entity {
    struct Inner: Record {
      var id = 0
      static var mapping: Mapping<Inner> {
        Key(\.id)
        Embedded(Cyclic.self, at: .object("outer"))
      }
    }
    var id = 0
    static let source = plain
    static var mapping: Mapping<Cyclic> {
      Key(\.id)
      Embedded(Inner.self, at: .object("inner"))
    }
  }

  struct Endless: Record {
    var id = 0
    static var mapping: Mapping<Endless> {
      Key(\.id)
      Embedded(Endless.self, at: "more")
    }
  }

  struct HoldsEndless: Entity {
    var id = 0
    static let source = plain
    static var mapping: Mapping<HoldsEndless> {
      Key(\.id)
      Embedded(Endless.self, at: "first")
    }
  }

  struct BadPath: Entity {
    var id = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<BadPath> {
      Key(\.id)
      Children(Tag.self, at: "a..b")
    }
  }

  struct BadPlace: Entity {
    var id = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<BadPlace> {
      Key(\.id)
      Children(Tag.self, at: "@parent.id")
    }
  }

  struct WildByKey: Entity {
    var id = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<WildByKey> {
      Key(\.id)
      Children(Tag.self, at: .byKey("a[*].b"))
    }
  }

  struct WildObject: Entity {
    var id = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<WildObject> {
      Key(\.id)
      Children(Tag.self, at: .object("a[*].b"))
    }
  }

  struct WildSource: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(.probe, "things", rows: .object("a[*]"), paging: .none)
    static var mapping: Mapping<WildSource> { Key(\.id) }
  }

  struct WildKey: Entity {
    var id = ""
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<WildKey> { Key(\.id, "ids[*]") }
  }

  struct WildTemplate: Entity {
    var id = 0
    var text = ""
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<WildTemplate> {
      Key(\.id)
      Field(\.text, template: "{a[*]}")
    }
  }

  struct WildPaging: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(.probe, "things", rows: "data", paging: .next("links[*].next"))
    static var mapping: Mapping<WildPaging> { Key(\.id) }
  }

  struct WildFilter: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(.probe, "things", paging: .none, where: .value("kinds[*]", in: "a"))
    static var mapping: Mapping<WildFilter> { Key(\.id) }
  }

  struct KeyOfList: Entity {
    struct Child: Record {
      var owner = 0
      var code = ""
      static var mapping: Mapping<Child> {
        Key(\.owner, "@parent.id")
        Key(\.code, "@key")
      }
    }
    var id = 0
    static let source = Source(.probe, "things", rows: .byKey(.root), paging: .none)
    static var mapping: Mapping<KeyOfList> {
      Key(\.id)
      Children(Child.self, at: "list")
    }
  }

  struct Forgotten: Entity {
    struct Child: Record {
      var owner = 0
      var forgotten = ""
      static var mapping: Mapping<Child> { Key(\.owner, "@parent.id") }
    }
    var id = 0
    static let source = plain
    static var mapping: Mapping<Forgotten> {
      Key(\.id)
      Children(Child.self, at: "list")
    }
  }

  struct ParentOfEntity: Entity {
    var id = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<ParentOfEntity> { Key(\.id, "@parent.id") }
  }

  struct FetchedText: Entity {
    var id = 0
    var at = ""
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<FetchedText> {
      Key(\.id)
      Field(\.at, "@fetchedAt")
    }
  }

  struct ReferenceType: Entity {
    var id = 0
    var other = ""
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<ReferenceType> {
      Key(\.id)
      Field(\.other, references: Thing.self)
    }
  }

  struct ReferenceToMany: Entity {
    var id = 0
    var other = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<ReferenceToMany> {
      Key(\.id)
      Field(\.other, references: Tag.self)
    }
  }

  struct BuiltinClosure: Entity {
    var id = 0
    var n = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<BuiltinClosure> {
      Key(\.id)
      Field(\.n, "@index") { Int($0.int64 ?? 0) }
    }
  }

  struct BadFallback: Entity {
    var id = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<BadFallback> { Key(\.id, "id", or: ["a[01]"]) }
  }

  struct Share: Entity {
    var id = 0
    static let table = "thing"
    static let source = Source(
      .probe, "things", paging: .none, badRecords: .quarantine(atMost: 1, share: .nan))
    static var mapping: Mapping<Share> { Key(\.id) }
  }

  struct Twice: Entity {
    var id = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<Twice> {
      Key(\.id)
      Children(Tag.self, at: "tags")
      Children(Tag.self, at: "labels")
    }
  }

  struct OwnTable: Entity {
    struct Child: Record {
      var thing = 0
      static let table = "THING"
      static var mapping: Mapping<Child> { Key(\.thing, "@parent.id") }
    }
    var id = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<OwnTable> {
      Key(\.id)
      Children(Child.self, at: "list")
    }
  }

  struct SameTable: Entity {
    struct Other: Record {
      var id = ""
      static let table = "tag"
      static var mapping: Mapping<Other> { Key(\.id) }
    }
    var id = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<SameTable> {
      Key(\.id)
      Children(Tag.self, at: "tags")
      Embedded(Other.self, at: .object("other"))
    }
  }

  struct TagsOfThings: Entity {
    var id = 0
    static let source = plain
    static var mapping: Mapping<TagsOfThings> {
      Key(\.id)
      Children(Tag.self, at: "tags")
    }
  }

  struct TagsOfOthers: Entity {
    var id = 0
    static let source = plain
    static var mapping: Mapping<TagsOfOthers> {
      Key(\.id)
      Children(Tag.self, at: "tags")
    }
  }

  struct NullKey: Entity {
    var id = 0
    static let table = "thing"
    static let source = plain
    static var mapping: Mapping<NullKey> { Key(\.id, .nullAsDefault) }
  }

  static let cases: [(any Entity.Type, String)] = [
    (
      NoOwner.self,
      #"child: children belong to a row of no_owner, so their key has to name it: Key(\.…, "@parent.id")"#
    ),
    (
      HalfOwner.self,
      #"child: children belong to a row of half_owner, so their key has to name it: Key(\.…, "@parent.b")"#
    ),
    (WrongType.self, #"child: column "owner" is text, but wrong_type.id is integer"#),
    (
      UnknownColumn.self,
      #"child: "@parent.nmae" is read, but unknown_column has no such column that comes from the source"#
    ),
    (
      LocalColumn.self,
      #"child: "@parent.note" is read, but local_column has no such column that comes from the source"#
    ),
    (Cyclic.self, "cyclic: its records hold records of the same type, without an end"),
    (HoldsEndless.self, "endless: its records hold records of the same type, without an end"),
    (BadPath.self, #"tag: the path "a..b" has an empty part"#),
    (BadPlace.self, "tag: the records cannot be at @parent.id"),
    (WildByKey.self, #"tag: behind a wildcard each value is one record: "a[*].b""#),
    (WildObject.self, #"tag: behind a wildcard each value is one record: "a[*].b""#),
    (WildSource.self, #"thing: behind a wildcard each value is one record: "a[*]""#),
    (WildKey.self, #"thing: column "id" collects a list, and its property is none: ids[*]"#),
    (WildTemplate.self, #"thing: column "text" collects a list in a template"#),
    (WildPaging.self, #"thing: "links[*].next" has to lead to one value of the answer"#),
    (WildFilter.self, #"thing: "kinds[*]" has to lead to one value of the answer"#),
    (
      KeyOfList.self,
      #"child: column "code" reads @key, but the records are not declared to be the values of an object (rows: .byKey)"#
    ),
    (
      Forgotten.self,
      #"child: the property "forgotten" stands in no statement of the mapping; add Field(\.forgotten) or, if only the application writes it, Local(\.forgotten)"#
    ),
    (
      ParentOfEntity.self,
      #"thing: "parent.id" is read, but the source has no parents; add parents: Parents(….self)"#
    ),
    (
      FetchedText.self,
      #"thing: column "at" reads @fetchedAt, which is an instant, and its property is no Date"#
    ),
    (ReferenceType.self, #"thing: column "other" is text, but the key of thing is integer"#),
    (ReferenceToMany.self, #"thing: column "other" refers to tag, whose key has 2 columns"#),
    (
      BuiltinClosure.self,
      #"thing: column "n" is read by a closure, which takes values of the record, and not @index"#
    ),
    (
      BadFallback.self,
      #"thing: column "id": the path "a[01]" has a bracket that holds no position, no * and no quoted key"#
    ),
    (
      Twice.self,
      #"thing: two statements fill the table "tag", and children replace what stands there"#
    ),
    (
      SameTable.self,
      #"thing: two statements fill the table "tag", and children replace what stands there"#
    ),
    (OwnTable.self, "THING: a record and one in it have the same table"),
    (Share.self, "thing: the share of bad records is nan; it is a share from 0 to 1"),
  ]

  @Test("are refused with what is wrong", arguments: cases.indices)
  func refused(_ index: Int) throws {
    let (entity, message) = Self.cases[index]
    expect(try fault(of: entity), is: message)
    _ = Engine.parentsFirst([entity])
  }

  @Test("one table of children for two entities is refused with both of them")
  func sharedChildren() throws {
    expect(
      try fault(of: TagsOfThings.self, TagsOfOthers.self),
      is:
        #"the table "tag" belongs to rows of "tags_of_things" and of "tags_of_others"; children of two kinds of rows need two tables"#
    )
    expect(try fault(of: TagsOfThings.self), is: "accepted")
  }

  @Test("a null is no key, whatever the options of its statement")
  func nullKey() async throws {
    expect(
      try await Scene().run(NullKey.self, #"[{"id":null}]"#),
      is:
        "thing: 1 bad record, nothing was written:\n  page 1, record 1 (id null), field \"id\": the key is null"
    )
  }
}
