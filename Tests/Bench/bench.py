"""Measures syncd beside what it is held against, in the same run, and says which bars hold.

usage: Scripts/bench [--quick | --all] [--postgres] [--work NAME …] [--rounds N] [--json FILE] …

Times are those of whole processes, from their start to their end; all of a work run in turn, and the numbers are
medians. A ratio is the median of the ratios of runs that followed each other. Status 1: a bar is missed, or a program
did not do its work; 2: usage.
"""
import argparse
import json
import os
import platform
import shutil
import signal
import sys
import tempfile

import building
import works
from measuring import Broken, median

COLUMNS = [
    ("WORK", -28), ("PROGRAM", -13), ("ROUNDS", 6), ("SECONDS", 8), ("ROWS/S", 9), ("CPU S", 7), ("MB", 5), ("", 0)]


def options():
    parser = argparse.ArgumentParser(
        prog="Scripts/bench", description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n")[2])
    parser.add_argument("--quick", action="store_true", help="under a minute: %s" % ", ".join(works.QUICK))
    parser.add_argument("--all", action="store_true", help="with peers that take minutes (dlt), and --postgres")
    parser.add_argument("--postgres", action="store_true", help="with PostgreSQL, in a cluster of its own")
    parser.add_argument("--work", action="append", default=[], metavar="NAME", help="only this one; --list lists them")
    parser.add_argument("--list", action="store_true", help="what can be measured")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="after one to warm up (default: 5)")
    parser.add_argument("--rows", type=int, default=works.ROWS, metavar="N",
                        help="books (default: %d); with another number there are no bars and no peers" % works.ROWS)
    parser.add_argument("--json", metavar="FILE", help="write the numbers of every run to a file")
    parser.add_argument("--baseline", metavar="FILE", help="another build of BenchEntities, measured in turn")
    parser.add_argument("--programs", metavar="FOLDER", help="take BenchEntities and syncd from there; build nothing")
    chosen = parser.parse_args()
    if chosen.rounds < 1 or chosen.rows < 1000:
        parser.error("there has to be a round, and a thousand rows")
    for name in chosen.work:
        if name not in works.ALL:
            parser.error("there is no work %s; there are %s" % (name, ", ".join(works.ALL)))
    if not chosen.work:
        chosen.work = works.QUICK if chosen.quick else [name for name in works.ALL if name != "postgres"]
        if chosen.postgres or chosen.all:
            chosen.work = chosen.work + ["postgres"]
    return chosen


def write(*cells):
    parts = []
    for cell, (_, width) in zip(cells, COLUMNS):
        parts.append(str(cell).ljust(-width) if width < 0 else str(cell).rjust(width))
    print("  ".join(parts).rstrip(), flush=True)


def seconds(value):
    return "%.4f" % value if value < 0.1 else "%.3f" % value if value < 10 else "%.2f" % value


def show(line):
    last = "; ".join([str(bar) for bar in line.bars] + [line.note] * bool(line.note))
    if not line.samples:
        write(line.work, line.program, "", "", "", "", "", last)
        return
    time = median(line.samples)
    write(
        line.work, line.program, len(line.samples), seconds(time),
        "{:,.0f}".format(line.rows / time) if line.rows else "", seconds(median(line.samples, "cpu")),
        "%.0f" % median(line.samples, "memory"), last)


def record(line):
    entry = {"work": line.work, "program": line.program, "rows": line.rows, "note": line.note}
    if line.samples:
        time = median(line.samples)
        entry |= {
            "seconds": time, "cpuSeconds": median(line.samples, "cpu"), "megabytes": median(line.samples, "memory"),
            "rowsPerSecond": line.rows / time if line.rows else None,
            "runs": [
                {"seconds": s.seconds, "cpuSeconds": s.cpu, "megabytes": s.memory} for s in line.samples]}
    entry["bars"] = [
        {"value": b.value, "unit": b.unit, "atMost": b.at_most, "atLeast": b.at_least, "holds": b.holds}
        for b in line.bars]
    return entry


def main():
    chosen = options()
    if chosen.list:
        for name, work in works.ALL.items():
            print("%-10s %s" % (name, work.__doc__))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if chosen.json:
        chosen.json = os.path.abspath(chosen.json)
    os.makedirs(building.KEPT, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="run-", dir=building.KEPT)
    lines, broken, bench = [], [], None
    try:
        bench = works.Bench(chosen, folder)
        write(*(title for title, _ in COLUMNS))
        for name in chosen.work:
            try:
                for line in works.ALL[name](bench):
                    lines.append(line)
                    show(line)
            except Broken as failure:
                broken.append("%s: %s" % (name, failure))
                print(broken[-1], flush=True)
    finally:
        if bench:
            bench.close()
        os.chdir(building.ROOT)
        shutil.rmtree(folder, ignore_errors=True)

    bars = [bar for line in lines for bar in line.bars]
    missed = sum(not bar.holds for bar in bars)
    if chosen.json:
        with open(chosen.json, "w") as file:
            json.dump({
                "machine": platform.machine(), "system": platform.platform(), "cores": os.cpu_count(),
                "rounds": chosen.rounds, "lines": [record(line) for line in lines], "broken": broken,
            }, file, indent=1)
    print("%d works done, %d broken; %d bars hold, %d missed" % (
        len(chosen.work) - len(broken), len(broken), len(bars) - missed, missed))
    return 1 if broken or missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
