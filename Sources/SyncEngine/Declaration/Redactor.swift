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
    return values.reduce(text) { $0.replacingAll($1, with: "***") }
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
