#!/usr/bin/env python3
"""mutate.py - damaged input of every format, given to every command.

usage: mutate.py [--one N]

A mutant is a whole trace (or a model, or saved delays) to which a few bad things are done that its
format knows: lengths, counts, ids, times, pieces of another one. It is given to some command lines;
judge.py says what must hold of each. What is drawn comes from SEED and the number of the mutant alone.

	MUTANTS=2000     so many; with a sanitizer 150
	FIRST=0          the number of the first one
	SEED=16          other ones
	JOBS=N           so many at once; by default one for each CPU
	RUNS=3           command lines for each mutant
	MUTATE_KEEP=DIR  mutants that something is wrong with are kept here, by default in mutants/
	MUTATE_TRACES=D  also mutants of the small ones among other people's traces, in D/GROUP/
	MUTATE_SERVER    the program that runs commands: server.c
"""
import hashlib
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import commands  # noqa: E402
import judge  # noqa: E402
import operate  # noqa: E402
import sources  # noqa: E402

MUTANTS = int(os.environ.get("MUTANTS", "150" if judge.SANITIZED else "2000"))
FIRST = int(os.environ.get("FIRST", "0"))
SEED = os.environ.get("SEED", "16")
RUNS = int(os.environ.get("RUNS", "3"))
KEEP = os.path.abspath(os.environ.get("MUTATE_KEEP", "mutants"))
HOLDUP = os.path.abspath(os.environ.get("HOLDUP", "build/holdup"))
SERVER = os.environ.get("MUTATE_SERVER") or os.path.join(os.path.dirname(HOLDUP), "tests", "mutate_server")
KINDS = {"dir": 6, "ctf": 3, "dat": 3, "perf": 3, "text": 2, "raw": 1, "model": 2, "saved": 0.3, "index": 2, "user": 1,
         "control": 0.2}
MOST_FAILURES = int(os.environ.get("MOST_FAILURES", "30"))
SLOW = 10 # seconds after which a mutant is told


def threads_of(trace):
    """Some of its threads, and their names."""
    done = subprocess.run([HOLDUP, "stats", "--json", "--by", "thread", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        return [], []
    rows = [row for row in judge.parsed(done.stdout)["rows"] if row.get("tid")]
    return sorted({row["tid"] for row in rows})[:40], sorted({row["name"] for row in rows if row.get("name")})[:40]


def made(everything, folder):
    """What this program makes of others: cuts, which have a state of their own to begin with, and CTF."""
    path, out = os.path.join(folder, "source"), os.path.join(folder, "made")
    for name, words in (("futex-convoy", ["cut", "--from", "+1ms", "--to", "+3ms", "-o", out]),
                        ("kernel-and-user", ["cut", "--from", "+100us", "-o", out]),
                        ("dat-none", ["cut", "--from", "+1us", "-o", out]),
                        ("wait-child", ["export", "--format", "ctf", "-o", out])):
        source = [source for source in everything if source.name == name][0]
        source.put(path)
        subprocess.run([HOLDUP, *words, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        files = {name: data for name, data in sources.read_tree(out).items() if not name.startswith("timeline/")}
        yield sources.Source(name + "-" + words[0], "dir" if "trace.json" in files else "ctf", files)
        remove(path)
        remove(out)


def prepare(folder):
    """All sources, with the threads in them; and two traces with their index."""
    everything = sources.everything()
    everything += list(made(everything, folder))
    path = os.path.join(folder, "source")
    for source in everything:
        if source.kind in ("model", "saved", "control"):
            continue
        source.put(path)
        source.tids, source.comms = threads_of(path)
        remove(path)
    for source in [source for source in everything if source.name in ("futex-convoy", "mono-4k")]:
        source.put(path)
        subprocess.run([HOLDUP, "index", path], stdout=subprocess.DEVNULL, check=True)
        everything.append(sources.Source(source.name + "-index", "index", sources.read_tree(path), source.tids, source.comms))
        remove(path)
    return everything


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def shown(words):
    """A command line that a shell takes, and a terminal shows."""
    return " ".join(word if word.isascii() and shlex.quote(word) == word else
                    "$'%s'" % "".join(chr(byte) if 32 <= byte < 127 and byte not in b"\\'" else "\\x%02x" % byte
                                      for byte in os.fsencode(word)) for word in words)


class Worker:
    """One after the other of the mutants N, N + STEP, ..."""

    def __init__(self, folder, everything):
        self.folder, self.everything = folder, everything
        self.server = judge.Server(SERVER, folder)
        self.trace = os.path.join(folder, "TRACE")
        self.good = [source for source in everything if source.name == "futex-convoy"][0]
        self.models = [source for source in everything if source.kind == "model"]
        self.good.put(os.path.join(folder, "GOOD"))
        saved = [source for source in everything if source.kind == "saved"]
        saved[-1].put(os.path.join(folder, "OTHER"))
        self.runs = 0

    def source(self, rng):
        kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        return rng.choice([source for source in self.everything if source.kind == kind])

    def mutant(self, number):
        """Returns the rng, the source, what was done."""
        rng = random.Random("%s:%d" % (SEED, number))
        source = self.source(rng)
        files, done = operate.mutant(rng, source, self.everything)
        remove(self.trace)
        if files:
            source.put(self.trace, files)
        else:
            os.mkdir(self.trace)
        return rng, source, done

    def again(self, words, run):
        """The same input twice is the same output."""
        second = self.server.run(self.folder, words)
        return second.out == run.out and second.err == run.err and second.status == run.status

    def reopened(self, run, kind):
        """A trace that was written can be read."""
        words = {"trace": ["check-trace", "OUT"], "model": ["model", "check", "OUT"]}.get(kind)
        if not words or run.status != 0 or not os.path.exists(os.path.join(self.folder, "OUT")):
            return ""
        second = self.server.run(self.folder, words)
        wrong = judge.wrong_end(second) or judge.wrong_text("stdout", second.out)
        if wrong:
            return "%s of what it wrote: %s" % (words[0], wrong)
        return "" if second.status in (0, 1) else "what it wrote is refused: " + second.err.decode(errors="replace").strip()

    def one(self, number, loud=False):
        """Make a mutant and run commands. Returns what is wrong: (command line, words, reason)."""
        rng, source, done = self.mutant(number)
        wrong = []
        if loud:
            print("# mutant %d of %s: %s" % (number, source.name, done))
        for _ in range(RUNS):
            words, kind = commands.draw(rng, source)
            rng.choice(self.models).put(os.path.join(self.folder, "MODEL"))
            reason, run = judge.judge(self.server, self.folder, words, kind)
            self.runs += 1
            if not reason:
                reason = self.reopened(run, kind)
            # A damaged index is told once: then it is built again.
            if not reason and rng.random() < 0.03 and words[0] != "index" and source.kind != "index" and \
                    "OUT" not in words and b"built again" not in run.out + run.err and \
                    not self.again(words, run):
                reason = "the same input printed something else"
            if loud:
                print("# holdup %s: status %s, %d MiB, %.2f s" % (shown(words), run.status, run.kib >> 10, run.seconds))
            if reason:
                wrong.append((words, reason))
        return source, done, wrong

    def keep(self, number, source, done, wrong):
        """So that a failure can be looked at, and become a kept case."""
        folder = os.path.join(KEEP, "%s-%d" % (SEED, number))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        remove(self.trace)
        self.mutant(number)
        subprocess.run(["cp", "-a", self.trace, os.path.join(folder, "TRACE")], check=True)
        shutil.copy2(os.path.join(self.folder, "MODEL"), folder)
        with open(os.path.join(folder, "what"), "w", encoding="utf-8") as file:
            file.write("%s: %s\n" % (source.name, done))
            for words, reason in wrong:
                file.write("holdup %s\n\t%s\n" % (shown(words), reason))
        return folder


def work(folder, everything, numbers, out):
    """In a process of its own: a line for each failure, and a last one with the number of runs."""
    os.makedirs(folder, exist_ok=True)
    worker = Worker(folder, everything)
    failures = 0
    for number in numbers:
        begun = time.monotonic()
        source, done, wrong = worker.one(number)
        if time.monotonic() - begun > SLOW:
            print("# mutant %d of %s took %.1f s" % (number, source.name, time.monotonic() - begun), file=out, flush=True)
        if not wrong:
            continue
        failures += 1
        kept = worker.keep(number, source, done, wrong)
        for words, reason in wrong:
            print("not ok - mutant %d of %s: %s" % (number, source.name, reason), file=out)
            print("# %s\n#   holdup %s\n#   SEED=%s %s --one %d, kept in %s" %
                  (done[:300], shown(words), SEED, sys.argv[0], number, kept), file=out, flush=True)
        if failures >= MOST_FAILURES:
            print("# there are more", file=out)
            break
    worker.server.stop()
    print("runs %d" % worker.runs, file=out, flush=True)


def spread(folder, everything, jobs):
    """Fork workers; print what they say. Returns how many failed, how many command lines were run."""
    children = []
    for job in range(jobs):
        out = open(os.path.join(folder, "out-%d" % job), "w+", encoding="utf-8", errors="replace")
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                work(os.path.join(folder, "job-%d" % job), everything, range(FIRST + job, FIRST + MUTANTS, jobs), out)
                status = 0
            except BaseException: # pylint: disable=broad-except
                traceback.print_exc(file=out)
                out.flush()
            finally:
                os._exit(status)
        children.append((pid, out))
    failed = runs = 0
    for pid, out in children:
        status = os.waitpid(pid, 0)[1]
        out.seek(0)
        for line in out:
            if line.startswith("runs "):
                runs += int(line.split()[1])
                continue
            failed += line.startswith("not ok")
            print(line, end="")
        if status != 0:
            failed += 1
            print("not ok - a worker ended badly")
    return failed, runs


def kept_cases(folder):
    """What was found once: kept/NAME/ has a trace, and command lines. Nothing may be wrong any more."""
    root = os.path.join(os.path.dirname(os.path.realpath(__file__)), "kept")
    server = judge.Server(SERVER, os.path.join(folder, "kept-runs"))
    for name in sorted(os.listdir(root)) if os.path.isdir(root) else []:
        case = os.path.join(folder, "case")
        remove(case)
        shutil.copytree(os.path.join(root, name), case)
        reasons = []
        with open(os.path.join(case, "cmd"), encoding="utf-8") as file:
            for line in file:
                kind, *words = shlex.split(line)
                reason, first = judge.judge(server, case, words, kind)
                reasons.append(reason)
                second = judge.judge(server, case, words, kind)[1]
                if (first.out, first.err) != (second.out, second.err):
                    reasons.append("the same input printed something else")
        bad = [reason for reason in reasons if reason]
        print("%s - kept: %s%s" % ("not ok" if bad else "ok", name, ": " + bad[0] if bad else ""))
        yield bool(bad)
    server.stop()


def digest(everything):
    """Which sources: the same seed of others is another mutant."""
    total = hashlib.sha256()
    for source in everything:
        for name, data in sorted(source.files.items()):
            if not name.startswith("timeline/"):
                total.update(name.encode() + data)
    return total.hexdigest()[:12]


def main():
    begun = time.monotonic()
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="holdup-mutate-", dir=where)
    os.environ["TMPDIR"] = folder
    try:
        everything = prepare(folder)
        if sys.argv[1:2] == ["--one"]:
            worker = Worker(os.path.join(folder, "job"), everything)
            source, done, wrong = worker.one(int(sys.argv[2]), loud=True)
            worker.keep(int(sys.argv[2]), source, done, wrong)
            print("\n".join("%s: %s" % (shown(words), reason) for words, reason in wrong) or "nothing is wrong")
            return 1 if wrong else 0
        kept = list(kept_cases(folder))
        jobs = int(os.environ.get("JOBS", "0")) or len(os.sched_getaffinity(0))
        failed, runs = spread(folder, everything, jobs)
        print("# SEED=%s, %d sources (%s), %.0f s" % (SEED, len(everything), digest(everything), time.monotonic() - begun))
        if not failed:
            print("ok - %d mutants, %d command lines: nothing is wrong" % (MUTANTS, runs))
        print("1..%d" % (len(kept) + (failed or 1)))
        return 1 if failed or any(kept) else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
