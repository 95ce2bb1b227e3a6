import Foundation

/// The variables that unit tests read.
///
/// They are set together, once, before the first of the programs that tests start: nothing may read the environment
/// while it changes (setenv(3)), and starting a program reads all of it.
public enum TestEnvironment {
  public static func prepare() { isSet }

  /// As it was when the variables had been set, without what is said to the tests alone.
  public static var variables: [String: String] { isSet; return copy }

  private static let copy = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SYNCD_TEST_") }

  private static let isSet: Void = {
    let values = [
      "PROBE_USER": "u", "PROBE_PASSWORD": "a/b+c=d e", "PROBE_GUARD": "hidden\"7/\n",
      "PROBE_TOKEN": "token 1\r\n\n", "PROBE_BLANK": "\n", "NOT_MODIFIED_KEY": "s3cret/key+1",
    ]
    for (name, value) in values { setenv(name, value, 1) }
  }()
}
