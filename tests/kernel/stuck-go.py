#!/usr/bin/env python3
"""stuck-go.py - what goroutines wait for, in which line, and when they wait for each other alone.

One program is many cases. In each of them a handler of a signal is set, so that Go's own search for deadlocks is silent.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

TRIES = 40
WATCH_S = 3

PROGRAM = """package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

type bank struct{ a, b sync.Mutex }

var rates sync.RWMutex

//go:noinline
func transfer(from, to *sync.Mutex) {
	from.Lock()
	time.Sleep(20 * time.Millisecond)
	to.Lock() // abba
}

//go:noinline
func worker(jobs chan int) {
	<-jobs // worker
}

//go:noinline
func pause() {
	time.Sleep(20 * time.Millisecond)
}

var cases = map[string]func(heard chan os.Signal){
	"channel": func(heard chan os.Signal) {
		jobs, done := make(chan int), make(chan string, 3)
		for i := 0; i < 3; i++ {
			go worker(jobs)
		}
		<-done // channel
	},
	"group": func(heard chan os.Signal) {
		var group sync.WaitGroup
		group.Add(2)
		go group.Done()
		group.Wait() // group
	},
	"abba": func(heard chan os.Signal) {
		var here bank
		go transfer(&here.a, &here.b)
		transfer(&here.b, &here.a)
	},
	"condition": func(heard chan os.Signal) {
		var lock sync.Mutex
		cond := sync.NewCond(&lock)
		cond.Signal()
		lock.Lock()
		cond.Wait() // condition
	},
	"readers": func(heard chan os.Signal) {
		rates.RLock()
		go rates.Lock()
		pause()
		rates.RLock() // readers
	},
	"forever": func(heard chan os.Signal) {
		select {} // forever
	},
	"nil": func(heard chan os.Signal) {
		var none chan int
		none <- 1 // nil
	},
	"select": func(heard chan os.Signal) {
		a, b := make(chan int), make(chan string)
		select { // select
		case <-a:
		case b <- "":
		}
	},
	"stopped": func(heard chan os.Signal) {
		late := make(chan bool)
		time.AfterFunc(time.Hour, func() { close(late) }).Stop()
		<-late // stopped
	},

	"late": func(heard chan os.Signal) {
		time.Sleep(1500 * time.Millisecond)
		<-make(chan int) // late
	},

	// All of these can go on.
	"signal": func(heard chan os.Signal) {
		<-heard // signal
	},
	"behind": func(heard chan os.Signal) {
		done := make(chan bool)
		go func() { <-heard; close(done) }()
		<-done // behind
	},
	"after": func(heard chan os.Signal) {
		<-time.After(time.Hour) // after
	},
	"timer": func(heard chan os.Signal) {
		done := make(chan bool)
		time.AfterFunc(time.Hour, func() { close(done) })
		<-done // timer
	},
	"sleep": func(heard chan os.Signal) {
		time.Sleep(time.Hour) // sleep
	},
	"pipe": func(heard chan os.Signal) {
		reader, _, _ := os.Pipe()
		done := make(chan bool)
		go func() { reader.Read(make([]byte, 1)); close(done) }()
		<-done // pipe
	},
	"socket": func(heard chan os.Signal) {
		ends, _ := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
		os.NewFile(uintptr(ends[0]), "end").Read(make([]byte, 1)) // socket
	},
	"call": func(heard chan os.Signal) {
		done := make(chan bool)
		go func() { syscall.Pause(); close(done) }()
		<-done // call
	},
	"spin": func(heard chan os.Signal) {
		done := make(chan bool)
		go func() {
			for {
			}
		}()
		<-done // spin
	},
}

func main() {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGUSR1)
	cases[os.Args[1]](heard)
}
"""

# Executes the other one, again and again; which one it is, its functions tell, too.
CHANGING = """package main

import (
	"os"
	"syscall"
	"time"
)

//go:noinline
func as_%s(none chan int) {
	<-none
}

func main() {
	for i := 0; i < 20; i++ {
		go as_%s(make(chan int))
	}
	time.Sleep(8 * time.Millisecond)
	syscall.Exec("%s", os.Args, os.Environ())
}
"""
LOOKS = 40

# By case: why its main goroutine waits, for what, and in which function.
WAITS = {
    "channel": ("chan receive", r"chan string 0x[0-9a-f]+, 0 of 3 in it"),
    "group": ("semacquire|sync.WaitGroup.Wait", r"sync\.WaitGroup 0x[0-9a-f]+"),
    "abba": ("semacquire|sync.Mutex.Lock", r"sync\.Mutex 0x[0-9a-f]+"),
    "condition": ("sync.Cond.Wait", None),
    "readers": ("semacquire|sync.RWMutex.RLock", r"sync\.RWMutex 0x[0-9a-f]+"),
    "forever": (r"select \(no cases\)", None),
    "nil": (r"chan send \(nil chan\)", None),
    "stopped": ("chan receive", "chan bool 0x[0-9a-f]+, unbuffered"),
    "select": ("select", "2 channels 0x[0-9a-f]+, 0x[0-9a-f]+"),
}
OTHERS = {
    "signal": ("chan receive", r"chan os\.Signal 0x[0-9a-f]+, 0 of 1 in it"),
    "behind": ("chan receive", "chan bool 0x[0-9a-f]+, unbuffered"),
    "after": ("chan receive", r"chan time\.Time 0x[0-9a-f]+(, .*)?"),
    "timer": ("chan receive", "chan bool 0x[0-9a-f]+, unbuffered"),
    "sleep": ("sleep", None),
    "pipe": ("chan receive", "chan bool 0x[0-9a-f]+, unbuffered"),
    "socket": ("IO wait", r"to read fd \d+ = unix.*"),
    "call": ("chan receive", "chan bool 0x[0-9a-f]+, unbuffered"),
    "spin": ("chan receive", "chan bool 0x[0-9a-f]+, unbuffered"),
}


def build(folder, name, *options, text=PROGRAM):
    """None where the compiler does not work."""
    source, program = os.path.join(folder, "cases.go"), os.path.join(folder, name)
    with open(source, "w") as file:
        file.write(text)
    environment = {**os.environ, "GOCACHE": os.path.join(folder, "cache"), "GO111MODULE": "off", "CGO_ENABLED": "0"}
    built = subprocess.run(["go", "build", *options, "-o", program, source], env=environment, capture_output=True, text=True,
                           check=False)
    if built.returncode != 0:
        kernel.note(built.stderr)
        return None
    return program


def look(pids):
    done = kernel.holdup("stuck", "--json", *pids)
    return done, {one["tgid"]: one for one in json.loads(done.stdout)["goroutines"]}


def main_group(process):
    return next((group for group in process["groups"] if 1 in group["ids"]), None)


def line_of(case):
    return next((number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("// " + case)), None)


def is_main_right(case, process, wanted):
    """Its main goroutine waits for that, in the line that says so."""
    group, (reason, thing) = main_group(process), wanted
    if not group or not group["stack"]:
        return False
    place = group["stack"][group["place"]]
    return (re.fullmatch(reason, group["reason"]) and place["line"] == line_of(case)
            and place["file"].endswith("/cases.go")
            and (re.fullmatch(thing, group["object"] or "") if thing else group["object"] is None))


def look_until_still(pids):
    """A thread of Go may run at any time, but seldom."""
    for _ in range(TRIES):
        done, found = look(pids)
        if all(one["still"] and one["deadlock"] for one in found.values()):
            break
        time.sleep(0.05)
    return done, found


def deadlocks(tap, processes):
    pids = {name: processes[name].pid for name in WAITS}
    done, found = look_until_still(pids.values())
    tap.ok(done.returncode == 1, "status", done)
    for name, pid in pids.items():
        one = found.get(pid)
        tap.ok(one and one["deadlock"] and one["still"] and not one["no_deadlock"] and not one["missing"]
               and is_main_right(name, one, WAITS[name]), "deadlock: " + name, one)
    alike = [group for group in found[pids["channel"]]["groups"] if len(group["ids"]) == 3]
    tap.ok(len(alike) == 1 and alike[0]["stack"][alike[0]["place"]]["function"] == "main.worker"
           and alike[0]["stack"][alike[0]["place"]]["line"] == line_of("worker")
           and alike[0]["object"].startswith("chan int 0x") and alike[0]["since_ns"], "three that wait alike", alike)
    text = kernel.holdup("stuck", pids["abba"]).stdout
    tap.ok(re.search(r"^DEADLOCK: the 2 goroutines of cases\[\d+\] wait for each other.*\n  By exclusion", text, re.M),
           "in the text", text)
    tap.ok("by exclusion, only" not in text, "no thread of the scheduler is named", text)
    tap.ok(text.count("at main.transfer (cases.go:%d)" % line_of("abba")) == 2, "places in the text", text)


def honest(tap, program, processes):
    processes["spin"] = subprocess.Popen([program, "spin"])
    time.sleep(0.2)
    pids = {name: processes[name].pid for name in OTHERS}
    for _ in range(3):
        done, found = look(pids.values())
        tap.ok(done.returncode == 0 and not any(one["deadlock"] for one in found.values()), "no false deadlock", done)
    for name, pid in pids.items():
        tap.ok(pid in found and is_main_right(name, found[pid], OTHERS[name]), "no deadlock: " + name, found.get(pid))
    objects = [group["object"] or "" for group in found[pids["pipe"]]["groups"] if group["state"] == "io"]
    tap.ok(len(objects) == 1 and re.fullmatch(r"to read fd \d+ = pipe:\[\d+\]", objects[0]), "a descriptor", objects)
    text = kernel.holdup("stuck", pids["behind"]).stdout
    tap.ok("no deadlock of all of them: a goroutine waits for a signal" in text, "why it is none", text)


def watch(*words):
    """Reports of --watch until there are as many as --count says, or for some seconds."""
    process = subprocess.Popen([kernel.HOLDUP, "stuck", "--json", "--watch", "100ms", *map(str, words)], stdout=subprocess.PIPE,
                               text=True)
    try:
        process.wait(20 if "--count" in words else WATCH_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    return process.returncode, [json.loads(line) for line in out.splitlines()]


def watched(tap, program, processes):
    """What is one is told once, also of a program that goes on at first; what is none is not told."""
    late = processes["late"] = subprocess.Popen([program, "late"])
    status, reports = watch("--count", 1, late.pid)
    found = [one for report in reports for one in report["stuck"]["goroutines"]]
    tap.ok(status == 1 and len(reports) == 1 and reports[0]["on"] == "deadlock" and reports[0]["tids"][0] == late.pid
           and len(found) == 1 and found[0]["deadlock"] and main_group(found[0])["stack"][0],
           "--watch: a deadlock that comes later", status, reports)
    abba = processes["abba"].pid
    status, reports = watch(abba)
    tap.ok(status == 1 and len(reports) == 1 and reports[0]["tid"] == abba
           and "the 2 goroutines of cases[%d] wait for each other" % abba in reports[0]["reason"],
           "--watch: what lasts is told once", status, reports)
    text = kernel.holdup("stuck", "--watch", "100ms", "--count", 1, abba).stdout
    tap.ok(text.count("at main.transfer (cases.go:%d)" % line_of("abba")) == 2, "--watch: places in the text", text)
    status, reports = watch(*(processes[name].pid for name in OTHERS))
    tap.ok(status == 0 and not reports, "--watch: no false deadlock", status, reports)


def changing(tap, folder):
    """Under the name of one program no function of another is told, whatever it executes meanwhile."""
    for name, other in (("first", "second"), ("second", "first")):
        build(folder, name, text=CHANGING % (name, name, os.path.join(folder, other)))
    process, told = subprocess.Popen([os.path.join(folder, "first")]), []
    for _ in range(LOOKS):
        out = json.loads(kernel.holdup("stuck", "--json", process.pid).stdout)
        name = next(one["comm"] for one in out["threads"] if one["tid"] == process.pid)
        told += [(name, frame["function"]) for one in out["goroutines"] for group in one["groups"]
                 for frame in group["stack"] if frame["function"].startswith("main.as_")]
    process.kill()
    process.wait()
    wrong = [one for one in told if one[1] != "main.as_" + one[0]]
    tap.ok(not wrong, "a program that executes another: no wrong name (of %d)" % len(told), wrong)


def stripped(tap, folder):
    program = build(folder, "stripped", "-ldflags=-s -w")
    process = subprocess.Popen([program, "channel"])
    time.sleep(0.3)
    done, found = look([process.pid])
    process.kill()
    process.wait()
    tap.ok(done.returncode == 0 and "no symbols" in (found[process.pid]["missing"] or "")
           and not found[process.pid]["groups"], "a stripped program: it is said that nothing is known", done)


def in_folder(tap, folder):
    program = build(folder, "cases")
    if not program:
        kernel.absent("the compiler of Go does not work")
    processes = {name: subprocess.Popen([program, name]) for name in (*WAITS, *OTHERS) if name != "spin"}
    time.sleep(0.5)
    try:
        deadlocks(tap, processes)
        honest(tap, program, processes)
        watched(tap, program, processes)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    changing(tap, folder)
    stripped(tap, folder)


def main():
    kernel.need()
    if not shutil.which("go"):
        kernel.absent("no compiler of Go")
    tap = kernel.Tap()
    with kernel.workdir() as folder:
        in_folder(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
