"""Resident memory of processes, worked out again from what the kernel tells of its counters.

Facts of the kernel (include/trace/events/kmem.h, fs/exec.c, kernel/exit.c): rss_stat comes with each
change of a counter of an address space, with its new size, whoever changes it. "curr" says that it is
the one that the thread at hand has, which is that of its process. A program that is executed gets a
new one, and the thread that executes it, or the last one that ends, tears the old one down: then it
tells of the space that was its own as of a foreign one.
"""
import bisect
import collections
import json
import os

CLONE_THREAD = 0x10000
UNKNOWN = (-float("inf"), float("inf"))
RESIDENT = {0: 0, 1: 1, 3: 3, "MM_FILEPAGES": 0, "MM_ANONPAGES": 1, "MM_SHMEMPAGES": 3}     # not: swapped out


class Memory:
    """What was told of the counters of address spaces, and of which process has which of them."""

    def __init__(self, trace):
        self.processes = collections.defaultdict(list)      # tid: (index of an event, its process from then on)
        self.counters = collections.defaultdict(dict)       # address space: counter: (event, size)
        self.spaces = collections.defaultdict(list)         # process: (index of an event, what it has from then on)
        dump = os.path.join(trace, "kernel/dump.jsonl")
        if os.path.exists(dump):
            with open(dump, encoding="utf-8", errors="replace") as file:
                threads = [row["thread"] for row in map(json.loads, file) if "thread" in row]
            for thread in threads:
                self.processes[thread["tid"]].append((-1, thread["tgid"]))

    def feed(self, event):
        told = event.fields
        if event.name == "task:task_newtask":
            process = self.process(event.tid, event) if told["clone_flags"] & CLONE_THREAD else told["pid"]
            self.processes[told["pid"]].append((event.index, process))
        elif event.name == "kmem:rss_stat" and "mm_id" in told:
            if told["member"] in RESIDENT:
                counters = self.counters[told["mm_id"]]
                counters.setdefault(RESIDENT[told["member"]], []).append((event, told["size"]))
            self.own(self.process(event.tid, event), event.index, told["mm_id"], bool(told["curr"]))

    def own(self, process, index, space, is_own):
        """A thread of the process told of an address space; None: it has one that is not known."""
        had = self.space(process, index)
        has = space if is_own else None if space == had else had
        if has != had:
            self.spaces[process].append((index, has))

    def space(self, process, index):
        return next((space for begin, space in reversed(self.spaces[process]) if begin <= index), None)

    def process(self, tid, event):
        """Of the thread; None: nothing tells."""
        return next((process for index, process in reversed(self.processes[tid]) if index <= event.index), None)

    def grown(self, raw, tid, first, last):
        """[low, high] of what the process of a thread grew by: one number, or nothing is known."""
        process = self.process(tid, first)
        space = None if process is None else self.space(process, first.index)
        is_other = any(first.index < index <= last.index for index, _ in self.spaces[process])
        if space is None or is_other or raw.lost_in(first, last):
            return UNKNOWN
        total = 0
        for rows in self.counters[space].values():
            begin, end = (bisect.bisect_right(rows, edge.index, key=lambda row: row[0].index) for edge in (first, last))
            if begin == end:
                continue
            # The first one ever, or behind a loss, tells also of changes from before the window.
            if not begin or raw.lost_in(rows[begin - 1][0], rows[begin][0]):
                return UNKNOWN
            total += rows[end - 1][1] - rows[begin - 1][1]
        return total, total
