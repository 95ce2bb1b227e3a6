#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The room on a disk.
package enum DiskSpace {
  /// Bytes that this user may still write into a folder's file system, and its size; nil where it cannot be asked.
  package static func free(in folder: String) -> (free: Int64, size: Int64)? {
    var information = statvfs()
    guard statvfs(folder, &information) == 0 else { return nil }
    let unit = Int64(clamping: information.f_frsize)
    func bytes(_ blocks: some FixedWidthInteger) -> Int64 {
      let product = Int64(clamping: blocks).multipliedReportingOverflow(by: unit)
      return product.overflow ? .max : product.partialValue
    }
    return (bytes(information.f_bavail), bytes(information.f_blocks))
  }

  private static let least: Int64 = 1_000_000_000

  /// - Parameter wanted: bytes that should be free, besides the billion that always should.
  package static func finding(_ subject: String, _ folder: String, wanted: Int64, why: String) -> Finding {
    guard let (free, size) = free(in: folder) else {
      return Finding(
        .warning, subject, "the room in \(folder) cannot be asked for: \(String(cString: strerror(errno)))")
    }
    // A person who reads this may be in another folder.
    let folder = PartialFile.resolved(folder)
    let text = "\(readableSize(free)) free of \(readableSize(size)) in \(folder)"
    if free >= max(least, wanted) { return Finding(.ok, subject, text) }
    let need = wanted > least ? "\(why), \(readableSize(wanted))" : readableSize(least)
    return Finding(
      free < 50_000_000 ? .failure : .warning, subject, "\(text); there should be \(need)",
      advice: "make room, or move to a larger disk: on a full one each run fails, and keeps nothing")
  }
}
