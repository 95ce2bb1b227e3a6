import FoundationEssentials
import JSON

@testable import SyncEngine

extension API {
  static let property = API("property", url: "https://property.example.invalid/")
}

enum Shade: String, KeyValue, CaseIterable {
  case light = "Light", dark = "Dark", none = "", one = "1", yes = "true", composed = "\u{E9}", quoted =
    "\"\\"
}

enum Level: Int8, KeyValue, CaseIterable { case low = 1, high = 3, below = -1, least = -128 }

/// Thirteen digits, kept without the hyphens that they may come with.
struct ISBN: RawRepresentable, KeyValue {
  var rawValue: String
  init?(rawValue: String) {
    let digits = rawValue.utf8.filter { $0 != UInt8(ascii: "-") }
    guard digits.count == 13, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    self.rawValue = String(decoding: digits, as: UTF8.self)
  }
  private init() { rawValue = "9783161484100" }
  static let some = ISBN()
}

/// An entity with two properties of each type, one of which takes null. What they are mapped from is chosen at run
/// time.
struct Wide: Entity {
  var int8: Int8?, int16: Int16?, int32: Int32?, int64: Int64?, int: Int?
  var uint8: UInt8?, uint16: UInt16?, uint32: UInt32?, uint64: UInt64?, uint: UInt?
  var double: Double?, bool: Bool?, text: String?, url: URL?, date: Date?, shade: Shade?, level: Level?
  var list: [String]?, dictionary: [String: Double]?
  var float: Float?, decimal: Decimal?, day: Day?, duration: Duration?, uuid: UUID?, data: Data?
  var json: JSONText?, integers: [Int]?, bytes: [Int8]?, naturals: [UInt64]?, numbers: [Double]?
  var flags: [Bool]?, dates: [Date]?, isbn: ISBN?, singles: [Float]?

  var plainInt8: Int8 = 8, plainInt16: Int16 = 16, plainInt32: Int32 = 32, plainInt64: Int64 = .min
  var plainInt = -1, plainUInt8: UInt8 = 8, plainUInt16: UInt16 = 16, plainUInt32: UInt32 = 32
  var plainUInt64: UInt64 = 64, plainUInt: UInt = 0
  var plainDouble = -0.0, plainBool = true, plainText = "né", plainDate = Date(timeIntervalSince1970: -1)
  var plainURL = URL(filePath: "/default"), plainShade = Shade.none, plainLevel = Level.low
  var plainList = ["a"], plainDictionary = ["a": 0.5]
  var plainFloat: Float = 0.1, plainDecimal = Decimal(-5), plainDay = Day.leap
  var plainDuration = Duration.microseconds(-1), plainUUID = UUID(uuid: UUID.null),
    plainData = Data([0, 255])
  var plainJSON = JSONText("{}"), plainIntegers = [1, -1], plainBytes: [Int8] = [],
    plainNaturals: [UInt64] = [0]
  var plainNumbers = [0.5], plainSingles: [Float] = [0.5], plainFlags = [true], plainDates: [Date] = [],
    plainISBN = ISBN.some

  static let source = Source(.property, "wide", paging: .none)
  static var mapping: Mapping<Wide> { Key(\.plainInt) }
}

extension UUID {
  static let null: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

extension Day {
  static let leap: Day = {
    guard let day = Day("2024-02-29") else { fatalError("2024 has a leap day") }
    return day
  }()
}
