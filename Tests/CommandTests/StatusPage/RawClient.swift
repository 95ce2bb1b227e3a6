import Foundation
import TestSupport

/// A connection to a port on loopback, over which a test says what no proper client would.
final class RawClient: Sendable {
  private let descriptor: Int32

  init(port: Int) throws {
    #if canImport(Glibc)
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else { throw TestFailure("port \(port): \(String(cString: strerror(errno)))") }
  }

  deinit { close(descriptor) }

  func send(_ text: String) throws {
    // Without the signal that would end all tests where the other side is gone.
    guard Foundation.send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL)) == text.utf8.count else {
      throw TestFailure("nobody takes \(text): \(String(cString: strerror(errno)))")
    }
  }

  /// What comes until a text does, or until the other side ends the connection.
  func read(until end: String = "\0") -> String {
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Foundation.read(descriptor, &part, part.count)
      guard count > 0 else { break }
      bytes += part[..<count]
      if String(decoding: bytes, as: UTF8.self).contains(end) { break }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
