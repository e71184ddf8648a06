#!/usr/bin/env python3
"""The kernel's text with the option "fields" says what it says without.

One buffer is printed twice. holdup must read the same events from both, and find the same time in
each state of each thread. With the options raw, hex and nocontext-info a text has no times, or no
names of events: those are refused.
"""
import contextlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

EVENTS = ("sched/sched_switch sched/sched_waking sched/sched_wakeup sched/sched_wakeup_new "
          "sched/sched_process_fork sched/sched_process_exec sched/sched_process_exit "
          "sched/sched_migrate_task sched/sched_stat_runtime task/task_newtask task/task_rename "
          "raw_syscalls/sys_enter raw_syscalls/sys_exit syscalls/sys_enter_futex "
          "syscalls/sys_exit_futex syscalls/sys_enter_clone3 syscalls/sys_exit_clone3 "
          "timer/timer_expire_entry timer/timer_expire_exit workqueue/workqueue_queue_work irq/irq_handler_entry irq/irq_handler_exit "
          "irq/softirq_entry irq/softirq_exit irq/softirq_raise timer/hrtimer_start "
          "timer/hrtimer_expire_entry timer/hrtimer_expire_exit block/block_rq_issue "
          "block/block_rq_complete workqueue/workqueue_execute_start "
          "workqueue/workqueue_execute_end lock/contention_begin lock/contention_end "
          "irq_vectors/local_timer_entry irq_vectors/local_timer_exit signal/signal_generate "
          "exceptions/page_fault_user net/net_dev_queue net/netif_receive_skb").split()
# Pointers are hashed in the one and functions have offsets in the other; arguments are missing there.
NOT_ALIKE = {"text", "args", "prev_state", "hrtimer", "timer", "function", "work", "lock_addr", "skbaddr",
             "flags", "address", "ip", "dev", "action"}


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


@contextlib.contextmanager
def instance():
    path = kernel.TRACEFS + "/instances/holdup-text-%d" % os.getpid()
    os.mkdir(path)
    try:
        yield path
    finally:
        put(path + "/tracing_on", "0")
        os.rmdir(path)


def record(path):
    put(path + "/trace_clock", "mono")
    put(path + "/buffer_size_kb", "16384")
    put(path + "/trace_options", "event-fork")
    put(path + "/set_event_pid", str(os.getpid()))  # and those that it makes
    for event in EVENTS:
        enable = "%s/events/%s/enable" % (path, event)
        if os.path.exists(enable):
            put(enable, "1")
    subprocess.run([os.path.join(kernel.EXAMPLES, "futex-convoy")], check=True,
                   stdout=subprocess.DEVNULL, timeout=60)
    put(path + "/tracing_on", "0")


def printed(path, name, option):
    put(path + "/trace_options", option)
    with open(path + "/trace", "rb") as file, open(name, "wb") as out:
        out.write(file.read())
    put(path + "/trace_options", option[2:] if option.startswith("no") else "no" + option)


def listed(name):
    done = kernel.holdup("list", "--json", name)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(tap):
    plain, fields = listed("plain.txt"), listed("fields.txt")
    keys = ("time_ns", "cpu", "tid", "event")
    wrong = [pair for pair in zip(plain, fields)
             if any(pair[0][key] != pair[1][key] for key in keys)]
    tap.ok(len(plain) == len(fields) > 1000 and not wrong, "%d events, the same in both"
           % len(plain), len(fields), wrong[:1])
    damage = json.loads(kernel.holdup("info", "--json", "fields.txt").stdout)["damage"]
    tap.ok(not damage, "each of them is understood", damage[:3])
    wrong = []
    for one, two in zip(plain, fields):
        ours, theirs = ({key: value for key, value in event["fields"].items()
                         if key not in NOT_ALIKE} for event in (one, two))
        if one["event"] == "irq:irq_handler_exit":  # has a word for 1, and for 0
            ours["ret"] = int(ours["ret"] == "handled")
        if any(str(ours[key]) != str(theirs[key]) for key in ours.keys() & theirs.keys()):
            wrong.append((one, two))
    tap.ok(not wrong, "the values of fields, too", wrong[:1])
    one, two = (sums_of(name) for name in ("plain.txt", "fields.txt"))
    tap.ok(one == two and len(one) > 3, "stats of all %d threads" % len(one),
           [(tid, one[tid], two.get(tid)) for tid in one if one[tid] != two.get(tid)][:3])


def sums_of(name):
    """What a wait was for is not compared: the kind of a futex call is among its arguments."""
    report = json.loads(kernel.holdup("stats", "--json", "--by", "thread", name).stdout)
    return {row["tid"]: (row["life_ns"], row["on_cpu"]["ns"], row["waiting_for_cpu"]["ns"],
                         row["blocked"]["ns"], row["uncertain"]["ns"], row["counts"],
                         [(call["name"], call["count"], call["ns"], call.get("errors"))
                          for call in row.get("syscalls", [])]) for row in report["rows"]}


def check_refused(tap, path, option, words):
    printed(path, "odd.txt", option)
    done = kernel.holdup("list", "odd.txt")
    tap.ok(done.returncode == 3 and words in done.stderr and kernel.clear_error(done),
           option + " is refused, and why", done.returncode, done.stderr)


def main():
    kernel.need()
    tap = kernel.Tap()
    with kernel.workdir("/var/tmp"), instance() as path:
        os.environ["XDG_CACHE_HOME"] = os.getcwd()
        record(path)
        printed(path, "plain.txt", "nofields")
        printed(path, "fields.txt", "fields")
        check(tap)
        for option in ("raw", "hex", "nocontext-info"):
            check_refused(tap, path, option, "none of its lines is an event with its time")
    tap.end()


main()
