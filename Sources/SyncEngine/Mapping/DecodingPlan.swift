/// A mapping compiled for the decoding loop: which paths to look up in a record, and what each column makes of them.
///
/// It is not generic, so that one compiled loop serves every entity.
struct DecodingPlan: Sendable {
  /// A node of the tree of paths. Its slot receives the position of the value found there.
  struct Node: Sendable {
    var component: JSONPath.Component
    /// The key's bytes in ``keyBytes``.
    var key: Range<Int>
    var children: [Int] = []
    /// Whether a key column reads from here or from below.
    var isOnKeyPath = false
  }

  indirect enum Source: Sendable {
    /// The value at a node; -1 is the record itself.
    case node(Int)
    /// The values that the rest of a path leads to below a node, as a list.
    case collection(Int, [JSONPath.Component])
    /// The first one that leads to a value other than null.
    case first([Source])
    case template([TemplatePart])
    case constant(StoredValue)
    /// The member's key, where the records are the values of an object.
    case recordKey
    /// The record's position in its list.
    case position
    /// When the page was received.
    case fetchedAt
    /// A column of the parent's row, by position among the asked-for ones.
    case parent(Int)

    /// Whether the time of the fetch is in it.
    var isTime: Bool {
      switch self {
      case .fetchedAt: true
      case .first(let sources): sources.contains(where: \.isTime)
      case .template(let parts):
        parts.contains { if case .value(let source) = $0 { source.isTime } else { false } }
      default: false
      }
    }
  }

  enum TemplatePart: Sendable {
    case literal([UInt8])
    case value(Source)
  }

  struct ColumnPlan: Sendable {
    let name: String
    /// What an error message calls the place of the value.
    let path: String
    let source: Source
    let reading: Reading
    let isNullable: Bool
    let isKey: Bool
    let options: FieldOptions
    let defaultValue: StoredValue?
  }

  /// Records of another table inside this one's.
  struct Nested: Sendable {
    let plan: DecodingPlan
    let schema: TableSchema
    /// The node of the list.
    let source: Source
    let rows: Rows
    /// Positions, among this plan's columns, of what the nested records read by `@parent.…`.
    let parents: [Int]
    let isOwned: Bool
  }

  let table: String
  private(set) var nodes: [Node] = []
  private(set) var roots: [Int] = []
  private(set) var keyBytes: [UInt8] = []
  private(set) var columns: [ColumnPlan] = []
  private(set) var nested: [Nested] = []
  /// Columns of the parent that `@parent.…` reads, in the order of their first use.
  private(set) var parentColumns: [String] = []

  var keyColumns: [Int] { columns.indices.filter { columns[$0].isKey } }

  /// Of each key column the members of a record that it reads: one of them at least has to be there.
  var keyMembers: [[String]] {
    keyColumns.compactMap { members(of: columns[$0].source) }
  }

  /// Nil where it is not a member alone that a value is made of.
  private func members(of source: Source) -> [String]? {
    switch source {
    case .node(let node):
      guard roots.contains(node), case .key(let name) = nodes[node].component else { return nil }
      return [name]
    case .first(let sources):
      let all = sources.map { members(of: $0) }
      return all.contains { $0 == nil } ? nil : all.flatMap { $0 ?? [] }
    default: return nil
    }
  }

  /// All nested tables at any depth, owners before what they own.
  var allNested: [Nested] { nested.flatMap { [$0] + $0.plan.allNested } }

  /// Whether a record has to be an object: a plan that reads no member takes plain values too.
  var readsMembers: Bool { !nodes.isEmpty }

  init(table: String) { self.table = table }

  /// - Throws: ``DeclarationError`` for a statement that cannot work.
  init<R: Record>(_ record: R.Type, schema: TableSchema) throws(DeclarationError) {
    let mapping = R.declaredMapping
    self.init(table: schema.name)
    for (mapped, column) in zip(mapping.columns, schema.columns)
    where column.role == .key || column.role == .remote {
      add(mapped, named: column.name, style: R.keyStyle, default: column.defaultValue)
    }
    for records in mapping.nested { try add(records, owner: schema) }
  }

  static func erased(_ record: any Record.Type, schema: TableSchema) throws(DeclarationError) -> DecodingPlan
  {
    try DecodingPlan(record, schema: schema)
  }

  mutating func add<E>(
    _ column: MappedColumn<E>, named name: String, style: KeyStyle = .snake,
    default defaultValue: StoredValue?
  ) {
    let isKey = column.role == .key
    let (source, path): (Source, String) =
      switch column.place {
      case .ownName:
        (self.source(.key(style.key(property: column.keyProperty, column: name)), isKey: isKey), name)
      case .paths(let paths):
        (
          paths.count == 1
            ? self.source(paths[0], isKey: isKey) : .first(paths.map { self.source($0, isKey: isKey) }),
          paths.map(\.description).joined(separator: "\" or \"")
        )
      case .template(let template):
        (
          .template(
            template.parts.map { part in
              switch part {
              case .literal(let text): .literal(Array(text.utf8))
              case .path(let path): .value(self.source(path, isKey: isKey))
              }
            }), template.description
        )
      case .constant(let value): (.constant(value), name)
      }
    columns.append(
      ColumnPlan(
        name: name, path: path, source: source, reading: column.reading, isNullable: column.isNullable,
        isKey: isKey, options: column.options, defaultValue: defaultValue))
  }

  private mutating func add(_ records: NestedRecords, owner: TableSchema) throws(DeclarationError) {
    let schema = try TableSchema.erased(records.record, owner: records.isOwned ? owner : nil)
    let plan = try DecodingPlan.erased(records.record, schema: schema)
    try add(plan, schema: schema, rows: records.rows, isOwned: records.isOwned)
  }

  /// Adds the records of another plan, inside the records of this one.
  mutating func add(
    _ plan: DecodingPlan, schema: TableSchema, rows: Rows, isOwned: Bool
  ) throws(DeclarationError) {
    var parents: [Int] = []
    for name in plan.parentColumns {
      guard let position = columns.firstIndex(where: { $0.name == name }) else {
        throw DeclarationError(
          "\(schema.name): \"@parent.\(name)\" is read, but \(table) has no such column that comes from the source"
        )
      }
      parents.append(position)
    }
    nested.append(
      Nested(
        plan: plan, schema: schema, source: source(rows.listPath, isKey: false), rows: rows,
        parents: parents, isOwned: isOwned))
  }

  private mutating func source(_ path: JSONPath, isKey: Bool) -> Source {
    switch path.builtin {
    case .recordKey: return .recordKey
    case .index: return .position
    case .fetchedAt: return .fetchedAt
    case .parent(let name):
      if let position = parentColumns.firstIndex(of: name) { return .parent(position) }
      parentColumns.append(name)
      return .parent(parentColumns.count - 1)
    case nil: break
    }
    var position = -1
    for (index, component) in path.components.enumerated() {
      if component == .wildcard { return .collection(position, Array(path.components[index...])) }
      let siblings = position < 0 ? roots : nodes[position].children
      // Keys are told apart by their bytes, not as Swift compares strings.
      var bytes: [UInt8] = []
      if case .key(let key) = component { bytes = Array(key.utf8) }
      if let known = siblings.first(where: {
        nodes[$0].component == component && keyBytes[nodes[$0].key].elementsEqual(bytes)
      }) {
        position = known
      } else {
        var node = Node(component: component, key: 0..<0)
        node.key = keyBytes.count..<keyBytes.count + bytes.count
        keyBytes += bytes
        nodes.append(node)
        if position < 0 {
          roots.append(nodes.count - 1)
        } else {
          nodes[position].children.append(nodes.count - 1)
        }
        position = nodes.count - 1
      }
      if isKey { nodes[position].isOnKeyPath = true }
    }
    return .node(position)
  }
}
