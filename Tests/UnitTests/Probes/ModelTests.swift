import Foundation
import SyncEngine
import TestSupport
import Testing

/// Many random records, in any legal spelling, against a model of the contract written in another language.
@Suite("Model of the mapping", .fewAtATime)
struct ModelTests {
  struct Sample: Entity {
    var id = 0
    var text: String?
    var n: Int?
    var first: String?
    var last: String?
    var second: String?
    var tags: [String]?
    var flag: Bool?
    var count = 5
    static let table = "thing"
    static let source = Source(.probe, "things", rows: "data", paging: .none)
    static var mapping: Mapping<Sample> {
      Key(\.id)
      Field(\.text)
      Field(\.n)
      Field(\.first, "name.first")
      Field(\.last, "name.last", .emptyAsNull)
      Field(\.second, "list[1].x")
      Field(\.tags)
      Field(\.flag)
      Field(\.count, .nullAsDefault)
    }
  }

  /// Prints, for a seed, three answers and what the table and the counts have to be after each.
  private static let model = #"""
    import json, random, sys
    R = random.Random(int(sys.argv[1]))
    # PostgreSQL has no NUL in a text, and one spelling for each JSON value.
    IS_POSTGRES = sys.argv[2] == "postgresql"
    def blank(): return R.choice(["", "", "", " ", "\n", "\t ", "\r\n"])
    def string():
        pool = "ab\"\\/\b\f\n\r\t é漢😀\u2028\x7f\x00|∅'".replace("\x00" if IS_POSTGRES else "", "")
        return "".join(R.choice(pool) for _ in range(R.choice([0, 1, 3, 8, 40, 300])))
    def spell(s):
        out = []
        for c in s:
            short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
            if R.random() < 0.2 or (ord(c) < 32 and c not in short):
                u = c.encode("utf-16-be").hex()
                h = "".join("\\u" + u[i:i+4] for i in range(0, len(u), 4))
                out.append(h.upper().replace("\\U", "\\u") if R.random() < 0.5 else h)
            elif c in short: out.append(short[c])
            elif c == "/" and R.random() < 0.5: out.append("\\/")
            else: out.append(c)
        return '"' + "".join(out) + '"'
    def junk(depth=0):
        k = R.randrange(9 if depth < 3 else 6)
        if k == 0: return R.choice(["1e400", "-0", "1.10", "18446744073709551616", "0E+5"])
        if k == 1: return '"\\ud800"'
        if k == 2: return R.choice(["true", "false", "null"])
        if k < 6: return spell(string())
        if k == 6: return "[" + ",".join(junk(depth + 1) for _ in range(R.randrange(4))) + "]"
        return "{" + ",".join(spell(R.choice(["id", "x", "first", ""])) + ":" + junk(depth + 1) for _ in range(R.randrange(4))) + "}"
    def obj(pairs): return "{" + blank() + ",".join(blank() + spell(k) + blank() + ":" + blank() + v + blank() for k, v in pairs) + "}"
    MISSING = object()
    def text():
        k = R.randrange(8)
        if k == 0: return "null", None
        if k == 1: t = R.choice(["1.10", "-0", "1E5", "12345678901234567890"]); return t, t
        if k == 2: return R.choice([("true", "true"), ("false", "false")])
        s = string(); return spell(s), s
    def number():
        v = R.choice([0, 7, -7, 2**63 - 1, -2**63, 10**18, R.randrange(-10**9, 10**9)])
        k = R.randrange(5)
        if k == 0: return "null", None
        if k == 1: return '"%d"' % v, v
        if k == 2: return "%d.000" % v, v
        if k == 3 and v: return "%d0e-1" % v, v
        return str(v), v
    def name():
        if R.random() < 0.15: return "null", {"first": None, "last": None}
        pairs, values = [], {}
        for key in R.sample(["first", "last", "first", "other"], R.randrange(5)):
            if key == "other": pairs.append((key, junk())); continue
            t, v = text(); pairs.append((key, t)); values[key] = v
        if values.get("last") == "": values["last"] = None
        return obj(pairs), values
    def items():
        if R.random() < 0.15: return "null", None
        out, value = [], MISSING
        for i in range(R.randrange(4)):
            if R.random() < 0.2: t, v = "null", None
            elif R.random() < 0.3: t, v = obj([("y", junk())]), MISSING
            else:
                x, v = text(); t = obj([("y", junk()), ("x", x)])
            out.append(t)
            if i == 1: value = v
        return "[" + ("," + blank()).join(out) + "]", value
    def tags():
        if R.random() < 0.2: return "null", None
        texts = [string() for _ in range(R.randrange(4))]
        parts = [spell(s) for s in texts]
        kept = json.dumps(texts, ensure_ascii=False, separators=(",", ":")) if IS_POSTGRES else "[" + ",".join(parts) + "]"
        return "[" + blank() + (blank() + "," + blank()).join(parts) + blank() + "]", kept
    def flag(): return R.choice([("true", 1), ("false", 0), ("1", 1), ('"0"', 0), ('"TRUE"', 1), ("null", None)])
    def count():
        t, v = number(); return t, 5 if v is None else v
    FIELDS = {"text": text, "n": number, "name": name, "list": items, "tags": tags, "flag": flag, "count": count}
    table, kept = {}, []
    for run in range(3):
        records, before = [], {k: dict(v) for k, v in table.items()}
        chosen = R.sample(range(1, 301), 200)
        for id in chosen:
            pairs, values = [("id", R.choice(["%d", '"%d"', "%d.0"]) % id)], {}
            for key in R.sample(list(FIELDS) * 2, R.randrange(10)):
                t, v = FIELDS[key](); pairs.append((key, t))
                if key == "name":
                    for part in ("first", "last"): values.pop(part, None)
                    values.update(v)
                elif key == "list":
                    values.pop("second", None)
                    if v is not MISSING: values["second"] = v
                else: values[key] = v
            for _ in range(R.randrange(3)): pairs.insert(R.randrange(len(pairs) + 1), (R.choice(["more", "ID", "Text", "nam", ""]), junk()))
            row = table.setdefault(id, dict(text=None, n=None, first=None, last=None, second=None, tags=None, flag=None, count=5))
            row.update(values)
            records.append(obj(pairs))
        inserted = len(set(table) - set(before))
        updated = sum(1 for id in chosen if id in before and before[id] != table[id])
        def show(v): return "-" if v is None else v.encode("utf-8").hex().upper()
        def num(v): return "∅" if v is None else str(v)
        rows = "\n".join(" | ".join([str(i), show(r["text"]), num(r["n"]), show(r["first"]), show(r["last"]), show(r["second"]), num(r["tags"]), num(r["flag"]), str(r["count"])]) for i, r in sorted(table.items()))
        line = "thing: 1 pages, 200 records, %d inserted, %d updated, %d unchanged, 0 deleted, proven" % (inserted, updated, 200 - inserted - updated)
        kept.append({"body": '{"data":[' + ",".join(records) + "]}", "rows": rows, "line": line})
    json.dump(kept, sys.stdout)
    """#

  private struct Step: Decodable {
    var body: String
    var rows: String
    var line: String
  }

  @Test("rows and counts are those of the model, run after run", arguments: 1...6)
  func agrees(_ seed: Int) async throws {
    let scene = try Scene()
    let file = scene.fixture.folder.path + "/model.py"
    try Self.model.write(toFile: file, atomically: true, encoding: .utf8)
    let result = try Shell.result(["python3", file, "\(seed)", StoreKind.current.rawValue])
    #expect(result.status == 0, "\(result.errors)")
    let steps = try JSONDecoder().decode([Step].self, from: Data(result.output.utf8))
    #expect(steps.count == 3)
    for step in steps {
      let line = try await scene.run(Sample.self, step.body)
      expect(line, is: step.line)
      let rows = try scene.rows(
        """
        SELECT id, iif(text IS NULL, '-', hex(text)), n, iif(first IS NULL, '-', hex(first)),
          iif(last IS NULL, '-', hex(last)), iif(second IS NULL, '-', hex(second)),
          tags, flag, count FROM thing ORDER BY id
        """)
      let wrong = zip(rows.split(separator: "\n"), step.rows.split(separator: "\n")).filter { $0 != $1 }
      #expect(
        rows == step.rows,
        "\(wrong.count) rows differ:\n\(wrong.prefix(5).map { "\($0)\n\($1)" }.joined(separator: "\n"))")
    }
  }
}
