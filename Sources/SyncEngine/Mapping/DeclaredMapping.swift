import Synchronization

extension Record {
  /// The mapping, as it was when it was asked for first. To put one together costs a look-up of types for each statement,
  /// and a program asks for it often.
  static var declaredMapping: Mapping<Self> {
    let id = ObjectIdentifier(Self.self)
    if let known = declaredMappings.withLock({ $0[id] }) as? Mapping<Self> { return known }
    let made = mapping
    declaredMappings.withLock { $0[id] = made }
    return made
  }
}

/// By the record's type.
private let declaredMappings = Mutex<[ObjectIdentifier: any Sendable]>([:])
