"""Runs programs in turn, each as a whole process, and compares them pair by pair."""
import os
import signal
import statistics
import time

# Whoever takes longer hangs.
LIMIT = 900


class Broken(Exception):
    """A program failed, or did not do what it is measured for."""


class Sample:
    """One run: seconds from the start of the process to its end, seconds of CPU, and the peak of its memory in MB.

    The kernel counts the memory of this process in, as it was when the other one began: about 20 MB at least.
    """

    def __init__(self, seconds, usage, output):
        self.seconds, self.output = seconds, output
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss / 1024


class Contestant:
    """A program that takes part in a work.

    before() makes everything as it has to be; check(output) fails where the work was not done. Neither is measured.
    With rounds it takes part in the first rounds only, and does not warm up.
    """

    def __init__(self, name, words, check, before=lambda: None, environment=None, rounds=None):
        self.name, self.words, self.check, self.before = name, words, check, before
        self.environment, self.rounds = environment or {}, rounds


def variables(own):
    """The environment without what would change a program's work, and with what is its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SYNCD_", "PG"))} | own


def run(words, environment, folder):
    """Runs a program in a folder to its end, and fails where it does."""
    log = os.path.join(folder, "output")
    os.chdir(folder)
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, log, write, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2)]
    start = time.perf_counter()
    process = os.posix_spawnp(words[0], words, variables(environment), file_actions=actions)
    late = []
    signal.signal(signal.SIGALRM, lambda *_: (late.append(True), os.kill(process, signal.SIGKILL)))
    signal.alarm(LIMIT)
    try:
        _, status, usage = os.wait4(process, 0)
    except BaseException:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        raise
    finally:
        signal.alarm(0)
    seconds = time.perf_counter() - start
    with open(log, errors="replace") as file:
        output = file.read()
    code = os.waitstatus_to_exitcode(status)
    if code:
        why = "did not end in %d s" % LIMIT if late else "ended with %d" % code
        raise Broken("%s %s:\n%s" % (" ".join(words), why, output[-2000:]))
    return Sample(seconds, usage, output)


def compete(contestants, rounds, folder):
    """Lets all run in turn, round by round after one to warm up. Returns a list of samples for each name."""
    samples = {contestant.name: [] for contestant in contestants}
    for number in range(rounds + 1):
        for contestant in contestants:
            if contestant.rounds is not None and not 1 <= number <= contestant.rounds:
                continue
            contestant.before()
            sample = run(contestant.words, contestant.environment, folder)
            contestant.check(sample.output)
            if number:
                samples[contestant.name].append(sample)
    return samples


def median(samples, what="seconds"):
    return statistics.median(getattr(sample, what) for sample in samples)


def ratio(samples, others):
    """The median of the ratios of the runs that followed each other."""
    return statistics.median(a.seconds / b.seconds for a, b in zip(samples, others))


class Bar:
    """What a number has to stay at or below, or to reach."""

    def __init__(self, value, unit, at_most=None, at_least=None):
        self.value, self.unit, self.at_most, self.at_least = value, unit, at_most, at_least

    @property
    def holds(self):
        return self.value <= self.at_most if self.at_most is not None else self.value >= self.at_least

    def __str__(self):
        sign, limit = ("≤", self.at_most) if self.at_most is not None else ("≥", self.at_least)
        number = "%.0f" if self.value >= 100 or self.unit == "MB" else "%.1f" if self.value >= 3 else "%.2f"
        return "%s %s (%s %g: %s)" % (number % self.value, self.unit, sign, limit, "ok" if self.holds else "missed")
