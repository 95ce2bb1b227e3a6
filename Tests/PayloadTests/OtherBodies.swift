import Foundation
import JSON
import SyncEngine

/// Airports as CSV.
struct Airport: Entity {
  var iata = ""
  var name = ""
  var city: String?
  var latitude = 0.0
  var longitude = 0.0

  static let source = Source(
    API("csv", url: "https://csv.example.invalid/"), "airports.csv", format: .csv(), paging: .none)
  static var mapping: Mapping<Airport> {
    Key(\.iata)
    Field(\.name)
    Field(\.city)
    Field(\.latitude)
    Field(\.longitude)
  }
}

/// Readings between semicolons, with a word of the sender's own for nothing.
struct AirQuality: Entity {
  var month = 0
  var day = 0
  var ozone: Int?
  var sun: Int?
  var wind = 0.0

  static let source = Source(
    API("csv", url: "https://csv.example.invalid/"), "AirQuality.csv", format: .csv(separator: ";"),
    paging: .none)
  static var mapping: Mapping<AirQuality> {
    Key(\.month, "Month")
    Key(\.day, "Day")
    Field(\.ozone, "Ozone", read: reading)
    Field(\.sun, .key("Solar.R"), read: reading)
    Field(\.wind, "Wind")
  }

  private struct Unreadable: Error {}
  private static let reading: @Sendable (JSONValue) throws -> Int? = { value in
    if value.string == "#N/A" { return nil }
    guard let number = value.string.flatMap({ Int($0) }) else { throw Unreadable() }
    return number
  }
}

/// OData 2 products in Atom: typed elements, and a related record inside of a link.
struct NorthwindProduct: Entity {
  var id = 0
  var name = ""
  var price: Decimal?
  var unitsInStock: Int?
  var isDiscontinued = false
  var category: String?

  static let source = Source(
    API("northwind", url: "https://northwind.example.invalid/"), "Products",
    query: ["$expand": "Category"], rows: "feed.entry",
    format: .xml(keyed: ["link": "rel"], ignoring: ["m:type"]), paging: .next("feed.link.next.@href"))
  static var mapping: Mapping<NorthwindProduct> {
    Key(\.id, "content.m:properties.d:ProductID")
    Field(\.name, "content.m:properties.d:ProductName")
    Field(\.price, "content.m:properties.d:UnitPrice")
    Field(\.unitsInStock, "content.m:properties.d:UnitsInStock")
    Field(\.isDiscontinued, "content.m:properties.d:Discontinued")
    Field(
      \.category,
      "link['http://schemas.microsoft.com/ado/2007/08/dataservices/related/Category'].m:inline.entry.content.m:properties.d:CategoryName"
    )
  }
}

/// OData 2 in three pages that link on, with marked nulls.
struct AtomCustomer: Entity {
  var id = ""
  var company = ""
  var contact: String?
  var region: String? = "?"
  var postalCode: String?

  static let source = Source(
    API("atom", url: "https://atom.example.invalid/"), "Partials", rows: "feed.entry",
    format: .xml(keyed: ["link": "rel"]), paging: .next("feed.link.next.@href"))
  static var mapping: Mapping<AtomCustomer> {
    Key(\.id)
    Field(\.company, "content.m:properties.d:CompanyName")
    Field(\.contact, "content.m:properties.d:ContactName")
    Field(\.region, "content.m:properties.d:Region")
    Field(\.postalCode, "content.m:properties.d:PostalCode")
  }
}

/// A forecast: one list for each quantity.
struct ForecastHour: Entity {
  var time = Date(timeIntervalSince1970: 0)
  var temperature: Double?
  var precipitation: Double?

  static let source = Source(
    API("meteo", url: "https://meteo.example.invalid/v1/"), "forecast", rows: .columns("hourly"),
    paging: .none)
  static var mapping: Mapping<ForecastHour> {
    Key(\.time, .pattern("yyyy-MM-ddTHH:mm"))
    Field(\.temperature, "temperature_2m")
    Field(\.precipitation)
  }
}

/// Kinto records: the next page in a header of its own.
struct KintoItem: Entity {
  var id = ""
  var title = ""
  var n = 0
  var price = 0.0
  var tags: [String] = []
  var modified: Date?

  static let source = Source(
    API("kinto", url: "https://kinto.example.invalid/"), "v1/buckets/test/collections/items/records",
    query: ["_limit": "40", "_sort": "id"], rows: "data", paging: .next(header: "Next-Page"))
  static var mapping: Mapping<KintoItem> {
    Key(\.id)
    Field(\.title)
    Field(\.n)
    Field(\.price)
    Field(\.tags)
    Field(\.modified, "last_modified", .unixMilliseconds)
  }
}

/// Stripe customers: the last one's id leads on.
struct StripeCustomer: Entity {
  var id = ""
  var name = ""
  var email: String?
  var created: Date?
  var isDelinquent = false

  static let source = Source(
    API("stripe", url: "https://stripe.example.invalid/v1/"), "customers", rows: "data",
    paging: .keyset("starting_after", field: "id", more: "has_more", size: 20, sizeParameter: "limit"))
  static var mapping: Mapping<StripeCustomer> {
    Key(\.id)
    Field(\.name)
    Field(\.email)
    Field(\.created, .unixSeconds)
    Field(\.isDelinquent, "delinquent")
  }
}
