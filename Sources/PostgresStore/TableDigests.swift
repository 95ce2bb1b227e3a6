import Dispatch
import JSON
import SyncEngine
import Synchronization

/// What the rows of a table are, as a digest of each, read by a connection of its own while the source is asked.
///
/// A row that came from the source as the table has it is not sent to the server. That is as good as to compare it there:
/// whoever changes the row afterwards does so after the run. In doubt — another order of JSON keys, a column of another type
/// — a digest differs, and the server compares.
///
/// A digest has 128 bits and a secret of each run in it, so that no source can make two rows with one digest.
final class TableDigests: TableSurvey {
  /// Rows that are remembered at most, 16 bytes each; the server compares the others.
  private static let limit = 1 << 20

  private let work = DispatchGroup()
  private let cancellation = Cancellation()
  private let interruption = Interruption()
  private let secret = DigestSecret()
  /// Set before ``finish()`` returns, and only read from then on.
  private let table = Mutex<DigestList?>(nil)

  init(
    of schema: TableSchema, in surveys: DispatchGroup,
    _ withReader: @escaping @Sendable ((Connection) throws -> Void) throws -> Void
  ) {
    surveys.enter()
    DispatchQueue.global(qos: .userInitiated).async(group: work) { [self] in
      defer { surveys.leave() }
      let columns = schema.synced.filter { $0.role == .key || $0.marksChange }
      let names = columns.map { quoted($0.name) }.joined(separator: ", ")
      var digests = DigestList()
      do {
        try withReader { reader in
          reader.watch(cancellation)
          interruption.begin(reader.canceller)
          defer {
            interruption.end()
            reader.watch(nil)
          }
          // What is locked for long is compared on the server.
          try reader.execute("SET lock_timeout = 1000")
          defer { try? reader.execute("SET lock_timeout = \(reader.busyMilliseconds)") }
          let oids = try reader.run(
            "SELECT a.attname, a.atttypid::bigint FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0",
            [.text(quoted(schema.name))])
          var types: [String: Int] = [:]
          for row in 0..<oids.count { types[oids.text(row, 0) ?? ""] = oids.integer(row, 1) }
          // The same bytes mean another value in another type.
          guard columns.allSatisfy({ WireForm.oids(of: $0.type).contains(types[$0.name] ?? 0) }) else {
            return
          }
          let areJSON = columns.map { types[$0.name] == Int(BinaryValue.Kind.jsonb.rawValue) }
          try reader.copyOut(
            // A server that lags behind another one does not say what is there.
            "SELECT \(names) FROM \(quoted(schema.name)) WHERE NOT pg_is_in_recovery()"
          ) { row in
            guard digests.count < Self.limit else { throw CancellationError() }
            var digest = begin()
            var offset = 2
            for isJSON in areJSON {
              let length = Int32(bigEndian: row.loadUnaligned(fromByteOffset: offset, as: Int32.self))
              let end = offset + 4 + Int(max(0, length))
              add(UnsafeRawBufferPointer(rebasing: row[offset..<end]), isJSON: isJSON, to: &digest)
              offset = end
            }
            digests.append(digest)
          }
        }
      } catch is CancellationError {
        // What was read so far holds.
      } catch { digests = DigestList() }
      table.withLock { $0 = digests }
    }
  }

  func finish() async {
    await withCheckedContinuation { continuation in
      work.notify(queue: .global(qos: .userInitiated)) { continuation.resume() }
    }
  }

  func end() {
    cancellation.cancel()
    interruption.interrupt()
  }

  func begin() -> RowDigest { RowDigest(secret) }

  /// - Parameter field: the length and the bytes, as COPY has them.
  @inline(__always)
  func add(_ field: UnsafeRawBufferPointer, isJSON: Bool, to digest: inout RowDigest) {
    guard isJSON, field.count > 5 else { return digest.add(field, secret) }
    // The server puts blanks between values, and the source may.
    let json = UnsafeRawBufferPointer(rebasing: field[5...])
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: json.count + 64) { room in
      guard let base = room.baseAddress else { return }
      let count = json.withMemoryRebound(to: UInt8.self) { minify($0, into: base) }
      digest.add(UnsafeRawBufferPointer(start: base, count: count), secret)
    }
  }

  /// Hands the digests over to one who looks up many.
  func take() -> DigestList {
    table.withLock { table in
      defer { table = nil }
      return table ?? DigestList()
    }
  }
}
