import Foundation
import TestSupport
import Testing

@Suite("The set-up of two workers in the README and in the documentation")
struct ReadmeTests {
  @Test(
    "each line as it stands there: two workers share what there is to do, and status shows both",
    arguments: [("README.md", "## More than one machine"), (Self.article, "## Overview")])
  func twoWorkers(file: String, heading: String) throws {
    let lines = try Self.commands(in: file, under: heading)
    #expect(lines.count < 20, "\(lines)")
    let server = try PostgresServer()
    let place = try #require(URLComponents(string: server.url))
    let answers = try AnswerServer([WatchProcess.books])
    let folder = try TemporaryFolder()
    // What is said about one's own machines: where the server is, where the program is, and a shorter wait for the reader.
    let environment = TestEnvironment.variables.merging([
      "PGHOST": place.host ?? "", "PGPORT": "\(place.port ?? 0)", "PGUSER": place.user ?? "",
      "PATH": (Shell.product("syncd") as NSString).deletingLastPathComponent + ":"
        + (TestEnvironment.variables["PATH"] ?? ""),
      "SYNCD_API_LIBRARY_URL": answers.base + "/", "SYNCD_INTERVAL": "300ms",
    ]) { $1 }

    // A shell for each machine, with the lines that it runs.
    var exports = ""
    var workers: [ChildProcess] = []
    var statuses = 0
    for line in lines {
      if line.hasPrefix("export ") {
        exports = line
      } else if line.contains(" watch ") {
        workers.append(
          try ChildProcess(
            ["bash", "-c", "\(exports)\nexec \(line)"], environment: environment, directory: folder.path))
      } else if line.contains(" status") {
        statuses += 1
        var shown = ""
        let deadline = ContinuousClock.now + .seconds(60)
        let isThere = {
          ["one", "two", "5  ", "book"].allSatisfy(shown.contains) && shown.contains("UNITS OF")
        }
        while !isThere(), ContinuousClock.now < deadline {
          shown = try Shell.result(
            ["bash", "-c", "\(exports)\n\(line)"], environment: environment, directory: folder.path
          ).output
        }
        #expect(isThere(), "\(shown)")
        print("readme: \(file)\n\(shown)")
      } else {
        let result = try Shell.result(
          ["bash", "-c", "\(exports)\n\(line)"], environment: environment, directory: folder.path)
        #expect(result.status == 0, "\(line): \(result)")
      }
    }
    #expect((workers.count, statuses) == (2, 1), "\(lines)")
    for worker in workers {
      worker.send(SIGTERM)
      #expect(worker.wait() == 0)
    }
    #expect(
      try PostgresSession(Postgres.url(server.url, database: "library")).rows(
        "SELECT count(DISTINCT title) FROM book") == "5")
  }

  private static let article = "Sources/SyncCommand/SyncCommand.docc/SharingWork.md"

  /// The commands of the first console block behind a heading, without what they print and what is said of them.
  private static func commands(in file: String, under heading: String) throws -> [String] {
    let text = try String(contentsOfFile: Repository.root + "/" + file, encoding: .utf8)
    let section = try #require(text.components(separatedBy: "\n\(heading)\n").last)
    let parts = section.components(separatedBy: "```")
    let block = try #require(parts.count > 2 ? parts[1] : nil)
    return block.split(separator: "\n").filter { $0.hasPrefix("$ ") }.map {
      String($0.dropFirst(2)).components(separatedBy: "   #")[0]
    }
  }
}
