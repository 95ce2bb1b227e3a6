import SyncEngine

extension PageFile {
  /// Pages that a run has left in a file, or is keeping there now.
  struct Kept {
    let path: String
    let entity: String
    let size: Int64
    /// When a page was kept last, in milliseconds since 1970.
    let changed: Int64
  }

  private static let mark = "-syncd-pages-"

  /// The path of an entity's file: what is no ASCII letter, digit or underscore in the name is written as `%xx`.
  static func path(of entity: String, beside database: String) -> String {
    let name = entity.utf8.map { byte in
      let isPlain =
        byte < 0x80 && (Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber)
      return isPlain || byte == UInt8(ascii: "_")
        ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16)
    }
    return database + mark + name.joined()
  }

  private static func entity(_ name: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = name.utf8
    while let byte = rest.popFirst() {
      // A byte below 16, as no name has, would be written with one digit.
      guard byte == UInt8(ascii: "%"), let code = UInt8(String(Substring(rest.prefix(2))), radix: 16) else {
        bytes.append(byte)
        continue
      }
      rest = rest.dropFirst(2)
      bytes.append(code)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// All files of pages that lie beside a database.
  static func kept(beside database: String) -> [Kept] {
    let prefix = (database.split(separator: "/").last.map(String.init) ?? database) + mark
    return Platform.names(in: Platform.folder(of: database)).filter { $0.hasPrefix(prefix) }.sorted()
      .compactMap {
        name in
        let path = Platform.folder(of: database) + "/" + name
        guard let (size, changed) = Platform.sizeAndChange(of: path) else { return nil }
        return Kept(path: path, entity: entity(name.dropFirst(prefix.count)), size: size, changed: changed)
      }
  }
}
