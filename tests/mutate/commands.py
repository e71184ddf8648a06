"""commands.py - the command lines that a mutant is given to, and what they must print.

draw(rng, source) returns words of a command line and the kind of what it prints: text, json, lines
(of JSON), csv, xml, perfetto, folded. "TRACE" stands for the trace, "OUT" for a file or a folder that is
written.
"""
import operate
import sources

# Of each, those that mean something, which are drawn more often, and those that are odd.
WHEN = (["+0", "+1us", "+1ms", "+100us", "0", "1", "+99999999999s", "sched_switch", "last:sched_waking", "+0.000000001s", "0@0", "1@ffff"],
        ["-1", "-5s", "sched_waking:tid == 1", "12:00", "99999999999999999999", "cpu0:0", "0:0", "1:4096", "2026-01-01", "nothing_such",
         "", "+", "1e99", "first:", "@", "4294967295@0", "1@ffffffffffffffffff"])
FILTERS = (["sched_switch", "cpu == 0", "tid > 0 and tid < 99999", "comm ~ '*a*'", "comm =~ '(a|b)+'", "text =~ '[0-9]{3,}'",
            "time > 0", "tid in (1,2,3)", "args[0] & 1 or cpu < 4", "text ~ '**********************a'",
            "name =~ '((((a*)*)*)*)*b' or cpu == 0", "not (cpu == 1 or tid == 0)"],
           ["prev_state == S", "sys_enter: id == futex", "not sched_waking", "args[99999999]", "(" * 300, "not " * 500 + "cpu", "a == 'b",
            "x[y[z]]", "1/0", "cpu == 18446744073709551616", "comm == \"\x1b[2J\"", "\u202e == 1", "and", "",
            "text =~ '(((a{1,99}){1,99}){1,99}){1,99}'", "sched_switch or sched_waking or sys_enter and comm == x"])
FIELDS = (["time,delta,comm,args[0],id", "since,cpu,vec,text", "event", "comm,syscall", "tid,tid,tid", "args[4294967295]",
           "time,cpu,tid,thread,comm,event,text,place,latency,wall,state"],
          ["prev_state", "nothing", "", ",", "args[18446744073709551616]", "comm,"])
COUNTS = ["0", "1", "2", "7", "100", "4294967295", "4294967296", "18446744073709551615", "18446744073709551616", "-1", "", "1x"]
TIMES = ["0", "1us", "1ms", "1.5s", "1h", "99999999999s", "-1s", "0.0000000001s", "1e3", ""]
COMMS = ["*", "", "x" * 300, "[", "\x1b[2J", "\u202e"]
FORMATS = ["perfetto", "chrome", "folded", "csv", "jsonl", "ctf"]
SORTS = ["cpu", "own", "kernel", "calls", "irq", "waiting", "blocked", "io", "uncertain", "switches", "faults", "name"]
LOCK_SORTS = ["wait", "longest", "waits", "taken", "held"]
DELAY_SORTS = ["waited", "cpu", "disk", "memory", "run", "io"]
CLASSES = ["all", "cpu", "disk", "memory", "reclaim", "compaction", "irq", "swapin", "thrashing", "cow"]


def some(rng, words, chance=0.5):
    return list(words) if rng.random() < chance else []


def text(rng, table):
    """One of a table, or one to which something was done."""
    made = rng.choice(table[rng.random() < 0.25])
    if rng.random() < 0.1:
        data = bytearray(made.encode())
        rng.choice([operate.change_words, operate.change_numbers, operate.nest, operate.nasty])(rng, data, None)
        made = data[:30000].replace(b"\0", b"").decode(errors="surrogateescape")
    return made


def counts(rng, option, chance=0.15):
    """An option that takes a number; seldom one that is none."""
    return some(rng, [option, rng.choice(COUNTS if rng.random() < 0.2 else COUNTS[:5])], chance)


def window(rng):
    return some(rng, ["--from", text(rng, WHEN)], 0.25) + some(rng, ["--to", text(rng, WHEN)], 0.15)


def tid(rng, source):
    return str(rng.choice(source.tids + [0, 1, 7, 2147483647, 4194304] if rng.random() < 0.1 or not source.tids
                          else source.tids))


def comm(rng, source):
    return rng.choice(COMMS if rng.random() < 0.1 or not source.comms else source.comms)


def info(rng, _):
    json = some(rng, ["--json"])
    return ["info", *some(rng, ["--all"]), *json, "TRACE"], "json" if json else "text"


def list_(rng, source):
    json = some(rng, ["--json"], 0.4)
    words = ["list", *window(rng), *some(rng, ["--filter", text(rng, FILTERS)], 0.3), *some(rng, ["--state"], 0.2),
             *some(rng, ["--place"], 0.2), *some(rng, ["--cpu", rng.choice(["0", "0,2-5", "0-4294967295"])], 0.1),
             *counts(rng, "-n", 0.3), *counts(rng, "--last", 0.1),
             *some(rng, ["--follow", tid(rng, source), "--children"], 0.1)]
    if rng.random() < 0.2:
        words += ["--count-by", text(rng, FIELDS), *counts(rng, "--top", 0.5)]
    elif rng.random() < 0.3:
        words += ["--fields", text(rng, FIELDS)]
    return [*words, *json, "TRACE"], "lines" if json else "text"


def stats(rng, _):
    json = some(rng, ["--json"])
    return ["stats", *window(rng), *some(rng, ["--ps"], 0.4), *some(rng, ["--events"], 0.3),
            *some(rng, ["--by", rng.choice(["process", "thread", "cgroup", "user", "comm"])]),
            *some(rng, ["--sort", rng.choice(SORTS)], 0.3), *some(rng, ["--all"], 0.2), *counts(rng, "--top"),
            *json, "TRACE"], "json" if json else "text"


def why(rng, source):
    json = some(rng, ["--json"], 0.4)
    parts = rng.choice([[], ["--all"], ["--causality"], ["--summary"], ["--instances"],
                        ["--class", rng.choice(CLASSES)], ["--causality", "--depth", "100", "--min", "0"],
                        ["--instances=" + rng.choice(COUNTS)],
                        ["--causality", *counts(rng, "--depth", 0.5), "--min", rng.choice(TIMES)]])
    who = rng.choice([some(rng, ["--tid", tid(rng, source)], 0.2 if source.kind == "dir" else 0.9), ["--tid", tid(rng, source)],
                      ["--pid", tid(rng, source), *some(rng, ["--threads"])], ["--comm", comm(rng, source)]])
    parts = [*parts, *counts(rng, "--top")]
    if rng.random() < 0.1:
        return ["why", *parts, *who, *window(rng), *json, "--output", "OUT", "TRACE"], "written"
    kind = "json" if "--class" in parts else "report" # of a class, the verdict has that part alone
    return ["why", *parts, *who, *window(rng), *json, "TRACE"], kind if json else "text"


def states(rng, source):
    json = some(rng, ["--json"])
    return ["states", *window(rng), *counts(rng, "-n"), *json, tid(rng, source), "TRACE"], "lines" if json else "text"


def breakdown(rng, source):
    json = some(rng, ["--json"])
    return ["breakdown", *window(rng), *counts(rng, "--top"), *json, tid(rng, source), "TRACE"], "json" if json else "text"


def locks(rng, _):
    json = some(rng, ["--json"])
    return ["locks", *some(rng, ["--sort", rng.choice(LOCK_SORTS)], 0.3), *counts(rng, "--top"), *json, "TRACE"], "json" if json else "text"


def check(rng, source):
    json = some(rng, ["--json"])
    return ["check", *some(rng, ["--no-why"]), *counts(rng, "--top"),
            *some(rng, ["--kernel", rng.choice(["GOOD", "TRACE"])], 0.15), *json, "MODEL", "TRACE"], "json" if json else "text"


def junit(rng, source):
    return ["check", "--no-why", "--junit", "OUT", "MODEL", "TRACE"], "xml"


def learn(rng, _):
    return ["learn", "--from-events", rng.choice(["sched_switch,sched_waking", "syscall:futex,sched_process_exit", "*"]),
            *some(rng, ["--key", rng.choice(["thread", "process", "cpu", "all", "tid", "pid", "prev_comm"])]),
            *some(rng, ["--begin", rng.choice(["sched_switch", "*", "nothing", ""])], 0.2), *counts(rng, "--margin", 0.2),
            *some(rng, ["--floor", rng.choice(TIMES)], 0.2), "-o", "OUT", "TRACE", *some(rng, ["GOOD"], 0.2)], "model"


def model(rng, _):
    return rng.choice([(["model", "draw", "MODEL", "TRACE"], "svg"), (["model", "draw", "-o", "OUT", "MODEL", "TRACE"], "xml"),
                       (["model", "check", "MODEL", "TRACE"], "text"),
                       (["model", "--dot", "draw", "MODEL", "TRACE"], "text")])


def cut(rng, source):
    json = some(rng, ["--json"], 0.2)
    return ["cut", *window(rng), *some(rng, ["--tid", tid(rng, source)], 0.2), *some(rng, ["--pid", tid(rng, source)], 0.1),
            *some(rng, ["--cpu", "0"], 0.1), *json, "-o", "OUT", "TRACE"], "json" if json else "trace"


def export(rng, source):
    to = rng.choice(FORMATS)
    words = ["export", "--format", to, *window(rng), *some(rng, ["--tid", tid(rng, source)], 0.1),
             *some(rng, ["--pid", tid(rng, source)], 0.1), *some(rng, ["--comm", comm(rng, source)], 0.1)]
    if to == "jsonl":
        words += ["--what", rng.choice(["events", "intervals", "edges", "waits"])]
    if to == "folded":
        words += ["--measure", rng.choice(["blocked", "waiting", "wall"])]
    if to in ("csv", "ctf", "perfetto"):
        words += ["-o", "OUT"]
    kinds = {"perfetto": "perfetto", "chrome": "json", "folded": "text", "csv": "csv", "jsonl": "lines", "ctf": "trace"}
    return [*words, "TRACE"], kinds[to]


def index(rng, _):
    json = some(rng, ["--json"], 0.3)
    return ["index", *some(rng, ["--force"], 0.3), *json, "TRACE"], "json" if json else "text"


def check_trace(rng, _):
    json = some(rng, ["--json"], 0.3)
    return ["check-trace", *json, "TRACE"], "json" if json else "text"


def reconcile(rng, source):
    if source.kind != "dir" and rng.random() < 0.8: # which have no accounts
        return stats(rng, source)
    json = some(rng, ["--json"])
    return ["delays", "reconcile", *some(rng, ["--threads"]), *counts(rng, "--top"),
            *json, "TRACE"], "json" if json else "text"


def delays(rng, source):
    json = some(rng, ["--json"])
    which = [["--all"], ["--all", "--threads"], ["--all", "advise"], ["--comm", comm(rng, source)], [tid(rng, source)]]
    return ["delays", *rng.choice(which), *some(rng, ["--sort", rng.choice(DELAY_SORTS)], 0.3), *counts(rng, "--top"), *json, "TRACE"], \
        "json" if json else "text"


def hot(rng, _):
    json = some(rng, ["--json"])
    return ["hot", *some(rng, ["--waits"], 0.3), *some(rng, ["--of-verdict"], 0.3), *window(rng), *some(
        rng, ["--by", rng.choice(["function", "line", "module", "process", "thread"])], 0.4), *counts(rng, "--top"), *json,
            "TRACE"], "json" if json else "text"


def recover(rng, _):
    return ["recover", "-o", "OUT", "TRACE"], "trace"


def recover_dead(_, __):
    return ["recover", "-o", "OUT", str(sources.DEAD)], "recovered"


def compare(rng, _):
    json = some(rng, ["--json"])
    return ["delays", "compare", *json, "TRACE", "OTHER"], "json" if json else "text"


def model_draw(rng, _):
    return rng.choice([(["model", "draw", "TRACE"], "svg"), (["model", "check", "TRACE"], "text"),
                       (["model", "draw", "TRACE", "GOOD"], "svg"), (["model", "--dot", "draw", "TRACE"], "text")])


def model_check(rng, _):
    json = some(rng, ["--json"])
    return rng.choice([(["check", *some(rng, ["--no-why"]), *json, "TRACE", "GOOD"], "json" if json else "text"),
                       (["check", "--junit", "OUT", "TRACE", "GOOD"], "xml")])


OF_TRACES = [(info, 3), (list_, 5), (stats, 4), (why, 6), (states, 2), (breakdown, 2), (locks, 1), (check, 2), (junit, 1), (learn, 2),
             (model, 1), (cut, 3), (export, 5), (index, 1), (check_trace, 3), (reconcile, 1), (delays, 1), (hot, 1)]
OF_OTHERS = {"model": [(model_draw, 2), (model_check, 3)], "saved": [(compare, 1)], "ctf": [*OF_TRACES, (recover, 2)],
             "control": [(recover_dead, 10), (recover, 4), (info, 1), (list_, 1)], "user": [*OF_TRACES, (recover, 12), (locks, 6)]}


def draw(rng, source):
    table = OF_OTHERS.get(source.kind, OF_TRACES)
    return rng.choices([row[0] for row in table], [row[1] for row in table])[0](rng, source)
