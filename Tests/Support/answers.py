#!/usr/bin/env python3
"""Serves declared answers on 127.0.0.1. Usage: answers.py [ROUTES.json [PORT]]. Prints "READY <port>" when it listens.

ROUTES.json is a list of routes; a request takes the first whose path is equal and whose query items all come:
  path, query {name: value}, headers {name: value}   what is asked for
  status (200), answer {header: value} or [[header, value], …], body (text) or file (path)   what is answered
  times (endless)     how often the route answers; then it is passed over
  fault               cut: half the body, then the connection closes; reset: no answer; stall: headers, then silence;
                      slow: a pause of `pause` seconds before the answer; close: the body without a length
  encoding            gzip, deflate, br, zstd: the body is encoded, by this program
`{{base}}` in a body or header value is the server's own address; `replace` {text: text} is applied to the body.
GET /_log lists the requests, /_reset empties the list, POST /_routes replaces the routes."""
import gzip, json, socket, struct, sys, threading, time, zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

LOG, LOCK = [], threading.Lock()
ROUTES = []


def encode(body, name):
    if name == "gzip":
        return gzip.compress(body)
    if name == "deflate":
        return zlib.compress(body)
    raise ValueError(name)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *a):
        pass

    def plain(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        global ROUTES
        ROUTES = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.plain(len(ROUTES))

    def do_GET(self):
        u = urlsplit(self.path)
        if u.path == "/_log":
            return self.plain(LOG)
        if u.path == "/_reset":
            LOG.clear()
            return self.plain([])
        headers = {k.lower(): v for k, v in self.headers.items()}
        query = parse_qsl(u.query, keep_blank_values=True)
        with LOCK:
            LOG.append({"target": self.path, "path": u.path, "query": query, "headers": headers, "at": time.time()})
            route = self.find(u.path, query, headers)
        if route is None:
            route = {"status": 404, "body": json.dumps({"message": "no such route: " + self.path})}
        try:
            self.answer(route)
        except OSError:
            self.close_connection = True

    def find(self, path, query, headers):
        for r in ROUTES:
            if r["path"] != path or r.get("times") == 0:
                continue
            if any((k, v) not in query for k, v in r.get("query", {}).items()):
                continue
            if any(headers.get(k.lower()) != v for k, v in r.get("headers", {}).items()):
                continue
            if "times" in r:
                r["times"] -= 1
            return r
        return None

    def answer(self, r):
        base = "http://127.0.0.1:%d" % self.server.server_port
        if "file" in r:
            with open(r["file"], "rb") as f:
                body = f.read()
        else:
            body = r.get("body", "").encode("utf-8", "surrogateescape")
        body = body.replace(b"{{base}}", base.encode())
        for old, new in r.get("replace", {}).items():
            body = body.replace(old.encode(), new.replace("{{base}}", base).encode())
        if "encoding" in r:
            body = encode(body, r["encoding"])
        fault = r.get("fault")
        if fault == "slow":
            time.sleep(r.get("pause", 1))
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        self.send_response(r.get("status", 200))
        answer = r.get("answer", {})
        pairs = list(answer.items()) if isinstance(answer, dict) else answer
        if not any(k.lower() == "content-type" for k, _ in pairs):
            pairs.append(("Content-Type", "application/json"))
        for k, v in pairs:
            self.send_header(k, v.replace("{{base}}", base))
        if fault == "close":
            self.send_header("Connection", "close")
            self.close_connection = True
        elif r.get("status", 200) not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        if "encoding" in r:
            self.send_header("Content-Encoding", r["encoding"])
        self.end_headers()
        if fault == "cut":
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
        elif fault == "stall":
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            time.sleep(30)
        else:
            self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with open(sys.argv[1]) as f:
            ROUTES = json.load(f)
    try:
        server = Server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
    except OSError as e:
        sys.exit("answers.py: %s" % e.strerror)
    print("READY", server.server_port, flush=True)
    # It ends with whoever started it.
    threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
    server.serve_forever()
