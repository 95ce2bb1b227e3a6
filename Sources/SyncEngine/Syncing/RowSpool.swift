import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The rows of a run until they are written: in memory up to a limit, and from there on in a file without a name, which is
/// gone with the process.
package final class RowSpool: Sendable {
  /// Bytes that are held in memory.
  private let limit: Int

  /// Rows in memory, as long as anyone wants them.
  private struct Held {
    weak var batch: RowBatch?
    let size: Int
  }

  private struct State {
    var size = 0
    /// The latest at the end.
    var held: [Held] = []
    /// Bytes that are held besides rows.
    var others = 0
    var file: File?

    /// Forgets rows of walks that were given up.
    mutating func forget() {
      held.removeAll { $0.batch == nil }
      size = held.reduce(0) { $0 + $1.size }
    }
  }

  private let state = Mutex(State())

  /// - Parameter limit: bytes in memory.
  init(limit: Int) { self.limit = limit }

  /// Keeps the rows of one page.
  ///
  /// - Parameter others: bytes that the entity under way holds besides rows.
  /// - Throws: ``SpoolError``
  func keep(_ rows: PageRows, besides others: Int) throws {
    try state.withLock { state in
      for batch in [rows.batch] + rows.nested.map(\.batch) where batch.rowCount > 0 {
        let size = batch.size
        state.size += size
        state.held.append(Held(batch: batch, size: size))
      }
      // A quarter is left for keys from the beginning: memory of rows that go later is of no use to what grows beside them.
      let limit = min(limit - limit / 4, limit - state.others - others)
      if state.size > limit { state.forget() }
      while state.size > limit, let held = state.held.popLast() {
        state.size -= held.size
        guard let batch = held.batch else { continue }
        let file = try state.file ?? File()
        state.file = file
        try batch.move(to: file)
      }
    }
  }

  /// Counts bytes that are held until the commit.
  func hold(_ bytes: Int) { state.withLock { $0.others += bytes } }

  /// A file that has no name.
  package final class File: Sendable {
    private let descriptor: Int32
    private let end = Mutex(0)

    /// In the folder for temporary files that may be large: the one that `TMPDIR` names, else `/var/tmp`, else `/tmp`.
    init() throws {
      let folder = Self.folder
      let path = "\(folder)/syncd-\(Engine.newRunID())"
      let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw SpoolError(folder, errno) }
      unlink(path)
      self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    package static var folder: String {
      if let named = getenv("TMPDIR").map({ String(cString: $0) }), !named.isEmpty { return named }
      return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp"
    }

    /// Appends parts one behind the other.
    ///
    /// - Returns: where the first one begins.
    func append(_ parts: [UnsafeMutableRawBufferPointer]) throws -> Int {
      try end.withLock { end in
        // Where a page of the system begins, so that it can be mapped.
        let pageSize = Int(getpagesize())
        let start = (end + pageSize - 1) / pageSize * pageSize
        end = start
        for part in parts {
          var rest = UnsafeRawBufferPointer(part)
          while !rest.isEmpty {
            let written = pwrite(descriptor, rest.baseAddress, rest.count, off_t(end))
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw SpoolError(Self.folder, errno) }
            end += written
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
          }
        }
        return start
      }
    }

    /// What was appended at an offset, in place. It has to be unmapped.
    func map(_ offset: Int, _ count: Int) throws -> UnsafeMutableRawPointer {
      guard let memory = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, off_t(offset)),
        memory != MAP_FAILED
      else { throw SpoolError(Self.folder, errno) }
      return memory
    }
  }
}

/// Rows that have no room in memory have none on the disk either.
package struct SpoolError: Error, CustomStringConvertible {
  package let description: String

  init(_ folder: String, _ code: Int32) {
    description =
      "rows that do not fit into memory cannot be kept in \(folder) (TMPDIR): \(String(cString: strerror(code)))"
  }
}
