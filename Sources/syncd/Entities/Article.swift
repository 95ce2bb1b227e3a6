import SyncEngine

import struct FoundationEssentials.Date
import struct FoundationEssentials.URL

extension API {
  /// The New York Times (developer.nytimes.com): 5 requests a minute on a free key.
  static let nyTimes = API(
    "nytimes", url: "https://api.nytimes.com/svc/search/v2/",
    auth: .query("api-key", .environment("NYT_API_KEY")),
    rate: .perMinute(5))
}

/// What the article search is asked for.
struct ArticleQuery: QueryModel {
  var query = "swift"
  var from: Date?
  var to: Date?

  static var parameters: [Parameter<ArticleQuery>] {
    Parameter(\.query, "q")
    Parameter(\.from, "begin_date", .pattern("yyyyMMdd"))
    Parameter(\.to, "end_date", .pattern("yyyyMMdd"))
  }
}

/// Articles found by the New York Times Article Search v2.
struct Article: Entity {
  var id = ""
  var headline = ""
  var leadParagraph: String?
  var section = "none"
  var webURL: URL?
  var published: Date?
  var wordCount = 0
  var keywords: [Keyword] = []
  /// Ours: whether somebody has read it.
  var isRead = false

  struct Keyword: Codable, ColumnValue {
    var name: String
    var value: String
  }

  static let source = Source(
    .nyTimes, "articlesearch.json",
    query: .model(ArticleQuery(query: "election", from: Date(timeIntervalSince1970: 1_451_606_400))),
    rows: "response.docs",
    // The search has at most 100 pages of 10; what is behind them needs a narrower query.
    paging: .page("page", from: 0, size: 10, total: "response.meta.hits"), maxPages: 100)

  static var mapping: Mapping<Article> {
    Key(\.id, "_id")
    Field(\.headline, "headline.main", .nullAsDefault)
    Field(\.leadParagraph)
    Field(\.section, "section_name", .nullAsDefault)
    Field(\.webURL, "web_url", .emptyAsNull)
    Field(\.published, "pub_date")
    Field(\.wordCount, .nullAsDefault)
    Field(\.keywords, .nullAsDefault)
    Local(\.isRead)
  }
}
