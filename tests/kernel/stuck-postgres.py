#!/usr/bin/env python3
"""stuck-postgres.py - whom backends of PostgreSQL wait for: what pg_blocking_pids() and pg_locks say, `holdup stuck` says.

Each case opens sessions, has some take locks and others wait for them, and asks the server and holdup. HOLDUP_POSTGRES
is a folder with the programs of another version: the server is of that one.
"""
import glob
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

NOBODY = 65534
READY_S = 60
# Of a waiter: what it waits for, and in which mode.
AWAITED = "select locktype, relation, page, tuple, transactionid, classid, objid, objsubid, mode, database from pg_locks where not granted and pid = %d"


class Server:
    """A server of its own, which never looks for deadlocks itself."""

    def __init__(self, folder):
        self.tools, self.data = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1], os.path.join(folder, "pg")
        self.programs = os.environ.get("HOLDUP_POSTGRES") or self.tools
        self.sessions = []
        os.mkdir(self.data)
        os.chown(self.data, NOBODY, NOBODY)
        os.chmod(folder, 0o755)
        self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
        subprocess.run([self.programs + "/initdb", "-A", "trust", "-U", "bench", "-N", "-D", self.data], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.user)
        self.process = subprocess.Popen(
            [self.programs + "/postgres", "-D", self.data, "-k", self.data, "-h", "", "-F", "-c", "deadlock_timeout=1h",
             "-c", "max_prepared_transactions=4", "-c", "autovacuum=off"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.user)

    def ask(self, sql):
        done = subprocess.run([*self.psql(), "-c", sql], capture_output=True, text=True, timeout=60, check=False)
        return done.stdout.strip()

    def psql(self):
        return [self.tools + "/psql", "-h", self.data, "-U", "bench", "-X", "-q", "-A", "-t", "postgres"]

    def ready(self):
        end = time.monotonic() + READY_S
        while self.ask("select 1") != "1" and time.monotonic() < end:
            time.sleep(0.05)
        self.ask("create table t(a int primary key, b int); insert into t select i, 0 from generate_series(1, 9) i; "
                 "create table u(a int)")
        return self

    def session(self, sql=""):
        """Its backend, once it has done that."""
        session = Session(self)
        self.sessions.append(session)
        if sql:
            session.tell(sql)
        return session.answered()

    def end_sessions(self):
        for session in self.sessions:
            session.process.stdin.close()
            session.process.kill()
            session.process.wait()
            self.ask("select pg_terminate_backend(%d)" % session.pid)
        pids = ",".join(str(session.pid) for session in self.sessions)
        end = time.monotonic() + READY_S
        while self.ask("select count(*) from pg_stat_activity where pid in (%s)" % pids) != "0" and time.monotonic() < end:
            time.sleep(0.05)
        self.sessions = []

    def end(self):
        self.end_sessions()
        self.process.terminate()
        self.process.wait()


class Session:
    """A client that is told what to do, and may not get an answer."""

    def __init__(self, server):
        self.process = subprocess.Popen(server.psql(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, bufsize=1)
        self.pid = 0

    def tell(self, sql):
        self.process.stdin.write(sql + ";\n")
        return self

    def answered(self):
        self.tell("select 'pid', pg_backend_pid()")
        for line in self.process.stdout:
            if line.startswith("pid|"):
                self.pid = int(line.split("|")[1])
                break
        return self


def waiting(server, count):
    """Of each backend that waits for a lock: who blocks it. Once there are so many, and all sleep."""
    end, found = time.monotonic() + READY_S, {}
    while time.monotonic() < end:
        rows = server.ask("select distinct pid, pg_blocking_pids(pid) from pg_locks where not granted").splitlines()
        found = {int(row.split("|")[0]): {int(pid) for pid in row.split("|")[1].strip("{}").split(",") if pid} for row in rows}
        if len(found) == count:
            break
        time.sleep(0.05)
    time.sleep(0.2)
    return found


def looked(server):
    """All of its backends."""
    pids = [str(session.pid) for session in server.sessions]
    done = kernel.holdup("stuck", "--json", *pids)
    return done, {one["tid"]: one for one in json.loads(done.stdout)["threads"]}


def edges(thread):
    return {edge["tid"] for edge in thread["waits_for"]}


def as_the_server(tap, server, what, blocked):
    """The same backends, by the server's own function."""
    done, threads = looked(server)
    got = {pid: edges(threads[pid]) for pid in blocked}
    tap.ok(got == blocked and blocked, what + ": whom they wait for, as pg_blocking_pids() says", "server: %s" % blocked,
           "holdup: %s" % got, done.stdout[:4000])
    others = [session.pid for session in server.sessions if session.pid not in blocked]
    tap.ok(not any("PostgreSQL" in (edge["how"]) for pid in others for edge in threads[pid]["waits_for"]),
           what + ": of backends that wait for no lock none is told", done.stdout[:4000])
    return done, threads


def objects(tap, server, what, threads, wanted):
    """Words of what they wait for, in which numbers of pg_locks stand."""
    for pid, words in wanted.items():
        row = server.ask(AWAITED % pid).split("|")
        names = dict(zip(("type", "relation", "page", "tuple", "xid", "class", "object", "sub", "mode", "database"), row))
        told = threads[pid]["wait"]["object"]
        tap.ok(told == "PostgreSQL " + words.format(**names), what + ": what it waits for", row, told, words)


def rows(tap, server):
    """One changes a row, one waits for it, and two queue behind that one."""
    holder = server.session("begin; update t set b = 1 where a = 1")
    waiters = []
    for _ in range(3):
        waiters.append(server.session().tell("update t set b = 2 where a = 1"))
        waiting(server, len(waiters))
    blocked = waiting(server, 3)
    done, threads = as_the_server(tap, server, "a row", blocked)
    objects(tap, server, "a row", threads, {
        waiters[0].pid: "row lock: transaction {xid}, {mode}",
        waiters[1].pid: "lock of row ({page},{tuple}) of relation {relation}, database {database}, {mode}"})
    tap.ok(done.returncode == 0 and "idle in transaction" in (threads[holder.pid]["title"] or "")
           and "UPDATE waiting" in (threads[waiters[0].pid]["title"] or ""), "a row: titles of processes",
           {pid: thread["title"] for pid, thread in threads.items()})
    text = kernel.holdup("stuck", waiters[0].pid).stdout
    tap.ok("idle in transaction) holds ExclusiveLock: PostgreSQL's lock table" in text, "a row: in the text, too", text)
    server.end_sessions()


def relations(tap, server):
    """Readers of a table, one who wants it alone, and a reader who queues behind; advisory locks."""
    for _ in range(2):
        server.session("begin; select count(*) from u")
    alone = server.session().tell("begin; lock table u in access exclusive mode")
    waiting(server, 1)
    reader = server.session().tell("select count(*) from u")
    blocked = waiting(server, 2)
    _, threads = as_the_server(tap, server, "a table", blocked)
    tap.ok(len(blocked[alone.pid]) == 2 and blocked[reader.pid] == {alone.pid}, "a table: two hold it, one queues", blocked)
    objects(tap, server, "a table", threads, {alone.pid: "lock of relation {relation}, database {database}, {mode}",
                                              reader.pid: "lock of relation {relation}, database {database}, {mode}"})
    tap.ok(threads[alone.pid]["root"].startswith("all of "), "a table: all of those who hold it must let go", threads[alone.pid])
    tap.ok(threads[reader.pid]["waits_for"][0]["how"] == "is before it in the queue, for AccessExclusiveLock",
           "a table: who only queues before it is told as that", threads[reader.pid])
    server.end_sessions()
    server.session("select pg_advisory_lock(-42); select pg_advisory_lock(1, -2)")
    one, two = server.session().tell("select pg_advisory_lock(-42)"), server.session().tell("select pg_advisory_lock_shared(1, -2)")
    blocked = waiting(server, 2)
    _, threads = as_the_server(tap, server, "advisory locks", blocked)
    objects(tap, server, "advisory locks", threads, {one.pid: "advisory lock -42, database {database}, {mode}",
                                                     two.pid: "advisory lock 1/-2, database {database}, {mode}"})
    server.end_sessions()


def deadlocks(tap, server):
    """Two that wait for each other's row; and one of which a second holder could go on, but not the first."""
    one, two = server.session("begin; update t set b = 1 where a = 1"), server.session("begin; update t set b = 1 where a = 2")
    one.tell("update t set b = 2 where a = 2")
    two.tell("update t set b = 2 where a = 1")
    done, _ = as_the_server(tap, server, "two rows", waiting(server, 2))
    tap.ok(done.returncode == 1 and json.loads(done.stdout)["cycles"] == [sorted((one.pid, two.pid))], "two rows: a deadlock",
           done.stdout[:4000])
    server.end_sessions()
    one = server.session("begin; lock table u in share mode")
    server.session("begin; lock table u in share mode")
    two = server.session("select pg_advisory_lock(7)")
    one.tell("select pg_advisory_lock(7)")
    two.tell("begin; lock table u in exclusive mode")
    done, _ = as_the_server(tap, server, "a shared lock", waiting(server, 2))
    tap.ok(done.returncode == 1 and json.loads(done.stdout)["cycles"] == [sorted((one.pid, two.pid))],
           "a shared lock: a deadlock, though a third one holds it, too, and could go on", done.stdout[:4000])
    server.end_sessions()


def prepared(tap, server):
    """What was prepared has no process."""
    server.session("begin; update t set b = 3 where a = 3; prepare transaction 'x'")
    waiter = server.session().tell("update t set b = 4 where a = 3")
    waiting(server, 1)
    _, threads = looked(server)
    told = threads[waiter.pid]
    tap.ok(told["waits_for"] == [] and told["wait"]["object"].endswith("(held by a prepared transaction)"), "a prepared transaction", told)
    server.end_sessions()
    server.ask("rollback prepared 'x'")


def busy(tap, server):
    """Sessions that update the same rows in the same order are no deadlock, and nobody is told that the server does not know."""
    script = os.path.join(server.data, "load.sql")
    with open(script, "w", encoding="utf-8") as file:
        file.write("begin;\nupdate t set b = b + 1 where a = 5;\n\\sleep 100 ms\nupdate t set b = b + 1 where a = 6;\ncommit;\n")
    load = subprocess.Popen([server.tools + "/pgbench", "-h", server.data, "-U", "bench", "-n", "-c", "6", "-T", "20", "-f", script, "postgres"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    looks = wrong = seen = 0
    end = time.monotonic() + 3
    while time.monotonic() < end or not looks:
        done = kernel.holdup("stuck", "--json", "--comm", "postgres")
        told = json.loads(done.stdout)
        looks += 1
        wrong += bool(told["cycles"])
        seen += sum("PostgreSQL" in ((one["wait"] or {"object": ""})["object"] or "") for one in told["threads"])
    load.terminate()
    load.wait()
    tap.ok(not wrong, "busy sessions: no deadlock in %d looks, which saw %d waits for locks" % (looks, seen), wrong)


def main():
    kernel.need()
    if not glob.glob("/usr/lib/postgresql/*/bin/postgres"):
        kernel.absent("PostgreSQL is not installed")
    tap = kernel.Tap()
    with kernel.workdir() as folder:
        server = Server(folder)
        try:
            server.ready()
            for case in (rows, relations, deadlocks, prepared, busy):
                case(tap, server)
        finally:
            server.end()
    tap.end()


if __name__ == "__main__":
    main()
