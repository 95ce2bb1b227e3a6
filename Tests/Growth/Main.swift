import HTTP
import PostgresStore
import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Simulates workers that share units, against the tables of a real server, and says what it costs.
@main
struct Main {
  static let usage =
    """
    usage: Scripts/growth [MEASUREMENT …] [--workers N] [--units N] [--entities N] [--seconds N] [--rate N] [--pool N]
                          [--postgres URL]

      share     workers and units: all units due, then a steady rate, then a transaction that stays open (default)
      idle      workers that have nothing to do
      entities  1 to 1,000 entities and one worker
      slices    100 to 1,000,000 slices of one entity
      workers   1 to 1,000 workers and the same units
      check     each unit runs once in its interval, by one worker; some workers end in the middle

      --workers   1000          --units    1000000, over the entities (--entities 10)
      --seconds   60 a phase    --rate     units a second of the steady phase; by default half of what the first one reached
      --pool      60 connections that the workers share
      --postgres  a server; the measurements make a schema "\(Simulation.schemaName)" there, and drop it

    """

  struct Options {
    var workers = 1000
    var units = 1_000_000
    var entities = 10
    var seconds = 60
    var rate = 0
    var pool = 60
    var postgres = ""
    var measurements: [String] = []
  }

  static func main() async {
    do {
      var options = Options()
      var words = CommandLine.arguments.dropFirst()
      while let word = words.popFirst() {
        func value() throws -> Int {
          guard let number = words.popFirst().flatMap({ Int($0) }), number > 0 else {
            throw StoreError(usage)
          }
          return number
        }
        switch word {
        case "--workers": options.workers = try value()
        case "--units": options.units = try value()
        case "--entities": options.entities = try value()
        case "--seconds": options.seconds = try value()
        case "--rate": options.rate = try value()
        case "--pool": options.pool = try value()
        case "--postgres": options.postgres = words.popFirst() ?? ""
        case "--help":
          print(usage, terminator: "")
          return
        case "share", "idle", "entities", "slices", "workers", "check": options.measurements.append(word)
        default: throw StoreError(usage)
        }
      }
      if options.postgres.isEmpty { throw StoreError(usage) }
      let measure = Measurements(options: options)
      for name in options.measurements.isEmpty ? ["share"] : options.measurements {
        switch name {
        case "idle": try await measure.idle()
        case "entities": try await measure.entities()
        case "slices": try await measure.slices()
        case "workers": try await measure.workers()
        case "check": if try await !measure.check() { exit(1) }
        default: try await measure.share()
        }
      }
    } catch {
      let text = "\(error)\n"
      write(2, text, text.utf8.count)
      exit(2)
    }
  }
}

/// Says a line at once: measurements take minutes.
func say(_ line: String) {
  print(line)
  fflush(nil)
}
