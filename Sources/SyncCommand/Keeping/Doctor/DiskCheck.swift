import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The room for rows that do not fit into memory.
enum DiskCheck {
  /// - Parameter storePath: where the store is; a file's size is what a first load may have to keep.
  static func waitingRows(storePath: String) -> [Finding] {
    var information = stat()
    let size = stat(storePath, &information) == 0 ? Int64(information.st_size) : 0
    let folder = RowSpool.File.folder
    guard access(folder, W_OK) == 0 else {
      return [
        Finding(
          .failure, "disk for waiting rows",
          "\(folder) may not be written to: \(String(cString: strerror(errno)))",
          advice: "let TMPDIR name a folder that this user may write to, on a disk with room")
      ]
    }
    return [
      DiskSpace.finding(
        "disk for waiting rows", folder, wanted: size,
        why: "as much as the store takes, for a run that brings all rows anew")
    ]
  }
}
