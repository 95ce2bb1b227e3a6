import SyncEngine

/// What the status page shows of one entity.
struct EntityCard {
  private let entity: EntitySnapshot
  private let snapshot: ServiceSnapshot
  /// Whether it has no plots and little of its errors: one of many.
  private let isBrief: Bool

  init(_ entity: EntitySnapshot, in snapshot: ServiceSnapshot, isBrief: Bool) {
    (self.entity, self.snapshot, self.isBrief) = (entity, snapshot, isBrief)
  }

  /// Characters of a text that are shown at most.
  private var textLimit: Int { isBrief ? 300 : 4000 }

  func add(to html: inout HTMLText) {
    let state = EntityState(entity)
    html.open("article", state.style)
    html.add(markup: "<div class=\"who\"><h2><bdi>")
    html.add(entity.name)
    html.add(markup: "</bdi></h2>")
    html.element("p", class: "state", state.rawValue)
    html.add(markup: "<p class=\"from\"><bdi>")
    html.add(entity.api)
    html.add(markup: "</bdi> → <bdi>")
    html.add(entity.table)
    html.add(markup: "</bdi></p></div><dl>")
    addFacts(to: &html)
    html.add(markup: "</dl>")
    if !isBrief, !entity.runs.isEmpty {
      html.add(RunPlot.durations(of: entity.runs).html)
      html.add(RunPlot.changes(of: entity.runs).html)
    }
    if let running = entity.running { add(running, to: &html) }
    if entity.failures > 0 {
      addNote(class: "error", failure(state), entity.lastError ?? "", to: &html)
    } else if let last = entity.runs.last, last.outcome == .unproven, let reason = last.reason {
      addNote(class: "note", "Not proven complete, so nothing was deleted", reason, to: &html)
    }
    html.close("article")
  }

  private func failure(_ state: EntityState) -> String {
    if entity.failures > 1 { return "\(grouped(entity.failures)) runs in a row came to nothing" }
    return state == .refused ? "The last run was refused" : "The last run failed"
  }

  private func addFacts(to html: inout HTMLText) {
    let now = snapshot.now
    let isLate = entity.failures == 0 && ServiceHealth.lateness(of: entity, in: snapshot) != nil
    html.add(markup: "<div><dt>Last success</dt><dd>")
    if let last = entity.lastSuccess {
      html.element(
        "span", class: isLate ? "late" : "", Span.text(since: last, at: now) + (isLate ? ", late" : ""))
      html.add(markup: " <small>")
      ClockTime.add(last, at: now, to: &html)
      html.add(markup: "</small>")
    } else {
      html.add("none yet")
    }
    html.add(markup: "</dd></div><div><dt>Rows</dt><dd>")
    html.add(entity.rows.map(grouped) ?? "–")
    html.add(markup: "</dd></div><div><dt>Next run</dt><dd>")
    html.add(entity.nextRun.map { Span.text(until: $0, at: now) } ?? "–")
    html.element("small", " every \(Span.exact(entity.interval))")
    html.add(markup: "</dd></div>")
  }

  private func add(_ running: EntitySnapshot.Running, to html: inout HTMLText) {
    html.add(markup: "<p class=\"progress\">")
    if let total = running.total, total > 0 {
      html.add(markup: "<progress aria-label=\"records read\" max=\"")
      html.add("\(total)")
      html.add(markup: "\" value=\"")
      html.add("\(min(running.records, total))")
      html.add(markup: "\"></progress> ")
    }
    let records =
      running.total.map { "\(grouped(running.records)) of \(grouped($0))" } ?? grouped(running.records)
    html.add(
      "Running for \(Span.text(Span.between(running.started, snapshot.now))): \(records) records, \(grouped(running.pages)) \(running.pages == 1 ? "page" : "pages"), \(megabytes(running.bytes)) MB"
    )
    html.add(markup: "</p>")
  }

  /// A sentence and a text, which is folded where it is long.
  private func addNote(class style: StaticString, _ sentence: String, _ text: String, to html: inout HTMLText)
  {
    var text = text
    let rest = text.unicodeScalars.count - textLimit
    if rest > 0 {
      text =
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(textLimit)))
        + "… (\(grouped(rest)) more characters)"
    }
    guard text.count > 240 || text.contains(where: \.isNewline) else {
      html.open("p", style)
      html.element("b", text.isEmpty ? sentence : sentence + ":")
      html.add(markup: " <bdi>")
      html.add(text)
      html.add(markup: "</bdi></p>")
      return
    }
    html.add(markup: "<details class=\"")
    html.add(markup: style)
    html.add(markup: "\" data-entity=\"")
    html.add(entity.name)
    html.add(markup: "\"><summary>")
    html.element("b", sentence + ":")
    html.add(markup: " <bdi>")
    let first = text.split(whereSeparator: \.isNewline).first ?? ""
    html.add(first.count > 120 ? "\(first.prefix(120))…" : String(first))
    html.add(markup: "</bdi></summary><pre><bdi>")
    html.add(text)
    html.add(markup: "</bdi></pre></details>")
  }
}
