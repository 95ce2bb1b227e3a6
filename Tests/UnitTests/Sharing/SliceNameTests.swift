import Foundation
import TestSupport
import Testing

@testable import SyncEngine

@Suite("Names and keys of slices", .timeLimit(.minutes(5)), .once)
struct SliceNameTests {
  private struct Parent: Entity {
    var id = 0
    static let source = Source(.probe, "p", paging: .none)
    static var mapping: Mapping<Parent> { Key(\.id) }
  }
  private struct Named: Entity {
    var name = ""
    static let source = Source(.probe, "p", paging: .none)
    static var mapping: Mapping<Named> { Key(\.name) }
  }
  private struct Pair: Entity {
    var a = ""
    var b = 0
    static let source = Source(.probe, "p", paging: .none)
    static var mapping: Mapping<Pair> {
      Key(\.a)
      Key(\.b)
    }
  }

  private struct Child<P: Slicing>: Entity {
    var id = 0
    static var table: String { "child" }
    static var source: Source {
      Source(
        .probe, "c/\(P.path)", paging: .none, parents: Parents(P.Parent.self), slices: .parents)
    }
    static var mapping: Mapping<Child> { Key(\.id) }
  }
  private protocol Slicing {
    associatedtype Parent: Entity
    static var path: String { get }
  }
  private enum OfParent: Slicing {
    typealias Parent = SliceNameTests.Parent
    static let path = "{parent.id}"
  }
  private enum OfNamed: Slicing {
    typealias Parent = Named
    static let path = "{parent.name}"
  }
  private enum OfPair: Slicing {
    typealias Parent = Pair
    static let path = "{parent.a}"
  }

  private func name(_ entity: any Entity.Type, _ key: StoredValue...) throws -> String {
    Engine.ParentRow(sent: [], key: key).name(in: try EntityPlan.erased(entity, urls: [:]))
  }

  @Test("the name is the parent's key as text, and never that of the entity itself")
  func names() throws {
    #expect(try name(Child<OfParent>.self, .integer(-42)) == "-42")
    #expect(try name(Child<OfNamed>.self, .text("a b/ü'\"\\{},\n")) == "a b/ü'\"\\{},\n")
    #expect(try name(Child<OfNamed>.self, .text("")) == "''")
    #expect(try name(Child<OfPair>.self, .text("x"), .integer(7)) == "x,7")
    #expect(try name(Child<OfPair>.self, .text(""), .integer(7)) == ",7")
    #expect(
      WorkUnit(entity: "line", slice: "x,7").name == "line[x,7]" && WorkUnit(entity: "line").name == "line")
  }

  @Test("parents are spread evenly over buckets, the same way each time", arguments: [1, 2, 16, 1000])
  func buckets(_ count: Int) {
    var sizes = Array(repeating: 0, count: count)
    let parents = 20_000
    for id in 0..<parents {
      let row = Engine.ParentRow(sent: [], key: [.integer(Int64(id))])
      let bucket = row.bucket(of: count)
      #expect(bucket == row.bucket(of: count))
      sizes[bucket] += 1
    }
    let mean = Double(parents) / Double(count)
    // Of a random spread six standard deviations are never met.
    let bound = 6 * mean.squareRoot()
    #expect(
      sizes.allSatisfy { abs(Double($0) - mean) <= bound }, "\(sizes.min()!) to \(sizes.max()!) of \(mean)")
    // Fixed for ever: programs of several versions and machines share them.
    #expect(
      ["a", "b", "ü"].map { Engine.ParentRow(sent: [], key: [.text($0)]).bucket(of: 65_536) }
        == ["a", "b", "ü"].map { Engine.ParentRow(sent: [.integer(9)], key: [.text($0)]).bucket(of: 65_536) })
  }

  private func index(_ keys: [[StoredValue]]) -> KeyIndex {
    var index = KeyIndex()
    for (ordinal, key) in keys.enumerated() {
      var bytes = KeyBytes()
      for value in key { bytes.append(value) }
      bytes.withBytes { _ = index.insert($0, ordinal: ordinal) }
    }
    return index
  }

  private func contents(_ index: KeyIndex) -> Set<[UInt8]> {
    var found: Set<[UInt8]> = []
    index.forEach { key, _ in found.insert(Array(key)) }
    return found
  }

  @Test("keys of several slices come together as they went, those of rows and those of owners")
  func keys() {
    let first = index((1...300).map { [.integer($0 * 7)] })
    let second = index([[.text("a")], [.text("")], [.text("ü,\n")], [.text("b")]])
    let third = index([[.integer(.max)], [.integer(.min)], [.integer(0)], [.integer(7)]])
    let owners = index([[.integer(1), .text("x")]])
    var (rows, found) = (KeyIndex(), KeyIndex())
    #expect(SliceKeys.read(SliceKeys.bytes(rows: first, owners: owners), rows: &rows, owners: &found))
    #expect(SliceKeys.read(SliceKeys.bytes(rows: second, owners: owners), rows: &rows, owners: &found))
    #expect(SliceKeys.read(SliceKeys.bytes(rows: third, owners: nil), rows: &rows, owners: &found))
    #expect(SliceKeys.read(SliceKeys.bytes(rows: KeyIndex(), owners: nil), rows: &rows, owners: &found))
    #expect(contents(rows) == contents(first).union(contents(second)).union(contents(third)))
    #expect(rows.count == 300 + 4 + 3 && contents(found) == contents(owners))
  }

  @Test("bytes that are cut short are known for what they are")
  func damaged() {
    let bytes = SliceKeys.bytes(rows: index([[.text("abc")], [.text("defgh")]]), owners: nil)
    var refused = 0
    for length in 1..<bytes.count {
      var (rows, owners) = (KeyIndex(), KeyIndex())
      if !SliceKeys.read(Array(bytes.prefix(length)), rows: &rows, owners: &owners) { refused += 1 }
    }
    // Between two keys nothing is damaged.
    #expect(refused == bytes.count - 2)
  }

  @Test("windows have the names of their beginnings, and so many at most as can be listed")
  func windows() throws {
    let day = 86_400_000
    let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970 - 10.5 * 86_400)
    let paging = Paging.windows(from: "f", to: "t", since: start, step: .milliseconds(day))
    let list = try #require(paging.windows)
    let beginnings = list(1000)
    #expect(beginnings.count == 11)
    #expect(zip(beginnings, beginnings.dropFirst()).allSatisfy { $1 - $0 == day })
    // The last one reaches past the present.
    #expect(beginnings.last! <= Timestamp.now && beginnings.last! + Int64(day) > Timestamp.now)
    for begin in beginnings {
      var text = Timestamp.text(begin)
      #expect(text.withUTF8 { Timestamp.parse($0) } == begin)
    }
    let tiny = Paging.windows(
      from: "f", to: "t", since: Date(timeIntervalSince1970: 0), step: .milliseconds(1))
    let listTiny = try #require(tiny.windows)
    #expect(listTiny(1_000_001).count == 1_000_001)
    #expect(Paging.none.windows == nil)
  }
}
