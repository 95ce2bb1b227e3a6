import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Which texts a database can hold, by the encoding that it was created with.
struct ServerEncoding: Sendable {
  private let name: String
  /// The same encoding as iconv calls it; nil where every text fits, or nothing is known of it.
  private let iconvName: String?

  init(_ name: String) {
    self.name = name
    iconvName = Self.iconvNames[name]
  }

  init(of connection: Connection) { self.init(connection.parameter("server_encoding") ?? "UTF8") }

  /// postgresql.org/docs/15/multibyte.html#MULTIBYTE-CHARSET-SUPPORTED
  private static let iconvNames = [
    "LATIN1": "ISO-8859-1", "LATIN2": "ISO-8859-2", "LATIN3": "ISO-8859-3", "LATIN4": "ISO-8859-4",
    "LATIN5": "ISO-8859-9", "LATIN6": "ISO-8859-10", "LATIN7": "ISO-8859-13", "LATIN8": "ISO-8859-14",
    "LATIN9": "ISO-8859-15", "LATIN10": "ISO-8859-16", "ISO_8859_5": "ISO-8859-5", "ISO_8859_6": "ISO-8859-6",
    "ISO_8859_7": "ISO-8859-7", "ISO_8859_8": "ISO-8859-8", "KOI8R": "KOI8-R", "KOI8U": "KOI8-U",
    "WIN866": "CP866", "WIN874": "CP874", "WIN1250": "CP1250", "WIN1251": "CP1251", "WIN1252": "CP1252",
    "WIN1253": "CP1253", "WIN1254": "CP1254", "WIN1255": "CP1255", "WIN1256": "CP1256", "WIN1257": "CP1257",
    "WIN1258": "CP1258", "EUC_JP": "EUC-JP", "EUC_CN": "EUC-CN", "EUC_KR": "EUC-KR", "EUC_TW": "EUC-TW",
  ]

  /// Why a text of a column's type cannot be kept.
  func fault(of text: UnsafeBufferPointer<UInt8>, _ type: ColumnType) -> String? {
    guard let base = text.baseAddress, !text.isEmpty else { return nil }
    if type == .json, let fault = jsonFault(text) { return fault }
    if memchr(base, 0, text.count) != nil { return "PostgreSQL keeps no text with a NUL in it" }
    if let iconvName, text.contains(where: { $0 >= 0x80 }), !Self.fits(text, iconvName) {
      return "the database's encoding \(name) has no form of this text"
    }
    return nil
  }

  func fault(of text: String, _ type: ColumnType) -> String? {
    var text = text
    return text.withUTF8 { fault(of: $0, type) }
  }

  /// A text for a person, with signs for what cannot be kept.
  func legible(_ text: String) -> String {
    if fault(of: text, .text) == nil { return text }
    let sign: Unicode.Scalar = fault(of: "\u{FFFD}", .text) == nil ? "\u{FFFD}" : "?"
    var out = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { out.append(fault(of: String(scalar), .text) == nil ? scalar : sign) }
    return String(out)
  }

  private static func fits(_ text: UnsafeBufferPointer<UInt8>, _ encoding: String) -> Bool {
    guard let converter = iconv_open(encoding, "UTF-8"), converter != iconv_t(bitPattern: -1) else {
      return true
    }
    defer { iconv_close(converter) }
    let room = UnsafeMutablePointer<CChar>.allocate(capacity: text.count * 4)
    defer { room.deallocate() }
    var source: UnsafeMutablePointer<CChar>? = text.baseAddress.map {
      UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: CChar.self)
    }
    var (target, rest, space): (UnsafeMutablePointer<CChar>?, Int, Int) = (room, text.count, text.count * 4)
    // A character that has to be written in another way counts too.
    return iconv(converter, &source, &rest, &target, &space) == 0
  }

  /// What `jsonb` refuses of JSON (postgresql.org/docs/15/datatype-json.html): it keeps texts and numbers as values.
  private func jsonFault(_ json: UnsafeBufferPointer<UInt8>) -> String? {
    var index = 0
    var isText = false
    while index < json.count {
      switch json[index] {
      case UInt8(ascii: "\""): isText.toggle()
      case UInt8(ascii: "\\") where isText:
        index += 1
        guard index + 4 < json.count, json[index] == UInt8(ascii: "u") else { break }
        var scalar = Self.hexadecimal(json[(index + 1)..<(index + 5)])
        index += 4
        if scalar == 0 { return "PostgreSQL keeps no JSON with \\u0000 in a text" }
        if scalar & 0xF800 == 0xD800 {
          guard scalar < 0xDC00, index + 6 < json.count, json[index + 1] == UInt8(ascii: "\\"),
            json[index + 2] == UInt8(ascii: "u")
          else { return Self.halfPair }
          let low = Self.hexadecimal(json[(index + 3)..<(index + 7)])
          guard low & 0xFC00 == 0xDC00 else { return Self.halfPair }
          scalar = 0x10000 + ((scalar & 0x3FF) << 10 | low & 0x3FF)
          index += 6
        }
        if let iconvName, scalar >= 0x80, let character = Unicode.Scalar(scalar),
          !Array(String(character).utf8).withUnsafeBufferPointer({ Self.fits($0, iconvName) })
        {
          return "the database's encoding \(name) has no form of this text"
        }
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        // `true` and `false` have an e too, with no digits behind it.
        guard !isText else { break }
        let digits = json[(index + 1)...].drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
          .prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.drop { $0 == UInt8(ascii: "0") }
        if digits.count > 4 {
          return "PostgreSQL keeps no JSON number with an exponent of more than 4 digits"
        }
      case UInt8(ascii: "0")...UInt8(ascii: "9") where !isText:
        let digits = json[index...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
        if digits > 10_000 { return "PostgreSQL keeps no JSON number with more than 10,000 digits in a row" }
        index += digits - 1
      default: break
      }
      index += 1
    }
    return nil
  }

  private static let halfPair = "PostgreSQL keeps no JSON with half a surrogate pair in a text"

  private static func hexadecimal(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt32 {
    digits.reduce(0) { $0 << 4 | UInt32($1 & 0x40 == 0 ? $1 & 0xF : ($1 & 0xF) + 9) }
  }
}
