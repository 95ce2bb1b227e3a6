@testable import SyncEngine

/// A random mapping: as the engine's plan, as the oracle's description, and as the tree that documents grow from.
struct TestedMapping: Sendable {
  private(set) var plan = DecodingPlan(table: "wide")
  private(set) var rows: Rows
  private(set) var rowsPath: [Step] = []
  /// The values of ``DecodingPlan/parentColumns``.
  private(set) var parent: [StoredValue] = []
  /// The mapping as JSON, for the oracle and for messages.
  private(set) var description = ""
  private(set) var tree = Tree()

  enum Step: Hashable, Sendable {
    case key(String)
    case index(Int)
  }

  /// The paths of all columns in one tree, with the types that read at its places.
  struct Tree: Sendable {
    var types: [TestedType] = []
    var members: [(key: String, tree: Tree)] = []
    var elements: [Int: Tree] = [:]

    mutating func add(_ path: ArraySlice<Step>, _ type: TestedType) {
      guard let step = path.first else {
        types.append(type)
        return
      }
      switch step {
      case .key(let key):
        if !members.contains(where: { $0.key.utf8.elementsEqual(key.utf8) }) { members.append((key, Tree())) }
        for index in members.indices where members[index].key.utf8.elementsEqual(key.utf8) {
          members[index].tree.add(path.dropFirst(), type)
        }
      case .index(let index): elements[index, default: Tree()].add(path.dropFirst(), type)
      }
    }
  }

  /// A key; two paths seldom share one by chance.
  static func key(_ random: inout DocumentWriter) -> String {
    random.chance(60) ? "f\(random.below(30))" : random.pick(keys)
  }

  private static let keys = [
    "a", "b", "id", "name", "data", "error", "errors", "\u{E9}", "e\u{301}", "x y", "k\"\\", "1", "{", "@at",
    "a.b",
    "long key with more than thirty-two bytes in it", "\u{1F600}", "A",
  ]

  init(_ random: inout DocumentWriter) {
    let shapes: [(Rows.Shape, String)] = [
      (.list, "list"), (.list, "list"), (.list, "list"), (.listOrObject, "listOrObject"),
      (.byKey, "byKey"), (.object, "object"),
    ]
    let (shape, shapeName) = random.pick(shapes)
    if !random.chance(30) { rowsPath = Self.path(&random, atMost: 2) }
    rows = Rows(path: Self.jsonPath(rowsPath), shape: shape)
    rows.isNullEmpty = random.chance(20)

    let keyCount = random.chance(20) ? 2 : 1
    let columnCount = keyCount + (random.chance(50) ? random.below(3) : random.below(12))
    var columns: [String] = []
    for position in 0..<columnCount {
      let isKey = position < keyCount
      var type = random.pick(TestedType.all)
      while isKey && !type.canBeKey { type = random.pick(TestedType.all) }
      let role: TestedType.Role = isKey ? .key : random.chance(40) ? .plain : .nullable
      var options: FieldOptions = []
      if role != .key {
        if random.chance(20) { options.insert(.emptyAsNull) }
        // The start of the program refuses .nullAsDefault without a default.
        if random.chance(15) {
          options.insert(.required)
        } else if role == .plain, random.chance(40) {
          options.insert(.nullAsDefault)
        }
      }
      let (place, placeText) = place(&random, type, isKey: isKey, shape: shape)
      let name = "c\(position)"
      let column = type.column(role, place, options, name)
      let initial = column.initial(Wide())
      let hasDefault = role != .key && !options.contains(.required) && initial != .null
      plan.add(column, named: name, default: hasDefault ? initial : nil)
      columns.append(
        """
        {"name": "\(name)", "role": "\(isKey ? "key" : "remote")", "type": "\(type.name)", "place": \(placeText), \
        "options": [\(Self.names(options))], "nullable": \(role == .nullable), \
        "default": \(hasDefault ? "\"\(Results.cell(initial))\"" : "null")\(type.details)}
        """)
    }
    var parents: [String] = []
    for column in plan.parentColumns {
      let (value, text) = Self.parentValue(column)
      parent.append(value)
      parents.append("\"\(column)\": \(text)")
    }
    description = """
      {"rows": {"path": \(Self.text(rowsPath)), "shape": "\(shapeName)", "nullIsEmpty": \(rows.isNullEmpty)}, \
      "parent": {\(parents.joined(separator: ", "))}, "columns": [\(columns.joined(separator: ", "))]}
      """
  }

  private mutating func place(
    _ random: inout DocumentWriter, _ type: TestedType, isKey: Bool, shape: Rows.Shape
  ) -> (MappedColumn<Wide>.Place, String) {
    // A JSON column reads values at paths only, and a key is no template. A place that never fits the type makes
    // every record bad, so it is rare.
    let isText = type.name == "text"
    if type.name != "json" {
      if shape == .byKey, random.chance(isText ? 60 : isKey ? 10 : 2) {
        return (.paths(["@key"]), #"["recordKey", null]"#)
      }
      if random.chance(5) {
        let column = Self.parentColumn(&random, for: type)
        return (.paths([JSONPath(parsing: "@parent.\(column)")]), #"["parent", "\#(column)"]"#)
      }
      if !isKey, random.chance(isText ? 30 : 2) { return template(&random) }
    }
    let path = Self.path(&random, atMost: isKey ? 2 : 3)
    tree.add(path[...], type)
    return (.paths([Self.jsonPath(path)]), #"["path", \#(Self.text(path))]"#)
  }

  private mutating func template(_ random: inout DocumentWriter) -> (MappedColumn<Wide>.Place, String) {
    var text = ""
    var parts: [String] = []
    for _ in 0...random.below(3) {
      if random.chance(30) {
        let literal = random.pick(["-", "{", "}", " \u{E9} ", "http://a.example/", "1", "T", "Z", "2024"])
        text += literal == "{" || literal == "}" ? literal + literal : literal
        parts.append(#"["literal", "\#(literal)"]"#)
      } else if random.chance(10) {
        let column = random.pick(["id", "none", "text", "half"])
        text += "{@parent.\(column)}"
        parts.append(#"["parent", "\#(column)"]"#)
      } else {
        let path = Self.path(&random, atMost: 2, without: ["{", "a.b"])
        tree.add(path[...], random.pick(TestedType.all))
        text += "{\(Self.jsonPath(path))}"
        parts.append(#"["path", \#(Self.text(path))]"#)
      }
    }
    return (.template(Template(text)), #"["template", [\#(parts.joined(separator: ", "))]]"#)
  }

  private static func parentColumn(_ random: inout DocumentWriter, for type: TestedType) -> String {
    if random.chance(10) { return random.pick(["id", "none", "text", "half", "day", "empty", "flag"]) }
    switch type.name {
    case "text": return random.pick(["id", "text", "half", "day", "empty", "flag"])
    case "iso8601": return "day"
    case "double": return random.pick(["half", "id"])
    default: return "flag"
    }
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

  private static func path(
    _ random: inout DocumentWriter, atMost: Int, without excluded: [String] = []
  ) -> [Step] {
    // A key with a dot in it can only be the whole path.
    if !excluded.contains("a.b"), random.chance(3) { return [.key("a.b")] }
    return (0...random.below(atMost)).map { position in
      if position > 0, random.chance(20) { return .index(random.below(3)) }
      var key = key(&random)
      while key == "a.b" || excluded.contains(key) { key = Self.key(&random) }
      return .key(key)
    }
  }

  private static func jsonPath(_ path: [Step]) -> JSONPath {
    if path == [.key("a.b")] { return .key("a.b") }
    var text = ""
    for step in path {
      switch step {
      case .key(let key): text += (text.isEmpty ? "" : ".") + key
      case .index(let index): text += "[\(index)]"
      }
    }
    return JSONPath(parsing: text)
  }

  private static func text(_ path: [Step]) -> String {
    let steps = path.map { step in
      switch step {
      case .key(let key):
        "\"\(key.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
      case .index(let index): String(index)
      }
    }
    return "[\(steps.joined(separator: ", "))]"
  }

  private static func names(_ options: FieldOptions) -> String {
    [(FieldOptions.required, "required"), (.nullAsDefault, "nullAsDefault"), (.emptyAsNull, "emptyAsNull")]
      .filter { options.contains($0.0) }.map { "\"\($0.1)\"" }.joined(separator: ", ")
  }
}
