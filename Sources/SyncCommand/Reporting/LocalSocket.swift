import CSystem

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Sends datagrams to a socket of this machine (unix(7)).
final class LocalSocket: Sendable {
  private let file: Int32
  private let address: sockaddr_un
  private let length: socklen_t

  /// - Parameters:
  ///   - name: an absolute path, or a name of Linux's abstract space behind an `@`.
  ///   - timeLimit: for a send that may wait.
  /// - Returns: nil where there can be no such socket; whether there is one shows when something is sent.
  init?(_ name: String, timeLimit: Duration = .seconds(1)) {
    var bytes = Array(name.utf8)
    let isAbstract = bytes.first == UInt8(ascii: "@")
    if isAbstract { bytes[0] = 0 } else { bytes.append(0) }
    var address = sockaddr_un()
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard bytes.count > 1, bytes.count <= capacity, isAbstract || bytes[0] == UInt8(ascii: "/"),
      !bytes.dropFirst().dropLast().contains(0)
    else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    self.address = address
    // All bytes of an abstract name count.
    length = socklen_t((MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2) + bytes.count)

    #if canImport(Glibc)
      file = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #else
      file = socket(AF_UNIX, SOCK_DGRAM, 0)
    #endif
    guard file >= 0 else { return nil }
    #if !canImport(Glibc)
      _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    #endif
    let (seconds, attoseconds) = timeLimit.components
    var limit = timeval()
    limit.tv_sec = time_t(seconds)
    limit.tv_usec = suseconds_t(attoseconds / 1_000_000_000_000)
    setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(file) }

  #if canImport(Glibc)
    private static let flags = Int32(MSG_NOSIGNAL)
  #else
    private static let flags: Int32 = 0
  #endif

  /// - Parameter waits: whether to wait, up to the time limit, while the receiver has no room.
  /// - Returns: 0, or the error's number (errno(3)).
  func send(_ bytes: [UInt8], waits: Bool) -> Int32 {
    perform { address in
      sendto(
        file, bytes, bytes.count, Self.flags | (waits ? 0 : Int32(MSG_DONTWAIT)), address, length)
    }
  }

  /// Sends bytes of any number in a file that nobody can change any more.
  ///
  /// - Returns: 0, or the error's number.
  func sendAsFile(_ bytes: [UInt8]) -> Int32 {
    let content = csystem_unnamed_file()
    guard content >= 0 else { return errno }
    defer { close(content) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(content, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return errno }
      rest = rest.dropFirst(max(0, count))
    }
    guard csystem_seal(content) != 0 else { return errno }
    return perform { address in csystem_send_file(file, content, address, length, Self.flags) }
  }

  private func perform(_ send: (UnsafePointer<sockaddr>) -> Int) -> Int32 {
    withUnsafePointer(to: address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        while true {
          if send(address) >= 0 { return 0 }
          if errno != EINTR { return errno }
        }
      }
    }
  }
}
