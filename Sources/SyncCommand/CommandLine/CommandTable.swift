/// The commands and their options, in one place: parsing and help both read it.
enum CommandName: String, CaseIterable {
  case once, watch, plan, check, explain, get, status, rejects, schema, rebuild, backup, doctor, config
  case completions, manual

  var summary: String {
    switch self {
    case .once: "sync now, all entities or those named"
    case .watch: "sync on an interval until stopped"
    case .plan: "what a run would do: inserts, updates, deletions; nothing is written"
    case .check: "declarations, configuration, store and one page of each source"
    case .explain: "each request, its answer, and why the pages ended"
    case .get: "the first records as they would be stored, as JSON lines"
    case .status: "last runs, rows, age, errors"
    case .rejects: "records that were left out as bad, and why"
    case .schema: "the SQL of the tables"
    case .backup: "copy the store into a file while runs go on"
    case .doctor: "what keeps runs from working, or soon will, and what to do"
    case .rebuild: "make the tables what the declarations ask for now"
    case .config: "the values that hold, and where each comes from"
    case .completions: "a script that completes commands, options and entities in a shell"
    case .manual: "the manual page, for man(1)"
    }
  }

  var discussion: String {
    switch self {
    case .once:
      """
      Fetches every page of each entity, then writes the rows in one transaction per entity. Parents come before
      their children. Where one entity fails, the others are synced all the same.
      """
    case .watch:
      """
      Runs each entity at once and then on its schedule, children after their parents. Runs of one entity never overlap,
      and runs that were missed are not made up for. An entity that fails is tried again after 5 s at the latest, then
      after twice as long each time, up to half a minute (longer where it fails slowly); all are tried at once when one
      of them recovers. SIGTERM and SIGINT end it with status 0 within 5 s; what is under way is given up, and the store
      stays as it was. SIGHUP reads the configuration again, SIGUSR1 syncs everything now.
      """
    case .plan:
      """
      Fetches every page and compares the records with what is stored. A line for each row: + inserted, ~ updated (column:
      old → new), - deleted, ? missing from the source but kept, and why. Status 5 where a run would change anything, 0
      where it would not.
      """
    case .check:
      "Writes nothing. Says which columns no record of the first page had a value for."
    case .explain:
      """
      Walks over all pages as a run does, and writes nothing: one line for each page, without secrets, and at the end
      whether the walk was provably complete.
      """
    case .get:
      "Reads as many pages as it needs, and writes nothing. A column that a record does not have is left out."
    case .status:
      "Reads the store only; no source is asked."
    case .rejects:
      """
      Reads the store only. Lists what runs left out where bad records are quarantined, the oldest first; with
      --log-format json each record is in its line, which is an export.
      """
    case .rebuild:
      """
      Changes types, keys and nullability in one transaction per table, and keeps rows, local columns, indexes and
      triggers. Values that do not fit their new type are named, and then nothing is changed. Columns that are no
      longer declared stay, unless --drop-columns is given. A table that this program did not make is left as it is.
      """
    case .config:
      """
      Each key with its value and the place that says so: the file, its profile, a variable, an option, or the
      declaration. Secrets are shown by their references. Nothing is asked or opened.
      """
    case .backup:
      """
      The store as it is at one moment, checked, for its owner alone (mode 0600). FILE appears when it is whole; one that
      is there is replaced only if it is an earlier backup of the same store. To restore, see the documentation.
      PostgreSQL: pg_dump writes the store's schema in its custom format.
      """
    case .doctor:
      """
      Looks at the configuration, secrets, the store's integrity, tables, disks, certificates, the clock, the APIs and the
      last runs. A line for each: ok, warn, or FAIL, with what to do below it. Status 1 where anything failed. Each API is
      asked for its base address once, without credentials.
      """
    case .schema:
      "Needs no store: it prints what a first run would create."
    case .completions:
      """
      For the shell that runs: source <(\(programName) completions bash), the same with zsh, or in fish
      \(programName) completions fish | source.
      """
    case .manual:
      "To read it: \(programName) manual | man -l -"
    }
  }

  var takesEntities: Bool {
    switch self {
    case .status, .backup, .config, .completions, .manual: false
    default: true
    }
  }

  /// The one word that stands behind the command, where that is no entity: written as a value of an option is.
  var operand: String? {
    switch self {
    case .completions: Completions.Shell.allCases.map(\.rawValue).joined(separator: "|")
    case .backup: "FILE"
    default: nil
    }
  }

  /// The command and what stands behind it: `once [ENTITY …]`.
  var usage: String {
    if takesEntities { return "\(rawValue) [ENTITY …]" }
    return operand.map { "\(rawValue) \($0)" } ?? rawValue
  }

  /// How the configuration is found, and what it says of the log: options of every command.
  private static let general: [CommandOption] = [.config, .profile, .store]
  private static let logging: [CommandOption] = [.logFormat, .logLevel, .verbose, .trace, .quiet]

  var options: [CommandOption] {
    let own: [CommandOption] =
      switch self {
      case .once: [.atomic, .full, .noResume, .allowDeletes, .changes, .wait] + Self.logging
      case .watch: [.interval, .parallel, .shared, .worker, .http, .noResume, .wait] + Self.logging
      case .plan: [.full, .allowDeletes, .json, .logFormat, .quiet]
      case .explain, .check, .schema: []
      case .get: [.limit]
      case .status: [.runs, .limit, .json, .logFormat]
      case .rejects: [.json, .logFormat]
      case .rebuild: [.wait, .dropColumns]
      case .backup: [.logFormat, .quiet]
      case .doctor: [.quick, .offline, .json, .logFormat, .quiet]
      case .config: [.interval, .parallel, .shared, .worker, .http, .wait, .json] + Self.logging
      case .completions, .manual: []
      }
    // Those two are answered before there is a configuration.
    let isGeneral = self != .completions && self != .manual
    return (isGeneral ? Self.general : []) + own + [.help]
  }
}

enum CommandOption: String, CaseIterable {
  case config = "--config"
  case profile = "--profile"
  case store = "--store"
  case interval = "--interval"
  case parallel = "--parallel"
  case shared = "--shared"
  case worker = "--worker"
  case http = "--http"
  case wait = "--wait"
  case logFormat = "--log-format"
  case logLevel = "--log-level"
  case verbose = "--verbose"
  case json = "--json"
  case quiet = "--quiet"
  case atomic = "--atomic"
  case full = "--full"
  case noResume = "--no-resume"
  case allowDeletes = "--allow-deletes"
  case changes = "--changes"
  case runs = "--runs"
  case trace = "--trace"
  case limit = "--limit"
  case dropColumns = "--drop-columns"
  case quick = "--quick"
  case offline = "--offline"
  case help = "--help"
  case version = "--version"

  /// What stands behind the option; nil for a flag.
  var value: String? {
    switch self {
    case .config: "FILE"
    case .store: "LOCATION"
    case .interval, .wait: "DURATION"
    case .profile, .worker: "NAME"
    case .http: "ADDRESS:PORT"
    case .logFormat: "text|json|journal"
    case .logLevel: "error|warning|info|debug|trace"
    case .limit, .allowDeletes, .parallel: "NUMBER"
    case .shared, .verbose, .quiet, .json, .atomic, .full, .noResume, .runs, .changes, .trace, .dropColumns,
      .quick,
      .offline, .help, .version:
      nil
    }
  }

  var summary: String {
    switch self {
    case .config:
      "configuration file (default: \(Configuration.defaultPaths.joined(separator: " or ")), if it is there)"
    case .profile: "a part of the file's \"profiles\" that holds over the rest of it"
    case .store: "where the rows are kept: a path, or scheme:… of a linked store"
    case .interval: "time from one run's start to the next one's, such as 30s, 5m or 1h (default: 5m)"
    case .wait: "how long to wait for another run of the same entity (default: 60s)"
    case .parallel: "entities that are synced at a time (default: 4)"
    case .shared: "share the work with all programs that watch with this store, which is on a server"
    case .worker: "this program's name among them (default: that of the machine)"
    case .http: "serve the status page, /metrics, /healthz and /readyz there, such as 127.0.0.1:9469"
    case .logFormat: "lines for people, JSON objects, or the systemd journal with its fields"
    case .logLevel: "what is logged (default: info)"
    case .verbose: "more lines: --log-level debug"
    case .atomic: "write all entities in one transaction, or none of them"
    case .json: "JSON lines, as --log-format json"
    case .full: "ask for every page in full, also where it has not changed"
    case .noResume: "ask for pages again that a run had read which did not end, and keep none"
    case .allowDeletes: "let each entity delete so many rows in this run, whatever its guard says"
    case .changes: "each changed row as a JSON line, in place of the line for each run"
    case .runs: "each of the last runs: when, what came of it, and why"
    case .quiet: "no progress, and a line only for what went wrong: --log-level warning"
    case .trace: "a line for each page on standard error: request, answer, what follows"
    case .limit: "how many (default: 10)"
    case .dropColumns: "drop columns that are no longer declared, with what they hold"
    case .quick: "a short check of the store's file in place of the whole one"
    case .offline: "ask no API"
    case .help: "this text"
    case .version: "the version"
    }
  }
}

enum Help {
  static let introduction = """
    Syncs REST APIs into a database: fetches every page, upserts by primary key, and deletes only what a provably
    complete walk did not see.
    """

  static func text(for command: CommandName?) -> String {
    guard let command else {
      let commands = CommandName.allCases.map {
        row($0.usage, $0.summary)
      }
      return """
        \(introduction)

        USAGE: \(programName) COMMAND [OPTIONS]

        COMMANDS:
        \(commands.joined(separator: "\n"))

        OPTIONS:
        \(row("--help", "this text, or that of a command: \(programName) once --help"))
        \(row("--version", "the version"))

        EXIT STATUS:
        \(ExitStatus.meanings.map { row($0.status, $0.meaning) }.joined(separator: "\n"))
        """
    }
    let options = command.options.map { row($0.rawValue + ($0.value.map { " \($0)" } ?? ""), $0.summary) }
    return """
      \(command.summary.prefix(1).uppercased())\(command.summary.dropFirst()).

      USAGE: \(programName) \(command.usage) [OPTIONS]

      \(command.discussion)

      OPTIONS:
      \(options.joined(separator: "\n"))
      """
  }

  private static func row(_ left: String, _ right: String) -> String {
    let gap =
      left.count < 24
      ? String(repeating: " ", count: 24 - left.count) : "\n" + String(repeating: " ", count: 26)
    return "  " + left + gap + right
  }
}
