"""Workers in namespaces of their own, a database and a source on the bridge between them."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
POSTGRES = os.path.join(HERE, "..", "Support", "postgres.py")
sys.path.insert(0, os.path.dirname(POSTGRES))
import postgres  # noqa: E402


class Failure(Exception):
    """What did not happen."""


def wait_for(what, missing, limit=180):
    """Waits until `missing()` is empty; it says what is missing. It is only a failure that takes long."""
    start = time.monotonic()
    while True:
        lacks = missing()
        if not lacks:
            return time.monotonic() - start
        if time.monotonic() - start > limit:
            raise Failure("%s did not happen in %d s: %s" % (what, limit, str(lacks)[:2000]))
        time.sleep(0.2)


class Server:
    """A PostgreSQL that the namespaces reach over the bridge, and nobody else."""

    def __init__(self, network):
        self.process = subprocess.Popen(
            [sys.executable, POSTGRES, "serve", "trust=" + network.cidr,
             "listen_addresses='127.0.0.1,%s'" % network.address],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().split()
        if not line:
            raise Failure("PostgreSQL did not start")
        self.folder, url = line
        self.local = url.rsplit("/", 1)[0]
        self.outside = "postgresql://sync@%s:%s" % (network.address, self.local.rsplit(":", 1)[1])
        self.run("postgres", "CREATE ROLE sync LOGIN")

    def run(self, database, sql):
        result = subprocess.run(
            [postgres.program("psql"), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1",
             "--dbname", "%s/%s" % (self.local, database)],
            input=sql, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if result.returncode:
            raise Failure("psql: %s" % result.stderr.strip())
        return result.stdout

    def dump(self, database, path):
        subprocess.run([postgres.program("pg_dump"), "--file", path, "%s/%s" % (self.local, database)],
                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self, mode):
        subprocess.run([sys.executable, POSTGRES, "stop", self.folder, mode], check=True, stdin=subprocess.DEVNULL)

    def start(self):
        subprocess.run([sys.executable, POSTGRES, "start", self.folder], check=True, stdin=subprocess.DEVNULL)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Worker:
    """One `syncd watch`. What it has printed stays when it is started again."""

    def __init__(self, number, words, environment, log):
        self.number, self.words, self.environment, self.log = number, words, environment, log
        self.name = "w%d" % number
        self.process = None

    def start(self):
        with open(self.log, "a") as file:
            self.process = subprocess.Popen(
                self.words, env=self.environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGKILL):
        """Ends it, and returns its status and how long that took."""
        start, process, self.process = time.monotonic(), self.process, None
        process.send_signal(number)
        if number != signal.SIGKILL:
            try:
                return process.wait(60), time.monotonic() - start
            except subprocess.TimeoutExpired:
                process.kill()
        return process.wait(), time.monotonic() - start

    def lines(self):
        """The objects of its log, and other lines as they are."""
        with open(self.log, errors="replace") as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    yield {"message": line.rstrip("\n")}

    def messages(self, word):
        return [line for line in self.lines() if word in str(line.get("message", ""))]


class Cluster:
    """A fresh database, a source, and workers that share the work between the two."""

    # Whether something went wrong: then the logs and the database are kept.
    is_wrong = False

    def __init__(self, program, network, server, source, name, rate=None, **configuration):
        self.network, self.server, self.source, self.name = network, server, source, name
        self.folder = tempfile.mkdtemp(prefix="syncd-workers-")
        server.run("postgres", "CREATE DATABASE %s OWNER sync" % name)
        farm = {"url": source.url}
        if rate:
            farm["rate"] = "%d/s" % rate
        self.rate = rate
        self.parallel = configuration.setdefault("parallel", 4)
        configuration = {"store": "%s/%s" % (server.outside, name), "shared": True, "log_format": "json",
                         "apis": {"farm": farm}, **configuration}
        path = self.folder + "/syncd.json"
        with open(path, "w") as file:
            json.dump(configuration, file)
        self.environment = dict(os.environ, SYNCD_TEST_REGIONS=str(source.regions), SYNCD_TEST_SINCE=str(source.since))
        self.command = [program, "status", "--config", path, "--log-format", "text"]
        self.workers = {
            number: Worker(
                number, network.words(number) + [program, "watch", "--config", path, "--worker", "w%d" % number],
                self.environment, "%s/w%d.log" % (self.folder, number))
            for number in network.addresses}

    def start(self, *numbers):
        for number in numbers or self.workers:
            self.workers[number].start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for number, worker in self.workers.items():
            self.network.mend(number)
            if worker.is_running:
                worker.end()
        self.source.close()
        if kind is None and not Cluster.is_wrong:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self.server.dump(self.name, self.folder + "/database.sql")
            print("  what there was is kept in " + self.folder, flush=True)

    def last_lines(self, count=12):
        """What the workers have said last of what went wrong."""
        text = []
        for worker in self.workers.values():
            if os.path.exists(worker.log):
                wrong = [line for line in worker.lines() if line.get("level") != "info"][-count:]
                text += ["%s: %s" % (worker.name, json.dumps(line)) for line in wrong]
        return "\n".join(text)

    # The database

    def execute(self, sql):
        return self.server.run(self.name, sql)

    def rows(self, query):
        """What a query finds, as objects."""
        return json.loads(self.execute("SELECT coalesce(json_agg(q), '[]') FROM (%s) q;" % query))

    def has(self, table):
        return self.rows("SELECT to_regclass('%s') IS NOT NULL AS there" % table)[0]["there"]

    def now(self):
        """The server's time."""
        return self.rows("SELECT clock_timestamp()::text AS now")[0]["now"]

    def status(self):
        result = subprocess.run(self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        return result.returncode, result.stdout

    def units(self):
        """The units by their names. An entity that is cut is not one of them."""
        if not self.has("syncd_units"):
            return {}
        rows = self.rows("""
            SELECT u.*, CASE WHEN slice = '' THEN entity ELSE entity || '[' || slice || ']' END AS name, w.name AS worker
            FROM syncd_units u LEFT JOIN syncd_workers w ON w.id = u.holder
            WHERE slice <> '' OR NOT EXISTS (SELECT FROM syncd_units s WHERE s.entity = u.entity AND s.slice <> '')""")
        return {row["name"]: row for row in rows}

    def runs(self):
        """The committed runs by the names of their units, from the first to the last."""
        runs = {}
        if self.has("syncd_runs"):
            for run in self.rows("""
                    SELECT entity, outcome, reason, extract(epoch FROM started_at)::float AS started,
                      extract(epoch FROM finished_at)::float AS finished FROM syncd_runs
                    WHERE outcome IN ('proven', 'unproven', 'incremental') ORDER BY started_at, id"""):
                runs.setdefault(run["entity"], []).append(run)
        return runs

    def without_run(self, mark=None):
        """The units that had no committed run which began after a time of the server; all workers that were started run."""
        for worker in self.workers.values():
            if worker.process and not worker.is_running:
                raise Failure("%s has ended with %d: %s" % (
                    worker.name, worker.process.returncode, [line["message"] for line in worker.lines() if "message" in line][:8]))
        if not self.has("syncd_runs"):
            return self.source.units()
        condition = "AND started_at > '%s'" % mark if mark else ""
        done = {row["entity"] for row in self.rows("""
            SELECT DISTINCT entity FROM syncd_runs WHERE outcome IN ('proven', 'unproven', 'incremental') %s""" % condition)}
        return sorted(self.source.units() - done)

    def differences(self):
        """How the tables differ from the source. Lines of a shop that is gone are in no walk's scope, and may stay."""
        found = []
        for table, rows in self.source.tables().items():
            key = {"item": "region || '/' || id", "shop_line": "shop || '/' || id"}.get(table, "id::text")
            scope = "WHERE shop IN (SELECT id FROM shop)" if table == "shop_line" else ""
            stored = {row["key"]: row["version"]
                      for row in self.rows("SELECT %s AS key, version FROM %s %s" % (key, table, scope))}
            found += ["%s %s: %s in the table, %s at the source" % (table, key, stored.get(key), rows.get(key))
                      for key in sorted(stored.keys() | rows.keys()) if stored.get(key) != rows.get(key)]
        return found

    def lacks_units(self):
        """Units that are not there, or are there and should not."""
        return sorted(self.units().keys() ^ self.source.units())
