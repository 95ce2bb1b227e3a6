import Synchronization

/// Mappings that an engine has asked for. To put one together costs a look-up of types for each statement, and what a plan is
/// made of asks for it a dozen times.
final class DeclaredMappings: Sendable {
  /// Those of the engine that makes a plan.
  @TaskLocal static var current: DeclaredMappings?

  /// By the record's type.
  private let known = Mutex<[ObjectIdentifier: any Sendable]>([:])

  fileprivate func mapping<R: Record>(of record: R.Type) -> Mapping<R> {
    let id = ObjectIdentifier(record)
    if let mapping = known.withLock({ $0[id] }) as? Mapping<R> { return mapping }
    let mapping = R.mapping
    known.withLock { $0[id] = mapping }
    return mapping
  }
}

extension Record {
  /// The mapping; while a plan is made, as it was when the engine asked for it first.
  static var declaredMapping: Mapping<Self> { DeclaredMappings.current?.mapping(of: Self.self) ?? mapping }
}
