import TestSupport

/// Small random numbers that are the same in every run.
struct SeededBytes {
  private var generator: SeededGenerator

  init(_ seed: UInt64) { generator = SeededGenerator(seed) }

  /// 0 up to but not including `bound`.
  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }

  mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }

  mutating func digits(_ count: Int) -> String { (0..<count).map { _ in String(below(10)) }.joined() }

  mutating func number(in range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &generator) }
}
