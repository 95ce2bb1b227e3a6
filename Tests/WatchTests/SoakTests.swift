import Foundation
import TestSupport
import Testing

/// Months in a minute: thousands of cycles over several entities, with faults that come and go.
@Suite("Soak", .timeLimit(.minutes(30)))
struct SoakTests {
  private struct Sample {
    var cycles: Int
    /// Kilobytes.
    var memory: Int
    var descriptors: Int
    var threads: Int
    /// Bytes.
    var log: Int
  }

  /// 600 cycles, or 5,000 in a long run.
  private static let cycles = ProcessInfo.processInfo.environment["SYNCD_TEST_LONG"] == nil ? 600 : 5000

  @Test("memory, descriptors, threads and the store's log stay flat")
  func flat() throws {
    let fixtures = Repository.root + "/Tests/Fixtures"
    let good = [
      WatchProcess.books, Route("/posts", file: fixtures + "/posts/posts.json"),
      Route("/posts/1/comments", file: fixtures + "/posts/comments-1.json"),
      Route("/posts/2/comments", body: "[]"), Route("/posts/3/comments", body: "[]"),
      Route("/posts/4/comments", body: "[]"),
    ]
    let watch = try WatchProcess(good)
    let port = try freePort()
    watch.page = "http://127.0.0.1:\(port)"
    try watch.write("sink", "#!/bin/sh\ncat > /dev/null\n")
    chmod(watch.folder.path + "/sink", 0o755)
    try watch.configure(
      #""interval": "20ms", "http": "127.0.0.1:\#(port)", "on_failure": ["./sink"], "on_recovery": ["./sink"], "on_guard": ["./sink"],"#
    )
    try watch.start("book", "post", "comment")
    let process = "/proc/\(watch.child?.processIdentifier ?? 0)"

    func cycles() -> Int {
      watch.lines.count + watch.errors.split(separator: "\n").filter { $0.contains(" run=") }.count
    }
    func sample() throws -> Sample {
      let status = try String(contentsOfFile: process + "/status", encoding: .utf8)
      func number(_ name: String) -> Int {
        status.split(separator: "\n").first { $0.hasPrefix(name) }
          .flatMap { Int($0.dropFirst(name.count).filter(\.isNumber)) } ?? 0
      }
      return Sample(
        cycles: cycles(), memory: number("VmRSS:"),
        descriptors: try FileManager.default.contentsOfDirectory(atPath: process + "/fd").count,
        threads: number("Threads:"), log: Int(SQLiteFile.size(watch.folder.path + "/syncd.sqlite-wal")))
    }

    /// Faults, one after the other; each is seen by a run before it goes.
    let faults: [(name: String, routes: [Route], seen: String)] = [
      ("404", [Route("/books", status: 404)] + good.dropFirst(), "HTTP 404"),
      ("HTML", [Route("/books", body: "<html>")] + good.dropFirst(), "HTML"),
      ("refused", [Route("/books", body: "[]")] + good.dropFirst(), "would delete"),
      (
        "cut", [Route("/books", file: WatchProcess.books.file, fault: "cut")] + good.dropFirst(),
        "next attempt in"
      ),
      ("all down", [], "no such route"),
    ]
    var samples: [Sample] = []
    let parts = 10
    for part in 1...parts {
      if part % 2 == 0 {
        let fault = faults[(part / 2 - 1) % faults.count]
        let before = watch.errors.count
        try watch.server.serve(fault.routes)
        try watch.wait("the fault \(fault.name)") { watch.errors.dropFirst(before).contains(fault.seen) }
        try watch.server.serve(good)
      }
      let goal = Self.cycles * part / parts
      try watch.wait("\(goal) cycles") {
        _ = try? watch.get("/metrics")
        return cycles() >= goal
      }
      try watch.server.reset()
      samples.append(try sample())
    }
    let books = watch.lines.count
    try watch.wait("books after the last fault") {
      watch.lines.dropFirst(books).contains { $0.contains(" book: 5 records") }
    }
    #expect(watch.stop().status == 0)
    for sample in samples {
      print(
        "soak: \(sample.cycles) cycles, \(sample.memory) kB resident, \(sample.descriptors) descriptors, \(sample.threads) threads, log \(sample.log) bytes"
      )
    }
    // The first parts fill buffers and pools.
    let (early, late) = (samples[3...5], samples[7...9])
    func most(_ samples: ArraySlice<Sample>, _ value: KeyPath<Sample, Int>) -> Int {
      samples.map { $0[keyPath: value] }.max() ?? 0
    }
    #expect(most(late, \.memory) <= most(early, \.memory) + 4096)
    #expect(most(late, \.descriptors) <= most(early, \.descriptors) + 8)
    #expect(most(late, \.threads) <= most(early, \.threads) + 4)
    // SQLite moves its log into the file at a thousand pages of 16 kB (sqlite.org/wal.html).
    #expect(most(late, \.log) <= max(most(early, \.log), 16 << 20) + (1 << 20))
    #expect(try watch.rows("PRAGMA integrity_check; SELECT count(*) FROM book") == "ok\n5")
    let runs = Int(try watch.rows("SELECT count(*) FROM syncd_runs")) ?? 0
    #expect(runs >= Self.cycles * 9 / 10, "\(runs) runs in the store")
  }
}
