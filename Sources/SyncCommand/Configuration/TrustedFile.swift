#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A file that may name commands only where nobody can have put them there but its user and root.
enum TrustedFile {
  /// Bytes.
  static let sizeLimit = 1 << 20

  struct Unreadable: Error, CustomStringConvertible {
    let path: String
    /// As the end of "the file … ".
    let reason: String
    let isAbsent: Bool
    var description: String { "the file \(path) \(reason)" }
  }

  /// Reads a file, and judges the very file that was opened, not what has its name by then. Symbolic links are followed.
  ///
  /// Pipes, such as those of a shell's `<(…)`, are read until they end, and not trusted.
  ///
  /// - Parameter timeLimit: for what is no regular file, and may never end.
  /// - Returns: the content, and why no command of it may be run, with what to do; nil where any may.
  /// - Throws: ``Unreadable``.
  static func read(
    _ path: String, timeLimit: Duration = .seconds(5)
  ) throws(Unreadable) -> (content: [UInt8], distrust: String?) {
    func fault(_ reason: String, isAbsent: Bool = false) -> Unreadable {
      Unreadable(path: path, reason: reason, isAbsent: isAbsent)
    }
    guard !path.utf8.contains(0) else { throw fault("has a zero byte in its name") }
    // Without waiting for a pipe's other end, and without taking over a terminal.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else {
      let code = errno
      throw fault("cannot be read: \(String(cString: strerror(code)))", isAbsent: code == ENOENT)
    }
    defer { close(file) }
    var information = stat()
    guard fstat(file, &information) == 0 else { throw fault("cannot be read: \(lastError)") }
    guard information.st_mode & S_IFMT != S_IFDIR else { throw fault("is a folder") }

    let distrust = distrust(of: path, information)
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let deadline = ContinuousClock.now + timeLimit
    while content.count <= sizeLimit {
      guard ContinuousClock.now < deadline else { throw fault("did not end within \(timeLimit.readable)") }
      var wanted = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
      if poll(&wanted, 1, 50) == 0 { continue }
      let count = systemRead(file, &buffer, buffer.count)
      if count == 0 { return (content, distrust) }
      if count > 0 {
        content += buffer[..<count]
      } else if errno != EINTR && errno != EAGAIN {
        throw fault("cannot be read: \(lastError)")
      }
    }
    throw fault("is larger than \(sizeLimit >> 20) MB")
  }

  /// The mode tells all: where a file has an access control list, the mode's group bits are its mask, so that without the
  /// group's write bit no entry for another user or group can give that right (acl(5)).
  private static func distrust(of path: String, _ file: stat) -> String? {
    guard file.st_mode & S_IFMT == S_IFREG else {
      return "\(path) is no regular file, so anybody may have written it: put its content into a file"
    }
    if let reason = distrust(path, owner: file.st_uid, mode: file.st_mode) { return reason }
    // The folder of the file itself, not of a link to it.
    var (target, folder) = (stat(), stat())
    guard let real = realpath(path, nil) else { return "\(path) has gone: \(lastError)" }
    defer { free(real) }
    let name = String(cString: real)
    let slash = name.lastIndex(of: "/") ?? name.startIndex
    let parent = slash == name.startIndex ? "/" : String(name[..<slash])
    guard stat(name, &target) == 0, stat(parent, &folder) == 0, target.st_dev == file.st_dev,
      target.st_ino == file.st_ino
    else { return "\(path) was replaced while it was read: start again" }
    // Others may not replace files in a sticky folder, such as /tmp (unlink(2)).
    let mode = folder.st_mode & S_ISVTX == 0 ? folder.st_mode : 0
    return distrust(parent, owner: folder.st_uid, mode: mode)
  }

  private static func distrust(_ path: String, owner: uid_t, mode: mode_t) -> String? {
    guard owner == geteuid() || owner == 0 else {
      return "\(path) belongs to the user \(owner), who is neither root nor the user who runs this: "
        + "chown \(geteuid()) \(quoted(path))"
    }
    guard mode & 0o022 == 0 else {
      return "others than its owner may write to \(path) (mode \(String(mode & 0o7777, radix: 8))): "
        + "chmod go-w \(quoted(path))"
    }
    return nil
  }

  /// A word as a shell takes it.
  private static func quoted(_ word: String) -> String {
    let isPlain = word.unicodeScalars.allSatisfy {
      $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0))
        || "/._-+@%:,".unicodeScalars.contains($0)
    }
    return isPlain ? word : "'\(word.replacing("'", with: #"'\''"#))'"
  }

  private static var lastError: String { String(cString: strerror(errno)) }
}

/// read(2), which ``TrustedFile/read(_:timeLimit:)`` hides.
private func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(file, bytes, count)
}
