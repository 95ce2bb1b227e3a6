#!/usr/bin/env python3
"""pages.py with faults. Usage: faults.py. Prints "READY <port>" when it listens.

Options of a session besides those of pages.py:
fault {page, kind}: the page (counted from 1 over the different requests of the session) is answered wrongly, as often as
it is asked for:
  404, 429, 500       that status             reset      no answer, the connection is reset
  stall               half the body, then silence
  cut, cut-close, cut-chunked   half the body, then the end: with a length, without one, in chunks
  close               the whole body without a length
  repeat              what the page before was answered
  error, html, empty, end   status 200 with an error object, with HTML, without the records, and without a next page too
  redirect            to another origin"""
import json, socket, struct, threading, time
import sys
import pages


class Session(pages.Session):
    def __init__(self, options):
        super().__init__(options)
        self.targets, self.answers_sent = [], []


class Handler(pages.Handler):
    def send(self, status, headers, body):
        name = self.path.split("/")[1]
        session = pages.SESSIONS.get(name)
        if self.command == "PUT" or self.path.endswith("/_log") or session is None:
            return super().send(status, headers, body)
        if self.path not in session.targets:
            session.targets.append(self.path)
            session.answers_sent.append((status, headers, body))
        page = session.targets.index(self.path)
        fault = session.o.get("fault", {})
        if fault.get("page") != page + 1:
            return super().send(status, headers, body)
        kind = fault["kind"]
        if kind.isdigit():
            return super().send(int(kind), {}, {"message": "fault"})
        if kind == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        if kind == "repeat":
            return super().send(*session.answers_sent[max(0, page - 1)])
        if kind == "error":
            return super().send(200, {}, {"error": {"code": 17, "message": "fault"}})
        if kind in ("empty", "end"):
            body = dict(body, data=[])
            if kind == "end":
                headers, body = {}, {"data": []}
            return super().send(status, headers, body)
        if kind == "redirect":
            port = self.server.server_port
            return super().send(302, {"Location": "http://localhost:%d%s" % (port, self.path)}, {})
        text = json.dumps(body).encode()
        half = text if kind == "close" else text[: len(text) // 2]
        self.send_response(status)
        for field, value in headers.items():
            self.send_header(field, value)
        if kind == "html":
            half = b"<!DOCTYPE html><html><body>Maintenance</body></html>"
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(half)))
        else:
            self.send_header("Content-Type", "application/json")
            self.close_connection = True
            if kind in ("stall", "cut"):
                self.send_header("Content-Length", str(len(text)))
            elif kind == "cut-chunked":
                self.send_header("Transfer-Encoding", "chunked")
                half = b"%x\r\n%s\r\n" % (len(half), half)
        self.end_headers()
        self.wfile.write(half)
        self.wfile.flush()
        if kind == "stall":
            time.sleep(0.5)


if __name__ == "__main__":
    pages.Session = Session
    server = pages.Server(("127.0.0.1", 0), Handler)
    print("READY", server.server_port, flush=True)
    # It ends with whoever started it.
    threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
    server.serve_forever()
