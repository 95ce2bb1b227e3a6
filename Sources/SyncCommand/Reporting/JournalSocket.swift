import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Writes entries of systemd's journal in its own protocol, which keeps fields apart and lines together
/// (systemd.io/JOURNAL_NATIVE_PROTOCOL).
final class JournalSocket: Sendable {
  private let socket: LocalSocket

  /// - Returns: nil where no journal listens.
  init?(path: String = "/run/systemd/journal/socket") {
    var information = stat()
    guard stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFSOCK,
      let socket = LocalSocket(path)
    else { return nil }
    self.socket = socket
  }

  /// Sends one entry. A journal that has no room is waited for, up to a second.
  ///
  /// - Parameters:
  ///   - priority: 0 (emergency) to 7 (debug), as of syslog(3).
  ///   - fields: names of capital letters, digits and underscores, with a letter at the beginning, up to 64 of them;
  ///     the journal keeps no others, and they are left out here.
  /// - Returns: whether it was taken; if not, it should be written elsewhere.
  func send(priority: Int, message: String, fields: [(String, String)]) -> Bool {
    var entry: [UInt8] = []
    let all = [("MESSAGE", message), ("PRIORITY", String(min(max(priority, 0), 7)))] + fields
    for (name, value) in all where Self.isFieldName(name) { Self.append(name, value, to: &entry) }
    switch socket.send(entry, waits: true) {
    case 0: return true
    // Too large for a datagram.
    case EMSGSIZE, ENOBUFS: return socket.sendAsFile(entry) == 0
    default: return false
    }
  }

  private static func append(_ name: String, _ value: String, to entry: inout [UInt8]) {
    let bytes = Array(value.utf8)
    entry += name.utf8
    if bytes.contains(UInt8(ascii: "\n")) {
      // Its length, in 64 bits with the least byte first, tells where the value ends.
      entry.append(UInt8(ascii: "\n"))
      withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { entry += $0 }
    } else {
      entry.append(UInt8(ascii: "="))
    }
    entry += bytes
    entry.append(UInt8(ascii: "\n"))
  }

  private static func isFieldName(_ name: String) -> Bool {
    guard let first = name.utf8.first, (0x41...0x5A).contains(first), name.utf8.count <= 64 else {
      return false
    }
    return name.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
  }
}
