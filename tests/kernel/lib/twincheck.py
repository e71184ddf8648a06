"""Random models over a trace: what holdup check measures against what rawtwin works out again.

A model is a ring of states with an event of its own for each way on, taken from what a thread, a CPU
or the whole machine did at a random place of the trace: so windows begin and end anywhere, in calls,
faults, interrupts, at switches; those of a CPU or of the machine also end while their thread waits.
Constraints that no value keeps make the program tell every value. The ring is walked here, too.
"""
import collections
import json
import random
import subprocess

import kernel
import rawlocks
import rawrss
import rawtwin
import rawvalues

METRICS = ["elapsed", *rawtwin.TIMES, *(f"blocked({kind})" for kind in rawtwin.WAITS), "in_syscalls",
           *(f"in_syscalls({call})" for call in rawtwin.CALLS), "uncertain", "migrations", *rawtwin.COUNTS,
           *(f"syscalls({call})" for call in rawtwin.CALLS), *rawtwin.BYTES, *rawlocks.LOCK_TIMES,
           "rss_grown"]
FINDINGS = 10_000       # so many are told


def never(metric):
    """What the metric is in no window."""
    name = metric.split("(")[0]
    if name == "rss_grown":
        return "rss_grown < -1024GiB"
    unit = "B" if name in rawtwin.BYTES else "" if name in rawtwin.COUNTS or name == "migrations" else "ns"
    return f"{metric} < 0{unit}"


class Ring:
    """States 0 .. n-1 after the first event; the window begins with one step and ends with another."""

    def __init__(self, raw, chance, key, wants):
        self.key = key
        events = [event for event in raw.events if event.tid and event.tid > 0 and event.kind != "lost"
                  and wants(event)]
        # Every other one begins with a kind of event that is drawn first: so rare ones come up, too.
        name = chance.choice(sorted({event.name for event in events})) if chance.random() < 0.5 else None
        begin = chance.choice([event for event in events if name in (None, event.name)])
        own = [event for event in raw.events if self.key_of(event) == self.key_of(begin) and
               event.kind != "lost" and event.tid is not None and event.tid >= 0]
        at, steps = own.index(begin), chance.randint(2, 4)
        self.names = [begin.name]
        for _ in range(steps):
            at = (at + 1 + int(chance.expovariate(0.2))) % len(own)
            self.names.append(own[at].name)
        self.begins = chance.randrange(steps)
        self.ends = (self.begins + chance.randint(1, steps)) % steps

    def key_of(self, event):
        return {"thread": event.tid, "cpu": event.cpu, "all": 0}[self.key]

    def model(self, metrics):
        """States are o (before), s0, s1 ...; step i leads from one to the next, step 0 also out of o."""
        checks = "".join(f"          - {{ that: '{never(metric)}', since: w }}\n" for metric in metrics)
        steps = len(self.names) - 1
        text = f"model: twin\nkey: {self.key}\ninitial: o\nvariables: {{ w: elapsed }}\nstates:\n"
        for i in range(-1, steps):
            to = (i + 1) % steps
            event = self.names[0] if i < 0 else self.names[i + 1]
            text += f"  {'o' if i < 0 else f's{i}'}:\n    transitions:\n      - event: \"{event}\"\n"
            text += f"        to: s{to}\n"
            if i < 0 or to == self.begins:
                text += "        start: [w]\n"
            if i >= 0 and to == self.ends:
                text += "        check:\n" + checks
        return text

    def windows(self, raw):
        """(number of the instance, its events from the begin of a window to its end), in order."""
        steps, open_, found, begun = len(self.names) - 1, {}, [], 0
        for event in raw.events:
            key = self.key_of(event)
            if event.kind == "lost" or event.tid is None or (self.key == "thread" and event.tid < 0):
                continue
            walk = open_.get(key)
            if walk is None:
                if event.name == self.names[0]:
                    begun += 1
                    open_[key] = [0, [event], begun]
            elif event.name == self.names[walk[0] + 1]:
                to = (walk[0] + 1) % steps
                walk[1].append(event)
                if to == self.ends:
                    found.append((walk[2], list(walk[1])))
                if to == self.begins:
                    walk[1] = [event]
                walk[0] = to
            if event.kind == "exits" and self.key == "thread":
                open_.pop(event.about(), None)
        return found


def told(model, trace):
    with open("twin.yaml", "w", encoding="utf-8") as file:
        file.write(model)
    done = subprocess.run([kernel.HOLDUP, "check", "--json", "--no-why", "twin.yaml", trace],
                          check=False, capture_output=True, text=True, errors="replace", timeout=120)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def wanted(raw, metric, events):
    """The sum over the threads that the instance went through."""
    low = high = 0
    for first, last in zip(events, events[1:]):
        bounds = rawvalues.part(raw, metric, first.tid, first, last)
        low, high = low + bounds[0], high + bounds[1]
    return low, high


def is_different(raw, metric, events, told_of, slow):
    # Of memory all is known or nothing: what must not be known is not told either.
    if metric == "rss_grown" and all(raw.memory.process(event.tid, event) is not None for event in events):
        # After a loss it may also be open when the window began.
        return told_of != slow and not (raw.holes and told_of == rawrss.UNKNOWN)
    return max(told_of[0], slow[0]) > min(told_of[1], slow[1])


class Tally:
    """Per metric: windows, how many of them exact in both, and what they add up to."""

    def __init__(self):
        self.windows, self.exact, self.total = (collections.Counter() for _ in range(3))
        self.different = collections.defaultdict(list)

    def compare(self, raw, ring, metrics, findings):
        windows, rank = ring.windows(raw), {never(metric): i for i, metric in enumerate(metrics)}
        # So many are told of each status, in order: of windows that end before this one all is told.
        first_left_out = windows[FINDINGS // len(metrics):][:1]
        until_ns = first_left_out[0][1][-1].ns if first_left_out else float("inf")
        pairs = [(number, events, metric) for number, events in windows if events[-1].ns < until_ns
                 for metric in metrics]
        pairs.sort(key=lambda pair: (pair[0], pair[1][0].ns, pair[1][-1].ns, rank[never(pair[2])]))
        rows = [finding for finding in findings if "constraint" in finding and finding["end_ns"] < until_ns]
        rows.sort(key=lambda row: (row["instance"], row["start_ns"], row["end_ns"], rank[row["constraint"]]))
        places = [(pair[0], pair[1][0].ns, pair[1][-1].ns) for pair in pairs]
        told_of = [(row["instance"], row["start_ns"], row["end_ns"]) for row in rows]
        if places != told_of and any(event.kind == "lost" for event in raw.events):
            # Where events were lost a check may end an instance, and follows all states that may be.
            pairs, rows = ([item for item, place in zip(items, own) if place in set(others)]
                           for items, own, others in ((pairs, places, told_of), (rows, told_of, places)))
        elif places != told_of:
            self.different["windows"].append((ring.model([]), len(pairs), len(rows)))
            return
        for (_, events, metric), row in zip(pairs, rows):
            if any(event.tid <= 0 for event in events):     # of idle tasks, and of nobody known
                continue
            low, high = row["value"]["low"], row["value"]["high"]
            low, high = (-float("inf") if low is None else low, float("inf") if high is None else high)
            slow = wanted(raw, metric, events)
            self.windows[metric] += 1
            self.exact[metric] += low == high and slow[0] == slow[1]
            self.total[metric] += abs(slow[0]) if slow != rawrss.UNKNOWN else 0
            if is_different(raw, metric, events, (low, high), slow):
                self.different[metric].append((ring.key, [(e.tid, e.ns, e.name) for e in events], (low, high), slow))


def run(trace, seed, rounds, tally, is_cut=False):
    """Models over a trace: of each (number of them, which events they may begin with)."""
    raw, chance = rawtwin.Raw(trace, is_cut), random.Random(seed)
    for count, wants in rounds:
        if not any(map(wants, raw.events)):
            continue
        for i in range(count):
            ring = Ring(raw, chance, ("thread", "cpu", "thread", "all")[i % 4], wants)
            tally.compare(raw, ring, METRICS, told(ring.model(METRICS), trace)["findings"])


def unseen(tally, seen):
    """Those of 'seen' that came up in no window, or in none where the events tell all of it."""
    return [metric for metric in seen if not (tally.total[metric] and tally.exact[metric])]


def tell(tap, tally, seen=()):
    """A line for each metric; those of 'seen' must have come up."""
    tap.ok(not tally.different["windows"], "windows are those of a plain walk over the events",
           *tally.different["windows"][:2])
    missing = unseen(tally, seen)
    for metric in METRICS:
        different, windows = tally.different[metric], tally.windows[metric]
        came_up = windows and metric not in missing
        tap.ok(not different and came_up, "%s: %d windows, %d of them exact, %d in all"
               % (metric, windows, tally.exact[metric], tally.total[metric]),
               "%d differ" % len(different), *different[:3])
