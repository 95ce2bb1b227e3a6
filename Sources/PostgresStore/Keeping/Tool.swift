import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Runs a program of PostgreSQL to its end.
enum Tool {
  enum End {
    case ended(Int32, errors: String)
    case signalled(Int32, errors: String)
    /// There is none of that name on the PATH.
    case absent
  }

  /// Of what a program says the last is worth keeping.
  private static let most = 16 << 10

  /// - Parameter environment: variables besides those of this process.
  /// - Throws: `CancellationError`, when the program has ended; ``StoreError`` where it cannot be started.
  static func run(
    _ words: [String], environment: [String: String], _ cancellation: Cancellation
  ) throws -> End {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
      throw StoreError("\(words[0]) cannot be started: \(String(cString: strerror(errno)))")
    }
    defer { close(ends[0]) }
    let process: pid_t
    do {
      defer { close(ends[1]) }
      switch start(words, environment, errors: ends[1]) {
      case .success(let started): process = started
      case .failure(let failure) where failure.code == ENOENT: return .absent
      case .failure(let failure):
        throw StoreError("\(words[0]) cannot be started: \(String(cString: strerror(failure.code)))")
      }
    }
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    var errors: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    var isTold = false
    while true {
      if cancellation.isCancelled, !isTold {
        isTold = true
        kill(process, SIGTERM)
      }
      var event = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
      let isReady = poll(&event, 1, 50) > 0
      var count = isReady ? read(ends[0], &buffer, buffer.count) : 0
      while count > 0 {
        errors = (errors + buffer[..<count]).suffix(most)
        count = read(ends[0], &buffer, buffer.count)
      }
      var code: Int32 = 0
      let found = waitpid(process, &code, WNOHANG)
      if found == 0 || (found < 0 && errno == EINTR) {
        // The pipe is closed before the process ends.
        if isReady, count == 0 { usleep(2000) }
        continue
      }
      try cancellation.check()
      let text = String(decoding: errors, as: UTF8.self)
      // The low seven bits hold the signal, the next byte the exit status (waitpid(2)).
      return code & 0x7F == 0 ? .ended(code >> 8 & 0xFF, errors: text) : .signalled(code & 0x7F, errors: text)
    }
  }

  private struct Failure: Error { let code: Int32 }

  private static func start(
    _ words: [String], _ environment: [String: String], errors: Int32
  ) -> Result<pid_t, Failure> {
    #if canImport(Glibc)
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #else
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, errors, 2)
    // The store's connection and files are not the program's.
    #if canImport(Glibc)
      // A file that is not open is no error below the limit.
      for file in 3..<min(getdtablesize(), 4096) { posix_spawn_file_actions_addclose(&actions, file) }
      var flags: Int16 = 0
    #else
      var flags = Int16(POSIX_SPAWN_CLOEXEC_DEFAULT)
    #endif
    // This process takes signals in its own way, which is not the program's: it would not hear of the end.
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGPIPE] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    flags |= Int16(POSIX_SPAWN_SETSIGDEF)
    posix_spawnattr_setflags(&attributes, flags)

    var variables: [String: String] = environment
    var entry = environ
    while let text = entry.pointee {
      let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2, variables[String(parts[0])] == nil {
        variables[String(parts[0])] = String(parts[1])
      }
      entry += 1
    }
    // What it says is passed on, and in English what to look for.
    variables["LC_MESSAGES"] = "C"
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var values: [UnsafeMutablePointer<CChar>?] = variables.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in arguments + values { free(text) } }
    var process: pid_t = 0
    let code = posix_spawnp(&process, words[0], &actions, &attributes, &arguments, &values)
    return code == 0 ? .success(process) : .failure(Failure(code: code))
  }
}
