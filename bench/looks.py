#!/usr/bin/env python3
"""holdup stuck at programs that are busy and healthy: how often it tells a deadlock that is none.

usage: looks.py HOLDUP [LOOKS [LOAD...]]        LOOKS at each load (default 200)

  locks      four threads behind one mutex, in turn (tests/kernel/stuck-programs.c)
  ring       a token that goes round through pipes
  redis      redis-benchmark against redis-server
  postgres   pgbench with 8 clients that update the same rows
  java       8 threads in monitors, locks of java.util.concurrent and a queue, in one order
  python     8 threads in RLocks and Locks, in one order

Told is also whether a report said that a process can only be woken by a signal (no owner is known), how many
owners it named, and how long a look took. All that is printed as a deadlock or a dead process is false: the loads end
by themselves, and what they do is counted.
"""
import contextlib
import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

JAVA = """import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
public class Busy {
    public static void main(String[] words) throws Exception {
        Object a = new Object(), b = new Object();
        ReentrantLock c = new ReentrantLock(), d = new ReentrantLock(true);
        ReentrantReadWriteLock e = new ReentrantReadWriteLock();
        LinkedBlockingQueue<Integer> queue = new LinkedBlockingQueue<>(2);
        AtomicLong rounds = new AtomicLong();
        for (int i = 0; i < 8; i++) {
            final int self = i;
            Thread thread = new Thread(() -> {
                for (;;) {
                    try {
                        synchronized (a) { synchronized (b) { rounds.incrementAndGet(); } }
                        c.lock(); d.lock(); rounds.incrementAndGet(); d.unlock(); c.unlock();
                        if (self == 0) { e.writeLock().lock(); e.writeLock().unlock(); }
                        else { e.readLock().lock(); Thread.sleep(0, 100000); e.readLock().unlock(); }
                        if (self % 2 == 0) queue.put(self); else queue.take();
                    } catch (InterruptedException x) { return; }
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        System.in.read();
        System.out.println(rounds.get());
    }
}
"""
PYTHON = """
import itertools, sys, threading, time
a, b, c, rounds = threading.RLock(), threading.RLock(), threading.Lock(), itertools.count()
def work():
    while True:
        with a:
            with b:
                time.sleep(0.0002)
        with c:
            with b:
                next(rounds)
for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
sys.stdin.read(1)
print(next(rounds), flush=True)
"""


def started(stack, *argv, **options):
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def until(works, seconds=60):
    end = time.monotonic() + seconds
    while not works():
        if time.monotonic() > end:
            raise RuntimeError("a server did not begin")
        time.sleep(0.05)


def planted(kind):
    def begin(stack, folder, holdup):
        program = os.path.join(os.path.dirname(os.path.realpath(holdup)), "tests", "stuck-programs")
        process = started(stack, program, kind, cwd=folder, start_new_session=True)
        stack.callback(end_group, process.pid)
        process.stdout.readline()
        return [str(process.pid)], None
    return begin


def end_group(pid):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def asked(process):
    """What it has done, in its own count."""
    process.stdin.write("x\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def java(stack, folder, _):
    with open(os.path.join(folder, "Busy.java"), "w", encoding="utf-8") as file:
        file.write(JAVA)
    process = started(stack, "java", os.path.join(folder, "Busy.java"))
    process.stdout.readline()
    return [str(process.pid)], lambda: asked(process) + " rounds"


def python(stack, _, __):
    process = started(stack, sys.executable, "-c", PYTHON)
    process.stdout.readline()
    return [str(process.pid)], lambda: asked(process) + " rounds"


def redis(stack, folder, _):
    socket = os.path.join(folder, "redis")
    server = started(stack, "redis-server", "--port", "0", "--unixsocket", socket, "--save", "", cwd=folder)
    until(lambda: subprocess.run(["redis-cli", "-s", socket, "ping"], check=False, **QUIET).returncode == 0)
    client = started(stack, "redis-benchmark", "-s", socket, "-c", "20", "-l", "-q", "-t", "set,lpush")
    return [str(server.pid), str(client.pid)], None


def postgres(stack, folder, _):
    programs, data = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1], os.path.join(folder, "pg")
    os.chmod(folder, 0o755)
    os.mkdir(data)
    os.chown(data, 65534, 65534)
    subprocess.run([*NOBODY, programs + "/initdb", "-A", "trust", "-U", "bench", "-N", "-D", data], check=True,
                   cwd="/", **QUIET)
    server = subprocess.Popen([*NOBODY, programs + "/postgres", "-D", data, "-k", data, "-h", "", "-F"], cwd="/",
                              **QUIET)
    stack.callback(server.wait)
    stack.callback(server.send_signal, signal.SIGINT)
    tell = ["-h", data, "-U", "bench", "postgres"]
    until(lambda: subprocess.run(["psql", "-c", "select 1", *tell], check=False, **QUIET).returncode == 0)
    subprocess.run(["pgbench", "-i", "-q", *tell], check=True, **QUIET)
    load = started(stack, "pgbench", "-c", "8", "-j", "2", "-T", "3600", *tell, stderr=subprocess.DEVNULL)
    return ["--comm", "postgres", str(load.pid)], None


LOADS = {"locks": planted("busy-locks"), "ring": planted("busy-ring"), "redis": redis, "postgres": postgres,
         "java": java, "python": python}
NEEDS = {"redis": "redis-server", "postgres": "pgbench", "java": "javac"}


def look(holdup, targets):
    done = subprocess.run([holdup, "stuck", "--json", *targets], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def measure(holdup, name, looks):
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        targets, count = LOADS[name](stack, folder, holdup)
        found = {"deadlocks": 0, "dead": 0, "owners": 0, "waits": 0}
        took = []
        for _ in range(looks):
            report = look(holdup, targets)
            took.append(report["took_ns"] / 1e6)
            found["deadlocks"] += len(report["cycles"]) > 0
            found["dead"] += any("only a signal" in one["root"] for one in report["threads"])
            found["owners"] += sum(bool(one["waits_for"]) for one in report["threads"])
            found["waits"] += sum(one["wait"] is not None for one in report["threads"])
            if report["cycles"]:
                print(json.dumps(report), file=sys.stderr)
        print("| %s | %d | %d | %d | %d | %d | %.1f | %.1f | %s |" %
              (name, looks, found["deadlocks"], found["dead"], found["waits"], found["owners"],
               statistics.median(took), max(took), count() if count else ""), flush=True)
        return found["deadlocks"]


def main():
    holdup = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "holdup")
    looks = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    print("| load | looks | with a deadlock | with a dead process | waits | with an owner | median, ms | most, ms | did |")
    print("|---|---|---|---|---|---|---|---|---|")
    wrong = 0
    for name in sys.argv[3:] or LOADS:
        if name in NEEDS and not shutil.which(NEEDS[name]):
            print("| %s | %s is not installed |" % (name, NEEDS[name]))
            continue
        wrong += measure(os.path.realpath(holdup), name, looks)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
