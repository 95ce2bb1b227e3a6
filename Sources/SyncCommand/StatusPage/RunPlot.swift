import SyncEngine

/// A small drawing of the last runs: a bar for each, the newest on the right.
struct RunPlot {
  /// Of bars from below, one on the other.
  struct Layer {
    var style: StaticString
    /// One for each run.
    var values: [Double]
  }

  private static let slots = 60
  private static let slotWidth = 4
  private static let height = 32.0

  /// What a screen reader says.
  var title: String
  var caption: HTMLText
  var layers: [Layer]

  var html: HTMLText {
    var html = HTMLText()
    html.add(markup: "<figure><figcaption>")
    html.add(caption)
    html.add(
      markup:
        "</figcaption><svg viewBox=\"0 0 240 33\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"")
    html.add(title)
    html.add(markup: "\"><title>")
    html.add(title)
    html.add(markup: "</title><path class=\"base\" d=\"M0 32.5h240\"/>")
    for (style, path) in paths {
      html.add(markup: "<path class=\"")
      html.add(markup: style)
      html.add(markup: "\" d=\"")
      html.add(path)
      html.add(markup: "\"/>")
    }
    html.add(markup: "</svg></figure>")
    return html
  }

  private var paths: [(StaticString, String)] {
    let count = layers.first?.values.count ?? 0
    let sums = (0..<count).map { run in layers.reduce(0) { $0 + $1.values[run] } }
    guard let largest = sums.max(), largest > 0 else { return [] }
    var paths = layers.map { ($0.style, "") }
    for run in max(0, count - Self.slots)..<count {
      let x = (Self.slots - (count - run)) * Self.slotWidth + Self.slotWidth / 2
      var bottom = Self.height
      for (index, layer) in layers.enumerated() where layer.values[run] > 0 {
        // What is there at all can be seen.
        let height = max(1.5, layer.values[run] / largest * Self.height)
        let top = max(0, bottom - height)
        paths[index].1 += "M\(x) \(Self.short(bottom))V\(Self.short(top))"
        bottom = top
      }
    }
    return paths.filter { !$0.1.isEmpty }
  }

  /// With one digit behind the point.
  private static func short(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}

extension RunPlot {
  /// How long runs took; those that came to nothing in another colour.
  static func durations(of runs: [RunRecord]) -> RunPlot {
    let spans = runs.map { Span.between($0.started, $0.finished) }
    let failed = runs.map { $0.outcome == .failed || $0.outcome == .refused }
    let count = failed.count { $0 }
    let (last, longest) = (Span.text(spans.last ?? .zero), Span.text(spans.max() ?? .zero))
    var caption = HTMLText()
    caption.element("b", last)
    caption.add(", max \(longest)")
    return RunPlot(
      title:
        "How long the last \(runs.count) runs took: the last \(last), the longest \(longest), the shortest \(Span.text(spans.min() ?? .zero)); \(count) came to nothing",
      caption: caption,
      layers: [
        Layer(style: "time", values: zip(spans, failed).map { $1 ? 0 : max(0.001, $0.inSeconds) }),
        Layer(style: "bad", values: zip(spans, failed).map { $1 ? max(0.001, $0.inSeconds) : 0 }),
      ])
  }

  /// Rows that runs changed.
  static func changes(of runs: [RunRecord]) -> RunPlot {
    func sum(_ count: (RunRecord) -> Int) -> Int { runs.reduce(0) { $0 + count($1) } }
    let (inserted, updated, deleted) = (sum(\.inserted), sum(\.updated), sum(\.deleted))
    var caption = HTMLText()
    for (style, sign, number) in [
      ("inserted", "+", inserted), ("updated", "~", updated), ("deleted", "−", deleted),
    ]
      as [(StaticString, String, Int)]
    {
      caption.element("b", class: style, sign + brief(number))
      caption.add(" ")
    }
    return RunPlot(
      title:
        "Changes of the last \(runs.count) runs: \(grouped(inserted)) rows inserted, \(grouped(updated)) updated, \(grouped(deleted)) deleted",
      caption: caption,
      layers: [
        Layer(style: "inserted", values: runs.map { Double($0.inserted) }),
        Layer(style: "updated", values: runs.map { Double($0.updated) }),
        Layer(style: "deleted", values: runs.map { Double($0.deleted) }),
      ])
  }

  /// `950`, `12,345`, `200k`, `12.3M`, `1234M`: short enough for a caption.
  private static func brief(_ number: Int) -> String {
    switch number {
    case ..<100_000: grouped(number)
    case ..<1_000_000: "\(number / 1000)k"
    case ..<100_000_000: "\(number / 1_000_000).\(number / 100_000 % 10)M"
    default: "\(number / 1_000_000)M"
    }
  }
}
