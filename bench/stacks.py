#!/usr/bin/env python3
"""stacks.py - stacks of waits beside gdb's, and how many of them go up to where the thread began.

usage: HOLDUP=PROGRAM bench/stacks.py [--only gdb|ends] [--verbose]

gdb:  programs of the distribution sleep in some 200 threads. A recording ends while they do, so it has their
      stacks; then gdb tells its own. A frame is the same when its code address is, and its function.
ends: the same programs at work. Of each wait of theirs over 1 ms: is there a stack, and how does it end?
"""
import argparse
import collections
import contextlib
import functools
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

# What a thread begins with: of the program, of glibc, of musl.
BEGINS = {"_start", "clone", "clone3", "__clone", "__clone3", "start_thread", "_dl_start_user"}
EVAL = "_PyEval_EvalFrameDefault"

PYTHON_SLEEPS = r"""
import queue, select, socket, threading, time
a, b = socket.socketpair()
lock = threading.Lock(); lock.acquire()
waits = [lambda: time.sleep(1000), lambda: lock.acquire(), lambda: a.recv(1), lambda: select.select([a], [], [], 1000),
         lambda: threading.Event().wait(), lambda: queue.Queue().get(), lambda: threading.Condition().wait_for(lambda: False)]
def named(wait):
    sorted([1], key=lambda _: wait())
for i in range(28):
    threading.Thread(target=named, args=(waits[i % len(waits)],) if i % 7 != 6 else (lambda: threading.Event().wait(1000),)).start()
"""

GDB = r"""
import gdb, json, sys
KINDS = {gdb.INLINE_FRAME: "inline", gdb.TAILCALL_FRAME: "tail", gdb.SIGTRAMP_FRAME: "signal"}
gdb.execute("set backtrace past-main on"); gdb.execute("set backtrace past-entry on"); gdb.execute("set backtrace limit 250")
told = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frames, frame = [], gdb.newest_frame()
    while frame is not None:
        frames.append([frame.pc(), frame.name(), KINDS.get(frame.type(), "")])
        try: frame = frame.older()
        except gdb.error: break
    told[thread.ptid[1]] = frames
with open(OUT, "w") as file: json.dump(told, file)
"""


# ------------------------------------------------------------------ programs that sleep

def as_user(user):
    return ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]


class Programs:
    """What is started here is ended here, with all its children."""

    def __init__(self, folder):
        self.folder, self.started = folder, []
        os.chmod(folder, 0o755)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def start(self, *argv, **options):
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder, **options}
        process = subprocess.Popen(argv, process_group=0, **options)
        self.started.append(process)
        return process

    def end(self):
        for process in reversed(self.started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def pids(self):
        """Of all that is in the trees of those that were started."""
        parents = {}
        for path in glob.glob("/proc/[0-9]*/stat"):
            with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
                parents[int(text.split()[0])] = int(text.rsplit(")", 1)[1].split()[1])
        found = {process.pid for process in self.started}
        while True:
            more = {pid for pid, parent in parents.items() if parent in found} - found
            if not more:
                return found
            found |= more

    # One of each program: how it sleeps, and with what.

    def python(self):
        self.start("/usr/bin/python3", "-c", PYTHON_SLEEPS)

    def postgres(self):
        binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        data = self.folder + "/pg"
        os.mkdir(data)
        shutil.chown(data, "postgres", "postgres")
        user = as_user("postgres")
        subprocess.run(user + [binaries + "/initdb", "-A", "trust", "-N", "-D", data], check=True, capture_output=True, cwd=data)
        self.start(*user, binaries + "/postgres", "-D", data, "-k", data, "-c", "listen_addresses=", "-c", "fsync=off", cwd=data)
        await_path(data + "/.s.PGSQL.5432")
        for i in range(8):
            psql = self.start(*user, binaries + "/psql", "-h", data, "-U", "postgres")
            psql.stdin.write(b"select pg_advisory_lock(1);\n" if i % 2 else b"select 1;\n")
            psql.stdin.flush()
        return [*user, binaries], data

    def redis(self):
        self.start("/usr/bin/redis-server", "--port", "0", "--unixsocket", self.folder + "/redis.sock", "--save", "")
        await_path(self.folder + "/redis.sock")
        return self.folder + "/redis.sock"

    def nginx(self):
        conf = self.folder + "/nginx.conf"
        with open(conf, "w", encoding="ascii") as file:
            file.write("daemon off; worker_processes 3; pid %s/nginx.pid; error_log /dev/null; events {}\n"
                       "http { access_log off; server { listen unix:%s/nginx.sock; root /usr/share; } }\n" % (self.folder, self.folder))
        self.start("/usr/sbin/nginx", "-c", conf)
        await_path(self.folder + "/nginx.sock")
        return self.folder + "/nginx.sock"

    def sqlite(self):
        self.start("/usr/bin/sqlite3", "-interactive", ":memory:")

    def git(self):
        repository = self.folder + "/repository"
        if not os.path.exists(repository):
            subprocess.run(["/usr/bin/git", "init", "-q", repository], check=True)
        self.start("/usr/bin/git", "-C", repository, "cat-file", "--batch")
        self.start("/usr/bin/git", "-C", repository, "hash-object", "--stdin")

    def make(self):
        if not os.path.exists(self.folder + "/Makefile"):
            self.write("Makefile", "all:\n\tgcc -O2 -x c -c -o /dev/null -\n")
        self.start("/usr/bin/make", "-s")

    def openssl(self):
        self.start("/usr/bin/openssl", "sha256")
        self.start("/usr/bin/openssl", "base64")

    def node(self):
        code = "require('fs').readFile('/dev/stdin', () => 0); setTimeout(() => 0, 1e6)"
        self.start("/usr/bin/node", "-e", code)


def await_path(path):
    for _ in range(300):
        if os.path.exists(path):
            return
        time.sleep(0.1)
    sys.exit("stacks.py: %s did not appear" % path)


SLEEPERS = {"python": 3, "postgres": 1, "redis": 1, "nginx": 1, "sqlite": 8, "git": 6, "make": 8, "openssl": 6, "node": 4}


# What a row of either table needs; without it the row is left out.
NEEDS = {"postgres": "pg_lsclusters", "redis": "redis-server", "nginx": "nginx", "sqlite": "sqlite3", "sqlite3": "sqlite3", "git": "git",
         "make": "make", "make+gcc": "make", "openssl": "openssl", "node": "node"}


def there_are(names):
    """Those whose programs are installed."""
    for name in names:
        if shutil.which(NEEDS.get(name, "python3")):
            yield name
        else:
            print("stacks.py: %s is not installed" % NEEDS[name], file=sys.stderr)


# ------------------------------------------------------------------ what holdup tells

class Stacks:
    """kernel/stacks of a recording; docs/FORMAT.md tells of its lines."""

    def __init__(self, trace):
        self.frames, self.stacks, self.waits = [], [], []
        with open(trace + "/kernel/stacks", encoding="utf-8", errors="replace") as file:
            for line in file:
                parts = line.rstrip("\n").split("\t")
                if parts[0] == "F":
                    flags, offset, _, function, signature, _, path = parts[1:8]
                    self.frames.append((flags, int(offset, 16), function, signature, path))
                elif parts[0] == "S":
                    self.stacks.append((parts[1], [int(number) for number in parts[2:]]))
                elif parts[0] == "W":
                    self.waits.append([*map(int, parts[1:5]), parts[5], int(parts[6])])

    def user(self, number):
        """Why it ends, and its frames outside of the kernel."""
        end, frames = self.stacks[number]
        return end, [self.frames[i] for i in frames if "k" not in self.frames[i][0]]


def is_whole(end, frames):
    """Up to where a thread begins; of a file without symbols the end is what the tables say."""
    return not end and frames and (frames[-1][2] in BEGINS or not frames[-1][2] or "s" in frames[-1][0])


def record(holdup, folder, *options):
    trace = folder + "/trace"
    shutil.rmtree(trace, ignore_errors=True)
    done = subprocess.run([holdup, "record", "--stack-min", "1ms", "-o", trace, *options], check=False, capture_output=True, text=True)
    if not os.path.exists(trace + "/kernel/stacks"):
        sys.exit("stacks.py: no stacks: " + done.stderr)
    return trace


# ------------------------------------------------------------------ what gdb tells

@functools.lru_cache(None)
def segments(path):
    """(offset, bytes, address) of what of the file is loaded as code."""
    with open(path, "rb") as file:
        head = file.read(64)
        at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        file.seek(at)
        rows = [struct.unpack_from("<IIQQQQ", file.read(size)) for _ in range(count)]
    return [(offset, filesz, vaddr) for kind, flags, offset, vaddr, _, filesz in rows if kind == 1 and flags & 1]


@functools.lru_cache(None)
def symbols(path):
    """Name -> addresses, of the file and of its debug file."""
    told = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Build ID: (..)(\w+)", told)
    debug = "/usr/lib/debug/.build-id/%s/%s.debug" % found.groups() if found else ""
    names = collections.defaultdict(set)
    for file in filter(os.path.exists, (path, debug)):
        for which in ([], ["-D"]):
            for line in subprocess.run(["nm", *which, file], capture_output=True, text=True, check=False).stdout.splitlines():
                parts = line.split()
                if len(parts) == 3 and parts[1] in "tTwWiI":
                    names[parts[2].split("@")[0]].add(int(parts[0], 16))
    return names


def mappings(pid):
    found = []
    with open("/proc/%d/maps" % pid, encoding="utf-8") as file:
        for line in file:
            parts = line.split()
            start, end = (int(word, 16) for word in parts[0].split("-"))
            found.append((start, end, int(parts[2], 16), parts[5] if len(parts) > 5 else ""))
    return found


def place(maps, pc):
    """Path and address as ELF counts."""
    for start, end, offset, path in maps:
        if start <= pc < end:
            if not path.startswith("/"):
                return path, 0
            at = pc - start + offset
            for offset, size, vaddr in segments(path):
                if offset <= at < offset + size:
                    return path, at - offset + vaddr
    return "", 0


def gdb_stacks(folder, pid):
    """Thread -> frames, innermost first: path, address of the call, name."""
    out, script = folder + "/gdb.json", folder + "/gdb.py"
    with open(script, "w", encoding="ascii") as file:
        file.write("OUT = %r\n%s" % (out, GDB))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(out)
    maps = mappings(pid)
    subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-x", script], capture_output=True, timeout=300, check=False)
    try:
        with open(out, encoding="utf-8") as file:
            told = json.load(file)
    except FileNotFoundError:
        return {}
    found = {}
    for tid, frames in told.items():
        # The innermost one stands where it is, what is inlined there too, and what a signal interrupted; others
        # behind their calls. gdb infers who jumped to a function instead of calling it: the stack has none of them.
        exact, rows = True, []
        for pc, name, kind in frames:
            if kind == "tail":
                continue
            exact |= kind == "signal"
            rows.append((*place(maps, pc if exact else pc - 1), name or ""))
            exact &= kind in ("inline", "signal")
        found[int(tid)] = rows
    return found


# ------------------------------------------------------------------ are they the same?

def bare(name):
    """Without arguments, templates' ones too."""
    while "<" in name and re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    return re.sub(r"\(.*", "", name.replace("(anonymous namespace)", "{anon}"))


def is_same(ours, theirs):
    _, offset, function, signature, path = ours
    their_path, address, name = theirs
    if (address, os.path.basename(their_path)) != (offset, os.path.basename(path)):
        return False
    if name in (function, signature) or bare(name) in (bare(function), bare(signature)):
        return True
    names = symbols(path)
    return bool(names.get(name, set()) & (names.get(function) or names.get(signature) or set()))


def common(ours, theirs):
    """Length of the longest common subsequence."""
    rows = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i, our in enumerate(ours):
        for k, their in enumerate(theirs):
            rows[i + 1][k + 1] = rows[i][k] + 1 if is_same(our, their) else max(rows[i][k + 1], rows[i + 1][k])
    return rows[-1][-1]


def compare(comm, ours, theirs, verbose):
    """Frames that are the same, and of how many. Functions of a script stand for gdb's frames of the interpreter."""
    if any("s" in frame[0] for frame in ours[1]):
        theirs = [frame for frame in theirs if not frame[2].startswith(EVAL)]
    own = [frame for frame in ours[1] if "s" not in frame[0] and not frame[2].startswith(EVAL)]
    same, of = common(own, theirs), max(len(own), len(theirs))
    if verbose and same < of:
        print("\n%s: %d of %d; ends: %s" % (comm, same, of, ours[0] or "where it began"))
        for i in range(of):
            our, their = (rows[i] if i < len(rows) else None for rows in (own, theirs))
            print("  %1s %-58s %s" % (" " if our and their and is_same(our, their) else "*",
                                      our and "%x %s (%s)" % (our[1], our[2], os.path.basename(our[4])),
                                      their and "%x %s (%s)" % (their[1], their[2], os.path.basename(their[0]))))
    return same, of


def comm_of(pid):
    with open("/proc/%d/comm" % pid, encoding="utf-8", errors="replace") as file:
        return file.read().strip()


def beside_gdb(holdup, folder, verbose):
    programs = Programs(folder)
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    try:
        for name in there_are(SLEEPERS):
            for _ in range(SLEEPERS[name]):
                getattr(programs, name)()
                time.sleep(0.05)
        time.sleep(8)
        pids = programs.pids()
        stacks = Stacks(record(holdup, folder, "-d", "3"))
        open_waits = {wait[0]: wait[5] for wait in stacks.waits if wait[4] == "o"}
        for pid in sorted(pids):
            comm = comm_of(pid)
            for tid, theirs in gdb_stacks(folder, pid).items():
                row = rows[comm]
                if tid not in open_waits:
                    row[3] += 1
                    continue
                same, of = compare(comm, stacks.user(open_waits[tid]), theirs, verbose)
                row[0], row[1], row[2] = row[0] + 1, row[1] + same, row[2] + of
    finally:
        programs.end()
    print("| program | threads | frames | the same as gdb's | threads that did not sleep to the end |\n|---|---|---|---|---|")
    for comm, (threads, same, of, absent) in sorted(rows.items()):
        print("| %s | %d | %d | %.1f %% | %d |" % (comm, threads, of, 100 * same / of if of else 0, absent))
    threads, same, of, absent = (sum(row[i] for row in rows.values()) for i in range(4))
    print("| **all** | %d | %d | **%.2f %%** | %d |" % (threads, of, 100 * same / of, absent), flush=True)


# ------------------------------------------------------------------ how waits of work end

PYTHON_WORKS = r"""
import concurrent.futures, json, subprocess, threading, time
lock = threading.Lock()
def work(i):
    for _ in range(20):
        with lock: time.sleep(0.002)
        json.loads(json.dumps(list(range(3000))))
with concurrent.futures.ThreadPoolExecutor(8) as pool: list(pool.map(work, range(8)))
for _ in range(5): subprocess.run(["/bin/ls", "-lR", "/usr/include/linux"], capture_output=True)
"""

NODE_WORKS = r"""
const fs = require('fs'), zlib = require('zlib'), crypto = require('crypto');
for (let i = 0; i < 12; i++) crypto.pbkdf2('a', 'b', 40000, 64, 'sha512', () => 0);
for (let i = 0; i < 12; i++) zlib.gzip(Buffer.alloc(4e6, i), () => 0);
setTimeout(() => { const t = Date.now(); while (Date.now() - t < 200); fs.readdir('/usr/include', () => 0); }, 50);
"""


C_FILE = "#include <stdio.h>\n" + "".join(
    "int f%d(int a, int b) { for (int i = 0; i < b; i++) a = a * %d + a %% (i + 1); return a; }\n" % (i, i) for i in range(60))


def load_postgres(programs):
    user, data = programs.postgres()
    bench = " ".join([*user[:-1], user[-1] + "/pgbench", "-h", data, "-U", "postgres"])
    return bench + " -q -i -s 2; " + bench + " -c 6 -j 2 -T 4"


def load_make(programs):
    os.mkdir(programs.folder + "/c")
    for i in range(6):
        programs.write("c/%d.c" % i, C_FILE)
    programs.write("c/Makefile", "all: 0.o 1.o 2.o 3.o 4.o 5.o\n")
    return "/usr/bin/make -s -C c -B -j4 CFLAGS='-O2 -pipe'"


# Each makes a command of the shell.
LOADS = {
    "python3": lambda programs: "/usr/bin/python3 " + programs.write("work.py", PYTHON_WORKS),
    "node": lambda programs: "/usr/bin/node " + programs.write("work.js", NODE_WORKS),
    "postgres": load_postgres,
    "redis": lambda programs: "/usr/bin/redis-benchmark -q -s %s -n 20000 -c 20; sleep 1" % programs.redis(),
    "nginx": lambda programs: "for i in $(seq 40); do curl -s --unix-socket %s http://x/common-licenses/GPL-3 >/dev/null; done; sleep 1"
                              % programs.nginx(),
    "sqlite3": lambda _: "for i in $(seq 40); do echo \"create table t$i(a); insert into t$i values(1);\"; done | /usr/bin/sqlite3 x.db",
    "git": lambda _: "/usr/bin/git init -q r && cp -r /usr/include/linux r/ && cd r && /usr/bin/git add . && "
                     "/usr/bin/git -c user.name=a -c user.email=a@b commit -qm a && /usr/bin/git gc -q && /usr/bin/git clone -q . ../r2",
    "make+gcc": load_make,
    "openssl": lambda _: "/usr/bin/openssl speed -seconds 1 -multi 3 sha256; /usr/bin/openssl genrsa 2048 | /usr/bin/openssl rsa -check",
}


def run_load(name):
    """What is recorded: the servers of a load, and the load."""
    with tempfile.TemporaryDirectory(prefix="holdup-stacks-") as folder:
        programs = Programs(folder)
        try:
            subprocess.run(LOADS[name](programs), shell=True, cwd=folder, check=False, stdout=subprocess.DEVNULL)
        finally:
            programs.end()


def tree_of(holdup, trace):
    """Threads of the command, and of what it started."""
    with open(trace + "/trace.json", encoding="utf-8") as file:
        found = {json.load(file)["target_tid"]}
    told = subprocess.run([holdup, "list", "-f", "sched_process_fork", "--fields", "tid,child_pid", trace], capture_output=True, text=True,
                          check=True).stdout
    for parent, child in re.findall(r"(\d+)\s+child_pid=(\d+)", told):
        if int(parent) in found:
            found.add(int(child))
    return found


def bare_waits(holdup, trace, tids, stacks):
    """Waits over 1 ms that no stack is of; they began and ended in the recording."""
    told = subprocess.run([holdup, "export", "--format", "jsonl", "--what", "waits", trace], capture_output=True, text=True,
                          check=True).stdout
    known = collections.defaultdict(list)
    for tid, begin, end, *_ in stacks.waits:
        known[tid].append((begin, end))
    for line in told.splitlines():
        wait = json.loads(line)
        tid, start, end = wait["who"]["tid"], wait["start_ns"], wait["end_ns"]
        if (wait["ns"] >= 1_000_000 and tid in tids and wait["in"] != "a wait that began unseen" and wait["root"]["kind"] != "stuck"
                and not any(begin < end and start < until for begin, until in known[tid])):
            yield wait


class Seen:
    """Waits by how their stacks end: count and ns."""

    def __init__(self):
        self.all, self.good, self.why = [0, 0], [0, 0], collections.Counter()

    def add(self, ns, why):
        for sums in (self.all, *([] if why else [self.good])):
            sums[0] += 1
            sums[1] += ns
        if why:
            self.why[why] += 1

    def row(self, name):
        said = "; ".join("%d: %s" % (count, why) for why, count in self.why.most_common(4))
        return "| %s | %d | %.1f %% | %.1f %% | %s |" % (name, self.all[0], 100 * self.good[0] / max(1, self.all[0]),
                                                       100 * self.good[1] / max(1, self.all[1]), said)


def how_it_ends(stacks, number):
    """Why it is not whole; None = it is."""
    end, frames = stacks.user(number)
    if is_whole(end, frames):
        return None
    return end or "NO REASON, ends in " + (frames[-1][2] if frames else "nothing")


def ends(holdup, folder, verbose):
    total = Seen()
    print("| load | waits | whole | of the time | the others |\n|---|---|---|---|---|", flush=True)
    for name in there_are(LOADS):
        trace = record(holdup, folder, "--", sys.executable, os.path.realpath(__file__), "--run", name)
        seen, stacks, tids, odd = Seen(), Stacks(trace), tree_of(holdup, trace), collections.Counter()
        for wait in bare_waits(holdup, trace, tids, stacks):
            seen.add(wait["ns"], "no stack: " + wait["in"])
            total.add(wait["ns"], "no stack")
        for wait in stacks.waits:
            if wait[0] in tids and wait[3] >= 1_000_000 and "o" not in wait[4]:
                why = how_it_ends(stacks, wait[5])
                seen.add(wait[3], why)
                total.add(wait[3], why)
                odd[why, wait[5]] += 1
        print(seen.row(name), flush=True)
        for (why, number), count in odd.most_common(30) if verbose else []:
            if why:
                print("    %d x %s: %s" % (count, why, ", ".join(frame[2] or "?" for frame in stacks.user(number)[1])))
    print(total.row("**all**"), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["gdb", "ends"])
    parser.add_argument("--run", choices=LOADS, help="run one of the loads that are recorded")
    parser.add_argument("--verbose", action="store_true", help="print stacks that differ")
    args = parser.parse_args()
    if args.run:
        run_load(args.run)
        return
    for name, run in {"gdb": beside_gdb, "ends": ends}.items():
        if args.only in (None, name):
            with tempfile.TemporaryDirectory(prefix="holdup-stacks-") as folder:
                run(os.environ["HOLDUP"], folder, args.verbose)


if __name__ == "__main__":
    main()
