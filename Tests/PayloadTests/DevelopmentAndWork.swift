import Foundation
import SyncEngine

/// GitHub issues: Link headers, and a next page under another path than the first.
struct GitHubIssue: Entity {
  var id = 0
  var number = 0
  var state = State.open
  var user = ""
  var created: Date?
  var closed: Date?
  var isLocked = false
  var page: URL?

  enum State: String, ColumnValue { case open, closed }

  static let source = Source(
    API("github", url: "https://github.example.invalid/"), "repos/octokit-fixture-org/paginate-issues/issues",
    query: ["per_page": "3"], paging: .linkHeader)
  static var mapping: Mapping<GitHubIssue> {
    Key(\.id)
    Field(\.number)
    Field(\.state)
    Field(\.user, "user.login")
    Field(\.created, "created_at")
    Field(\.closed, "closed_at")
    Field(\.isLocked, "locked")
    Field(\.page, "html_url")
  }
}

/// GitLab issues: a root array, nested authors, nulls.
struct GitLabIssue: Entity {
  var id = 0
  var projectID = 0
  var title = ""
  var summary: String?
  var author = ""
  var isClosed = false
  var updated: Date?

  static let source = Source(API("gitlab", url: "https://gitlab.example.invalid/"), "issues", paging: .none)
  static var mapping: Mapping<GitLabIssue> {
    Key(\.id)
    Field(\.projectID)
    Field(\.title)
    Field(\.summary, "description")
    Field(\.author, "author.name")
    Field(\.isClosed, "closed")
    Field(\.updated, "updated_at")
  }
}

/// JSONPlaceholder users: numbers sent as text three levels deep.
struct PlaceholderUser: Entity {
  var id = 0
  var name = ""
  var latitude = 0.0
  var longitude = 0.0
  var company: Company?

  struct Company: Codable, ColumnValue { var name: String }

  static let source = Source(
    API("placeholder", url: "https://placeholder.example.invalid/"), "users", paging: .none)
  static var mapping: Mapping<PlaceholderUser> {
    Key(\.id)
    Field(\.name)
    Field(\.latitude, "address.geo.lat")
    Field(\.longitude, "address.geo.lng")
    Field(\.company)
  }
}

/// Slack members: a cursor whose end is the empty text, Unix seconds.
struct SlackMember: Entity {
  var id = ""
  var name = ""
  var isDeleted = false
  var isBot: Bool?
  var updated: Date?
  var realName: String?

  static let source = Source(
    API("slack", url: "https://slack.example.invalid/api/"), "users.list", query: ["limit": "5"],
    rows: "members",
    paging: .cursor("response_metadata.next_cursor", parameter: "cursor"))
  static var mapping: Mapping<SlackMember> {
    Key(\.id)
    Field(\.name)
    Field(\.isDeleted, "deleted")
    Field(\.isBot)
    Field(\.updated, .unixSeconds)
    Field(\.realName, "profile.real_name")
  }
}

/// Slack's answer to who one is: a single object at the root.
struct SlackIdentity: Entity {
  var userID = ""
  var team = ""
  var url: URL?
  var isEnterpriseInstall = false

  static let source = Source(
    API("slack", url: "https://slack.example.invalid/api/"), "auth.test", rows: .object(.root), paging: .none)
  static var mapping: Mapping<SlackIdentity> {
    Key(\.userID)
    Field(\.team)
    Field(\.url)
    Field(\.isEnterpriseInstall)
  }
}

/// Jira issues: an offset with a total, names deep inside, ids of digits as text.
struct JiraIssue: Entity {
  var id = 0
  var key = ""
  var summary = ""
  var status = ""
  var assignee: String?
  var created: Date?

  static let source = Source(
    API("jira", url: "https://jira.example.invalid/rest/api/2/"), "search", rows: "issues",
    paging: .offset("startAt", limit: "maxResults", size: 1000, total: "total"))
  static var mapping: Mapping<JiraIssue> {
    Key(\.id)
    Field(\.key)
    Field(\.summary, "fields.summary")
    Field(\.status, "fields.status.name")
    Field(\.assignee, "fields.assignee.name")
    Field(\.created, "fields.created")
  }
}

/// Notion blocks: a cursor beside a flag that says whether there is more.
struct NotionBlock: Entity {
  var id = ""
  var type = ""
  var text: String?
  var created: Date?
  var hasChildren = false

  static let source = Source(
    API("notion", url: "https://notion.example.invalid/v1/"),
    "blocks/393abc1e-edcd-814b-aee5-cf69471e5a43/children",
    query: ["page_size": "2"], rows: "results",
    paging: .cursor("next_cursor", parameter: "start_cursor", more: "has_more"))
  static var mapping: Mapping<NotionBlock> {
    Key(\.id)
    Field(\.type)
    Field(\.text, "paragraph.rich_text[0].plain_text")
    Field(\.created, "created_time")
    Field(\.hasChildren)
  }
}

/// Kubernetes pods: a continue token that is absent at the end, labels with dots and slashes in their keys.
struct KubernetesPod: Entity {
  var uid = ""
  var name = ""
  var phase: String?
  var created: Date?
  var labels: [String: String]?

  static let source = Source(
    API("kubernetes", url: "https://kubernetes.example.invalid/api/v1/"), "pods", query: ["limit": "2"],
    rows: "items",
    paging: .cursor("metadata.continue", parameter: "continue"))
  static var mapping: Mapping<KubernetesPod> {
    Key(\.uid, "metadata.uid")
    Field(\.name, "metadata.name")
    Field(\.phase, "status.phase")
    Field(\.created, "metadata.creationTimestamp")
    Field(\.labels, "metadata.labels")
  }
}

/// CouchDB's list of documents.
struct CouchDocument: Entity {
  var id = ""
  var revision = ""

  static let source = Source(
    API("couchdb", url: "https://couchdb.example.invalid/"), "db/_all_docs", rows: "rows", paging: .none)
  static var mapping: Mapping<CouchDocument> {
    Key(\.id)
    Field(\.revision, "value.rev")
  }
}

/// Elasticsearch hits: the document below `_source`, a script that is not Latin.
struct ElasticHit: Entity {
  var id = ""
  var score = 0.0
  var utterance = ""
  var orthography: String?

  static let source = Source(
    API("elasticsearch", url: "https://elasticsearch.example.invalid/"), "lexicon/_search", rows: "hits.hits",
    paging: .offset("from", limit: "size", size: 10, total: "hits.total"))
  static var mapping: Mapping<ElasticHit> {
    Key(\.id, "_id")
    Field(\.score, "_score")
    Field(\.utterance, "_source.utterance")
    Field(\.orthography, "_source.orthography")
  }
}

/// A build of App Store Connect: JSON:API attributes, dates with an offset.
struct AppStoreBuild: Entity {
  var id = ""
  var version = ""
  var uploaded: Date?
  var isExpired = false
  var icon: String?

  static let source = Source(
    API("appstoreconnect", url: "https://appstoreconnect.example.invalid/iris/v1/"), "builds", rows: "data",
    paging: .next("links.next"))
  static var mapping: Mapping<AppStoreBuild> {
    Key(\.id)
    Field(\.version, "attributes.version")
    Field(\.uploaded, "attributes.uploadedDate")
    Field(\.isExpired, "attributes.expired")
    Field(\.icon, "attributes.iconAssetToken.templateUrl")
  }
}

/// DataCite's clients: JSON:API with a next link whose brackets are percent-encoded.
struct DataCiteClient: Entity {
  var id = ""
  var name = ""
  var symbol = ""
  var year: Int?

  static let source = Source(
    API("datacite", url: "https://datacite.example.invalid/"), "clients", rows: "data",
    paging: .next("links.next"))
  static var mapping: Mapping<DataCiteClient> {
    Key(\.id)
    Field(\.name, "attributes.name")
    Field(\.symbol, "attributes.symbol")
    Field(\.year, "attributes.year")
  }
}
