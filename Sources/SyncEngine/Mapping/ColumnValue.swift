import FoundationEssentials

/// A type that one column can hold.
///
/// Integers, `Double`, `Float`, `Bool`, `String`, `Decimal`, `Date`, ``Day``, `Duration`, `UUID`, `URL`, `Data`,
/// ``JSONText``, arrays and string-keyed dictionaries of those that are `Codable`, and optionals of all conform. An
/// enum with a raw value, a type of one's own that is `RawRepresentable`, or a `Codable` struct conforms by naming the
/// protocol:
///
/// ```swift
/// enum Genre: String, ColumnValue { case drama = "Drama", myth = "Myth" }   // a column of text, checked on the way in
/// struct Keyword: Codable, ColumnValue { var name, value: String }          // a column of JSON text
/// struct ISBN: RawRepresentable, ColumnValue {                              // a column of text, checked by init
///   var rawValue: String
///   init?(rawValue: String) { … }
/// }
/// ```
public protocol ColumnValue: Sendable {
  associatedtype Base: ColumnValue = Self
  /// Whether the column takes null.
  static var isNullable: Bool { get }
  /// How a JSON value is read into the column.
  static var reading: Reading { get }
  /// The value as a store takes it.
  var stored: StoredValue { get }
  /// - Throws: ``UnreadableValue`` if the column holds something that is no value of the type.
  init(stored: StoredValue) throws
}

/// A column type that can be part of a primary key: one whose values compare exactly.
public protocol KeyValue: ColumnValue where Base == Self {}

/// A stored value that is no value of the property's type.
public struct UnreadableValue: Error, Sendable, CustomStringConvertible {
  public var value: StoredValue
  public var type: String
  public var description: String { "the stored value \(value) is no \(type)" }

  init(_ value: StoredValue, _ type: Any.Type) { (self.value, self.type) = (value, String(describing: type)) }
}

extension ColumnValue {
  public static var isNullable: Bool { false }
}

extension Optional: ColumnValue where Wrapped: ColumnValue {
  public typealias Base = Wrapped.Base
  public static var isNullable: Bool { true }
  public static var reading: Reading { Wrapped.reading }
  public var stored: StoredValue { self?.stored ?? .null }
  public init(stored: StoredValue) throws { self = stored == .null ? nil : try Wrapped(stored: stored) }
}

// Integers are Codable as well; the constraint makes this extension the more special one.
extension FixedWidthInteger where Self: ColumnValue & Codable {
  public static var reading: Reading {
    Reading(.integer(Int64(clamping: Self.min)...Int64(clamping: Self.max)))
  }
  // A UInt64 above Int64.max has no place in a column. As an initial value it is refused by the start of the program.
  public var stored: StoredValue { Int64(exactly: self).map { .integer($0) } ?? .text(String(self)) }
  public init(stored: StoredValue) throws {
    guard case .integer(let integer) = stored, let value = Self(exactly: integer) else {
      throw UnreadableValue(stored, Self.self)
    }
    self = value
  }
}

extension Int: KeyValue {}
extension Int8: KeyValue {}
extension Int16: KeyValue {}
extension Int32: KeyValue {}
extension Int64: KeyValue {}
extension UInt: KeyValue {}
extension UInt8: KeyValue {}
extension UInt16: KeyValue {}
extension UInt32: KeyValue {}
extension UInt64: KeyValue {}

extension Double: ColumnValue {
  public static var reading: Reading { Reading(.real) }
  public var stored: StoredValue { .real(self) }
  public init(stored: StoredValue) throws {
    switch stored {
    case .real(let value): self = value
    case .integer(let value): self = Double(value)
    default: throw UnreadableValue(stored, Self.self)
    }
  }
}

extension Float: ColumnValue {
  public static var reading: Reading { Reading(.float) }
  public var stored: StoredValue { .real(Double(self)) }
  public init(stored: StoredValue) throws { self = Float(try Double(stored: stored)) }
}

extension Bool: ColumnValue {
  public static var reading: Reading { Reading(.boolean) }
  public var stored: StoredValue { .integer(self ? 1 : 0) }
  public init(stored: StoredValue) throws {
    switch stored {
    case .integer(0): self = false
    case .integer(1): self = true
    default: throw UnreadableValue(stored, Self.self)
    }
  }
}

extension String: KeyValue {
  public static var reading: Reading { Reading(.text) }
  public var stored: StoredValue { .text(self) }
  public init(stored: StoredValue) throws {
    guard case .text(let text) = stored else { throw UnreadableValue(stored, Self.self) }
    self = text
  }
}

/// An exact decimal number of at most 38 digits. Its column holds the digits as they were sent: `1.10` stays `1.10`.
extension Decimal: ColumnValue {
  public static var reading: Reading { Reading(.decimal) }
  public var stored: StoredValue { .text("\(self)") }
  public init(stored: StoredValue) throws {
    switch stored {
    case .text(let text):
      guard let value = Decimal(string: text) else { throw UnreadableValue(stored, Self.self) }
      self = value
    case .integer(let value): self = Decimal(value)
    default: throw UnreadableValue(stored, Self.self)
    }
  }
}

/// A length of time, kept to the microsecond.
extension Duration: KeyValue {
  public static var reading: Reading { Reading(.duration(.seconds)) }
  public var stored: StoredValue {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    // Beyond 290,000 years: only an initial value can be.
    return .integer(overflow ? (seconds < 0 ? .min : .max) : product + attoseconds / 1_000_000_000_000)
  }
  public init(stored: StoredValue) throws {
    guard case .integer(let microseconds) = stored else { throw UnreadableValue(stored, Self.self) }
    self = .microseconds(microseconds)
  }
}

extension UUID: KeyValue {
  public static var reading: Reading { Reading(.uuid) }
  public var stored: StoredValue { .text(uuidString.lowercased()) }
  public init(stored: StoredValue) throws {
    guard case .text(let text) = stored, let value = UUID(uuidString: text) else {
      throw UnreadableValue(stored, Self.self)
    }
    self = value
  }
}

extension Data: ColumnValue {
  public static var reading: Reading { Reading(.data(.base64)) }
  public var stored: StoredValue { .blob(Array(self)) }
  public init(stored: StoredValue) throws {
    guard case .blob(let bytes) = stored else { throw UnreadableValue(stored, Self.self) }
    self = Data(bytes)
  }
}

/// An instant, kept to the millisecond; further digits are cut toward the past.
extension Date: KeyValue {
  public static var reading: Reading { Reading(.timestamp(.iso8601(nil))) }
  public var stored: StoredValue {
    // Beyond the years 1 to 9999 there is no text form: clamped to them. A double misses a millisecond by less than
    // a microsecond in those years; what remains below the millisecond is cut.
    let milliseconds = ((timeIntervalSince1970 * 1_000_000).rounded() / 1000).rounded(.down)
    return .integer(Int64(min(max(milliseconds, Double(Timestamp.first)), Double(Timestamp.last))))
  }
  public init(stored: StoredValue) throws {
    guard case .integer(let milliseconds) = stored else { throw UnreadableValue(stored, Self.self) }
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
  }
}

extension URL: KeyValue {
  public static var reading: Reading { Reading(.url) }
  public var stored: StoredValue { .text(absoluteString) }
  public init(stored: StoredValue) throws {
    guard case .text(let text) = stored, let url = URL(reference: text.utf8) else {
      throw UnreadableValue(stored, Self.self)
    }
    self = url
  }
}

extension ColumnValue where Self: RawRepresentable, RawValue: KeyValue {
  public static var reading: Reading { enumReading(Self.self) }
  public var stored: StoredValue { rawValue.stored }
  public init(stored: StoredValue) throws { self = try enumValue(stored) }
}

extension ColumnValue where Self: Codable {
  public static var reading: Reading { Reading(.json(.any)) }
  public var stored: StoredValue { jsonText(self) }
  public init(stored: StoredValue) throws { self = try decodedJSON(stored) }
}

// An enum that is Codable as well is kept as its raw value.
extension ColumnValue where Self: RawRepresentable & Codable, RawValue: KeyValue {
  public static var reading: Reading { enumReading(Self.self) }
  public var stored: StoredValue { rawValue.stored }
  public init(stored: StoredValue) throws { self = try enumValue(stored) }
}

/// Any JSON value, kept as its text without insignificant white space.
public struct JSONText: ColumnValue, Hashable, CustomStringConvertible {
  public let text: String
  /// - Parameter text: legal JSON; it is the value of a property that no record has given one yet.
  public init(_ text: String) { self.text = text }
  public static var reading: Reading { Reading(.json(.any)) }
  public var stored: StoredValue { .text(text) }
  public init(stored: StoredValue) throws {
    guard case .text(let text) = stored else { throw UnreadableValue(stored, Self.self) }
    self.init(text)
  }
  public var description: String { text }
}

extension Array: ColumnValue where Element: ColumnValue & Codable {
  public static var reading: Reading {
    // A list of what may be null, or of values, is checked when it is read.
    let scalar: JSONScalar? =
      switch Element.reading.operation {
      case .integer(let range): .integer(range)
      case .real: .number
      case .float: .single
      case .boolean: .boolean
      case .text: .string
      default: nil
      }
    return Reading(.json(.array(of: Element.isNullable || Element.reading.member != nil ? nil : scalar)))
  }
  public var stored: StoredValue { jsonText(self) }
  public init(stored: StoredValue) throws { self = try decodedJSON(stored) }
}

extension Dictionary: ColumnValue where Key == String, Value: ColumnValue & Codable {
  public static var reading: Reading { Reading(.json(.object)) }
  public var stored: StoredValue { jsonText(self) }
  public init(stored: StoredValue) throws { self = try decodedJSON(stored) }
}

private func jsonText(_ value: some Encodable) -> StoredValue {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  encoder.dateEncodingStrategy = .custom { date, encoder in
    var container = encoder.singleValueContainer()
    if case .integer(let instant) = date.stored { try container.encode(Timestamp.text(instant)) }
  }
  guard let data = try? encoder.encode(value) else { return .null }
  return .text(String(decoding: data, as: UTF8.self))
}

private func decodedJSON<Value: Decodable>(_ stored: StoredValue) throws -> Value {
  guard case .text(let text) = stored else { throw UnreadableValue(stored, Value.self) }
  let decoder = JSONDecoder()
  // Instants as APIs write them, not as numbers since 2001.
  decoder.dateDecodingStrategy = .custom { decoder in
    var text = try decoder.singleValueContainer().decode(String.self)
    guard let instant = text.withUTF8({ Timestamp.parse($0) }) else {
      throw UnreadableValue(.text(text), Date.self)
    }
    return try Date(stored: .integer(instant))
  }
  return try decoder.decode(Value.self, from: Data(text.utf8))
}

/// The raw value's reading, narrowed to the cases that there are.
private func enumReading<Value: ColumnValue & RawRepresentable>(_ type: Value.Type) -> Reading
where Value.RawValue: KeyValue {
  Reading(
    Value.RawValue.reading.operation,
    member: { raw in (try? Value.RawValue(stored: raw)).flatMap { Value(rawValue: $0)?.stored } })
}

private func enumValue<Value: ColumnValue & RawRepresentable>(_ stored: StoredValue) throws -> Value
where Value.RawValue: KeyValue {
  guard let value = Value(rawValue: try Value.RawValue(stored: stored)) else {
    throw UnreadableValue(stored, Value.self)
  }
  return value
}
