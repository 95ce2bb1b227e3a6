#!/usr/bin/env python3
"""A source that takes 100 ms for each page, and whose data change.

Usage: source.py [ADDRESS [PORT]]: serves some rows until it is interrupted.

A list is a name with rows: items/REGION, shops, lines/SHOP, events (by hours), plain/NUMBER. Its page is
{"as_of": 17, "rows": [{"id": 1, "version": 9, "as_of": 17}], "next": "/items/r1?after=1"}: `as_of` counts all changes of
the source, and a row's `version` is what that count was when the row changed, so that both only grow. Pages go by
identifiers: what changes between two of them moves no row to another page.
"""
import bisect
import datetime
import http.server
import json
import random
import sys
import threading
import time
import urllib.parse

HOUR = 3600


class Source:
    """Rows, and a server of them with an account of its requests: (monotonic time, client's address, target)."""

    def __init__(self, address, port=0, regions=16, shops=12, windows=6, plains=8, rows=6, item_rows=6, page=4,
                 latency=0.1):
        self.page_size, self.latency = page, latency
        self.regions, self.shops, self.rows, self.item_rows = regions, shops, rows, item_rows
        self.lock = threading.Lock()
        self.clock = 0
        # The last window is the present hour's, which does not end soon.
        self.since = int(time.time()) - (windows - 1) * HOUR - HOUR // 4
        self.lists = {}
        self.removals = {}
        for region in range(1, regions + 1):
            self.fill("items/r%d" % region, count=item_rows)
        for number in range(1, plains + 1):
            self.fill("plain/%d" % number)
        for window in range(windows):
            self.fill("events/%d" % window, window * 100_000)
        self.fill("shops", count=shops)
        for shop in list(self.lists["shops"]):
            self.fill("lines/%d" % shop)
        self.requests = []
        # Answers to what begins like this wait.
        self.held = None
        self.changing = None
        self.server = Server((address, port), Handler)
        self.server.source = self
        self.url = "http://%s:%d/" % self.server.server_address
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.stop_changes()
        self.server.shutdown()
        self.server.server_close()

    # What there is

    def fill(self, name, first=0, count=None):
        rows = self.lists[name] = {}
        for number in range(first + 1, first + 1 + (count or self.rows)):
            self.clock += 1
            rows[number] = self.clock

    def table(self, name):
        """The table of a list, and what comes before the row's identifier in its key."""
        kind, _, owner = name.partition("/")
        if kind == "plain":
            return "plain_" + owner, ""
        return {"items": "item", "shops": "shop", "lines": "shop_line", "events": "event"}[kind], \
            owner + "/" if kind in ("items", "lines") else ""

    def tables(self):
        """The rows of each table by their keys, with their versions."""
        tables = {}
        with self.lock:
            for name, rows in self.lists.items():
                table, owner = self.table(name)
                tables.setdefault(table, {}).update({owner + str(number): version for number, version in rows.items()})
        return tables

    def units(self):
        """The names of the units of work."""
        def window(number):
            begin = datetime.datetime.fromtimestamp(self.since + number * HOUR, datetime.timezone.utc)
            return begin.strftime("%Y-%m-%dT%H:%M:%S.000Z")

        units = set()
        with self.lock:
            for name in self.lists:
                table, _ = self.table(name)
                owner = name.partition("/")[2]
                if table == "event":
                    owner = window(int(owner))
                units.add("%s[%s]" % (table, owner) if table in ("item", "shop_line", "event") else table)
        return units

    def targets(self):
        """What is asked for in a run of everything."""
        targets = []
        with self.lock:
            for name in self.lists:
                place = self.place(name)
                while place:
                    targets.append(place)
                    place = self.page(place)["next"]
        return targets

    # Pages

    def place(self, name):
        kind, _, window = name.partition("/")
        if kind != "events":
            return "/" + name
        begin = self.since + int(window) * HOUR
        return "/events?from=%d&to=%d" % (begin, begin + HOUR)

    def page(self, target):
        path, _, query = target.partition("?")
        name, query = path.strip("/"), dict(urllib.parse.parse_qsl(query))
        if name == "events":
            name = "events/%d" % ((int(query["from"]) - self.since) // HOUR)
        rows = self.lists.get(name, {})
        numbers = sorted(rows)
        begin = bisect.bisect_right(numbers, int(query.get("after", 0)))
        numbers, more = numbers[begin:begin + self.page_size], len(numbers) > begin + self.page_size
        place = self.place(name)
        answer = {"as_of": self.clock, "rows": [], "next": None}
        for number in numbers:
            row = {"id": number, "version": rows[number], "as_of": self.clock}
            if name.startswith("events/"):
                row["at"] = self.since + int(name[7:]) * HOUR + HOUR // 8
            answer["rows"].append(row)
        if more:
            answer["next"] = "%s%safter=%d" % (place, "&" if "?" in place else "?", numbers[-1])
        return answer

    # Changes

    def touch_all(self):
        with self.lock:
            for rows in self.lists.values():
                for number in rows:
                    self.clock += 1
                    rows[number] = self.clock

    def add(self, name):
        with self.lock:
            self.clock += 1
            self.lists[name][max(self.lists[name]) + 1] = self.clock

    def change(self, choice):
        """One change. No list becomes much shorter or longer."""
        with self.lock:
            name = choice.choice(sorted(self.lists))
            rows = self.lists[name]
            number = choice.choice(sorted(rows))
            self.clock += 1
            kind = choice.random()
            usual = self.shops if name == "shops" else self.item_rows if name.startswith("items/") else self.rows
            if kind < 0.7:
                rows[number] = self.clock
            elif kind < 0.85 and len(rows) <= usual:
                # A new one, or one that was there before.
                free = next(n for n in range(number, number + 1000) if n not in rows)
                rows[free] = self.clock
                if name == "shops":
                    self.fill("lines/%d" % free)
            elif kind >= 0.85 and len(rows) >= usual:
                self.remove(name, number)
                if name == "shops":
                    for line in list(self.lists["lines/%d" % number]):
                        self.remove("lines/%d" % number, line)
                    del self.lists["lines/%d" % number]

    def remove(self, name, number):
        table, owner = self.table(name)
        del self.lists[name][number]
        self.removals.setdefault((table, owner + str(number)), []).append(self.clock)

    def start_changes(self, seed, pause=0.02):
        self.changing = threading.Event()

        def go_on(stop, choice):
            while not stop.wait(pause):
                self.change(choice)

        self.changer = threading.Thread(target=go_on, args=(self.changing, random.Random(seed)), daemon=True)
        self.changer.start()

    def stop_changes(self):
        if self.changing:
            self.changing.set()
            self.changer.join()
            self.changing = None


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256

    def handle_error(self, *_):
        if not isinstance(sys.exception() if hasattr(sys, "exception") else sys.exc_info()[1], OSError):
            super().handle_error(*_)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # The whole answer at once.
    wbufsize = 1 << 16
    # A client that was cut off never says so.
    timeout = 120

    def do_GET(self):
        source = self.server.source
        source.requests.append((time.monotonic(), self.client_address[0], self.path))
        with source.lock:
            body = json.dumps(source.page(self.path)).encode()
        time.sleep(source.latency)
        while source.held and self.path.startswith(source.held):
            time.sleep(0.02)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = Source(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(server.url, flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
