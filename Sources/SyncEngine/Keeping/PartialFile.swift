#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A file that is written beside another one and takes its place when it is whole: who reads sees the old one or the new
/// one. It goes with this object unless it was put in place.
///
/// It is `FILE-syncd-partial`, for its owner alone, and locked: one that a killed program has left is taken over, one that
/// is being written is not.
package final class PartialFile: Sendable {
  package let path: String
  private let target: String
  private let descriptor: Int32

  /// - Throws: ``StoreError`` that names the folder or file.
  package init(for target: String) throws {
    let name = target.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard !name.isEmpty, name != ".", name != ".." else {
      throw StoreError("\(target.isEmpty ? "an empty name" : target) names no file")
    }
    let real = Self.resolved(target)
    (self.target, path) = (real, real + "-syncd-partial")
    var information = stat()
    if stat(real, &information) == 0, information.st_mode & S_IFMT != S_IFREG {
      throw StoreError("\(target) is no file that could be replaced")
    }
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    let folder = Self.folder(of: real)
    guard descriptor >= 0 else {
      throw StoreError("\(path) cannot be written: \(Self.reason(folder))")
    }
    do { try takeOver() } catch {
      close(descriptor)
      throw error
    }
  }

  private func takeOver() throws {
    var (own, there) = (stat(), stat())
    guard fstat(descriptor, &own) == 0, own.st_mode & S_IFMT == S_IFREG, own.st_uid == geteuid(),
      own.st_nlink == 1,
      fchmod(descriptor, 0o600) == 0
    else { throw StoreError("\(path) is in the way, and is not this user's own file: remove it") }
    var range = flock()
    (range.l_type, range.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
    // Far behind the bytes that SQLite locks (sqlite.org/lockingv3.html).
    (range.l_start, range.l_len) = (off_t(1) << 61, 1)
    // F_OFD_SETLK, which not every module map exports.
    #if canImport(Glibc)
      let command: Int32 = 37
    #else
      let command: Int32 = 90
    #endif
    // A lock on a file that another program has put in place meanwhile is none on the name.
    guard fcntl(descriptor, command, &range) == 0, stat(path, &there) == 0, own.st_ino == there.st_ino,
      own.st_dev == there.st_dev
    else { throw StoreError("another backup to \(target) is under way") }
    guard ftruncate(descriptor, 0) == 0 else {
      throw StoreError("\(path) cannot be written: \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    var (own, there) = (stat(), stat())
    if fstat(descriptor, &own) == 0, stat(path, &there) == 0, own.st_ino == there.st_ino { unlink(path) }
    close(descriptor)
  }

  package var size: Int64 {
    var information = stat()
    return fstat(descriptor, &information) == 0 ? Int64(information.st_size) : 0
  }

  /// Puts the file in its place, on the disk.
  package func putInPlace() throws {
    let folder = Self.folder(of: target)
    guard fsync(descriptor) == 0 else {
      throw StoreError("\(path) cannot be written to the disk: \(Self.reason(folder))")
    }
    guard rename(path, target) == 0 else {
      throw StoreError("\(target) cannot be replaced: \(Self.reason(folder))")
    }
    // The name is on the disk when its folder is (fsync(2)); not every file system can be told.
    let opened = open(folder, O_RDONLY | O_CLOEXEC)
    if opened >= 0 {
      _ = fsync(opened)
      close(opened)
    }
  }

  /// The first bytes of the file that would be replaced; nil where there is none.
  package static func beginning(of path: String, _ count: Int) throws -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if file < 0, errno == ENOENT { return nil }
    guard file >= 0 else {
      throw StoreError("\(path) is there and cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: count)
    let got = read(file, &bytes, count)
    return Array(bytes.prefix(max(0, got)))
  }

  /// Why something in a folder failed, with what a person would look for next.
  package static func reason(_ folder: String) -> String {
    let (code, reason) = (errno, String(cString: strerror(errno)))
    switch code {
    case ENOENT where access(folder, F_OK) != 0: return "there is no folder \(folder)"
    case EACCES, EPERM, EROFS:
      return "\(reason) (the folder \(folder) has to be one that this user may write to)"
    case ENOSPC, EDQUOT:
      let free = DiskSpace.free(in: folder).map { ": \(readableSize($0.free)) free" } ?? ""
      return "\(reason) (the folder \(folder)\(free))"
    default: return reason
    }
  }

  package static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The place that a symbolic link leads to; the path itself where nothing is there.
  static func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }
}
