import PostgresStore
import SQLiteStore
import SyncCommand
import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The replay cases' declarations behind the real command line: `SYNCD_CASE` names the variant.
@main
struct Main: SyncCommand {
  static let variants: [String: any Entity.Type] = [
    "001": MissingNullNested.Person.self, "001-null": MissingNullNested.MissingIsNull.self,
    "002": ExactIntegers.Event.self,
    "004": DecimalMoney.Invoice.self,
    "005": BooleanForms.Flag.self,
    "006": DateForms.Entry.self, "006-utc": DateForms.UTCEntry.self,
    "007": TypedCoercion.Score.self, "007-empty": TypedCoercion.EmptyIsNull.self,
    "012a": RecordsShape.ListOrObject.self, "012b": RecordsShape.OnlyList.self,
    "012c": RecordsShape.Rate.self, "012c-list": RecordsShape.ListedRate.self,
    "012d": RecordsShape.Officer.self,
    "012e": RecordsShape.NullElement.self, "012e-skip": RecordsShape.SkippedElement.self,
    "014": DuplicateKey.Item.self,
    "015a": NullKey.Membership.self, "015a-skip": NullKey.Skipping.self, "015b": NullKey.Thing.self,
    "010-bom": BodyBytes.Item<BodyBytes.ByteOrderMark>.self,
    "010-latin1": BodyBytes.Item<BodyBytes.Latin1>.self, "010-bad": BodyBytes.Item<BodyBytes.Bad>.self,
    "010-trail": BodyBytes.Item<BodyBytes.Trailing>.self,
    "010-concat": BodyBytes.Item<BodyBytes.Concatenated>.self,
    "010-comma": BodyBytes.Item<BodyBytes.Comma>.self, "010-zero": BodyBytes.Item<BodyBytes.Zero>.self,
    "010-ndjson": BodyBytes.Item<BodyBytes.Lines>.self,
    "010-ndjson2": BodyBytes.Item<BodyBytes.TwoOnALine>.self,
    "011": NotRecords.Item.self, "011-errors": NotRecords.Declared.self,
    "017": LinkHeaderPages.Item.self, "017-single": LinkHeaderPages.Single.self,
    "019-self": NextCycle.Itself.self, "019-aba": NextCycle.Alternating.self,
    "019-grow": NextCycle.Growing.self,
    "020-clamp": PageNumberEnd.Clamp.self, "020-notfound": PageNumberEnd.NotFound.self,
    "020-badreq": PageNumberEnd.BadRequest.self, "020-empty": PageNumberEnd.Empty.self,
    "020-first404": PageNumberEnd.First404.self, "020-notfound-strict": PageNumberEnd.NotFoundStrict.self,
    "025-secs": RetryAfter.Item<RetryAfter.Secs>.self, "025-date": RetryAfter.Item<RetryAfter.Date>.self,
    "025-s503": RetryAfter.Item<RetryAfter.S503>.self, "025-past": RetryAfter.Item<RetryAfter.Past>.self,
    "025-neg": RetryAfter.Item<RetryAfter.Neg>.self, "025-nan": RetryAfter.Item<RetryAfter.Nan>.self,
    "025-none": RetryAfter.Item<RetryAfter.None>.self, "025-huge": RetryAfter.Item<RetryAfter.Huge>.self,
    "025-always": RetryAfter.Item<RetryAfter.Always>.self,
    "023a": CursorEncoding.Item.self, "023b": CursorEncoding.Ready.self,
    "026": BadGateway.Item.self,
    "028-gzip": ContentEncoding.Item<ContentEncoding.Gzip>.self,
    "028-xgzip": ContentEncoding.Item<ContentEncoding.XGzip>.self,
    "028-zlib": ContentEncoding.Item<ContentEncoding.Zlib>.self,
    "028-raw": ContentEncoding.Item<ContentEncoding.RawDeflate>.self,
    "028-lie": ContentEncoding.Item<ContentEncoding.Lie>.self,
    "028-cut": ContentEncoding.Item<ContentEncoding.Cut>.self,
    "028-crc": ContentEncoding.Item<ContentEncoding.Checksum>.self,
    "028-hidden": ContentEncoding.Item<ContentEncoding.Hidden>.self,
    "028-br": ContentEncoding.Item<ContentEncoding.Brotli>.self,
    "030": SlowDrip.Item<SlowDrip.Drip>.self, "030-silent": SlowDrip.Item<SlowDrip.Silent>.self,
    "030-halfhead": SlowDrip.Item<SlowDrip.HalfHead>.self, "030-stall": SlowDrip.Item<SlowDrip.Stall>.self,
    "032": NotModified.Item.self, "032-field": NotModified.WithField.self,
    "033": PartialCrawl.Item.self, "033-max2": PartialCrawl.TwoPages.self,
    "033-skip": PartialCrawl.Skipping.self,
    "034": EmptyList.Item.self, "034-allow-empty": EmptyList.AllowingEmpty.self,
    "035-p10": ScopedDelete.Ten.self, "035-p10-empty": ScopedDelete.EmptyTen.self,
    "035-p20": ScopedDelete.Twenty.self,
    "038": ReplaceSideEffects.Parent.self,
    "040": BindVariableLimit.Wide.self,
    "041": ReservedIdentifiers.Order.self, "041-twins": ReservedIdentifiers.Twins.self,
    "041-inject": ReservedIdentifiers.Inject.self,
    "043": NotNullPartial.Person.self,
    "044": BusyStore.Item.self,
    "046": Watermarks.Checked.self, "047": Watermarks.Item<Watermarks.None>.self,
    "047-60s": Watermarks.Item<Watermarks.Minute>.self, "047-1s": Watermarks.Item<Watermarks.Second>.self,
    "049": OneTimestamp.Item.self, "049-tie": OneTimestamp.Tied.self,
    "050": OverlappingRuns.Item.self, "schedule": OverlappingRuns.Scheduled.self,
    "051": Stopped.Item.self,
    "052": TwoProcesses.Item.self, "052-b": TwoProcesses.OtherItem.self,
    "054": SecretInLogs.Item.self, "054-path": SecretInLogs.InPath.self, "054-link": SecretInLogs.Linked.self,
    "bench": BenchBook.self, "resume": ResumedItem.self,
    "auth-refresh": Authorized.Refreshed.self, "auth-login": Authorized.LoggedIn.self,
    "auth-basic": Authorized.Basic.self, "auth-signed": Authorized.Signed.self,
  ]

  static let ownVariables = ["SYNCD_CASE", "SYNCD_KILL_STEP"]
  static let stores: [any Store.Type] = [SQLite.self, PostgreSQL.self]

  static var entities: [any Entity.Type] {
    let name = getenv("SYNCD_CASE").map { String(cString: $0) } ?? ""
    // The case's own limit for a busy store.
    if name == "044" { setenv("SYNCD_BUSY", "5s", 1) }
    guard let entity = variants[name] else {
      print("SYNCD_CASE is \"\(name)\"; there are \(variants.keys.sorted().joined(separator: ", "))")
      exit(2)
    }
    return [entity]
  }
}

extension API {
  static let `case` = API("case", url: "http://127.0.0.1:1/")
}
