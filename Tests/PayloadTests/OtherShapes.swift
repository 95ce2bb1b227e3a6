import SyncEngine
import TestSupport

extension Shape {
  /// Bodies that are no list of JSON objects, and pages that lead on by other means than the body.
  static let others: [Shape] = [
    Shape(
      folder: "csv", paging: "none", entity: Airport.self, api: "csv",
      routes: [Payloads.file("csv/airports.csv", at: "/airports.csv")], requests: 1, rows: 2500,
      spot: (
        "SELECT * FROM airport WHERE iata IN ('53A', 'OLE') ORDER BY 1",
        """
        53A | Dr. C.P. Savage, Sr. | Montezuma | 32.302 | -84.00747222
        OLE | Olean Muni | Olean | 42.24006611 | -78.371685
        """
      )),
    Shape(
      folder: "csv", paging: "none, semicolons", entity: AirQuality.self, api: "csv",
      routes: [Payloads.file("csv/AirQuality.csv", at: "/AirQuality.csv")], requests: 1, rows: 153,
      spot: (
        "SELECT *, (SELECT count(*) FROM air_quality WHERE ozone IS NULL) FROM air_quality WHERE month = 5 AND day IN (1, 5)",
        "5 | 1 | 41 | 190 | 7.4 | 37\n5 | 5 | ∅ | ∅ | 14.3 | 37"
      )),
    Shape(
      folder: "odata-v2-atom-xml", paging: "next, in a link element", entity: NorthwindProduct.self,
      api: "northwind",
      routes: [
        Payloads.file("odata-v2-atom-xml/northwind_products_category_expands.xml", at: "/Products")
      ], requests: 1, rows: 2,
      spot: (
        "SELECT * FROM northwind_product WHERE id = 2", "2 | Chang | 19.0000 | 17 | 0 | Beverages"
      )),
    Shape(
      folder: "odata-v2-atom-xml", paging: "next, in a link element", entity: AtomCustomer.self, api: "atom",
      routes: [
        Payloads.file(
          "odata-v2-atom-xml/partial_feed_part_3.xml", at: "/test.svc/Partials",
          query: ["$skiptoken": "'ERNSH2'"], hosts: ["http://test.com"]),
        Payloads.file(
          "odata-v2-atom-xml/partial_feed_part_2.xml", at: "/test.svc/Partials",
          query: ["$skiptoken": "'ERNSH'"], hosts: ["http://test.com"]),
        Payloads.file(
          "odata-v2-atom-xml/partial_feed_part_1.xml", at: "/Partials", hosts: ["http://test.com"]),
      ], requests: 3, rows: 3,
      spot: (
        "SELECT company, contact, region, postal_code FROM atom_customer WHERE contact LIKE '%Banders'",
        "Alfreds Futterkiste | Maria Banders | ∅ | 12209"
      )),
    Shape(
      folder: "open-meteo", paging: "none, lists side by side", entity: ForecastHour.self, api: "meteo",
      routes: [Payloads.file("open-meteo/forecast_london.json", at: "/forecast")], requests: 1, rows: 24,
      spot: (
        "SELECT * FROM forecast_hour WHERE temperature > 16.4 ORDER BY 1",
        "2024-10-25T12:00:00.000Z | 16.8 | 0.0\n2024-10-25T14:00:00.000Z | 16.5 | 0.0"
      )),
    Shape(
      folder: "rec-kinto", paging: "next, in a header", entity: KintoItem.self, api: "kinto",
      routes: Payloads.recorded(
        "rec-kinto", "/v1/buckets/test/collections/items/records?_limit", hosts: ["http://127.0.0.1:18002"]),
      requests: 4, rows: 130,
      spot: (
        "SELECT * FROM kinto_item WHERE n IN (1, 130) ORDER BY n",
        """
        item-000001 | Title 1 | 1 | 1.25 | ["a","b"] | 2026-11-30T02:27:18.078Z
        item-000130 | Title 130 | 130 | 162.5 | [] | 2026-11-30T02:27:18.253Z
        """
      )),
    Shape(
      folder: "stripe", paging: "keyset", entity: StripeCustomer.self, api: "stripe",
      routes: Payloads.recorded("stripe", "/v1/customers").map { $0.at("/customers") }, requests: 3, rows: 50,
      spot: (
        "SELECT * FROM stripe_customer WHERE name = 'Customer 50'",
        "cus_aa67YwYRXsPHiX | Customer 50 | c50@example.com | 2026-11-30T02:07:29.000Z | 0"
      )),
  ]
}
