import HTTP
import Synchronization

/// Removes secrets from everything that a person may read: by value, in plain and percent-encoded form.
public final class Redactor: Sendable {
  private let values = Mutex<Set<String>>([])

  public init() {}

  /// Text shorter than three characters is not looked for: it would blot out innocent words.
  func add(_ value: String) {
    guard value.count >= 3 else { return }
    values.withLock {
      $0.insert(value)
      $0.insert(percentEncoded(value))
      // As some servers write a slash in JSON.
      $0.insert(value.replacingAll("/", with: "\\/"))
    }
  }

  public func redact(_ text: String) -> String {
    // Longest first: a secret may begin with another one.
    let values = values.withLock { $0 }.sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
    // An excerpt may have cut a secret short: its beginning alone is removed as well.
    return values.reduce(values.reduce(text) { $0.replacingAll($1, with: "***") }) {
      $0.removingStart(of: $1)
    }
  }
}

extension String {
  func replacingAll(_ part: String, with replacement: String) -> String {
    let whole = Array(utf8)
    let part = Array(part.utf8)
    guard !part.isEmpty, whole.count >= part.count else { return self }
    var out: [UInt8] = []
    var index = 0
    while index < whole.count {
      if index + part.count <= whole.count, whole[index..<index + part.count].elementsEqual(part) {
        out.append(contentsOf: replacement.utf8)
        index += part.count
      } else {
        out.append(whole[index])
        index += 1
      }
    }
    return String(decoding: out, as: UTF8.self)
  }
}

extension String {
  /// Replaces what agrees with the first eight or more bytes of a secret of twelve or more.
  fileprivate func removingStart(of secret: String) -> String {
    let (whole, secret) = (Array(utf8), Array(secret.utf8))
    guard secret.count >= 12 else { return self }
    var out: [UInt8] = []
    var index = 0
    while index < whole.count {
      var length = 0
      while length < secret.count, index + length < whole.count, whole[index + length] == secret[length] {
        length += 1
      }
      if length >= 8 {
        out.append(contentsOf: "***".utf8)
        index += length
      } else {
        out.append(whole[index])
        index += 1
      }
    }
    return String(decoding: out, as: UTF8.self)
  }
}
