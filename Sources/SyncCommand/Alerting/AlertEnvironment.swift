/// The variables that a command of the configuration gets: this process's, without those that look as if they were for this
/// process alone.
enum AlertEnvironment {
  /// Left out are credentials by their names, addresses with a password in them (but for proxies), the program's own
  /// `SYNCD_…`, and what a service manager hands to the service itself.
  static func harmless(_ variables: [String: String]) -> [String: String] {
    variables.filter { name, value in
      let name = name.uppercased()
      if name.hasSuffix("_PROXY") { return true }
      return !own.contains { name.hasPrefix($0) } && !credentials.contains { name.contains($0) }
        && !name.hasSuffix("KEY") && !holdsPassword(value)
    }
  }

  private static let own = ["SYNCD_", "NOTIFY_SOCKET", "WATCHDOG_", "LISTEN_", "FDSTORE"]
  private static let credentials = ["TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "APIKEY"]

  /// `postgresql://user:password@host/`
  private static func holdsPassword(_ value: String) -> Bool { value.contains(/:\/\/[^\/@]*:[^\/]*@/) }
}
