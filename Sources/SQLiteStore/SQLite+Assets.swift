import SyncEngine

extension SQLite {
  public func pendingAssets(_ asset: Asset, in schema: TableSchema) async throws -> [PendingAsset] {
    let (table, keys) = (quoted(schema.name), schema.keys)
    let (bytes, source, validator) = (quoted(asset.column), quoted(asset.source), quoted(asset.validator))
    let address = quoted(asset.address)
    let (first, held) = ("syncd_first", "syncd_held")
    let firstKeys = keys.enumerated().map { index, key in
      let name = quoted(key.name)
      return index == 0 ? "min(\(name)) AS \(name)" : name
    }.joined(separator: ", ")
    let sameKeys = keys.map { "\(held).\(quoted($0.name)) = \(first).\(quoted($0.name))" }
      .joined(separator: " AND ")
    return try await perform { connection, _ in
      // What another row holds of the address is taken over, also of one whose own address has just changed or gone.
      // Beside a min() the other columns are those of its row (sqlite.org/lang_select.html#bareagg).
      try connection.execute(
        "UPDATE \(table) SET \(bytes) = \(held).\(bytes), \(source) = \(held).\(source), \(validator) = \(held).\(validator) FROM (SELECT \(source), \(firstKeys) FROM \(table) WHERE \(bytes) IS NOT NULL AND \(source) IS NOT NULL GROUP BY \(source)) AS \(first) JOIN \(table) AS \(held) ON \(sameKeys) WHERE \(first).\(source) = \(table).\(address) AND \(table).\(source) IS NOT \(table).\(address)"
      )
      try connection.execute(
        "UPDATE \(table) SET \(bytes) = NULL, \(source) = NULL, \(validator) = NULL WHERE (\(address) IS NULL OR \(address) = '') AND \(source) IS NOT NULL"
      )
      let condition = asset.isRevalidated ? "" : " AND \(source) IS NOT \(address)"
      let statement = try connection.prepare(
        "SELECT \(address), iif(\(source) IS \(address) AND \(bytes) IS NOT NULL, \(validator), NULL), \(schema.keyList) FROM \(table) WHERE \(address) IS NOT NULL AND \(address) <> ''\(condition)"
      )
      var pending: [PendingAsset] = []
      while try connection.step(statement) {
        pending.append(
          PendingAsset(
            key: try keys.enumerated().map { try RowReader.value(statement, Int32($0 + 2), $1) },
            address: statement.text(0), validator: statement.isNull(1) ? nil : statement.text(1)))
      }
      return pending
    }
  }

  public func save(_ assets: [FetchedAsset], _ asset: Asset, in schema: TableSchema) async throws {
    let keys = schema.keys
    let matches = keys.enumerated().map { "\(quoted($1.name)) = ?\($0 + 5)" }.joined(separator: " AND ")
    let sql =
      "UPDATE \(quoted(schema.name)) SET \(quoted(asset.column)) = ?1, \(quoted(asset.source)) = ?2, \(quoted(asset.validator)) = ?3 WHERE \(quoted(asset.address)) = ?4 AND \(matches)"
    try await perform { connection, _ in
      try connection.transaction { connection in
        for fetched in assets {
          let key = zip(fetched.key, keys).map { RowReader.stored($0, $1.type) }
          try connection.run(
            sql,
            [
              .blob(fetched.bytes), .text(fetched.address), fetched.validator.map { .text($0) } ?? .null,
              .text(fetched.address),
            ] + key)
        }
      }
    }
  }
}
