/// An entity compiled for running: checked, and without its Swift type.
struct EntityPlan: Sendable {
  let name: String
  let schema: TableSchema
  let decoding: DecodingPlan
  let source: Source
  let requests: RequestTemplate
  let deletion: DeletionPolicy
  let parent: ParentPlan?

  /// The rows that requests are made for.
  struct ParentPlan: Sendable {
    let schema: TableSchema
    let columns: [Column]
    /// The columns of this entity that say whose row it is, and their positions among ``columns``.
    let owner: [(column: String, position: Int)]
  }

  /// - Parameter urls: addresses that replace those of the APIs, by name.
  /// - Throws: ``DeclarationError`` for all that the compiler could not see.
  init<E: Entity>(_ entity: E.Type, urls: [String: String]) throws(DeclarationError) {
    let mapping = E.mapping
    let schema = try TableSchema(entity)
    var source = E.source
    if let url = urls[source.api.name] { source.api.url = url }

    var decoding = DecodingPlan()
    var owner: [(String, String)] = []
    for (mapped, column) in zip(mapping.columns, schema.columns) where column.role != .local {
      decoding.add(mapped, named: column.name, default: column.defaultValue)
      if case .path(let path) = mapped.place, let parent = path.parentColumn {
        owner.append((column.name, parent))
      }
    }
    let requests = try RequestTemplate(source, entity: schema.name, parentColumns: decoding.parentColumns)

    try PathValidator.validate(mapping, source: source, entity: schema.name)
    try DeletionValidator.validate(E.deletion.policy, entity: schema.name)
    try ParentValidator.validate(
      source: source, deletion: E.deletion.policy, columns: requests.parentColumns, owner: owner.map(\.0),
      entity: schema.name)

    if let parents = source.parents {
      let parentSchema = try TableSchema.erased(parents.entity)
      let columns = requests.parentColumns.compactMap { name in parentSchema.columns.first { $0.name == name }
      }
      parent = ParentPlan(
        schema: parentSchema, columns: columns,
        owner: owner.compactMap { own in columns.firstIndex { $0.name == own.1 }.map { (own.0, $0) } })
    } else {
      parent = nil
    }
    (name, self.schema, self.decoding, self.source) = (schema.name, schema, decoding, source)
    (self.requests, deletion) = (requests, E.deletion.policy)
  }

  static func erased(_ entity: any Entity.Type, urls: [String: String]) throws(DeclarationError) -> EntityPlan
  {
    try EntityPlan(entity, urls: urls)
  }

  /// Whether the walk asks for proof of its end even where that costs a request.
  var asksForEnd: Bool { if case .missing = deletion { true } else { false } }

  /// Everything that decides which records the source returns: rows that one scope has seen are no business of
  /// another one's deletions.
  func scope(principal: String) -> String {
    let query = source.query.items.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    let columns = decoding.columns.map { "\($0.name)<\($0.path)\($0.isKey ? " key" : "")" }.joined(
      separator: ",")
    return [
      source.api.url, source.path, query,
      source.api.headers.fields.map { "\($0.name):\($0.value)" }.joined(separator: "&"),
      source.paging.description,
      source.headers.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(),
      "\(source.rows.path) \(source.rows.shape)", columns, parent?.schema.name ?? "", principal,
    ].joined(separator: "\n")
  }
}

extension TableSchema {
  /// - Throws: ``DeclarationError`` for a mapping that cannot be a table.
  public init<E: Entity>(_ entity: E.Type) throws(DeclarationError) {
    let initial = E()
    let mapping = E.mapping
    try ColumnNameValidator.validate(mapping, entity: E.table)
    try UnmappedPropertyValidator.validate(initial, mapping)
    name = E.table
    columns = mapping.columns.map { column in
      let value = column.initial(initial)
      let hasDefault = column.role != .key && !column.options.contains(.required) && value != .null
      return Column(
        name: column.name ?? "", type: column.reading.columnType,
        isNullable: column.isNullable && column.role != .key && !column.options.contains(.required),
        role: column.role, defaultValue: hasDefault ? value : nil)
    }
  }

  static func erased(_ entity: any Entity.Type) throws(DeclarationError) -> TableSchema {
    try TableSchema(entity)
  }
}
