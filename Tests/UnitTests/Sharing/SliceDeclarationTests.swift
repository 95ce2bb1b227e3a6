import Foundation
import TestSupport
import Testing

@testable import SyncEngine

@Suite("Declarations of slices", .timeLimit(.minutes(5)), .once)
struct SliceDeclarationTests {
  private struct Parent: Entity {
    var id = 0
    static let source = Source(.probe, "p", paging: .none)
    static var mapping: Mapping<Parent> { Key(\.id) }
  }

  private struct Cut: Entity {
    var id = 0
    @TaskLocal static var source = Source(.probe, "c", paging: .none)
    static var mapping: Mapping<Cut> { Key(\.id) }
  }

  private func refusal(_ source: Source) -> String {
    do {
      _ = try Cut.$source.withValue(source) { try EntityPlan.erased(Cut.self, urls: [:]) }
      return "accepted"
    } catch { return "\(error)" }
  }

  @Test("what cannot be cut is refused, with what to do")
  func refused() {
    let path = "c/{parent.id}"
    #expect(
      refusal(Source(.probe, "c", paging: .none, slices: .parents))
        == "cut: slices of parents need parents: Parents(….self)")
    #expect(
      refusal(Source(.probe, "c", paging: .none, slices: .parents(in: 4)))
        == "cut: slices of parents need parents: Parents(….self)")
    #expect(
      refusal(
        Source(.probe, path, paging: .none, parents: Parents(Parent.self, grouped: 5), slices: .parents))
        == "cut: its requests are made for 5 parents at once; spread them over slices: .parents(in: 16)")
    #expect(
      refusal(
        Source(
          .probe, path, paging: .none, parents: Parents(Parent.self, grouped: 5), slices: .parents(in: 16)))
        == "accepted")
    for count in [0, -1, 65_537] {
      #expect(
        refusal(
          Source(.probe, path, paging: .none, parents: Parents(Parent.self), slices: .parents(in: count)))
          == "cut: parents in \(count) slices; there can be 1 to 65,536")
    }
    for count in [1, 65_536] {
      #expect(
        refusal(
          Source(.probe, path, paging: .none, parents: Parents(Parent.self), slices: .parents(in: count)))
          == "accepted")
    }
    #expect(
      refusal(Source(.probe, "c", paging: .next("next"), slices: .windows))
        == "cut: slices of windows need paging: .windows(…)")
    #expect(
      refusal(
        Source(
          .probe, "c", paging: .windows(from: "f", to: "t", since: Date(), step: .seconds(60)),
          slices: .windows))
        == "accepted")
  }

  @Test("declared values: one at least, none twice, and their column is the one that is read")
  func values() {
    let path = "c/{parent.region}"
    #expect(
      refusal(
        Source(
          .probe, path, paging: .none, parents: Parents(values: [String](), as: "region"), slices: .parents))
        == "cut: its parents are declared values, and there is none")
    #expect(
      refusal(
        Source(.probe, path, paging: .none, parents: Parents(values: ["eu", "us", "eu"], as: "region")))
        == "cut: of the declared values for \"region\" one is there twice")
    #expect(
      refusal(Source(.probe, path, paging: .none, parents: Parents(values: ["eu"], as: "area")))
        == "cut: \"parent.region\" is read, but the declared values have no column \"region\"; they have area"
    )
    #expect(
      refusal(
        Source(.probe, path, paging: .none, parents: Parents(values: [1, 2], as: "region"), slices: .parents))
        == "accepted")
  }
}
