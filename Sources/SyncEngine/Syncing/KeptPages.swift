import HTTP

/// A page as a proven run saw it: where the server says that it is the same still, its keys are proven again.
public struct KeptPage: Sendable, Hashable {
  /// A keyed hash of the request and of the parent's row.
  public let page: String
  /// What the server tells a changed page by: an entity tag or a date.
  public let validator: String
  /// What a paging reads of the answer, as JSON.
  public let answer: String
  /// The keys of its rows, as ``PageKeys`` writes them.
  public let keys: [UInt8]

  /// Bytes that it takes in memory, about.
  var size: Int { 512 + answer.utf8.count + keys.count }

  public init(page: String, validator: String, answer: String, keys: [UInt8]) {
    (self.page, self.validator, self.answer, self.keys) = (page, validator, answer, keys)
  }
}

/// The keys of a page's rows, those of nested records among them, one after the other.
///
/// Each begins with twice the number of its table. A key of one integer, which adds one to that, follows as the difference
/// from the one before it in the table: one or two bytes where keys come in order. Others follow as their length and their
/// bytes.
struct PageKeys {
  private(set) var bytes: [UInt8] = []
  /// The last integer of each table.
  private var last: [Int64] = []

  /// - Parameter table: 0 is the entity's own, then the nested ones, owners before what they own.
  mutating func append(_ key: UnsafeBufferPointer<UInt8>, table: Int) {
    if let integer = KeyBytes.integer(UnsafeRawBufferPointer(key)) {
      while last.count <= table { last.append(0) }
      let difference = integer &- last[table]
      last[table] = integer
      number(table << 1 | 1)
      // The sign goes last, so that small differences are short either way.
      number(UInt64(bitPattern: difference << 1 ^ difference >> 63))
    } else {
      number(table << 1)
      number(key.count)
      bytes.append(contentsOf: key)
    }
  }

  private mutating func number(_ value: Int) { number(UInt64(bitPattern: Int64(value))) }

  /// Seven bits a byte, the lowest first; the top bit says that more follow.
  private mutating func number(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Calls `body` with each key; false where the bytes are damaged.
  ///
  /// - Parameter taken: is asked before with each key that is one integer: where it takes it, that is all.
  @inline(__always)
  static func forEach(
    in bytes: [UInt8], taken: (_ table: Int, _ integer: Int64) -> Bool = { _, _ in false },
    _ body: (_ table: Int, _ key: UnsafeBufferPointer<UInt8>) -> Void
  ) -> Bool {
    var last: [Int64] = []
    var made = KeyBytes()
    return bytes.withUnsafeBufferPointer { bytes in
      var index = 0
      while index < bytes.count {
        guard let head = number(in: bytes, &index) else { return false }
        let table = Int(head >> 1)
        if head & 1 == 1 {
          guard let number = number(in: bytes, &index), table < 1 << 20 else { return false }
          while last.count <= table { last.append(0) }
          last[table] &+= Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
          let integer = last[table]
          if taken(table, integer) { continue }
          made.removeAll()
          made.append(integer)
          made.withBytes { body(table, $0) }
        } else {
          guard let count = number(in: bytes, &index), count <= bytes.count - index else { return false }
          body(table, UnsafeBufferPointer(rebasing: bytes[index..<index + Int(count)]))
          index += Int(count)
        }
      }
      return true
    }
  }

  @inline(__always)
  private static func number(in bytes: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> UInt64? {
    var (value, shift): (UInt64, UInt64) = (0, 0)
    while index < bytes.count, shift < 64 {
      let byte = bytes[index]
      index += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return value }
      shift += 7
    }
    return nil
  }
}

/// The pages that a walk may ask for with a condition.
struct KeptPages: Sendable {
  private(set) var pages: [String: KeptPage] = [:]

  init() {}

  init(_ kept: [KeptPage], besides distrusted: Set<String>) {
    for page in kept where !distrusted.contains(page.page) { pages[page.page] = page }
  }

  var isEmpty: Bool { pages.isEmpty }

  /// Bytes of all keys of the pages: there are no more keys than that.
  var keyBytes: Int { pages.values.reduce(0) { $0 + $1.keys.count } }

  /// Whether a record inside of others stands on a page that was not sent again and on one that was, or that is gone:
  /// which of them counts is told by the pages in full alone.
  ///
  /// - Parameters:
  ///   - rows: of the pages that were sent.
  ///   - states: of all pages of the run.
  /// - Throws: ``SpoolError``
  func isTorn(_ rows: [PageRows], _ states: [String: PageState], _ tables: [DecodingPlan.Nested]) throws
    -> Bool
  {
    guard !tables.isEmpty else { return false }
    // By table: several lists may fill one.
    var unsent: [String: KeyIndex] = [:]
    func forEachNested(of page: KeptPage, _ body: (String, UnsafeBufferPointer<UInt8>) -> Void) {
      _ = PageKeys.forEach(in: page.keys) {
        if tables.indices.contains($0 - 1) { body(tables[$0 - 1].schema.name, $1) }
      }
    }
    func isUnchanged(_ name: String) -> Bool { if case .unchanged? = states[name] { true } else { false } }
    for (name, page) in pages where isUnchanged(name) {
      forEachNested(of: page) { _ = unsent[$0, default: KeyIndex()].insert($1, ordinal: 0) }
    }
    guard !unsent.isEmpty else { return false }
    var isTorn = false
    for (name, page) in pages where !isUnchanged(name) {
      forEachNested(of: page) { if unsent[$0]?.contains($1) == true { isTorn = true } }
    }
    var key = KeyBytes()
    for page in rows {
      for (nested, table) in zip(page.nested, tables) {
        let memory = try nested.batch.memory()
        for row in 0..<nested.batch.rowCount {
          key.set(table.plan.keyColumns, of: memory, row)
          if key.withBytes({ unsent[table.schema.name]?.contains($0) }) == true { isTorn = true }
        }
      }
    }
    return isTorn
  }
}

/// What was kept of earlier pages does not go together with what came now: every page has to be seen in full.
struct KeptPagesUnusable: Error {}

/// A row of a page that was not sent again is not there any more: someone has deleted it. Such pages have to be asked for
/// in full, so that it comes again.
public struct KeptRowsMissing: Error, Sendable {
  /// The pages by their names; empty where they are not known.
  public let pages: Set<String>
  public init(pages: Set<String> = []) { self.pages = pages }
}

/// What became of a page in a run, for the next one.
enum PageState: Sendable {
  /// It is what was kept of it.
  case unchanged
  /// It came in full; nil where nothing can be kept of it.
  case fresh(KeptPage?)
}

/// The pages of a run, which a server may be asked for with a condition from now on. Only a proof makes it.
public struct ProvenPages: Sendable {
  package let fresh: [KeptPage]
  package let unchanged: Set<String>

  init(_ pages: [String: PageState], proof: ProofOfCompleteness) {
    var fresh: [KeptPage] = []
    var unchanged: Set<String> = []
    for (name, state) in pages {
      switch state {
      case .unchanged: unchanged.insert(name)
      case .fresh(let page): if let page { fresh.append(page) }
      }
    }
    (self.fresh, self.unchanged) = (fresh, unchanged)
  }
}
