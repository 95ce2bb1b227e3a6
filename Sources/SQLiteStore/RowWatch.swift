import CSQLite

/// Counts the rows that a connection inserts and deletes, those of cascades and triggers too, at no cost that shows: by
/// its update hook (sqlite.org/c3ref/update_hook.html), of which there is one at a time.
final class RowWatch {
  var inserted = 0
  /// By table, as its name is written where it was made.
  private(set) var deleted: [String: Int] = [:]

  init(in connection: Connection) {
    sqlite3_update_hook(
      connection.handle,
      { context, operation, _, table, _ in
        guard let context else { return }
        let watch = Unmanaged<RowWatch>.fromOpaque(context).takeUnretainedValue()
        switch operation {
        case SQLITE_INSERT: watch.inserted += 1
        case SQLITE_DELETE: if let table { watch.deleted[String(cString: table), default: 0] += 1 }
        default: break
        }
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func stop(in connection: Connection) { sqlite3_update_hook(connection.handle, nil, nil) }
}
