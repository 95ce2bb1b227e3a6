import SyncEngine

/// What `watch` needs besides its entities: an address to listen on, a token, and whom to alert.
enum ServiceCheck {
  static func run(_ configuration: Configuration) async -> [Finding] {
    var findings: [Finding] = []
    if !configuration.http.isEmpty {
      do {
        let token = try await configuration.httpToken?.resolved()
        _ = try SiteAccess(ListenAddress(configuration.http), token: token)
        findings.append(Finding(.ok, "status page", "it may listen on \(configuration.http)"))
      } catch {
        findings.append(
          Finding(
            .failure, "status page", (error as? DeclarationError)?.message ?? "\(error)",
            advice: "correct \"http\" and \"http_token\": until then 'watch' does not start"))
      }
    }
    if !configuration.alerts.isEmpty {
      do {
        try await configuration.alerts.check()
        findings.append(Finding(.ok, "alerts", "all that they need is there"))
      } catch {
        findings.append(
          Finding(
            .failure, "alerts", "\(error)",
            advice:
              "correct it in the configuration, or set what it refers to: until then 'watch' does not start"))
      }
    }
    return findings
  }
}
