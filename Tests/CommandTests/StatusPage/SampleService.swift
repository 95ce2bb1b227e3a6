import SyncEngine

@testable import SyncCommand

/// Snapshots of services that were never there.
enum SampleService {
  /// 2026-11-30T12:00:00Z
  static let noon: Int64 = 1_796_040_000_000

  static func snapshot(_ entities: [EntitySnapshot] = all) -> ServiceSnapshot {
    ServiceSnapshot(
      program: "syncd", version: "0.1.0", store: "/var/lib/syncd/library.sqlite", now: noon,
      started: noon - 3 * 86_400_000, heartbeatAge: .milliseconds(40), entities: entities,
      alerts: .init(sent: 3, failed: 1))
  }

  static func run(
    _ entity: String, ago seconds: Int64, took milliseconds: Int64, _ outcome: RunRecord.Outcome = .proven,
    inserted: Int = 0, updated: Int = 0, deleted: Int = 0
  ) -> RunRecord {
    let finished = noon - seconds * 1000
    var run = RunRecord(
      run: "r\(seconds)", entity: entity, started: finished - milliseconds, finished: finished,
      outcome: outcome)
    (run.inserted, run.updated, run.deleted) = (inserted, updated, deleted)
    (run.pages, run.records, run.bytes) = (3, 250, 81_000)
    return run
  }

  static func entity(_ name: String, table: String? = nil, api: String = "library") -> EntitySnapshot {
    var entity = EntitySnapshot(name: name, table: table ?? name, api: api, interval: .seconds(30))
    (entity.rows, entity.nextRun, entity.lastSuccess) = (1234, noon + 12_000, noon - 18_000)
    entity.runs = (0..<60).map { index in
      run(
        name, ago: Int64(18 + (59 - index) * 30), took: Int64(180 + (index * 37) % 240),
        inserted: index * 7 % 5,
        updated: index * 3 % 7, deleted: index % 11 == 0 ? 2 : 0)
    }
    entity.totals.runs = ["proven": 60]
    (entity.totals.pages, entity.totals.bytes, entity.totals.records) = (180, 4_860_000, 15_000)
    (entity.totals.inserted, entity.totals.updated, entity.totals.unchanged) = (120, 180, 14_700)
    (entity.totals.deleted, entity.totals.seconds) = (12, 18.5)
    entity.totals.durations[2] = 40
    entity.totals.durations[3] = 20
    return entity
  }

  static var all: [EntitySnapshot] {
    var article = entity("article", api: "nytimes")
    article.failures = 3
    (article.lastSuccess, article.rows) = (noon - 9_400_000, 48_210)
    for index in 57..<60 { article.runs[index].outcome = .failed }
    article.totals.runs = ["proven": 57, "failed": 3]
    article.lastError = """
      page 4 (https://api.nytimes.com/svc/search/v2/articlesearch.json?page=3): 3 bad records, and nothing was written:
        "nyt://article/2a": pub_date is "yesterday", which is no instant
        "nyt://article/7f": pub_date is "", which is no instant
        "nyt://article/90": word_count is 12.5, which is no integer
      """
    var hero = entity("hero", api: "marvel")
    (hero.interval, hero.nextRun, hero.rows) = (.seconds(3600), nil, 1_562)
    hero.running = .init(started: noon - 4200, pages: 6, records: 600, total: 1562, bytes: 1_840_000)
    var post = entity("post", api: "placeholder")
    (post.rows, post.lastSuccess, post.runs, post.nextRun) = (nil, nil, [], noon + 400)
    (post.totals.runs, post.totals.durations) = ([:], [Int](repeating: 0, count: 13))
    var comment = entity("comment", api: "placeholder")
    (comment.failures, comment.lastSuccess) = (1, noon - 48_000)
    comment.runs[59].outcome = .refused
    comment.lastError = "the run would delete 900 of 1,234 rows (the guard allows 617); nothing was written"
    var chapter = entity("chapter", table: "book_chapter")
    chapter.runs[59].outcome = .unproven
    chapter.runs[59].reason = "the source named 251 records in all, and gave 250"
    return [entity("book"), article, hero, post, comment, chapter]
  }

  /// Long names, other scripts, large numbers, one run, no run.
  static var odd: [EntitySnapshot] {
    var long = entity(
      "customer_subscription_invoice_line_item_adjustments",
      table: "billing_customer_subscription_invoice_line_item_adjustments",
      api: "enterprise-resource-planning")
    (long.rows, long.failures) = (1_234_567_890, 12_345)
    long.lastError = String(repeating: "https://example.org/averylongpathwithoutanyblank", count: 20)
    long.runs = [
      run(long.name, ago: 86_400 * 400, took: 7_260_000, .failed, inserted: 12_345_678, updated: 98_765_432)
    ]
    (long.lastSuccess, long.interval) = (noon - 86_400_000 * 400, .seconds(86_400))
    var hebrew = entity("ספרים", table: "本", api: "библиотека")
    hebrew.running = .init(
      started: noon - 7_300_000, pages: 12_345, records: 98_765_432, bytes: 98_765_432_100)
    var first = entity("first")
    first.runs = [run("first", ago: 18, took: 12_400, inserted: 200_000)]
    var late = entity("late")
    late.lastSuccess = noon - 90_000_000
    return [hebrew, first, late, long]
  }
}
