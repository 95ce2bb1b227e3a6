#!/usr/bin/env python3
"""A server on 127.0.0.1 that answers all with []. Usage: odd_server.py [--ahead SECONDS] [--tls CERTIFICATE KEY].
Prints "READY <port>" when it listens; it ends with its standard input. Its clock is SECONDS ahead."""
import http.server, ssl, sys, threading, time

AHEAD = float(sys.argv[sys.argv.index("--ahead") + 1]) if "--ahead" in sys.argv else 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a):
        pass

    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + AHEAD)

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(b"[]")

    do_HEAD = do_GET


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client):
        pass  # a client that looks at the certificate and hangs up


server = Server(("127.0.0.1", 0), Handler)
if "--tls" in sys.argv:
    place = sys.argv.index("--tls")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[place + 1], sys.argv[place + 2])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("READY", server.server_port, flush=True)
sys.stdin.read()
