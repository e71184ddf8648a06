/*
 * fake_why.h - a result of why made by hand: xinit waits for Xorg, which sleeps.
 *
 * The window is 1.309 s long and begins at 100 s of the trace clock, 0.5 s after
 * the recording did.
 */
#ifndef TESTS_FAKE_WHY_H
#define TESTS_FAKE_WHY_H

#include "analyse/why/why.h"
#include "base/mem.h"
#include "event/facts.h"
#include "timeline/timeline.h"

#define MS 1000000ull

#define BUILD                        \
	{                            \
		437, 437, "build.sh" \
	}
#define XINIT                     \
	{                         \
		438, 438, "xinit" \
	}
#define XORG                     \
	{                        \
		440, 440, "Xorg" \
	}
#define MAKE                     \
	{                        \
		512, 512, "make" \
	}
#define NOONE            \
	{                \
		0, 0, "" \
	}

static struct why_reason fake_lost = { .kind = WHY_REASON_UNSURE, .number = UNSURE_LOST };

static struct why_root fake_roots[] = {
	{ 1281 * MS, WHY_TIMER, WHY_HELD_UP, XORG, "clock_nanosleep", "", NULL, 42, 200 * MS,
	  .is_call = true },
	{ 11 * MS, WHY_CPU_QUEUE, WHY_RUNS, MAKE, "ran instead", "", NULL, 3, 5010000 },
	{ 9 * MS, WHY_DISK, WHY_HELD_UP, XORG, "vda 4096 B read", "fd 3 = /etc/X11/xorg.conf", NULL,
	  1, 9 * MS },
	{ 5 * MS, WHY_WORKING, WHY_RUNS, BUILD, "own code", "", NULL, 12, MS },
	{ 2999000, WHY_UNKNOWN, WHY_HELD_UP, XINIT, "", "", &fake_lost, 2, 2 * MS },
	{ 1000, WHY_IRQ, WHY_RUNS, NOONE, "irq 24 virtio0-req.0", "", NULL, 1, 1000 },
};

static struct why_hop fake_chain[] = {
	{ BUILD, "wait4", "child xinit[438]", "exit", 1281 * MS, 1, XINIT, .is_call = true,
	  .woken_by_call = true },
	{ XINIT, "select", "fd 3 = socket to Xorg[440]", "sendmsg", 1281 * MS, 1, XORG,
	  .is_call = true, .woken_by_call = true },
	{ XORG, "clock_nanosleep", "", "timer hrtimer_wakeup", 1281 * MS, 42, NOONE,
	  .is_call = true },
	{ XORG, "clock_nanosleep", "", "", 1281 * MS, 42, NOONE, .is_call = true },
};

static struct why_line fake_lines[] = {
	{ 0, "Working", 5 * MS, 12, 0, 0 },	      { 1, "own code", 5 * MS, 12, 0, 1 },
	{ 0, "Interrupted", 11001000, 4, 0, 0 },      { 1, "waiting for a CPU", 11 * MS, 3, 1, 1 },
	{ 1, "irq 24 virtio0-req.0", 1000, 1, 2, 1 }, { 0, "Blocked", 1290 * MS, 1, 0, 0 },
	{ 1, "wait4", 1290 * MS, 1, 0, 0 },	      { 2, "child xinit[438]", 1290 * MS, 1, 3, 1 },
	{ 0, "Uncertain", 2999000, 2, 0, 0 },
};

#define BEGIN (100000 * MS)

static struct why_instance fake_instances[] = {
	{ BEGIN, BEGIN + 5 * MS, 1, 1, -1 },
	{ BEGIN + 5 * MS, BEGIN + 16 * MS, 2, 3, -1 },
	{ BEGIN + 16 * MS, BEGIN + 16001000, 3, 4, -1 },
	{ BEGIN + 16001000, BEGIN + 1306001000, 4, 7, 0 },
};

static struct why_wait fake_waits[] = {
	{ BEGIN + 16001000,
	  BEGIN + 1306001000,
	  BUILD,
	  "wait4",
	  "child xinit[438]",
	  WHY_HELD_UP,
	  WHY_WAKER_THREAD,
	  XINIT,
	  "exit",
	  "",
	  "exit",
	  0,
	  -1,
	  MS,
	  0,
	  1289 * MS,
	  0,
	  .in_call = true,
	  .waker_in = "exit",
	  .waker_in_call = true },
	{ BEGIN + 17 * MS,
	  BEGIN + 1305 * MS,
	  XINIT,
	  "select",
	  "fd 3 = socket to Xorg[440]",
	  WHY_HELD_UP,
	  WHY_WAKER_THREAD,
	  XORG,
	  "sendmsg",
	  "",
	  "sendmsg",
	  1,
	  0,
	  2 * MS,
	  0,
	  1286 * MS,
	  0,
	  .in_call = true,
	  .waker_in = "sendmsg",
	  .waker_in_call = true },
	{ BEGIN + 18 * MS, BEGIN + 218 * MS, XORG, "clock_nanosleep", "", WHY_ASKED,
	  WHY_WAKER_TIMER, NOONE, "timer hrtimer_wakeup", "hrtimer_nanosleep < do_nanosleep",
	  "local timer interrupt < idle", 2, 1, 0, 0, 0, 0, .in_call = true,
	  .waker_in = "local timer interrupt < idle" },
};

static struct why_syscall fake_syscalls[] = {
	{ "read", 1234, 2, 3 * MS },
	{ "wait4", 1, 0, MS },
};

static struct fact_missing fake_missing[] = {
	{ "file names of descriptors", "BPF program not loaded: Operation not permitted" },
};

static struct fact_cpu fake_cpus[] = { { 500, 0, 4096 }, { 600, 812, 4096 } };

static const struct facts fake_facts = {
	.first_ns = BEGIN - 500 * MS,
	.last_ns = BEGIN + 2000 * MS,
	.target_tid = 437,
	.target_status = 2 << 8,
	.complete = true,
	.missing = fake_missing,
	.missing_count = ARRAY_LEN(fake_missing),
	.cpus = fake_cpus,
	.cpu_count = ARRAY_LEN(fake_cpus),
};

/* Nothing in it is owned: never pass it to why_fini(). */
static const struct why fake_why = {
	.target = BUILD,
	.cmdline = "/bin/sh ./build.sh",
	.start_ns = BEGIN,
	.end_ns = BEGIN + 1309 * MS,
	.working_ns = 5 * MS,
	.interrupted_ns = 11001000,
	.blocked_ns = 1290 * MS,
	.uncertain_ns = 2999000,
	.held_up_ns = 1290 * MS,
	.roots = fake_roots,
	.root_count = ARRAY_LEN(fake_roots),
	.chain = fake_chain,
	.chain_count = ARRAY_LEN(fake_chain),
	.lines = fake_lines,
	.line_count = ARRAY_LEN(fake_lines),
	.instances = fake_instances,
	.instance_count = ARRAY_LEN(fake_instances),
	.waits = fake_waits,
	.wait_count = ARRAY_LEN(fake_waits),
	.waits_cut = 41,
	.waits_cut_ns = 1081 * MS,
	.syscalls = fake_syscalls,
	.syscall_count = ARRAY_LEN(fake_syscalls),
	.lost_events = 812,
	.lost_span_ns = 3 * MS,
	.repairs = 5,
	.repairs_exact = 5,
};

#endif
