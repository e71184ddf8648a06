"""A recording made by hand, as three readers see it: holdup, the kernel's own text, trace-cmd.

	with rawtrace.recorded(["sched", "irq"], load) as trace:
	    trace.folder       a trace directory for holdup
	    trace.text         the kernel's text of the same events, a list of lines
	    trace.trace_dat()  the same pages for trace-cmd; None when it cannot
"""
import contextlib
import glob
import json
import os
import platform
import shutil
import subprocess
import tempfile
import time

import kernel

PAGE = 4096
CPUS = os.cpu_count()

# Never on: they print for seconds, or trace the tracing itself.
LEFT_OUT = {"rcu:rcu_utilization"}


def _write(path, text):
    with open(path, "w") as file:
        file.write(text)


def _read(path):
    with open(path, errors="surrogateescape") as file:
        return file.read()


class Trace:
    def __init__(self, instance, folder):
        self.instance = instance
        self.folder = folder
        self.text = []
        self.rings = []

    def _events(self):
        """SYSTEM/EVENT of all that are on, and what the tracer itself writes."""
        names = []
        for path in sorted(glob.glob(self.instance + "/events/*/*/enable")):
            system, event = path.split("/")[-3:-1]
            if _read(path).startswith("1"):
                names.append(system + "/" + event)
        return names

    def _pages(self, cpu):
        """The pages of a CPU, taken out of the ring."""
        path = "%s/kernel/cpu%d.ring" % (self.folder, cpu)
        fd = os.open("%s/per_cpu/cpu%d/trace_pipe_raw" % (self.instance, cpu),
                     os.O_RDONLY | os.O_NONBLOCK)
        with open(path, "wb") as out:
            while True:
                try:
                    page = os.read(fd, PAGE)
                except BlockingIOError:
                    break
                if not page:
                    break
                out.write(page.ljust(PAGE, b"\0"))
        os.close(fd)
        return path

    def _formats(self, names):
        with open(self.folder + "/kernel/formats", "wb") as out:
            for name in ["header_page"] + names:
                path = kernel.TRACEFS + "/events/" + name
                path += "" if name == "header_page" else "/format"
                with open(path, "rb") as file:
                    text = file.read()
                out.write(b"=== %s %d\n" % (name.encode(), len(text)) + text + b"\n")

    def save(self, begin_ns):
        """What the instance holds, as a trace directory."""
        names = self._events()
        extra = [name for name in ("ftrace/print", "ftrace/kernel_stack", "ftrace/user_stack")
                 if os.path.exists(kernel.TRACEFS + "/events/" + name + "/format")]
        os.makedirs(self.folder + "/kernel")
        self.rings = [self._pages(cpu) for cpu in range(CPUS)]
        self._formats(names + extra)
        with open("/proc/kallsyms") as symbols, open(self.folder + "/kernel/kallsyms", "w") as out:
            for line in symbols:
                address, _, name = line.split(None, 2)
                out.write("%s %s" % (address, name))
        end_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        offset = time.time_ns() - end_ns
        _write(self.folder + "/kernel/sync", "".join(
            "%d %d %d\n" % (at, at, at + offset) for at in (begin_ns, end_ns)))
        _write(self.folder + "/kernel/dump.jsonl", "")
        _write(self.folder + "/trace.json", json.dumps({
            "version": 1, "complete": True, "host": "test", "kernel": platform.release(),
            "arch": platform.machine(), "boot_id": "", "recorder": "", "clock": "mono",
            "page_bytes": PAGE, "long_bytes": 8, "buffer_bytes": 1 << 20, "begin_ns": begin_ns,
            "end_ns": end_ns, "has_syscalls": True,
            "cpus": [{"cpu": cpu, "events": 0, "lost": 0, "dropped": 0,
                      "bytes": os.path.getsize(path)} for cpu, path in enumerate(self.rings)],
            "events": [name.replace("/", ":") for name in names]}))

    def trace_dat(self):
        """The same pages for trace-cmd. None when it cannot put them together."""
        head, whole = self.folder + "/head.dat", self.folder + "/trace.dat"
        if not shutil.which("trace-cmd"):
            return None
        for args in (["-c", "-o", head], ["-i", head, "-o", whole] + self.rings):
            done = subprocess.run(["trace-cmd", "restore"] + args, capture_output=True, check=False)
            if done.returncode != 0:
                return None
        return whole if os.path.exists(whole) else None


def _turn_on(instance, events):
    """Turn events on ("sched", "irq/softirq_entry", "*"); those that cannot be are left out."""
    for name in events:
        try:
            if name == "*":
                _write(instance + "/events/enable", "1")
            else:
                _write("%s/events/%s/enable" % (instance, name), "1")
        except OSError:
            pass
    for name in LEFT_OUT:
        with contextlib.suppress(OSError):
            _write("%s/events/%s/enable" % (instance, name.replace(":", "/")), "0")


@contextlib.contextmanager
def recorded(events, load, kilobytes=16384, with_text=True, where=None):
    """Record 'events' in an instance of its own while load() runs."""
    instance = "%s/instances/holdup-test-%d" % (kernel.TRACEFS, os.getpid())
    os.mkdir(instance)
    folder = tempfile.mkdtemp(prefix="holdup-raw-", dir=where or "/var/tmp")
    trace = Trace(instance, folder + "/trace.holdup")
    try:
        _write(instance + "/tracing_on", "0")
        _write(instance + "/buffer_size_kb", str(kilobytes))
        _write(instance + "/trace_clock", "mono")
        for option, value in (("overwrite", "0"), ("hash-ptr", "0"), ("record-cmd", "0")):
            with contextlib.suppress(OSError):
                _write("%s/options/%s" % (instance, option), value)
        _turn_on(instance, events)
        begin_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        _write(instance + "/tracing_on", "1")
        load()
        _write(instance + "/tracing_on", "0")
        if with_text:
            trace.text = _read(instance + "/trace").splitlines()
        trace.save(begin_ns)
        _write(instance + "/events/enable", "0")
        yield trace
    finally:
        with contextlib.suppress(OSError):
            _write(instance + "/events/enable", "0")
        for _ in range(50):
            try:
                os.rmdir(instance)
                break
            except OSError:
                time.sleep(0.05)
        shutil.rmtree(folder, ignore_errors=True)
