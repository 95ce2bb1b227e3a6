/// An identifier in an SQL statement (sqlite.org/lang_keywords.html; postgresql.org/docs/15/sql-syntax-lexical.html).
package func quoted(_ name: String) -> String { delimited(name, by: "\"") }

/// A text between delimiters, those inside it doubled. Scalars, not characters: a combining mark must not hide one.
package func delimited(_ text: String, by delimiter: Unicode.Scalar) -> String {
  var out = String.UnicodeScalarView([delimiter])
  for scalar in text.unicodeScalars {
    if scalar == delimiter { out.append(delimiter) }
    out.append(scalar)
  }
  out.append(delimiter)
  return String(out)
}

/// The expression of a row's key as a person reads it, `id 5, part 2`; an empty text where there is no key.
///
/// - Parameter table: the name that the columns are to be read from, where there are several.
package func keyExpression(_ columns: [String], of table: String? = nil) -> String {
  let parts = columns.map { column in
    "\(delimited("\(column) ", by: "'")) || CAST(\(table.map { $0 + "." } ?? "")\(quoted(column)) AS TEXT)"
  }
  return parts.isEmpty ? "''" : parts.joined(separator: " || ', ' || ")
}

extension TableSchema {
  /// The columns of the key, as SQL lists them.
  package var keyList: String { keys.map { quoted($0.name) }.joined(separator: ", ") }
}
