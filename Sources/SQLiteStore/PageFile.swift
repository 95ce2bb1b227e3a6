import CCompression
import Dispatch
import SyncEngine
import Synchronization

/// A journal of pages in a file beside the database, which its owner alone may read.
///
/// ```
/// "SYNP" length:4 nameLength:2 crc32:4 name bytes    (numbers little-endian; the first one has the journal's key)
/// ```
///
/// A kill leaves at most one half frame at the end, which is cut off. A power cut may leave anything, which the checksums
/// tell.
final class PageFile: PageJournal {
  let begun: Int64
  private let path: String
  private let key: String
  private let limit: Int

  private struct State {
    /// Open while there is a file.
    var file: Int32?
    /// Where frames begin, by their names.
    var pages: [String: [Int64]] = [:]
    var size: Int64 = 0
    /// Whether nothing more is kept.
    var isFull = false
  }
  private let state: Mutex<State>
  /// Where pages are written.
  private let queue = DispatchQueue(label: "syncd.pages")
  /// Bytes of pages that wait to be written.
  private let waiting = Atomic(0)
  private static let mostWaiting = 32 << 20

  private static let frameLength = 14
  private static let magic: [UInt8] = Array("SYNP".utf8)

  deinit {
    state.withLock { state in
      if let file = state.file { Platform.close(file) }
    }
  }

  init(path: String, _ request: PageJournalRequest) {
    (self.path, key, limit) = (path, request.key, request.limit)
    var state = State()
    var begun = request.now
    if let file = Platform.openPrivateFile(path, creating: false) {
      state.file = file
      if let earlier = Self.read(file, key: request.key, into: &state),
        earlier >= request.notBefore, earlier <= request.now
      {
        begun = earlier
      } else {
        Platform.remove(path)
        Platform.close(file)
        state = State()
      }
    }
    self.begun = begun
    self.state = Mutex(state)
  }

  /// Finds the frames of a file and cuts off what is behind the last whole one.
  ///
  /// - Returns: when its first run began; nil for a file of another key.
  private static func read(_ file: Int32, key: String, into state: inout State) -> Int64? {
    let end = Platform.size(file)
    guard let first = frame(of: file, at: 0), first.end <= end, let bytes = content(of: file, first, at: 0),
      first.name == key,
      let begun = Int64(String(decoding: bytes, as: UTF8.self))
    else { return nil }
    state.size = first.end
    while let next = frame(of: file, at: state.size), next.end <= end {
      state.pages[next.name, default: []].append(state.size)
      state.size = next.end
    }
    Platform.truncate(file, to: state.size)
    return begun
  }

  private struct Frame {
    var name: String
    var length: Int
    var checksum: UInt32
    var start: Int64
    var end: Int64 { start + Int64(length) }
  }

  private static func frame(of file: Int32, at position: Int64) -> Frame? {
    guard let head = Platform.read(file, frameLength, at: position), Array(head.prefix(4)) == magic else {
      return nil
    }
    func number(_ range: Range<Int>) -> Int { head[range].reversed().reduce(0) { $0 << 8 | Int($1) } }
    let nameLength = number(8..<10)
    guard let name = Platform.read(file, nameLength, at: position + Int64(frameLength)) else { return nil }
    return Frame(
      name: String(decoding: name, as: UTF8.self), length: number(4..<8),
      checksum: UInt32(truncatingIfNeeded: number(10..<14)), start: position + Int64(frameLength + nameLength)
    )
  }

  /// Nil where the checksum differs.
  private static func content(of file: Int32, _ frame: Frame, at position: Int64) -> [UInt8]? {
    guard let bytes = Platform.read(file, frame.length, at: frame.start) else { return nil }
    return checksum(Array(frame.name.utf8), bytes) == frame.checksum ? bytes : nil
  }

  private static func checksum(_ parts: [UInt8]...) -> UInt32 {
    let sum = parts.filter { !$0.isEmpty }.reduce(crc32_z(0, nil, 0)) { crc32_z($0, $1, $1.count) }
    return UInt32(truncatingIfNeeded: sum)
  }

  // MARK: Pages

  func take(_ name: String) -> [UInt8]? {
    state.withLock { state in
      guard let file = state.file, let position = state.pages[name]?.first else { return nil }
      state.pages[name]?.removeFirst()
      return Self.frame(of: file, at: position).flatMap { Self.content(of: file, $0, at: position) }
    }
  }

  func append(_ head: [UInt8], _ body: [UInt8], as name: String) {
    // A disk that is slower than the network must not fill the memory.
    let size = head.count + body.count
    guard size < Int(UInt32.max),
      waiting.add(size, ordering: .relaxed).oldValue < Self.mostWaiting
    else {
      waiting.subtract(size, ordering: .relaxed)
      return
    }
    queue.async {
      self.state.withLock { self.keep(head, body, name, &$0) }
      self.waiting.subtract(size, ordering: .relaxed)
    }
  }

  private func keep(_ head: [UInt8], _ body: [UInt8], _ name: String, _ state: inout State) {
    guard !state.isFull else { return }
    if state.file == nil {
      guard let file = Platform.openPrivateFile(path, creating: true) else {
        state.isFull = true
        return
      }
      (state.file, state.size) = (file, 0)
      guard write(Array(String(begun).utf8), [], key, to: &state) else { return giveUp(&state) }
    }
    guard state.size + Int64(head.count + body.count) <= Int64(limit) else {
      state.isFull = true
      return
    }
    if !write(head, body, name, to: &state) { giveUp(&state) }
  }

  private func write(_ head: [UInt8], _ body: [UInt8], _ name: String, to state: inout State) -> Bool {
    guard let file = state.file else { return false }
    var frame = Self.magic
    func append(_ number: some FixedWidthInteger) {
      withUnsafeBytes(of: number.littleEndian) { frame.append(contentsOf: $0) }
    }
    append(UInt32(truncatingIfNeeded: head.count + body.count))
    append(UInt16(truncatingIfNeeded: name.utf8.count))
    append(Self.checksum(Array(name.utf8), head, body))
    frame += Array(name.utf8) + head
    guard Platform.write(file, frame, body, at: state.size) else { return false }
    state.size += Int64(frame.count + body.count)
    return true
  }

  /// A full disk is needed for the rows.
  private func giveUp(_ state: inout State) {
    remove(&state)
    state.isFull = true
  }

  private func remove(_ state: inout State) {
    guard let file = state.file else { return }
    Platform.remove(path)
    Platform.close(file)
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
