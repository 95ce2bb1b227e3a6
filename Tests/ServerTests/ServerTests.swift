import Testing

/// Follows servers that nobody of this package wrote.
@Suite("Real servers", .serialized, .enabled(if: RealServer.areInstalled))
struct ServerTests {}
