import FoundationEssentials

/// How a field reads its JSON value, and what an empty or absent one means. Several can be given.
public struct Format<Base: Sendable>: Sendable {
  let reading: Reading?
  let option: FieldOptions
  let substitute: StoredValue?

  init(reading: Reading? = nil, option: FieldOptions = [], substitute: StoredValue? = nil) {
    (self.reading, self.option, self.substitute) = (reading, option, substitute)
  }

  /// The column type's own way.
  public static var natural: Format { Format() }

  /// No default: a record without the key is bad unless its row exists, and so is a null.
  public static var required: Format { Format(option: .required) }

  /// A null takes the column's default instead of making the record bad.
  public static var nullAsDefault: Format { Format(option: .nullAsDefault) }

  /// An empty string is taken for a null.
  public static var emptyAsNull: Format { Format(option: .emptyAsNull) }

  /// A missing key is taken for a null, for a source that leaves out what has no value.
  public static var missingAsNull: Format { Format(option: .missingAsNull) }
}

extension Format where Base: ColumnValue & RawRepresentable {
  /// A value that is none of the cases becomes this one, instead of making the record bad.
  public static func fallback(_ value: Base) -> Format { Format(substitute: value.stored) }
}

extension Format where Base == Date {
  /// RFC 3339, also with a space for the `T`, without seconds, and with an offset such as `-0400`. A time without
  /// zone is refused. This is the natural format of a date.
  public static var iso8601: Format { Format(reading: Reading(.timestamp(.iso8601(nil)))) }
  /// The same, and a time without zone is one of `zone`.
  public static func iso8601(zone: Zone) -> Format { Format(reading: Reading(.timestamp(.iso8601(zone)))) }
  /// Seconds since 1970, a fraction allowed.
  public static var unixSeconds: Format { Format(reading: Reading(.timestamp(.unix(perSecond: 1)))) }
  /// Milliseconds since 1970, a fraction allowed.
  public static var unixMilliseconds: Format { Format(reading: Reading(.timestamp(.unix(perSecond: 1000)))) }
  /// Text of fixed width made of `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss`, `SSS` and literal characters, as in
  /// `"yyyyMMdd"`; what is left out is the first of its kind.
  public static func pattern(_ pattern: String, zone: Zone = .utc) -> Format {
    Format(reading: Reading(.timestamp(.pattern(DatePattern(pattern), zone))))
  }
  /// The date of an HTTP header field, in any of the three forms of RFC 9110 §5.6.7.
  public static var http: Format { Format(reading: Reading(.timestamp(.http))) }
}

extension Format where Base == Duration {
  /// A number of seconds, a fraction allowed, or text: `PT1H30M` (ISO 8601, without years and months, whose length
  /// is not fixed), `1:30:00`. This is the natural format of a duration.
  public static var seconds: Format { Format(reading: Reading(.duration(.seconds))) }
  /// A number of milliseconds, or the same texts.
  public static var milliseconds: Format { Format(reading: Reading(.duration(.milliseconds))) }
}

extension Format where Base == Data {
  /// RFC 4648 §4 or §5, with or without padding. This is the natural format of data.
  public static var base64: Format { Format(reading: Reading(.data(.base64))) }
  /// Two hexadecimal digits for each byte, in either case.
  public static var hex: Format { Format(reading: Reading(.data(.hex))) }
}

/// What an empty or absent value means to a field.
struct FieldOptions: OptionSet, Sendable {
  let rawValue: UInt8
  static let required = FieldOptions(rawValue: 1)
  static let nullAsDefault = FieldOptions(rawValue: 2)
  static let emptyAsNull = FieldOptions(rawValue: 4)
  static let missingAsNull = FieldOptions(rawValue: 8)
}
