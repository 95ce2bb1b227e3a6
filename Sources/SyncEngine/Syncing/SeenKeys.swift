/// The keys that the walks of a run have seen, and which of them came with no record because their page was the same.
struct SeenKeys: Sendable {
  var index = KeyIndex()
  /// Position of the next row of the run.
  var nextOrdinal = 0
  /// Positions of keys without a record, in their order; those that follow each other are one range.
  private var keptPositions: [Range<Int>] = []
  /// Rows that are known to be as they were.
  private(set) var keptRows = 0

  mutating func keep(_ positions: Range<Int>, rows: Int) {
    keptRows += rows
    if let last = keptPositions.last, last.upperBound == positions.lowerBound {
      keptPositions[keptPositions.count - 1] = last.lowerBound..<positions.upperBound
    } else {
      keptPositions.append(positions)
    }
  }

  func isKept(_ position: Int) -> Bool {
    var candidates = keptPositions[...]
    while let middle = candidates.indices.middle {
      let range = candidates[middle]
      if range.contains(position) { return true }
      candidates = position < range.lowerBound ? candidates[..<middle] : candidates[(middle + 1)...]
    }
    return false
  }

  /// A record came for the key at a position.
  mutating func supersede(_ position: Int) {
    if !keptPositions.isEmpty, isKept(position) { keptRows -= 1 }
  }
}

extension Range<Int> {
  fileprivate var middle: Int? { isEmpty ? nil : lowerBound + (upperBound - lowerBound) / 2 }
}
