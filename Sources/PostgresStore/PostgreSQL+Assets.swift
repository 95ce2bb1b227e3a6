import SyncEngine

extension PostgreSQL {
  public func pendingAssets(_ asset: Asset, in schema: TableSchema) async throws -> [PendingAsset] {
    let (table, keys) = (quoted(schema.name), schema.keys)
    let (bytes, source, validator) = (quoted(asset.column), quoted(asset.source), quoted(asset.validator))
    let address = quoted(asset.address)
    return try await perform { connection, _ in
      // What another row holds of the address is taken over, also of one whose own address has just changed or gone.
      try connection.execute(
        """
        UPDATE \(table) AS target SET \(bytes) = held.\(bytes), \(source) = held.\(source), \(validator) = held.\(validator)
        FROM (SELECT DISTINCT ON (\(source)) \(source), \(bytes), \(validator) FROM \(table)
          WHERE \(bytes) IS NOT NULL AND \(source) IS NOT NULL ORDER BY \(source), \(schema.keyList)) AS held
        WHERE held.\(source) = target.\(address) AND target.\(source) IS DISTINCT FROM target.\(address)
        """)
      try connection.execute(
        "UPDATE \(table) SET \(bytes) = NULL, \(source) = NULL, \(validator) = NULL WHERE (\(address) IS NULL OR \(address) = '') AND \(source) IS NOT NULL"
      )
      let condition = asset.isRevalidated ? "" : " AND \(source) IS DISTINCT FROM \(address)"
      var pending: [PendingAsset] = []
      try connection.forEach(
        "SELECT \(address), CASE WHEN \(source) = \(address) AND \(bytes) IS NOT NULL THEN \(validator) END, \(schema.keyList) FROM \(table) WHERE \(address) IS NOT NULL AND \(address) <> ''\(condition) ORDER BY \(schema.keyList)"
      ) { row in
        func text(_ column: Int) -> String? {
          row.isNull(0, column) ? nil : String(decoding: row.bytes(0, column), as: UTF8.self)
        }
        pending.append(
          PendingAsset(
            key: try keys.enumerated().map { try RowReader.value(row, $0 + 2, $1) }, address: text(0) ?? "",
            validator: text(1)))
      }
      return pending
    }
  }

  public func save(_ assets: [FetchedAsset], _ asset: Asset, in schema: TableSchema) async throws {
    let keys = schema.keys
    let matches = keys.enumerated().map { "\(quoted($1.name)) = $\($0 + 5)" }.joined(separator: " AND ")
    let sql =
      "UPDATE \(quoted(schema.name)) SET \(quoted(asset.column)) = $1, \(quoted(asset.source)) = $2, \(quoted(asset.validator)) = $3 WHERE \(quoted(asset.address)) = $4 AND \(matches)"
    try await perform { connection, _ in
      let isText = try TableDifference(of: schema, in: connection).asText.contains(asset.column)
      try connection.transaction {
        for fetched in assets {
          let key = zip(fetched.key, keys).map { RowReader.stored($0, $1.type) }
          try connection.run(
            sql,
            [
              isText ? .text(DataEncoding.base64.string(fetched.bytes)) : .blob(fetched.bytes),
              .text(fetched.address), fetched.validator.map { .text($0) } ?? .null,
              .text(fetched.address),
            ] + key)
        }
      }
    }
  }
}
