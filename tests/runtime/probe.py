"""What the tests of libholdup share: running programs that log, and the reader."""
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "kernel", "lib"))
import kernel  # noqa: E402

ROOT = kernel.ROOT
PROGRAMS = os.environ.get("PROBE_PROGRAMS", os.path.join(ROOT, "build/tests/runtime"))
LIBRARY = os.environ.get("PROBE_LIBRARY", os.path.join(ROOT, "build/include"))
LONG = int(os.environ.get("PROBE_LONG", "1"))  # so many times as much
MEMORY = "/dev/shm"
METHODS = {"rseq": "1", "cas": "0"}


def environment(method, mode, folder, **more):
    env = dict(os.environ, HOLDUP_RSEQ=METHODS[method], HOLDUP="%s:%s" % (mode, folder),
               HOLDUP_RUNTIME_DIR=os.path.join(os.getcwd(), "runtime"), **more)
    env.pop("HOLDUP_EVENTS", None)
    return env


def memory(space):
    """A folder in memory with so many bytes to spare, or None."""
    if not os.path.isdir(MEMORY):
        return None
    there = os.statvfs(MEMORY)
    return MEMORY if there.f_bavail * there.f_frsize > space else None


def program(name):
    return os.path.join(PROGRAMS, name)


def run(argv, env, timeout=120):
    return subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=timeout,
                          check=False)


def trace_in(folder):
    """The only trace in a folder."""
    names = [name for name in os.listdir(folder) if not name.startswith(".")]
    return os.path.join(folder, names[0]) if len(names) == 1 else None


def number(name, text):
    """What a program said of it, as "lost 3"; -1: nothing."""
    return int((re.search(r"\b%s (\d+)" % name, text) or [0, -1])[1])


def check(*args):
    """Run the reader. Returns whether all is good, its numbers, and what it said."""
    done = run([program("probe-check"), *args], os.environ)
    numbers = dict((key, int(value)) for key, value in re.findall(r"([a-z-]+) (\d+)",
                                                                  done.stdout.split("\n")[-2]
                                                                  if done.stdout else ""))
    return done.returncode == 0, numbers, done.stdout


def babeltrace(*folders):
    """What babeltrace2 says that is wrong with these traces; "" when nothing is."""
    if not shutil.which("babeltrace2"):
        return ""
    done = run(["babeltrace2", "-o", "dummy", *folders], os.environ, timeout=600)
    return done.stdout if done.returncode else ""


def scribble(pid, seed, pattern):
    """Random bytes in the files of that name that the process has mapped. Returns how many."""
    random.seed(seed)
    with open("/proc/%d/maps" % pid) as file:
        maps = [line for line in file if re.search(pattern, line)]
    count = 0
    for line in maps:
        start, end = (int(word, 16) for word in line.split()[0].split("-"))
        try:
            with open("/proc/%d/root%s" % (pid, line.split()[-1]), "r+b", buffering=0) as file:
                for _ in range(random.randrange(1, 30)):
                    # Headers are hit as often as contents.
                    packet = random.randrange(((end - start) >> 17) or 1) << 17
                    file.seek(packet + random.choice([random.randrange(112), random.randrange(
                        min(1 << 17, end - start))]))
                    count += file.write(os.urandom(random.randrange(1, 9)))
        except OSError:
            pass
    return count
