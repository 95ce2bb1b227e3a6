"""What a run needs and keeps for the next one: the programs, the source, the peers."""
import hashlib
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KEPT = os.path.join(ROOT, ".build", "bench")


def say(text):
    print(text, file=sys.stderr, flush=True)


def text_of(path):
    with open(path, "rb") as file:
        return file.read()


def build(folder=None):
    """Builds release with Swift's own libraries linked in, as it is installed. Returns the programs by name."""
    names = ["BenchEntities", "syncd"]
    if not folder:
        scratch = os.path.join(KEPT, "build")
        for name in names:
            say("building %s (release, --static-swift-stdlib)" % name)
            words = ["swift", "build", "-c", "release", "--static-swift-stdlib", "--scratch-path", scratch]
            done = subprocess.run(
                words + ["--product", name],
                cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            if done.returncode:
                sys.exit(done.stdout)
        folder = os.path.join(scratch, "release")
    programs = {name: os.path.abspath(os.path.join(folder, name)) for name in names}
    for path in programs.values():
        if not os.path.exists(path):
            sys.exit("there is no %s" % path)
    programs["ceiling"] = build_ceiling()
    return programs


def build_ceiling():
    program, code = os.path.join(KEPT, "ceiling"), os.path.join(HERE, "ceiling.cpp")
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(code):
        say("building ceiling")
        os.makedirs(KEPT, exist_ok=True)
        words = ["-O2", "-std=c++17", code, "-o", program, "-lcurl", "-lsimdjson", "-lsqlite3"]
        if subprocess.run([os.environ.get("CXX", "g++"), *words]).returncode:
            sys.exit("ceiling cannot be built; Scripts/setup installs what it needs")
    return program


class Source:
    """A folder of pages, and what a table has to hold of them."""

    def __init__(self, kind, *options, csv=False):
        words = [kind, *map(str, options)]
        # Every edition has a time of its own, and so its pages have validators of their own.
        self.folder = os.path.join(KEPT, "source", "-".join(word.strip("-") for word in words))
        self.csv = self.folder + "/books.csv" if csv else None
        made, version = os.path.join(self.folder, "made"), hashlib.sha256(text_of(HERE + "/source.py")).hexdigest()
        if csv:
            version += " with rows"
        if not os.path.exists(made) or not text_of(made).decode().startswith(version):
            say("making the source: " + " ".join(words))
            shutil.rmtree(self.folder, ignore_errors=True)
            os.makedirs(self.folder)
            if self.csv:
                words += ["--csv", self.csv]
            subprocess.run([sys.executable, HERE + "/source.py", words[0], self.folder, *words[1:]], check=True)
            age = 1_700_000_000 + int(hashlib.sha256(self.folder.encode()).hexdigest()[:6], 16)
            for folder, _, files in os.walk(self.folder):
                for file in files:
                    os.utime(os.path.join(folder, file), (age, age))
            with open(made, "w") as file:
                file.write(version)
        self.sums = json.loads(text_of(os.path.join(self.folder, "sums.json")))
        self.rows = self.sums["rows"]


def peer(package):
    """The Python that has a package, from PyPI if need be; None where it cannot be had."""
    folder = os.path.join(KEPT, "peers")
    python, installed = os.path.join(folder, "bin", "python"), os.path.join(folder, "installed-" + package)
    if os.path.exists(installed):
        return python
    say("installing %s" % package)
    for words in (
        [] if os.path.exists(python) else [sys.executable, "-m", "venv", folder],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", package],
    ):
        if words:
            try:
                done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            except OSError as failure:
                say(str(failure))
                return None
            if done.returncode:
                say("\n".join(done.stdout.splitlines()[-1:]))
                return None
    with open(installed, "w"):
        return python
