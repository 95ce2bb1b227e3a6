/// The keys that the walks of a run have seen, and which of them came with no record because their page was the same.
struct SeenKeys: Sendable {
  var index = KeyIndex()
  /// Position of the next row of the run.
  var nextOrdinal = 0
  /// Positions of keys without a record.
  private var keptPositions: [Range<Int>] = []
  /// Rows that are known to be as they were.
  private(set) var keptRows = 0

  mutating func keep(_ positions: Range<Int>, rows: Int) {
    keptPositions.append(positions)
    keptRows += rows
  }

  func isKept(_ position: Int) -> Bool { keptPositions.contains { $0.contains(position) } }

  /// A record came for the key at a position.
  mutating func supersede(_ position: Int) {
    if !keptPositions.isEmpty, isKept(position) { keptRows -= 1 }
  }
}
