/// What a person is told of.
enum AlertEvent: String, Sendable, Hashable, CaseIterable {
  /// An entity begins to fail.
  case failure
  /// An entity that failed or was refused is in sync again.
  case recovery
  /// The guard refused deletions: a person decides.
  case `guard`

  /// The key of its targets in the configuration.
  var key: String { "on_\(rawValue)" }
}
