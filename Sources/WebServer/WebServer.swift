import CMicrohttpd
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A small HTTP/1.1 server for answers that are made in memory, over libmicrohttpd.
///
/// ```swift
/// let server = try WebServer(host: "127.0.0.1", port: 0) { request in .text("you asked for \(request.path)") }
/// print(server.port)
/// server.stop()
/// ```
///
/// One thread serves all clients, and calls `respond`: what is slow there holds up the others, a slow client does not.
/// Bounded are the connections, the time that one may be silent and the size of a request's head. `GET` and `HEAD` are
/// answered; bodies are read, thrown away and refused.
package final class WebServer: Sendable {
  package static let connectionLimit = 256
  /// Seconds.
  static let idleLimit = 30
  /// Bytes of a connection, in which a request's head has to fit.
  static let connectionMemory = 32 << 10
  /// Bytes of a body that are read so that the client reads the refusal; a longer one ends the connection.
  static let bodyLimit = 1 << 20

  /// The port it listens on.
  package let port: Int
  /// The daemon's own, and closed by it.
  private let listener: Int32
  private let daemon: Mutex<OpaquePointer?>
  private let responder: Responder

  /// - Parameters:
  ///   - host: an address, in IPv6 without brackets, or a name.
  ///   - port: 0 is any that is free.
  /// - Throws: `WebServerError`, such as for a port that is taken.
  package init(
    host: String, port: Int, respond: @escaping @Sendable (WebRequest) -> WebResponse
  ) throws(WebServerError) {
    let socket = try ListeningSocket(host: host, port: port)
    (self.port, listener) = (socket.port, socket.descriptor)
    responder = Responder(respond)
    let started = cmicrohttpd_start(
      socket.descriptor, UInt32(Self.connectionLimit), UInt32(Self.idleLimit), Self.connectionMemory,
      { context, connection, path, method, _, _, size, state in
        guard let context, let connection, let path, let method, let size, let state else { return .NO }
        return Unmanaged<Responder>.fromOpaque(context).takeUnretainedValue()
          .handle(Exchange(connection: connection, path: path, method: method, size: size, state: state))
      },
      // The daemon ends before this object does, and so before the responder.
      Unmanaged.passUnretained(responder).toOpaque())
    guard let started else {
      throw WebServerError(
        "the server on port \(socket.port) cannot be started: \(String(cString: strerror(errno)))")
    }
    daemon = Mutex(started)
  }

  deinit { stop() }

  /// Closes all connections, once the answer that is being made is made. Not to be called by `respond`.
  package func stop() {
    let running = daemon.withLock { daemon in
      defer { daemon = nil }
      return daemon
    }
    guard let running else { return }
    // A program that is being started holds a copy of the descriptor for a moment, and with it the port, if the socket
    // still listens.
    shutdown(listener, Int32(SHUT_RDWR))
    MHD_stop_daemon(running)
  }
}

/// One of the calls that libmicrohttpd makes for a request: the first with its head, one for each part of its body, and
/// a last one.
private struct Exchange {
  let connection: OpaquePointer
  let path: UnsafePointer<CChar>
  let method: UnsafePointer<CChar>
  /// Bytes of the body that are there; set to 0 when they were taken.
  let size: UnsafeMutablePointer<Int>
  /// The request's own; nil at the first call, then one more than the bytes of the body that came.
  let state: UnsafeMutablePointer<UnsafeMutableRawPointer?>
}

private final class Responder: Sendable {
  private let respond: @Sendable (WebRequest) -> WebResponse

  init(_ respond: @escaping @Sendable (WebRequest) -> WebResponse) { self.respond = respond }

  func handle(_ exchange: Exchange) -> MHD_Result {
    guard let state = exchange.state.pointee else {
      exchange.state.pointee = UnsafeMutableRawPointer(bitPattern: 1)
      let declared = MHD_lookup_connection_value(exchange.connection, .HEADER_KIND, "Content-Length")
      // What is said to be long is refused before it comes.
      if let declared, Int(String(cString: declared)).map({ $0 > WebServer.bodyLimit }) ?? true {
        return send(refusal(of: exchange) ?? Self.bodyRefused, over: exchange.connection)
      }
      return .YES
    }
    let received = Int(bitPattern: state) - 1
    if exchange.size.pointee > 0 {
      let sum = received + exchange.size.pointee
      guard sum <= WebServer.bodyLimit else { return .NO }
      exchange.state.pointee = UnsafeMutableRawPointer(bitPattern: sum + 1)
      exchange.size.pointee = 0
      return .YES
    }
    return send(
      refusal(of: exchange) ?? (received > 0 ? Self.bodyRefused : respond(request(of: exchange))),
      over: exchange.connection)
  }

  private func refusal(of exchange: Exchange) -> WebResponse? {
    if ["GET", "HEAD"].contains(String(cString: exchange.method)) { return nil }
    return .text("only GET and HEAD are answered here", status: 405, headers: [("Allow", "GET, HEAD")])
  }

  private static let bodyRefused = WebResponse.text("no body is taken here", status: 413)

  private func request(of exchange: Exchange) -> WebRequest {
    var request = WebRequest(
      method: String(cString: exchange.method), path: String(cString: exchange.path))
    withUnsafeMutablePointer(to: &request) { place in
      _ = MHD_get_connection_values(
        exchange.connection, .HEADER_KIND,
        { place, _, name, value in
          guard let place, let name else { return .YES }
          place.assumingMemoryBound(to: WebRequest.self).pointee.headers
            .append((String(cString: name), value.map { String(cString: $0) } ?? ""))
          return .YES
        }, place)
    }
    return request
  }

  private func send(_ response: WebResponse, over connection: OpaquePointer) -> MHD_Result {
    var body = response.body
    let made = body.withUnsafeMutableBytes {
      MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
    }
    // Closes the connection.
    guard let made else { return .NO }
    defer { MHD_destroy_response(made) }
    for (name, value) in response.headers { MHD_add_response_header(made, name, value) }
    return MHD_queue_response(connection, UInt32(response.status), made)
  }
}
