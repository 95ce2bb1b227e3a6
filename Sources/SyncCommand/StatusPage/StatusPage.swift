import SyncEngine

/// The page for people: all of it in one answer, made here, and kept fresh by a script of its own.
///
/// Its size is bounded: of many entities the first have plots, and those behind the last that is shown are counted.
/// Those that need a person come first, the others in the order of their declaration.
enum StatusPage {
  private static let withPlots = 60
  private static let shown = 1000

  static func html(_ snapshot: ServiceSnapshot) -> String {
    let states = snapshot.entities.map { EntityState($0) }
    let bad = states.count { $0.isBad }
    var html = HTMLText()
    html.add(
      markup: """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="robots" content="noindex">
        <noscript><meta http-equiv="refresh" content="5"></noscript>
        <link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath \
        d='M3 4h10M3 8h10M3 12h6' stroke='%231d5fbf' stroke-width='2'/%3E%3C/svg%3E">
        <title>
        """)
    html.add(bad > 0 ? "(\(bad)) \(snapshot.program)" : snapshot.program)
    html.add(markup: "</title>\n<style>")
    html.add(markup: style)
    html.add(
      markup:
        "</style>\n</head>\n<body>\n<p id=\"connection\" role=\"status\" hidden></p>\n<main data-started=\"")
    html.add("\(snapshot.started)")
    html.add(markup: "\">\n")
    addHeader(snapshot, states, to: &html)
    addEntities(snapshot, states, to: &html)
    html.add(markup: "\n<footer><span>As of ")
    ClockTime.add(snapshot.now, at: snapshot.now, to: &html)
    html.add(
      markup: """
        </span> <a href="metrics">metrics</a> <a href="healthz">health</a> <a href="readyz">readiness</a></footer>
        </main>
        <script>
        """)
    html.add(markup: script)
    html.add(markup: "</script>\n</body>\n</html>\n")
    return html.source
  }

  private static func addHeader(_ snapshot: ServiceSnapshot, _ states: [EntityState], to html: inout HTMLText)
  {
    html.add(markup: "<header>")
    html.element("h1", snapshot.program)
    html.add(markup: "<p class=\"sum\">")
    let good = states.count { $0 == .ok || $0 == .running }
    html.element("b", "\(grouped(good)) of \(grouped(states.count)) ok")
    for state in [EntityState.failing, .refused, .notYet] {
      let count = states.count { $0 == state }
      if count > 0 { html.add(", \(grouped(count)) \(state.rawValue)") }
    }
    html.add(markup: "</p>")
    if let problem = ServiceHealth(snapshot).problem {
      html.element("p", class: "alarm", "Not healthy: \(problem).")
    }
    html.add(markup: "<p class=\"about\">")
    html.element("span", "version \(snapshot.version)")
    html.add(markup: " <span>store <bdi>")
    html.add(snapshot.store)
    html.add(markup: "</bdi></span> ")
    html.element("span", "up \(Span.text(Span.between(snapshot.started, snapshot.now)))")
    let alerts = snapshot.alerts
    if alerts != ServiceSnapshot.AlertCounts() {
      html.add(" ")
      html.element(
        "span",
        "alerts: \(grouped(alerts.sent)) sent, \(grouped(alerts.failed)) failed, \(grouped(alerts.dropped)) dropped"
      )
    }
    html.add(markup: "</p></header>\n")
  }

  private static func addEntities(
    _ snapshot: ServiceSnapshot, _ states: [EntityState], to html: inout HTMLText
  ) {
    let pairs = zip(snapshot.entities, states)
    let ordered = pairs.filter { $1.isBad } + pairs.filter { !$1.isBad }
    for (index, (entity, _)) in ordered.prefix(shown).enumerated() {
      EntityCard(entity, in: snapshot, isBrief: index >= withPlots).add(to: &html)
      html.add(markup: "\n")
    }
    if ordered.count > shown {
      html.element("p", class: "note", "And \(grouped(ordered.count - shown)) more.")
    }
    if ordered.isEmpty { html.element("p", class: "note", "No entity is synced.") }
  }
}
