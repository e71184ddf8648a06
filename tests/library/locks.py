#!/usr/bin/env python3
"""locks.py - programs under libholdup-locks do what they did without it, and the table is right.

usage: locks.py LIBRARY ANSWERS TABLE        prints TAP; the program is $HOLDUP

ANSWERS is lock_answers.c: it prints what each call returns. TABLE is examples/lock-table, which
prints what it measured itself; holdup locks --json must say the same.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HOLDUP = os.environ["HOLDUP"]
CLOCK_NS = 20000  # two clocks are compared
SLACK_NS = 2000000  # a thread may lose its CPU between a look at the clock and the event

CXX = r"""
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>
int main()
{
	std::mutex mutex; std::shared_mutex shared; std::condition_variable cond;
	std::timed_mutex timed; int sum = 0; bool go = false;
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			{ std::unique_lock<std::mutex> lock(mutex); cond.wait(lock, [&] { return go; }); }
			for (int j = 0; j < 1000; j++) {
				std::lock_guard<std::mutex> lock(mutex);
				std::shared_lock<std::shared_mutex> reading(shared);
				sum++;
			}
			if (timed.try_lock_for(std::chrono::seconds(5))) timed.unlock();
		});
	{ std::lock_guard<std::mutex> lock(mutex); go = true; }
	cond.notify_all();
	for (auto &thread : threads) thread.join();
	std::printf("%d\n", sum);
}
"""

PYTHON = """
import threading
lock, total = threading.Lock(), [0]
def work():
    for _ in range(300):
        with lock:
            total[0] += 1
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(total[0])
"""

SQLITE = """
import os, sqlite3, tempfile, threading
path = os.path.join(tempfile.mkdtemp(), "base")
def connect():
    return sqlite3.connect(path, timeout=60, isolation_level=None)
connect().execute("create table t(n)")
def work():
    base = connect()
    for n in range(20):
        base.execute("insert into t values(?)", (n,))
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
print(connect().execute("select count(*), sum(n) from t").fetchone())
os.unlink(path)
os.rmdir(os.path.dirname(path))
"""


# What <threads.h> calls a mutex; a binary semaphore of a mutex: one takes it, another lets it go.
C11 = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
static mtx_t guard; static cnd_t cond; static int ready, sum;
static pthread_mutex_t handed = PTHREAD_MUTEX_INITIALIZER;
static int work(void *n)
{
	mtx_lock(&guard);
	while (!ready) cnd_wait(&cond, &guard);
	mtx_unlock(&guard);
	for (int i = 0; i < 1000; i++) { mtx_lock(&guard); sum++; mtx_unlock(&guard); }
	return n != NULL;
}
static int let_go(void *n) { pthread_mutex_unlock(&handed); return n != NULL; }
int main(void)
{
	thrd_t threads[4], other;
	mtx_init(&guard, mtx_plain); cnd_init(&cond);
	for (int i = 0; i < 4; i++) thrd_create(&threads[i], work, NULL);
	mtx_lock(&guard); ready = 1; cnd_broadcast(&cond); mtx_unlock(&guard);
	for (int i = 0; i < 4; i++) thrd_join(threads[i], NULL);
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&handed);
		thrd_create(&other, let_go, NULL);
		thrd_join(other, NULL);
	}
	printf("%d\n", sum);
	return 0;
}
"""


def output_of(*words, **env):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=120,
                          env={**os.environ, **env})
    return done.returncode, done.stdout, done.stderr


def differences(plain, other):
    if plain[0] != other[0]:
        return f"exit {plain[0]} without, {other[0]} with: {other[2]}"
    return "\n".join(f"without: {a}\nwith:    {b}" for a, b in
                     zip(plain[1].splitlines(), other[1].splitlines()) if a != b)


def table_of(folder):
    status, out, err = output_of(HOLDUP, "locks", "--json", folder)
    if status != 0:
        raise RuntimeError(err)
    return json.loads(out)


def row_of(table, name):
    found = [row for row in table["locks"] if row["name"] and row["name"].split()[0] == name]
    return found[0] if len(found) == 1 else {}


def within(got, measured):
    """The program looks at the clock before it waits and after it: the event's wait lies inside."""
    return measured * 0.75 - SLACK_NS <= got <= measured * 1.001 + CLOCK_NS


def around(got, measured):
    """It measures a hold from within: the event's hold lies around it."""
    return measured * 0.999 - CLOCK_NS <= got <= measured * 1.25 + SLACK_NS


def check_convoy(row, truth):
    owners = {owner["tid"]: owner["ns"] for owner in row["owners"]}
    yield row["taken"] == truth["taken"] and row["waits"] == truth["waits"], "times taken and waits"
    yield within(row["wait_ns"], truth["wait_ns"]), "its waits"
    yield within(row["wait_max_ns"], truth["wait_max_ns"]), "its longest wait"
    yield around(row["hold_max_ns"], truth["hold_max_ns"]), "its longest hold"
    yield around(row["hold_ns"], truth["contended_hold_ns"]), "its holds"
    yield within(owners.get(truth["owner"], 0), truth["wait_ns"]), "who had it meanwhile"
    yield (sum(owners.values()) + row["nobody_ns"] + row["unknown_ns"] == row["wait_ns"]
           and row["unknown_ns"] == 0), "that owners add up"


def check_rest(table, truth):
    rwlock, cond = row_of(table, "table_rwlock"), row_of(table, "queue_cond")
    mutex, want = row_of(table, "queue_mutex"), truth["table_rwlock"]
    owners = {owner["tid"]: owner["ns"] for owner in rwlock["owners"]}
    yield all(rwlock[key] == want[key] for key in ("taken", "taken_write", "waits")), "the rwlock"
    yield within(rwlock["wait_ns"], want["wait_ns"]), "the readers' waits"
    yield within(owners.get(want["owner"], 0), want["wait_ns"]), "the writer"
    yield all(cond[key] == truth["queue_cond"][key] for key in ("waits", "signals")), "the condition"
    yield mutex["taken"] == truth["queue_mutex"]["taken"], "the mutex of the queue"


def table_results(program, folder):
    trace = os.path.join(folder, "table")
    status, out, err = output_of(HOLDUP, "run", "--locks", "-o", trace, "--", program)
    if status != 0:
        return [(False, "the example runs", err)]
    truth, table = json.loads(out), table_of(trace)
    convoy = row_of(table, "convoy_mutex")
    results = [(good, f"holdup locks tells {what} of lock-table", f"{truth}\n{json.dumps(table)}")
               for good, what in (*check_convoy(convoy, truth["convoy_mutex"]),
                                  *check_rest(table, truth))]
    status, out, err = output_of(HOLDUP, "run", "--locks", "--contended", "-o", trace, "--", program)
    truth, table = json.loads(out), table_of(trace)
    row = row_of(table, "convoy_mutex")
    owners = {owner["tid"]: owner["ns"] for owner in row["owners"]}
    good = (row["waits"] == 20 and row["holds"] == 0 and not table["tells_all"]
            and within(owners.get(truth["convoy_mutex"]["owner"], 0), row["wait_ns"]))
    results.append((good, "with --contended the waits and their owner are told", json.dumps(table)))
    return results


def programs(folder, library):
    yield "python with threads", [sys.executable, "-c", PYTHON]
    yield "sqlite with threads", [sys.executable, "-c", SQLITE]
    yield "a shell with a pipe", ["sh", "-c", "seq 1000 | sort -n --parallel=4 | tail -1"]
    if shutil.which("g++"):
        source, program = os.path.join(folder, "c.cc"), os.path.join(folder, "c++")
        with open(source, "w", encoding="utf-8") as file:
            file.write(CXX)
        subprocess.run(["g++", "-O1", "-std=c++17", "-pthread", source, "-o", program], check=True)
        yield "std::mutex and the like", [program]


def compiled(folder, name, text, *options):
    source, program = os.path.join(folder, name + ".c"), os.path.join(folder, name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run(["cc", "-O1", source, "-o", program, "-pthread", *options], check=False,
                          stderr=subprocess.PIPE)
    return program if done.returncode == 0 else None


def c11_results(folder):
    """All of it is told under the names of <threads.h>, and a lock that others let go is let go."""
    program, trace = compiled(folder, "c11", C11), os.path.join(folder, "c11.trace")
    if not program:
        return
    plain = output_of(program)
    run = output_of(HOLDUP, "run", "--locks", "-o", trace, "--", program)
    wrong = differences(plain, run)
    yield not wrong and plain[1] == "4000\n", "<threads.h> runs unchanged", wrong
    table = table_of(trace)
    guard, handed, cond = (row_of(table, name) for name in ("guard", "handed", "cond"))
    # main() once, each thread once before it waits, and again with each wait that ends.
    yield (guard.get("taken") == 4005 + cond.get("waits", 0), "mtx_t is told", json.dumps(table))
    yield cond.get("kind") == "condition" and cond["broadcasts"] == 1, "cnd_t is told", json.dumps(cond)
    yield (handed.get("taken") == 100 and handed["waits"] == 0,
           "a mutex that another thread lets go is free", json.dumps(handed))


def unseen(folder):
    """What nothing can be preloaded into is told before it runs; and it runs."""
    source = "#include <stdio.h>\nint main(void) { puts(\"here\"); return 0; }\n"
    static = compiled(folder, "static", source, "-static")
    foreign = compiled(folder, "foreign", source, "-m32")
    owned = compiled(folder, "owned", source)
    if owned and os.geteuid() == 0:
        os.chown(owned, 65534, 65534)
        os.chmod(owned, 0o4755)
    elif owned:
        owned = None
    for program, why in ((static, "is linked statically"), (foreign, "another architecture"),
                         (owned, "is set-user-ID or has capabilities")):
        if not program:
            continue
        got, out, err = output_of(HOLDUP, "run", "--locks", "-o", folder + "/none", "--", program)
        yield (got == 0 and out == "here\n" and why in err, f"a program that {why} is told",
               f"exit {got}: {out} {err}")
    got = output_of(HOLDUP, "run", "--locks", "-o", folder + "/none2", "--", "true")
    yield "tells nothing" not in got[2], "nothing is said of others", got[2]


def mistakes(folder):
    full = os.path.join(folder, "full")
    os.mkdir(full)
    with open(os.path.join(full, "file"), "w", encoding="utf-8") as file:
        file.write("mine")
    for what, words, status, said in [
            ("no command", ["run", "--locks"], 2, "no command"),
            ("--contended alone", ["run", "--contended", "--", "true"], 2, "--locks"),
            ("a folder with something else", ["run", "-o", full, "--", "true"], 3, "other files"),
            ("a missing program", ["run", "-o", full + "2", "--", "/no/such"], 127, "cannot run"),
            ("a missing trace", ["locks", full + "3"], 3, "No such file")]:
        got, _, err = output_of(HOLDUP, *words)
        yield got == status and said in err, f"{what} is told in words", f"exit {got}: {err}"
    got = output_of(HOLDUP, "run", "-o", full + "4", "--", "sh", "-c", "kill -TERM $$")[0]
    yield got == 128 + 15, "the command's end is the exit status", f"exit {got}"


def main():
    library, answers, table = sys.argv[1:]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "answers")
        plain = output_of(answers)
        for what, env in [("without a trace", {}), ("with a trace", {"HOLDUP": "stream:" + trace})]:
            wrong = differences(plain, output_of(answers, LD_PRELOAD=library, **env))
            results.append((not wrong and len(plain[1]) > 10000,
                            f"all calls return the same {what}", wrong))
        results += table_results(table, folder)
        for what, words in programs(folder, library):
            trace = os.path.join(folder, "p")
            plain, run = output_of(*words), output_of(HOLDUP, "run", "--locks", "-o", trace, "--",
                                                      *words)
            wrong = differences(plain, run)
            results.append((not wrong and plain[0] == 0, f"{what} runs unchanged", wrong))
        if shutil.which("g++"):
            rows = table_of(trace)["locks"]
            kinds = {row["kind"] for row in rows}
            taken = max(row["taken"] for row in rows if row["kind"] == "rwlock")
            results.append((kinds >= {"mutex", "rwlock", "condition"} and taken == 4000,
                            "std::mutex, shared_mutex and condition_variable are told", str(kinds)))
        results += c11_results(folder)
        results += unseen(folder)
        results += mistakes(folder)

    print(f"1..{len(results)}")
    for number, (good, what, detail) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {what}")
        if not good:
            for line in detail.splitlines():
                print(f"# {line}")
    return 0 if all(good for good, _, _ in results) else 1


sys.exit(main())
