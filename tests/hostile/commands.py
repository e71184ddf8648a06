"""What the tests of hostile traces share: every command over a trace, bounded in memory and time.

The program is $HOLDUP, or in build/. A command is a list of words, in which TRACE is the trace, MODEL
a model for it, TID a thread of it, and OUT a new place to write to.
"""
import os
import resource
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
HOLDUP = os.path.realpath(os.environ.get("HOLDUP") or os.path.join(ROOT, "build/holdup"))
SEEDS = os.path.join(ROOT, "tests/fuzz/seeds")

MODEL = """model: any
key: thread
initial: out
states:
  out:
    transitions:
      - event: sched_waking
        to: in
  in:
    transitions:
      - event: sched_switch
        to: out
        check:
          - deadline: 1ns
"""

# (words, what stdout or OUT is)
COMMANDS = [
    ("info TRACE", "text"),
    ("info --all --json TRACE", "json"),
    ("index --force TRACE", "text"),
    ("index --force --json TRACE", "json"),
    ("check-trace TRACE", "text"),
    ("check-trace --json TRACE", "json"),
    ("list --state TRACE", "text"),
    ("list --json TRACE", "json"),
    ("list --fields time,wall,cpu,tid,comm,event,system,place,text,state TRACE", "text"),
    ("list --count-by event,comm,system,text TRACE", "text"),
    ("list --count-by time,tid,cpu --json TRACE", "json"),
    ("list --last 5 --place TRACE", "text"),
    ("list --follow TID --children TRACE", "text"),
    ("stats TRACE", "text"),
    ("stats --ps --events TRACE", "text"),
    ("stats --ps --by comm TRACE", "text"),
    ("stats --ps --events --json TRACE", "json"),
    ("stats --by cgroup --sort waiting TRACE", "text"),
    ("why --tid TID --all TRACE", "text"),
    ("why --tid TID --json TRACE", "json"),
    ("why --pid TID --threads TRACE", "text"),
    ("why --tid TID --class all TRACE", "text"),
    ("view --save OUT TRACE", "text"),
    ("view --svg OUT TRACE", "text"),
    ("breakdown TID TRACE", "text"),
    ("breakdown --json TID TRACE", "json"),
    ("states TID TRACE", "text"),
    ("states --json TID TRACE", "json"),
    ("hot TRACE", "text"),
    ("hot --json --waits TRACE", "json"),
    ("locks TRACE", "text"),
    ("locks --json TRACE", "json"),
    ("delays TRACE", "text"),
    ("delays --json --threads TRACE", "json"),
    ("delays reconcile TRACE", "text"),
    ("check --json --junit OUT MODEL TRACE", "xml"),
    ("check MODEL TRACE", "text"),
    ("learn --from-events sched_waking,sched_switch TRACE", "text"),
    ("learn --from-events * --key comm TRACE", "text"),
    ("model draw MODEL TRACE", "svg"),
    ("model draw --dot MODEL TRACE", "text"),
    ("cut --dir OUT TRACE", "text"),
    ("export --format perfetto -o OUT TRACE", "binary"),
    ("export --format chrome TRACE", "json"),
    ("export --format folded --measure wall TRACE", "text"),
    ("export --format csv -o OUT TRACE", "csv"),
    ("export --format jsonl --what events TRACE", "json"),
    ("export --format jsonl --what intervals TRACE", "json"),
    ("export --format jsonl --what edges TRACE", "json"),
    ("export --format jsonl --what waits TRACE", "json"),
    ("export --format ctf -o OUT TRACE", "text"),
]


class Done:
    """How a run ended: status (negative: a signal), out, err, seconds (of CPUs), peak_kib."""

    def __init__(self, words):
        self.words = words


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limited(memory):
    """None where there is no limit: a process is begun much cheaper then."""
    return (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))) if memory else None


def run(words, memory=0, seconds=60, env=None, most=-1):
    """Run holdup. What takes longer is killed: status is then -SIGKILL. 'most' bytes of output are kept."""
    done = Done(words)
    # Meson fills memory that is not used yet: a peak would then be what was asked for.
    env = {name: value for name, value in (env or os.environ).items() if name != "MALLOC_PERTURB_"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([HOLDUP, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   preexec_fn=_limited(memory), env=env)
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = done.status = os.waitstatus_to_exitcode(status)
        done.peak_kib = usage.ru_maxrss
        done.seconds = usage.ru_utime + usage.ru_stime
        done.out_bytes = out.seek(0, os.SEEK_END)
        out.seek(0)
        err.seek(0)
        done.out, done.err = out.read(most), err.read(most)
    return done


def words_of(command, trace, model, tid, out):
    places = {"TRACE": trace, "MODEL": model, "TID": str(tid), "OUT": out}
    return [places.get(word, word) for word in command.split()]


def text_line(comm, tid, cpu, time_us, event, text, flags="d..2."):
    """One event as the kernel's trace file has it; the parts are bytes."""
    return b"%16s-%-7d [%03d] %s %d.%06d: %s: %s\n" % (
        comm, tid, cpu, flags.encode(), time_us // 1000000, time_us % 1000000, event, text)


class Tap:
    def __init__(self):
        self.count = 0
        self.bad = 0

    def check(self, name, problems):
        self.count += 1
        self.bad += bool(problems)
        for problem in list(problems)[:12]:
            print("# " + problem)
        print("%sok %d - %s" % ("not " if problems else "", self.count, name), flush=True)

    def end(self):
        print("1..%d" % self.count)
        sys.exit(1 if self.bad else 0)
