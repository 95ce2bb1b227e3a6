import CSystem
import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One run of a program, without a shell: the words reach it as they are.
///
/// The program leads a process group of its own, which ends with it, so that nothing it started stays behind; what has
/// left the group (setsid(1)) is no longer its own. Its error output is thrown away.
package struct CommandRun: Sendable {
  /// The program, looked up in `$PATH`, and its arguments.
  package var words: [String]
  /// After it the program is killed.
  package var timeLimit: Duration
  /// What it reads on its standard input.
  package var input: [UInt8] = []
  /// Its variables; nil: those of this process.
  package var environment: [String: String]?
  /// So many bytes may be printed; with 0 nobody reads what is.
  package var outputLimit = 0

  /// What went wrong, as the end of "the command, which …". It never quotes what the program printed.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  package init(_ words: [String], timeLimit: Duration) { (self.words, self.timeLimit) = (words, timeLimit) }

  /// Runs the program on a thread of its own, and ends it when the task is cancelled.
  ///
  /// - Returns: what it printed.
  package func output() async throws(Failure) -> [UInt8] {
    let stop = Stop()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // Each serial queue has a thread where it needs one, however many others wait.
        DispatchQueue(label: "syncd.command").async {
          continuation.resume(returning: self.result(stop))
        }
      }
    } onCancel: {
      stop.isAsked.store(true, ordering: .relaxed)
    }
    return try result.get()
  }

  /// As ``output()``, on this thread, which waits.
  package func outputBlocking() throws(Failure) -> [UInt8] { try result(Stop()).get() }

  private final class Stop: Sendable {
    let isAsked = Atomic(false)
  }

  private func result(_ stop: Stop) -> Result<[UInt8], Failure> {
    do throws(Failure) { return .success(try run(stop)) } catch { return .failure(error) }
  }

  private func run(_ stop: Stop) throws(Failure) -> [UInt8] {
    guard let program = words.first, !program.isEmpty, !words.contains(where: { $0.utf8.contains(0) }) else {
      throw Failure(description: "names no program")
    }
    var files = OpenFiles()
    let inputFile = try files.input(input)
    var ends: (read: Int32, write: Int32)?
    if outputLimit > 0 { ends = try files.pipe() }
    let process = try start(program, input: inputFile, output: ends?.write)
    if let ends { files.close(ends.write) }

    let end = wait(for: process, ends?.read, stop, until: .now + timeLimit)
    guard let (output, status) = end else {
      throw Failure(
        description: stop.isAsked.load(ordering: .relaxed)
          ? "was ended before it was done" : "did not end within \(timeLimit.components.seconds) s")
    }
    // The low seven bits hold the signal, the next byte the exit status (waitpid(2)).
    if status & 0x7F != 0 { throw Failure(description: "was ended by signal \(status & 0x7F)") }
    let code = status >> 8 & 0xFF
    guard code == 0 else { throw Failure(description: "ended with status \(code)") }
    guard output.count <= outputLimit else {
      throw Failure(description: "printed more than \(outputLimit) bytes")
    }
    return output
  }

  // MARK: The start

  /// Files of one run; all are closed with it, and in child processes.
  private struct OpenFiles: ~Copyable {
    private var files: Set<Int32> = []

    /// A file rather than a pipe: it holds everything at once, and it may be opened again as `/dev/stdin`.
    mutating func input(_ bytes: [UInt8]) throws(Failure) -> Int32? {
      guard !bytes.isEmpty else { return nil }
      let file = csystem_unnamed_file()
      guard file >= 0 else { throw CommandRun.cannotStart(errno) }
      files.insert(file)
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        guard count > 0 || errno == EINTR else { throw CommandRun.cannotStart(errno) }
        rest = rest.dropFirst(max(0, count))
      }
      lseek(file, 0, SEEK_SET)
      return file
    }

    mutating func pipe() throws(Failure) -> (read: Int32, write: Int32) {
      var ends: [Int32] = [-1, -1]
      guard systemPipe(&ends) == 0 else { throw CommandRun.cannotStart(errno) }
      files.formUnion(ends)
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      return (ends[0], ends[1])
    }

    mutating func close(_ file: Int32) { if files.remove(file) != nil { systemClose(file) } }

    deinit { for file in files { systemClose(file) } }
  }

  private static func cannotStart(_ code: Int32) -> Failure {
    Failure(description: "cannot be started: \(String(cString: strerror(code)))")
  }

  private func start(_ program: String, input: Int32?, output: Int32?) throws(Failure) -> pid_t {
    #if canImport(Glibc)
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #else
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (stream, file) in [input, output, nil].enumerated() {
      if let file {
        posix_spawn_file_actions_adddup2(&actions, file, Int32(stream))
      } else {
        posix_spawn_file_actions_addopen(&actions, Int32(stream), "/dev/null", O_RDWR, 0)
      }
    }
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
    // Connections and pipes of this process are not the program's.
    #if canImport(Glibc)
      // A file that is not open is no error below the limit.
      for file in 3..<min(getdtablesize(), 4096) { posix_spawn_file_actions_addclose(&actions, file) }
    #else
      flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
    #endif
    posix_spawnattr_setflags(&attributes, Int16(flags))
    posix_spawnattr_setpgroup(&attributes, 0)
    // What this process ignores, since it hears of it by other ways, a program would ignore too.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2] {
      sigaddset(&signals, signal)
    }
    posix_spawnattr_setsigdefault(&attributes, &signals)

    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = []
    defer { for text in arguments + variables { free(text) } }
    var process: pid_t = 0
    let code: Int32
    if let environment {
      variables = environment.map { strdup("\($0)=\($1)") } + [nil]
      code = posix_spawnp(&process, program, &actions, &attributes, &arguments, &variables)
    } else {
      code = posix_spawnp(&process, program, &actions, &attributes, &arguments, environ)
    }
    guard code == 0 else { throw Self.cannotStart(code) }
    return process
  }

  // MARK: The end

  /// All that a process prints, up to a little more than the limit, and its status; nil at the deadline, or when it is to
  /// stop. Then, too, its group has ended.
  ///
  /// What has left the group may hold the pipe open: it is not waited for.
  private func wait(
    for process: pid_t, _ file: Int32?, _ stop: Stop, until deadline: ContinuousClock.Instant
  ) -> (output: [UInt8], status: Int32)? {
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    var open = file
    var hasEnded = false
    while ContinuousClock.now < deadline, !stop.isAsked.load(ordering: .relaxed) {
      if let file = open, output.count <= outputLimit {
        var wanted = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        if poll(&wanted, 1, hasEnded ? 0 : 10) > 0 {
          let count = read(file, &buffer, buffer.count)
          if count > 0 { output += buffer[..<count] } else if count == 0 || errno != EINTR { open = nil }
          continue
        }
      } else if !hasEnded {
        usleep(5000)
      }
      if hasEnded { return (output, Self.reap(process)) }
      // Its number stays its own, and its group's, until the status is fetched.
      var found = siginfo_t()
      let code = waitid(P_PID, id_t(process), &found, WEXITED | WNOHANG | WNOWAIT)
      // Where nobody collects children, it is not found once it has ended.
      hasEnded = code == 0 ? found.si_signo != 0 : errno != EINTR
      if hasEnded { kill(-process, SIGKILL) }
    }
    kill(-process, SIGKILL)
    _ = Self.reap(process)
    return nil
  }

  /// The status; 0 where nobody collects children: what was printed has to do.
  private static func reap(_ process: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 { if errno != EINTR { return 0 } }
    return status
  }
}

// pipe(2) and close(2), which members of the same name hide.
private func systemPipe(_ ends: UnsafeMutablePointer<Int32>) -> Int32 { pipe(ends) }
private func systemClose(_ file: Int32) { close(file) }
