"""Runs a real server on loopback, changes what it holds, and lists it without our engine.

serve.py start NAME FOLDER            starts and fills it, prints its address; ends with the standard input
serve.py change NAME FOLDER ADDRESS   adds, changes and removes records in the server's own way
serve.py list NAME FOLDER ADDRESS     its records, one a line, as the tests' tables show them

Each module on_NAME.py has: command(folder, port) -> (words, environment), ready (a path), fill(address, folder),
change(address, folder), listing(address, folder) -> rows; and may have prepare(folder, port), before the start.
"""
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

VENV = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.build/servers/venv/bin"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(url):
    try:
        urllib.request.urlopen(url, timeout=2).close()
        return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def start(server, folder):
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    if hasattr(server, "prepare"):
        server.prepare(folder, port)
    words, environment = server.command(folder, port)
    parent = os.getppid()
    with open(os.path.join(folder, "log"), "wb") as log:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=folder,
            env={**os.environ, **environment})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        deadline = time.time() + 60
        while not answers(address + server.ready):
            if process.poll() is not None or time.time() > deadline:
                sys.exit("it did not start:\n" + open(os.path.join(folder, "log"), errors="replace").read()[-2000:])
            time.sleep(0.05)
        server.fill(address, folder)
        print(address, flush=True)
        # The end of the input is the end of the test, and so is another parent.
        while os.getppid() == parent:
            if select.select([sys.stdin], [], [], 0.5)[0] and not os.read(0, 1000):
                break
    finally:
        try:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=3)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def text(value):
    """A value as SQLite's columns show it."""
    if value is None:
        return "∅"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        written = "%.15g" % value
        return written if set(written) & set(".e") else written + ".0"
    return str(value)


if __name__ == "__main__":
    verb, name, folder = sys.argv[1:4]
    server = importlib.import_module("on_" + name)
    if verb == "start":
        start(server, folder)
    elif verb == "change":
        server.change(sys.argv[4], folder)
    elif verb == "list":
        for row in server.listing(sys.argv[4], folder):
            print(" | ".join(text(value) for value in row))
    else:
        sys.exit(__doc__)
