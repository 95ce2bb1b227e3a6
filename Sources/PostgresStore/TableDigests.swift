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
  /// Rows that are remembered at most, 32 bytes each; the server compares the others.
  private static let limit = 1 << 20

  private let work = DispatchGroup()
  private let cancellation = Cancellation()
  private let interruption = Interruption()
  private let seeds = (UInt64.random(in: 1 ... .max), UInt64.random(in: 1 ... .max))
  /// Set before ``finish()`` returns, and only read from then on.
  private let table = Mutex<DigestSet?>(nil)

  init(
    of schema: TableSchema, in surveys: DispatchGroup,
    _ withReader: @escaping @Sendable ((Connection) throws -> Void) throws -> Void
  ) {
    surveys.enter()
    DispatchQueue.global(qos: .userInitiated).async(group: work) { [self] in
      defer { surveys.leave() }
      let columns = schema.synced.filter { $0.role == .key || $0.marksChange }
      let names = columns.map { quoted($0.name) }.joined(separator: ", ")
      var digests = DigestSet()
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
              digest.add(UnsafeRawBufferPointer(rebasing: row[offset..<end]), isJSON: isJSON)
              offset = end
            }
            digests.insert(digest)
          }
        }
      } catch is CancellationError {
        // What was read so far holds.
      } catch { digests = DigestSet() }
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

  func begin() -> RowDigest { RowDigest(seeds) }

  /// Hands the digests over to one who looks up many.
  func take() -> DigestSet {
    table.withLock { table in
      defer { table = nil }
      return table ?? DigestSet()
    }
  }
}

/// A digest of a row under way, field by field.
struct RowDigest {
  fileprivate var low: UInt64
  fileprivate var high: UInt64

  fileprivate init(_ seeds: (UInt64, UInt64)) { (low, high) = seeds }

  /// - Parameter field: the length and the bytes, as COPY has them.
  @inline(__always)
  mutating func add(_ field: UnsafeRawBufferPointer, isJSON: Bool) {
    guard isJSON, field.count > 5 else { return add(field) }
    // The server puts blanks between values, and the source may.
    let json = UnsafeRawBufferPointer(rebasing: field[5...])
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: json.count + 64) { room in
      guard let base = room.baseAddress else { return }
      let count = json.withMemoryRebound(to: UInt8.self) { minify($0, into: base) }
      add(UnsafeRawBufferPointer(start: base, count: count))
    }
  }

  @inline(__always)
  private mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    while offset + 8 <= bytes.count {
      mix(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    var rest: UInt64 = 0
    while offset < bytes.count {
      rest = rest << 8 | UInt64(bytes[offset])
      offset += 1
    }
    // At most seven bytes are left, and the eighth has room for the length.
    mix(rest | UInt64(truncatingIfNeeded: bytes.count) << 56)
  }

  /// Two chains of 64 × 64 → 128-bit products.
  @inline(__always)
  private mutating func mix(_ word: UInt64) {
    let one = (low ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    let two = (high ^ word &+ 0x632B_E59B_D9B4_E019).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
    low = one.high ^ one.low &+ high
    high = two.high ^ two.low &+ low.byteSwapped
  }
}

/// A set of digests, by open addressing.
struct DigestSet {
  private var slots: [(low: UInt64, high: UInt64)] = Array(repeating: (0, 0), count: 1 << 12)
  private(set) var count = 0

  mutating func insert(_ digest: RowDigest) {
    if (count + 1) * 2 > slots.count {
      let old = slots
      slots = Array(repeating: (0, 0), count: old.count * 4)
      count = 0
      for slot in old where slot != (0, 0) { insert(slot) }
    }
    insert((digest.low, digest.high))
  }

  private mutating func insert(_ digest: (low: UInt64, high: UInt64)) {
    var slot = Int(truncatingIfNeeded: digest.low) & (slots.count - 1)
    while slots[slot] != (0, 0) {
      if slots[slot] == digest { return }
      slot = (slot + 1) & (slots.count - 1)
    }
    slots[slot] = digest
    count += 1
  }

  func contains(_ digest: RowDigest) -> Bool {
    var slot = Int(truncatingIfNeeded: digest.low) & (slots.count - 1)
    while slots[slot] != (0, 0) {
      if slots[slot] == (digest.low, digest.high) { return true }
      slot = (slot + 1) & (slots.count - 1)
    }
    return false
  }
}
