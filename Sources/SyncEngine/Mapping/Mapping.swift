import FoundationEssentials
import JSON

/// How the columns of a record are filled: a list of ``Key``, ``Field``, ``Local``, ``Children`` and ``Embedded``
/// statements.
public struct Mapping<E: Record>: Sendable {
  var columns: [MappedColumn<E>] = []
  var nested: [NestedRecords] = []
  /// With the property of the address, whose column may stand in a later statement.
  var blobs: [Asset] = []

  /// What is downloaded, with the column of the address.
  var assets: [Asset] {
    blobs.map { blob in
      var asset = blob
      asset.address = columns.first { $0.property == blob.address }?.name ?? blob.address
      return asset
    }
  }
}

/// A statement of a ``Mapping``.
public protocol MappingPart: Sendable { associatedtype Owner: Record }

/// Paths that are tried one after the other: a literal, or an array of them.
public struct Fallbacks: Sendable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
  let paths: [JSONPath]
  public init(stringLiteral value: String) { paths = [JSONPath(stringLiteral: value)] }
  public init(arrayLiteral elements: JSONPath...) { paths = elements }
}

/// Part of the primary key. Several make a composite key, in their order.
public struct Key<E: Record>: MappingPart {
  public typealias Owner = E
  let column: MappedColumn<E>

  /// - Parameters:
  ///   - path: where in a record the value is; the column's name by default. `@key` is the record's key where the
  ///     records are values of an object, `@index` its position in the list, `@parent.column` a column of the
  ///     parent's row.
  ///   - fallbacks: paths that are tried where there is nothing, or null.
  ///   - references: the record whose key this is; the database holds it to that.
  ///   - name: the column's name; the property's name in snake case by default.
  public init<V: KeyValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, _ path: JSONPath, or fallbacks: Fallbacks = [],
    _ format: Format<V> = .natural, references: (any Record.Type)? = nil, name: String? = nil
  ) {
    column = MappedColumn(
      .key, keyPath, .paths([path] + fallbacks.paths), [format], references: references, name: name)
  }

  /// The path is the column's name, in the record's ``Record/keyStyle``.
  public init<V: KeyValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, _ format: Format<V> = .natural,
    references: (any Record.Type)? = nil, name: String? = nil
  ) {
    column = MappedColumn(.key, keyPath, .ownName, [format], references: references, name: name)
  }

  /// A text made of several values, as for ``Field``.
  public init<V: KeyValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, template: String, _ format: Format<V> = .natural,
    name: String? = nil
  ) {
    column = MappedColumn(.key, keyPath, .template(Template(template)), [format], name: name)
  }
}

// Mistakes that would otherwise be reported in the words of generics.
extension Key {
  @available(
    *, unavailable,
    message:
      "A key is never null and compares exactly: an integer, String, Date, Day, UUID, URL or an enum (KeyValue)."
  )
  public init<V: ColumnValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, _ path: JSONPath = .root, name: String? = nil
  ) { fatalError("unavailable") }

  @available(
    *, unavailable, message: "The property is a constant, and a sync has to write it: declare it with var."
  )
  public init<V: KeyValue>(
    _ keyPath: any KeyPath<E, V> & Sendable, _ path: JSONPath = .root, name: String? = nil
  ) { fatalError("unavailable") }
}

extension Field {
  @available(
    *, unavailable, message: "The property is a constant, and a sync has to write it: declare it with var."
  )
  public init<V: ColumnValue>(
    _ keyPath: any KeyPath<E, V> & Sendable, _ path: JSONPath = .root, _ formats: Format<V.Base>...,
    name: String? = nil
  ) { fatalError("unavailable") }
}

/// A column that the source owns: every sync may write it.
public struct Field<E: Record>: MappingPart {
  public typealias Owner = E
  let column: MappedColumn<E>

  /// - Parameters:
  ///   - path: where in a record the value is, as for ``Key``.
  ///   - fallbacks: paths that are tried where there is nothing, or null.
  ///   - formats: how the value is read, and what an absent or empty one means.
  ///   - references: the record whose key this is; the database holds it to that, at the commit.
  ///   - name: the column's name; the property's name in snake case by default.
  public init<V: ColumnValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, _ path: JSONPath, or fallbacks: Fallbacks = [],
    _ formats: Format<V.Base>..., references: (any Record.Type)? = nil, name: String? = nil
  ) {
    column = MappedColumn(
      .remote, keyPath, .paths([path] + fallbacks.paths), formats, references: references, name: name)
  }

  /// The path is the column's name, in the record's ``Record/keyStyle``.
  public init<V: ColumnValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, _ formats: Format<V.Base>...,
    references: (any Record.Type)? = nil, name: String? = nil
  ) {
    column = MappedColumn(.remote, keyPath, .ownName, formats, references: references, name: name)
  }

  /// A text made of several values: `"{thumbnail.path}.{thumbnail.extension}"`. Missing if one of them is missing,
  /// null if one of them is null.
  public init<V: ColumnValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, template: String, _ formats: Format<V.Base>...,
    name: String? = nil
  ) {
    column = MappedColumn(.remote, keyPath, .template(Template(template)), formats, name: name)
  }

  /// The same value for every record.
  public init<V: ColumnValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, constant value: V, name: String? = nil
  ) {
    column = MappedColumn(.remote, keyPath, .constant(value.stored), [], name: name)
  }

  /// A value that the application reads itself.
  ///
  /// ```swift
  /// Field(\.weight, "weight") { json in
  ///   guard let text = json.string, let grams = Int(text.dropLast(2)) else { throw Unreadable() }   // "12 g"
  ///   return grams
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - path: where in a record the value is; `.root` is the record itself.
  ///   - read: called for every record that has a value there, null among them. What it throws makes the record bad.
  public init<V: ColumnValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, _ path: JSONPath, or fallbacks: Fallbacks = [],
    name: String? = nil, read: @escaping @Sendable (JSONValue) throws -> V
  ) {
    let reading = Reading(.custom(V.reading.columnType) { json in try read(json).stored })
    column = MappedColumn(
      .remote, keyPath, .paths([path] + fallbacks.paths), [Format<V.Base>(reading: reading)], name: name)
  }
}

/// A column that only the application writes: a sync creates it with its default and never touches it again.
public struct Local<E: Record>: MappingPart {
  public typealias Owner = E
  let column: MappedColumn<E>

  public init<V: ColumnValue>(_ keyPath: any WritableKeyPath<E, V> & Sendable, name: String? = nil) {
    column = MappedColumn(.local, keyPath, .ownName, [], name: name)
  }
}

/// What an address in another column leads to, downloaded after the rows were committed.
///
/// ```swift
/// Field(\.thumbnail, template: "{thumbnail.path}.{thumbnail.extension}")
/// Blob(\.image, from: \.thumbnail)
/// // "image" BLOB, "image_source" TEXT, "image_validator" TEXT
/// ```
///
/// Each address is asked for once, without credentials, and again when it changes. A download that fails is counted and
/// tried again by the next run; it never fails the rows. Only http and https are followed, and private addresses only
/// where the API itself has that host. Beside the column stand the address that its bytes came from and the
/// validator that came with them.
public struct Blob<E: Record>: MappingPart {
  public typealias Owner = E
  let column: MappedColumn<E>
  let asset: Asset

  /// - Parameters:
  ///   - address: the property with the address; it stands in a statement of its own.
  ///   - limit: the largest number of bytes; more is a failed download.
  ///   - isRevalidated: whether each run asks, by ETag or Last-Modified, whether what is there is still the same.
  ///   - name: the column's name; the property's name in snake case by default.
  public init<A: ColumnValue>(
    _ keyPath: any WritableKeyPath<E, Data?> & Sendable, from address: any KeyPath<E, A> & Sendable,
    atMost limit: Int = 10 << 20, revalidated isRevalidated: Bool = false, name: String? = nil
  ) {
    column = MappedColumn(.asset, keyPath, .ownName, [], name: name)
    asset = Asset(
      column: column.name ?? "", address: propertyName(of: address) ?? "", limit: limit,
      isRevalidated: isRevalidated)
  }
}

/// Records inside a record that belong to it, in a table of their own.
///
/// ```swift
/// struct Link: Record {
///   var heroID = 0
///   var type = ""
///   var url: URL?
///   static var mapping: Mapping<Link> {
///     Key(\.heroID, "@parent.id")
///     Key(\.type)
///     Field(\.url)
///   }
/// }
/// // in Hero: Children(Link.self, at: "urls")
/// ```
///
/// The key of a child names all key columns of its owner by `@parent.…`. A list that came replaces what the table
/// holds for its owner, in the same transaction; where the list is missing, the rows stay. A list of plain values is
/// read by `.root`: `Key(\.tag, .root)` makes a join table.
public struct Children<E: Record>: MappingPart {
  public typealias Owner = E
  let nested: NestedRecords

  /// - Parameter rows: where in the record they are, in the forms of ``Rows``.
  public init(_ record: any Record.Type, at rows: Rows) {
    nested = NestedRecords(record: record, rows: rows, isOwned: true)
  }
}

/// Records inside a record that stand for themselves, such as the author of a book: each is upserted into its own
/// table, and none is deleted.
public struct Embedded<E: Record>: MappingPart {
  public typealias Owner = E
  let nested: NestedRecords

  /// - Parameter rows: where in the record they are, in the forms of ``Rows``: `.object("author")`.
  public init(_ record: any Record.Type, at rows: Rows) {
    nested = NestedRecords(record: record, rows: rows, isOwned: false)
  }
}

/// Records of another table inside a record.
struct NestedRecords: Sendable {
  let record: any Record.Type
  let rows: Rows
  /// Whether they are replaced with their owner.
  let isOwned: Bool
}

@resultBuilder
public enum MappingBuilder<E: Record> {
  // One generic overload rather than five: the compiler then reports a misspelt property as such.
  public static func buildExpression<Part: MappingPart>(_ part: Part) -> Part where Part.Owner == E { part }

  @available(
    *, unavailable, message: "A mapping starts with its primary key: write Key(\\.id, \"id\") first."
  )
  public static func buildBlock() -> Mapping<E> { Mapping() }

  public static func buildPartialBlock(first: Key<E>) -> Mapping<E> { Mapping(columns: [first.column]) }

  @available(
    *, unavailable, message: "A mapping starts with its primary key: write Key(\\.id, \"id\") first."
  )
  public static func buildPartialBlock(first: Field<E>) -> Mapping<E> { Mapping() }

  @available(
    *, unavailable, message: "A mapping starts with its primary key: write Key(\\.id, \"id\") first."
  )
  public static func buildPartialBlock(first: Local<E>) -> Mapping<E> { Mapping() }

  @available(
    *, unavailable, message: "A mapping starts with its primary key: write Key(\\.id, \"id\") first."
  )
  public static func buildPartialBlock(first: Blob<E>) -> Mapping<E> { Mapping() }

  @available(
    *, unavailable, message: "A mapping starts with its primary key: write Key(\\.id, \"id\") first."
  )
  public static func buildPartialBlock(first: Children<E>) -> Mapping<E> { Mapping() }

  @available(
    *, unavailable, message: "A mapping starts with its primary key: write Key(\\.id, \"id\") first."
  )
  public static func buildPartialBlock(first: Embedded<E>) -> Mapping<E> { Mapping() }

  public static func buildPartialBlock(accumulated: Mapping<E>, next: Key<E>) -> Mapping<E> {
    accumulated.adding(next.column)
  }
  public static func buildPartialBlock(accumulated: Mapping<E>, next: Field<E>) -> Mapping<E> {
    accumulated.adding(next.column)
  }
  public static func buildPartialBlock(accumulated: Mapping<E>, next: Local<E>) -> Mapping<E> {
    accumulated.adding(next.column)
  }
  public static func buildPartialBlock(accumulated: Mapping<E>, next: Blob<E>) -> Mapping<E> {
    var copy = accumulated.adding(next.column)
    copy.blobs.append(next.asset)
    return copy
  }
  public static func buildPartialBlock(accumulated: Mapping<E>, next: Children<E>) -> Mapping<E> {
    accumulated.adding(next.nested)
  }
  public static func buildPartialBlock(accumulated: Mapping<E>, next: Embedded<E>) -> Mapping<E> {
    accumulated.adding(next.nested)
  }
}

extension Mapping {
  fileprivate func adding(_ column: MappedColumn<E>) -> Mapping {
    Mapping(columns: columns + [column], nested: nested, blobs: blobs)
  }

  fileprivate func adding(_ records: NestedRecords) -> Mapping {
    Mapping(columns: columns, nested: nested + [records], blobs: blobs)
  }
}

/// One column of a mapping, with the way to and from its property.
struct MappedColumn<E: Record>: Sendable {
  enum Place: Sendable {
    case ownName
    /// The first path that leads to a value other than null.
    case paths([JSONPath])
    case template(Template)
    case constant(StoredValue)
  }

  let role: Column.Role
  let property: String?
  /// The property that the JSON key is made of; nil where the column has a name of its own, which is the key then.
  let keyProperty: String?
  let name: String?
  let place: Place
  let reading: Reading
  let options: FieldOptions
  let isNullable: Bool
  let references: (any Record.Type)?
  let initial: @Sendable (E) -> StoredValue
  let assign: @Sendable (inout E, StoredValue) throws -> Void

  init<V: ColumnValue>(
    _ role: Column.Role, _ keyPath: any WritableKeyPath<E, V> & Sendable, _ place: Place,
    _ formats: [Format<V.Base>], references: (any Record.Type)? = nil, name: String?
  ) {
    self.role = role
    property = propertyName(of: keyPath)
    keyProperty = name == nil ? property : nil
    self.name = name ?? property.map(snakeCased)
    self.place = place
    self.references = references
    let reading = formats.reversed().lazy.compactMap(\.reading).first ?? V.reading
    self.reading = Reading(
      reading.operation, member: reading.member,
      substitute: formats.lazy.compactMap(\.substitute).first)
    options = formats.reduce(into: []) { $0.formUnion($1.option) }
    isNullable = V.isNullable
    initial = { $0[keyPath: keyPath].stored }
    assign = { row, value in row[keyPath: keyPath] = try V(stored: value) }
  }

  /// The paths that the column reads.
  var paths: [JSONPath] {
    switch place {
    case .ownName, .constant: []
    case .paths(let paths): paths
    case .template(let template): template.paths
    }
  }
}
