#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What the store asks of the operating system.
enum Platform {
  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  static func isFolder(_ path: String) -> Bool {
    var information = stat()
    return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
  }

  /// The folder of a file; `.` for a bare name.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The file's place without symbolic links, so that two names of one file are one store. The file itself need not
  /// exist.
  static func realPath(_ path: String) -> String {
    func resolve(_ path: String) -> String? {
      guard let real = realpath(path, nil) else { return nil }
      defer { free(real) }
      return String(cString: real)
    }
    if let whole = resolve(path) { return whole }
    let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    return (resolve(folder(of: path)) ?? folder(of: path)) + "/" + name
  }

  static var lastError: String { String(cString: strerror(errno)) }

  static func sleep(milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }

  /// Opens a file for locking, created if absent, closed in child processes. Nil with ``lastError`` set.
  static func openLockFile(_ path: String) -> Int32? {
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    return file >= 0 ? file : nil
  }

  static func close(_ file: Int32) {
    #if canImport(Glibc)
      _ = Glibc.close(file)
    #else
      _ = Darwin.close(file)
    #endif
  }

  enum LockResult { case locked, held, failed }

  /// Locks one byte of an open file until the file is closed or its process ends. The lock belongs to the open file
  /// and not to the process (fcntl(2), open file description locks), so that two runs in one process exclude each
  /// other too.
  static func lock(_ file: Int32, byte: Int64) -> LockResult {
    var range = flock()
    range.l_type = Int16(F_WRLCK)
    range.l_whence = Int16(SEEK_SET)
    range.l_start = off_t(byte)
    range.l_len = 1
    // F_OFD_SETLK: 37 on Linux, 90 on macOS; a macro that not every module map exports.
    #if canImport(Glibc)
      let command: Int32 = 37
    #else
      let command: Int32 = 90
    #endif
    if fcntl(file, command, &range) == 0 { return .locked }
    return errno == EAGAIN || errno == EACCES ? .held : .failed
  }
}
