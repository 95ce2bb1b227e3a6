#!/usr/bin/env python3
"""Tests what a person installs: Scripts/install, Scripts/package-deb, manual, completions, unit.

Prints a line for each check that fails and ends with `N passed, M failed`. Usage: Tests/Install/run.py [--verbose]
"""
import glob
import gzip
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from machine import Machine

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.chdir(ROOT)
TOOLS = {"mandoc": "mandoc", "man": "man-db", "zsh": "zsh", "fish": "fish", "lintian": "lintian",
         "systemd-analyze": "systemd", "strace": "strace", "dpkg-shlibdeps": "dpkg-dev", "sqlite3": "sqlite3"}
verbose = "--verbose" in sys.argv
passed = failed = 0


def check(name, holds, detail=""):
    global passed, failed
    if holds:
        passed += 1
        if verbose:
            print(f"ok   {name}")
    else:
        failed += 1
        print(f"FAIL {name}: {str(detail).strip()[-2000:]}")
    sys.stdout.flush()
    return holds


def run(*words, **options):
    """Status and all that was printed."""
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                            **options)
    return result.returncode, result.stdout


def done(name, *words, **options):
    """Checks that a program ends with 0, and returns what it printed."""
    status, output = run(*words, **options)
    check(name, status == 0, f"status {status}: {output}")
    return output


def silent(name, *words):
    """Checks that a program ends with 0 and has nothing to say."""
    status, output = run(*words)
    check(name, status == 0 and output.strip() == "", f"status {status}: {output}")

# What the tests around these are told is none of the program's business.
for name in [name for name in os.environ if name.startswith("SYNCD_")]:
    del os.environ[name]


def files(folder):
    return sorted(os.path.relpath(os.path.join(place, name), folder)
                  for place, folders, names in os.walk(folder) for name in folders + names)


class Books(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps([{"id": 1, "title": "Salt & Silence", "autor": "Tomás Quist"}]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except BrokenPipeError:
            pass  # A program that was ended.

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Books)
threading.Thread(target=server.serve_forever, daemon=True).start()
ADDRESS = f"http://127.0.0.1:{server.server_address[1]}/"


def enabling_books(text):
    """The configuration as an administrator edits it."""
    text = text.replace('"book": { "enabled": false }', '"book": { "enabled": true }')
    return re.sub(r'//"apis":.*', '', text).replace(
        '  "entities"', f'  "apis": {{ "library": {{ "url": "{ADDRESS}" }} }},\n  "entities"')


def prefix_of_ones_own(work):
    prefix = work + "/own"
    # Whoever installs into a folder of his own needs nobody else's rights.
    os.makedirs(work + "/bin")
    with open(work + "/bin/sudo", "w") as file:
        file.write(f"#!/bin/sh\ntouch {work}/asked\nexit 1\n")
    os.chmod(work + "/bin/sudo", 0o755)
    environment = dict(os.environ, PATH=f"{work}/bin:{os.environ['PATH']}", HOME=work)
    os.makedirs(prefix + "/share/man")
    before = files(prefix)
    output = done("install into a prefix of one's own", "Scripts/install", "--prefix", prefix, env=environment)
    check("install says the size and what to do next", "MB)" in output and f"{prefix}/etc/syncd/syncd.json" in output, output)
    check("install into one's own prefix asks for no rights", not os.path.exists(work + "/asked"))
    program = prefix + "/bin/syncd"
    size = os.path.getsize(program)
    print(f"the program has {size / 1e6:.1f} MB")
    check("the program is smaller than 20 MB", size < 20_000_000, size)
    check("the Swift runtime is linked in", "swift" not in run("ldd", program)[1].lower(), run("ldd", program)[1])
    check("the program is stripped", "no symbols" in run("nm", program)[1], "nm finds symbols")

    configuration = prefix + "/etc/syncd/syncd.json"
    with open(configuration) as file:
        text = file.read()
    status, output = run(program, "once", "--config", configuration)
    check("as installed nothing is synced", status == 2 and "every entity is disabled" in output, output)
    with open(configuration, "w") as file:
        file.write(enabling_books(text))
    output = done("the installed program syncs", program, "once", "--config", configuration, cwd="/")
    check("and says so", output.startswith("book: 1 records, 1 inserted"), output)
    store = prefix + "/var/lib/syncd/syncd.sqlite"
    rows = run("sqlite3", store, "SELECT title FROM book")[1]
    check("the store lies below the prefix", rows == "Salt & Silence\n", rows)

    manual(prefix + "/share/man/man1/syncd.1.gz", work)
    completions(prefix)
    unit(prefix, work)
    system_calls(program, configuration, work)

    listed = files(prefix)
    done("install again", "Scripts/install", "--prefix", prefix, env=environment)
    with open(configuration) as file:
        check("an existing configuration stays", file.read() == enabling_books(text))
    check("a second install adds nothing", files(prefix) == listed, set(files(prefix)) ^ set(listed))
    with open(prefix + "/share/doc/syncd/mine", "w"):
        pass
    done("uninstall", "Scripts/install", "--prefix", prefix, "--uninstall", env=environment)
    left = [path for path in files(prefix) if not path.startswith(("etc", "var"))]
    expected = sorted(before + ["share/doc", "share/doc/syncd", "share/doc/syncd/mine"])
    check("uninstall removes what was installed, and nothing else", left == expected, left)
    check("uninstall keeps configuration and data", os.path.exists(configuration) and os.path.exists(store))
    status, output = run("Scripts/install", "--prefix", prefix, "--uninstall", env=environment)
    check("a second uninstall says that there is nothing", status == 1 and "nothing was installed" in output, output)
    for words in (["--prefix"], ["--prefix", ""], ["--nosuch"], ["--prefix", work + "/a b"]):
        status, output = run("Scripts/install", *words, env=environment)
        check(f"install {words} is refused", status == 2 and output != "", output)


def manual(page, work):
    plain = work + "/syncd.1"
    with gzip.open(page) as source, open(plain, "wb") as target:
        shutil.copyfileobj(source, target)
    silent("mandoc has nothing to say on the manual", "mandoc", "-T", "lint", plain)
    environment = dict(os.environ, LC_ALL="C.UTF-8", MANROFFSEQ="", MANWIDTH="80")
    result = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", plain], env=environment,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    check("groff has nothing to say on the manual", result.returncode == 0 and result.stderr == "", result.stderr)
    text = run("man", "-l", plain, env=environment)[1]
    # Lists of commands and options are those of the help.
    program = [path for path in glob.glob(work + "/own/bin/syncd")][0]
    help_text = run(program, "--help")[1]
    commands = re.findall(r"^  ([a-z]+)", help_text.split("COMMANDS:")[1].split("OPTIONS:")[0], re.M)
    missing = [name for name in commands if f"syncd {name}" not in text]
    check("every command is in the manual", len(commands) > 9 and not missing, missing)


def completions(prefix):
    script = prefix + "/share/bash-completion/completions/syncd"
    output = done("bash reads its completions", "bash", "--norc", "-c", f"source {script} && complete -p syncd")
    check("bash completes syncd", "-F _syncd syncd" in output, output)
    output = done("zsh finds its completions", "zsh", "-f", "-c",
                  f"fpath=({prefix}/share/zsh/site-functions $fpath); autoload -U compinit; compinit -u -D; "
                  "print $_comps[syncd]; autoload +X _syncd && print loaded")
    check("zsh completes syncd", output == "_syncd\nloaded\n", output)
    output = done("fish finds its completions", "fish", "--no-config", "-c",
                  f"set PATH {prefix}/bin $PATH; set fish_complete_path {prefix}/share/fish/vendor_completions.d; "
                  "complete -C 'syncd once bo'")
    check("fish completes syncd", output == "book\tentity\n", output)


def exposure(path):
    output = run("systemd-analyze", "security", "--offline=true", "--no-pager", path)[1]
    level = re.search(r"exposure level for .*?: ([0-9.]+)", output)
    return float(level[1]) if level else None


def unit(prefix, work):
    path = prefix + "/lib/systemd/system/syncd.service"
    with open(path) as file:
        text = file.read()
    check("the unit names this prefix", f"ExecStart={prefix}/bin/syncd watch --config {prefix}/etc/syncd/syncd.json" in text, text)
    silent("systemd-analyze verify has nothing to say", "systemd-analyze", "verify", "--man=no", path)
    level = exposure(path)
    print(f"systemd-analyze security: {level}")
    check("systemd-analyze security is under 2.0", level is not None and level < 2, level)
    known = run(prefix + "/bin/syncd", "watch", "--help")[1]
    start = re.search(r"^ExecStart=.*", text, re.M)[0]
    missing = [option for option in re.findall(r" (--[a-z-]+)", start) if option not in known]
    check("watch has the options of the unit", not missing, missing)
    log_format = re.search(r"--log-format (\S+)", start)[1]
    check("watch has the log format of the unit", log_format in (re.search(r"--log-format (\S+)", known) or [0, ""])[1], log_format)


def filter_set(name):
    """The system calls of one of systemd's sets, those of the sets in it included."""
    found = set()
    for line in run("systemd-analyze", "syscall-filter", "--no-pager", name)[1].splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            found |= filter_set(word)
        elif word and not word.startswith("#"):
            found.add(word)
    return found


def system_calls(program, configuration, work):
    """Runs need no system call but those that the unit's filter lets through."""
    allowed, refused = set(), set()
    with open("Config/syncd.service") as file:
        for names in re.findall(r"^SystemCallFilter=(.*)", file.read(), re.M):
            for name in names.removeprefix("~").split():
                (refused if names.startswith("~") else allowed).update(filter_set(name))
    allowed -= refused
    log = work + "/calls"
    status, output = run("strace", "-f", "-qq", "-o", log, "true")
    if status != 0:
        print(f"system calls: skipped, strace cannot trace here: {output.strip()}")
        return

    def calls():
        with open(log, errors="replace") as file:
            return set(re.findall(r"^\d+ +([a-z0-9_]+)\(", file.read(), re.M))

    done("strace runs once", "strace", "-f", "-qq", "-o", log, program, "once", "--config", configuration)
    made = calls()
    check("strace saw the run", {"socket", "openat", "execve"} <= made, sorted(made))
    # What the filter holds back ends with EPERM, and so it does here: asked on the way and done without.
    held_back = sorted(made - allowed)
    print(f"system calls that the unit holds back: {' '.join(held_back) or 'none'}")
    trace = ["strace", "-f", "-qq", "-o", log]
    if held_back:
        trace += ["-e", f"inject={','.join(held_back)}:error=EPERM"]
    done("a run does without what the unit holds back", *trace, program, "once", "--config", configuration)
    watch = subprocess.Popen([*trace, program, "watch", "--config", configuration], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
    # What it watches, and its first run.
    line = watch.stdout.readline() + watch.stdout.readline()
    for child in run("pgrep", "-P", str(watch.pid))[1].split():
        os.kill(int(child), 15)
    rest = watch.communicate(timeout=60)[0]
    check("watch does without it, and ends", watch.returncode == 0 and "book: 1 records" in line, line + rest)
    surprising = sorted(calls() - allowed - set(held_back))
    check("watch asks for nothing else", not surprising, surprising)


def package(work):
    output = done("package-deb", "Scripts/package-deb", "--output", work + "/one")
    path = output.strip().splitlines()[-1] if output.strip() else ""
    if not check("package-deb prints the path", os.path.exists(path), output):
        return
    print(f"the package has {os.path.getsize(path) / 1e6:.1f} MB")
    second = done("package-deb again", "Scripts/package-deb", "--output", work + "/two").strip()
    digests = {hashlib.sha256(open(each, "rb").read()).hexdigest() for each in (path, second)}
    check("the same sources make the same bytes", len(digests) == 1)
    status, output = run("lintian", "--allow-root", "--suppress-tags", "initial-upload-closes-no-bugs", path)
    check("lintian finds nothing", status == 0 and not re.search(r"^[EW]:", output, re.M), output)
    control = run("dpkg-deb", "--field", path)[1]
    check("the libraries' packages are computed", re.search(r"Depends:.*libcurl4 .*libsqlite3-0", control), control)
    listing = run("dpkg-deb", "--contents", path)[1]
    owners = {line.split()[1] for line in listing.splitlines()}
    check("everything belongs to root", owners == {"root/root"}, owners)

    later = work + "/later.deb"
    run("dpkg-deb", "--raw-extract", path, work + "/tree")
    with open(work + "/tree/DEBIAN/control") as file:
        text = file.read()
    with open(work + "/tree/DEBIAN/control", "w") as file:
        file.write(re.sub(r"^Version: .*", "Version: 99.0-1", text, flags=re.M))
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "--build", work + "/tree", later)

    try:
        machine = Machine()
    except OSError as error:
        print(f"installing the package: skipped, it needs root and overlayfs: {error}")
        return
    try:
        life_of_a_package(machine, path, later)
    finally:
        machine.close()


def life_of_a_package(machine, path, later):
    def there(name, command):
        status, output = machine.run(command)
        check(name, status == 0, f"status {status}: {output}")
        return output

    machine.copy(path, "/tmp/syncd.deb")
    machine.copy(later, "/tmp/later.deb")
    output = there("dpkg installs the package", "dpkg -i /tmp/syncd.deb")
    check("it says what to do next, once", output.count("systemctl enable --now syncd") == 1, output)
    there("it has its user", "id syncd")
    modes = there("the configuration is for root and the service", "stat -c '%a %U %G' /etc/syncd/syncd.json")
    check("and nobody else reads it", modes == "640 root syncd\n", modes)
    _, output = machine.run("ls /etc/systemd/system/*/syncd.service")
    check("the service is not enabled", "No such file" in output, output)
    status, output = machine.run("syncd once --config /etc/syncd/syncd.json")
    check("as installed nothing is synced", status == 2 and "every entity is disabled" in output, output)
    modes = there("the service's folder is the service's", "stat -c '%a %U %G' /var/lib/syncd")
    check("and nobody else looks into it", modes == "750 syncd syncd\n", modes)
    status, text = machine.run("cat /etc/syncd/syncd.json")
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(enabling_books(text))
        file.flush()
        machine.copy(file.name, "/etc/syncd/syncd.json")
    sync = "setpriv --reuid syncd --regid syncd --clear-groups syncd once --config /etc/syncd/syncd.json"
    output = there("the service's user syncs", sync)
    check("one row", output.startswith("book: 1 records, 1 inserted"), output)
    status, output = machine.run("systemd-analyze verify /lib/systemd/system/syncd.service")
    check("the installed unit is clean, its manual included", status == 0 and output == "", output)
    output = there("man finds the page", "MANPAGER=cat man syncd")
    # Debian's small images leave manuals out of what dpkg unpacks.
    check("the page is the one", "EXIT STATUS" in output or "minimized" in output, output)
    there("dpkg finds the files as they were packed", "dpkg --verify syncd | grep -v syncd.json | grep -v /usr/share/ || true")

    there("a later version installs over it", "dpkg -i /tmp/later.deb")
    output = there("the row is still there", sync)
    check("unchanged, by the administrator's configuration", "1 unchanged" in output, output)
    there("dpkg removes it", "dpkg -r syncd")
    there("configuration and data stay", "test -e /etc/syncd/syncd.json -a -e /var/lib/syncd/syncd.sqlite")
    there("the program is gone", "! test -e /usr/bin/syncd")
    there("dpkg purges it", "dpkg -P syncd")
    there("its user is gone", "! id syncd")
    places = ("/tmp/", "/var/cache/man/")
    left = [each for each in machine.changed() if "syncd" in each and not each.startswith(places)]
    check("nothing is left", left == [], left)

    # Scripts/install below /usr/local makes the user too.
    if os.path.isdir(os.path.join(ROOT, ".build/install")):
        there("Scripts/install below /usr/local", f"PATH={os.environ['PATH']} '{ROOT}/Scripts/install'")
        there("it has the user", "id syncd")
        there("syncd is on the path", "syncd --version")
        status, output = machine.run("systemd-analyze verify --man=no syncd.service")
        check("systemd finds the unit there", status == 0 and output == "", output)
        there("and uninstalls", f"PATH={os.environ['PATH']} '{ROOT}/Scripts/install' --uninstall")
        there("but keeps the configuration", "test -e /etc/syncd/syncd.json && ! test -e /usr/local/bin/syncd")


def tools():
    """Installs what lacks, or says why it cannot."""
    missing = [package for tool, package in TOOLS.items() if not shutil.which(tool)]
    if not missing:
        return None
    as_root = [] if os.getuid() == 0 else ["sudo", "-n"]
    words = ["env", "RUNLEVEL=1", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq",
             "--no-install-recommends", *missing]
    run(*as_root, "apt-get", "update", "-qq")
    status, output = run(*as_root, *words)
    return None if status == 0 else f"apt cannot install {' '.join(missing)}: {output.strip().splitlines()[-1:]}"


reason = tools()
if reason:
    print(f"skipped: {reason}")
    sys.exit(3)
work = tempfile.mkdtemp(prefix="syncd-install-")
try:
    prefix_of_ones_own(work)
    package(work)
finally:
    shutil.rmtree(work, ignore_errors=True)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
