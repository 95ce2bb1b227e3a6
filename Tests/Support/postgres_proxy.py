#!/usr/bin/env python3
"""Stands between programs and a PostgreSQL server, counts what the programs ask, and ends a connection at one of them.

postgres_proxy.py SERVER_PORT    prints "READY PORT"; the address is then postgresql://…@127.0.0.1:PORT/…?sslmode=disable

Asked over HTTP on the same port:
  /arm?at=N&how=HOW   begins to count anew; at the N-th question
    terminate  the server's process is told to end before the question is passed on, as pg_terminate_backend does
    silence    the question is passed on and answered, but the answer never arrives, and the process is told to end
  /count              {"count": questions so far, "question": the one at which a connection was ended, or null}

A question is a message after which the server acts: a statement, the end of a statement with parameters, rows of a COPY
and their end (postgresql.org/docs/15/protocol-message-formats.html). They are counted over all connections.
"""
import json
import os
import signal
import socket
import struct
import sys
import threading
import urllib.parse

LOCK = threading.Lock()
STATE = {"count": 0, "at": 0, "how": "", "question": None}
QUESTIONS = b"QSdc"


def read(sock, size):
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def message(sock):
    """A message with its type in front."""
    head = read(sock, 5)
    return head[:1], head + read(sock, struct.unpack("!I", head[1:])[0] - 4)


class Link:
    """One connection of a program, and ours to the server for it."""

    def __init__(self, client, first, port):
        self.client, self.server = client, socket.create_connection(("127.0.0.1", port))
        for sock in (self.client, self.server):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pid, self.statement = None, ""
        self.is_silent = threading.Event()
        self.server.sendall(first)
        threading.Thread(target=self.answers, daemon=True).start()
        self.questions()

    def terminate(self):
        if self.pid:
            os.kill(self.pid, signal.SIGTERM)

    def judge(self, kind, data):
        """What is done at this question: nothing, terminate or silence."""
        if kind in (b"Q", b"P"):
            self.statement = data[5:].lstrip(b"\0").split(b"\0")[0].decode("utf-8", "replace")
        if kind not in QUESTIONS:
            return None
        with LOCK:
            STATE["count"] += 1
            if STATE["count"] != STATE["at"]:
                return None
            STATE["question"] = "%s %s" % (kind.decode(), self.statement[:200])
            return STATE["how"]

    def questions(self):
        try:
            while True:
                kind, data = message(self.client)
                what = self.judge(kind, data)
                if what == "terminate":
                    self.terminate()
                elif what == "silence":
                    # Rows of a COPY are not answered.
                    if kind == b"d":
                        self.terminate()
                        break
                    self.is_silent.set()
                self.server.sendall(data)
        except (EOFError, OSError):
            pass
        if not self.is_silent.is_set():
            self.close()

    def answers(self):
        try:
            while True:
                kind, data = message(self.server)
                if kind == b"K":
                    self.pid = struct.unpack("!I", data[5:9])[0]
                if self.is_silent.is_set():
                    # Ready for the next question, or for rows.
                    if kind in b"ZGH":
                        self.terminate()
                        break
                    continue
                self.client.sendall(data)
        except (EOFError, OSError):
            pass
        self.close()

    def close(self):
        for sock in (self.client, self.server):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()


def control(client, data):
    while b"\r\n\r\n" not in data:
        data += client.recv(4096)
    url = urllib.parse.urlsplit(data.split(b" ")[1].decode())
    query = dict(urllib.parse.parse_qsl(url.query))
    with LOCK:
        if url.path == "/arm":
            STATE.update(count=0, at=int(query.get("at", 0)), how=query.get("how", ""), question=None)
        body = json.dumps({"count": STATE["count"], "question": STATE["question"]}).encode()
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
    client.close()


def serve(client, port):
    try:
        head = read(client, 4)
        if head == b"GET ":
            return control(client, head)
        first = head + read(client, struct.unpack("!I", head)[0] - 4)
        Link(client, first, port)
    except (EOFError, OSError):
        client.close()


def main(port):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    print("READY", listener.getsockname()[1], flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, port), daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]))
