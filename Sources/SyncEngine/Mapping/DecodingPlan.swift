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

  enum Source: Sendable {
    /// The value at a node; -1 is the record itself.
    case node(Int)
    case template([TemplatePart])
    /// The member's key, where the records are the values of an object.
    case recordKey
    /// A column of the parent's row, by position among the asked-for ones.
    case parent(Int)
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

  private(set) var nodes: [Node] = []
  private(set) var roots: [Int] = []
  private(set) var keyBytes: [UInt8] = []
  private(set) var columns: [ColumnPlan] = []
  /// Columns of the parent that `@parent.…` reads, in the order of their first use.
  private(set) var parentColumns: [String] = []

  var keyColumns: [Int] { columns.indices.filter { columns[$0].isKey } }

  init() {}

  mutating func add<E>(_ column: MappedColumn<E>, named name: String, default defaultValue: StoredValue?) {
    let isKey = column.role == .key
    let (source, path): (Source, String) =
      switch column.place {
      case .ownName: (self.source(.key(name), isKey: isKey), name)
      case .path(let path): (self.source(path, isKey: isKey), path.description)
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
      }
    columns.append(
      ColumnPlan(
        name: name, path: path, source: source, reading: column.reading, isNullable: column.isNullable,
        isKey: isKey,
        options: column.options, defaultValue: defaultValue))
  }

  private mutating func source(_ path: JSONPath, isKey: Bool) -> Source {
    if path == .key("@key") { return .recordKey }
    if let name = path.parentColumn {
      if let position = parentColumns.firstIndex(of: name) { return .parent(position) }
      parentColumns.append(name)
      return .parent(parentColumns.count - 1)
    }
    var position = -1
    for component in path.components {
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

extension JSONPath {
  /// The column of `@parent.column`, which a record reads.
  var parentColumn: String? { parentColumn(prefix: "@parent") }
}
