#!/usr/bin/env python3
"""pager.py - a report on a terminal goes through a pager, whose end, lack or lies change no answer.

The program runs in a pseudo terminal over a text trace. Pagers are shell lines that say who they are and
what they were given. As root also under what sudo sets: the pager is the user's. Prints TAP.
"""
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "kernel", "lib"), HERE]  # both have a terminal.py
import commands  # noqa: E402
import terminal  # noqa: E402

NOBODY = 65534
LINES = 400
WHO = ("echo pager $(id -u) $(grep -c 'CapEff:.*0000000000000000' /proc/self/status) $(ls -m /proc/self/fd); "
       "head -n 2; echo END")
SHELL = {"HOLDUP_PAGER": "echo PAGED; cat"}


def make_trace():
    switch = b"prev_comm=a prev_pid=%d prev_prio=120 prev_state=S ==> next_comm=b next_pid=%d next_prio=120"
    with open("trace.txt", "wb") as out:
        for i in range(LINES):
            out.write(commands.text_line(b"a", 7 + i % 2, 0, 1000 * i, b"sched_switch",
                                         switch % (7 + i % 2, 8 - i % 2)))
    with open("model.yaml", "w", encoding="ascii") as out:
        out.write(commands.MODEL.replace("1ns", "1s").replace("sched_waking", "prev_pid"))


def shown(words, env=None, before=(), keys=(), number=0, rows=24):
    """Run it in a terminal. Returns the lines at the end, its status, whether the terminal is as before."""
    cleared = {name: None for name in ("HOLDUP_PAGER", "PAGER", "LESS", "SUDO_UID", "SUDO_GID")}
    for name in cleared:
        os.environ.pop(name, None)
    run = terminal.Terminal([commands.HOLDUP, *before, *words], rows=rows, env=env)
    try:
        if keys or number:
            run.shows("prev_pid")
        for key in keys:
            run.settle(0.3)
            run.send(key)
        if number:
            run.kill(number)
            run.settle(0.3)
            run.send("q")
        status = run.wait(20)
        return "\n".join(run.screen.text()), status, run.is_restored()
    finally:
        run.close()


def check(tap, name, found, wanted, status=0, without=()):
    text, got, restored = found
    problems = ["%r is missing" % part for part in wanted if part not in text]
    problems += ["%r is there" % part for part in without if part in text]
    problems += [] if got == status else ["status %s, not %s" % (got, status)]
    problems += [] if restored else ["the terminal is not as before"]
    tap.check(name, problems + ([text] if problems else []))


def who_is_asked(tap):
    words = ["list", "-n", "3", "trace.txt"]
    check(tap, "HOLDUP_PAGER comes before PAGER", shown(words, {**SHELL, "PAGER": "echo OTHER"}),
          ["PAGED"], 0, ["OTHER"])
    check(tap, "then PAGER", shown(words, {"PAGER": "echo OTHER; cat"}), ["OTHER", "prev_pid"])
    check(tap, "an empty one is none", shown(words, {"HOLDUP_PAGER": "", "PAGER": "echo OTHER"}),
          ["prev_pid"], 0, ["OTHER"])
    check(tap, "--no-pager", shown(words, SHELL, before=["--no-pager"]), ["prev_pid"], 0, ["PAGED"])
    check(tap, "--no-pager behind the command is told where it stands", shown([*words, "--no-pager"], SHELL),
          ["--no-pager comes first: holdup --no-pager COMMAND"], 2, ["PAGED"])
    done = subprocess.run([commands.HOLDUP, *words], stdout=subprocess.PIPE, check=False, env={**os.environ, **SHELL})
    tap.check("what is no terminal has no pager", ["PAGED"] if b"PAGED" in done.stdout else [])
    for line in (["why", "nowhere"], ["why", "--nothing"], ["export", "--format", "jsonl", "trace.txt"], ["help"]):
        check(tap, "%s starts none" % " ".join(line[:2]), shown(line, SHELL), [],
              {"nowhere": 3, "--nothing": 2}.get(line[-1], 0), ["PAGED"])


def how_it_ends(tap):
    words = ["list", "trace.txt"]
    check(tap, "a pager that ends early costs nothing", shown(words, {"PAGER": "head -n 1; echo END"}), ["END"])
    check(tap, "one that reads nothing, too", shown(words, {"PAGER": "echo END"}), ["END"])
    check(tap, "one that fails, too", shown(words, {"PAGER": "cat >/dev/null; exit 3"}), [])
    check(tap, "one that is not there is named", shown(words, {"PAGER": "no-such-pager"}),
          ["the pager \"no-such-pager\" cannot run"])
    check(tap, "the status is that of the command",
          shown(["check", "model.yaml", "trace.txt"], {"PAGER": "cat; echo END"}, rows=60), ["END"],
          commands.run(["check", "model.yaml", "trace.txt"]).status)
    if not shutil.which("less"):
        return
    check(tap, "less is left with q", shown(words, keys=["q"]), ["prev_pid"])
    check(tap, "what fits the screen needs no key", shown(["list", "-n", "3", "trace.txt"]), ["prev_pid"])
    check(tap, "Ctrl-C is for less when all was printed",
          shown(["list", "-n", "40", "trace.txt"], keys=["\x03", "q"]), [])
    check(tap, "a signal ends us when less has ended", shown(words, number=signal.SIGTERM), [], -signal.SIGTERM)
    check(tap, "colours pass", shown(["why", "--tid", "7", "trace.txt"], {"PAGER": "cat -v"}, rows=60), ["^[["])


def whose_it_is(tap):
    """Under sudo, of a trace that the user may read, and of one that root alone may."""
    env = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "HOLDUP_PAGER": WHO}
    for mode in (0o644, 0o600):
        os.chmod("trace.txt", mode)
        check(tap, "under sudo it is the user's, has no rights and no descriptors, mode %o" % mode,
              shown(["list", "trace.txt"], env), ["pager %d 1 0, 1, 2, 3" % NOBODY, "prev_pid", "END"])
    check(tap, "so is that of stuck", shown(["stuck", str(os.getpid())], env), ["pager %d 1 0, 1, 2, 3" % NOBODY])


def main():
    tap = commands.Tap()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, stat.S_IRWXU | stat.S_IXGRP | stat.S_IXOTH | stat.S_IRGRP | stat.S_IROTH)
        os.chdir(folder)
        make_trace()
        who_is_asked(tap)
        how_it_ends(tap)
        if os.geteuid() == 0:
            whose_it_is(tap)
        os.chdir("/")
    tap.end()


main()
