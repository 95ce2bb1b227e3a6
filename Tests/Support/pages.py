#!/usr/bin/env python3
"""Serves records page by page, in every style. Usage: pages.py. Prints "READY <port>" when it listens.

Each test has a session, the first segment of its paths: PUT /s1/_options (JSON) begins it anew, GET /s1/_log tells what
was asked: {"requests": [line, …], "peak": most requests under way at once}. The rest of the path is
the style. Parameters come by query, JSON body, GraphQL variables, form or header (X-After).

  all                 everything                         next, next-header, link   ?p=INDEX in body, Next-Page, Link
  cursor, cursor-header   after=TOKEN                    offset   offset, limit
  page                page, per_page                     keyset   after (of "n"), limit
  range               the Range field
  from, to            bounds of "at" in every style

Options: n records {id, v, at, n}; size of a page, cap on what a client may ask for; ties: records with the same n and at;
step: seconds from one at to the next, from `since` on; latency in ms; inclusive bounds; total and pages: true, a value,
or a list with one for each answer; more: a has-more flag; token: a template with {} for the index, or "number"; jump
{index: index}: where a page leads instead; emptyLast: a link behind the last page; beyond: a status behind the last page;
fail {index: status}; stall: the number of the request that takes a minute; ignore: parameters that are passed over; plain: ranges are ignored; rangeTotal false: `/*`; 
status: that of a range (206), unit: that of Content-Range; shift {number of answers: {delete: [ids], insert: n}};
gone: ids that are not there, texts {id: v}; tags: "strong" or "weak" entity tags, or "date" for Last-Modified (`changed`),
by which an answer that is still the same is given as 304, "bare": without its other header fields; sort: records have
their n and a name as a list, which a body's `after` may be; nested: records have an author {id, name}, one of three (authors {id: name}), and parts (parts {record's id: [ids]}) of the form {id}."""
import hashlib, json, sys, threading, time
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, urlsplit

SESSIONS, LOCK = {}, threading.Lock()


class Session:
    def __init__(self, options):
        self.o = options
        self.log, self.under_way, self.peak, self.answers = [], 0, 0, 0
        self.since = datetime.fromisoformat(options.get("since", "2026-01-01T00:00:00+00:00"))
        ids = (i for i in range(1, options.get("n", 0) + 1) if i not in options.get("gone", []))
        self.records = [self.record(i) for i in ids]

    def record(self, i):
        n = (i - 1) // self.o.get("ties", 1) + 1
        at = self.since + timedelta(seconds=n * self.o.get("step", 1))
        v = self.o.get("texts", {}).get(str(i), self.o.get("prefix", "v") + str(i))
        record = {"id": i, "v": v, "at": at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z"), "n": n}
        if self.o.get("sort"):
            record["sort"] = [n, "b%d" % i]
        if self.o.get("nested"):
            record["author"] = {"id": i % 3, "name": self.o.get("authors", {}).get(str(i % 3), "a")}
            record["parts"] = [{"id": part} for part in self.o.get("parts", {}).get(str(i), [])]
        return record

    def shift(self):
        self.answers += 1
        change = self.o.get("shift", {}).get(str(self.answers), {})
        self.records = [r for r in self.records if r["id"] not in change.get("delete", [])]
        for _ in range(change.get("insert", 0)):
            self.records.append(self.record(1 + max(r["id"] for r in self.records)))

    def declared(self, name, truth):
        value = self.o.get(name)
        if isinstance(value, list):
            value = value[min(self.answers, len(value) - 1)]
        return {} if value is None or value is False else {name: truth if value is True else value}

    def window(self, p):
        low, high = p.get("from", ""), p.get("to", "9")
        both = self.o.get("inclusive")
        return [r for r in self.records if low <= r["at"] and (r["at"] <= high if both else r["at"] < high)]

    def answer(self, style, p, field):
        """Status, header fields and body of one page."""
        o = self.o
        records = self.window(p)
        size = int(p.get("limit", p.get("per_page", o.get("size", 10))))
        size = min(size, o.get("cap", size))
        status, headers, body = 200, {}, {}
        pages = (len(records) + size - 1) // size
        if style == "all":
            start, size, index = 0, len(records), 0
        elif style == "offset":
            start = int(p.get("offset", 0))
            index = start // size
        elif style == "page":
            index = int(p.get("page", 1)) - 1
            start = index * size
        elif style == "keyset":
            after = p.get("after", 0)
            after = int(after[0] if isinstance(after, list) else after)
            records = [r for r in records if (r["n"] >= after if o.get("inclusive") else r["n"] > after)]
            start, index = 0, (len(self.records) - len(records)) // size
            body["more"] = len(records) > size
        elif style == "range":
            start, end = map(int, field.split("=")[1].split("-"))
            size = min(end - start + 1, o.get("cap", 1 << 30))
            index = start // size
            total = self.declared("total", len(records)).get("total", len(records))
            total = total if o.get("rangeTotal", True) else "*"
            unit = o.get("unit", "items ")
            if o.get("plain"):
                start, size = 0, len(records)
            elif start >= len(records):
                status, headers["Content-Range"] = 416, "%s*/%s" % (unit, total)
            else:
                status = o.get("status", 206)
                headers["Content-Range"] = "%s%d-%d/%s" % (unit, start, min(start + size, len(records)) - 1, total)
        else:
            token = str(p.get("p" if style in ("next", "next-header", "link") else "after", ""))
            index = int("".join(c for c in token if c.isdigit()) or 0)
            start = index * size
        status = o.get("fail", {}).get(str(index + 1), status)
        if start and start >= len(records) and "beyond" in o:
            status = o["beyond"]
        last = start + (0 if o.get("emptyLast") else size) >= len(records)
        following = o.get("jump", {}).get(str(index), None if last else index + 1)
        if style == "next":
            body["next"] = None if following is None else "?p=%d" % following
        if style == "next-header" and following is not None:
            headers["Next-Page"] = "?p=%d" % following
        if style == "link" and following is not None:
            headers["Link"] = '<?p=%d>; rel="%s"' % (following, o.get("rel", "next"))
        if style in ("cursor", "cursor-header") and following is not None:
            form = o.get("token", "t{}")
            token = following if form == "number" else form.replace("{}", str(following))
            if style == "cursor":
                body["cursor"] = token
            else:
                headers["X-Next"] = str(token)
        if style != "keyset":
            body["more"] = following is not None
        if not o.get("more"):
            del body["more"]
        body["data"] = records[start : start + size]
        body.update(self.declared("total", len(records)))
        body.update(self.declared("pages", pages))
        return status, headers, body


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *a):
        pass

    def validated(self, status, headers, body):
        """The answer with a validator, or a 304 where the client has it already."""
        session = SESSIONS.get(self.path.split("/")[1])
        kind = session and session.o.get("tags")
        if not kind or self.command != "GET" or status not in (200, 206) or self.path.endswith("/_log"):
            return status, headers, body
        if kind == "date":
            name, ask, tag = "Last-Modified", "If-Modified-Since", session.o["changed"]
        else:
            name, ask = "ETag", "If-None-Match"
            tag = '"%s"' % hashlib.sha1(json.dumps([headers, body]).encode()).hexdigest()[:12]
            tag = tag if kind == "strong" else "W/" + tag
        asked = self.headers.get(ask)
        if asked == tag:
            return 304, {} if session.o.get("bare") else {**headers, name: tag}, None
        return status, {**headers, name: tag}, body

    def send(self, status, headers, body):
        status, headers, body = self.validated(status, headers, body)
        body = b"" if status in (204, 304) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def content(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()

    def do_PUT(self):
        name = self.path.split("/")[1]
        SESSIONS[name] = Session(json.loads(self.content()))
        self.send(200, {}, {})

    def do_POST(self):
        self.do_GET()

    def do_GET(self):
        u = urlsplit(self.path)
        _, name, style = u.path.split("/", 2)
        session = SESSIONS[name]
        if style == "_log":
            return self.send(200, {}, {"requests": session.log, "peak": session.peak})
        text = self.content()
        p = {}
        if text[:1] == "{":
            given = json.loads(text)
            p = given.get("variables", given)
            p = {**p, **p.get("paging", {})}
        elif text:
            p = dict(parse_qsl(text))
        p.update(parse_qsl(u.query))
        after, field = self.headers.get("X-After"), self.headers.get("Range")
        if after:
            p["after"] = after
        for ignored in session.o.get("ignore", []):
            p.pop(ignored, None)
        line = self.command + " " + self.path[1 + len(name) :]
        line += "".join(" " + x for x in [field and "Range: " + field, after and "X-After: " + after, text] if x)
        if "If-None-Match" in self.headers or "If-Modified-Since" in self.headers:
            line += " if changed"
        with LOCK:
            session.log.append(line)
            session.under_way += 1
            session.peak = max(session.peak, session.under_way)
            stalls = len(session.log) == session.o.get("stall")
        try:
            time.sleep(session.o.get("latency", 0) / 1000)
            if stalls:
                time.sleep(60)
            with LOCK:
                # Before the answer goes out: the client may ask again before this thread goes on.
                session.under_way -= 1
                answer = session.answer(style, p, field)
                session.shift()
            self.send(*answer)
        except OSError:
            self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    print("READY", server.server_port, flush=True)
    # It ends with whoever started it.
    threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
    server.serve_forever()
