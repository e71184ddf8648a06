#!/usr/bin/env python3
"""A recording is seen in the terminal while it is made, and then its answer; what the command prints comes behind that."""
import ctypes
import errno
import os
import re
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import viewer  # noqa: E402
import kernel  # noqa: E402  of tests/kernel/lib
import terminal  # noqa: E402

TICKS = os.path.join(kernel.PROGRAMS, "user-ticks")
COMMAND = 'echo told-by-the-command; "$1" >/dev/null & until [ -e "$0" ]; do sleep 0.2; done; kill $!; exec true'


def record(*words, rows=66, columns=110):
    return terminal.Terminal([viewer.HOLDUP, "view", "--tui", *words], rows=rows, columns=columns, env=viewer.ENV)


def answer(run):
    return run.until(lambda lines: any(re.search(r"CAUSE, [1-9]\d* of \d+$", line) for line in lines), viewer.PATIENCE)


def line_with(run, text):
    return next((line for line in run.screen.text() if text in line), "")


def ends(tap, run, name, status=0):
    tap.ok(run.wait(viewer.PATIENCE) == status and run.is_restored() and not run.screen.unknown, "%s: it ends with %d, and the terminal is as before" % (name, status),
           run.status, run.screen.unknown, *run.screen.text())


def follow(tap, folder):
    """The command waits for a file that is made once its lanes were seen: no time is in the verdict."""
    go = os.path.join(folder, "go")
    run = record("--", "sh", "-c", COMMAND, go, TICKS)
    seen = run.shows("events of user-ticks[", viewer.PATIENCE)
    lines = run.screen.text()
    tap.ok(seen and lines[0].startswith(" Recording, "), "lanes come while the command runs, of what it tells by libholdup, too", *lines)
    tap.ok(re.match(r" (sh|sleep)\[\d+\] +\S", lines[3]) and line_with(run, " CPU 0 ").strip() != "CPU 0", "the command is the first lane, and there are CPUs", *lines)
    tap.ok("told-by-the-command" not in "".join(lines) and "CAUSE" not in "".join(lines), "what it prints is kept, and there is no answer yet", *lines)
    run.resize(24, 80)
    tap.ok(run.until(lambda lines: lines[23].startswith(" q: end it"), viewer.PATIENCE), "the screen may change its size", *run.screen.text())
    first = run.screen.text()[3]
    run.send("j")
    tap.ok(run.until(lambda lines: lines[3] and lines[3].split("[")[0] != first.split("[")[0] or lines[3][:19] != first[:19], viewer.PATIENCE), "j shows lanes further down",
           first, *run.screen.text())
    with open(go, "w", encoding="utf-8"):
        pass
    tap.ok(answer(run) and re.match(r"(sh|true)\[\d+\] took", run.screen.text()[0]), "at the end the answer is there", *run.screen.text())
    run.settle()
    tap.ok(line_with(run, "LANES").startswith(" LANES  +"), "and its lanes", *run.screen.text())
    run.send("q")
    ends(tap, run, "the answer")
    tap.ok(run.raw.endswith(b"told-by-the-command\r\n"), "then what the command printed is there", run.raw[-200:])
    run.close()


def asked_to_end(tap):
    """q is Ctrl-C for the command, and the answer is that of what was recorded."""
    for key, name in (("q", "q"), ("\x03", "Ctrl-C")):
        run = record("--", "sleep", "1000")
        run.until(lambda lines: "sleep[" in lines[3], viewer.PATIENCE)
        run.send(key)
        tap.ok(answer(run) and re.match(r"sleep\[\d+\] took", run.screen.text()[0]), "%s ends the command, and shows the answer" % name, *run.screen.text())
        run.send("q")
        ends(tap, run, name)
        run.close()


def not_begun(tap):
    run = record("--", "/nonexistent/program")
    ends(tap, run, "a command that is not there", 3)
    tap.ok("cannot run /nonexistent/program" in "".join(run.screen.text()), "the reason is told", *run.screen.text())
    run.close()


def no_files_without_a_name():
    """From here on open() with O_TMPFILE fails, as on vfat: a filter of system calls says EOPNOTSUPP."""
    libc = ctypes.CDLL(None, use_errno=True)
    ld, jeq, jset, ret = 0x20, 0x15, 0x45, 0x06
    openat = {"x86_64": 257, "aarch64": 56}[os.uname().machine]
    tmpfile = os.O_TMPFILE & ~os.O_DIRECTORY
    steps = [(ld, 0, 0, 0), (jeq, 0, 3, openat), (ld, 0, 0, 32), (jset, 0, 1, tmpfile),  # the low half of the third argument
             (ret, 0, 0, 0x00050000 | errno.EOPNOTSUPP), (ret, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    if libc.prctl(22, 2, program, 0, 0) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        raise OSError(ctypes.get_errno(), "prctl")


def without_such_files(tap):
    run = terminal.Terminal([sys.executable, os.path.realpath(__file__), "--no-tmpfile", viewer.HOLDUP, "view", "--tui", "--", "echo", "told-by-the-command"],
                            rows=66, columns=110, env=viewer.ENV)
    tap.ok(answer(run), "where there are no files without a name, it shows the answer, too", *run.screen.text())
    run.send("q")
    ends(tap, run, "without such files")
    tap.ok(run.raw.endswith(b"told-by-the-command\r\n"), "and then what the command printed", run.raw[-200:])
    run.close()


def main():
    if sys.argv[1:2] == ["--no-tmpfile"]:
        no_files_without_a_name()
        os.execv(sys.argv[2], sys.argv[2:])
    if os.environ.get("HOLDUP_SANITIZED"):
        viewer.skip_all("a sanitizer's allocator may be locked for ever in a child of a process with threads")
    if os.geteuid() != 0 or not os.path.isdir("/sys/kernel/tracing/events"):
        viewer.skip_all("needs root and tracefs")
    tap = viewer.Tap()
    with tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
        follow(tap, folder)
    asked_to_end(tap)
    not_begun(tap)
    without_such_files(tap)
    tap.end()


main()
