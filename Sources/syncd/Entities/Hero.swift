import SyncEngine

import struct FoundationEssentials.Data
import struct FoundationEssentials.Date
import struct FoundationEssentials.URL

extension API {
  /// Marvel (developer.marvel.com): every request carries a time and a hash of it with both keys.
  static let marvel = API(
    "marvel", url: "https://gateway.marvel.com/v1/public/",
    auth: .signed(using: .environment("MARVEL_PUBLIC_KEY"), .environment("MARVEL_PRIVATE_KEY")) { signing in
      let (ts, open, hidden) = ("\(signing.timestamp)", signing.secrets[0], signing.secrets[1])
      return [.query("ts", ts), .query("apikey", open), .query("hash", Digest.md5(ts + hidden + open))]
    },
    rate: .perSecond(3))
}

/// Marvel's characters. Their own name would shadow Swift's `Character`.
struct Hero: Entity {
  var id = 0
  var name = ""
  var summary = ""
  var thumbnail: URL?
  var image: Data?
  var modified: Date?
  /// Ours: no sync touches it.
  var innerID: Int?

  static let source = Source(
    .marvel, "characters", query: ["orderBy": "name"], rows: "data.results",
    paging: .offset("offset", limit: "limit", size: 100, total: "data.total"))

  static var mapping: Mapping<Hero> {
    Key(\.id)
    Field(\.name)
    Field(\.summary, "description", .nullAsDefault)
    Field(\.thumbnail, template: "{thumbnail.path}.{thumbnail.extension}")
    Blob(\.image, from: \.thumbnail)
    Field(\.modified)
    Local(\.innerID)
    Children(HeroLink.self, at: "urls")
  }
}

/// A hero's pages elsewhere, one of each type.
struct HeroLink: Record {
  var heroID = 0
  var type = ""
  var url: URL?

  static var mapping: Mapping<HeroLink> {
    Key(\.heroID, "@parent.id")
    Key(\.type)
    Field(\.url)
  }
}
