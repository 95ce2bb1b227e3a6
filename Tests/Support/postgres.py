#!/usr/bin/env python3
"""A PostgreSQL cluster for tests: on loopback, in a folder of its own, owned by an unprivileged user.

postgres.py serve [trust=NETWORK] [SETTING=VALUE …]
                                      makes and starts one, prints "FOLDER URL"; it ends, and the folder goes, with the
                                      standard input. Whoever comes from the network needs no password
postgres.py stop FOLDER [MODE]        stops it: fast (the default), or immediate, which is a crash
postgres.py start FOLDER              starts it again, on the port that it had

Settings are those of postgresql.conf.
"""
import glob
import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

SETTINGS = {
    # The data are gone with the test, and so nothing is worth waiting for a disk.
    "fsync": "off", "full_page_writes": "off", "max_connections": "200", "listen_addresses": "'127.0.0.1'",
    "unix_socket_directories": "''", "lc_messages": "'C.UTF-8'", "log_min_messages": "fatal",
    # A client that was killed in the middle of a statement is missed soon.
    "client_connection_check_interval": "100ms",
}


def program(name):
    """Debian keeps the programs of a server out of the PATH."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/" + name), key=lambda path: int(path.split("/")[4]))
    path = found[-1] if found else shutil.which(name)
    if not path:
        sys.exit("there is no %s; Scripts/setup installs it (apt: postgresql)" % name)
    return path


def owner():
    """Who the server runs as: it refuses root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    sys.exit("PostgreSQL does not run as root, and there is no user postgres or nobody")


OWNER = owner()


def call(*words):
    identity = {"user": OWNER.pw_uid, "group": OWNER.pw_gid, "extra_groups": []} if OWNER else {}
    result = subprocess.run(
        words, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", env={k: v for k, v in os.environ.items() if not k.startswith("PG")}, **identity)
    if result.returncode:
        sys.exit("%s ended with %d:\n%s" % (words[0], result.returncode, result.stdout[-2000:]))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make(settings, trusted=None):
    folder = tempfile.mkdtemp(prefix="syncd-postgres-")
    if OWNER:
        os.chown(folder, OWNER.pw_uid, OWNER.pw_gid)
    call(program("initdb"), "--pgdata", folder + "/data", "--username", "postgres", "--auth", "trust", "--no-sync",
         "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-instructions")
    # Whoever has a password has to say it; who made the cluster has none.
    with open(folder + "/data/pg_hba.conf", "w") as file:
        file.write("host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        if trusted:
            file.write("host all all %s trust\n" % trusted)
    with open(folder + "/port", "w") as file:
        file.write(str(free_port()))
    with open(folder + "/data/postgresql.auto.conf", "a") as file:
        for name, value in {**SETTINGS, **settings}.items():
            file.write("%s = %s\n" % (name, value))
    return folder


def start(folder):
    with open(folder + "/port") as file:
        port = int(file.read())
    try:
        call(program("pg_ctl"), "start", "--wait", "--silent", "--timeout", "60", "--pgdata", folder + "/data",
             "--log", folder + "/log", "--options", "-p %d" % port)
    except SystemExit as failure:
        log = open(folder + "/log", errors="replace").read() if os.path.exists(folder + "/log") else ""
        sys.exit("%s\n%s" % (failure, log[-2000:]))
    return "postgresql://postgres@127.0.0.1:%d/postgres" % port


def stop(folder, mode="fast"):
    if os.path.exists(folder + "/data/postmaster.pid"):
        call(program("pg_ctl"), "stop", "--wait", "--silent", "--mode", mode, "--pgdata", folder + "/data")


def serve(settings, trusted=None):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parent = os.getppid()
    folder = make(settings, trusted)
    try:
        print(folder, start(folder), flush=True)
        # The end of the input is the end of the tests, and so is another parent.
        while os.getppid() == parent:
            if select.select([sys.stdin], [], [], 1)[0] and not os.read(0, 1):
                break
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        stop(folder, "immediate")
        shutil.rmtree(folder, ignore_errors=True)


def main(words):
    if words[:1] == ["serve"]:
        settings = dict(word.split("=", 1) for word in words[1:])
        serve(settings, settings.pop("trust", None))
    elif len(words) == 2 and words[0] == "start":
        start(words[1])
    elif len(words) in (2, 3) and words[0] == "stop":
        stop(*words[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
