import SyncEngine

/// 020: what comes behind the last page.
enum PageNumberEnd {
  private static func source(_ path: String, endStatus: Set<Int> = [404, 400]) -> Source {
    Source(.case, path, paging: .page("page", size: 2, sizeParameter: "per_page", endStatus: endStatus))
  }

  struct Clamp: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = PageNumberEnd.source("clamp")
    static var mapping: Mapping<Clamp> { Key(\.id) }
    static let deletion = Deletion<Clamp>.missing
  }

  struct NotFound: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = PageNumberEnd.source("notfound")
    static var mapping: Mapping<NotFound> { Key(\.id) }
    static let deletion = Deletion<NotFound>.missing
  }

  struct BadRequest: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = PageNumberEnd.source("badreq")
    static var mapping: Mapping<BadRequest> { Key(\.id) }
    static let deletion = Deletion<BadRequest>.missing
  }

  struct Empty: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = PageNumberEnd.source("empty")
    static var mapping: Mapping<Empty> { Key(\.id) }
    static let deletion = Deletion<Empty>.missing
  }

  struct First404: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = PageNumberEnd.source("first404")
    static var mapping: Mapping<First404> { Key(\.id) }
    static let deletion = Deletion<First404>.missing
  }

  struct NotFoundStrict: Entity {
    var id: Int64 = 0
    static let table = "items"
    static let source = PageNumberEnd.source("notfound", endStatus: [])
    static var mapping: Mapping<NotFoundStrict> { Key(\.id) }
    static let deletion = Deletion<NotFoundStrict>.missing
  }
}
