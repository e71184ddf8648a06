#!/usr/bin/env python3
"""Whatever is wrong outside: no crash, a clear error in one line, the documented exit status."""
import glob
import os
import random
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

DAMAGES = int(os.environ.get("DAMAGES", "120"))
NOBODY = 65534
COULD_NOT = 3
USAGE = 2


def clear(done, status):
    """An error of ours in one line, and that exit status; wrong usage may show how to do it."""
    if done.returncode != status:
        return False
    return kernel.clear_error(done, 50 if status == USAGE else 1)


def expect(tap, name, done, status):
    tap.ok(clear(done, status), "%s: %s" % (name, done.stderr.strip().split("\n")[0][:90]),
           "exit status %d, not %d" % (done.returncode, status), done.stdout[-500:], done.stderr)


def check_usage(tap):
    wrong = [
        ["no-such-command"], ["why", "--no-such-option"], ["why", "--pid", "x"],
        ["why", "--depth", "-1"], ["record", "-d", "soon"], ["record", "-b", "much"],
        ["record", "-p", "0"], ["record", "true"], ["record", "-o"], ["why", "a", "b"],
    ]
    for args in wrong:
        expect(tap, "wrong usage, '%s'" % " ".join(args), kernel.holdup(*args), USAGE)


def check_unknown(tap, trace):
    expect(tap, "no such trace", kernel.holdup("why", "no-such-trace"), COULD_NOT)
    expect(tap, "a pid that was not there", kernel.holdup("why", "--pid", 4194300, trace), COULD_NOT)
    expect(tap, "a name that was not there",
           kernel.holdup("why", "--comm", "no-such-comm", trace), COULD_NOT)
    expect(tap, "a window outside", kernel.holdup("why", "--from", "+1000000s", trace), COULD_NOT)
    expect(tap, "recording a pid that is not there",
           kernel.holdup("record", "-o", "x", "-p", 4194300), COULD_NOT)
    expect(tap, "an event that does not exist",
           kernel.holdup("record", "-o", "x", "-e", "no_such_event", "-d", "0.1"), COULD_NOT)
    expect(tap, "a folder that cannot be made",
           kernel.holdup("record", "-o", "/proc/x/y", "-d", "0.1"), COULD_NOT)
    expect(tap, "a report that cannot be written",
           kernel.holdup("why", "--output", "/proc/x/y", trace), COULD_NOT)


def check_few_descriptors(tap):
    """What cannot be opened for want of descriptors is not told to be missing in the kernel."""
    said = []
    for limit in (4, 5, 6, 7, 8, 12, 16):
        done = kernel.holdup("record", "-o", "few", "--", "true",
                             preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
        said.append((limit, done.returncode, done.stderr.strip()))
    tap.ok(all(status == COULD_NOT and "Too many open files" in text for _, status, text in said),
           "too few descriptors are told as such", said)


def check_status(tap):
    """record and why pass the exit status of the command on, and what a shell says of one that is none."""
    for command, status in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137),
                            (["/no/such/command"], 127), (["/etc/passwd"], 126)):
        done = kernel.holdup("record", "-o", "status.holdup", "--", *command)
        tap.ok(done.returncode == status, "record -- %s gives %d" % (" ".join(command), status),
               done.returncode, done.stderr)
        report, done = kernel.why("--", *command)
        if status in (126, 127):
            expect(tap, "why -- %s" % command[0], done, status)
        else:
            tap.ok(done.returncode == status and report and not kernel.bad_sums(report),
                   "why -- %s is explained" % " ".join(command), done.returncode, done.stderr)


def check_foreign_folder(tap):
    """A folder with somebody's files is never written into, nor removed."""
    os.mkdir("precious")
    with open("precious/letter", "w") as file:
        file.write("dear reader")
    expect(tap, "a folder with other files",
           kernel.holdup("record", "-o", "precious", "-d", "0.1"), COULD_NOT)
    tap.ok(os.listdir("precious") == ["letter"], "it is as it was", os.listdir("precious"))


def check_nobody(tap):
    os.chmod(".", 0o755)
    shutil.copy(kernel.HOLDUP, "program")
    os.chmod("program", 0o755)
    os.mkdir("theirs")
    os.chown("theirs", NOBODY, NOBODY)
    for args, status in ((["record", "-o", "theirs/x", "-d", "0.1"], COULD_NOT), (["why", "--", "sleep", "0.5"], 0)):
        done = subprocess.run(["./program", *args], user=NOBODY, group=NOBODY, extra_groups=[],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=60, stdin=subprocess.DEVNULL)
        expect(tap, "nobody: " + args[0], done, status)
    done = subprocess.run(["./program", "doctor"], user=NOBODY, group=NOBODY, extra_groups=[],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    tap.ok(done.returncode == COULD_NOT and done.stdout.strip(), "nobody: doctor says what is missing",
           done.returncode, done.stdout, done.stderr)


def check_no_tracefs(tap):
    """Without tracefs, and without the right to mount it."""
    script = ("umount -l /sys/kernel/tracing; umount -l /sys/kernel/debug/tracing; "
              "umount -l /sys/kernel/debug; exec \"$@\"")
    base = ["unshare", "-m", "sh", "-c", script + " 2>/dev/null", "sh"]
    drop = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", "--"]
    if not shutil.which("unshare") or not shutil.which("setpriv"):
        tap.skipped("no tracefs", "unshare or setpriv is not installed")
        return
    base[4] = script.replace("; exec", " 2>/dev/null; exec")
    done = subprocess.run(base + drop + [kernel.HOLDUP, "record", "-o", "x", "-d", "0.1"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    done.stderr = "\n".join(line for line in done.stderr.split("\n")
                            if not line.startswith("umount:"))
    expect(tap, "no tracefs", done, COULD_NOT)


def check_full_disk(tap, size):
    os.makedirs("small", exist_ok=True)
    before = kernel.instances()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs", "small"]).returncode != 0:
        tap.skipped("full disk", "cannot mount a tmpfs")
        return
    try:
        done = kernel.holdup("record", "-e", "full", "-o", "small/x", "--", "dd", "if=/dev/zero",
                             "of=/dev/null", "bs=1", "count=1000000", "status=none")
        lines = done.stderr.strip().split("\n")
        tap.ok(done.returncode in (0, COULD_NOT) and "No space left" in done.stderr,
               "full disk, %s: %s" % (size, lines[0][:80]), done.returncode, done.stderr)
        tap.ok("no events lost" not in done.stderr or "not recorded: everything" not in done.stderr,
               "full disk, %s: the summary says that the end is lost" % size, done.stderr)
        report, done = kernel.why("small/x")
        tap.ok((done.returncode == 0 and not kernel.bad_sums(report)) or clear(done, COULD_NOT),
               "full disk, %s: what was written opens or is refused" % size, done.returncode, done.stderr)
    finally:
        subprocess.run(["umount", "small"], check=True)
    left = {name for name in kernel.instances() - before if kernel.is_stale(name)}
    tap.ok(not left, "full disk, " + size + ": no instance is left", left)


def check_failed_splice(tap):
    """The disk fails: what the summary says is what check-trace finds."""
    if not shutil.which("strace"):
        tap.skipped("a failing disk", "strace is not installed")
        return
    done = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=splice:error=EIO:when=2+",
                           kernel.HOLDUP, "record", "-e", "full", "-o", "failing", "--", "sleep", "0.2"],
                          capture_output=True, text=True, timeout=120, check=False)
    tap.ok("no events lost" not in done.stderr and "Input/output error" in done.stderr,
           "a failing disk: the summary says that the end is lost", done.returncode, done.stderr)
    done = kernel.holdup("check-trace", "failing")
    tap.ok(done.returncode == 1 and "not complete" in done.stdout, "a failing disk: the trace is not called whole",
           done.returncode, done.stdout, done.stderr)


def damage(folder, rng):
    """Do one bad thing to one file of a trace. Returns what, in words."""
    files = sorted(path for path in glob.glob(folder + "/**", recursive=True)
                   if os.path.isfile(path))
    path = rng.choice(files)
    size = os.path.getsize(path)
    name = os.path.relpath(path, folder)
    what = rng.choice(["empty", "cut", "flip", "flip", "flip", "zero", "gone", "random"])
    if what == "gone":
        os.unlink(path)
        return name + " is gone"
    if what == "empty" or size == 0:
        os.truncate(path, 0)
        return name + " is empty"
    if what == "cut":
        end = rng.randrange(size)
        os.truncate(path, end)
        return "%s is cut at %d" % (name, end)
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        at = rng.choice([rng.randrange(size), rng.randrange(min(size, 64))])
        if what == "flip":
            for _ in range(rng.choice([1, 1, 4, 64])):
                data[at] ^= 1 << rng.randrange(8)
                at = rng.randrange(size)
        else:
            length = min(size - at, rng.choice([1, 8, 100, 4096]))
            data[at:at + length] = bytes(length) if what == "zero" else rng.randbytes(length)
        file.seek(0)
        file.write(data)
    return "%s: %s near %d" % (name, what, at)


def check_damaged(tap, trace):
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    rng = random.Random(seed)
    kernel.note("SEED=%d" % seed)
    opened = 0
    for number in range(DAMAGES):
        shutil.rmtree("damaged", ignore_errors=True)
        shutil.copytree(trace, "damaged")
        what = damage("damaged", rng)
        try:
            report, done = kernel.why("--all", "damaged", timeout=30)
        except subprocess.TimeoutExpired:
            tap.ok(False, "damaged: " + what, "it hangs")
            continue
        opened += done.returncode == 0
        if done.returncode == 0:
            tap.ok(report is not None and not kernel.bad_sums(report), "damaged, opens: " + what,
                   report and kernel.bad_sums(report), done.stderr)
        else:
            tap.ok(clear(done, COULD_NOT), "damaged, refused: " + what, done.returncode, done.stderr)
    shutil.rmtree("damaged", ignore_errors=True)
    kernel.note("%d of %d damaged traces opened" % (opened, DAMAGES))
    os.mkdir("empty")
    expect(tap, "an empty folder", kernel.holdup("why", "empty"), COULD_NOT)
    expect(tap, "a file", kernel.holdup("why", "/etc/passwd"), COULD_NOT)


def main():
    kernel.need()
    tap = kernel.Tap()
    example = os.path.join(kernel.EXAMPLES, "slow-writer")
    done = kernel.holdup("record", "-o", "good", "--", example, "--scale", "0.1", "--truth", "t")
    if not tap.ok(done.returncode == 0, "a good trace is recorded", done.stderr):
        tap.end()
    check_usage(tap)
    check_unknown(tap, "good")
    check_few_descriptors(tap)
    check_status(tap)
    check_foreign_folder(tap)
    check_nobody(tap)
    check_no_tracefs(tap)
    check_full_disk(tap, "1m")
    check_full_disk(tap, "24m")
    check_failed_splice(tap)
    check_damaged(tap, "good")
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
