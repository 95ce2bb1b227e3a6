/// How the columns of an entity are filled: a list of ``Key``, ``Field`` and ``Local`` statements.
public struct Mapping<E: Entity>: Sendable {
  var columns: [MappedColumn<E>]
}

/// A statement of a ``Mapping``.
public protocol MappingPart: Sendable { associatedtype Owner: Entity }

/// Part of the primary key. Several make a composite key, in their order.
public struct Key<E: Entity>: MappingPart {
  public typealias Owner = E
  let column: MappedColumn<E>

  /// - Parameters:
  ///   - path: where in a record the value is; the column's name by default. `@key` is the record's key where the
  ///     records are values of an object, `@parent.column` a column of the parent's row.
  ///   - name: the column's name; the property's name in snake case by default.
  public init<V: KeyValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, _ path: JSONPath, _ format: Format<V> = .natural,
    name: String? = nil
  ) {
    column = MappedColumn(.key, keyPath, .path(path), [format], name: name)
  }

  public init<V: KeyValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, _ format: Format<V> = .natural, name: String? = nil
  ) {
    column = MappedColumn(.key, keyPath, .ownName, [format], name: name)
  }
}

// Mistakes that would otherwise be reported in the words of generics.
extension Key {
  @available(
    *, unavailable,
    message: "A key is never null and compares exactly: an integer, String, Date, URL or an enum (KeyValue)."
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
public struct Field<E: Entity>: MappingPart {
  public typealias Owner = E
  let column: MappedColumn<E>

  /// - Parameters:
  ///   - path: where in a record the value is, as for ``Key``.
  ///   - formats: how the value is read, and what an absent or empty one means.
  ///   - name: the column's name; the property's name in snake case by default.
  public init<V: ColumnValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, _ path: JSONPath, _ formats: Format<V.Base>...,
    name: String? = nil
  ) {
    column = MappedColumn(.remote, keyPath, .path(path), formats, name: name)
  }

  /// The path is the column's name.
  public init<V: ColumnValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, _ formats: Format<V.Base>..., name: String? = nil
  ) {
    column = MappedColumn(.remote, keyPath, .ownName, formats, name: name)
  }

  /// A text made of several values: `"{thumbnail.path}.{thumbnail.extension}"`. Missing if one of them is missing,
  /// null if one of them is null.
  public init<V: ColumnValue>(
    _ keyPath: any WritableKeyPath<E, V> & Sendable, template: String, _ formats: Format<V.Base>...,
    name: String? = nil
  ) {
    column = MappedColumn(.remote, keyPath, .template(Template(template)), formats, name: name)
  }
}

/// A column that only the application writes: a sync creates it with its default and never touches it again.
public struct Local<E: Entity>: MappingPart {
  public typealias Owner = E
  let column: MappedColumn<E>

  public init<V: ColumnValue>(_ keyPath: any WritableKeyPath<E, V> & Sendable, name: String? = nil) {
    column = MappedColumn(.local, keyPath, .ownName, [], name: name)
  }
}

@resultBuilder
public enum MappingBuilder<E: Entity> {
  // One generic overload rather than three: the compiler then reports a misspelt property as such.
  public static func buildExpression<Part: MappingPart>(_ part: Part) -> Part where Part.Owner == E { part }

  @available(
    *, unavailable, message: "A mapping starts with its primary key: write Key(\\.id, \"id\") first."
  )
  public static func buildBlock() -> Mapping<E> { Mapping(columns: []) }

  public static func buildPartialBlock(first: Key<E>) -> Mapping<E> { Mapping(columns: [first.column]) }

  @available(
    *, unavailable, message: "A mapping starts with its primary key: write Key(\\.id, \"id\") first."
  )
  public static func buildPartialBlock(first: Field<E>) -> Mapping<E> { Mapping(columns: []) }

  @available(
    *, unavailable, message: "A mapping starts with its primary key: write Key(\\.id, \"id\") first."
  )
  public static func buildPartialBlock(first: Local<E>) -> Mapping<E> { Mapping(columns: []) }

  public static func buildPartialBlock(accumulated: Mapping<E>, next: Key<E>) -> Mapping<E> {
    Mapping(columns: accumulated.columns + [next.column])
  }
  public static func buildPartialBlock(accumulated: Mapping<E>, next: Field<E>) -> Mapping<E> {
    Mapping(columns: accumulated.columns + [next.column])
  }
  public static func buildPartialBlock(accumulated: Mapping<E>, next: Local<E>) -> Mapping<E> {
    Mapping(columns: accumulated.columns + [next.column])
  }
}

/// One column of a mapping, with the way to and from its property.
struct MappedColumn<E: Entity>: Sendable {
  enum Place: Sendable {
    case ownName
    case path(JSONPath)
    case template(Template)
  }

  let role: Column.Role
  let property: String?
  let name: String?
  let place: Place
  let reading: Reading
  let options: FieldOptions
  let isNullable: Bool
  let initial: @Sendable (E) -> StoredValue
  let assign: @Sendable (inout E, StoredValue) throws -> Void

  init<V: ColumnValue>(
    _ role: Column.Role, _ keyPath: any WritableKeyPath<E, V> & Sendable, _ place: Place,
    _ formats: [Format<V.Base>],
    name: String?
  ) {
    self.role = role
    property = propertyName(of: keyPath)
    self.name = name ?? property.map(snakeCased)
    self.place = place
    reading = formats.reversed().lazy.compactMap(\.reading).first ?? V.reading
    options = formats.reduce(into: []) { $0.formUnion($1.option) }
    isNullable = V.isNullable
    initial = { $0[keyPath: keyPath].stored }
    assign = { row, value in row[keyPath: keyPath] = try V(stored: value) }
  }
}
