import CMicrohttpd

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A socket that listens on the first address of a host that this machine has.
struct ListeningSocket {
  let descriptor: Int32
  let port: Int

  /// - Parameter port: 0 is any that is free.
  init(host: String, port: Int) throws(WebServerError) {
    let place = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    var hints = addrinfo()
    hints.ai_socktype = cmicrohttpd_stream
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    var found: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &found)
    guard code == 0 else {
      throw WebServerError(
        "there is no address to listen on for \(place): \(String(cString: gai_strerror(code)))")
    }
    defer { freeaddrinfo(found) }

    var problem = EADDRNOTAVAIL
    var next = found
    while let address = next {
      next = address.pointee.ai_next
      switch Self.open(address.pointee) {
      case .success(let descriptor):
        self.descriptor = descriptor
        self.port = Self.port(of: descriptor)
        return
      case .failure(let failure):
        problem = failure.code
      }
      // A name with two addresses may have one that this machine lacks; a taken port is not passed over in silence.
      guard problem == EADDRNOTAVAIL || problem == EAFNOSUPPORT else { break }
    }
    switch problem {
    case EADDRINUSE:
      throw WebServerError("\(place) is taken: another program listens there; end it or choose another port")
    case EADDRNOTAVAIL:
      throw WebServerError("\(place) cannot be listened on: this machine has no such address")
    case EACCES:
      throw WebServerError(
        "\(place) cannot be listened on: ports below 1024 are for root; choose a higher one")
    default:
      throw WebServerError("\(place) cannot be listened on: \(String(cString: strerror(problem)))")
    }
  }

  private struct Failure: Error { var code: Int32 }

  private static func open(_ address: addrinfo) -> Result<Int32, Failure> {
    let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
    guard descriptor >= 0 else { return .failure(Failure(code: errno)) }
    // A program that this one starts would keep the port.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var (yes, no): (Int32, Int32) = (1, 0)
    let size = socklen_t(MemoryLayout<Int32>.size)
    // A server that starts again takes its port back at once.
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size)
    // [::] is every address of the machine, also those of IPv4.
    if address.ai_family == AF_INET6 {
      setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &no, size)
    }
    guard bind(descriptor, address.ai_addr, address.ai_addrlen) == 0, listen(descriptor, SOMAXCONN) == 0
    else {
      defer { close(descriptor) }
      return .failure(Failure(code: errno))
    }
    return .success(descriptor)
  }

  private static func port(of descriptor: Int32) -> Int {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &address) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &size) }
      // The port stands at the same place for both families.
      return storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        Int(UInt16(bigEndian: $0.pointee.sin_port))
      }
    }
  }
}
