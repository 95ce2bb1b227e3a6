import SyncEngine

import struct FoundationEssentials.Date

/// 006: fractions, offsets, seconds and milliseconds since 1970, dates before 1970.
enum DateForms {
  struct Entry: Entity {
    var id: Int64 = 0
    var atISO: Date?
    var atS: Date?
    var atMS: Date?
    var day: Day?
    static let table = "log"
    static let source = Source(.case, "log", paging: .none)
    static var mapping: Mapping<Entry> {
      Key(\.id)
      Field(\.atISO, .iso8601)
      Field(\.atS, .unixSeconds)
      Field(\.atMS, .unixMilliseconds)
      Field(\.day)
    }
  }

  struct UTCEntry: Entity {
    var id: Int64 = 0
    var atISO: Date?
    var atS: Date?
    var atMS: Date?
    var day: Day?
    static let table = "log"
    static let source = Source(.case, "log", paging: .none)
    static var mapping: Mapping<UTCEntry> {
      Key(\.id)
      Field(\.atISO, .iso8601(zone: .utc))
      Field(\.atS, .unixSeconds)
      Field(\.atMS, .unixMilliseconds)
      Field(\.day)
    }
  }
}
