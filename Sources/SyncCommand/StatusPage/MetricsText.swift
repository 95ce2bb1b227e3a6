/// Text of Prometheus' exposition format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
///
/// ```
/// # HELP syncd_rows Rows of the table.
/// # TYPE syncd_rows gauge
/// syncd_rows{entity="book"} 5
/// ```
struct MetricsText {
  enum Kind: String { case counter, gauge, histogram }
  typealias Labels = [(name: String, value: String)]

  private(set) var text = ""

  /// One metric with its samples; nothing where there is none.
  mutating func add(
    _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: Labels, value: Double?)]
  ) {
    let samples = samples.compactMap { sample in sample.value.map { (sample.labels, $0) } }
    guard !samples.isEmpty else { return }
    begin(name, kind, help)
    for (labels, value) in samples { line(name, labels, value) }
  }

  /// One metric with one sample and no label.
  mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double?) {
    add(name, kind, help, [([], value)])
  }

  /// - Parameter series: counts by bucket, not cumulative, the last one of what is above all bounds; and the sum of all values.
  mutating func addHistogram(
    _ name: String, _ help: String, bounds: [Double], _ series: [(labels: Labels, counts: [Int], sum: Double)]
  ) {
    guard !series.isEmpty else { return }
    begin(name, .histogram, help)
    for (labels, counts, sum) in series {
      var count = 0
      for (bound, step) in zip(bounds + [.infinity], counts) {
        count += step
        line(name + "_bucket", labels + [("le", Self.number(bound))], Double(count))
      }
      line(name + "_sum", labels, sum)
      line(name + "_count", labels, Double(count))
    }
  }

  private mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  private mutating func line(_ name: String, _ labels: Labels, _ value: Double) {
    text += name
    for (index, label) in labels.enumerated() {
      text += index == 0 ? "{" : ","
      text += "\(label.name)=\"\(Self.escaped(label.value))\""
    }
    text += labels.isEmpty ? " " : "} "
    text += Self.number(value) + "\n"
  }

  private static func number(_ value: Double) -> String {
    if value == .infinity { return "+Inf" }
    return Int64(exactly: value).map { String($0) } ?? String(value)
  }

  private static func escaped(_ value: String) -> String {
    var out = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": out += #"\\"#
      case "\"": out += #"\""#
      case "\n": out += #"\n"#
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }
}
