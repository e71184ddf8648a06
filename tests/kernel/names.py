#!/usr/bin/env python3
"""names.py - a trace without names gets those that it would have had, and never a name of another file."""
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

PLANTED = r"""
#include <time.h>
#include <unistd.h>
#define INSIDE static inline __attribute__((always_inline)) void
#define OUTSIDE __attribute__((noinline)) void
static volatile unsigned long sink;
INSIDE planted_innermost(int us) { usleep(us); __asm__ volatile(""); }
INSIDE planted_inline(int us) { planted_innermost(us); __asm__ volatile(""); }
OUTSIDE planted_wait(int us) { planted_inline(us); __asm__ volatile(""); }
INSIDE planted_loop(void) { for (int i = 0; i < 40000000; i++) sink += i; }
OUTSIDE planted_work(void) { planted_loop(); __asm__ volatile(""); }
int main(void)
{
	for (int i = 0; i < 4; i++) planted_wait(20000 + OTHER);
	planted_work();
	return 0;
}
"""
STACKS = "kernel/stacks"
FUNCTION, MODULE, PATH, BUILD_ID = 4, 6, 7, 8


def build(name, *flags):
    with open(name + ".c", "w") as file:
        file.write(PLANTED)
    subprocess.run(["gcc", "-g", "-O1", *(flags or ["-DOTHER=0"]), "-o", name, name + ".c"], check=True)
    return os.path.realpath(name)


def holdup(*argv, prefix=(), **env):
    done = subprocess.run([*prefix, kernel.HOLDUP, *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False, timeout=300, env={**os.environ, **env})
    return done.returncode, done.stdout


def record(out, program, *options):
    code, said = holdup("record", *options, "-o", out, "--", program)
    if code:
        raise RuntimeError("recording failed: " + said)


def read(trace):
    with open(os.path.join(trace, STACKS), "rb") as file:
        return file.read()


def frames(trace):
    return [line.split("\t") for line in read(trace).decode().splitlines() if line.startswith("F\t")]


def groups(trace, path):
    """What is known of each address of a file: flags, line, function, signature and source of its frames."""
    found = {}
    for part in frames(trace):
        if part[PATH] == path:
            found.setdefault(part[2], []).append([part[1], part[3], part[4], part[5], part[9]])
    return found


def unnamed(trace, path):
    return [part for part in frames(trace) if part[PATH] == path and "u" in part[1]]


def text_of(command, trace):
    return holdup(command, trace)[1]


def later(tap):
    """The names that come later are those that come at once."""
    path = build("planted")
    record("at-once.holdup", path)
    record("later.holdup", path, "--no-names")
    left = unnamed("later.holdup", path)
    tap.ok(left and not any(part[FUNCTION] for part in left) and all(part[BUILD_ID] for part in left),
           "frames of files have no names and their build-id", left)
    tap.ok(not [part for part in frames("later.holdup") if "u" in part[1] and part[MODULE].startswith("libc.so")],
           "the C library has its names at once")
    said = text_of("why", "later.holdup")
    tap.ok("planted+0x" in said and "planted_inline" not in said and "holdup names TRACE" in said,
           "why tells offsets, and that names can be added", said)
    missing = json.loads(holdup("hot", "--json", "later.holdup")[1])["missing"]
    tap.ok([item for item in missing if item["what"].startswith("names of ") and "holdup names" in item["why"]], "so does JSON", missing)
    before = os.stat(os.path.join("later.holdup", STACKS))
    os.chmod(os.path.join("later.holdup", STACKS), 0o640)
    code, said = holdup("names", "later.holdup")
    after = os.stat(os.path.join("later.holdup", STACKS))
    tap.ok(code == 0 and said.startswith("Named "), "names are added", code, said)
    tap.ok((after.st_mode & 0o777, after.st_uid, after.st_gid) == (0o640, before.st_uid, before.st_gid) and
           not os.path.exists("later.holdup/kernel/stacks.new"), "mode and owner stay", after)
    ours, theirs = groups("later.holdup", path), groups("at-once.holdup", path)
    both = set(ours) & set(theirs)
    functions = {part[2] for key in both for part in ours[key]}
    tap.ok({"planted_innermost", "planted_inline", "planted_wait", "main"} <= functions, "planted functions are among them", functions)
    tap.ok(all(ours[key] == theirs[key] for key in both), "each address has the frames that it has when it is named at once",
           *[(key, ours[key], theirs[key]) for key in both if ours[key] != theirs[key]])
    said = text_of("why", "later.holdup")
    tap.ok("planted_innermost (planted.c:" in said and "planted+0x" not in said, "why tells functions, also of a trace that it knew before", said)
    tap.ok("planted_loop" in text_of("hot", "later.holdup"), "so does hot")
    before = read("later.holdup")
    code, said = holdup("names", "later.holdup")
    tap.ok(code == 0 and read("later.holdup") == before, "once more changes nothing", said)


def other_build(tap):
    """A file that was replaced tells nothing."""
    path = build("replaced")
    record("replaced.holdup", path, "--no-names")
    before = len(unnamed("replaced.holdup", path))
    build("replaced", "-DOTHER=1")
    said = holdup("names", "replaced.holdup")[1]
    tap.ok(path + ": %d frame" % before in said and "another build" in said, "another build is told", said)
    tap.ok(len(unnamed("replaced.holdup", path)) == before, "and names nothing")
    report = json.loads(holdup("names", "--json", "replaced.holdup")[1])
    told = [(file["state"], file["wanted"], file["named"]) for file in report["files"] if file["path"] == path]
    tap.ok(told == [("other_build", before, 0)] and sum(file["wanted"] for file in report["files"]) == report["wanted"], "JSON says the same",
           report)
    os.unlink(path)
    os.mkfifo(path)
    said = holdup("names", "replaced.holdup")[1]
    tap.ok("not a regular file" in said, "a pipe in its place is not opened", said)
    os.unlink(path)
    said = holdup("names", "replaced.holdup")[1]
    tap.ok(path + ": %d frame" % before in said and "No such file" in said, "a missing file is told", said)
    path = build("gone")
    with open("gone.sh", "w") as file:
        file.write("#!/bin/sh\n%s; sleep 0.3; rm %s\n" % (path, path))
    os.chmod("gone.sh", 0o755)
    record("gone.holdup", "./gone.sh", "--no-names")
    found = {part[FUNCTION] for part in frames("gone.holdup") if part[MODULE] == "gone"}
    tap.ok("planted_innermost" in found, "what is gone at the end of a recording is named at once", found)


def of_a_user(tap):
    """Under sudo the trace is the user's: what that user may not read is named at once."""
    os.chmod(".", 0o711)
    os.mkdir("closed", 0o700)
    os.mkdir("theirs")
    os.chown("theirs", 65534, 65534)
    shutil.copy(build("readable"), "closed/hidden")
    with open("both.sh", "w") as file:
        file.write("#!/bin/sh\n%s/readable\n%s/closed/hidden\n" % (os.getcwd(), os.getcwd()))
    os.chmod("both.sh", 0o755)
    user = {"SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"}
    said = holdup("record", "--as-root", "--no-names", "-o", "theirs/both.holdup", "--", "./both.sh", **user)[1]
    found = {name: any(part[FUNCTION] == "planted_wait" for part in frames("theirs/both.holdup") if part[MODULE] == name)
             for name in ("hidden", "readable")}
    tap.ok(found == {"hidden": True, "readable": False}, "what the user of sudo cannot read is named at once", found, said)


def all_lines(tap):
    """Debug information that came later adds lines to names."""
    path = build("lines")
    shutil.copy(path, "lines.full")
    subprocess.run(["strip", "-g", path], check=True)
    record("lines.holdup", path)
    before = groups("lines.holdup", path)
    shutil.copy("lines.full", path)
    code, said = holdup("names", "lines.holdup")
    tap.ok(code == 0 and groups("lines.holdup", path) == before, "frames that have a name stay", said)
    code, said = holdup("names", "--all", "lines.holdup")
    functions = {part[2] for group in groups("lines.holdup", path).values() for part in group}
    tap.ok("planted_innermost" in functions and "Added lines" in said, "but for --all", functions, said)


def refused(tap):
    os.makedirs("none.holdup/kernel", exist_ok=True)
    with open("perf.data", "w") as file:
        file.write("PERFILE2")
    code, said = holdup("names", "perf.data")
    tap.ok(code == 3 and "not a trace directory of holdup" in said, "another tool's trace is refused", said)
    code, said = holdup("names", "none.holdup")
    tap.ok(code == 3 and "has no stacks" in said, "a trace without stacks is told", said)
    os.symlink(os.path.realpath("at-once.holdup/kernel/stacks"), "none.holdup/kernel/stacks")
    before = read("at-once.holdup")
    code, said = holdup("names", "--all", "none.holdup")
    tap.ok(code == 3 and read("at-once.holdup") == before and os.path.islink("none.holdup/kernel/stacks"), "a link is not followed", said)
    os.unlink("none.holdup/kernel/stacks")
    os.link("at-once.holdup/kernel/stacks", "none.holdup/kernel/stacks")
    code, said = holdup("names", "none.holdup")
    tap.ok(code == 3 and "with one name" in said, "nor a file that has another name", said)
    os.unlink("none.holdup/kernel/stacks")
    with open("at-once.holdup/kernel/stacks", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code, said = holdup("names", "at-once.holdup")
        tap.ok(code == 3 and "another holdup writes it" in said, "who writes it is not disturbed", said)


def killed(tap):
    """At any moment the trace has the old file or the new one, and a full disk leaves the old one."""
    path = build("killed")
    record("killed.holdup", path, "--no-names")
    old = read("killed.holdup")
    shutil.copytree("killed.holdup", "whole.holdup")
    begin = time.monotonic()
    holdup("names", "whole.holdup")
    took = time.monotonic() - begin
    new, found = read("whole.holdup"), []
    for i in range(12):
        process = subprocess.Popen([kernel.HOLDUP, "names", "killed.holdup"], stdout=subprocess.DEVNULL)
        time.sleep(took * (i + 1) / 12)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found.append(read("killed.holdup"))
    tap.ok(all(text in (old, new) for text in found), "a kill leaves the old stacks or the new ones")
    code, said = holdup("names", "killed.holdup")
    tap.ok(code == 0 and read("killed.holdup") == new and not os.path.exists("killed.holdup/kernel/stacks.new"),
           "and the next run ends the work", said)
    os.mkdir("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", "small"], check=True)
    try:
        os.makedirs("small/full.holdup/kernel")
        with open("small/full.holdup/" + STACKS, "wb") as file:
            file.write(old)
        subprocess.run(["mount", "-o", "remount,size=%d" % (os.stat("small/full.holdup/" + STACKS).st_blocks * 512 + 4096), "small"],
                       check=True)
        code, said = holdup("names", "small/full.holdup")
        tap.ok(code == 3 and "No space left" in said and read("small/full.holdup") == old and
               os.listdir("small/full.holdup/kernel") == ["stacks"], "a full disk leaves the old ones", code, said)
    finally:
        subprocess.run(["umount", "small"], check=True)


def network(tap):
    """Servers are asked where the user says so, and not else."""
    os.makedirs("bin", exist_ok=True)
    os.makedirs("served", exist_ok=True)
    path = build("remote")
    shutil.copy(path, "served/remote.debug")
    subprocess.run(["objcopy", "--only-keep-debug", path, "served/remote.debug"], check=True)
    subprocess.run(["strip", path], check=True)
    shutil.copy(path, "served/remote")
    record("remote.holdup", path, "--no-names")
    shutil.copytree("remote.holdup", "absent.holdup")
    with open("bin/debuginfod-find", "w") as file:
        file.write("#!/bin/sh\necho \"$@\" >>%s/asked\nenv >%s/environment\nexit 1\n" % (os.getcwd(), os.getcwd()))
    os.chmod("bin/debuginfod-find", 0o755)
    stub = {"PATH": os.path.realpath("bin") + ":" + os.environ["PATH"], "SECRET": "x"}
    url = {"DEBUGINFOD_URLS": "http://127.0.0.1:1"}
    shutil.copytree("remote.holdup", "local.holdup")
    holdup("names", "--all", "local.holdup", **stub, **url)
    tap.ok(not os.path.exists("asked"), "nobody is asked without --debuginfod")
    code, said = holdup("names", "--debuginfod", "local.holdup", **{**stub, "DEBUGINFOD_URLS": ""})
    tap.ok(code == 3 and "DEBUGINFOD_URLS is not set" in said, "servers must be named", said)
    code, said = holdup("names", "--debuginfod", "local.holdup", PATH="/nonexistent", **url)
    tap.ok(code == 3 and "package debuginfod" in said, "the package that is missing is told", said)
    code, said = holdup("names", "--debuginfod", "local.holdup", **stub, **url)
    build_id = next(part[BUILD_ID] for part in frames("local.holdup") if part[PATH] == path)
    with open("asked") as asked, open("environment") as environment:
        tap.ok("debuginfo %s\n" % build_id in asked.read(), "the build-id is asked for", said)
        given = environment.read()
        tap.ok("SECRET" not in given and "DEBUGINFOD_URLS=http" in given, "and knows nothing else of us", given)
    tap.ok("not fetched" in said, "what was not fetched is told", said)
    hostile = read("local.holdup").replace(build_id.encode(), b"--help; touch bad")
    with open("local.holdup/" + STACKS, "wb") as file:
        file.write(hostile)
    os.unlink("asked")
    code, said = holdup("names", "--debuginfod", "local.holdup", **stub, **url)
    with open("asked") as asked:
        tap.ok("--help" not in asked.read() and "build-id is none" in said, "a build-id that is none is not asked for", said)
    if not shutil.which("debuginfod") or not shutil.which("ip"):
        tap.skipped("a server", "debuginfod or ip is not installed")
        return
    server(tap, path, build_id)


def server(tap, path, build_id):
    """A network of its own, of which the loopback is all."""
    port = "8002"
    begin = "ip link set lo up && exec debuginfod -p %s -F served -d :memory:" % port
    with kernel.running("unshare", "--net", "sh", "-c", begin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        inside = ["nsenter", "--net=/proc/%d/ns/net" % process.pid]
        for _ in range(300):
            asked = [*inside, "curl", "-sf", "-o", "/dev/null", "http://127.0.0.1:%s/buildid/%s/" % (port, build_id)]
            if all(subprocess.run([*asked[:-1], asked[-1] + kind], check=False).returncode == 0 for kind in ("debuginfo", "executable")):
                break
            time.sleep(0.1)
        env = {"DEBUGINFOD_URLS": "http://127.0.0.1:" + port, "HOME": os.getcwd(), "XDG_CACHE_HOME": os.path.realpath("cache")}
        said = holdup("names", "--debuginfod", "remote.holdup", prefix=inside, **env)[1]
        functions = {part[2] for group in groups("remote.holdup", path).values() for part in group}
        tap.ok("planted_innermost" in functions, "the debug file is fetched", functions, said)
        os.unlink(path)
        said = holdup("names", "--debuginfod", "absent.holdup", prefix=inside, **env)[1]
        tap.ok(groups("absent.holdup", path) == groups("remote.holdup", path), "and the program that is not there any more", said)


def main():
    kernel.need("gcc", "strip", "objcopy")
    tap = kernel.Tap()
    for test in (later, other_build, of_a_user, all_lines, refused, killed, network):
        test(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
