import FoundationEssentials

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What this process takes of the machine; nil for what the system does not tell in `/proc` (proc(5)).
struct ProcessUse {
  /// Seconds, of all threads, by the user and for it.
  var processorTime: Double
  /// Bytes.
  var residentMemory: Double?
  /// Bytes.
  var virtualMemory: Double?
  var threads: Double?
  var openFiles: Double?
  var openFilesLimit: Double

  init() {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    processorTime = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    openFilesLimit = Double(getdtablesize())
    // The folder is open itself while it is read.
    openFiles = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map {
      Double($0.count - 1)
    }
    // The name, in brackets, may have blanks; the rest is from the third field on.
    guard let data = FileManager.default.contents(atPath: "/proc/self/stat") else { return }
    let text = String(decoding: data, as: UTF8.self)
    let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ").dropFirst().map {
      Double($0)
    }
    guard fields.count > 21 else { return }
    (threads, virtualMemory) = (fields[17], fields[20])
    residentMemory = fields[21].map { $0 * Double(getpagesize()) }
  }
}
