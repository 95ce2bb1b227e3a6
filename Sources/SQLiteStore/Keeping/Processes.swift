#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Who has a file open, as far as this system and this user's rights tell: on Linux, by /proc (proc(5)).
struct Processes: CustomStringConvertible {
  let number: Int32
  let name: String
  /// Bytes of the file that it has locked by ``Platform/lock(_:byte:)``.
  let lockedBytes: [Int64]

  var isSelf: Bool { number == getpid() }
  var description: String { "process \(number), \(name)" }

  /// - Parameter path: without symbolic links.
  static func holding(_ path: String) -> [Processes] {
    Platform.names(in: "/proc").compactMap { Int32($0) }.compactMap { number in
      let folder = "/proc/\(number)"
      let files = Platform.names(in: folder + "/fd").filter { link(folder + "/fd/" + $0) == path }
      if files.isEmpty { return nil }
      let locks = files.flatMap { lockedBytes(in: text(folder + "/fdinfo/" + $0)) }
      let name = text(folder + "/comm").split(separator: "\n").first.map(String.init) ?? "?"
      return Processes(number: number, name: name, lockedBytes: locks)
    }.sorted { $0.number < $1.number }
  }

  /// `lock:  1: OFDLCK  ADVISORY  WRITE -1 fe:00:1310 42 42`
  private static func lockedBytes(in information: String) -> [Int64] {
    information.split(separator: "\n").filter { $0.hasPrefix("lock:") && $0.contains("OFDLCK") }
      .compactMap { $0.split(separator: " ").dropLast().last.flatMap { Int64($0) } }
  }

  private static func link(_ path: String) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &bytes, bytes.count)
    return count < 0 ? nil : String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func text(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 8192)
    return String(decoding: bytes.prefix(fread(&bytes, 1, bytes.count, file)), as: UTF8.self)
  }
}
