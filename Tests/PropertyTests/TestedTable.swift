@testable import SyncEngine

/// A table of a random mapping: the entity's own, or one of records in its records.
struct TestedTable: Sendable {
  private(set) var plan: DecodingPlan
  private(set) var rows = Rows(path: .root, shape: .list)
  private(set) var rowsPath: [TestedPath.Step] = []
  var tree = TestedPath.Tree()
  /// Members of a JSON object, without its braces.
  private(set) var description = ""
  private var types: [TestedType] = []
  private let name: String
  private let depth: Int

  init(_ random: inout DocumentWriter) {
    self.init(&random, name: "wide", owner: nil)
  }

  private init(_ random: inout DocumentWriter, name: String, owner: TestedTable?) {
    plan = DecodingPlan(table: name)
    self.name = name
    depth = owner.map { $0.depth + 1 } ?? 0
    let rowsText = chooseRows(&random)
    // A table of plain values, such as the ids of a join table.
    let isPlain = owner != nil && random.chance(25)
    let keyCount = random.chance(20) || isPlain ? 2 : 1
    let others = depth > 0 ? random.below(3) : random.chance(50) ? random.below(3) : random.below(12)
    var columns: [String] = []
    for position in 0..<keyCount + others {
      columns.append(column(&random, position, isKey: position < keyCount, isPlain: isPlain, owner: owner))
    }
    var nested: [String] = []
    if depth < 2, random.chance(depth == 0 ? 30 : 40), !isPlain {
      for number in 0...random.below(2) {
        let table = TestedTable(&random, name: "n\(depth)\(number)", owner: self)
        tree.add(table.rowsPath.prefix { $0 != .wildcard }, table)
        nested.append("{\(table.description)}")
        do {
          let schema = TableSchema(name: table.name, columns: [], references: [], assets: [])
          try plan.add(table.plan, schema: schema, rows: table.rows, isOwned: random.chance(70))
        } catch { fatalError("\(error)") }
      }
    }
    description = """
      "table": "\(name)", "rows": \(rowsText), "columns": [\(columns.joined(separator: ", "))], \
      "nested": [\(nested.joined(separator: ", "))]
      """
  }

  private mutating func chooseRows(_ random: inout DocumentWriter) -> String {
    let shapes: [(Rows.Shape, String)] = [
      (.list, "list"), (.list, "list"), (.list, "list"), (.listOrObject, "listOrObject"),
      (.byKey, "byKey"), (.object, "object"),
    ]
    let (shape, name) = random.pick(shapes)
    if depth > 0 || !random.chance(30) { rowsPath = TestedPath.random(&random, atMost: 2) }
    if shape == .list || shape == .byKey, random.chance(15) {
      rowsPath.append(.wildcard)
      rowsPath += TestedPath.random(&random, atMost: 1)
    }
    rows = Rows(path: TestedPath.jsonPath(rowsPath), shape: shape)
    rows.isNullEmpty = random.chance(20)
    return
      #"{"path": \#(TestedPath.text(rowsPath)), "shape": "\#(name)", "nullIsEmpty": \#(rows.isNullEmpty)}"#
  }

  // MARK: Columns

  private mutating func column(
    _ random: inout DocumentWriter, _ position: Int, isKey: Bool, isPlain: Bool, owner: TestedTable?
  ) -> String {
    var type = random.pick(TestedType.all)
    while isKey && !type.canBeKey { type = random.pick(TestedType.all) }
    let role: TestedType.Role = isKey ? .key : random.chance(40) ? .plain : .nullable
    let found: Place
    if let owner, random.chance(isKey && position == 0 ? 80 : isPlain && position != 1 ? 100 : 15) {
      found = owned(&random, by: owner, &type, isKey: isKey)
    } else if isPlain {
      found = Place(.paths([.root]), #"["path", []]"#)
      tree.add([], type)
    } else {
      found = place(&random, type, isKey: isKey, isNested: owner != nil)
    }
    var options: FieldOptions = []
    if role != .key, !found.isConstant, !type.isClosure {
      if random.chance(20) { options.insert(.emptyAsNull) }
      if random.chance(10) { options.insert(.missingAsNull) }
      // The start of the program refuses .nullAsDefault without a default.
      if random.chance(15) {
        options.insert(.required)
      } else if role == .plain, random.chance(40) {
        options.insert(.nullAsDefault)
      }
    }
    let name = "c\(position)"
    let column = type.column(role, found.place, options, found.style == nil ? name : nil)
    let initial = column.initial(Wide())
    let hasDefault = role != .key && !options.contains(.required) && initial != .null
    plan.add(column, named: name, style: found.style ?? .snake, default: hasDefault ? initial : nil)
    types.append(type)
    var text = found.text
    if let style = found.style, let property = column.property {
      text = #"["ownName", ["\#(style)", "\#(property)"]]"#
      tree.add([.key(style.key(property: property, column: name))], type)
    }
    return """
      {"name": "\(name)", "role": "\(isKey ? "key" : "remote")", "type": "\(type.name)", "place": \(text), \
      "options": [\(Self.names(options))], "nullable": \(role == .nullable), \
      "default": \(hasDefault ? "\"\(Results.cell(initial))\"" : "null")\(type.details)}
      """
  }

  /// Where a column's value comes from, for the engine and for the oracle.
  private struct Place {
    var place: MappedColumn<Wide>.Place
    var text: String
    /// Set where the path is made of the property's name.
    var style: KeyStyle?
    var isConstant = false

    init(_ place: MappedColumn<Wide>.Place, _ text: String) { (self.place, self.text) = (place, text) }
  }

  /// A column of the owner's row, most often by a type that reads it.
  private mutating func owned(
    _ random: inout DocumentWriter, by owner: TestedTable, _ type: inout TestedType, isKey: Bool
  ) -> Place {
    let position = isKey || random.chance(30) ? 0 : random.below(owner.types.count)
    let given = owner.types[position]
    type =
      switch given.name {
      case "unixSeconds", "unixMilliseconds", "pattern", "http": .named("iso8601")
      case "durationMilliseconds": .named("durationSeconds")
      case "hex": .named("base64")
      case "grams": .named("int64")
      default: given
      }
    if random.chance(30) || (isKey && !type.canBeKey) { type = .named("text") }
    return Place(.paths([JSONPath(parsing: "@parent.c\(position)")]), #"["parent", "c\#(position)"]"#)
  }

  private mutating func place(
    _ random: inout DocumentWriter, _ type: TestedType, isKey: Bool, isNested: Bool
  ) -> Place {
    if !isKey, random.chance(3) {
      let value = type.column(.plain, .ownName, [], nil).initial(Wide())
      var place = Place(.constant(value), #"["constant", "\#(Results.cell(value))"]"#)
      place.isConstant = true
      if !type.isClosure { return place }
    }
    if random.chance(5) {
      var place = Place(.ownName, "")
      place.style = random.pick([.snake, .camel, .property])
      return place
    }
    // A JSON column reads values at paths only, and a key is no template. A place that never fits the type makes
    // every record bad, so it is rare.
    let isText = type.name == "text"
    if !type.isJSON, !type.isClosure {
      if rows.shape == .byKey, random.chance(isText ? 60 : isKey ? 10 : 2) {
        return Place(.paths(["@key"]), #"["recordKey", null]"#)
      }
      if random.chance(isText || type.name.hasPrefix("int") ? 10 : 1) {
        return Place(.paths(["@index"]), #"["position", null]"#)
      }
      if random.chance(isText || type.name == "iso8601" ? 5 : 0) {
        return Place(.paths(["@fetchedAt"]), #"["fetchedAt", null]"#)
      }
      if random.chance(5), !isNested {
        let column = Self.parentColumn(&random, for: type)
        return Place(.paths([JSONPath(parsing: "@parent.\(column)")]), #"["parent", "\#(column)"]"#)
      }
      if !isKey, random.chance(isText ? 30 : 2) {
        return template(&random, isNested: isNested)
      }
    }
    if type.name == "json", random.chance(10) { return Place(.paths([.root]), #"["path", []]"#) }
    if type.isList ? random.chance(30) : !isKey && !type.isClosure && random.chance(1) {
      let path = collectedPath(&random, type)
      return Place(.paths([TestedPath.jsonPath(path)]), #"["path", \#(TestedPath.text(path))]"#)
    }
    let count = random.chance(10) ? 2 + random.below(2) : 1
    let paths = (0..<count).map { _ in TestedPath.random(&random, atMost: isKey ? 2 : 3) }
    for path in paths { tree.add(path[...], type) }
    let texts = paths.map { #"["path", \#(TestedPath.text($0))]"# }
    return Place(
      .paths(paths.map(TestedPath.jsonPath)),
      count == 1 ? texts[0] : #"["first", [\#(texts.joined(separator: ", "))]]"#)
  }

  /// A path that leads to many values, which are of a scalar type that fits a list of `type`.
  private mutating func collectedPath(_ random: inout DocumentWriter, _ type: TestedType) -> [TestedPath.Step]
  {
    var path = TestedPath.random(&random, atMost: 2) + [.wildcard]
    if random.chance(70) { path += TestedPath.random(&random, atMost: 1) }
    if random.chance(10) { path.append(.wildcard) }
    let element =
      switch type.name {
      case "int64List", "uint64List", "int8List": "uint8"
      case "doubleList", "floatList": "double"
      case "boolList": "bool"
      default: "text"
      }
    tree.add(path[...], .named(element))
    return path
  }

  private mutating func template(_ random: inout DocumentWriter, isNested: Bool) -> Place {
    var text = ""
    var parts: [String] = []
    for _ in 0...random.below(3) {
      if random.chance(30) {
        let literal = random.pick(["-", "{", "}", " \u{E9} ", "http://a.example/", "1", "T", "Z", "2024"])
        text += literal == "{" || literal == "}" ? literal + literal : literal
        parts.append(#"["literal", "\#(literal)"]"#)
      } else if random.chance(10), !isNested {
        let column = random.pick(["id", "none", "text", "half"])
        text += "{@parent.\(column)}"
        parts.append(#"["parent", "\#(column)"]"#)
      } else {
        let path = TestedPath.random(&random, atMost: 2, without: ["{"])
        tree.add(path[...], random.pick(TestedType.all))
        text += "{\(TestedPath.jsonPath(path))}"
        parts.append(#"["path", \#(TestedPath.text(path))]"#)
      }
    }
    return Place(.template(Template(text)), #"["template", [\#(parts.joined(separator: ", "))]]"#)
  }

  private static func parentColumn(_ random: inout DocumentWriter, for type: TestedType) -> String {
    if random.chance(10) { return random.pick(["id", "none", "text", "half", "day", "empty", "flag"]) }
    switch type.name {
    case "text": return random.pick(["id", "text", "half", "day", "empty", "flag"])
    case "iso8601": return "day"
    case "double", "decimal", "float": return random.pick(["half", "id"])
    default: return "flag"
    }
  }

  private static func names(_ options: FieldOptions) -> String {
    [
      (FieldOptions.required, "required"), (.nullAsDefault, "nullAsDefault"), (.emptyAsNull, "emptyAsNull"),
      (.missingAsNull, "missingAsNull"),
    ].filter { options.contains($0.0) }.map { "\"\($0.1)\"" }.joined(separator: ", ")
  }
}
