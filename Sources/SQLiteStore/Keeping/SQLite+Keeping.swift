import SyncEngine

extension SQLite {
  public func prune(_ request: PruneRequest) async throws -> Pruned {
    if !exists { return Pruned() }
    var pruning = Pruning(request)
    do {
      try await perform { connection, _ in
        try connection.impatiently { try connection.transaction { try Journal.create(in: $0) } }
      }
      while !pruning.isDone {
        // What a run wants of the store meanwhile comes between two steps.
        pruning = try await perform { [pruning] connection, _ in
          var next = pruning
          try next.step(in: connection)
          return next
        }
      }
      try await perform { connection, _ in
        try connection.impatiently {
          try connection.transaction {
            try Journal.set([Engine.maintained: String(request.now)], of: "", in: $0)
          }
        }
      }
    } catch let error as StoreError where error.isBusy {
      // What is left goes the next time.
      var pruned = pruning.pruned
      pruned.isComplete = false
      return pruned
    }
    var pruned = pruning.pruned
    let old = keptPageFiles().filter { $0.changed < request.earliest(request.policy.journals) }
    for file in old { Platform.remove(file.path) }
    pruned.journals = old.count
    return pruned
  }

  public func checkpoint() async throws -> StoreLog? {
    guard let path = filePath, Platform.exists(path) else { return nil }
    return try await perform { connection, _ in
      let before = Platform.size(of: path + "-wal")
      if before > 0 { try connection.checkpoint() }
      return StoreLog(before: before, after: Platform.size(of: path + "-wal"))
    }
  }

  public func backUp(to file: String) async throws -> Backup {
    guard let path = filePath else { throw StoreError("a store in memory has no backup") }
    guard exists else { throw StoreError("there is no store \(location) yet: a run makes it") }
    let busyLimit = busyLimit
    // Not on the store's own thread: runs go on.
    return try await Self.detached { cancellation in
      try OnlineBackup(of: path, busyLimit: busyLimit).run(to: file, cancellation)
    }
  }

  public func examine(_ examination: StoreExamination) async -> [Finding] {
    guard let path = filePath else { return [Finding(.ok, "store", "in memory")] }
    let (location, files) = (location, keptPageFiles())
    let findings = try? await Self.detached { cancellation in
      StoreExaminer(path: path, location: location, examination, pages: files).findings(cancellation)
    }
    return findings ?? []
  }

  /// Files of pages of runs that are under way or were ended.
  private func keptPageFiles() -> [PageFile.Kept] {
    filePath.map { PageFile.kept(beside: Platform.realPath($0)) } ?? []
  }
}

extension Connection: PruningSession {
  func texts(_ sql: String, _ values: [StoredValue]) throws -> [[String?]] {
    let statement = try prepare(sql, isKept: false)
    try statement.bind(values)
    var rows: [[String?]] = []
    while try step(statement) {
      rows.append((0..<statement.columnCount).map { statement.isNull($0) ? nil : statement.text($0) })
    }
    return rows
  }

  func change(_ sql: String, _ values: [StoredValue]) throws -> Int {
    try impatiently {
      try transaction { connection in
        let statement = try connection.prepare(sql, isKept: false)
        try statement.bind(values)
        while try connection.step(statement) {}
        return connection.changes
      }
    }
  }

  /// Runs `body`, in which other programs' transactions are waited for half a second.
  func impatiently<R>(for limit: Int = 500, _ body: () throws -> R) rethrows -> R {
    let patience = busyLimit
    busyLimit = min(patience, limit)
    defer { busyLimit = patience }
    return try body()
  }

  /// Moves the log into the file and cuts it off, as far as that holds nobody up.
  ///
  /// - Returns: frames in the log, and those of them that are in the file; equal where no reader needs the log.
  @discardableResult
  func checkpoint() throws -> (frames: Int64, moved: Int64) {
    // The first takes no lock that anyone waits for, and moves nearly all. The second would wait for readers, and keep
    // writers waiting; without patience it does what it can (sqlite.org/c3ref/wal_checkpoint_v2.html).
    _ = try texts("PRAGMA wal_checkpoint(PASSIVE)", [])
    let row = try impatiently(for: 0) { try texts("PRAGMA wal_checkpoint(TRUNCATE)", []) }.first ?? []
    let numbers = row.map { $0.flatMap { Int64($0) } ?? 0 }
    return numbers.count == 3 ? (max(0, numbers[1]), max(0, numbers[2])) : (0, 0)
  }
}
