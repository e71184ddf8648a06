"""Metrics of windows, from the spans and events of rawtwin: each the range that the events leave."""
import bisect
import collections
import re

import rawlocks
import rawtwin


def life_at(raw, tid, ns):
    lives = raw.lives.get(tid, [])
    return next((life for life in reversed(lives) if not life.starts or life.starts[0] <= ns), None)


def sums(raw, life, first, last):
    """Of a window: what the thread was in, and for how long: {(mask, kinds of wait): ns}."""
    key = (id(life), first.index, last.index)
    if key not in raw.sums:
        found = raw.sums[key] = collections.Counter()
        at = max(bisect.bisect_right(life.starts, first.ns) - 1, 0)
        while at < len(life.spans) and life.spans[at][0] < last.ns:
            begin, end, mask, kinds = life.spans[at]
            found[mask, kinds] += max(0, min(end, last.ns) - max(begin, first.ns))
            at += 1
    return raw.sums[key].items()


def counted(items, first, last, is_begin):
    """
    The sum of (event, amount) in a window. What begins there (a call, a wait) is of the window that it
    opens, all else of the one that it ends. Where several stand at the very border both are right.
    """
    begin = bisect.bisect_left(items, first.ns, key=lambda item: item[0].ns)
    near = items[begin:bisect.bisect_right(items, last.ns, key=lambda item: item[0].ns)]
    if is_begin:
        exact = sum(amount for event, amount in near if first.index <= event.index < last.index)
        loose = sum(amount for event, amount in near if event.ns < last.ns)
    else:
        exact = sum(amount for event, amount in near if first.index < event.index <= last.index)
        loose = sum(amount for event, amount in near if event.ns > first.ns)
    return min(exact, loose), max(exact, loose)


def time_of(raw, life, first, last, wanted, kind=None):
    low = high = 0
    for (mask, kinds), ns in sums(raw, life, first, last):
        if mask & wanted and (kind is None or kinds is None or kind in kinds):
            high += ns
            low += ns if not mask & ~wanted and (kind is None or kinds == {kind}) else 0
    return low, high


def in_calls(raw, life, first, last, name=None):
    low = high = 0
    at = bisect.bisect_right(life.calls, first.ns, key=lambda item: item[1])
    for begin, end, call, sure in life.calls[at:]:
        if begin >= last.ns:
            break
        ns = min(end, last.ns) - max(begin, first.ns)
        if ns > 0 and (name is None or call in (name, None, "?")):
            high += ns
            low += ns if sure and call != "?" else 0
    return (0, last.ns - first.ns) if raw.lost_in(first, last) else (low, high)


def unknown_ns(raw, life, first, last):
    """What is not known of where it was: running, queued, preempted or asleep."""
    return sum(ns for (mask, _), ns in sums(raw, life, first, last)
               if (mask & ~rawtwin.ON_CPU and mask & (mask - 1)) or mask == rawtwin.ON_CPU)


def part(raw, metric, tid, first, last):
    """[low, high] of a metric of one thread from one event to another."""
    life = life_at(raw, tid, first.ns)
    name, argument = re.match(r"(\w+)(?:\((\w+)\))?", metric).groups()
    if name in rawtwin.TIMES:
        return time_of(raw, life, first, last, rawtwin.TIMES[name], argument)
    if name == "in_syscalls":
        return in_calls(raw, life, first, last, argument)
    if name == "uncertain":
        return 0, unknown_ns(raw, life, first, last)
    if name in rawlocks.LOCK_TIMES:
        return (raw.locks.value(name, tid, first, last, raw.end_ns),) * 2
    if name == "rss_grown":
        return raw.memory.grown(raw, tid, first, last)
    if name == "elapsed":
        return last.ns - first.ns, last.ns - first.ns
    if name == "migrations":
        low = sum(first.ns <= a and b < last.ns for a, b in life.moves)
        high = sum(first.ns <= b and a < last.ns for a, b in life.moves)
    else:
        low, high = counted(life.counts[argument or name], first, last, name in rawtwin.BEGINS)
    return low, float("inf") if raw.lost_in(first, last) else high
