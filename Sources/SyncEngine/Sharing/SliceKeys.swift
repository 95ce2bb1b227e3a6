/// The keys that a slice has seen, and those of the owners whose rows it judged, as bytes that wait for the other slices.
enum SliceKeys {
  private static let (rows, owners) = (0, 1)

  static func bytes(rows: KeyIndex, owners: KeyIndex?) -> [UInt8] {
    var keys = PageKeys()
    rows.forEach { key, _ in keys.append(key, table: Self.rows) }
    owners?.forEach { key, _ in keys.append(key, table: Self.owners) }
    return keys.bytes
  }

  /// Adds the keys of a slice to those of others; false where the bytes are damaged.
  static func read(_ bytes: [UInt8], rows: inout KeyIndex, owners: inout KeyIndex) -> Bool {
    PageKeys.forEach(in: bytes) { table, key in
      if table == Self.rows {
        _ = rows.insert(key, ordinal: rows.count)
      } else {
        _ = owners.insert(key, ordinal: owners.count)
      }
    }
  }
}
