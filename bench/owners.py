#!/usr/bin/env python3
"""Who has what somebody waits for: holdup beside the tools of each program; writes bench/RESULTS.md.

usage: owners.py [--rounds N] [--cases A,B] [--print]

Each case plants a wait: one thread has a lock, another one asks for it. While it waits, the program's
own tool is asked who has it, and holdup records; afterwards why --causality says of the wait, from
the tool's answer on, who held it up. Servers have sockets and data below a temporary folder, and end with the case.

  postgres   row lock            pg_blocking_pids()
  mariadb    metadata lock       performance_schema.metadata_locks
  java       monitor             jstack
  mutex      glibc's             gdb: __owner of the mutex
  flock      flock()             /proc/locks
  fcntl      fcntl(F_SETLKW)     /proc/locks
  inode      i_rwsem, kernel     /proc/PID/stack: who else is in write()
  pipe       pipe->mutex, kernel /proc/PID/stack: who else is in write()
  mmap       mmap_lock, kernel   /proc/PID/stack: which thread is in mprotect()

perf lock contention -b -o would be the peer of the last three: -o is there from perf 6.3 on, -b where it was
built with BPF; Debian 12's has neither.
"""
import argparse
import collections
import contextlib
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import record_cost as cost

BUILD = os.path.dirname(os.path.realpath(cost.HOLDUP))
PLANT = os.path.join(BUILD, "bench", "owners_plant")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
BEFORE_S, HELD_S = 0.3, 1.6  # PostgreSQL looks for deadlocks after a second

Answer = collections.namedtuple("Answer", "owners words")


def output(*argv, **options):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
                          timeout=60, **options).stdout


def until(found, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.02)
    raise RuntimeError("it did not come in %d s: %s" % (seconds, found.__name__))


def start(stack, *argv, **options):
    """A program that ends when the case does."""
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, bufsize=1, **options)

    def end():
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()
    stack.callback(end)
    return process


def threads_of(pid):
    return [int(os.path.basename(path)) for path in glob.glob("/proc/%d/task/*" % pid)]


def thread_called(pid, comm):
    for tid in threads_of(pid):
        with contextlib.suppress(OSError), open("/proc/%d/task/%d/comm" % (pid, tid)) as file:
            if file.read().strip() == comm:
                return tid
    return None


class Case:
    """plant() has a thread take the lock and returns its id; ask() has another one wait, and returns that one's;
    peer() says who has it; release() lets go."""

    def __init__(self, stack, folder):
        self.stack, self.folder = stack, folder


class Postgres(Case):
    peer_name = "pg_blocking_pids()"

    def plant(self):
        bin_dir = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        data = self.folder + "/pg"
        os.mkdir(data)
        os.chown(data, 65534, 65534)
        subprocess.run([*NOBODY, bin_dir + "/initdb", "-A", "trust", "-U", "bench", "-N", "-D", data], check=True,
                       cwd="/", **cost.QUIET)
        server = subprocess.Popen([*NOBODY, bin_dir + "/postgres", "-D", data, "-k", data, "-h", "", "-F"],
                                  cwd="/", **cost.QUIET)
        self.stack.callback(server.wait)
        self.stack.callback(server.send_signal, signal.SIGINT)
        self.psql = ["psql", "-h", data, "-U", "bench", "-X", "-q", "-A", "-t", "postgres"]
        until(lambda: output(*self.psql, "-c", "select 1").strip())
        output(*self.psql, "-c", "create table t(a int, b int); insert into t values(1, 0)")
        self.holder = start(self.stack, *self.psql)
        self.holder.stdin.write("begin; update t set b = 1; select pg_backend_pid();\n")
        return int(self.holder.stdout.readline())

    def ask(self):
        self.waiter = start(self.stack, *self.psql)
        self.waiter.stdin.write("select pg_backend_pid();\n")
        tid = int(self.waiter.stdout.readline())
        self.waiter.stdin.write("update t set b = 2;\n")
        return tid

    def peer(self, waiter):
        return {int(pid) for pid in re.findall(r"\d+", output(
            *self.psql, "-c", "select pg_blocking_pids(%d)" % waiter))}

    def release(self):
        self.holder.stdin.write("commit;\n")


class Mariadb(Case):
    peer_name = "performance_schema.metadata_locks"

    def plant(self):
        data, socket = self.folder + "/my", self.folder + "/my.sock"
        subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root", "--datadir=" + data,
                        "--auth-root-authentication-method=normal"], check=True, **cost.QUIET)
        server = subprocess.Popen(["mariadbd", "--no-defaults", "--user=root", "--datadir=" + data,
                                   "--socket=" + socket, "--skip-networking", "--performance-schema=ON",
                                   "--pid-file=" + self.folder + "/my.pid",
                                   "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON"], **cost.QUIET)
        self.stack.callback(server.wait)
        self.stack.callback(server.terminate)
        self.client = ["mariadb", "--no-defaults", "--socket=" + socket, "-N", "-B", "-n"]
        until(lambda: output(*self.client, "-e", "select 1").strip(), 60)
        output(*self.client, "-e", "create database d; create table d.t(a int)")
        self.holder = start(self.stack, *self.client, "d")
        self.holder.stdin.write("lock tables t write; %s\n" % self.own_tid)
        return int(self.holder.stdout.readline())

    own_tid = "select tid from information_schema.processlist where id = connection_id();"

    def ask(self):
        self.waiter = start(self.stack, *self.client, "d")
        self.waiter.stdin.write(self.own_tid + "\n")
        tid = int(self.waiter.stdout.readline())
        self.waiter.stdin.write("select * from t;\n")
        return tid

    def peer(self, waiter):
        sql = ("select p.tid from performance_schema.metadata_locks l join performance_schema.threads t on "
               "t.thread_id = l.owner_thread_id join information_schema.processlist p on p.id = t.processlist_id "
               "where l.object_type = 'TABLE' and l.object_name = 't' and l.lock_status = 'GRANTED'")
        return {int(tid) for tid in output(*self.client, "-e", sql).split()}

    def release(self):
        self.holder.stdin.write("unlock tables;\n")


MONITOR = """
public class Monitor {
    static final Object lock = new Object();
    public static void main(String[] args) throws Exception {
        Thread holder = new Thread(() -> { synchronized (lock) { hear(); } }, "the-holder");
        Thread waiter = new Thread(() -> { synchronized (lock) { } }, "the-waiter");
        holder.start();
        Thread.sleep(200);
        System.out.println("held");
        while (Monitor.go == 0) Thread.sleep(20);
        waiter.start();
        waiter.join();
    }
    static volatile int go;
    static void hear() {
        try { System.in.read(); go = 1; System.in.read(); } catch (java.io.IOException e) { }
    }
}
"""


class Java(Case):
    peer_name = "jstack"

    def plant(self):
        with open(self.folder + "/Monitor.java", "w") as file:
            file.write(MONITOR)
        subprocess.run(["javac", "-d", self.folder, self.folder + "/Monitor.java"], check=True, **cost.QUIET)
        self.jvm = start(self.stack, "java", "-XX:TieredStopAtLevel=1", "-cp", self.folder, "Monitor")
        self.jvm.stdout.readline()
        return thread_called(self.jvm.pid, "the-holder")

    def ask(self):
        self.tell()
        return until(lambda: thread_called(self.jvm.pid, "the-waiter"))

    def tell(self):
        self.jvm.stdin.write("x")
        self.jvm.stdin.flush()

    def peer(self, waiter):
        threads = output("jstack", str(self.jvm.pid)).split("\n\n")
        wanted = [re.search(r"waiting to lock <(\w+)>", text) for text in threads if "nid=0x%x " % waiter in text]
        return {int(re.search(r"nid=0x(\w+)", text)[1], 16) for text in threads
                if wanted and wanted[0] and "- locked <%s>" % wanted[0][1] in text}

    release = tell


class Plant(Case):
    """Threads of owners_plant."""

    def plant(self):
        self.path = self.folder + "/file"
        self.process = start(self.stack, PLANT, self.kind, self.path)
        return int(self.process.stdout.readline())

    def ask(self):
        self.tell()
        return int(self.process.stdout.readline())

    def tell(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()

    release = tell

    def in_kernel(self, function):
        """Threads of it that are in that function of the kernel."""
        found = set()
        for tid in threads_of(self.process.pid):
            with contextlib.suppress(OSError), open("/proc/%d/stack" % tid) as file:
                if re.search(r"\b%s\+" % function, file.read()):
                    found.add(tid)
        return found


class Mutex(Plant):
    kind, peer_name = "mutex", "gdb: mutex.__data.__owner"

    def peer(self, waiter):
        text = output("gdb", "-p", str(self.process.pid), "-batch", "-nx", "-ex", "print mutex.__data.__owner")
        return {int(tid) for tid in re.findall(r"^\$1 = (\d+)", text, re.M)}


class Inode(Plant):
    kind, peer_name = "inode", "/proc/PID/stack"

    def peer(self, waiter):
        return self.in_kernel("vfs_write") - {waiter}


class Pipe(Plant):
    kind, peer_name = "pipe", "/proc/PID/stack"

    def peer(self, waiter):
        return self.in_kernel("vfs_write") - {waiter}


class Mmap(Plant):
    kind, peer_name = "mmap", "/proc/PID/stack, 200 times"

    def peer(self, waiter):
        found = set()
        for _ in range(200):
            found |= self.in_kernel("do_mprotect_pkey")
        return found


HOLD = """
import fcntl, os, sys
file = open(sys.argv[1], "w")
print(os.getpid(), flush=True)
sys.stdin.readline()
fcntl.%s(file, fcntl.LOCK_EX)
print("got", flush=True)
sys.stdin.readline()
fcntl.%s(file, fcntl.LOCK_UN)
sys.stdin.readline()
"""


class Flock(Case):
    peer_name, call, kind = "/proc/locks", "flock", "FLOCK"

    def process(self):
        script = HOLD % (self.call, self.call)
        process = start(self.stack, "/usr/bin/python3", "-c", script, self.folder + "/file")
        return process, int(process.stdout.readline())

    def plant(self):
        self.holder, tid = self.process()
        self.holder.stdin.write("\n")
        self.holder.stdout.readline()
        self.inode = os.stat(self.folder + "/file").st_ino
        return tid

    def ask(self):
        self.waiter, tid = self.process()
        self.waiter.stdin.write("\n")
        return tid

    def peer(self, waiter):
        with open("/proc/locks") as file:
            return {int(row.split()[4]) for row in file
                    if self.kind in row and "->" not in row and row.split()[5].endswith(":%d" % self.inode)}

    def release(self):
        self.holder.stdin.write("\n")


class Fcntl(Flock):
    call, kind = "lockf", "POSIX"


CASES = {"postgres": Postgres, "mariadb": Mariadb, "java": Java, "mutex": Mutex, "flock": Flock, "fcntl": Fcntl,
         "inode": Inode, "pipe": Pipe, "mmap": Mmap}


# ------------------------------------------------------------------------------- holdup

def owner_of(wait):
    """Who held that one up, and how that is known."""
    if wait.get("holder"):
        return wait["holder"]["tid"], "as the lock tells"
    for owner in wait.get("owners", []):
        if owner["who"]:
            return owner["who"]["tid"], "as the program tells"
    if wait.get("answerer"):
        return wait["answerer"]["tid"], "inferred" if "inferred" in wait else "had it"
    if wait.get("last_slice_woken_by"):
        return wait["last_slice_woken_by"]["tid"], "let go"
    return wait["woken_by"]["tid"], "let go"


def holdups(folder, waiter, begin_ns, end_ns):
    """Owners by their share of what the thread waited in the span, the largest first."""
    done = subprocess.run([cost.HOLDUP, "why", "--json", "--tid", str(waiter), folder], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return Answer(set(), done.stderr.strip())
    spent = collections.Counter()
    for wait in json.loads(done.stdout)["causality"]:
        ns = min(wait["end_ns"], end_ns) - max(wait["start_ns"], begin_ns)
        if ns > 0:
            spent[owner_of(wait)] += ns
    if not spent:
        return Answer(set(), "no wait")
    (tid, how), ns = spent.most_common(1)[0]
    return Answer({tid}, "%s, %.0f %%" % (how, 100 * ns / sum(spent.values())))


def one_round(name):
    """Planted, holdup's, the peer's."""
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory(prefix="holdup-owners-") as folder:
        os.chmod(folder, 0o755)
        inner = stack.enter_context(contextlib.ExitStack())
        case = CASES[name](inner, folder)
        planted = case.plant()
        record = start(stack, cost.HOLDUP, "record", "-o", folder + "/x.holdup", "--",
                       "sh", "-c", "echo ready; read end")
        if not record.stdout.readline():
            raise RuntimeError("holdup record ended at once")
        time.sleep(BEFORE_S)
        waiter = case.ask()
        time.sleep(BEFORE_S)
        theirs = case.peer(waiter)
        begin_ns = time.monotonic_ns()  # gdb stops who waits
        time.sleep(HELD_S)
        end_ns = time.monotonic_ns()
        case.release()
        time.sleep(BEFORE_S)
        record.stdin.write("\n")
        record.wait()
        ours = holdups(folder + "/x.holdup", waiter, begin_ns, end_ns)
        inner.close()
    return planted, ours, theirs


def bench(names, rounds):
    lines = ["| case | peer | planted first by holdup | by the peer | same owner | how holdup knows |",
             "|---|---|---|---|---|---|"]
    for name in names:
        count, words = collections.Counter(), collections.Counter()
        for number in range(rounds):
            try:
                planted, ours, theirs = one_round(name)
            except (OSError, RuntimeError, ValueError, IndexError, subprocess.SubprocessError) as error:
                print("%s: not tried: %s" % (name, error), file=sys.stderr)
                continue
            print("%s %d: planted %s, holdup %s (%s), peer %s" % (
                name, number + 1, planted, sorted(ours.owners), ours.words, sorted(theirs)), file=sys.stderr)
            count["runs"] += 1
            count["ours"] += ours.owners == {planted}
            count["theirs"] += theirs == {planted}
            count["same"] += ours.owners == theirs
            words[ours.words.split(",")[0] if ours.owners else "it does not"] += 1
        of = " of %d" % count["runs"]
        lines.append("| %s | %s | %d%s | %d%s | %d%s | %s |" % (
            name, CASES[name].peer_name, count["ours"], of, count["theirs"], of, count["same"], of,
            ", ".join(word for word, _ in words.most_common())))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    if not os.path.exists(PLANT):
        subprocess.run(["ninja", "-C", BUILD, "--quiet", "bench/owners_plant"], check=True)
    text = "%s. %d rounds each: one thread has a lock for %.1f s, another one waits for it.\n\n" % (
        cost.machine(), args.rounds, HELD_S) + bench(args.cases.split(","), args.rounds)
    print(text)
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "Owners, beside other tools", text)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("owners: it needs root")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends on the way out
    main()
