import FoundationEssentials

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The manual page, made from the command table.
struct Manual {
  /// What the program is called.
  let program: String
  let version: String
  let entities: [String]

  /// The page in the macros of man(7).
  var text: String {
    let name = program.uppercased()
    return [
      ".TH \(Roff.argument(name)) 1 \(Self.date) \(Roff.argument("\(program) \(version)")) \"User Commands\"",
      // Left-aligned, and no word taken apart: names and options stay as they are typed.
      ".nh", ".ad l",
      Roff.section("NAME", ["\(Roff.escaped(program)) \\- sync REST APIs into a database"]),
      Roff.section("SYNOPSIS", [synopsis]),
      Roff.section(
        "DESCRIPTION",
        [
          Roff.paragraph(Help.introduction), ".PP",
          Roff.paragraph("Its entities: \(entities.joined(separator: ", "))."),
        ]),
      Roff.section("COMMANDS", CommandName.allCases.map(commandText)),
      Roff.section(
        "OPTIONS", CommandOption.allCases.map { Roff.item($0.rawValue, value: $0.value, $0.summary) }),
      Roff.section("CONFIGURATION", configuration),
      Roff.section("ENVIRONMENT", environment),
      Roff.section("FILES", files),
      Roff.section("EXIT STATUS", ExitStatus.meanings.map { Roff.item($0.status, $0.meaning) }),
      Roff.section("SIGNALS", signals),
      Roff.section("EXAMPLES", examples),
      Roff.section(
        "SEE ALSO",
        [
          """
          .BR journalctl (1),
          .BR psql (1),
          .BR sqlite3 (1),
          .BR systemd\\-creds (1),
          .BR systemd.service (5)
          """
        ]),
    ].joined(separator: "\n")
  }

  private var synopsis: String {
    """
    .B \(Roff.escaped(program))
    .I command
    .RI [ entity " ...]"
    .RI [ options ]
    .br
    .B \(Roff.escaped(program)) \\-\\-help
    .br
    .B \(Roff.escaped(program)) \\-\\-version
    """
  }

  private func commandText(_ command: CommandName) -> String {
    let summary = command.summary
    let options = command.options.map { $0.rawValue + ($0.value.map { " \($0)" } ?? "") }
    return [
      ".SS \(Roff.argument("\(program) \(command.usage)"))",
      Roff.paragraph("\(summary.prefix(1).uppercased())\(summary.dropFirst())."), ".PP",
      Roff.paragraph(command.discussion), ".PP",
      Roff.paragraph("Options: \(options.joined(separator: ", "))."),
    ].joined(separator: "\n")
  }

  /// The keys of the configuration file, with their variables and options.
  private var configuration: [String] {
    [
      Roff.paragraph(
        """
        A JSON file in which comments are allowed. What it says is overridden by variables, and they by options. \
        An unknown key is refused with the nearest name.
        """)
    ]
      + ConfigurationKey.all.map { key in
        let others = [key.variable, key.option?.rawValue].compactMap { $0 }.joined(separator: ", ")
        let standard = key.standard.map { $0.isEmpty ? "" : " Default: \($0)." } ?? ""
        return Roff.item(
          key.name, value: others.isEmpty ? key.form : "\(key.form) (\(others))",
          "\(key.meaning.prefix(1).uppercased())\(key.meaning.dropFirst()).\(standard)")
      }
      + [
        Roff.item(
          "profiles.NAME",
          "The same keys once more, which hold over the others where --profile or SYNCD_PROFILE names them.")
      ]
  }

  private var environment: [String] {
    [
      Roff.item("SYNCD_CONFIG", "The configuration file, where --config names none."),
      Roff.item("SYNCD_PROFILE", "A part of the file's profiles, where --profile names none."),
      Roff.item("SYNCD_…", "The variables under CONFIGURATION. An unknown one is warned about."),
      Roff.item("TMPDIR", "The folder in which rows wait that do not fit into memory (default /var/tmp)."),
      Roff.item("CREDENTIALS_DIRECTORY", "Where systemd puts the credentials that a secret may refer to."),
      Roff.item("NO_COLOR", "Where it is not empty, nothing is coloured."),
      Roff.item("http_proxy, https_proxy, all_proxy, no_proxy", "Proxies, as curl(1) reads them."),
      Roff.item("PGPASSFILE, PGSERVICEFILE, …", "Those of libpq, where the store is PostgreSQL."),
    ]
  }

  private var files: [String] {
    [
      Roff.item(
        Configuration.defaultPaths[0],
        "The configuration, below the working directory, where no other is named."),
      Roff.item("/etc/syncd/syncd.json", "The configuration of the service, and where there is no other."),
      Roff.item("/var/lib/syncd", "What the service keeps: by default its store, syncd.sqlite."),
      Roff.item(
        "STORE-syncd-lock",
        "Beside a SQLite file: the kernel locks bytes of it while runs go on, and forgets them with the process."
      ),
      Roff.item(
        "STORE-syncd-pages-ENTITY",
        "Beside a SQLite file: the pages that a run has read which goes on, or was ended. Its owner alone may read it."
      ),
    ]
  }

  private var signals: [String] {
    [
      Roff.item(
        "SIGTERM, SIGINT",
        """
        What is under way is given up, and its table is as before. watch ends with status 0 within seconds, the \
        other commands with 128 and the signal's number.
        """),
      Roff.item("SIGHUP", "watch reads its configuration again."),
      Roff.item("SIGUSR1", "watch syncs now."),
    ]
  }

  private var examples: [String] {
    let first = entities.first ?? "ENTITY"
    return [
      ("What would a run change?", "\(program) plan \(first)"),
      ("Sync one entity, with each page on standard error:", "\(program) once \(first) --trace"),
      ("Sync all entities every ten minutes, until stopped:", "\(program) watch --interval 10m"),
      ("When was each entity synced, and with what outcome?", "\(program) status --runs"),
      ("What does the service say?", "journalctl -u syncd -e"),
      ("Into PostgreSQL:", "SYNCD_STORE=postgresql://sync@localhost/library \(program) once"),
    ].map { "\(Roff.paragraph($0))\n\(Roff.example($1))" }
      .flatMap { [".PP", $0] }.dropFirst().map { $0 }
  }

  /// The day of `SOURCE_DATE_EPOCH` (reproducible-builds.org/specs/source-date-epoch), or today: `2026-02-03`.
  private static var date: String {
    let seconds = getenv("SOURCE_DATE_EPOCH").flatMap { Double(String(cString: $0)) }
    let date = seconds.map { Date(timeIntervalSince1970: $0) } ?? Date()
    return date.formatted(.iso8601.year().month().day())
  }
}
