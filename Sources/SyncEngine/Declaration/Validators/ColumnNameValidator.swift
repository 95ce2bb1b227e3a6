/// Every column has a name of its own, also where case does not count.
enum ColumnNameValidator {
  static func validate<E>(_ mapping: Mapping<E>, entity: String) throws(DeclarationError) {
    if entity.isEmpty { throw DeclarationError("\(E.self): the table has no name") }
    if entity.lowercased().hasPrefix("syncd_") || entity.lowercased().hasPrefix("sqlite_") {
      throw DeclarationError("\(E.self): table names that begin with syncd_ or sqlite_ are reserved")
    }
    var names: [String: String] = [:]
    for column in mapping.columns {
      guard let name = column.name, !name.isEmpty else {
        throw DeclarationError(
          "\(entity): a statement's property has no name that can be read (a computed or nested one); give it one: name: \"…\""
        )
      }
      guard !name.contains("\0") else {
        throw DeclarationError("\(entity): the column name \"\(name)\" holds a NUL")
      }
      if let twin = names.updateValue(name, forKey: name.asciiLowercased) {
        throw DeclarationError(
          twin == name
            ? "\(entity): two statements fill the column \"\(name)\""
            : "\(entity): the columns \"\(twin)\" and \"\(name)\" differ only in case, which databases do not tell apart"
        )
      }
    }
  }
}

extension String {
  /// The name as databases compare names: letters beyond ASCII keep their case (sqlite.org/faq.html#q18).
  package var asciiLowercased: String {
    String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
