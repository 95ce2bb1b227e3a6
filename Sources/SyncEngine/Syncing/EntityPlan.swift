/// An entity compiled for running: checked, and without its Swift type.
struct EntityPlan: Sendable {
  /// The entity's name, or that of the unit of work: all that is kept beside the rows is kept under it.
  private(set) var name: String
  /// The unit that a run is for, where work is shared.
  private(set) var claim: Claim?
  let schema: TableSchema
  let decoding: DecodingPlan
  let source: Source
  let requests: RequestTemplate
  let deletion: DeletionPolicy
  let incremental: IncrementalPolicy?
  let watermarkColumn: String?
  /// The column that marks rows which are missing.
  let mark: String?
  /// What is true of the rows that a deletion judges.
  let conditions: [DeletionScope.Condition]
  /// Asks for single rows before they are deleted; its parents' columns are the key's.
  let verification: RequestTemplate?
  let parent: ParentPlan?
  /// Tables that columns refer to.
  let referenced: [TableSchema]

  /// All tables that a run writes to, owners before what they own.
  var tables: [TableSchema] { [schema] + decoding.allNested.map(\.schema) }

  /// The tables that no other run may work on meanwhile. Always in the same order, so that no two runs can wait for
  /// each other.
  var leasedTables: [String] { Set(tables.map(\.name)).sorted() }

  var recordSource: RecordSource {
    RecordSource(
      rows: source.rows, filter: source.filter, prepare: source.prepare, tombstone: deletion.tombstone,
      watermark: watermarkPosition)
  }

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
    var source = E.source
    if let url = urls[source.api.name] { source.api.url = url }
    try PathValidator.validate(source, entity: E.name)
    try MappingValidator.validate(entity, rows: source.rows)

    let mapping = E.declaredMapping
    let schema = try TableSchema(entity)
    let decoding = try DecodingPlan(entity, schema: schema)
    let deletion = E.deletion.policy
    var properties: [String: Column] = [:]
    for (mapped, column) in zip(mapping.columns, schema.columns) {
      if let property = mapped.property { properties[property] = column }
    }
    try DeletionValidator.validate(deletion, entity: E.name, properties: properties)
    let incremental = E.incremental.policy
    try ScheduleValidator.validate(E.name, E.schedule)
    try SliceValidator.validate(source, entity: E.name)
    try IncrementalValidator.validate(
      incremental, deletion: deletion, entity: E.name, properties: properties)
    self.incremental = incremental
    watermarkColumn = incremental?.property.flatMap { properties[$0]?.name }
    mark = deletion.mark.flatMap { properties[$0]?.name }
    conditions = deletion.conditions.map { condition in
      switch condition {
      case .equal(let property, let value): .equal(column: properties[property]?.name ?? "", value)
      case .sql(let text): .sql(text)
      }
    }
    var owner: [(String, String)] = []
    for (mapped, column) in zip(mapping.columns, schema.columns) {
      if mapped.paths.count == 1, let parent = mapped.paths[0].parentColumn {
        owner.append((column.name, parent))
      }
    }
    let requests = try RequestTemplate(source, entity: E.name, parentColumns: decoding.parentColumns)
    verification = try Self.verification(deletion, source, entity: E.name, keys: schema.keys)

    let parentSchema = try ParentValidator.validate(
      source: source, deletion: deletion, columns: requests.parentColumns, owner: owner, schema: schema,
      entity: E.name)
    if let parentSchema {
      let names = requests.parentColumns + (source.parents?.conditions.map(\.column) ?? [])
      let columns = names.compactMap { name in parentSchema.columns.first { $0.name == name } }
      parent = ParentPlan(
        schema: parentSchema, columns: columns,
        owner: owner.compactMap { own in columns.firstIndex { $0.name == own.1 }.map { (own.0, $0) } })
    } else {
      parent = nil
    }
    (name, self.schema, self.decoding, self.source) = (E.name, schema, decoding, source)
    (self.requests, self.deletion) = (requests, deletion)
    var referenced: [TableSchema] = []
    // Tables of nested records are made with the entity's own, and may have owners.
    let own = Set(([schema] + decoding.allNested.map(\.schema)).map(\.name))
    for record in E.references where !own.contains(record.table) {
      referenced.append(try TableSchema.erased(record))
    }
    self.referenced = referenced
  }

  static func erased(_ entity: any Entity.Type, urls: [String: String]) throws(DeclarationError) -> EntityPlan
  {
    try EntityPlan(entity, urls: urls)
  }

  /// The requests for single rows: the path's `{id}` is a key column of the row.
  private static func verification(
    _ deletion: DeletionPolicy, _ source: Source, entity: String, keys: [Column]
  ) throws(DeclarationError) -> RequestTemplate? {
    guard let path = deletion.verification else { return nil }
    let names = keys.map(\.name)
    for column in Template(path).paths.map(\.description) where !names.contains(column) {
      throw DeclarationError(
        "\(entity): \"{\(column)}\" in the path \"\(path)\" is no key column; there are \(names.joined(separator: ", "))"
      )
    }
    var single = source
    single.path = names.reduce(path) { $0.replacing("{\($1)}", with: "{parent.\($1)}") }
    (single.query, single.body) = ([:], nil)
    return try RequestTemplate(single, entity: entity, parentColumns: names)
  }

  /// The same for one unit of work.
  func claimed(_ claim: Claim) -> EntityPlan {
    var plan = self
    (plan.claim, plan.name) = (claim, claim.unit.name)
    return plan
  }

  /// The part of the entity that a run is for; nil where it is all of it.
  var slice: String? { claim.flatMap { $0.unit.isSlice ? $0.unit.slice : nil } }

  /// The window of time that a slice is; nil where it is none.
  var window: Int64? {
    guard source.slices?.kind == .windows, var text = slice else { return nil }
    return text.withUTF8 { Timestamp.parse($0) }
  }

  /// Whether a record may go from one slice to another one and stay the same row.
  var mayMoveBetweenSlices: Bool {
    switch source.slices?.kind {
    case nil: false
    case .windows: true
    case .parents, .buckets: mayMoveBetweenParents
    }
  }

  /// Whether a record that goes from one parent to another may stay the same row: its key does not hold all of the
  /// parent's.
  var mayMoveBetweenParents: Bool {
    guard let parent else { return false }
    let keys = Set(schema.keys.map(\.name))
    let inKey = parent.owner.filter { keys.contains($0.column) }.map { parent.columns[$0.position].name }
    return !parent.schema.keys.allSatisfy { inKey.contains($0.name) }
  }

  /// Whether the walk asks for proof of its end even where that costs a request.
  var asksForEnd: Bool { deletion.isByAbsence || incremental != nil }

  /// The path of the one field that tells the records of a list apart; nil where it takes several.
  var keyPath: String? {
    let paths = decoding.columns.filter { $0.isKey && !$0.path.hasPrefix("@parent.") }.map(\.path)
    return paths.count == 1 && source.prepare == nil ? paths[0] : nil
  }

  /// Whether pages may be asked for with a condition: an answer to a POST has no validator that means anything, and
  /// where the time is part of a key, each answer brings other rows.
  var isConditional: Bool {
    source.isConditional && source.body == nil && source.paging.isOutlined
      && !([decoding] + decoding.allNested.map(\.plan)).contains { plan in
        plan.columns.contains { $0.isKey && $0.source.isTime }
      }
  }

  /// Everything that decides what becomes of a page: rows that were made of it in another way are not what would be
  /// made of it now.
  func pageScope(principal: String) -> String {
    func text(_ plan: DecodingPlan, _ schema: TableSchema) -> String {
      let columns = zip(plan.columns, schema.synced).map { column, stored in
        "\(stored.name) \(stored.type) \(stored.isNullable) \(stored.defaultValue.map { "\($0)" } ?? "") \(column.path) \(column.options.rawValue)"
      }
      let nested = plan.nested.map { "\($0.rows.path) \($0.isOwned) \(text($0.plan, $0.schema))" }
      return "\(schema.name)(\((columns + nested).joined(separator: ", ")))"
    }
    return [scope(principal: principal), text(decoding, schema), ProgramIdentity.text].joined(separator: "\n")
  }

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
      source.body?.description ?? "",
      source.headers.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(),
      "\(source.rows.path) \(source.rows.shape)\(source.format.description)",
      source.filter?.description ?? "", columns,
      parent?.schema.name ?? "", incremental?.description ?? "", principal,
    ].joined(separator: "\n")
  }
}
