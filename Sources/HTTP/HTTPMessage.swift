import CCurl

/// One request as it goes over the wire.
public struct HTTPRequest: Sendable {
  public var method: String
  public var url: HTTPURL
  public var headers: HTTPHeaders
  public var body: [UInt8]?
  /// Files for TLS besides those of the system.
  public var tls: TLSFiles?
  /// Whether only public addresses may be connected to: for addresses that a source chose.
  public var connectsToPublicOnly = false

  public init(_ method: String = "GET", url: HTTPURL, headers: HTTPHeaders = [:], body: [UInt8]? = nil) {
    (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
  }
}

/// Files in PEM form that a TLS connection is made with.
public struct TLSFiles: Sendable, Hashable {
  /// The client's certificate, with those between it and its authority behind it.
  public var certificate: String?
  /// The certificate's private key; nil where it stands in the same file.
  public var key: String?
  public var keyPassword: String?
  /// The authorities that may vouch for the server, in place of the system's.
  public var authority: String?

  public init(
    certificate: String? = nil, key: String? = nil, keyPassword: String? = nil, authority: String? = nil
  ) {
    (self.certificate, self.key, self.keyPassword, self.authority) = (
      certificate, key, keyPassword, authority
    )
  }
}

/// One answer: any status, with its body as sent (``Transport``) or decoded (``HTTPClient``).
public struct HTTPResponse: Sendable {
  public var status: Int
  public var headers: HTTPHeaders
  public var body: [UInt8]
  /// Where the answer came from, without what authentication added to the address.
  public var url: HTTPURL
  /// Bytes of the body as they came over the wire.
  public var bytesReceived: Int
  /// Whether the body's end was told, so that a body cut short would have been noticed: by its length, or by chunks
  /// or frames (RFC 9112 §6.3, RFC 9113 §8.1). Otherwise it ended with the connection. A content encoding tells nothing:
  /// another gzip member or zstd frame may have followed.
  public var isEndKnown: Bool
  /// How many attempts were made in all.
  public var attempts = 1
  /// A wait that the server asked for and that ``RetryPolicy/longestWait`` does not allow.
  public var refusedWait: Duration?
  /// How long the last attempt took, from its turn to its last byte.
  public var duration = Duration.zero

  /// The server's clock, in milliseconds since 1970; nil where the Date field is absent or cannot be read.
  public var date: Int64? {
    guard let seconds = headers["Date"].map({ curl_getdate($0, nil) }), seconds >= 0 else { return nil }
    return Int64(seconds) * 1000
  }

  public init(status: Int, headers: HTTPHeaders, body: [UInt8], url: HTTPURL) {
    (self.status, self.headers, self.body, self.url) = (status, headers, body, url)
    bytesReceived = body.count
    let codings = headers["Transfer-Encoding"]?.lowercased().split(separator: ",").map(\.trimmingBlanks)
    isEndKnown = codings?.last.map { $0 == "chunked" } ?? (headers["Content-Length"] != nil)
  }
}

/// Bounds of one request. Every wait of a request ends by one of them.
public struct HTTPLimits: Sendable, Hashable {
  /// Time to connect, TLS included.
  public var connect: Duration
  /// Longest time without a byte of the body or a whole header field, from the request on.
  public var idle: Duration
  /// Time for the whole answer.
  public var total: Duration
  /// Size of a body in bytes, as sent and after its content encoding is undone.
  public var body: Int

  public init(
    connect: Duration = .seconds(10), idle: Duration = .seconds(30), total: Duration = .seconds(300),
    body: Int = 256 << 20
  ) {
    (self.connect, self.idle, self.total, self.body) = (connect, idle, total, body)
  }
}
