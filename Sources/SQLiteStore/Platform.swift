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

  /// Opens a file that its owner alone may read and write: a new one, or one that is there. Nil where that is not possible,
  /// and for a file that someone else made or may read.
  static func openPrivateFile(_ path: String, creating: Bool) -> Int32? {
    if creating { unlink(path) }
    let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (creating ? O_CREAT | O_EXCL : 0)
    let file = open(path, flags, 0o600)
    guard file >= 0 else { return nil }
    var information = stat()
    guard fstat(file, &information) == 0, information.st_uid == geteuid(), information.st_nlink == 1,
      information.st_mode & S_IFMT == S_IFREG, information.st_mode & 0o077 == 0
    else {
      close(file)
      if creating { unlink(path) }
      return nil
    }
    return file
  }

  /// Bytes of a file; nil where it has not so many.
  static func read(_ file: Int32, _ count: Int, at position: Int64) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
      while done < count, let base = buffer.baseAddress {
        let got = pread(file, base + done, count - done, off_t(position) + off_t(done))
        if got < 0, errno == EINTR { continue }
        guard got > 0 else { break }
        done += got
      }
    }
    return bytes.count == count ? bytes : nil
  }

  /// Writes two runs of bytes behind each other; false where not all of them could be written.
  static func write(_ file: Int32, _ head: [UInt8], _ body: [UInt8], at position: Int64) -> Bool {
    var position = position
    for bytes in [head, body] {
      var done = 0
      let isWritten = bytes.withUnsafeBytes { buffer in
        while done < buffer.count, let base = buffer.baseAddress {
          let put = pwrite(file, base + done, buffer.count - done, off_t(position) + off_t(done))
          if put < 0, errno == EINTR { continue }
          guard put > 0 else { return false }
          done += put
        }
        return true
      }
      guard isWritten else { return false }
      position += Int64(bytes.count)
    }
    return true
  }

  static func size(_ file: Int32) -> Int64 {
    var information = stat()
    return fstat(file, &information) == 0 ? Int64(information.st_size) : 0
  }

  /// Bytes of a file by its path; 0 where there is none.
  static func size(of path: String) -> Int64 { sizeAndChange(of: path)?.size ?? 0 }

  /// - Returns: bytes, and when they were changed last in milliseconds since 1970; nil for what is no file.
  static func sizeAndChange(of path: String) -> (size: Int64, changed: Int64)? {
    var information = stat()
    guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
    #if canImport(Glibc)
      let changed = information.st_mtim
    #else
      let changed = information.st_mtimespec
    #endif
    return (Int64(information.st_size), Int64(changed.tv_sec) * 1000 + Int64(changed.tv_nsec) / 1_000_000)
  }

  static func isSameFile(_ one: String, _ other: String) -> Bool {
    var (a, b) = (stat(), stat())
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev
  }

  static func isWritable(_ path: String) -> Bool { access(path, W_OK) == 0 }
  static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 }

  /// The names in a folder; none where it cannot be read.
  static func names(in folder: String) -> [String] {
    guard let opened = opendir(folder) else { return [] }
    defer { closedir(opened) }
    var names: [String] = []
    while let entry = readdir(opened) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  static func truncate(_ file: Int32, to size: Int64) { _ = ftruncate(file, off_t(size)) }

  static func remove(_ path: String) { unlink(path) }

  static func close(_ file: Int32) {
    #if canImport(Glibc)
      _ = Glibc.close(file)
    #else
      _ = Darwin.close(file)
    #endif
  }

  /// Whether somebody else has a byte locked.
  static func isLocked(_ file: Int32, byte: Int64) -> Bool {
    var range = flock()
    (range.l_type, range.l_whence, range.l_start, range.l_len) = (
      Int16(F_WRLCK), Int16(SEEK_SET), off_t(byte), 1
    )
    // F_OFD_GETLK
    #if canImport(Glibc)
      let command: Int32 = 36
    #else
      let command: Int32 = 92
    #endif
    return fcntl(file, command, &range) == 0 && range.l_type != Int16(F_UNLCK)
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
