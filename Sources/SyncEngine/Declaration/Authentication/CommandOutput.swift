#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Runs a program for what it prints.
enum CommandOutput {
  /// What went wrong, as the end of "the command, which …". It never quotes what the program printed.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  static func of(_ words: [String], timeLimit: Duration) -> Result<String, Failure> {
    guard let program = words.first, !program.isEmpty, !words.contains(where: { $0.utf8.contains(0) }) else {
      return .failure(Failure(description: "names no program"))
    }
    var ends: [Int32] = [-1, -1]
    guard openPipe(&ends) else { return .failure(Failure(description: "cannot be started: \(lastError)")) }
    defer { for end in ends where end >= 0 { close(end) } }
    let started: pid_t
    switch start(program, words, output: ends[1]) {
    case .success(let process): started = process
    case .failure(let failure): return .failure(failure)
    }
    close(ends[1])
    ends[1] = -1
    guard let (output, status) = result(of: started, ends[0], until: .now + timeLimit) else {
      kill(started, SIGKILL)
      waitpid(started, nil, 0)
      return .failure(Failure(description: "did not end within \(timeLimit.components.seconds) s"))
    }
    // The low seven bits hold the signal, the next byte the exit status (waitpid(2)).
    if status & 0x7F != 0 { return .failure(Failure(description: "was ended by signal \(status & 0x7F)")) }
    let code = status >> 8 & 0xFF
    guard code == 0 else { return .failure(Failure(description: "ended with status \(code)")) }
    guard output.count <= Secret.sizeLimit else {
      return .failure(Failure(description: "printed more than \(Secret.sizeLimit) bytes"))
    }
    return .success(String(decoding: output, as: UTF8.self))
  }

  /// Both ends are closed in child processes.
  private static func openPipe(_ ends: inout [Int32]) -> Bool {
    pipe(&ends) == 0 && ends.allSatisfy { fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }
  }

  private static func start(_ program: String, _ words: [String], output: Int32) -> Result<pid_t, Failure> {
    #if canImport(Glibc)
      var actions = posix_spawn_file_actions_t()
    #else
      var actions: posix_spawn_file_actions_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    // Connections and pipes of this process are not the program's.
    #if canImport(Glibc)
      // A file that is not open is no error below the limit.
      for file in 3..<min(getdtablesize(), 4096) { posix_spawn_file_actions_addclose(&actions, file) }
    #else
      var attributes: posix_spawnattr_t?
      posix_spawnattr_init(&attributes)
      defer { posix_spawnattr_destroy(&attributes) }
      posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_CLOEXEC_DEFAULT))
    #endif
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    #if canImport(Glibc)
      let code = posix_spawnp(&process, program, &actions, nil, &arguments, environ)
    #else
      let code = posix_spawnp(&process, program, &actions, &attributes, &arguments, environ)
    #endif
    guard code == 0 else {
      return .failure(Failure(description: "cannot be started: \(String(cString: strerror(code)))"))
    }
    return .success(process)
  }

  /// All that a process prints, up to a little more than the limit, and its status; nil at the deadline.
  ///
  /// A child of the process, or one that another thread starts meanwhile, may hold the pipe open: it is not waited for.
  private static func result(
    of process: pid_t, _ file: Int32, until deadline: ContinuousClock.Instant
  ) -> (output: [UInt8], status: Int32)? {
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    var isOpen = true
    var status: Int32?
    while ContinuousClock.now < deadline {
      if isOpen && output.count <= Secret.sizeLimit {
        var wanted = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        if poll(&wanted, 1, status == nil ? 10 : 0) > 0 {
          let count = bytes(file, &buffer, buffer.count)
          if count > 0 { output += buffer[..<count] } else if count == 0 || errno != EINTR { isOpen = false }
          continue
        }
      } else if status == nil {
        usleep(2000)
      }
      if let status { return (output, status) }
      var code: Int32 = 0
      let found = waitpid(process, &code, WNOHANG)
      if found == process { status = code }
      // Where nobody collects children there is no status: what was printed has to do.
      if found < 0 && errno != EINTR { status = 0 }
    }
    return nil
  }

  private static func bytes(_ file: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
    #if canImport(Glibc)
      Glibc.read(file, buffer, count)
    #else
      Darwin.read(file, buffer, count)
    #endif
  }

  private static var lastError: String { String(cString: strerror(errno)) }
}
