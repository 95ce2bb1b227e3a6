#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif
import HTTP

extension Authentication {
  /// What a signature may use: the request as it is going to be sent, with what stands before in the list of
  /// authentications.
  public struct Signing: Sendable {
    /// Unix time in seconds, of this attempt.
    public let timestamp: Int
    /// The values of the declared secrets, in the order of the declaration.
    public let secrets: [String]
    /// Upper case.
    public let method: String
    /// Host, and port where it is not the scheme's own, as the Host field has it.
    public let host: String
    /// From the first slash up to the query, percent-encoded as sent; `/` where the address has none.
    public let path: String
    /// Behind the question mark, percent-encoded as sent; empty if there is none.
    public let query: String
    /// Header fields by lower-case name.
    public let headers: [String: String]
    /// Empty if there is none.
    public let body: [UInt8]

    /// This attempt's time as a Date field has it (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var httpDate: String {
      let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
      let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
      let time = CivilTime(timestamp)
      return
        "\(days[time.weekday]), \(time.day) \(months[time.monthNumber - 1]) \(time.year) \(time.hour):\(time.minute):\(time.second) GMT"
    }

    init(_ request: HTTPRequest, secrets: [String], at timestamp: Int) {
      (self.timestamp, self.secrets, method) = (timestamp, secrets, request.method)
      host = request.url.hostField
      (path, query) = request.url.target
      headers = Dictionary(
        request.headers.fields.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { "\($0), \($1)" })
      body = request.body ?? []
    }
  }

  /// Whatever an API asks for, computed from the time, the request and the secrets.
  ///
  /// ```swift
  /// .signed(using: .environment("MARVEL_PUBLIC_KEY"), .environment("MARVEL_PRIVATE_KEY")) { signing in
  ///   let (ts, open, hidden) = ("\(signing.timestamp)", signing.secrets[0], signing.secrets[1])
  ///   return [.query("ts", ts), .query("apikey", open), .query("hash", Digest.md5(ts + hidden + open))]
  /// }
  ///
  /// .signed(using: .environment("SHOP_KEY")) { signing in
  ///   let text = [signing.method, signing.path, signing.query, Digest.hash(.sha256, signing.body)]
  ///   return [
  ///     .header("X-Signature", Digest.hmac(.sha256, text.joined(separator: "\n"), key: signing.secrets[0]))
  ///   ]
  /// }
  /// ```
  public static func signed(
    using secrets: Secret..., additions: @escaping @Sendable (Signing) -> [Addition]
  ) -> Authentication {
    Authentication(.additions(secrets, additions))
  }
}

extension HTTPURL {
  /// What libcurl sends as the Host field.
  var hostField: String { String(origin.description.dropFirst(origin.scheme.count + 3)) }

  /// Path and query as sent; the path is `/` where there is none.
  var target: (path: String, query: String) {
    let whole = string.utf8.dropFirst(origin.scheme.utf8.count + 3).prefix { $0 != UInt8(ascii: "#") }
    let behind = whole.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    let path = behind.prefix { $0 != UInt8(ascii: "?") }
    return (
      path.isEmpty ? "/" : String(Substring(path)), String(Substring(behind[path.endIndex...].dropFirst()))
    )
  }
}

/// A time of UTC in fields of two digits.
struct CivilTime {
  let year: String, month: String, day: String, hour: String, minute: String, second: String
  let weekday: Int, monthNumber: Int

  /// - Parameter timestamp: seconds since 1970.
  init(_ timestamp: Int) {
    var seconds = time_t(timestamp)
    var fields = tm()
    gmtime_r(&seconds, &fields)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    (year, month, day) = ("\(fields.tm_year + 1900)", two(fields.tm_mon + 1), two(fields.tm_mday))
    (hour, minute, second) = (two(fields.tm_hour), two(fields.tm_min), two(fields.tm_sec))
    (weekday, monthNumber) = (Int(fields.tm_wday), Int(fields.tm_mon) + 1)
  }
}
