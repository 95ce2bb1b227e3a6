import SyncEngine

/// Looks at a database file and what lies beside it, and changes nothing but what opening a database does.
struct StoreExaminer {
  /// What a person calls to see this.
  static let command = "syncd doctor"

  private let path: String
  private let location: String
  private let examination: StoreExamination
  private let pages: [PageFile.Kept]

  init(path: String, location: String, _ examination: StoreExamination, pages: [PageFile.Kept]) {
    (self.path, self.location, self.examination, self.pages) = (path, location, examination, pages)
  }

  /// The size from which on a log is no log of usual commits any more.
  private static let largeLog: Int64 = 64 << 20
  private static let patience = Duration.seconds(2)

  func findings(_ cancellation: Cancellation) -> [Finding] {
    var findings: [Finding] = []
    let folder = Platform.folder(of: path)
    if !Platform.isWritable(folder) {
      findings.append(
        Finding(
          .failure, "store", "the folder \(folder) may not be written to by this user: \(Platform.lastError)",
          advice:
            "SQLite needs files beside the database: give the folder to the user that runs this (chown), or run it as the folder's user"
        ))
    }
    let size = Platform.size(of: path)
    if !Platform.exists(path) {
      if findings.isEmpty {
        findings.append(Finding(.ok, "store", "\(location) is not there yet; the first run makes it"))
      }
    } else {
      // Before it is opened: that undoes what was interrupted.
      let hasJournal = Platform.size(of: path + "-journal") > 0
      findings += lookInside(hasJournal: hasJournal, size: size, cancellation)
    }
    findings.append(
      DiskSpace.finding(
        "disk of the store", folder, wanted: size,
        why: "as much as the store takes, so that it can be rebuilt and backed up"))
    findings += pageFiles()
    findings.append(leases())
    return findings
  }

  // MARK: The database

  private func lookInside(hasJournal: Bool, size: Int64, _ cancellation: Cancellation) -> [Finding] {
    guard Platform.isReadable(path), Platform.isWritable(path) else {
      return [
        Finding(
          .failure, "store", "\(location) may not be written by this user: \(Platform.lastError)",
          advice: "give the file to the user that runs this (chown), or run it as the file's user")
      ]
    }
    let beginning = (try? PartialFile.beginning(of: path, 16)).flatMap(\.self) ?? []
    if !beginning.isEmpty, beginning != Array("SQLite format 3\u{0}".utf8) {
      return [Finding(.failure, "store", "\(location) is no SQLite database", advice: Self.wayOut)]
    }
    do {
      let connection = try Connection(path: path, busyLimit: Self.patience)
      connection.watch(cancellation)
      var findings = [
        Finding(.ok, "store", "\(location), \(readableSize(size)), SQLite \(Connection.version)")
      ]
      if hasJournal { findings.append(interruption()) }
      findings.append(writing(connection))
      findings += integrity(connection, cancellation)
      findings.append(log(connection))
      return findings
    } catch {
      return [Finding(.failure, "store", "\(location) cannot be opened: \(error)", advice: Self.wayOut)]
    }
  }

  private static let wayOut = """
    stop what runs, keep a copy of the file, then put the last backup in its place; without one: move the file away and \
    sync again, since the sources have the rows (what only the store has, such as local columns, may be saved by: \
    sqlite3 FILE .recover)
    """

  private func interruption() -> Finding {
    if Platform.size(of: path + "-journal") == 0 {
      return Finding(.ok, "interrupted transaction", "one was found and undone: the store is as before it")
    }
    return Finding(
      .warning, "interrupted transaction",
      "\(path)-journal is there: a first load is under way, or another program writes",
      advice: "look again in a minute; never remove that file, it is needed to undo what was half done")
  }

  private func writing(_ connection: Connection) -> Finding {
    do {
      try connection.execute("BEGIN IMMEDIATE; ROLLBACK")
      return Finding(.ok, "writing", "the store can be written to")
    } catch let error as StoreError where error.isBusy {
      return Finding(
        .warning, "writing",
        "another program has been writing for longer than \(Self.patience.components.seconds) s\(users())",
        advice: "look again in a minute; where it stays so, end that program: runs wait for it")
    } catch {
      return Finding(
        .failure, "writing", "the store cannot be written to: \(error)",
        advice: "see the disk and the file's rights")
    }
  }

  private func integrity(_ connection: Connection, _ cancellation: Cancellation) -> [Finding] {
    let name = examination.isQuick ? "quick_check" : "integrity_check"
    let faults: [String]
    do { faults = try connection.texts("PRAGMA \(name)(20)", []).compactMap { $0[0] } } catch {
      faults = ["\(error)"]
    }
    if cancellation.isCancelled { return [] }
    if faults != ["ok"] {
      // Several stand in one text, below a line that names the database.
      let lines = faults.flatMap { $0.split(separator: "\n") }.filter { !$0.hasPrefix("***") }
      let more = lines.count > 3 ? "; and \(lines.count - 3) more" : ""
      return [
        Finding(
          .failure, "integrity", "the store is damaged: \(lines.prefix(3).joined(separator: "; "))\(more)",
          advice: Self.wayOut)
      ]
    }
    if examination.isQuick {
      return [Finding(.ok, "integrity", "quick_check found nothing (without indexes and references)")]
    }
    do {
      let broken = try connection.texts(
        "SELECT \"table\" || ' → ' || parent, count(*) FROM pragma_foreign_key_check GROUP BY 1 ORDER BY 1",
        [])
      if broken.isEmpty {
        return [Finding(.ok, "integrity", "integrity_check and foreign_key_check found nothing")]
      }
      let tables = broken.map { "\($0[0] ?? "") (\($0[1] ?? "") rows)" }.joined(separator: ", ")
      return [
        Finding(
          .failure, "integrity", "rows refer to rows that are not there: \(tables)",
          advice:
            "another program wrote them with foreign_keys off; sync the table that is referred to with --full, or remove the rows: PRAGMA foreign_key_check names them"
        )
      ]
    } catch {
      if cancellation.isCancelled { return [] }
      return [
        Finding(.failure, "integrity", "the references cannot be checked: \(error)", advice: Self.wayOut)
      ]
    }
  }

  private func log(_ connection: Connection) -> Finding {
    let before = Platform.size(of: path + "-wal")
    if before < Self.largeLog {
      return Finding(
        .ok, "log", before == 0 ? "all is in the file" : "\(readableSize(before)) are not in the file yet")
    }
    let (frames, moved) = (try? connection.checkpoint()) ?? (1, 0)
    let after = Platform.size(of: path + "-wal")
    if after < Self.largeLog {
      return Finding(.ok, "log", "\(readableSize(before)) were moved into the file just now")
    }
    return Finding(
      .warning, "log",
      "\(path)-wal has \(readableSize(after))"
        + (moved < frames ? ", since somebody has been reading the store for long\(users())" : ""),
      advice: "end the program that keeps a transaction open; the log shrinks with the next run after that")
  }

  /// Other programs that have the database open, as the end of a sentence.
  private func users() -> String {
    let others = Processes.holding(Platform.realPath(path)).filter { !$0.isSelf }
    return others.isEmpty ? "" : "; it is open in \(others.map(\.description).joined(separator: ", "))"
  }

  // MARK: Beside the database

  private func pageFiles() -> [Finding] {
    var stuck: [Finding] = []
    for file in pages {
      guard let reason = examination.whyStuck(file.entity, keptAt: file.changed) else { continue }
      stuck.append(
        Finding(
          .warning, "kept pages",
          "\(file.path) (\(readableSize(file.size))) is of a run that was ended \(readableAge(milliseconds: examination.now - file.changed)) ago, and \(reason)",
          advice: "remove the file; by itself it goes after a week"))
    }
    if !stuck.isEmpty { return stuck }
    let bytes = pages.reduce(0) { $0 + $1.size }
    return [
      Finding(
        .ok, "kept pages",
        pages.isEmpty
          ? "none: no run was ended in its midst"
          : "\(readableSize(bytes)) of \(pages.map(\.entity).joined(separator: ", ")), from which the next run goes on"
      )
    ]
  }

  private func leases() -> Finding {
    let held = TableLease.held(of: examination.tables, path: path)
    if held.isEmpty { return Finding(.ok, "runs under way", "none") }
    let text = held.map { table, holder in "\(table)\(holder.map { " (\($0))" } ?? "")" }
    return Finding(.ok, "runs under way", text.joined(separator: ", "))
  }
}
