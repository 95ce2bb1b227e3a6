import SyncEngine
import Synchronization

/// The status page of a service, where the configuration asks for one.
final class WatchSite: Sendable {
  private struct Open {
    let address: String
    let token: String?
    let site: ServiceSite
  }

  private let state: ServiceState
  private let open = Mutex<Open?>(nil)

  init(_ state: ServiceState) { self.state = state }

  var isOpen: Bool { open.withLock { $0 != nil } }

  /// Opens, moves or closes the page as the program's configuration says; what stays as it was goes on.
  ///
  /// - Throws: `UsageError` or `WebServerError`; then there is no page.
  func set(_ program: Program) throws {
    let (address, token) = (program.configuration.http, program.siteToken)
    let isSame = open.withLock { $0.map { $0.address == address && $0.token == token } ?? address.isEmpty }
    if isSame { return }
    stop()
    if address.isEmpty { return }
    let site = try ServiceSite(address: address, token: token) { [state] in state.snapshot }
    try site.start()
    open.withLock { $0 = Open(address: address, token: token, site: site) }
  }

  func stop() {
    let site = open.withLock { open in
      defer { open = nil }
      return open?.site
    }
    site?.stop()
  }
}
