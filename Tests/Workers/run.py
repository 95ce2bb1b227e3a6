#!/usr/bin/env python3
"""Tests four workers that share work, each in a network namespace of its own with its own address.

Usage: Tests/Workers/run.py [--program PATH] [TEST …]

Prints what each test has measured, and a line for each check that fails, and ends with `N passed, M failed`; or with
`skipped: WHY` and status 3 where this machine allows no namespaces. SYNCD_TEST_LONG=1 makes the disturbances last for five
minutes rather than for thirty seconds; SYNCD_TEST_SEED takes the seed of another run.
"""
import collections
import itertools
import os
import random
import signal
import sys
import time

import judging
from cluster import Cluster, Failure, Server, wait_for
from network import Network
from source import Source

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IS_LONG = bool(os.environ.get("SYNCD_TEST_LONG"))
SEED = int(os.environ.get("SYNCD_TEST_SEED") or random.randrange(1_000_000))
# What the tests around these are told is none of the program's business.
for name in [name for name in os.environ if name.startswith(("SYNCD_", "PG"))]:
    del os.environ[name]

passed = failed = 0


def check(name, holds, detail=""):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        Cluster.is_wrong = True
        print(f"FAIL {name}: {str(detail).strip()[-3000:]}")
    sys.stdout.flush()
    return holds


def nothing(name, found):
    """Checks that nothing was found."""
    check(name, not found, f"{len(found)}, the first of them:\n" + "\n".join(map(str, found[:5])))


class Stage:
    """What all tests need: the network, the database, the program."""

    def __init__(self, program):
        self.program = program
        self.network = Network(4)
        try:
            self.server = Server(self.network)
        except BaseException:
            self.network.close()
            raise

    def cluster(self, name, rate=None, source=None, **configuration):
        source = Source(self.network.address, **(source or {}))
        return Cluster(self.program, self.network, self.server, source, name, rate, **configuration)

    def close(self):
        self.network.clear()
        self.server.close()
        self.network.close()


def judge(cluster):
    """What holds whatever was done to the workers and the database, in what the triggers have seen."""
    runs = cluster.runs()
    nothing("committed runs of one unit do not overlap", judging.overlaps(runs))
    nothing("no row goes back to an older version", judging.backward_rows(cluster))
    nothing("no row is deleted that the source still has", judging.wrong_deletions(cluster))
    nothing("fences only grow, and no unit runs twice for one time", judging.unit_faults(cluster))
    nothing("each committed run ended a claim in its own transaction", judging.unclaimed_runs(cluster))
    counts = cluster.rows("SELECT (SELECT count(*) FROM audit_rows) AS rows, (SELECT count(*) FROM audit_units) AS units")[0]
    fenced = sum(len(worker.messages("lease")) for worker in cluster.workers.values() if os.path.exists(worker.log))
    print(f"  {sum(map(len, runs.values()))} committed runs, {counts['rows']} changes of rows, {counts['units']} of units, "
          f"{fenced} messages about a lost lease")
    if cluster.rate:
        burst = judging.largest_burst([moment for moment, _, _ in cluster.source.requests], cluster.rate)
        # Each request that is under way or waits for its turn may have been held up; then they come together.
        allowed = len(cluster.workers) * cluster.parallel + 1
        check("the rate holds across all workers", burst <= allowed, f"{burst:.1f} requests more than {cluster.rate}/s lets through")
        print(f"  {len(cluster.source.requests)} requests, at most {burst:.1f} more than {cluster.rate}/s in any span of time "
              f"(allowed: {allowed})")


def begin(cluster):
    """Starts all workers, waits until everything was run once, and sets up the triggers."""
    cluster.start()
    wait_for("the first run of each unit", cluster.without_run)
    cluster.execute(judging.AUDIT)


def settle(cluster, limit=180):
    """Waits until all units have run after this moment and the tables are as the source, which changes no more."""
    mark = cluster.now()
    runs = wait_for("a run of each unit", lambda: cluster.without_run(mark), limit)
    same = wait_for("that the tables are as the source", cluster.differences, limit)
    wait_for("that the units are those of the source", cluster.lacks_units, limit)
    print(f"  each unit had run again after {runs:.1f} s, the tables were as the source {same:.1f} s later")
    still = [worker.name for worker in cluster.workers.values() if not worker.is_running]
    check("no worker has ended by itself", not still, f"{still}: {cluster.last_lines()}")


# The tests


def speed(stage):
    """The work of one worker, done by four."""
    work = {"regions": 64, "item_rows": 40, "shops": 24, "windows": 12, "rows": 16, "page": 4}
    # Other programs on this machine may take its processors away for a moment.
    for attempt in range(1, 4):
        seconds = {workers: seconds_of_work(stage, workers, f"speed{workers}_{attempt}", work) for workers in (1, 4)}
        ratio = seconds[4] / seconds[1]
        print(f"  four take {ratio:.3f} of the time of one (at most 0.3)", flush=True)
        if ratio <= 0.3:
            break
    check("four workers take at most 0.3 of the time of one", ratio <= 0.3, f"{ratio:.3f}, the third time")


def seconds_of_work(stage, workers, name, work):
    """The time from the start of so many workers until all was run once."""
    with stage.cluster(name, source=work, interval="10m") as cluster:
        start = time.time()
        cluster.start(*range(1, workers + 1))
        wait_for("the first run of each unit", cluster.without_run, 300)
        runs = {name: of_unit for name, of_unit in cluster.runs().items() if name in cluster.source.units()}
        seconds = max(run["finished"] for of_unit in runs.values() for run in of_unit) - start
        counts = collections.Counter(target for _, _, target in cluster.source.requests)
        expected = set(cluster.source.targets())
        who = collections.Counter(address for _, address, _ in cluster.source.requests)
        moments = [moment for moment, _, _ in cluster.source.requests]
        pause = max(after - before for before, after in itertools.pairwise(moments))
        print(f"  {workers} of them: {len(runs)} units, {len(moments)} pages in {seconds:.2f} s; pages of each: "
              f"{sorted(who.values())}; the longest time without a request: {pause:.2f} s", flush=True)
        nothing(f"{workers}: each page is asked for once",
                [f"{target}: {counts[target]}" for target in expected | counts.keys() if counts[target] != (target in expected)])
        nothing(f"{workers}: each unit has one run, proven",
                [runs[name] for name in runs if [run["outcome"] for run in runs[name]] != ["proven"]])
        nothing(f"{workers}: the tables are as the source", cluster.differences())
    return seconds


def intervals(stage):
    """Each unit runs exactly once in each interval, and the workers, units and leases are to be seen."""
    every = 6
    with stage.cluster("intervals", rate=50, interval=f"{every}s", aligned=True) as cluster:
        begin(cluster)
        offset = time.time() - time.monotonic()
        first = int(time.time() // every) + 1
        # One that is under way is seen when somebody looks at that moment.
        seen = {"workers": set(), "leased": False}

        def look():
            status, output = cluster.status()
            seen["status"], seen["output"] = status, output
            seen["workers"] |= {worker.name for worker in cluster.workers.values() if worker.name in output}
            seen["leased"] = seen["leased"] or any(unit in output for unit in cluster.source.units() if "[" in unit)
            return [] if len(seen["workers"]) == 4 and seen["leased"] and status == 0 else [seen]

        try:
            wait_for("a status that names workers and leased units", look, 60)
            check("status names the workers and a leased unit", True)
        except Failure as failure:
            check("status names the workers and a leased unit", False, failure)
        last = first + 2
        wait_for("two intervals", lambda: [] if time.time() > last * every else ["time"])
        # What began in the last one has ended when each unit has run in the next.
        wait_for("the runs of the third", lambda: cluster.without_run(f"epoch'::timestamptz + interval '{last * every} s"))
        runs = {name: [run for run in of_unit if first <= run["started"] // every < last]
                for name, of_unit in cluster.runs().items() if name in cluster.source.units()}
        nothing("each unit runs exactly once in each interval", [
            f"{name}: {of_unit}" for name, of_unit in runs.items()
            if [run["started"] // every for run in of_unit] != list(range(first, last))])
        counts = collections.Counter((target, (moment + offset) // every) for moment, _, target in cluster.source.requests)
        nothing("each page is asked for exactly once in each interval", [
            f"{target}: {counts[target, slot]}" for target in cluster.source.targets() for slot in range(first, last)
            if counts[target, slot] != 1])
        late = max(run["started"] % every for of_unit in runs.values() for run in of_unit)
        print(f"  {len(runs)} units in 2 intervals of {every} s; the last run of one began {late:.2f} s after its beginning")
        judge(cluster)


HELD = "/plain/1?after="  # The last page of the unit plain_1.


def holder(cluster, other_than=None):
    """The worker that holds plain_1, where it is not that one."""
    name = cluster.units().get("plain_1", {}).get("worker")
    return next((worker for worker in cluster.workers.values() if worker.name == name and worker is not other_than), None)


def wait_until_under_way(cluster):
    """Has the last answer for plain_1 wait, and returns the worker that waits for it."""
    before = len(cluster.source.requests)
    cluster.source.held = HELD
    wait_for("a run of plain_1", lambda: [] if any(
        target.startswith(HELD) for _, _, target in cluster.source.requests[before:]) and holder(cluster) else ["none"])
    return holder(cluster)


def wait_until_taken(cluster, worker):
    """Waits until another worker holds plain_1."""
    return wait_for(f"that another one takes plain_1 over from {worker.name}",
                    lambda: [] if holder(cluster, worker) else [cluster.units()["plain_1"]])


def ends(stage):
    """What a worker held that ends, others that have nothing else to do have at once."""
    lease = 60
    with stage.cluster("ends", interval="10m", lease=f"{lease}s") as cluster:
        cluster.source.held = HELD
        cluster.start()
        wait_for("the first run of all other units", lambda: [unit for unit in cluster.without_run() if unit != "plain_1"])
        cluster.execute(judging.AUDIT)
        worker = holder(cluster)
        status, seconds = worker.end(signal.SIGTERM)
        taken = wait_until_taken(cluster, worker)
        print(f"  SIGTERM: ended with {status} after {seconds:.2f} s; its unit was taken over {taken:.1f} s later (a lease is {lease} s)")
        check("SIGTERM ends a worker with 0 within 5 s", status == 0 and seconds < 5, f"status {status} after {seconds:.1f} s")
        check("its unit is taken over at once", taken < lease / 2, f"{taken:.1f} s")
        worker = holder(cluster)
        worker.end()
        taken = wait_until_taken(cluster, worker)
        print(f"  SIGKILL: its unit was taken over after {taken:.1f} s")
        check("the unit of a process that is gone is taken over before its lease is over", taken < lease * 3 / 4, f"{taken:.1f} s")
        cluster.source.held = None
        wait_for("the run of all units", cluster.without_run)
        judge(cluster)


def fences(stage):
    """A worker that hangs, is cut off or has lost a unit cannot commit what it has fetched."""
    with stage.cluster("fences", interval="2s", lease="3s") as cluster:
        begin(cluster)
        for way in ("paused", "cut off", "cut off without a word", "robbed"):
            worker = wait_until_under_way(cluster)
            known, finished = len(list(worker.lines())), cluster.units()["plain_1"]["finished_at"]
            if way == "paused":
                worker.send(signal.SIGSTOP)
            elif way != "robbed":
                stage.network.cut(worker.number, silently=way.endswith("word"))
            # The answer that waits for it is old from now on.
            cluster.source.touch_all()
            if way == "robbed":
                # It has no reason to think so, and what it has fetched comes at once.
                cluster.execute(
                    "UPDATE syncd_units SET holder = NULL, fence = fence + 1, ready_at = clock_timestamp() WHERE entity = 'plain_1'")
            else:
                taken = wait_until_taken(cluster, worker)
                print(f"  {way}: its unit was taken over after {taken:.1f} s")
            cluster.source.held = None
            wait_for("a commit of the unit",
                     lambda: [] if cluster.units()["plain_1"]["finished_at"] != finished else ["none"])
            if way == "paused":
                worker.send(signal.SIGCONT)
            elif way != "robbed":
                stage.network.mend(worker.number)

            def said():
                """What it says of its lease or its run."""
                return [line["message"] for line in list(worker.lines())[known:] if "lease" in str(line.get("message"))
                        or (line.get("entity"), line.get("outcome")) == ("plain_1", "failed")]

            wait_for("that it says what became of its run", lambda: [] if said() else ["nothing"])
            print(f"  {way}: {said()[-1]}")
            back = wait_for("its work after that", lambda: [] if any(
                unit["worker"] == worker.name for unit in cluster.units().values()) else ["no unit"])
            print(f"  {way}: it works again after {back:.1f} s")
        settle(cluster)
        judge(cluster)


# Each row of what slices have seen takes a while to be read, where it is read to end a generation.
SLOW_READING = """
CREATE FUNCTION late() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
  IF current_query() ILIKE 'select%' THEN PERFORM pg_sleep(0.15); END IF;
  RETURN true;
END $$;
CREATE POLICY late ON syncd_slices USING (late()) WITH CHECK (true);
ALTER TABLE syncd_slices ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
"""


def closing(stage):
    """Rows that a slice finds while the end of a generation goes on are not taken for rows that are gone."""
    with stage.cluster("closing", interval="2s", lease="30s") as cluster:
        begin(cluster)
        cluster.execute(SLOW_READING)
        for number in range(20):
            cluster.source.add("items/r%d" % (number % cluster.source.regions + 1))
            time.sleep(0.4)
        cluster.execute("ALTER TABLE syncd_slices DISABLE ROW LEVEL SECURITY")
        settle(cluster)
        judge(cluster)


def disturb(cluster, lease, seconds, choice):
    """Ends, pauses and cuts off workers at random; then all of them work undisturbed."""
    network, counts = cluster.network, collections.Counter()
    # What is to be done later, by worker.
    endings = {}
    end = time.monotonic() + seconds

    def begin_one(number):
        worker = cluster.workers[number]
        kind = choice.choice(["kill", "stop", "pause", "pause", "cut", "cut", "lose"])
        # For shorter or longer than the lease.
        lasting = choice.uniform(0.2, 0.8) * lease if choice.random() < 0.4 else choice.uniform(1.1, 2.2) * lease
        counts[kind + (" long" if lasting > lease else "") if kind in ("pause", "cut") else kind] += 1

        if kind in ("kill", "stop"):
            worker.end(signal.SIGKILL if kind == "kill" else signal.SIGTERM)
            return choice.uniform(0.1, 1), worker.start
        if kind == "pause":
            worker.send(signal.SIGSTOP)
            return lasting, lambda: worker.send(signal.SIGCONT)
        network.cut(number, silently=choice.random() < 0.5)
        if kind == "cut":
            return lasting, lambda: network.mend(number)
        # A machine that has lost its power says nothing to anybody.
        worker.end()

        def again():
            network.mend(number)
            worker.start()

        return lasting, again

    while time.monotonic() < end or endings:
        for number, (moment, again) in list(endings.items()):
            if time.monotonic() > moment or time.monotonic() > end:
                again()
                del endings[number]
        if time.monotonic() < end and len(endings) < 3:
            number = choice.choice([number for number in cluster.workers if number not in endings])
            lasting, again = begin_one(number)
            endings[number] = time.monotonic() + lasting, again
        time.sleep(choice.uniform(0.1, 0.8))
    print(f"  {sum(counts.values())} disturbances in {seconds} s: " +
          ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())))


def chaos(stage):
    """Workers that are killed, stopped, paused and cut off at random while the source changes."""
    lease, seconds = 3, 300 if IS_LONG else 30
    print(f"  seed {SEED} (SYNCD_TEST_SEED={SEED} does the same again)")
    with stage.cluster("chaos", rate=30, interval="3s", aligned=True, lease=f"{lease}s") as cluster:
        begin(cluster)
        cluster.source.start_changes(SEED)
        disturb(cluster, lease, seconds, random.Random(SEED))
        cluster.source.stop_changes()
        try:
            settle(cluster)
        finally:
            judge(cluster)


def restarts(stage):
    """PostgreSQL is stopped and started under the workers."""
    with stage.cluster("restarts", rate=50, interval="3s", aligned=True, lease="5s") as cluster:
        begin(cluster)
        cluster.source.start_changes(SEED)
        for mode in ("fast", "immediate"):
            wait_until_under_way(cluster)
            stage.server.stop(mode)
            cluster.source.held = None
            time.sleep(2)
            stage.server.start()
            mark = cluster.now()
            back = wait_for("a run of each unit", lambda: cluster.without_run(mark))
            print(f"  stopped ({mode}) and started: each unit had run again after {back:.1f} s")
        cluster.source.stop_changes()
        settle(cluster)
        judge(cluster)


# What measures time comes last, when little else goes on beside it.
TESTS = [intervals, ends, fences, closing, chaos, restarts, speed]


def main(words):
    program = os.path.join(ROOT, ".build/debug/WorkerEntities")
    if words[:1] == ["--program"]:
        program, words = os.path.abspath(words[1]), words[2:]
    tests = [test for test in TESTS if test.__name__ in words] if words else TESTS
    if len(tests) < len(words):
        sys.exit("the tests are " + " ".join(test.__name__ for test in TESTS))
    try:
        stage = Stage(program)
    except OSError as error:
        print(f"skipped: {error}")
        return 3
    # An end that is asked for takes everything away too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        for test in tests:
            print(f"{test.__name__}: {test.__doc__}", flush=True)
            start, before, Cluster.is_wrong = time.monotonic(), failed, False
            try:
                test(stage)
            except Failure as failure:
                check(test.__name__, False, failure)
            print(f"  {time.monotonic() - start:.0f} s" + (f", {failed - before} failed" if failed > before else ""), flush=True)
    finally:
        stage.close()
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
