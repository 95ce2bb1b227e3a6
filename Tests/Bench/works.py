"""The works: who takes part, what they have to have done, and which bars there are."""
import os
import re
import shutil
import sqlite3
import subprocess

import building
import serving
from measuring import Bar, Broken, Contestant, compete, median, ratio, run, variables

# The number of books that the bars are for. Runs with fewer only show that everything works.
ROWS = 200_000
# MB, with ten times the books too.
MEMORY = 128


class Line:
    """A program's result in a work."""

    def __init__(self, work, program, samples, rows=None, bars=(), note=""):
        self.work, self.program, self.samples, self.rows = work, program, samples, rows
        self.bars, self.note = list(bars), note


class Bench:
    """What the works share: programs, sources, the server, a folder of this run."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.programs = building.build(options.programs)
        self.served, self.work = os.path.join(folder, "served"), os.path.join(folder, "work")
        os.mkdir(self.served)
        os.mkdir(self.work)
        self.syncs = [("syncd", self.programs["BenchEntities"])]
        if options.baseline:
            self.syncs.append(("baseline", os.path.abspath(options.baseline)))
        self.files = serving.Files(self.served, os.path.join(folder, "nginx"))

    def close(self):
        self.files.stop()

    # MARK: The source

    def books(self, rows=None, change=None, drop=None, csv=False):
        words = ["--rows", rows or self.options.rows]
        words += ["--change", change] if change else []
        words += ["--drop", drop] if drop else []
        return building.Source("books", *words, csv=csv)

    def serve(self, source):
        """Puts a source's files in the place of those that were served under the same names."""
        for name in os.listdir(source.folder):
            if name.endswith((".csv", "made", "sums.json")):
                continue
            place = os.path.join(self.served, name)
            os.symlink(os.path.join(source.folder, name), place + ".new")
            os.replace(place + ".new", place)

    # MARK: Programs

    def place(self, name):
        return os.path.join(self.work, name + ".sqlite")

    def forget(self, name):
        """Removes a database and all that lies beside it."""
        for file in os.listdir(self.work):
            if file.startswith(name + ".sqlite"):
                os.remove(os.path.join(self.work, file))

    def sync(
        self, name, program, entity, source, *options, expect, before=lambda: None, base=None, store=None, count=None
    ):
        """A run of syncd. expect are the counts that it has to report; count looks at a table that is not SQLite's."""
        place = self.place(name)

        def check(output):
            check_counts(output, **expect)
            if count:
                count()
            else:
                check_table(place, entity, source)

        return Contestant(
            name, [program, "once", *options, "--store", store or place], check, before,
            {"SYNCD_BENCH": entity, "SYNCD_API_BENCH_URL": (base or self.files.url) + "/"})

    def hand(self, source, before=lambda: None):
        """The program by hand."""
        place = self.place("ceiling")

        def check(output):
            if not output.startswith("ceiling: %d rows" % source().rows):
                raise Broken("ceiling: " + output)
            check_table(place, "book", source)

        return Contestant("ceiling", [self.programs["ceiling"], place, self.files.url + "/books/1.json"], check, before)

    def peers(self, source):
        """The peers that there are, and why others are not."""
        peers, missing = [], []
        if self.options.rows != ROWS:
            return peers, missing
        wanted = [("sqlite-utils", "sqlite-utils", "sqlite_utils_books.py", 1 if self.options.quick else 2)]
        if self.options.all:
            wanted.append(("dlt", "dlt[sqlalchemy]", "dlt_books.py", 1))
        for name, package, program, rounds in wanted:
            python = building.peer(package)
            if not python:
                missing.append(name)
                continue
            place = self.place(name)
            peers.append(Contestant(
                name, [python, os.path.join(building.HERE, "peers", program), place, self.files.url + "/books/1.json"],
                lambda _, place=place: check_table(place, "book", source), lambda name=name: self.forget(name),
                {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}, rounds))
        return peers, missing


# MARK: What was done


def check_counts(output, records, inserted=0, updated=0, unchanged=0, deleted=0, unmodified=0):
    """The counts of all lines `book: 5 records, 5 inserted, …` together."""
    names = ("records", "inserted", "updated", "unchanged", "deleted", "not modified")
    found = dict.fromkeys(names, 0)
    for number, name in re.findall(r"(\d+) (%s)\b" % "|".join(names), output):
        found[name] += int(number)
    wanted = dict(zip(names, (records, inserted, updated, unchanged, deleted, unmodified)))
    if found != wanted or "not proven" in output:
        raise Broken("syncd should have counted %s, and said:\n%s" % (wanted, output[-2000:]))


def check_table(place, table, source):
    """The rows of the table, by their number and their sums. A source that changes is a function."""
    source = source() if callable(source) else source
    columns = ["count(*)", "sum(id)"]
    if table == "book":
        columns += ["sum(pages)", "sum(CAST(round(price * 100) AS INTEGER))"]
    database = sqlite3.connect("file:%s?mode=ro" % place, uri=True)
    try:
        tables = ["part_%03d" % n for n in range(1000)] if table == "parts" else [table]
        found = [0] * len(columns)
        for name in tables:
            row = database.execute('SELECT %s FROM "%s"' % (", ".join(columns), name)).fetchone()
            found = [a + (b or 0) for a, b in zip(found, row)]
    finally:
        database.close()
    check_sums(found, place, source)


def check_sums(found, place, source):
    wanted = [source.sums[name] for name in ("rows", "keys", "pages", "cents")][:len(found)]
    if found != wanted:
        raise Broken("%s holds %s (rows, keys, pages, cents), and not %s" % (place, found, wanted))


# MARK: Works


def bars_for(bench, *bars):
    """The bars are for one number of rows."""
    return list(bars) if bench.options.rows == ROWS else []


def memory(samples):
    return Bar(median(samples, "memory"), "MB", at_most=MEMORY)


def lines_of_syncs(bench, work, samples, rows, bars):
    """A line for syncd, with its bars, and one for the baseline, if there is one."""
    lines = [Line(work, "syncd", samples["syncd"], rows, bars)]
    if "baseline" in samples:
        note = "syncd: %.2f × baseline" % ratio(samples["syncd"], samples["baseline"])
        lines.append(Line(work, "baseline", samples["baseline"], rows, note=note))
    return lines


def first(bench):
    """first load of 200,000 rows into SQLite"""
    source = bench.books()
    bench.serve(source)
    peers, missing = bench.peers(source)
    contestants = [bench.hand(lambda: source, lambda: bench.forget("ceiling"))]
    contestants += [
        bench.sync(
            name, program, "book", source, before=lambda name=name: bench.forget(name),
            expect={"records": source.rows, "inserted": source.rows})
        for name, program in bench.syncs]
    samples = compete(contestants + peers, bench.options.rounds, bench.work)
    ours = samples["syncd"]
    yield Line("first load", "ceiling", samples["ceiling"], source.rows)
    yield from lines_of_syncs(bench, "first load", samples, source.rows, bars_for(
        bench, Bar(ratio(ours, samples["ceiling"]), "× ceiling", at_most=0.8), memory(ours)))
    for peer in peers:
        times = Bar(
            ratio(samples[peer.name], ours), "× syncd", at_least={"sqlite-utils": 10, "dlt": 40}[peer.name])
        yield Line("first load", peer.name, samples[peer.name], source.rows, bars_for(bench, times))
    for name in missing:
        yield Line("first load", name, [], note="not available")


def unchanged(bench):
    """the same again, with full answers: nothing changed"""
    source = bench.books()
    bench.serve(source)
    bench.forget("ceiling")
    contestants = [bench.hand(lambda: source)]
    load(bench, contestants)
    for name, program in bench.syncs:
        load_sync(bench, name, program, source)
        contestants.append(bench.sync(
            name, program, "book", source, "--full", expect={"records": source.rows, "unchanged": source.rows}))
    samples = compete(contestants, bench.options.rounds, bench.work)
    yield Line("nothing changed", "ceiling", samples["ceiling"], source.rows)
    yield from lines_of_syncs(bench, "nothing changed", samples, source.rows, bars_for(
        bench, Bar(ratio(samples["syncd"], samples["ceiling"]), "× ceiling", at_most=0.6), memory(samples["syncd"])))


def not_modified(bench):
    """the same again, and the server says 304 for every page"""
    source = bench.books()
    bench.serve(source)
    contestants = []
    for name, program in bench.syncs:
        contestants.append(bench.sync(
            name, program, "book", source, before=lambda name=name: bench.forget(name),
            expect={"records": source.rows, "inserted": source.rows}))
        again = bench.sync(name, program, "book", source, expect={
            "records": source.rows, "unchanged": source.rows,
            "unmodified": len(os.listdir(source.folder + "/books"))})
        again.name += " again"
        contestants.append(again)
    samples = compete(contestants, bench.options.rounds, bench.work)
    yield Line("nothing changed, 304", "first load", samples["syncd"], source.rows)
    samples = {name: samples[name + " again"] for name, _ in bench.syncs} | {"first": samples["syncd"]}
    yield from lines_of_syncs(bench, "nothing changed, 304", samples, source.rows, bars_for(
        bench, Bar(ratio(samples["syncd"], samples["first"]), "× first load", at_most=0.1)))


def changed(bench):
    """1 % of the rows changed"""
    editions = [bench.books(), bench.books(change=0.01)]
    count = (editions[1].sums["cents"] - editions[0].sums["cents"]) // 100
    rows, served = editions[0].rows, [0]

    def edition():
        return editions[served[0]]

    bench.serve(edition())
    bench.forget("ceiling")
    contestants = [bench.hand(edition)]
    load(bench, contestants)
    for name, program in bench.syncs:
        load_sync(bench, name, program, edition())
        contestants.append(bench.sync(
            name, program, "book", edition, expect={"records": rows, "updated": count, "unchanged": rows - count}))

    def turn():
        # To and fro: each round changes the same rows.
        served[0] = 1 - served[0]
        bench.serve(edition())

    contestants[0].before = turn
    samples = compete(contestants, bench.options.rounds, bench.work)
    yield Line("1 % changed", "ceiling", samples["ceiling"], rows)
    yield from lines_of_syncs(bench, "1 % changed", samples, rows, bars_for(bench, memory(samples["syncd"])))


def deleted(bench):
    """1 % of the rows are gone"""
    whole, rest = bench.books(), bench.books(drop=0.01)
    contestants = []
    for name, program in bench.syncs:
        bench.serve(whole)
        load_sync(bench, name, program, whole)

        def before(name=name, program=program):
            bench.serve(whole)
            restore = bench.sync(name, program, "book", whole, expect={})
            run(restore.words, restore.environment, bench.work)
            bench.serve(rest)

        contestants.append(bench.sync(
            name, program, "book", rest, before=before,
            expect={"records": rest.rows, "unchanged": rest.rows, "deleted": whole.rows - rest.rows}))
    samples = compete(contestants, bench.options.rounds, bench.work)
    yield from lines_of_syncs(bench, "1 % deleted", samples, rest.rows, bars_for(bench, memory(samples["syncd"])))


def large(bench):
    """first load of 2,000,000 rows, ten times the first one"""
    sources = {"": bench.books(), " ×10": bench.books(rows=bench.options.rows * 10)}
    contestants = []
    for name, program in bench.syncs:
        for suffix, source in sources.items():

            def before(name=name, source=source):
                bench.forget(name)
                bench.serve(source)

            contestants.append(bench.sync(
                name, program, "book", source, before=before,
                expect={"records": source.rows, "inserted": source.rows}))
            contestants[-1].name += suffix
    samples = compete(contestants, bench.options.rounds, bench.work)
    yield Line("ten times the rows", "first load", samples["syncd"], sources[""].rows)
    ten = {name: samples[name + " ×10"] for name, _ in bench.syncs}
    yield from lines_of_syncs(bench, "ten times the rows", ten, sources[" ×10"].rows, bars_for(
        bench, Bar(ratio(ten["syncd"], samples["syncd"]), "× first load", at_most=11), memory(ten["syncd"])))


def parts(bench):
    """1,000 entities of 100 rows each, and the same again with 304"""
    source = building.Source("parts")
    bench.serve(source)
    contestants = []
    for name, program in bench.syncs:
        contestants.append(bench.sync(
            name, program, "parts", source, before=lambda name=name: bench.forget(name),
            expect={"records": source.rows, "inserted": source.rows}))
        again = bench.sync(name, program, "parts", source, expect={
            "records": source.rows, "unchanged": source.rows, "unmodified": 1000})
        again.name += " again"
        contestants.append(again)
    samples = compete(contestants, bench.options.rounds, bench.work)
    again = {name: samples[name + " again"] for name, _ in bench.syncs}
    for work, each in ("1,000 entities", samples), ("1,000 entities, 304", again):
        # Seconds for a thousand are milliseconds for one.
        yield from lines_of_syncs(
            bench, work, each, source.rows, bars_for(bench, Bar(median(each["syncd"]), "ms each", at_most=3)))


def wide(bench):
    """rows of 100 columns"""
    source = building.Source("wide")
    samples = load_only(bench, "wide", source)
    yield from lines_of_syncs(bench, "100 columns", samples, source.rows, [])


def documents(bench):
    """rows with a text of 10 kB"""
    source = building.Source("documents")
    samples = load_only(bench, "document", source)
    yield from lines_of_syncs(bench, "texts of 10 kB", samples, source.rows, [])


def slow(bench):
    """100 pages, each of which the server thinks about for 50 ms"""
    server = serving.slow_pages()
    try:
        samples = load_only(bench, "slow", Plain(10_000), base=server.url)
    finally:
        server.stop()
    yield from lines_of_syncs(bench, "100 pages of 50 ms", samples, 10_000, bars_for(
        bench, Bar(median(samples["syncd"]), "s", at_most=1)))


def start(bench):
    """how long it takes to start: the version, and one entity of five rows"""
    rounds = 30 if bench.options.quick else 50

    def check(output):
        if not output.startswith("syncd "):
            raise Broken("syncd --version: " + output)

    program = bench.programs["syncd"]
    samples = compete([Contestant("version", [program, "--version"], check)], rounds, bench.work)["version"]
    yield Line("syncd --version", "syncd", samples, bars=bars_for(
        bench, Bar(median(samples) * 1000, "ms", at_most=15)))
    samples = load_only(bench, "tiny", building.Source("tiny"), rounds)
    yield from lines_of_syncs(bench, "once, five rows", samples, 5, bars_for(
        bench, Bar(median(samples["syncd"]) * 1000, "ms", at_most=40)))


def postgres(bench):
    """first load into PostgreSQL beside psql's \\copy and a merge, and the same again"""
    source = bench.books(csv=True)
    bench.serve(source)
    server = serving.postgres()
    psql = shutil.which("psql")
    if not psql:
        raise Broken("there is no psql; Scripts/setup installs it (apt: postgresql-client)")
    script = os.path.join(bench.folder, "copy.sql")
    with open(os.path.join(building.HERE, "copy.sql")) as template, open(script, "w") as file:
        file.write(template.read().replace("BOOKS.CSV", source.csv.replace("'", "''")))

    def ask(database, *questions):
        words = [psql, "-XAtq", "-v", "ON_ERROR_STOP=1", "-F", " ", server.url + "/" + database]
        for question in questions:
            words += ["-c", question]
        quiet = variables({"PGOPTIONS": "-c client_min_messages=warning"})
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=quiet).stdout

    def anew(name):
        ask("postgres", "DROP DATABASE IF EXISTS %s WITH (FORCE)" % name, "CREATE DATABASE %s" % name, "CHECKPOINT")

    def check(name):
        found = ask(name, "SELECT count(*), sum(id), sum(pages), sum(round(price * 100)) FROM book").split()
        check_sums([int(float(value)) for value in found], name, source)

    try:
        contestants = [Contestant(
            "psql", [psql, "-Xq", "-v", "ON_ERROR_STOP=1", "-f", script, server.url + "/psql"],
            lambda _: check("psql"), lambda: anew("psql"))]
        for name, program in bench.syncs:
            store = server.url + "/" + name
            shared = {"store": store, "count": lambda name=name: check(name)}
            contestants.append(bench.sync(
                name, program, "book", source, before=lambda name=name: anew(name),
                expect={"records": source.rows, "inserted": source.rows}, **shared))
            again = bench.sync(
                name, program, "book", source, "--full",
                before=lambda: ask("postgres", "CHECKPOINT"),
                expect={"records": source.rows, "unchanged": source.rows}, **shared)
            again.name += " again"
            contestants.append(again)
        samples = compete(contestants, bench.options.rounds, bench.work)
    finally:
        server.stop()
    yield Line("PostgreSQL, first load", "psql", samples["psql"], source.rows)
    yield from lines_of_syncs(bench, "PostgreSQL, first load", samples, source.rows, bars_for(
        bench, Bar(ratio(samples["psql"], samples["syncd"]), "× the rate of psql", at_least=0.8)))
    again = {name: samples[name + " again"] for name, _ in bench.syncs}
    yield from lines_of_syncs(bench, "PostgreSQL, nothing changed", again, source.rows, bars_for(
        bench, Bar(ratio(samples["syncd"], again["syncd"]), "× as fast as the first", at_least=1.5)))


# MARK: Parts of works


class Plain:
    """A source that is no files."""

    def __init__(self, rows):
        self.rows, self.sums = rows, {"rows": rows, "keys": rows * (rows + 1) // 2, "pages": 0, "cents": 0}


def load_only(bench, entity, source, rounds=None, base=None):
    """First loads of an entity that no one else takes part in."""
    if base is None:
        bench.serve(source)
    return compete(
        [
            bench.sync(
                name, program, entity, source, before=lambda name=name: bench.forget(name), base=base,
                expect={"records": source.rows, "inserted": source.rows})
            for name, program in bench.syncs],
        rounds or bench.options.rounds, bench.work)


def load(bench, contestants):
    """Lets each run once, unmeasured."""
    for contestant in contestants:
        compete([contestant], 0, bench.work)


def load_sync(bench, name, program, source):
    bench.forget(name)
    load(bench, [bench.sync(
        name, program, "book", source, expect={"records": source.rows, "inserted": source.rows})])


# All but postgres are the default.
ALL = {
    "first": first, "unchanged": unchanged, "304": not_modified, "changed": changed, "deleted": deleted,
    "large": large, "parts": parts, "wide": wide, "documents": documents, "slow": slow, "start": start,
    "postgres": postgres,
}
QUICK = ["first", "unchanged", "304", "start"]
