import Dispatch
import SyncEngine
import Synchronization

/// A journal of pages in a table of the database, written by a connection of its own while no transaction is open.
final class PageTable: PageJournal {
  let begun: Int64
  private let entity: String
  private let key: String
  private let limit: Int
  private let connect: @Sendable () throws -> Connection

  private struct State {
    var connection: Connection?
    /// The numbers of pages, by their names.
    var pages: [String: [Int64]] = [:]
    var size = 0
    /// Whether there is anything in the table.
    var isUsed = false
    /// Whether nothing more is kept.
    var isFull = false
  }
  private let state: Mutex<State>
  /// Where pages are written.
  private let queue = DispatchQueue(label: "syncd.pages")
  /// Bytes of pages that wait to be written.
  private let waiting = Atomic(0)
  private static let mostWaiting = 32 << 20

  /// - Parameters:
  ///   - connection: what is there is looked up by it.
  ///   - connect: makes the connection that pages are read and written by.
  init(
    _ request: PageJournalRequest, _ connection: Connection,
    connect: @escaping @Sendable () throws -> Connection
  ) throws {
    (entity, key, limit) = (request.entity, request.key, request.limit)
    self.connect = connect
    var state = State()
    var begun = request.now
    if try connection.text("SELECT to_regclass('syncd_journal')") != nil {
      let rows = try connection.run(
        "SELECT id, key, begun, name, length(page) FROM syncd_journal WHERE entity = $1 ORDER BY id",
        [.text(request.entity)])
      for row in 0..<rows.count {
        let earlier = Int64(rows.integer(row, 2))
        guard rows.text(row, 1) == request.key, earlier >= request.notBefore, earlier <= request.now else {
          continue
        }
        begun = earlier
        state.pages[rows.text(row, 3) ?? "", default: []].append(Int64(rows.integer(row, 0)))
        state.size += rows.integer(row, 4)
      }
      // What is of another key or too old is void.
      if rows.count > 0, state.pages.isEmpty {
        try connection.run("DELETE FROM syncd_journal WHERE entity = $1", [.text(request.entity)])
      }
      state.isUsed = !state.pages.isEmpty
    }
    self.begun = begun
    self.state = Mutex(state)
  }

  /// - Returns: nil where there is no connection: then nothing is kept.
  private func connection(_ state: inout State) -> Connection? {
    if let connection = state.connection { return connection.isLost ? nil : connection }
    state.connection = try? connect()
    return state.connection
  }

  func take(_ name: String) -> [UInt8]? {
    state.withLock { state in
      guard let id = state.pages[name]?.first, let connection = connection(&state) else { return nil }
      state.pages[name]?.removeFirst()
      var page: [UInt8]?
      try? connection.forEach("SELECT page FROM syncd_journal WHERE id = $1", [.integer(id)]) {
        page = Array($0.bytes(0, 0))
      }
      return page
    }
  }

  func append(_ head: [UInt8], _ body: [UInt8], as name: String) {
    // A server that is slower than the network must not fill the memory.
    let size = head.count + body.count
    guard waiting.add(size, ordering: .relaxed).oldValue < Self.mostWaiting else {
      waiting.subtract(size, ordering: .relaxed)
      return
    }
    queue.async {
      self.state.withLock { self.keep(head + body, name, &$0) }
      self.waiting.subtract(size, ordering: .relaxed)
    }
  }

  private func keep(_ page: [UInt8], _ name: String, _ state: inout State) {
    guard !state.isFull else { return }
    guard state.size + page.count <= limit, let connection = connection(&state) else {
      state.isFull = true
      return
    }
    do {
      if !state.isUsed { try connection.transaction { try Journal.create(in: connection) } }
      state.isUsed = true
      try connection.run(
        "INSERT INTO syncd_journal (entity, key, begun, name, page) VALUES ($1, $2, $3, $4, $5)",
        [.text(entity), .text(key), .integer(begun), .text(name), .blob(page)])
      state.size += page.count
    } catch {
      // What is half there is of no use.
      remove(&state)
      state.isFull = true
    }
  }

  private func remove(_ state: inout State) {
    if state.isUsed, let connection = connection(&state) {
      _ = try? connection.run("DELETE FROM syncd_journal WHERE entity = $1", [.text(entity)])
    }
    state = State()
  }

  func finish() { queue.sync {} }

  func clear() {
    // Pages that wait need not be written first.
    state.withLock { $0.isFull = true }
    queue.sync {
      state.withLock { state in
        remove(&state)
        state.isFull = false
      }
    }
  }
}
