/// The keys that the walks of a run have seen, and which of them came with no record because their page was the same.
package struct SeenKeys: Sendable {
  package internal(set) var index = KeyIndex()
  /// Keys of records inside of such pages' records, by the position of their list in ``DecodingPlan/allNested``.
  private(set) var keptNested: [Int: KeyIndex] = [:]
  /// Position of the next row of the run.
  var nextOrdinal = 0
  /// Positions of keys without a record, in their order; those that follow each other are one range.
  private var keptPositions: [Range<Int>] = []
  /// Rows that are known to be as they were.
  package private(set) var keptRows = 0
  /// The pages that they stand on, in the order of their positions.
  private var keptPages: [(name: String, positions: Range<Int>)] = []

  mutating func keepNested(_ key: UnsafeBufferPointer<UInt8>, table: Int) {
    keptNested[table, default: KeyIndex()].insert(key, ordinal: 0)
  }

  mutating func keep(_ positions: Range<Int>, rows: Int, page: String) {
    keptRows += rows
    keptPages.append((page, positions))
    if let last = keptPositions.last, last.upperBound == positions.lowerBound {
      keptPositions[keptPositions.count - 1] = last.lowerBound..<positions.upperBound
    } else {
      keptPositions.append(positions)
    }
  }

  func isKept(_ position: Int) -> Bool { keptRange(around: position) != nil }

  /// Positions around this one of keys without a record; nil where it is not one.
  package func keptRange(around position: Int) -> Range<Int>? {
    var candidates = keptPositions[...]
    while let middle = candidates.indices.middle {
      let range = candidates[middle]
      if range.contains(position) { return range }
      candidates = position < range.lowerBound ? candidates[..<middle] : candidates[(middle + 1)...]
    }
    return nil
  }

  /// The names of pages with a key that came with no record and that is not among those at `positions`.
  package func keptPages(lackingAllBut positions: Set<Int>) -> Set<String> {
    let lacking = index.ordinals.filter { isKept($0) && !positions.contains($0) }.sorted()
    var names: Set<String> = []
    var rest = lacking[...]
    for (name, range) in keptPages {
      rest = rest.drop { $0 < range.lowerBound }
      if let first = rest.first, range.contains(first) { names.insert(name) }
    }
    return names
  }

  /// A record came for the key at a position.
  mutating func supersede(_ position: Int) {
    if !keptPositions.isEmpty, isKept(position) { keptRows -= 1 }
  }
}

extension Range<Int> {
  fileprivate var middle: Int? { isEmpty ? nil : lowerBound + (upperBound - lowerBound) / 2 }
}
