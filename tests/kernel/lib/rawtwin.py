"""What threads did, worked out again from the single events that holdup list prints: slow and plain.

Every rule rests on a fact of the kernel that stands beside it. What the events leave open stays open:
each value is a range, whose two ends are the same where nothing is missing. Nothing here knows of
the program's own account of states.
"""
import functools
import json
import os
import re
import subprocess

import kernel
import rawlocks
import rawrss

WAITS = ("stopped", "lock", "disk", "idle", "time", "network", "thread", "io", "interrupt", "unknown")
USER, SYSTEM, IRQ, SOFTIRQ, PREEMPTED, QUEUED, ASLEEP = (1 << i for i in range(7))
ON_CPU = USER | SYSTEM | IRQ | SOFTIRQ
ANYTHING = ON_CPU | PREEMPTED | QUEUED | ASLEEP
TIMES = {"on_cpu": ON_CPU, "user": USER, "system": SYSTEM, "in_irq": IRQ, "in_softirq": SOFTIRQ,
         "wait_cpu": PREEMPTED | QUEUED, "preempted": PREEMPTED, "blocked": ASLEEP}
COUNTS = ("preemptions", "switches", "syscalls", "faults", "interrupts", "softirqs", "wakeups", "signals",
          "block_requests")
BEGINS = ("preemptions", "switches", "syscalls")
BYTES = ("bytes_read", "bytes_written", "allocated")
CALLS = ("read", "futex", "openat", "execve")

# arch/x86/entry/syscalls/syscall_64.tbl: the calls that the rules below are about.
NUMBERS = {0: "read", 1: "write", 17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev", 295: "preadv",
           296: "pwritev", 327: "preadv2", 328: "pwritev2", 45: "recvfrom", 44: "sendto", 47: "recvmsg",
           46: "sendmsg", 299: "recvmmsg", 307: "sendmmsg", 74: "fsync", 75: "fdatasync", 16: "ioctl",
           42: "connect", 3: "close", 9: "mmap", 43: "accept", 288: "accept4", 202: "futex", 72: "fcntl",
           73: "flock", 65: "semop", 220: "semtimedop", 69: "msgsnd", 70: "msgrcv", 7: "poll", 271: "ppoll",
           23: "select", 270: "pselect6", 232: "epoll_wait", 281: "epoll_pwait", 441: "epoll_pwait2",
           59: "execve", 257: "openat", 56: "clone", 57: "fork", 58: "vfork", 435: "clone3", 40: "sendfile",
           217: "getdents64", 285: "fallocate", 426: "io_uring_enter"}
READS = {"read", "pread64", "readv", "preadv", "preadv2", "recvfrom", "recvmsg"}
WRITES = {"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg"}
POLLS = {"poll", "ppoll", "select", "_newselect", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"}
ON_FILES = READS | WRITES | {"recvmmsg", "sendmmsg", "fsync", "fdatasync", "ioctl", "connect", "close", "recv",
                             "send", "sendfile", "getdents64", "fallocate", "splice", "io_uring_enter"}
LOCKS = {"fcntl", "fcntl64", "flock", "semop", "semtimedop", "msgsnd", "msgrcv"}
DISK_IRQ = re.compile("nvme|ahci|-req\\.|ata_|mmc|sdhci|mpt|megasas|xvd|scsi")

KINDS = {"sched_switch": "switch", "sched_waking": "waking", "sched_wakeup": "wakeup",
         "sched_wakeup_new": "born", "sched_process_fork": "born", "task_newtask": "born",
         "sched_process_exit": "exits", "page_fault_user": "fault", "page_fault_kernel": "fault",
         "signal_deliver": "signal", "block_rq_issue": "issue", "block_rq_complete": "complete",
         "hrtimer_start": "set_timer", "hrtimer_expire_entry": "expire", "hrtimer_expire_exit": "expired",
         "timer_expire_entry": "expire", "timer_expire_exit": "expired", "netif_receive_skb": "packet",
         "net_if_receive_skb": "packet", "workqueue_execute_start": "work", "workqueue_execute_end": "worked",
         "contention_begin": "contend", "contention_end": "contended", "mm_page_alloc": "pages",
         "irq_handler_entry": "irq", "irq_handler_exit": "irq_end", "softirq_entry": "softirq",
         "softirq_exit": "softirq_end", "raw_syscalls:sys_enter": "enter", "raw_syscalls:sys_exit": "exit",
         "exit_syscall": "exit", "holdup:lost_events": "lost"}


@functools.cache
def kind_of_name(name):
    """(kind, system call) of an event by the names that ftrace, perf and LTTng give it."""
    plain = name.split(":")[-1]
    if "irq_vectors" in name:
        return ("vector" if plain.endswith("_entry") else "vector_end"), None
    call = re.match("(?:compat_)?(?:sys|syscall_entry)_(.*)|(?:compat_)?syscall_exit_(.*)", plain)
    if name.startswith("kernel:") and call:
        return ("enter" if call[1] else "exit"), call[1] or call[2]
    plain = re.sub("^(x86_exceptions|timer(?=_hrtimer)|irq(?=_softirq)|kmem(?=_mm))_", "", plain)
    return KINDS.get(name) or KINDS.get(plain), None


@functools.cache
def is_proof(name):
    """Whether it was recorded by the thread that has the CPU: a stack is by the one that leaves it."""
    return not re.search("^holdup:|callchain|kernel_stack", name)


class Event:
    """One event; names of fields and events are those of ftrace, whoever recorded it."""
    __slots__ = ("index", "ns", "cpu", "tid", "comm", "name", "kind", "call", "fields", "hard", "soft",
                 "user")

    def __init__(self, index, row):
        self.index, self.ns, self.cpu, self.tid = index, row["time_ns"], row["cpu"], row["tid"]
        self.name, self.fields, self.comm = row["event"], row.get("fields") or {}, row["comm"] or ""
        # Of a program itself: its clock is read a moment before or after the kernel's.
        self.user = "vtid" in self.fields and not self.name.startswith("kernel:")
        flags = row["latency"] or ""
        # LTTng tells nothing of the context; ftrace and perf do, in common_flags.
        self.hard, self.soft = "h" in flags.lower(), "s" in flags or "H" in flags
        self.kind, self.call = self.kind_of()

    def kind_of(self):
        if self.user:
            return "told" if self.name.startswith("lock:") else None, None
        if self.name.startswith("raw_syscalls:"):
            return KINDS[self.name], NUMBERS.get(self.fields["id"], str(self.fields["id"]))
        return kind_of_name(self.name)

    def about(self, prefix=""):
        """The thread that it is about: a tid, which only LTTng calls so; its pid is of the context."""
        return self.fields.get(prefix + ("tid" if self.name.startswith("kernel:") else "pid"))


class Cpu:
    """What is open on a CPU: interrupts, and what they carry."""

    def __init__(self):
        self.tid, self.ns, self.known = None, None, False
        self.forget()

    def forget(self):
        self.frames, self.timer, self.disk, self.packet, self.doubt = [], None, False, False, False
        self.below = False          # its timer's callback runs in a softirq

    def level(self):
        return self.frames[-1][0] if self.frames else 0


class Thread:
    """A thread's facts in order, and what it is in just now."""

    def __init__(self, tid, comm):
        self.tid = tid
        # Kernel threads of these names never leave the kernel.
        self.kernel = bool(re.match("kworker/|ksoftirqd/|migration/|rcu_|kthreadd|kswapd|kcompactd|jbd2/|irq/", comm))
        self.call = None        # (name, event of the enter), "user", None = not known
        self.trap = False
        self.fault = None       # the page fault after which it has not told of anything else
        self.contends = self.exiting = self.works = self.by_kernel = False
        self.facts = []         # what build() reads
        self.calls = []         # (begin, end, name, sure)
        self.call_ns = None
        self.seen_ns = None
        self.counts = {name: [] for name in COUNTS + CALLS + BYTES}
        self.moves = []         # (low, high): came onto another CPU
        self.spans = None

    def mode(self):
        if self.kernel or isinstance(self.call, tuple) or self.trap:
            return SYSTEM
        return USER if self.call == "user" else USER | SYSTEM

    def told(self):
        """It is where a call or a fault cannot be any more."""
        self.fault, self.trap = None, False

    def began_call(self, name, ns):
        self.end_call(ns)
        self.call, self.call_ns = (name,), ns

    def end_call(self, ns, name=None):
        if isinstance(self.call, tuple):
            self.calls.append((self.call_ns, ns, self.call[0], True))
        elif self.call is None and self.call_ns is not None and self.call_ns < ns:
            # The first that it tells is the end of a call: it was in that one all the time, unless
            # the kernel made it to run a program: that one begins with the end of a call.
            self.calls.append((self.call_ns, ns, name, name is not None and not self.by_kernel))

    def forget(self, ns):
        self.told()
        if isinstance(self.call, tuple):
            self.end_call(ns)
        self.call, self.call_ns = None, None

    def block_in_fault(self):
        """Own code sleeps only in a page fault; then that is where it was since it told of it."""
        if self.call != "user" or self.fault is None:
            return
        self.trap = True
        for i in range(len(self.facts) - 1, -1, -1):
            fact = self.facts[i]
            if fact[0] == "on" and fact[2] <= self.fault:
                break
            if fact[0] == "on" and fact[3] == USER:
                self.facts[i] = ("on", fact[1], fact[2], SYSTEM, fact[4])


class Raw:
    """All events of a trace, and what follows from each of them."""

    def __init__(self, trace, is_cut=False):
        self.is_cut = is_cut
        out = subprocess.run([kernel.HOLDUP, "list", "--json", trace], check=True,
                             capture_output=True, text=True, errors="replace", timeout=120).stdout
        rows = [json.loads(line) for line in out.splitlines()]
        self.events = [Event(i, row) for i, row in enumerate(row for row in rows if "event" in row)]
        self.start_ns, self.end_ns = self.events[0].ns, self.events[-1].ns
        self.cpus, self.lives, self.setters, self.holes = {}, {}, {}, []
        self.locks, self.memory, self.sums = rawlocks.Locks(), rawrss.Memory(trace), {}
        kinds = {event.kind for event in self.events}
        self.has_irqs, self.has_wakings = bool(kinds & {"irq", "vector"}), "waking" in kinds
        self.omits_idle = False
        for event in self.events:
            self.feed(event)
        for lives in self.lives.values():
            for thread in lives:
                self.close(thread)

    def thread(self, tid, comm=""):
        lives = self.lives.setdefault(tid, [])
        if not lives:
            lives.append(Thread(tid, comm))
        return lives[-1]

    def lost_in(self, first, last):
        return any(since < last.ns and until > first.ns for since, until in self.holes)

    def occupy(self, cpu, event, tid):
        """The event was recorded in this thread: so the thread had the CPU then."""
        thread = self.thread(tid, event.comm)
        if cpu.known and cpu.tid == tid:
            # Nobody leaves a CPU, but for the idle task, without a sched_switch of its own.
            mask = cpu.level() or thread.mode()
            is_new = event.kind in ("irq", "vector", "softirq")
            if self.has_irqs and not is_new and (event.hard or event.soft) and not cpu.frames:
                cpu.doubt = True
            if cpu.tid:
                thread.facts.append(("on", cpu.ns, event.ns, ON_CPU if cpu.doubt else mask, event.cpu))
        else:
            since = self.start_ns if cpu.ns is None else cpu.ns
            if cpu.known and cpu.tid:
                self.thread(cpu.tid).facts.append(("gone", cpu.ns))
            self.omits_idle |= cpu.known
            cpu.forget()
            self.come(thread, since, event.ns, event.cpu)
        cpu.tid, cpu.ns, cpu.known = tid, event.ns, True
        if not event.hard and not event.soft:
            cpu.doubt = False

    def come(self, thread, low, high, cpu):
        for number, other in self.cpus.items():     # it has left those unseen: it runs on one at a time
            if thread.tid and number != cpu and other.known and other.tid == thread.tid:
                other.known = False
                thread.facts.append(("gone", other.ns))
        thread.facts.append(("in", low, high, cpu))
        if thread.call_ns is None:
            thread.call_ns = low

    def waker(self, cpu, event):
        """Who acts: the innermost thing open on the CPU where the waking was recorded."""
        level = cpu.level()
        hard = event.hard if event.hard or event.soft else level == IRQ
        soft = event.soft if event.hard or event.soft else level == SOFTIRQ
        name = cpu.frames[-1][1] if cpu.frames else ""
        if hard:
            if cpu.timer is not None and not cpu.below:
                return ("timer", self.setters.get(cpu.timer))
            if cpu.disk:
                return ("disk",)
            if name == "local_timer":
                return ("timer", None)
            return ("disk",) if DISK_IRQ.search(name) else ("interrupt",)
        if soft:
            # include/linux/interrupt.h: the numbers of softirqs.
            vec = next((frame[1] for frame in reversed(cpu.frames) if frame[0] == SOFTIRQ), None)
            known = {1: "timer", 8: "timer", 2: "network", 3: "network", 4: "disk"}.get(vec)
            known = known or ("timer" if cpu.timer is not None else "disk" if cpu.disk else
                              "network" if cpu.packet else "interrupt")
            return (known, self.setters.get(cpu.timer))
        if not event.tid or event.tid < 0:
            return ("interrupt",) if event.tid == 0 else ("unknown",)
        if cpu.disk and event.comm.startswith("irq/"):
            return ("disk",)
        return ("thread", self.thread(event.tid).works, self.wakes_all(self.thread(event.tid)))

    def wakes_all(self, thread):
        """FUTEX_WAKE or FUTEX_WAKE_BITSET of more than one: a lock is let go for one."""
        if not isinstance(thread.call, tuple) or thread.call[0] != "futex":
            return False
        fields = thread.entered.fields
        count = fields["args"][2] if fields.get("args") else fields.get("val", 0)
        return self.futex_op(thread.entered) & 0x7f in (1, 10) and count > 1

    def wait(self, thread, state, event):
        """What a thread that goes to sleep waits in: (stopped, disk sleep, lock, server), None = either."""
        call = thread.call[0] if isinstance(thread.call, tuple) and not thread.trap else None
        lock, server = thread.contends or call in LOCKS, False
        if call == "futex":
            # FUTEX_WAIT on a private futex is a mutex's, FUTEX_LOCK_PI and FUTEX_LOCK_PI2 are locks.
            op = self.futex_op(thread.entered)
            lock = lock or (op in (0, 128) or op & 0x7f in (6, 13)) and "futex"
        if call in ("accept", "accept4"):
            server = True
        elif call in ON_FILES or call in POLLS:
            server = None           # what descriptors name is not told by events
        if thread.call is None and not thread.kernel:
            lock, server = lock or None, None
        return (bool(state & 0x0c), bool(state & 2), lock, server)

    @staticmethod
    def futex_op(event):
        args = event.fields.get("args")
        return args[1] if args else event.fields.get("op", 0)

    @staticmethod
    def kinds(wait, who, tid):
        """The kinds that a wait may be of, by who ended it; who = None: nobody did."""
        stopped, disk_sleep, lock, server = wait
        found = set()
        if stopped:
            return {"stopped"}
        if lock == "futex" and who and who[0] == "thread" and who[2]:
            lock = False
        if lock is not False:
            found.add("lock")
        if lock:
            return found
        if who and who[0] == "disk":
            return found | {"disk"}
        if server is not False:
            found.add("idle")
        if server:
            return found
        if who and who[0] == "timer" and who[1] in (None, tid):
            return found | {"time"}
        # TASK_UNINTERRUPTIBLE is for I/O, unless a thread that does no work for others ends it.
        if disk_sleep and (not who or who[0] != "thread" or who[1]):
            return found | {"io"}
        return found | {{"timer": "time"}.get(who[0], who[0]) if who else "unknown"}

    def feed(self, event):
        cpu = self.cpus.setdefault(event.cpu, Cpu())
        if event.kind == "lost":
            self.lose(cpu, event)
            return
        self.memory.feed(event)
        tid = event.about("prev_") if event.kind == "switch" else event.tid
        if tid is not None and tid >= 0 and not event.user and is_proof(event.name):
            self.occupy(cpu, event, tid)
        handler = getattr(self, "on_" + (event.kind or ""), None)
        if handler:
            handler(cpu, event, self.thread(tid if tid is not None else -1, event.comm))

    def lose(self, cpu, event):
        """Any thread may have run on that CPU meanwhile, and have done anything."""
        self.holes.append((event.fields["since_ns"], event.ns))
        if cpu.known and cpu.tid:
            self.thread(cpu.tid).facts.append(("gone", cpu.ns))
        cpu.known = False
        cpu.forget()
        running = {other.tid for other in self.cpus.values() if other.known}
        for tid, lives in self.lives.items():
            if tid not in running:
                lives[-1].forget(event.fields["since_ns"])

    def on_switch(self, cpu, event, prev):
        state = event.fields["prev_state"]
        state = 0 if isinstance(state, int) and state & 0x100 else state
        if prev.tid:
            self.leave(prev, state & 0xff, event)
        cpu.forget()
        cpu.tid = event.about("next_")
        if cpu.tid:
            self.come(self.thread(cpu.tid, event.fields["next_comm"]), event.ns, event.ns, event.cpu)

    def leave(self, thread, state, event):
        # EXIT_DEAD, EXIT_ZOMBIE, PARKED (of old kernels DEAD), DEAD: on the way there it may sleep, too.
        if state & 0xf0 and thread.exiting:
            thread.facts.append(("dead", event.ns))
            thread.end_call(event.ns)
            thread.call, thread.call_ns = None, None
        elif state:
            if not state & 0x0c:
                thread.block_in_fault()
            thread.counts["switches"].append((event, 1))
            thread.facts.append(("sleeps", event.ns, self.wait(thread, state, event)))
        else:
            thread.counts["preemptions"].append((event, 1))
            thread.facts.append(("preempted", event.ns))

    def on_waking(self, cpu, event, _):
        woken = self.thread(event.about(), event.fields["comm"])
        if event.kind == "waking":
            woken.counts["wakeups"].append((event, 1))
        woken.facts.append(("wake", event.ns, self.waker(cpu, event)))

    def on_wakeup(self, cpu, event, thread):
        if not self.has_wakings:
            self.on_waking(cpu, event, thread)

    def on_born(self, _, event, parent):
        tid = event.about("child_") or event.about()
        lives = self.lives.setdefault(tid, [])
        if lives and lives[-1].facts and lives[-1].facts[0][0] == "born" and len(lives[-1].facts) == 1:
            return
        child = Thread(tid, "")
        child.facts.append(("born", event.ns))
        child.kernel = parent.tid == 2
        if isinstance(parent.call, tuple):      # it leaves the kernel by the call that made it
            child.began_call(parent.call[0], event.ns)
        child.by_kernel = not isinstance(parent.call, tuple)
        lives.append(child)

    def on_exits(self, _cpu, event, thread):
        thread.exiting = True
        self.locks.exit(thread.tid, event.ns)

    def on_told(self, _cpu, event, _thread):
        self.locks.feed(event)

    def on_enter(self, _, event, thread):
        thread.told()
        thread.began_call(event.call, event.ns)
        thread.entered = event
        thread.counts["syscalls"].append((event, 1))
        if event.call in thread.counts:
            thread.counts[event.call].append((event, 1))

    def on_exit(self, _, event, thread):
        call = thread.call[0] if isinstance(thread.call, tuple) else event.call
        amount = event.fields["ret"]
        for name, calls in (("bytes_read", READS), ("bytes_written", WRITES)):
            if call in calls and 0 < amount < 1 << 62:
                thread.counts[name].append((event, amount))
        thread.told()
        thread.end_call(event.ns, event.call or "?")
        thread.call = "user"

    def on_fault(self, _, event, thread):
        thread.counts["faults"].append((event, 1))
        if event.name.endswith("user"):
            thread.told()
            thread.fault = event.ns

    def on_signal(self, _cpu, event, thread):
        thread.counts["signals"].append((event, 1))

    def on_issue(self, _cpu, event, thread):
        thread.counts["block_requests"].append((event, 1))

    def on_pages(self, _cpu, event, thread):
        thread.counts["allocated"].append((event, 4096 << event.fields["order"]))

    def on_contend(self, _cpu, event, thread):
        if not event.hard and not event.soft:
            thread.contends = True

    def on_contended(self, _cpu, _event, thread):
        thread.contends = False

    def on_work(self, _cpu, _event, thread):
        thread.works = True

    def on_worked(self, _cpu, _event, thread):
        thread.works = False

    def on_set_timer(self, cpu, event, thread):
        if thread.tid > 0 and not cpu.frames and not event.hard and not event.soft:
            self.setters[event.fields["hrtimer"]] = thread.tid

    # An interrupt or a softirq runs to its end on top of the thread that it found.
    def begin(self, cpu, event, level, name, thread, counter):
        cpu.frames.append((level, name))
        thread.counts[counter].append((event, 1))
        cpu.disk = False

    def end(self, cpu, level):
        while cpu.frames and cpu.frames.pop()[0] != level:
            pass
        cpu.timer, cpu.disk = None, False

    def on_irq(self, cpu, event, thread):
        if not event.soft and all(frame[0] != SOFTIRQ for frame in cpu.frames):
            cpu.timer = None        # no device interrupts the callback of a timer that is one itself
        self.begin(cpu, event, IRQ, event.fields.get("name") or "", thread, "interrupts")

    def on_vector(self, cpu, event, thread):
        name = "local_timer" if "local_timer" in event.name else ""
        self.begin(cpu, event, IRQ, name, thread, "interrupts")

    def on_softirq(self, cpu, event, thread):
        self.begin(cpu, event, SOFTIRQ, event.fields["vec"], thread, "softirqs")
        cpu.packet = False

    def on_irq_end(self, cpu, _event, _thread):
        self.end(cpu, IRQ)

    def on_vector_end(self, cpu, _event, _thread):
        self.end(cpu, IRQ)

    def on_softirq_end(self, cpu, _event, _thread):
        self.end(cpu, SOFTIRQ)
        cpu.packet = False

    def on_expire(self, cpu, event, _):
        cpu.timer = event.fields.get("hrtimer", event.fields.get("timer"))
        in_frame = cpu.frames[-1][0] if cpu.frames and not (event.hard or event.soft) else None
        cpu.below = in_frame == SOFTIRQ or event.soft and not event.hard

    def on_expired(self, cpu, _event, _thread):
        cpu.timer = None

    def on_complete(self, cpu, _event, _thread):
        cpu.disk = True

    def on_packet(self, cpu, _event, _thread):
        cpu.packet = True

    def close(self, thread):
        """Turn facts into spans (begin, end, mask, kinds of wait), one after the other."""
        thread.end_call(self.end_ns)
        walk = Walk(self, thread)
        for fact in thread.facts:
            getattr(walk, fact[0])(*fact[1:])
        walk.to_end()
        thread.spans = walk.spans
        thread.starts = [span[0] for span in walk.spans]
        thread.moves = walk.moves
        for cpu in self.cpus.values():      # the last stretch: it has the CPU until the end
            if cpu.known and cpu.tid == thread.tid and thread is self.lives[thread.tid][-1]:
                thread.spans.append((cpu.ns, self.end_ns, cpu.level() or thread.mode(), None))
                thread.starts.append(cpu.ns)


class Walk:
    """One thread from fact to fact."""

    def __init__(self, raw, thread):
        self.raw, self.thread = raw, thread
        self.spans, self.moves = [], []
        self.at = raw.start_ns
        self.off = "unknown"    # why it has no CPU; None = it has one
        self.woken = self.who = self.early = self.cpu = None

    def emit(self, until, mask, kinds=None):
        begin = self.at
        if until <= begin:
            return
        if not mask & ~ON_CPU or not any(a < until and b > begin for a, b in self.raw.holes):
            self.spans.append((begin, until, mask, kinds))
        else:
            hole = max(begin, min(a for a, b in self.raw.holes if a < until and b > begin))
            if hole > begin:
                self.spans.append((begin, hole, mask, kinds))
            self.spans.append((hole, until, ANYTHING, None))
        self.at = until

    def off_cpu(self, low, high, may_run):
        """Without a CPU until some instant in [low, high]; may_run: it may have one from low on."""
        extra = ON_CPU if may_run else 0
        if self.off == "asleep":
            if self.woken is not None:
                kinds = frozenset(Raw.kinds(self.wait, self.who, self.thread.tid))
                # Whether it is the same wait that ends behind a hole is not known.
                if any(a < self.woken and b > self.at for a, b in self.raw.holes):
                    kinds = kinds | {"unknown"}
                self.emit(self.woken, ASLEEP, kinds)
                self.emit(max(low, self.at), QUEUED)
                self.emit(high, QUEUED | extra)
                return
            # Who wakes a thread that is about to sleep waits until it has left its CPU: the waking
            # stands before the switch, and it did not sleep. Else the waking is missing.
            mask = QUEUED if self.early else QUEUED | ASLEEP
        else:
            mask = {"preempted": PREEMPTED, "born": QUEUED}.get(self.off, ANYTHING)
        self.emit(max(low, self.at), mask)
        self.emit(high, mask | extra)

    def come(self, low, high, cpu):
        if self.off is None:
            self.gone(self.at)
        low = max(low, self.woken or 0, self.at)
        self.off_cpu(min(low, high), high, low < high)
        if self.cpu is not None and self.cpu != cpu:
            self.moves.append((min(low, high), high))
        if low >= high:
            self.early = None
        self.cpu, self.off = cpu, None
        self.woken = self.who = None

    def on(self, begin, end, mask, _cpu):
        self.at = max(self.at, begin)
        self.emit(end, mask)

    def gone(self, ns):
        """Last seen then, on a CPU that another thread has now."""
        self.at = max(self.at, ns)
        self.off = "unknown"

    def sleeps(self, ns, wait):
        self.off, self.wait, self.at = "asleep", wait, ns

    def preempted(self, ns):
        self.off, self.at = "preempted", ns

    def wake(self, ns, who):
        if self.off == "asleep" and self.woken is None and ns >= self.at:
            self.woken, self.who = ns, who
            return
        self.early = ns
        if self.off == "unknown":       # only sleepers are woken; where it was before is open
            self.emit(ns, ANYTHING)
            self.off = "born"

    def born(self, ns):
        self.at, self.off = ns, "born"

    def dead(self, ns):
        self.at, self.off = ns, "dead"

    def to_end(self):
        if self.off in (None, "dead"):
            return
        end = self.raw.end_ns
        if self.off == "asleep" and self.woken is None:
            # A cut says of what is under way at its end how it went on.
            kinds = None if self.raw.is_cut else frozenset(Raw.kinds(self.wait, None, self.thread.tid))
            self.emit(end, ASLEEP, kinds)
            return
        # Where switches out of idle are left out it may have come onto a CPU in the end.
        self.off_cpu(end if not self.raw.omits_idle else max(self.at, self.woken or 0), end,
                     self.raw.omits_idle)


setattr(Walk, "in", Walk.come)
