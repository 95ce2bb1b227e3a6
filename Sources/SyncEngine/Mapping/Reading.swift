import JSON

/// How a JSON value is read into a column. Made by column types and formats; compiled into the decoding plan.
public struct Reading: Sendable {
  enum Operation: Sendable {
    case integer(ClosedRange<Int64>)
    case real
    /// Numbers in the range of an IEEE 754 single.
    case float
    case boolean
    case text
    case decimal
    case timestamp(TimestampFormat)
    case day
    case duration(DurationFormat)
    case uuid
    case url
    case data(DataEncoding)
    case json(JSONShape)
    /// The application's own: a value of the column's type out of a JSON value.
    case custom(ColumnType, @Sendable (JSONValue) throws -> StoredValue)
  }

  let operation: Operation
  /// The type's own form of a value that the operation has read, or nil for one that is not among its values; nil
  /// where the type has all values.
  let member: (@Sendable (StoredValue) -> StoredValue?)?
  /// What stands for a value that is none of the type's; nil makes the record bad.
  let substitute: StoredValue?

  init(
    _ operation: Operation, member: (@Sendable (StoredValue) -> StoredValue?)? = nil,
    substitute: StoredValue? = nil
  ) {
    (self.operation, self.member, self.substitute) = (operation, member, substitute)
  }

  var columnType: ColumnType {
    switch operation {
    case .integer: .integer
    case .real, .float: .real
    case .boolean: .boolean
    case .text, .url: .text
    case .decimal: .decimal
    case .timestamp: .timestamp
    case .day: .day
    case .duration: .duration
    case .uuid: .uuid
    case .data: .blob
    case .json: .json
    case .custom(let type, _): type
    }
  }

  /// Why values cannot be read; the start of the program refuses it.
  var fault: String? { if case .timestamp(let format) = operation { format.fault } else { nil } }

  /// How a value is written into a request; nil for null.
  var writing: @Sendable (StoredValue) -> String? {
    let (operation, type) = (operation, columnType)
    return { value in
      switch (value, operation) {
      case (.integer(let value), .timestamp(let format)): format.string(value)
      case (.integer(let value), .duration(let format)): format.string(value)
      case (.blob(let bytes), .data(let encoding)): encoding.string(bytes)
      default: value.text(as: type)
      }
    }
  }
}

extension StoredValue {
  /// The value as text that a person or a server reads; nil for null.
  package func text(as type: ColumnType) -> String? {
    switch (self, type) {
    case (.null, _): nil
    case (.integer(let value), .timestamp): Timestamp.text(value)
    case (.integer(let value), .boolean): value == 0 ? "false" : "true"
    case (.integer(let value), .duration): DurationFormat.seconds.string(value)
    case (.integer(let value), _): String(value)
    case (.real(let value), _): String(value)
    case (.text(let value), _): value
    case (.blob(let bytes), _): DataEncoding.base64.string(bytes)
    }
  }
}

/// Which JSON values a column of JSON takes.
enum JSONShape: Sendable {
  case any, object
  /// A list; where the kind is given, of such scalars alone.
  case array(of: JSONScalar?)
}

/// The scalars that a list in a column of JSON is made of, as `JSONDecoder` will read them.
enum JSONScalar: Sendable {
  case integer(ClosedRange<Int64>), number, single, boolean, string
}
