import Foundation

/// A datagram socket of a test's own, where the program expects one of systemd's.
public final class ReceivingSocket {
  public let file: Int32

  /// - Parameter name: a path, or `@` with a name of the abstract space.
  public init(_ name: String) throws {
    file = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 } else { bytes.append(0) }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(2 + bytes.count)
    let code = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(file, $0, length) }
    }
    guard code == 0 else { throw TestFailure("bind: \(String(cString: strerror(errno)))") }
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(file) }

  /// The next datagram. Where it is an open file, that file's content, and whether nobody can change it.
  public func receive() throws -> (bytes: [UInt8], isSealedFile: Bool) {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    var control = [UInt8](repeating: 0, count: 64)
    return try buffer.withUnsafeMutableBytes { bytes in
      try control.withUnsafeMutableBytes { control in
        var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        var message = msghdr()
        let count = withUnsafeMutablePointer(to: &part) { part in
          message.msg_iov = part
          message.msg_iovlen = 1
          message.msg_control = control.baseAddress
          message.msg_controllen = control.count
          return recvmsg(file, &message, 0)
        }
        guard count >= 0 else { throw TestFailure("nothing came: \(String(cString: strerror(errno)))") }
        guard message.msg_controllen > 0 else { return (Array(bytes[..<count]), false) }
        let sent = control.load(fromByteOffset: MemoryLayout<cmsghdr>.size, as: Int32.self)
        defer { close(sent) }
        let content = FileHandle(fileDescriptor: sent, closeOnDealloc: false)
        try content.seek(toOffset: 0)
        let all = try content.readToEnd() ?? Data()
        // F_GET_SEALS
        return (Array(all), fcntl(sent, 1034) == 0xF)
      }
    }
  }

  public func text() throws -> String { String(decoding: try receive().bytes, as: UTF8.self) }

  /// Whether nothing waits.
  public var isEmpty: Bool {
    var wanted = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
    return poll(&wanted, 1, 0) == 0
  }
}
