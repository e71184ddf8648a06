#!/usr/bin/env python3
"""Waits in slices, again and again: is who holds up always named? Writes bench/RESULTS.md.

usage: fifty.py [--rounds N] [--each N] [--cases A,B] [--print]     (or ROUNDS in the environment; 50)

Each recording has some rounds. In a round a thread waits for what a planted thread gives, with a time-out after which
it looks again; who that is, and from when to when it waited, the program prints. A round is right if the
verdict of the wait has the holder first, with nine tenths of it. True time-outs and a loop that works each time
have nobody who holds them up: right is all but a twentieth for the thread's own time-outs and work.

  java       monitor, held asleep           parks of 1, 8, 64, 512 ms
  gil        CPython's lock, held at work   slices of 5 ms
  cond, sem  pthread_cond_timedwait(), sem_timedwait()
  select     select() of a pipe
  postgres   row lock, held for more than deadlock_timeout (1 s)
  mariadb    metadata lock of LOCK TABLES   slices of 1 s
  timeout    one wait in vain, then something else
  periodic   work each time
"""
import argparse
import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import owners
import record_cost as cost

PLANT = os.path.join(owners.BUILD, "bench", "fifty_plant")
SHARE = 0.9
OTHERS = 0.05  # of a wait that nobody held up: interrupts
NO_CPU = ("preempted", "cpu_queue")

Round = collections.namedtuple("Round", "holder waiter begin_ns end_ns")

JAVA = """
import java.nio.file.*;
public class Fifty {
    static final Object lock = new Object();
    static volatile String holder;
    static volatile boolean held;
    static String tid() throws Exception {
        return Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
    }
    static void hold() {
        try {
            holder = tid();
            synchronized (lock) { held = true; Thread.sleep(%(held)d); }
        } catch (Exception e) { throw new RuntimeException(e); }
    }
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            held = false;
            Thread thread = new Thread(Fifty::hold, "the-holder");
            thread.start();
            while (!held) Thread.sleep(1);
            long begin = System.nanoTime();
            synchronized (lock) { }
            System.out.println(holder + " " + tid() + " " + begin + " " + System.nanoTime());
            thread.join();
        }
    }
}
""" % {"held": 1700}

GIL = """
import sys, threading, time
sys.setswitchinterval(0.005)
go, held = threading.Event(), []
def hold():
    held.append(threading.get_native_id())
    while True:
        go.wait()
        go.clear()
        sum(range(%(count)d))
threading.Thread(target=hold, name='the-holder', daemon=True).start()
for i in range(int(sys.argv[1])):
    time.sleep(0.02)
    go.set()
    begin = time.monotonic_ns() + 20000000
    time.sleep(0.02)
    print(held[0], threading.get_native_id(), begin, time.monotonic_ns(), flush=True)
""" % {"count": 40_000_000}

# A client of psql or mariadb that asks, and says when.
ASK = """
import subprocess, sys, time
client = subprocess.Popen(sys.argv[4:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask(text):
    client.stdin.write(text + chr(10))
    return client.stdout.readline().strip()
waiter = ask(sys.argv[2])
for i in range(int(sys.argv[1])):
    sys.stdin.readline()
    begin = time.monotonic_ns()
    ask(sys.argv[3])
    print(waiter, begin, time.monotonic_ns(), flush=True)
"""


def spoken(text):
    """Rounds out of what a program printed."""
    return [Round(*map(int, line.split())) for line in text.splitlines() if len(line.split()) == 4]


def recorded(folder, *command):
    done = subprocess.run([cost.HOLDUP, "record", "-o", folder + "/x.holdup", "--", *command], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return spoken(done.stdout)


def plant(kind):
    return lambda folder, each: recorded(folder, PLANT, kind, str(each))


def java(folder, each):
    with open(folder + "/Fifty.java", "w") as file:
        file.write(JAVA)
    subprocess.run(["javac", "-d", folder, folder + "/Fifty.java"], check=True, **cost.QUIET)
    return recorded(folder, "java", "-XX:TieredStopAtLevel=1", "-cp", folder, "Fifty", str(each))


def gil(folder, each):
    return recorded(folder, "/usr/bin/python3", "-c", GIL, str(each))


@contextlib.contextmanager
def recording(folder):
    process = subprocess.Popen([cost.HOLDUP, "record", "-o", folder + "/x.holdup", "--", "sh", "-c",
                                "echo ready; read end"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               bufsize=1)
    try:
        if not process.stdout.readline():
            raise RuntimeError("holdup record ended at once")
        yield
        process.stdin.write("\n")
        process.wait(60)
    finally:
        process.kill()
        process.wait()


def server(case, own, hold, ask):
    """Of a database: one connection holds for a time by itself, another one asks."""
    def run(folder, each):
        rounds = []
        with contextlib.ExitStack() as stack:
            inner = stack.enter_context(contextlib.ExitStack())
            one = case(inner, folder)
            client = one.set_up()
            holder = owners.start(inner, *client)
            holder.stdin.write(own + "\n")
            holder_tid = int(holder.stdout.readline())
            waiter = owners.start(inner, "/usr/bin/python3", "-c", ASK, str(each), own, ask, *client)
            time.sleep(owners.BEFORE_S)
            with recording(folder):
                for _ in range(each):
                    holder.stdin.write(hold + "\n")
                    time.sleep(owners.BEFORE_S)
                    waiter.stdin.write("\n")
                    rounds.append(Round(holder_tid, *map(int, waiter.stdout.readline().split())))
            inner.close()
        return rounds
    return run


class Postgres(owners.Postgres):
    def set_up(self):
        holder = self.plant()
        self.holder.stdin.write("commit;\n")
        return self.psql if holder else None


class Mariadb(owners.Mariadb):
    def set_up(self):
        self.plant()
        self.holder.stdin.write("unlock tables; insert into t values(1);\n")
        return [*self.client, "d"]


CASES = {
    "java": java, "gil": gil, "cond": plant("cond"), "sem": plant("sem"), "select": plant("select"),
    "postgres": server(Postgres, "select pg_backend_pid();",
                       "begin; update t set b = b + 1; do $$ begin perform pg_sleep(1.9); end $$; commit;",
                       "update t set b = b + 1 returning b;"),
    "mariadb": server(Mariadb, owners.Mariadb.own_tid, "lock tables t write; do sleep(2.9); unlock tables;",
                      "select a from t limit 1;"),
    "timeout": plant("timeout"), "periodic": plant("periodic"),
}


# ------------------------------------------------------------------------------- holdup

def tid_of(root):
    """Who is charged: of time without a CPU, who had none."""
    who = root["kept_off"] if root["kind"] in NO_CPU else root["who"]
    return who["tid"] if who else 0


def verdict(folder, one):
    """Whether it is right, and the largest root as words. That the waiter itself had no CPU is no wait."""
    done = subprocess.run([cost.HOLDUP, "why", "--json", "--tid", str(one.waiter),
                           "--from", "%d.%09d" % divmod(one.begin_ns, 10**9),
                           "--to", "%d.%09d" % divmod(one.end_ns, 10**9), folder + "/x.holdup"],
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return False, done.stderr.strip()
    roots = [root for root in json.loads(done.stdout)["verdict"] if root["kind"] not in NO_CPU or root["kept_off"]]
    spent = collections.Counter()
    for root in roots:
        spent[tid_of(root)] += root["ns"]
    waited, first = sum(spent.values()), roots[0]
    words = "%s[%d] %s %s" % ((first["who"] or {}).get("comm", "-"), tid_of(first), first["kind"], first["what"])
    if one.holder:
        return spent.most_common(1)[0][0] == one.holder and spent[one.holder] >= SHARE * waited, "%s, %.0f %%" % (
            words, 100 * spent[one.holder] / waited)
    own = sum(root["ns"] for root in roots if tid_of(root) == one.waiter and root["kind"] in ("timer", "working"))
    return own >= (1 - OTHERS) * waited, words


def attempt(name, each):
    """What of each round of one recording."""
    with tempfile.TemporaryDirectory(prefix="holdup-fifty-") as folder:
        os.chmod(folder, 0o755)
        rounds = CASES[name](folder, each)
        for one in rounds:
            good, words = verdict(folder, one)
            if not good:
                print("%s: %s: not %s" % (name, one, words), file=sys.stderr)
                keep = os.environ.get("KEEP")
                if keep:
                    subprocess.run(["cp", "-r", folder + "/x.holdup", "%s/%s-%d" % (keep, name, one.begin_ns)],
                                   check=True)
            yield good, words


def bench(names, rounds, each):
    lines = ["| case | right | share | first row of a wrong one |", "|---|---|---|---|"]
    for name in names:
        good = tried = 0
        wrong = collections.Counter()
        while tried < rounds:
            try:
                for is_good, words in attempt(name, min(each, rounds - tried)):
                    tried, good = tried + 1, good + is_good
                    if not is_good:
                        wrong[words] += 1
            except (OSError, RuntimeError, ValueError, IndexError, subprocess.SubprocessError) as error:
                print("%s: not tried: %s" % (name, error), file=sys.stderr)
                break
        print("%s: %d of %d" % (name, good, tried), file=sys.stderr)
        if tried:
            lines.append("| %s | %d of %d | %.0f %% | %s |" % (
                name, good, tried, 100 * good / tried, wrong.most_common(1)[0][0] if wrong else ""))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("ROUNDS") or 50))
    parser.add_argument("--each", type=int, default=5, help="rounds in one recording")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--print", action="store_true", help="do not write RESULTS.md")
    args = parser.parse_args()
    if not os.path.exists(PLANT):
        subprocess.run(["ninja", "-C", owners.BUILD, "--quiet", "bench/fifty_plant"], check=True)
    text = ("%s. %d rounds each, %d in a recording: right is the planted holder first, with 90 %% of the wait.\n\n" % (
        cost.machine(), args.rounds, args.each)) + bench(args.cases.split(","), args.rounds, args.each)
    print(text)
    if not args.print:
        cost.write_section(os.path.join(cost.HERE, "RESULTS.md"), "Waits in slices, fifty times", text)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("fifty: it needs root")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends on the way out
    main()
