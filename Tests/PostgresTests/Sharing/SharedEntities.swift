import Foundation
import SyncEngine

/// What workers share in these tests.
enum Cut {
  struct Owner: Entity {
    var id = 0
    static let source = Source(.place, "owners", paging: .none, conditional: false, resume: .never)
    static var mapping: Mapping<Owner> { Key(\.id) }
    static let deletion = Deletion<Owner>.missing(atMost: 1)
  }

  /// A row of one owner for ever: its key holds the owner's.
  struct Line: Entity {
    var owner = 0
    var n = 0
    var v: String?
    var mine: String?
    static let source = Source(
      .place, "owners/{parent.id}/lines", paging: .none, parents: Parents(Owner.self), slices: .parents)
    static var mapping: Mapping<Line> {
      Key(\.owner, "@parent.id")
      Key(\.n)
      Field(\.v)
      Local(\.mine)
    }
    static let deletion = Deletion<Line>.missing(atMost: 1)
  }

  /// A row that may go from one owner to another.
  struct Ticket: Entity {
    var n = 0
    var owner = 0
    static let source = Source(
      .place, "owners/{parent.id}/lines", paging: .none, parents: Parents(Owner.self), slices: .parents)
    static var mapping: Mapping<Ticket> {
      Key(\.n)
      Field(\.owner, "@parent.id")
    }
    static let deletion = Deletion<Ticket>.missing(atMost: 1)
  }

  struct Spread: Entity {
    var owner = 0
    var n = 0
    var v: String?
    static let source = Source(
      .place, "owners/{parent.id}/lines", paging: .none, parents: Parents(Owner.self),
      slices: .parents(in: 4))
    static var mapping: Mapping<Spread> {
      Key(\.owner, "@parent.id")
      Key(\.n)
      Field(\.v)
    }
    static let deletion = Deletion<Spread>.missing(atMost: 1)
  }

  /// Of declared values.
  struct Regional: Entity {
    var region = ""
    var n = 0
    static let source = Source(
      .place, "regions/{parent.region}", paging: .none,
      parents: Parents(values: ["eu", "us", "a p/ü"], as: "region"), slices: .parents)
    static var mapping: Mapping<Regional> {
      Key(\.region, "@parent.region")
      Key(\.n)
    }
    static let deletion = Deletion<Regional>.missing(atMost: 1)
  }
}
