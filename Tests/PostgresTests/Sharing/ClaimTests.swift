import Foundation
import PostgresStore
import SyncEngine
import TestSupport
import Testing

/// Who gets which unit, when, and until when.
@Suite("Claims of shared work", .timeLimit(.minutes(15)), .fewAtATime)
struct ClaimTests {
  private struct A: Entity {
    var id = 0
    static let source = Source(.place, "items", paging: .none)
    static var mapping: Mapping<A> { Key(\.id) }
  }
  private struct B: Entity {
    var id = 0
    static let source = Source(.place, "items", paging: .none)
    static var mapping: Mapping<B> { Key(\.id) }
  }
  private struct C: Entity {
    var id = 0
    static let source = Source(.place, "items", paging: .none)
    static var mapping: Mapping<C> { Key(\.id) }
  }

  private func names(_ claims: [Claim]) -> String { claims.map(\.unit.name).joined(separator: " ") }

  @Test("each unit goes to one of them, once in an interval, and no further than there is room")
  func once() async throws {
    let place = try SharedPlace()
    try place.server.serve([Route("/items", body: #"[{"id":1}]"#)])
    let one = try await place.worker("one", A.self, B.self, C.self)
    let two = try await place.worker("two", A.self, B.self, C.self)
    let first = try await one.claim(limit: 2)
    let second = try await two.claim(limit: 2)
    #expect(first.count == 2 && second.count == 1)
    #expect(Set((first + second).map(\.unit.name)) == ["a", "b", "c"])
    #expect(try await one.claim().isEmpty)
    #expect(try await two.claim().isEmpty)
    for claim in first {
      #expect(await one.run(claim).hasSuffix("1 inserted, 0 updated, 0 unchanged, 0 deleted, proven"))
    }
    for claim in second { #expect(await two.run(claim).hasSuffix(", proven")) }
    // None is due before its next time.
    #expect(try await one.claim().isEmpty)
    #expect(try await two.claim().isEmpty)
    expect(
      try place.rows(
        "SELECT entity, holder IS NULL, round(extract(epoch FROM ready_at - claimed_at) / 60) FROM syncd_units ORDER BY 1"
      ),
      is: "a | 1 | 60\nb | 1 | 60\nc | 1 | 60")
    expect(
      try place.rows("SELECT entity, count(*) FROM syncd_runs GROUP BY 1 ORDER BY 1"),
      is: "a | 1\nb | 1\nc | 1")
  }

  @Test("twenty workers at once get disjoint units and all of them")
  func crowd() async throws {
    let place = try SharedPlace()
    let first = try await place.worker("first", Cut.Line.self)
    #expect(try await first.claim().count == 1)
    try place.rows(
      "INSERT INTO syncd_units (entity, slice, every_ms, cadence_at, ready_at) SELECT 'line', n::text, 1000, now(), now() FROM generate_series(1, 300) n"
    )
    let taken = try await withThrowingTaskGroup(of: (SharedWorker, [Claim]).self) { group in
      for number in 0..<20 {
        group.addTask {
          let worker = try await place.worker("w\(number)", Cut.Line.self)
          var mine: [Claim] = []
          while mine.count < 15 { mine += try await worker.claim(limit: 5) }
          return (worker, mine)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let claims = taken.flatMap(\.1)
    #expect(Set(claims.map(\.unit)).count == claims.count && claims.count == 300)
    #expect(try place.rows("SELECT count(*) FROM syncd_units WHERE holder IS NULL") == "0")
  }

  @Test("a row that another session holds is passed over, and nobody waits for it")
  func skipped() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", A.self, B.self)
    let first = try await one.claim()
    for claim in first { try await one.queue.release(claim, wait: .zero, isFailure: false) }
    let session = try PostgresSession(place.schema.url)
    _ = try session.rows("BEGIN; SELECT * FROM syncd_units WHERE entity = 'a' FOR UPDATE")
    #expect(names(try await one.claim()) == "b")
    _ = try session.rows("COMMIT")
    #expect(names(try await one.claim()) == "a")
  }

  @Test("who has waited longest goes first, also among entities")
  func order() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", A.self, B.self, C.self)
    for claim in try await one.claim() { try await one.queue.release(claim, wait: .zero, isFailure: false) }
    try place.rows(
      "UPDATE syncd_units SET ready_at = now() - CASE entity WHEN 'a' THEN 1 WHEN 'b' THEN 30 ELSE 20 END * interval '1 second'"
    )
    #expect(names(try await one.claim(limit: 1)) == "b")
    #expect(names(try await one.claim(limit: 1)) == "c")
    #expect(names(try await one.claim(limit: 1)) == "a")
  }

  @Test("what needs others waits while they are due or under way, but no longer than an interval")
  func blockers() async throws {
    let place = try SharedPlace()
    try place.server.serve([Route("/items", body: "[]")])
    let one = try await place.worker("one", A.self, B.self)
    let needs: [String: Set<String>] = ["b": ["a"]]
    let parents = try await one.claim(blockers: needs)
    #expect(names(parents) == "a")
    // Under way.
    #expect(try await one.claim(blockers: needs).isEmpty)
    _ = await one.run(parents[0])
    let children = try await one.claim(blockers: needs)
    #expect(names(children) == "b")
    _ = await one.run(children[0])
    try place.rows("UPDATE syncd_units SET ready_at = now() - interval '59 minutes'")
    #expect(names(try await one.claim(blockers: needs)) == "a")
    #expect(try await one.claim(blockers: needs).isEmpty)
    try place.rows("UPDATE syncd_units SET ready_at = now() - interval '61 minutes' WHERE entity = 'b'")
    #expect(names(try await one.claim(blockers: needs)) == "b")
  }

  @Test("aligned times are multiples of the interval, and jitter is added to them")
  func schedules() async throws {
    let place = try SharedPlace()
    try place.server.serve([Route("/items", body: "[]")])
    let one = try await place.worker("one", A.self, B.self)
    let schedule = Schedule(every: .seconds(3600), jitter: .seconds(600), aligned: true)
    for claim in try await one.claim(schedule: schedule) { _ = await one.run(claim) }
    expect(
      try place.rows(
        """
        SELECT (extract(epoch FROM cadence_at) * 1000)::bigint % 3600000, cadence_at > now(), cadence_at <= now() + interval '1 hour',
        ready_at BETWEEN cadence_at AND cadence_at + interval '10 minutes' FROM syncd_units
        """), is: "0 | 1 | 1 | 1\n0 | 1 | 1 | 1")
    #expect(try place.rows("SELECT count(DISTINCT ready_at) FROM syncd_units") == "2")
  }

  @Test("a run that was missed is not made up for: the times stay where they were")
  func missed() async throws {
    let place = try SharedPlace()
    try place.server.serve([Route("/items", body: "[]")])
    let one = try await place.worker("one", A.self)
    _ = try await one.work()
    try place.rows(
      "UPDATE syncd_units SET (cadence_at, ready_at) = ROW(now() - interval '150 minutes', now() - interval '150 minutes')"
    )
    #expect(try await one.work().count == 1)
    expect(
      try place.rows("SELECT round(extract(epoch FROM ready_at - now()) / 60) FROM syncd_units"), is: "30")
  }

  @Test("a shorter interval counts from the last run, and holds from then on")
  func shorter() async throws {
    let place = try SharedPlace()
    try place.server.serve([Route("/items", body: "[]")])
    let one = try await place.worker("one", A.self, every: .seconds(86_400))
    _ = try await one.work()
    let minutes =
      "SELECT every_ms / 1000, round(extract(epoch FROM ready_at - finished_at) / 60) FROM syncd_units"
    expect(try place.rows(minutes), is: "86400 | 1440")
    let two = try await place.worker("two", A.self, every: .seconds(600))
    #expect(try await two.work().isEmpty)
    expect(try place.rows(minutes), is: "600 | 10")
    // The time comes.
    try place.rows(
      "UPDATE syncd_units SET (ready_at, cadence_at, finished_at) = ROW(ready_at - interval '10 minutes', cadence_at - interval '10 minutes', finished_at - interval '10 minutes')"
    )
    #expect(try await two.work().count == 1)
    expect(try place.rows(minutes), is: "600 | 10")
  }

  @Test("a longer interval holds after the run that was already set")
  func longer() async throws {
    let place = try SharedPlace()
    try place.server.serve([Route("/items", body: "[]")])
    let one = try await place.worker("one", A.self, every: .seconds(600))
    _ = try await one.work()
    let two = try await place.worker("two", A.self, every: .seconds(86_400))
    #expect(try await two.work().isEmpty)
    try place.rows(
      "UPDATE syncd_units SET (cadence_at, ready_at) = ROW(cadence_at - interval '11 minutes', ready_at - interval '11 minutes')"
    )
    #expect(try await two.work().count == 1)
    let minutes = try place.rows(
      "SELECT round(extract(epoch FROM ready_at - finished_at) / 60) FROM syncd_units")
    #expect((Double(minutes) ?? 0) > 1400, "\(minutes)")
  }

  @Test(
    "an interval that changes while a unit is under way holds when that ends; a commit under way is not waited for"
  )
  func changedMeanwhile() async throws {
    let place = try SharedPlace()
    try place.server.serve([Route("/items", body: "[]")])
    let one = try await place.worker("one", A.self, B.self, every: .seconds(86_400))
    let claims = try await one.claim()
    let session = try PostgresSession(place.schema.url)
    _ = try session.rows("BEGIN; SELECT * FROM syncd_units WHERE entity = 'b' FOR UPDATE")
    let two = try await place.worker("two", A.self, B.self, every: .seconds(600))
    #expect(try await two.claim().isEmpty)
    let intervals = "SELECT entity, every_ms / 1000 FROM syncd_units ORDER BY 1"
    expect(try place.rows(intervals), is: "a | 600\nb | 86400")
    _ = try session.rows("COMMIT")
    #expect(try await two.claim().isEmpty)
    for claim in claims { _ = await one.run(claim) }
    expect(try place.rows(intervals), is: "a | 600\nb | 600")
    #expect(
      try place.rows("SELECT bool_and(ready_at <= now() + interval '10 minutes') FROM syncd_units") == "1")
  }

  @Test("a run that is wanted now leaves the next time of the schedule where it is")
  func runNow() async throws {
    let place = try SharedPlace()
    try place.server.serve([Route("/items", body: "[]")])
    let one = try await place.worker("one", A.self, B.self)
    _ = try await one.work()
    let before = try place.rows("SELECT entity, cadence_at FROM syncd_units ORDER BY 1")
    try await one.queue.runNow(["a"])
    #expect(try await one.work().map { String($0.prefix(2)) } == ["a:"])
    expect(try place.rows("SELECT entity, cadence_at FROM syncd_units ORDER BY 1"), is: before)
    #expect(try place.rows("SELECT bool_and(ready_at = cadence_at) FROM syncd_units") == "1")
  }

  @Test("entities that only other programs know are left alone")
  func others() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", A.self, B.self)
    let two = try await place.worker("two", C.self)
    for claim in try await one.claim() { try await one.queue.release(claim, wait: .zero, isFailure: false) }
    #expect(names(try await two.claim()) == "c")
    #expect(try await two.claim().isEmpty)
    #expect(names(try await one.claim()) == "a b")
  }

  @Test("a unit that somebody deleted is there again")
  func deleted() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", A.self)
    try await one.queue.release(try await one.claim()[0], wait: nil, isFailure: false)
    try place.rows("DELETE FROM syncd_units")
    #expect(names(try await one.claim()) == "a")
  }

  // MARK: Leases

  @Test("a lease that is over frees its units, with a greater fence, for who looks next")
  func expired() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", A.self)
    let two = try await place.worker("two", A.self)
    let claim = try await one.claim()[0]
    #expect(try await two.claim().isEmpty)
    try place.expire(one)
    // It may take nothing more, and nobody else has it yet.
    #expect(try await one.claim().isEmpty)
    #expect(try await two.claim().isEmpty)
    #expect(try await two.renew())
    let taken = try await two.claim()[0]
    #expect(taken.unit == claim.unit && taken.fence > claim.fence && taken.failures == 0)
    #expect(try place.rows("SELECT name FROM syncd_workers") == "two")
    // The first one joins again, and holds nothing.
    let before = one.id
    #expect(try await one.joinsAgain())
    #expect(one.id != before)
    #expect(try await one.renew())
    #expect(try await one.claim().isEmpty)
  }

  @Test("a connection that is gone frees the units at once")
  func disconnected() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", A.self)
    let two = try await place.worker("two", A.self)
    let claim = try await one.claim()[0]
    try place.rows(
      "SELECT pg_terminate_backend(pid, 10000) FROM syncd_workers WHERE id = \(one.id)")
    #expect(try await two.renew())
    let taken = try await two.claim()
    #expect(taken.map(\.unit) == [claim.unit] && taken[0].fence > claim.fence)
    await #expect(throws: StoreError.self) { try await one.claim() }
    #expect(try await one.joinsAgain())
    #expect(try await one.renew())
    #expect(try place.rows("SELECT name FROM syncd_workers ORDER BY 1") == "one\ntwo")
    expect(try place.units("holder = \(two.id)"), is: "a | 1")
  }

  @Test("what a worker holds and has forgotten is given back when it says that it goes on")
  func forgotten() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", A.self, B.self)
    let claims = try await one.claim()
    #expect(claims.count == 2)
    #expect(try await one.queue.renew(holding: [claims[1]]))
    expect(try place.units("holder IS NOT NULL, ready_at <= clock_timestamp()"), is: "a | 0 | 1\nb | 1 | 1")
    // Its row is held by a commit of somebody else's: the worker goes on.
    let session = try PostgresSession(place.schema.url)
    _ = try session.rows("BEGIN; SELECT * FROM syncd_units WHERE entity = 'b' FOR UPDATE")
    #expect(try await one.queue.renew(holding: []))
    _ = try session.rows("COMMIT")
    #expect(try await one.queue.renew(holding: []))
    expect(try place.units("holder IS NOT NULL"), is: "a | 0\nb | 0")
  }

  @Test("who leaves gives everything back at once")
  func left() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", A.self, B.self)
    let two = try await place.worker("two", A.self, B.self)
    let claims = try await one.claim()
    await one.queue.leave()
    let taken = try await two.claim()
    #expect(
      names(taken) == "a b" && zip(claims, taken).allSatisfy { $0.fence < $1.fence && $1.failures == 0 })
    #expect(try place.rows("SELECT name FROM syncd_workers") == "two")
    // What the first one still does with them is nothing to the second one.
    for claim in claims { try await one.queue.release(claim, wait: .zero, isFailure: true) }
    expect(try place.units("holder = \(two.id), failures"), is: "a | 1 | 0\nb | 1 | 0")
  }

  @Test("a unit whose workers end again and again waits longer and longer")
  func deadly() async throws {
    let place = try SharedPlace()
    let watcher = try await place.worker("watcher", A.self)
    var waits: [String] = []
    for number in 1...4 {
      let worker = try await place.worker("w\(number)", A.self)
      try place.due("true")
      #expect(try await worker.claim().count == 1)
      try place.expire(worker)
      #expect(try await watcher.renew())
      waits.append(
        try place.rows(
          "SELECT ceil(extract(epoch FROM greatest(ready_at - now(), interval '0')) / 5) * 5 FROM syncd_units"
        ))
    }
    #expect(waits == ["0", "5", "10", "20"])
  }

  @Test("failures are counted in a row, a refusal is told from them, and the end of a worker is none")
  func failures() async throws {
    let place = try SharedPlace()
    try place.server.serve([Route("/items", body: "[]")])
    let one = try await place.worker("one", A.self)
    var counts: [Int] = []
    for (wait, isFailure) in [(0, true), (0, true), (nil, true), (nil, true), (0, true), (0, false)]
      as [(Int?, Bool)]
    {
      try await one.queue.release(
        try await one.claim()[0], wait: wait.map { .milliseconds($0) }, isFailure: isFailure)
      try place.due()
      counts.append(try #require(Int(try place.rows("SELECT failures FROM syncd_units"))))
    }
    #expect(counts == [1, 2, -1, -1, 1, 1])
    let claim = try await one.claim()[0]
    #expect(claim.failures == 1)
    #expect(await one.run(claim).hasSuffix(", proven"))
    expect(try place.units("failures"), is: "a | 0")
  }

  @Test("a claim that is under way when its worker's lease ends holds nothing for ever")
  func slowClaim() async throws {
    let place = try SharedPlace()
    let one = try await place.worker("one", A.self)
    let two = try await place.worker("two", A.self)
    for claim in try await one.claim() { try await one.queue.release(claim, wait: .zero, isFailure: false) }
    // The claim hangs behind its last look at the lease, until that is over and reaped.
    try place.rows(
      """
      CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.holder = \(one.id) THEN PERFORM pg_advisory_xact_lock(4711); END IF; RETURN NEW; END $$;
      CREATE TRIGGER slow BEFORE UPDATE ON syncd_units FOR EACH ROW EXECUTE FUNCTION slow()
      """)
    let session = try PostgresSession(place.schema.url)
    _ = try session.rows("SELECT pg_advisory_lock(4711)")
    async let claimed = try? one.claim()
    while try place.rows(
      "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted") == "0"
    {
      try await Task.sleep(for: .milliseconds(5))
    }
    try place.expire(one)
    #expect(try await two.renew())
    _ = try session.rows("SELECT pg_advisory_unlock(4711)")
    _ = await claimed
    for _ in 0..<2 { #expect(try await two.renew()) }
    expect(try place.units("holder IS NULL OR holder IN (SELECT id FROM syncd_workers)"), is: "a | 1")
    #expect(names(try await two.claim()) == "a")
  }
}
