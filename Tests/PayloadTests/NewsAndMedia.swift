import Foundation
import SyncEngine

/// New York Times articles: page numbers from 0, a number sent as text.
struct NYTArticle: Entity {
  var id = ""
  var headline = ""
  var section: String?
  var published: Date?
  var wordCount = 0
  var byline: String?

  static let source = Source(
    API("nyt", url: "https://nyt.example.invalid/svc/"), "articlesearch.json", rows: "response.docs",
    paging: .page("page", from: 0, size: 10))
  static var mapping: Mapping<NYTArticle> {
    Key(\.id, "_id")
    Field(\.headline, "headline.main")
    Field(\.section, "section_name")
    Field(\.published, "pub_date")
    Field(\.wordCount)
    Field(\.byline, "byline.original")
  }
}

/// Marvel characters: offset, limit and total inside the envelope.
struct MarvelCharacter: Entity {
  var id = 0
  var name = ""
  var thumbnail: URL?
  var modified: Date?
  var comics = 0

  static let source = Source(
    API("marvel", url: "https://marvel.example.invalid/v1/public/"), "characters", query: ["orderBy": "name"],
    rows: "data.results", paging: .offset("offset", limit: "limit", size: 20, total: "data.total"))
  static var mapping: Mapping<MarvelCharacter> {
    Key(\.id)
    Field(\.name)
    Field(\.thumbnail, template: "{thumbnail.path}.{thumbnail.extension}")
    Field(\.modified)
    Field(\.comics, "comics.available")
  }
}

/// Mastodon statuses: a Link header, keys of 18 digits as text, an empty last page.
struct MastodonStatus: Entity {
  var id: Int64 = 0
  var created: Date?
  var isSensitive = false
  var visibility = Visibility.unlisted
  var account = ""
  var tags: [Tag] = []

  enum Visibility: String, ColumnValue { case `public`, unlisted, `private`, direct }
  struct Tag: Codable, ColumnValue { var name: String }

  static let source = Source(
    API("mastodon", url: "https://mastodon.example.invalid/api/v1/"),
    "timelines/tag/fgiztsshwiaqqiztpmmjbtvmescsculuvmgjgopwoeidbcrixp", query: ["limit": "10"],
    paging: .linkHeader)
  static var mapping: Mapping<MastodonStatus> {
    Key(\.id)
    Field(\.created, "created_at")
    Field(\.isSensitive, "sensitive")
    Field(\.visibility)
    Field(\.account, "account.username")
    Field(\.tags)
  }
}

/// Open Library works: a total, lists of texts, keys with slashes, absent covers.
struct OpenLibraryWork: Entity {
  var key = ""
  var title = ""
  var firstPublishYear: Int?
  var authors: [String] = []
  var cover: URL?

  static let source = Source(
    API("openlibrary", url: "https://openlibrary.example.invalid/"), "search.json", query: ["q": "mistborn"],
    rows: "docs", paging: .page("page", size: 100, sizeParameter: "limit", total: "numFound"))
  static var mapping: Mapping<OpenLibraryWork> {
    Key(\.key)
    Field(\.title)
    Field(\.firstPublishYear)
    Field(\.authors, "author_name")
    Field(\.cover, template: "https://covers.openlibrary.org/b/id/{cover_i}-M.jpg")
  }
}

/// Twitter followers: 64-bit ids as text, a token that has to be handed back.
struct TwitterFollower: Entity {
  var id: Int64 = 0
  var name = ""
  var username = ""

  static let source = Source(
    API("twitter", url: "https://twitter.example.invalid/2/"), "users/783214/followers", rows: "data",
    paging: .cursor("meta.next_token", parameter: "pagination_token"))
  static var mapping: Mapping<TwitterFollower> {
    Key(\.id)
    Field(\.name)
    Field(\.username)
  }
}

/// People of Star Wars: the address is the key, the next link absolute.
struct SwapiPerson: Entity {
  var url = ""
  var name = ""
  var height = ""
  var films: [String] = []
  var created: Date?

  static let source = Source(
    API("swapi", url: "https://swapi.example.invalid/api/"), "people/", rows: "results", paging: .next("next")
  )
  static var mapping: Mapping<SwapiPerson> {
    Key(\.url)
    Field(\.name)
    Field(\.height)
    Field(\.films)
    Field(\.created)
  }
}

/// Berries in full: an object whose keys are the ids.
struct PokeBerry: Entity {
  var id = 0
  var name = ""
  var item: String?
  var size: Int?

  static let source = Source(
    API("pokeapi", url: "https://pokeapi.example.invalid/"), "berries", rows: .byKey(.root), paging: .none)
  static var mapping: Mapping<PokeBerry> {
    Key(\.id, "@key")
    Field(\.name)
    Field(\.item, "item.name")
    Field(\.size)
  }
}

/// Rick and Morty characters: the next link inside an envelope of its own.
struct RickAndMortyCharacter: Entity {
  var id = 0
  var name = ""
  var status = Status.unknown
  var origin: String?
  var episodes: [String] = []
  var created: Date?

  enum Status: String, ColumnValue { case alive = "Alive", dead = "Dead", unknown }

  static let source = Source(
    API("rickandmorty", url: "https://rickandmorty.example.invalid/api/"), "character", rows: "results",
    paging: .next("info.next"))
  static var mapping: Mapping<RickAndMortyCharacter> {
    Key(\.id)
    Field(\.name)
    Field(\.status)
    Field(\.origin, "origin.name")
    Field(\.episodes, "episode")
    Field(\.created)
  }
}
