/// Columns of text, aligned.
enum TextTable {
  /// - Parameter numbers: columns that are aligned to the right.
  static func text(_ header: [String], _ rows: [[String]], numbers: Set<Int>) -> String {
    let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
    return ([header] + rows).map { row in
      row.enumerated().map { column, cell in
        let space = String(repeating: " ", count: widths[column] - cell.count)
        return numbers.contains(column) ? space + cell : cell + space
      }.joined(separator: "  ").trimmingTrailingBlanks
    }.joined(separator: "\n")
  }
}

extension String {
  fileprivate var trimmingTrailingBlanks: String {
    guard let last = lastIndex(where: { $0 != " " }) else { return "" }
    return String(self[...last])
  }
}
