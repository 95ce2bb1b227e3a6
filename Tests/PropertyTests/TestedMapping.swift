import JSON

@testable import SyncEngine

/// A random mapping: as the engine's plan, as the oracle's description, and as the tree that documents grow from.
struct TestedMapping: Sendable {
  let table: TestedTable
  private(set) var source: RecordSource
  /// The values of ``DecodingPlan/parentColumns``.
  private(set) var parent: [StoredValue] = []
  /// The mapping as JSON, for the oracle and for messages.
  private(set) var description = ""

  init(_ random: inout DocumentWriter) {
    var table = TestedTable(&random)
    source = RecordSource(rows: table.rows)
    let filter = random.chance(15) ? Self.filter(&random, &table, &source) : "null"
    let prepare = random.chance(15) ? Self.prepare(&random, table, &source) : "null"
    var parents: [String] = []
    for column in table.plan.parentColumns {
      let (value, text) = Self.parentValue(column)
      parent.append(value)
      parents.append("\"\(column)\": \(text)")
    }
    description = """
      {"parent": {\(parents.joined(separator: ", "))}, "filter": \(filter), "prepare": \(prepare), \
      \(table.description)}
      """
    self.table = table
  }

  private static func parentValue(_ column: String) -> (StoredValue, String) {
    switch column {
    case "id": (.integer(7), "7")
    case "none": (.null, "null")
    case "text": (.text("n\u{E9}\u{0}\""), #""n\u00e9\u0000\"""#)
    case "half": (.real(0.5), "0.5")
    case "day": (.text("2024-02-29T10:00:00.000Z"), #""2024-02-29T10:00:00.000Z""#)
    case "empty": (.text(""), #""""#)
    default: (.integer(1), "1")
    }
  }

  // MARK: Filters and preparations

  private static func filter(
    _ random: inout DocumentWriter, _ table: inout TestedTable, _ source: inout RecordSource
  ) -> String {
    if random.chance(60) {
      let path = TestedPath.random(&random, atMost: 2)
      table.tree.add(
        path[...],
        TestedType("text", \.text, \.plainText) {
          if $0.chance(90) {
            $0.string($0.pick(["order", "order", "1", "true", "refund"]))
          } else {
            $0.textual()
          }
        })
      source.filter = .value(TestedPath.jsonPath(path), in: "order", "1", "true")
      return #"{"path": \#(TestedPath.text(path)), "values": ["order", "1", "true"]}"#
    }
    let (first, second) = ("f\(random.below(30))", "f\(random.below(30))")
    table.tree.add([.key(first)], .named("text"))
    table.tree.add(
      [.key(second)], TestedType("bool", \.bool, \.plainBool) { $0.word($0.chance(5) ? "true" : "false") })
    source.filter = .matching("closure") { record in
      if record[second]?.bool == true { throw Unreadable() }
      return record[first] != nil
    }
    return #"{"closure": ["\#(first)", "\#(second)"]}"#
  }

  private static func prepare(
    _ random: inout DocumentWriter, _ table: TestedTable, _ source: inout RecordSource
  ) -> String {
    // Best keys that columns read.
    let keys = table.tree.members.map(\.key).filter { $0.utf8.count < 4 && $0.hasPrefix("f") } + ["f0"]
    var steps: [(key: String, kind: String, what: String)] = []
    for _ in 0...random.below(2) {
      let key = random.pick(keys)
      if steps.contains(where: { $0.key == key }) { continue }
      let kind = random.pick(["text", "integer", "boolean", "null", "value", "value", "list"])
      steps.append((key, kind, kind == "value" ? random.pick(keys) : ""))
    }
    source.prepare = .setting { [steps] record in
      var members: [String: PreparedValue] = [:]
      for step in steps {
        switch step.kind {
        case "text": members[step.key] = .text("n\u{E9}\u{1}\"\\")
        case "integer": members[step.key] = .integer(-12)
        case "boolean": members[step.key] = .boolean(true)
        case "null": members[step.key] = .null
        case "list": members[step.key] = .list([.text("a"), .text("")])
        default:
          guard let value = record[step.what] else { throw Unreadable() }
          members[step.key] = .value(value)
        }
      }
      return members
    }
    let parts = steps.map { step in
      let what =
        switch step.kind {
        case "text": #""n\u00e9\u0001\"\\""#
        case "integer": #""-12""#
        case "boolean": "true"
        case "null": "null"
        case "list": #"["a", ""]"#
        default: "\"\(step.what)\""
        }
      return #"["\#(step.key)", "\#(step.kind)", \#(what)]"#
    }
    return "[\(parts.joined(separator: ", "))]"
  }
}

/// The paths of random mappings.
enum TestedPath {
  enum Step: Hashable, Sendable {
    case key(String)
    case index(Int)
    case wildcard
  }

  /// A key; two paths seldom share one by chance.
  static func key(_ random: inout DocumentWriter) -> String {
    random.chance(60) ? "f\(random.below(30))" : random.pick(keys)
  }

  private static let keys = [
    "a", "b", "id", "name", "data", "error", "errors", "\u{E9}", "e\u{301}", "x y", "k\"\\", "1", "{", "@at",
    "a.b", "[0]", "x[*]", "", "]", "long key with more than thirty-two bytes in it", "\u{1F600}", "A",
  ]

  static func random(
    _ random: inout DocumentWriter, atMost: Int, without excluded: [String] = []
  ) -> [Step] {
    (0...random.below(atMost)).map { position in
      if position > 0, random.chance(20) { return .index(random.below(3)) }
      var key = key(&random)
      while excluded.contains(key) { key = Self.key(&random) }
      return .key(key)
    }
  }

  static func jsonPath(_ path: [Step]) -> JSONPath {
    var text = ""
    for step in path {
      switch step {
      case .key(let key):
        text +=
          key.isEmpty || key.utf8.contains { ".[]".utf8.contains($0) }
          ? "['\(key)']" : (text.isEmpty ? "" : ".") + key
      case .index(let index): text += "[\(index)]"
      case .wildcard: text += "[*]"
      }
    }
    return JSONPath(parsing: text)
  }

  static func text(_ path: [Step]) -> String {
    let steps = path.map { step in
      switch step {
      case .key(let key):
        "\"\(key.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
      case .index(let index): String(index)
      case .wildcard: "null"
      }
    }
    return "[\(steps.joined(separator: ", "))]"
  }

  /// The paths of all columns in one tree, with the types that read at its places and the tables that are there.
  struct Tree: Sendable {
    var types: [TestedType] = []
    var tables: [TestedTable] = []
    var members: [(key: String, tree: Tree)] = []
    var elements: [Int: Tree] = [:]
    /// What all elements are; none or one.
    var wildcard: [Tree] = []

    var isLeaf: Bool { members.isEmpty && elements.isEmpty && wildcard.isEmpty }

    mutating func add(_ path: ArraySlice<Step>, _ type: TestedType) { add(path) { $0.types.append(type) } }

    mutating func add(_ path: ArraySlice<Step>, _ table: TestedTable) {
      add(path) { $0.tables.append(table) }
    }

    private mutating func add(_ path: ArraySlice<Step>, _ body: (inout Tree) -> Void) {
      guard let step = path.first else { return body(&self) }
      switch step {
      case .key(let key):
        if !members.contains(where: { $0.key.utf8.elementsEqual(key.utf8) }) { members.append((key, Tree())) }
        for index in members.indices where members[index].key.utf8.elementsEqual(key.utf8) {
          members[index].tree.add(path.dropFirst(), body)
        }
      case .index(let index): elements[index, default: Tree()].add(path.dropFirst(), body)
      case .wildcard:
        if wildcard.isEmpty { wildcard.append(Tree()) }
        wildcard[0].add(path.dropFirst(), body)
      }
    }
  }
}
