#!/usr/bin/env python3
"""Takes webhooks on 127.0.0.1. Prints "READY <port>" when it listens, and ends with its standard input.

POST /ok… is answered with 200, /fail… with 500, /gone… with 404, /flaky… with 503 and from then on 200, /moved… with a redirect
to /ok, /away… with one to another origin whose address repeats the path, /hang… never. GET /_log lists what came."""
import json, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOG, LOCK, SEEN = [], threading.Lock(), set()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a):
        pass

    def plain(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with LOCK:
            self.plain(200, json.dumps(LOG).encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with LOCK:
            LOG.append({"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body})
            is_new = self.path not in SEEN
            SEEN.add(self.path)
        port = self.server.server_port
        if self.path.startswith("/hang"):
            time.sleep(600)
        elif self.path.startswith("/fail"):
            self.plain(500, b"no: " + self.path.encode())
        elif self.path.startswith("/gone"):
            self.plain(404)
        elif self.path.startswith("/flaky") and is_new:
            self.plain(503)
        elif self.path.startswith("/moved"):
            self.plain(307, Location="/ok")
        elif self.path.startswith("/away"):
            self.plain(307, Location="http://localhost:%d/ok?from=%s" % (port, self.path))
        else:
            self.plain(200, b"ok")


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print("READY", server.server_port, flush=True)
sys.stdin.read()
