import HTTP
import SyncEngine

/// Whom each event is told to.
///
/// ```
/// "on_failure": ["mail", "-s", "syncd", "ops@example.org"],
/// "on_recovery": "env:HOOK",
/// "on_guard": [["mail", "-s", "syncd", "ops@example.org"], "env:HOOK"]
/// ```
struct AlertPlan: Sendable, Hashable {
  private var targets: [AlertEvent: [AlertTarget]] = [:]

  /// The configuration's keys.
  static let keys = AlertEvent.allCases.map(\.key)

  init() {}

  subscript(event: AlertEvent) -> [AlertTarget] { targets[event] ?? [] }

  /// Replaces the targets of a key.
  ///
  /// - Parameters:
  ///   - key: one of ``keys``.
  ///   - place: where the value stands, for messages: `syncd.json: "on_failure"`.
  /// - Throws: `UsageError`.
  mutating func set(_ key: String, to value: ConfigurationValue, at place: String) throws {
    guard let event = AlertEvent.allCases.first(where: { $0.key == key }) else {
      throw UsageError("\(place) is no event; there are \(Self.keys.joined(separator: ", "))")
    }
    targets[event] = try AlertTarget.targets(value, at: place)
  }

  var isEmpty: Bool { targets.values.allSatisfy(\.isEmpty) }

  /// Whether a program is run for any of it: then the file that says so has to be trusted (``TrustedFile``).
  var runsCommands: Bool { targets.values.joined().contains(where: \.runsCommand) }

  /// Reads each secret once, so that one that is missing is told of at the start and not in the night that it is needed.
  ///
  /// - Throws: `UsageError`.
  func check() async throws {
    for event in AlertEvent.allCases {
      for case .webhook(let webhook) in self[event] {
        do {
          for header in webhook.headers.values { _ = try await header.resolved() }
          _ = try HTTPURL(await webhook.url.resolved())
        } catch let error as HTTPURL.Invalid {
          throw UsageError("\(event.key): the address of \(webhook) is not usable: \(error.reason)")
        } catch {
          throw UsageError("\(event.key): \((error as? DeclarationError)?.message ?? "\(error)")")
        }
      }
    }
  }
}
