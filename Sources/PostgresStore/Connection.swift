import CPostgres
import SyncEngine
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One connection to a server. It serves one caller at a time and closes when it goes.
package final class Connection: @unchecked Sendable {
  // Sendable: the store keeps its connections inside mutexes and uses them nowhere else; a reader's connection stays
  // with the call that made it. `canceller` is libpq's own, made for other threads.
  private let handle: OpaquePointer
  /// Ends the statement that is under way (postgresql.org/docs/15/libpq-cancel.html).
  let canceller: Canceller
  private let busyLimit: Duration
  private var cancellation: Cancellation?
  /// Whether a transaction could not be ended.
  private var isBroken = false
  /// The worker that the session is known to belong to.
  private var worker: Int64?

  /// What ``StoreOptions/busyLimit`` has no say in: how long a server may take to answer at all.
  private static let connectLimit = Duration.seconds(10)

  /// - Parameter location: `postgresql://…`, with what service and password files and variables add to it
  ///   (postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING).
  /// - Parameter silence: how long a server may say nothing, its machine or the network, before it is given up; minutes
  ///   by default.
  /// - Throws: ``StoreError`` where no connection can be made. The message holds no password.
  package init(
    _ location: Location, busyLimit: Duration, _ cancellation: Cancellation? = nil, silence: Duration? = nil
  ) throws {
    self.busyLimit = busyLimit
    // The first ones are defaults: what the location itself says comes later and counts. What lags behind the server that is
    // written to is not to be read either; a server that is gone without a word is noticed in minutes.
    var defaults = [
      "target_session_attrs": "read-write", "fallback_application_name": "syncd", "keepalives_idle": "60",
      "keepalives_interval": "10", "keepalives_count": "6", "tcp_user_timeout": "120000",
    ]
    if let silence {
      let third = String(max(1, silence.milliseconds / 3000))
      defaults.merge([
        "keepalives_idle": third, "keepalives_interval": third, "keepalives_count": "2",
        "tcp_user_timeout": String(max(1000, silence.milliseconds)),
      ]) { $1 }
    }
    let names = Array(defaults.keys) + ["dbname"]
    let values = Array(defaults.values) + [location.text]
    let handle = Self.withCStrings(names) { names in
      Self.withCStrings(values) { values in PQconnectStartParams(names, values, 1) }
    }
    guard let handle else { throw StoreError("libpq has no memory for a connection") }
    do { try Self.await(handle, cancellation) } catch {
      PQfinish(handle)
      throw error
    }
    guard PQstatus(handle) == CONNECTION_OK, let cancel = PQgetCancel(handle) else {
      defer { PQfinish(handle) }
      throw StoreError(
        "the store \(location) cannot be opened: \(location.withoutPassword(Self.line(PQerrorMessage(handle))))"
      )
    }
    self.handle = handle
    canceller = Canceller(cancel, socket: PQsocket(handle))
    PQsetNoticeProcessor(handle, { _, _ in }, nil)
    // Values read and write the same wherever the server stands; what waits for another transaction does so as long as
    // the options say.
    try execute(
      """
      SET client_encoding = 'UTF8'; SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; SET extra_float_digits = 1;
      SET standard_conforming_strings = on; SET client_min_messages = warning;
      SET lock_timeout = \(busyMilliseconds)
      """)
    // The session holds locks while the source is asked, and must not hold them when its client is gone.
    try execute(
      """
      SELECT set_config(name, CASE WHEN name LIKE 'tcp%' THEN '60' ELSE '0' END, false) FROM pg_settings WHERE name IN
      ('idle_session_timeout', 'idle_in_transaction_session_timeout', 'tcp_keepalives_idle', 'tcp_keepalives_interval')
      """)
  }

  /// Waits until the server has answered, or is known not to (postgresql.org/docs/15/libpq-connect.html#LIBPQ-PQCONNECTSTARTPARAMS).
  private static func await(_ handle: OpaquePointer, _ cancellation: Cancellation?) throws {
    let deadline = ContinuousClock.now + connectLimit
    var state = PGRES_POLLING_WRITING
    while PQstatus(handle) != CONNECTION_BAD, state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING
    {
      try cancellation?.check()
      if ContinuousClock.now > deadline {
        throw StoreError(
          "the store cannot be opened: the server has not answered for \(connectLimit.components.seconds) s")
      }
      var event = pollfd(
        fd: PQsocket(handle), events: Int16(state == PGRES_POLLING_READING ? POLLIN : POLLOUT), revents: 0)
      if poll(&event, 1, 100) > 0 { state = PQconnectPoll(handle) }
    }
  }

  deinit { PQfinish(handle) }

  private static func withCStrings<R>(
    _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> R?
  ) -> R? {
    var copies: [UnsafePointer<CChar>?] = texts.map { UnsafePointer(strdup($0)) }
    copies.append(nil)
    defer { for copy in copies { free(UnsafeMutablePointer(mutating: copy)) } }
    return copies.withUnsafeBufferPointer { copies in copies.baseAddress.flatMap(body) }
  }

  private static func line(_ text: UnsafePointer<CChar>?) -> String {
    text.map { String(cString: $0) }?.split(separator: "\n").map { line in
      String(line.drop { $0 == " " || $0 == "\t" })
    }.joined(separator: "; ") ?? ""
  }

  var busyMilliseconds: Int { min(max(1, busyLimit.milliseconds), Int(Int32.max)) }

  /// Lets the server's list of sessions say whose this is, so that it can be ended with the worker.
  func belong(to worker: Int64?) throws {
    guard worker != self.worker else { return }
    try execute("SET application_name = '\(worker.map(WorkTables.application) ?? "syncd")'")
    self.worker = worker
  }

  /// Lets a cancellation end statements.
  func watch(_ cancellation: Cancellation?) { self.cancellation = cancellation }

  var isLost: Bool { PQstatus(handle) != CONNECTION_OK || isBroken }

  /// Whether it can be used, as far as can be seen without asking the server: it may have ended the session meanwhile.
  var isAlive: Bool { !isLost && PQconsumeInput(handle) == 1 && !isLost }

  /// A setting of the session that the server reports, such as `server_encoding`.
  func parameter(_ name: String) -> String? { PQparameterStatus(handle, name).map { String(cString: $0) } }

  /// The server's version: 150018 is 15.18.
  var version: Int { Int(PQserverVersion(handle)) }

  // MARK: Statements

  /// Runs statements without parameters, one or several.
  package func execute(_ sql: String) throws {
    try cancellation?.check()
    try check(Result(PQexec(handle, sql)))
  }

  /// Runs one statement with parameters (`$1`, `$2`, …), whose types follow from where they stand.
  @discardableResult
  package func run(_ sql: String, _ parameters: [StoredValue] = []) throws -> Result {
    try cancellation?.check()
    try Parameters.demandTexts(parameters)
    let result = Parameters.with(parameters) { values, lengths, formats in
      Result(PQexecParams(handle, sql, Int32(parameters.count), nil, values, lengths, formats, 0))
    }
    try check(result)
    return result
  }

  /// The first column of the first row; nil where there is none or it is null.
  package func text(_ sql: String, _ parameters: StoredValue...) throws -> String? {
    let result = try run(sql, parameters)
    return result.count > 0 ? result.text(0, 0) : nil
  }

  package func integer(_ sql: String, _ parameters: StoredValue...) throws -> Int? {
    let result = try run(sql, parameters)
    return result.count > 0 ? result.text(0, 0).flatMap { Int($0) } : nil
  }

  /// Calls `body` with each row of a statement, in binary form, as the server sends them.
  func forEach(_ sql: String, _ parameters: [StoredValue] = [], _ body: (Result) throws -> Void)
    throws
  {
    try cancellation?.check()
    try Parameters.demandTexts(parameters)
    let isSent = Parameters.with(parameters) { values, lengths, formats in
      PQsendQueryParams(handle, sql, Int32(parameters.count), nil, values, lengths, formats, 1)
    }
    guard isSent == 1, PQsetSingleRowMode(handle) == 1 else { throw failure() }
    do {
      while true {
        let result = Result(PQgetResult(handle))
        if result.isNil { return }
        try check(result)
        if result.status == PGRES_SINGLE_TUPLE { try body(result) }
      }
    } catch {
      canceller.cancel()
      while let rest = PQgetResult(handle) { PQclear(rest) }
      throw error
    }
  }

  /// What a statement gave.
  package final class Result {
    private let result: OpaquePointer?

    init(_ result: OpaquePointer?) { self.result = result }
    deinit { PQclear(result) }

    var isNil: Bool { result == nil }
    var status: ExecStatusType { PQresultStatus(result) }
    package var count: Int { Int(PQntuples(result)) }
    var columnCount: Int { Int(PQnfields(result)) }
    var tag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }
    /// Rows that a statement wrote.
    var changes: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    func isNull(_ row: Int, _ column: Int) -> Bool { PQgetisnull(result, Int32(row), Int32(column)) != 0 }

    /// A value that came as text.
    package func text(_ row: Int, _ column: Int) -> String? {
      isNull(row, column) ? nil : PQgetvalue(result, Int32(row), Int32(column)).map { String(cString: $0) }
    }

    package func integer(_ row: Int, _ column: Int) -> Int { text(row, column).flatMap { Int($0) } ?? 0 }
    func isTrue(_ row: Int, _ column: Int) -> Bool { text(row, column) == "t" }

    /// The bytes of a value, valid as long as this is.
    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(
        start: PQgetvalue(result, Int32(row), Int32(column)),
        count: Int(PQgetlength(result, Int32(row), Int32(column))))
    }

    /// The number of a column's type.
    func type(_ column: Int) -> UInt32 { PQftype(result, Int32(column)) }
    func name(_ column: Int) -> String { PQfname(result, Int32(column)).map { String(cString: $0) } ?? "" }

    /// A field of an error, by its code (postgresql.org/docs/15/libpq-exec.html#LIBPQ-PQRESULTERRORFIELD).
    func field(_ code: Character) -> String? {
      PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
    }
  }

  private func check(_ result: Result) throws {
    switch result.status {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE, PGRES_EMPTY_QUERY: return
    default: throw error(of: result)
    }
  }

  private func failure() -> any Error { error(of: Result(nil)) }

  private func error(of result: Result) -> any Error {
    let state = result.field("C") ?? ""
    if state == "57014", cancellation?.isCancelled == true { return CancellationError() }
    return PostgresError(
      state: state, message: result.field("M") ?? Self.line(PQerrorMessage(handle)),
      detail: result.field("D"),
      context: result.field("W"), isLost: isLost, busyLimit: busyLimit)
  }

  // MARK: Transactions

  /// Runs `body` in a transaction.
  ///
  /// - Parameter isUndone: whether all of it is undone at the end.
  package func transaction<R>(isUndone: Bool = false, _ body: () throws -> R) throws -> R {
    RunStep.next()
    do {
      try execute("BEGIN")
      let result = try body()
      if isUndone { try execute("ROLLBACK") } else { try commit() }
      RunStep.next()
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  private func commit() throws {
    try cancellation?.check()
    let result = Result(PQexec(handle, "COMMIT"))
    if isLost { throw UnsureCommit(reason: "\(error(of: result))") }
    try check(result)
    // In a transaction that failed COMMIT rolls back and says so in its tag alone.
    guard result.tag == "COMMIT" else { throw StoreError("PostgreSQL: the transaction was rolled back") }
  }

  /// Ends a transaction without its effects; a request to cancel may hit this too.
  private func rollBack() {
    for _ in 0..<3 where !isLost && PQtransactionStatus(handle) != PQTRANS_IDLE {
      _ = Result(PQexec(handle, "ROLLBACK"))
    }
    // The server rolls back what a lost connection began.
    if PQtransactionStatus(handle) != PQTRANS_IDLE { isBroken = true }
  }

  /// Runs `body`; what it did is undone where it fails.
  func savepoint(_ body: () throws -> Void) throws {
    try execute("SAVEPOINT syncd")
    do { try body() } catch {
      if !isLost { _ = Result(PQexec(handle, "ROLLBACK TO SAVEPOINT syncd")) }
      throw error
    }
    try execute("RELEASE SAVEPOINT syncd")
  }

  // MARK: Copying

  /// Calls `body` with each row of a query in the binary form of COPY, without the header: the number of fields, then the
  /// fields, each behind its length.
  func copyOut(_ query: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let begun = Result(PQexec(handle, "COPY (\(query)) TO STDOUT (FORMAT binary)"))
    guard begun.status == PGRES_COPY_OUT else { throw error(of: begun) }
    // The signature, four bytes of flags, and the length of an extension that there is none of.
    var headerLength = 19
    do {
      while true {
        try cancellation?.check()
        var piece: UnsafeMutablePointer<CChar>?
        let count = PQgetCopyData(handle, &piece, 0)
        if count < 0 { break }
        defer { PQfreemem(piece) }
        let row = UnsafeRawBufferPointer(start: piece, count: Int(count)).dropFirst(headerLength)
        headerLength = 0
        // The last one has no fields: its number is -1.
        if row.count > 2 { try body(UnsafeRawBufferPointer(rebasing: row)) }
      }
    } catch {
      canceller.cancel()
      // As long as there are rows, libpq has no other result (postgresql.org/docs/15/libpq-copy.html).
      var piece: UnsafeMutablePointer<CChar>?
      while PQgetCopyData(handle, &piece, 0) > 0 { PQfreemem(piece) }
      while let rest = PQgetResult(handle) { PQclear(rest) }
      throw error
    }
    let ended = Result(PQgetResult(handle))
    while let rest = PQgetResult(handle) { PQclear(rest) }
    guard ended.status == PGRES_COMMAND_OK else { throw error(of: ended) }
  }

  /// Sends rows in the binary form of COPY (postgresql.org/docs/15/sql-copy.html#id-1.9.3.55.9.4).
  func copy(into table: String, columns: [String], _ fill: (inout CopyBuffer) throws -> Void) throws {
    try cancellation?.check()
    let names = columns.joined(separator: ", ")
    let begun = Result(PQexec(handle, "COPY \(table) (\(names)) FROM STDIN (FORMAT binary)"))
    guard begun.status == PGRES_COPY_IN else { throw error(of: begun) }
    var buffer = CopyBuffer { bytes in
      try self.cancellation?.check()
      let count = Int32(truncatingIfNeeded: bytes.count)
      guard PQputCopyData(self.handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), count) == 1
      else {
        throw self.failure()
      }
    }
    do {
      try fill(&buffer)
      try buffer.finish()
    } catch {
      PQputCopyEnd(handle, "given up")
      while let rest = PQgetResult(handle) { PQclear(rest) }
      throw error
    }
    PQputCopyEnd(handle, nil)
    let ended = Result(PQgetResult(handle))
    defer { while let rest = PQgetResult(handle) { PQclear(rest) } }
    guard ended.status == PGRES_COMMAND_OK else { throw error(of: ended) }
  }
}

/// Values as the parameters of a statement.
private enum Parameters {
  /// libpq takes a text up to the first NUL.
  static func demandTexts(_ values: [StoredValue]) throws {
    for case .text(let text) in values where text.utf8.contains(0) {
      throw StoreError("PostgreSQL has no text with a NUL in it")
    }
  }

  typealias Texts = UnsafePointer<UnsafePointer<CChar>?>

  static func with<R>(
    _ values: [StoredValue], _ body: (Texts?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> R
  ) -> R {
    var texts: [UnsafePointer<CChar>?] = []
    var lengths: [Int32] = []
    var formats: [Int32] = []
    for value in values {
      var text: String?
      switch value {
      case .null: text = nil
      case .integer(let value): text = String(value)
      case .real(let value): text = String(value)
      case .text(let value): text = value
      case .blob(let bytes):
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
        for (index, byte) in bytes.enumerated() { copy[index] = CChar(bitPattern: byte) }
        texts.append(UnsafePointer(copy))
        lengths.append(Int32(bytes.count))
        formats.append(1)
        continue
      }
      texts.append(
        text.map { text in
          let bytes = Array(text.utf8CString)
          let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
          copy.initialize(from: bytes, count: bytes.count)
          return UnsafePointer(copy)
        })
      lengths.append(0)
      formats.append(0)
    }
    defer { for text in texts { text?.deallocate() } }
    return body(texts, lengths, formats)
  }
}

/// Ends what a connection is doing, from any thread.
final class Canceller: @unchecked Sendable {
  // Sendable: a PGcancel may be used by any thread (postgresql.org/docs/15/libpq-threading.html).
  private let handle: OpaquePointer
  private let socket: Int32
  private let abandoned = Atomic(false)

  init(_ handle: OpaquePointer, socket: Int32) { (self.handle, self.socket) = (handle, socket) }
  deinit { PQfreeCancel(handle) }

  /// Whether the connection was given up.
  var isAbandoned: Bool { abandoned.load(ordering: .sequentiallyConsistent) }

  /// Ends the connection under a statement that waits for a server which does not answer.
  func abandon() {
    abandoned.store(true, ordering: .sequentiallyConsistent)
    shutdown(socket, Int32(SHUT_RDWR))
  }

  func cancel() {
    var reason = [CChar](repeating: 0, count: 256)
    PQcancel(handle, &reason, 256)
  }
}

/// The connection was lost when the commit was under way.
struct UnsureCommit: Error, CustomStringConvertible {
  let reason: String
  var description: String { "the connection to the server was lost in the commit: \(reason)" }
}

/// What the server says when it cannot do as it was told.
struct PostgresError: Error, CustomStringConvertible {
  /// Five characters (postgresql.org/docs/15/errcodes-appendix.html); empty where the server said nothing.
  var state: String
  var message: String
  var detail: String?
  /// Where it was, such as `COPY syncd_new, line 3, column title`.
  var context: String?
  /// Whether the connection is gone.
  var isLost: Bool
  var busyLimit: Duration

  /// 55P03 lock_not_available, 40P01 deadlock_detected.
  var isBusy: Bool { state == "55P03" || state == "40P01" }
  /// 23505 unique_violation
  var isUniqueViolation: Bool { state == "23505" }
  /// 23503 foreign_key_violation
  var isReferenceViolation: Bool { state == "23503" }

  var description: String {
    var text = "PostgreSQL: \(message)"
    if let detail { text += " (\(detail))" }
    if state == "55P03" {
      text +=
        " (another program has kept it locked for \(busyLimit < .seconds(1) ? "\(busyLimit.milliseconds) ms" : "\(busyLimit.components.seconds) s"))"
    }
    if isLost { text = "the connection to the server was lost: \(text)" }
    return text
  }

  var asStoreError: StoreError {
    var error = StoreError(description)
    error.isBusy = isBusy
    return error
  }
}
