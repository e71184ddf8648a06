/*
 * fuzz_state.c - any bytes as a sequence of events, through the engine and `why`.
 *
 * Events may be nonsense: times out of order, CPUs and threads that cannot be where they
 * are said to be. What must always hold of a timeline holds all the same.
 *
 * The first byte decides about the facts; each further event takes EVENT_BYTES. With
 * HOLDUP_TELL in the environment the events are told.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "base/err.h"
#include "event/event.h"
#include "event/facts.h"
#include "random_trace.h"
#include "state/state.h"
#include "timeline_check.h"

#define EVENT_BYTES 8
#define MAX_EVENTS  2000
#define THREADS	    7
#define CPUS	    3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void die(const char *what)
{
	fprintf(stderr, "fuzz_state: %s\n", what);
	abort();
}

/* Small numbers, so that events meet each other; the largest is out of range on purpose. */
static int32_t tid_of(uint8_t byte)
{
	return byte % 16 == 15 ? -5 : byte % 16 == 14 ? INT32_MAX : byte % (THREADS + 1);
}

static void fill_wake(struct event *ev, const uint8_t *b)
{
	ev->wake.tid = tid_of(b[5]);
	ev->wake.target_cpu = b[6] == 255 ? INT32_MAX : (int32_t)(b[6] % 5) - 1;
}

/* The fields of the event out of bytes 5 to 7, if it is about threads. */
static bool fill_sched(struct event *ev, const uint8_t *b)
{
	switch ((enum event_type)ev->type) {
	case EV_LOST:
		ev->lost.since_ns = ev->time_ns - b[5];
		ev->lost.count = b[6];
		break;
	case EV_SCHED_SWITCH:
		ev->sched_switch.prev_tid = b[7] & 1 ? ev->tid : tid_of(b[5]);
		ev->sched_switch.next_tid = tid_of(b[6]);
		ev->sched_switch.prev_state = (b[7] >> 1) % 9;
		ev->sched_switch.next_comm = b[7] & 128 ? "next" : NULL;
		break;
	case EV_SCHED_WAKING:
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		fill_wake(ev, b);
		break;
	case EV_SCHED_MIGRATE:
		ev->migrate.tid = tid_of(b[5]);
		ev->migrate.to_cpu = (int32_t)(b[6] % 5) - 1;
		break;
	case EV_SCHED_STAT_RUNTIME:
		ev->runtime.tid = tid_of(b[5]);
		ev->runtime.runtime_ns = b[6] == 255 ? UINT64_MAX : b[6];
		break;
	case EV_SCHED_FORK:
	case EV_SCHED_EXEC:
	case EV_SCHED_EXIT:
	case EV_TASK_NEW:
	case EV_TASK_RENAME:
		ev->task.tid = tid_of(b[5]);
		ev->task.parent_tid = tid_of(b[6]);
		ev->task.clone_flags = b[7] & 1 ? 0x10000 : 0;
		ev->task.comm = "task";
		break;
	default:
		return false;
	}
	return true;
}

static const char *const others[] = {
	NULL,
	"print",
	"mm_vmscan_memcg_reclaim_begin",
	"mm_vmscan_memcg_reclaim_end",
	"mm_compaction_begin",
	"balance_dirty_pages",
};

/* The same for everything else. */
static void fill(struct event *ev, const uint8_t *b)
{
	static const char *const names[] = { "eth0", "virtio0-req.0", "" };
	static const uint64_t stack[] = { 0x1000, 0, UINT64_MAX };

	switch ((enum event_type)ev->type) {
	case EV_SYS_ENTER:
	case EV_SYS_EXIT:
		ev->syscall.nr = b[5] == 255 ? -1 : b[5] + (b[7] & 1 ? 200 : 0);
		ev->syscall.args[0] = b[6];
		ev->syscall.args[1] = b[7];
		ev->syscall.ret = (int8_t)b[6];
		ev->syscall.compat = b[7] & 2;
		break;
	case EV_BLOCKED_IN:
		ev->syscall.nr = b[5] == 255 ? -1 : b[5] + (b[7] & 1 ? 200 : 0);
		ev->syscall.args[0] = b[6];
		ev->syscall.args[1] = b[7];
		ev->syscall.compat = b[7] & 2;
		ev->syscall.ended = b[7] & 4;
		break;
	case EV_BLOCK_INSERT:
	case EV_BLOCK_ISSUE:
	case EV_BLOCK_COMPLETE:
		ev->block.sector = b[5] % 4;
		ev->block.rwbs = b[6] & 1 ? "WS" : "R";
		break;
	case EV_WORK_QUEUE:
	case EV_WORK_START:
	case EV_WORK_END:
		ev->work.work = b[5] % 4;
		ev->work.function = b[6];
		break;
	case EV_NET_QUEUE:
	case EV_NET_RX:
	case EV_NET_RECEIVE:
		ev->net.skb = b[5] % 4;
		ev->net.dev = b[6] & 1 ? "lo" : NULL;
		break;
	case EV_SIGNAL_GENERATE:
		ev->signal.tid = tid_of(b[5]);
		ev->signal.signal = (int8_t)b[6];
		break;
	case EV_FD_NAME:
		ev->fd_name.tid = ev->fd_name.tgid = tid_of(b[5]);
		ev->fd_name.fd = (int8_t)b[6];
		ev->fd_name.role = fd_role_of(b[7]);
		ev->fd_name.watch = b[7] % FD_WATCH_COUNT;
		ev->fd_name.inode = (uint64_t)tid_of(b[6]);
		ev->fd_name.name = b[5] & 1 ? "/d/name" : "/";
		break;
	case EV_HRTIMER_START:
	case EV_HRTIMER_EXPIRE:
	case EV_TIMER_EXPIRE:
		ev->timer.timer = b[5] % 4;
		ev->timer.function = b[6];
		break;
	case EV_STACK:
		ev->stack.frames = stack;
		ev->stack.count = b[5] % 4;
		break;
	case EV_URING_READY:
	case EV_URING_DONE:
	case EV_URING_QUEUE:
	case EV_URING_FILE:
	case EV_URING_SUBMIT:
		ev->uring.req = b[5] % 4;
		ev->uring.fd = (int8_t)b[6];
		ev->uring.opcode = b[6];
		break;
	case EV_LOCK_BEGIN:
	case EV_LOCK_END:
		ev->lock.address = b[5] % 4;
		ev->lock.flags = b[6];
		break;
	case EV_OTHER:
		ev->other.name = others[b[5] % ARRAY_LEN(others)];
		break;
	default:
		ev->irq.nr = b[5] == 255 ? INT32_MIN : b[5] % 12;
		ev->irq.name = ev->type == EV_IRQ_ENTRY ? names[b[6] % 3] : NULL;
		break;
	}
}

static struct event event_of(const uint8_t *b, uint64_t *now)
{
	struct event ev = { 0 };

	/* Mostly forward, some far, some back. */
	*now += b[0] < 200 ? b[0] : b[0] < 240 ? (uint64_t)b[0] << 26 : 0;
	ev.time_ns = b[0] >= 250 ? *now - b[0] : *now;
	ev.cpu = b[1] == 255 ? UINT16_MAX : b[1] % CPUS;
	ev.tid = b[2] % 16 == 15 ? -1 : b[2] % (THREADS + 1);
	ev.type = b[3] == 255 ? 255 : b[3] % (EV_TYPE_COUNT + 1);
	ev.context = b[4] & 7;
	if (!fill_sched(&ev, b))
		fill(&ev, b);
	return ev;
}

static void ask(const struct timeline *tl, const struct facts *facts, uint32_t slot)
{
	struct why_opts opts = { .slot = slot, .want_waits = true, .depth = 4 };
	char text[FAULT_BYTES];
	struct err err = { 0 };
	const char *wrong;
	struct why why;

	if (tl->threads[slot]->tid == 0 || why_run(tl, facts, &opts, &why, &err) < 0)
		return;
	wrong = why_fault(&why, text);
	if (wrong)
		die(wrong);
	why_fini(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct fact_thread threads[] = {
		{ .tid = 1,
		  .tgid = 1,
		  .comm = "init",
		  .cmdline = "init",
		  .cgroup = "",
		  .state = 'S',
		  .call = 202,
		  .arg0 = 0x7f00,
		  .call_ns = 1000 },
		{ .tid = 2,
		  .tgid = 2,
		  .ppid = 1,
		  .comm = "kworker",
		  .cmdline = "",
		  .cgroup = "",
		  .state = 'I',
		  .kernel = true },
		{ .tid = 3, .tgid = 1, .comm = "run", .cmdline = "", .cgroup = "", .state = 'R' },
	};
	uint8_t mode = bytes ? data[0] : 0;
	struct facts facts = { .arch = mode & 16 ? "x86_64" : "unknown",
			       .first_ns = 100,
			       .last_ns = mode & 8 ? UINT64_C(1) << 40 : 0,
			       .has_syscalls = mode & 1,
			       .is_lean = mode & 32,
			       .omits_idle_switches = mode & 2,
			       .threads = threads,
			       .thread_count = mode & 4 ? ARRAY_LEN(threads) : 0 };
	struct state *state = state_new(&facts);
	uint64_t now = 100;
	char text[FAULT_BYTES];
	struct timeline *tl;
	const char *wrong;

	for (size_t at = 1, n = 0; n < MAX_EVENTS && bytes - at >= EVENT_BYTES && at < bytes;
	     at += EVENT_BYTES, n++) {
		struct event ev = event_of(data + at, &now);

		if (getenv("HOLDUP_TELL"))
			rt_print_event(stderr, &ev);
		state_feed(state, &ev);
	}
	tl = state_finish(state);
	wrong = timeline_fault(tl, text);
	if (wrong)
		die(wrong);
	for (uint32_t slot = 0; slot < tl->thread_count; slot++)
		ask(tl, &facts, slot);
	timeline_free(tl);
	return 0;
}
