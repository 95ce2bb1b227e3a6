import SyncEngine

import struct FoundationEssentials.Date

/// Cut into windows of an hour.
struct Event: Entity {
  var id = 0
  var at = Date(timeIntervalSince1970: 0)
  var version = 0
  var asOf = 0

  private static let since = Date(timeIntervalSince1970: Double(Main.number("SYNCD_TEST_SINCE") ?? 0))

  static let source = Source(
    .farm, "events", rows: "rows",
    paging: .windows(
      from: "from", to: "to", since: since, step: .seconds(3600), .unixSeconds, paging: .next("next")),
    slices: .windows)

  static var mapping: Mapping<Event> {
    Key(\.id)
    Field(\.at, .unixSeconds)
    Field(\.version)
    Field(\.asOf, "as_of")
  }

  static let deletion = Deletion<Event>.missing(atMost: 1)
}
