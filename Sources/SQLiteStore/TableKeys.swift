import CSQLite
import Dispatch
import SyncEngine
import Synchronization

/// The keys of a table, read on a connection of its own while the source is asked. They hold as long as nobody commits.
final class TableKeys: TableSurvey {
  /// Bytes of the keys that are held at most; those of a larger table are read in the commit.
  private static let limit = 32 << 20

  private struct Reading {
    let connection: Connection
    /// The state of the database that was read (sqlite.org/pragma.html#pragma_data_version).
    let version: Int64
    let bytes: [UInt8]
    /// Where each key ends.
    let ends: [UInt32]
  }

  /// Nil until it is read, and where it cannot be.
  private let reading = Mutex<Reading?>(nil)
  private let work = DispatchGroup()
  private let cancellation = Cancellation()
  private let schema: TableSchema

  init(of schema: TableSchema, path: String) {
    self.schema = schema
    let cancellation = cancellation
    // It holds this object, and ends with it: who has no use for the keys calls `end`.
    DispatchQueue.global(qos: .userInitiated).async(group: work) { [self] in
      let read = try? Self.read(schema, path, cancellation)
      reading.withLock { $0 = read }
    }
  }

  private static func read(
    _ schema: TableSchema, _ path: String, _ cancellation: Cancellation
  ) throws -> Reading? {
    let connection = try Connection(path: path, busyLimit: .zero)
    connection.watch(cancellation)
    // Each page is read once: a larger cache would be fresh memory and no use.
    try connection.execute("PRAGMA cache_size = -512")
    guard let version = try connection.integer("PRAGMA data_version") else { return nil }
    let statement = try connection.prepare("SELECT \(schema.keyList) FROM main.\(quoted(schema.name))")
    let types = schema.keys.map(\.type)
    var reader = KeyReader(types)
    // Memory that is never written to costs nothing, and to move it while it grows does.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(limit)
    var ends: [UInt32] = []
    ends.reserveCapacity(limit / KeyBytes.integerLength)
    while try connection.step(statement) {
      reader.withKey(types.count, of: { ColumnCell(statement: statement.handle, column: Int32($0)) }) {
        bytes.append(contentsOf: $0)
      }
      guard bytes.count <= limit else { return nil }
      ends.append(UInt32(bytes.count))
    }
    return Reading(connection: connection, version: version, bytes: bytes, ends: ends)
  }

  func finish() async {
    await withCheckedContinuation { continuation in
      work.notify(queue: .global(qos: .userInitiated)) { continuation.resume() }
    }
  }

  func end() { cancellation.cancel() }

  /// Calls `body` with each key of the table.
  ///
  /// - Returns: false where somebody has committed since the keys were read, or they could not be read; `body` is not
  ///   called then.
  func forEach(of table: TableSchema, _ body: (UnsafeBufferPointer<UInt8>) throws -> Void) throws -> Bool {
    guard table.name == schema.name, table.keys == schema.keys else { return false }
    return try reading.withLock { reading in
      guard let reading, try reading.connection.integer("PRAGMA data_version") == reading.version else {
        return false
      }
      try reading.bytes.withUnsafeBufferPointer { bytes in
        var start = 0
        for end in reading.ends {
          try body(UnsafeBufferPointer(rebasing: bytes[start..<Int(end)]))
          start = Int(end)
        }
      }
      return true
    }
  }
}
