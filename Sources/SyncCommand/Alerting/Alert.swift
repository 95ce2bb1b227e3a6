import FoundationEssentials

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One event of one entity, with the run that brought it.
struct Alert: Sendable {
  let event: AlertEvent
  let entity: String
  /// The run as an object of JSON.
  let body: String

  private struct Run: Decodable {
    var outcome: String?
    var message: String?
  }

  private var run: Run? { try? JSONDecoder().decode(Run.self, from: Data(body.utf8)) }

  /// The members of the run, and before them `event`, `host` and `text`, which Slack, Mattermost, Google Chat and others show.
  var json: String {
    var members = [
      "\"event\":\(jsonText(event.rawValue))", "\"host\":\(jsonText(Self.host))",
      "\"text\":\(jsonText(text))",
    ]
    if let start = body.firstIndex(of: "{"), let end = body.lastIndex(of: "}"), run != nil {
      let inside = body[body.index(after: start)..<end]
      if inside.contains(where: { !$0.isWhitespace }) { members.append(String(inside)) }
    } else {
      members.append("\"entity\":\(jsonText(entity))")
    }
    return "{\(members.joined(separator: ","))}"
  }

  /// Variables for a command.
  var variables: [String: String] {
    let run = run
    let variables = [
      "SYNCD_EVENT": event.rawValue, "SYNCD_ENTITY": entity, "SYNCD_OUTCOME": run?.outcome ?? event.rawValue,
      "SYNCD_MESSAGE": run?.message ?? "",
    ]
    // A variable ends at a zero byte, and none may be longer than 128 kB (execve(2)).
    return variables.mapValues { $0.replacing("\0", with: " ").cut(to: 4000) }
  }

  /// `syncd on db1: book failed: page 1 (https://…): HTTP 500`
  private var text: String {
    let what =
      switch event {
      case .failure: "failed"
      case .recovery: "is in sync again"
      case .guard: "was refused by the guard"
      }
    let message = run?.message.map { ": \($0)" } ?? ""
    // A source's words may be in it, and receivers make links of <…> and call people by @.
    return "\(programName) on \(Self.host): \(entity) \(what)\(message)".cut(to: 2000)
      .replacing("<", with: "‹").replacing(">", with: "›").replacing("@", with: "＠")
  }

  private static let host: String = {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }()
}

extension String {
  /// The beginning, at most so many characters as Unicode counts scalars.
  fileprivate func cut(to limit: Int) -> String {
    unicodeScalars.count <= limit ? self : String(unicodeScalars.prefix(limit - 1)) + "…"
  }
}
