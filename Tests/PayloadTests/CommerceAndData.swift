import Foundation
import SyncEngine

/// Shopify's stock: a key of two columns.
struct ShopifyStock: Entity {
  var inventoryItemID = 0
  var locationID = 0
  var available = 0
  var updated: Date?

  static let source = Source(
    API("shopify", url: "https://shopify.example.invalid/admin/"), "inventory_levels.json",
    rows: "inventory_levels",
    paging: .linkHeader)
  static var mapping: Mapping<ShopifyStock> {
    Key(\.inventoryItemID)
    Key(\.locationID)
    Field(\.available)
    Field(\.updated, "updated_at")
  }
}

/// HubSpot contacts: the cursor deep in an object that is absent at the end.
struct HubSpotContact: Entity {
  var id = 0
  var firstName: String?
  var created: Date?
  var isArchived = false

  static let source = Source(
    API("hubspot", url: "https://hubspot.example.invalid/crm/v3/"), "objects/contacts", rows: "results",
    paging: .cursor("paging.next.after", parameter: "after"))
  static var mapping: Mapping<HubSpotContact> {
    Key(\.id)
    Field(\.firstName, "properties.firstname")
    Field(\.created, "createdAt")
    Field(\.isArchived, "archived")
  }
}

/// OData people: keys with `@` and dots, a body with a byte order mark, lists in lists.
struct ODataPerson: Entity {
  var userName = ""
  var firstName = ""
  var emails: [String] = []
  var city: String?
  var concurrency: Int64?
  var etag: String?

  static let source = Source(
    API("odata", url: "https://odata.example.invalid/"), "People", rows: "value",
    paging: .next(.key("@odata.nextLink")))
  static var mapping: Mapping<ODataPerson> {
    Key(\.userName, "UserName")
    Field(\.firstName, "FirstName")
    Field(\.emails, "Emails")
    Field(\.city, "AddressInfo[0].City.Name")
    Field(\.concurrency, "Concurrency")
    Field(\.etag, .key("@odata.etag"))
  }
}

/// Mollie customers: HAL links, null on the last page.
struct MollieCustomer: Entity {
  var id = ""
  var name = ""
  var mode = Mode.test
  var created: Date?

  enum Mode: String, ColumnValue { case live, test }

  static let source = Source(
    API("mollie", url: "https://mollie.example.invalid/v2/"), "customers", query: ["limit": "5"],
    rows: "_embedded.customers", paging: .next("_links.next.href"))
  static var mapping: Mapping<MollieCustomer> {
    Key(\.id)
    Field(\.name)
    Field(\.mode)
    Field(\.created, "createdAt")
  }
}

/// Earthquakes: Unix milliseconds, coordinates by position.
struct Earthquake: Entity {
  var id = ""
  var magnitude: Double?
  var place: String?
  var time: Date?
  var felt: Int?
  var longitude = 0.0
  var depth = 0.0
  var causedTsunami = false

  static let source = Source(
    API("usgs", url: "https://usgs.example.invalid/"), "all_day.geojson", rows: "features", paging: .none)
  static var mapping: Mapping<Earthquake> {
    Key(\.id)
    Field(\.magnitude, "properties.mag")
    Field(\.place, "properties.place")
    Field(\.time, "properties.time", .unixMilliseconds)
    Field(\.felt, "properties.felt")
    Field(\.longitude, "geometry.coordinates[0]")
    Field(\.depth, "geometry.coordinates[2]")
    Field(\.causedTsunami, "properties.tsunami")
  }
}

/// Bicycle counts: every number a text, times without a zone, a key of two columns, a short last page.
struct BicycleCount: Entity {
  var id = 0
  var date = Date(timeIntervalSince1970: 0)
  var counts = 0
  var status = 0

  static let source = Source(
    API("socrata", url: "https://socrata.example.invalid/resource/"), "bike-counts.json",
    paging: .offset("$offset", limit: "$limit", size: 1000))
  static var mapping: Mapping<BicycleCount> {
    Key(\.id)
    Key(\.date, .pattern("yyyy-MM-ddTHH:mm:ss.SSS"))
    Field(\.counts)
    Field(\.status)
  }
}

/// Rows of Datasette: the next link in the body.
struct DatasetteItem: Entity {
  var id = 0
  var title = ""
  var priceCents: Int?
  var rating: Double?
  var inStock = false
  var bigID: Int64 = 0
  var updated: Date?

  static let source = Source(
    API("datasette", url: "https://datasette.example.invalid/ds/"), "items.json",
    query: ["_size": "40", "_shape": "objects", "_nofacet": "1", "_nosuggest": "1", "id__gt": "99880"],
    rows: "rows",
    paging: .next("next_url"))
  static var mapping: Mapping<DatasetteItem> {
    Key(\.id)
    Field(\.title)
    Field(\.priceCents)
    Field(\.rating)
    Field(\.inStock)
    Field(\.bigID)
    Field(\.updated, "updated_at")
  }
}

/// Books of a Django REST framework server: page numbers with a total, integers beyond 2^53.
struct DRFBook: Entity {
  var id = 0
  var title = ""
  var price: String?
  var published: Date?
  var created: Date?
  var rating = 0.0
  var extra: [String: Extra] = [:]
  var big: Int64 = 0

  struct Extra: Codable, ColumnValue {}

  static let source = Source(
    API("drf", url: "https://drf.example.invalid/api/page/"), "books/", rows: "results",
    paging: .page("page", size: 70, sizeParameter: "page_size", total: "count"))
  static var mapping: Mapping<DRFBook> {
    Key(\.id)
    Field(\.title)
    Field(\.price)
    Field(\.published, .pattern("yyyy-MM-dd"))
    Field(\.created)
    Field(\.rating)
    Field(\.extra)
    Field(\.big)
  }
}

/// The same server's cursor pages.
struct DRFCursorBook: Entity {
  var id = 0
  var price: String?
  var big: Int64 = 0

  static let source = Source(
    API("drf", url: "https://drf.example.invalid/api/cursor/"), "books/", query: ["page_size": "70"],
    rows: "results",
    paging: .next("next"))
  static var mapping: Mapping<DRFCursorBook> {
    Key(\.id)
    Field(\.price)
    Field(\.big)
  }
}

/// Products of an OData server.
struct ODataProduct: Entity {
  var id = 0
  var name = ""
  var price: Double?
  var big: Int64 = 0
  var released: Date?
  var updated: Date?
  var inStock = false

  static let source = Source(
    API("products", url: "https://products.example.invalid/"), "Products", query: ["$count": "true"],
    rows: "value",
    paging: .next(.key("@odata.nextLink")))
  static var mapping: Mapping<ODataProduct> {
    Key(\.id, "ID")
    Field(\.name, "Name")
    Field(\.price, "Price")
    Field(\.big, "Big")
    Field(\.released, "Released", .pattern("yyyy-MM-dd"))
    Field(\.updated, "UpdatedAt")
    Field(\.inStock, "InStock")
  }
}

/// Records of PocketBase: page numbers with a total, dates with a space in them, empty where there is none.
struct PocketBaseItem: Entity {
  var id = ""
  var n = 0
  var title = ""
  var day: Date?
  var isOK = false
  var price = 0.0
  var created: Date?

  static let source = Source(
    API("pocketbase", url: "https://pocketbase.example.invalid/api/"), "collections/items/records",
    query: ["sort": "n", "filter": "(n<=130)"], rows: "items",
    paging: .page("page", size: 40, sizeParameter: "perPage", total: "totalItems", pages: "totalPages"))
  static var mapping: Mapping<PocketBaseItem> {
    Key(\.id)
    Field(\.n)
    Field(\.title)
    Field(\.day, .emptyAsNull)
    Field(\.isOK, "ok")
    Field(\.price)
    Field(\.created)
  }
}
