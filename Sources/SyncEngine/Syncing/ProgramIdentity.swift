#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Which build of the program is running: its declarations may hold closures, which nothing else tells apart.
enum ProgramIdentity {
  /// Device, inode, size and time of the last change of the executable's file. Where that cannot be had, each process
  /// is one of its own.
  static let text: String = {
    #if canImport(Glibc)
      let path = "/proc/self/exe"
    #else
      var length = UInt32(PATH_MAX)
      var buffer = [CChar](repeating: 0, count: Int(length))
      let path =
        _NSGetExecutablePath(&buffer, &length) == 0
        ? String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : ""
    #endif
    var status = stat()
    guard stat(path, &status) == 0 else { return "\(UInt64.random(in: .min ... .max))" }
    #if canImport(Glibc)
      let changed = status.st_ctim
    #else
      let changed = status.st_ctimespec
    #endif
    return "\(status.st_dev) \(status.st_ino) \(status.st_size) \(changed.tv_sec).\(changed.tv_nsec)"
  }()
}
