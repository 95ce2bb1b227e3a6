import HTTP
import SyncEngine

/// Whom an alert is sent to.
enum AlertTarget: Sendable, Hashable {
  /// A program and its arguments; no shell is involved.
  case command([String])
  case webhook(Webhook)

  /// A web address that takes alerts. The address itself is a secret: who knows it may send.
  struct Webhook: Sendable, Hashable {
    /// A text of the configuration, as it is or where it stands.
    enum Text: Sendable, Hashable {
      case plain(String)
      case secret(Secret)
    }

    var url: Text
    /// Fields of the request, by their names.
    var headers: [String: Text] = [:]
  }

  /// Reads the targets of one key:
  ///
  /// ```
  /// ["mail", "-s", "syncd", "ops@example.org"]                                a command
  /// "https://hooks.example/T0/B0"                                             a webhook
  /// "env:HOOK"  "file:/etc/syncd/hook"  "credential:hook"                     a webhook whose address stands elsewhere
  /// { "url": "env:HOOK", "headers": { "Authorization": "env:HOOK_AUTH" } }    with header fields
  /// [["logger", "-t", "syncd"], "env:HOOK"]                                   several
  /// ```
  ///
  /// An empty list is nobody. A list that begins with a webhook or with a list has targets, any other words.
  ///
  /// - Parameter place: where the value stands, for messages.
  /// - Throws: `UsageError`, which quotes no address.
  static func targets(_ value: ConfigurationValue, at place: String) throws -> [AlertTarget] {
    guard case .list(let items) = value else { return [try AlertTarget(value, at: place)] }
    switch items.first {
    case nil: return []
    case .string(let text) where !isWebhook(text): return [try AlertTarget(value, at: place)]
    default:
      return try items.enumerated().map { try AlertTarget($1, at: "\(place), target \($0 + 1),") }
    }
  }

  /// Reads one target.
  ///
  /// - Throws: `UsageError`.
  init(_ value: ConfigurationValue, at place: String) throws {
    switch value {
    case .list(let items):
      let words = items.compactMap { if case .string(let word) = $0 { word } else { nil } }
      guard words.count == items.count, words.first?.isEmpty == false else {
        throw UsageError(
          "\(place) is no command: it has to be a list of texts, the program first, such as [\"logger\", \"-t\", \"syncd\"]"
        )
      }
      guard !words.contains(where: { $0.utf8.contains(0) }) else {
        throw UsageError("\(place) has a zero byte in a word of its command")
      }
      self = .command(words)
    case .string(let text): self = .webhook(Webhook(url: try Self.url(text, at: place)))
    case .object(let members):
      let keys = ["url", "headers"]
      for key in members.keys.sorted() where !keys.contains(key) {
        throw UsageError(
          "\(place) has an unknown key \"\(key)\"\(hint(key, among: keys)); there are \(keys.joined(separator: ", "))"
        )
      }
      guard case .string(let url)? = members["url"] else {
        throw UsageError("\(place) needs a \"url\", which has to be a text")
      }
      var webhook = Webhook(url: try Self.url(url, at: "\(place) \"url\""))
      if let headers = members["headers"] { webhook.headers = try Self.headers(headers, at: place) }
      self = .webhook(webhook)
    default:
      throw UsageError(
        "\(place) has to be a command (a list of texts), a webhook (a text, or an object with a \"url\"), or a list of these"
      )
    }
  }

  private static func isWebhook(_ text: String) -> Bool {
    let start = text.prefix(8).lowercased()
    return start.hasPrefix("https://") || start.hasPrefix("http://") || Secret.referenceKind(of: text) != nil
  }

  private static func url(_ text: String, at place: String) throws -> Webhook.Text {
    guard isWebhook(text) else {
      throw UsageError(
        "\(place) is no webhook: that begins with https://, or with env:, file: or credential: for an address that stands elsewhere; a command is a list of its words"
      )
    }
    switch Secret.referenceKind(of: text) {
    case nil:
      do { _ = try HTTPURL(text) } catch {
        throw UsageError("\(place) is not a usable address: \(error.reason)")
      }
      return .plain(text)
    case .command:
      throw UsageError("\(place) begins with command:, but a command that is to run is a list of its words")
    default:
      do { return .secret(try Secret(reference: text)) } catch {
        throw UsageError("\(place): \(error.message)")
      }
    }
  }

  private static func headers(
    _ value: ConfigurationValue, at place: String
  ) throws -> [String: Webhook.Text] {
    guard case .object(let members) = value else {
      throw UsageError("\(place) \"headers\" has to be an object")
    }
    var headers: [String: Webhook.Text] = [:]
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      guard case .string(let text) = value else {
        throw UsageError("\(place) \"headers\", \"\(name)\" has to be a text")
      }
      do {
        if Secret.referenceKind(of: text) == nil {
          try HTTPHeaders([(name, text)]).check()
          headers[name] = .plain(text)
        } else {
          try HTTPHeaders([(name, "")]).check()
          headers[name] = .secret(try Secret(reference: text))
        }
      } catch let error as HTTPError {
        throw UsageError("\(place) \"headers\": \(error.message)")
      } catch let error as DeclarationError {
        throw UsageError("\(place) \"headers\", \"\(name)\": \(error.message)")
      }
    }
    return headers
  }

  /// Whether a program is run: then the file that says so has to be trusted (``TrustedFile``).
  var runsCommand: Bool {
    switch self {
    case .command: true
    case .webhook(let webhook): webhook.secrets.contains(where: \.runsCommand)
    }
  }
}

extension AlertTarget: CustomStringConvertible {
  /// Without arguments and without what is behind an address's host: both may say more than a message should.
  var description: String {
    switch self {
    case .command(let words): "the command \"\(words.first ?? "")\""
    case .webhook(let webhook): webhook.description
    }
  }
}

extension AlertTarget.Webhook: CustomStringConvertible {
  var description: String {
    switch url {
    case .plain(let text):
      "the webhook at \((try? HTTPURL(text))?.origin.description ?? "an unusable address")"
    case .secret(let secret): "the webhook of the \(secret)"
    }
  }

  var secrets: [Secret] {
    ([url] + headers.values).compactMap { if case .secret(let secret) = $0 { secret } else { nil } }
  }
}

extension AlertTarget.Webhook.Text {
  /// - Throws: `DeclarationError` where a secret has no value.
  func resolved() async throws(DeclarationError) -> String {
    switch self {
    case .plain(let text): text
    case .secret(let secret): try await secret.resolved()
    }
  }
}
