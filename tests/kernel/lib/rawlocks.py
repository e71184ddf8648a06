"""Waits for locks and holds, worked out again from what programs tell in events."""
import collections

LOCK_TIMES = ("lock_wait", "lock_held")
MUTEX, READ, BARRIER = 1, 2, 5      # kinds of the locks of programs


class Locks:
    """Spans in which threads waited for locks, and in which they held any, as their programs tell."""

    def __init__(self):
        self.holders = collections.defaultdict(collections.Counter)     # of a lock: how often whom
        self.held = collections.Counter()                               # by each thread just now
        self.begin = {}
        self.spans = collections.defaultdict(list)                      # (metric, tid): (begin, end)

    def start(self, metric, tid, ns):
        self.begin.setdefault((metric, tid), ns)

    def stop(self, metric, tid, ns):
        begin = self.begin.pop((metric, tid), None)
        if begin is not None:
            self.spans[metric, tid].append((begin, ns))

    def drop(self, lock, tid, ns):
        if self.holders[lock][tid]:
            self.holders[lock][tid] -= 1
            self.held[tid] -= 1
            if not self.held[tid]:
                self.stop("lock_held", tid, ns)

    def take(self, lock, tid, kind, ns):
        # Only readers share a lock: who takes it otherwise is the only one that has it.
        for other in list(self.holders[lock].elements()) if kind != READ else ():
            self.drop(lock, other, ns)
        self.holders[lock][tid] += 1
        self.held[tid] += 1
        self.start("lock_held", tid, ns)

    def feed(self, event):
        told, tid, ns, kind = event.fields, event.tid, event.ns, event.fields.get("kind")
        lock, mutex = (told["pid"], told.get("lock")), (told["pid"], told.get("mutex"))
        what = event.name.split(":")[1]
        if what == "acquired":
            self.take(lock, tid, kind, ns)
        elif what == "released":
            self.drop(lock, tid, ns)
        elif what == "wait_begin" and kind != BARRIER:
            self.start("lock_wait", tid, ns)
        elif what == "wait_end" and kind != BARRIER:
            self.stop("lock_wait", tid, ns)
            # 0, or EOWNERDEAD: the lock was got, its last owner died.
            if told["result"] in (0, 130):
                self.take(lock, tid, kind, ns)
        elif what == "cond_begin":      # POSIX: who waits lets its mutex go, and has it again after
            self.drop(mutex, tid, ns)
        elif what == "cond_end" and told["result"] != 1:
            self.take(mutex, tid, MUTEX, ns)

    def exit(self, tid, ns):
        for metric in LOCK_TIMES:
            self.stop(metric, tid, ns)
        for holders in self.holders.values():
            holders.pop(tid, None)
        self.held.pop(tid, None)

    def value(self, metric, tid, first, last, end_ns):
        spans = list(self.spans[metric, tid])
        if (metric, tid) in self.begin:
            spans.append((self.begin[metric, tid], end_ns))
        return sum(max(0, min(b, last.ns) - max(a, first.ns)) for a, b in spans)
