import Foundation
import TestSupport
import Testing

@testable import SyncCommand

@Suite("A file that may name commands", .fewAtATime)
struct TrustedFileTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/c.json" }

  init() throws {
    folder = try TemporaryFolder()
    chmod(folder.path, 0o755)
    try "{}".write(toFile: path, atomically: false, encoding: .utf8)
    chmod(path, 0o644)
  }

  private func distrust(_ path: String) throws -> String? {
    let (content, distrust) = try TrustedFile.read(path)
    #expect(content == Array("{}".utf8))
    return distrust?.replacing(folder.path, with: "…")
  }

  @Test("the mode of the file and of its folder decide")
  func modes() throws {
    #expect(try distrust(path) == nil)
    chmod(path, 0o664)
    #expect(
      try distrust(path) == "others than its owner may write to …/c.json (mode 664): chmod go-w …/c.json")
    chmod(path, 0o602)
    #expect(try distrust(path)?.hasSuffix("(mode 602): chmod go-w …/c.json") == true)
    chmod(path, 0o400)
    #expect(try distrust(path) == nil)
    chmod(folder.path, 0o775)
    #expect(try distrust(path) == "others than its owner may write to … (mode 775): chmod go-w …")
    chmod(folder.path, 0o1777)
    #expect(try distrust(path) == nil)
  }

  @Test("a link is followed, and what it leads to is judged")
  func links() throws {
    let inner = folder.path + "/a 'b'"
    try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
    let link = inner + "/link.json"
    symlink(path, link)
    chmod(inner, 0o777)
    #expect(try distrust(link) == nil)
    chmod(folder.path, 0o777)
    #expect(try distrust(link)?.hasPrefix("others than its owner may write to …") == true)
    chmod(folder.path, 0o755)
    let file = inner + "/own.json"
    try "{}".write(toFile: file, atomically: false, encoding: .utf8)
    #expect(try distrust(file)?.hasSuffix(#"chmod go-w '…/a '\''b'\'''"#) == true)
  }

  @Test(
    "a file of another user is not trusted", .enabled(if: geteuid() == 0, "only root can give files away"))
  func owner() throws {
    chown(path, 1, 1)
    #expect(
      try distrust(path)
        == "…/c.json belongs to the user 1, who is neither root nor the user who runs this: chown 0 …/c.json")
    chown(path, 0, 0)
    chown(folder.path, 1, 1)
    #expect(try distrust(path)?.hasPrefix("… belongs to the user 1") == true)
  }

  @Test("an access control list that lets others write shows in the mode")
  func accessControlList() throws {
    guard (try? Shell.result(["setfacl", "-m", "u:1:rw", path]))?.status == 0 else { return }
    #expect(try distrust(path)?.contains("(mode 664)") == true)
  }

  @Test("pipes are read and not trusted; what does not end, is too large or no file is an error")
  func others() throws {
    let pipe = folder.path + "/pipe"
    mkfifo(pipe, 0o600)
    let writer = try ChildProcess(["sh", "-c", "printf '{}' > \(pipe)"])
    #expect(
      try distrust(pipe)
        == "…/pipe is no regular file, so anybody may have written it: put its content into a file")
    writer.wait()

    func fault(_ path: String) -> String {
      do throws(TrustedFile.Unreadable) {
        _ = try TrustedFile.read(path, timeLimit: .milliseconds(300))
        return "-"
      } catch { return (error.isAbsent ? "absent: " : "") + "\(error)".replacing(folder.path, with: "…") }
    }
    #expect(fault(pipe) == "the file …/pipe did not end within 300 ms")
    #expect(fault("/dev/zero") == "the file /dev/zero is larger than 1 MB")
    #expect(fault(folder.path) == "the file … is a folder")
    #expect(fault(folder.path + "/no") == "absent: the file …/no cannot be read: No such file or directory")
    #expect(fault(path + "/no") == "the file …/c.json/no cannot be read: Not a directory")
    #expect(fault(path + "\0").hasSuffix("has a zero byte in its name"))
    truncate(path, 1 << 20)
    #expect(fault(path) == "-")
    truncate(path, (1 << 20) + 1)
    #expect(fault(path) == "the file …/c.json is larger than 1 MB")
  }
}
