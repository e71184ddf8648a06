/* moment_fields.c - what a line of each kind may hold: see moment_int.h. */
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "state/moment_int.h"

#define NUMBER(of, member, key, kind)                                                    \
	{                                                                                \
		key, offsetof(struct of, member), kind, sizeof(((struct of *)0)->member) \
	}

const struct moment_field moment_actor_fields[MOMENT_ACTOR_FIELDS] = {
	NUMBER(actor, time_ns, "time", TYPE_U64), NUMBER(actor, slot, "thread", TYPE_SLOT),
	NUMBER(actor, word, "word", TYPE_WORD),	  NUMBER(actor, below, "below", TYPE_WORD),
	NUMBER(actor, name, "name", TYPE_NAME),	  NUMBER(actor, kind, "kind", TYPE_U8),
	NUMBER(actor, signal, "signal", TYPE_U8),
};

#define THREAD(member, key, kind) NUMBER(thread_image, member, key, kind)

static const struct moment_field thread_fields[] = {
	THREAD(id, "id", TYPE_U32),
	THREAD(tid, "tid", TYPE_I32),
	THREAD(tgid, "tgid", TYPE_I32),
	THREAD(comm, "comm", TYPE_NAME),
	THREAD(parent, "parent", TYPE_SLOT),
	THREAD(word, "word", TYPE_WORD),
	THREAD(dead, "dead", TYPE_BOOL),
	THREAD(kernel, "kernel", TYPE_BOOL),
	THREAD(born, "born", TYPE_BOOL),
	THREAD(thread.unsure_until, "unsure_until", TYPE_U64),
	THREAD(thread.sched, "sched", TYPE_U8),
	THREAD(thread.exiting, "exiting", TYPE_BOOL),
	THREAD(thread.ender, "ender", TYPE_SLOT),
	THREAD(thread.ender_ns, "ended_time", TYPE_U64),
	THREAD(thread.seen, "seen", TYPE_BOOL),
	THREAD(thread.cpu, "cpu", TYPE_U32),
	THREAD(thread.on_cpu, "on_cpu", TYPE_U32),
	{ "frames", offsetof(struct thread_image, thread.frames), TYPE_FRAMES, 0 },
	THREAD(thread.call_nr, "call", TYPE_I64),
	{ "args", offsetof(struct thread_image, thread.call_args), TYPE_ARGS, 0 },
	THREAD(thread.call_path, "path", TYPE_NAME),
	THREAD(thread.call_ns, "call_time", TYPE_U64),
	THREAD(thread.asked, "asked", TYPE_NAME),
	THREAD(thread.asked_fd, "asked_fd", TYPE_I32),
	THREAD(thread.connecting, "connecting", TYPE_U32),
	THREAD(thread.told, "told", TYPE_NAME),
	THREAD(thread.told_also, "told_also", TYPE_NAME),
	THREAD(thread.held, "held", TYPE_SLOT),
	THREAD(thread.held_ns, "held_time", TYPE_U64),
	THREAD(thread.held_by, "held_by", TYPE_NAME),
	THREAD(thread.used_fd[0], "used", TYPE_I32),
	THREAD(thread.used_fd[1], "used1", TYPE_I32),
	THREAD(thread.used_fd[2], "used2", TYPE_I32),
	THREAD(thread.used_fd[3], "used3", TYPE_I32),
	THREAD(thread.came_fd, "came", TYPE_I32),
	THREAD(thread.passed_fd, "passed", TYPE_I32),
	THREAD(thread.used_ipc, "ipc", TYPE_U64),
	THREAD(thread.used_ipc_ns, "ipc_time", TYPE_U64),
	THREAD(thread.left, "left", TYPE_NAME),
	THREAD(thread.left_held, "left_held", TYPE_SLOT),
	THREAD(thread.child_asked, "child_asked", TYPE_NAME),
	THREAD(thread.child_held, "child_held", TYPE_SLOT),
	THREAD(thread.looked, "looked", TYPE_NAME),
	THREAD(thread.looked_by, "looked_by", TYPE_WORD),
	THREAD(thread.in_call, "in_call", TYPE_BOOL),
	THREAD(thread.compat, "compat", TYPE_BOOL),
	THREAD(thread.fresh_exec, "fresh_exec", TYPE_BOOL),
	THREAD(thread.is_32bit, "is_32bit", TYPE_BOOL),
	THREAD(thread.fault_ns, "fault", TYPE_U64),
	THREAD(thread.tracer, "tracer", TYPE_SLOT),
	THREAD(thread.answered, "answered", TYPE_BOOL),
	THREAD(thread.lock, "lock", TYPE_U64),
	THREAD(thread.lock_flags, "lock_flags", TYPE_U32),
	THREAD(thread.lock_ns, "lock_time", TYPE_U64),
	THREAD(thread.told_lock, "told_lock", TYPE_U64),
	THREAD(thread.told_lock_ns, "told_time", TYPE_U64),
	THREAD(thread.told_owner, "told_owner", TYPE_SLOT),
	THREAD(thread.told_word, "told_word", TYPE_WORD),
	THREAD(thread.reclaim_ns, "reclaim_time", TYPE_U64),
	THREAD(thread.reclaim_depth, "reclaim_depth", TYPE_U32),
	THREAD(thread.reclaim_kind, "reclaim_kind", TYPE_U8),
	THREAD(thread.reclaim_limit, "reclaim_limit", TYPE_NAME),
	THREAD(thread.reclaim_high, "reclaim_high", TYPE_BOOL),
	THREAD(thread.reclaimed_ns, "reclaimed_time", TYPE_U64),
	THREAD(thread.dirty_limit, "dirty_limit", TYPE_NAME),
	THREAD(thread.deadline, "deadline", TYPE_NAME),
	THREAD(thread.dirty_ns, "dirty_time", TYPE_U64),
	THREAD(thread.poll_open, "poll_open", TYPE_BOOL),
	THREAD(thread.poll_set, "poll_set", TYPE_I32),
	THREAD(thread.poll_known, "poll_known", TYPE_BOOL),
	THREAD(thread.early_wake, "early", TYPE_ACTOR),
	THREAD(thread.work, "work", TYPE_ACTOR),
	THREAD(has_wait, "wait", TYPE_BOOL),
	THREAD(wait.begin_ns, "begin", TYPE_U64),
	THREAD(wait.woken_ns, "woken", TYPE_U64),
	THREAD(wait.waker, "waker", TYPE_ACTOR),
	THREAD(wait.origin, "origin", TYPE_ACTOR),
	THREAD(wait.in, "in", TYPE_WORD),
	THREAD(wait.object, "object", TYPE_NAME),
	THREAD(wait.stack, "stack", TYPE_NAME),
	THREAD(wait.fd, "fd", TYPE_I32),
	THREAD(wait.flags, "flags", TYPE_U32),
};

#define CPU(member, key, kind) NUMBER(cpu_image, member, key, kind)

static const struct moment_field cpu_fields[] = {
	CPU(number, "cpu", TYPE_U32),
	CPU(cpu.cur, "runs", TYPE_SLOT),
	CPU(cpu.idle, "idle", TYPE_SLOT),
	CPU(cpu.last_ns, "last", TYPE_U64),
	CPU(cpu.unknown_since, "unknown_since", TYPE_U64),
	CPU(cpu.known, "known", TYPE_BOOL),
	CPU(cpu.timer_fn, "timer_function", TYPE_U64),
	CPU(cpu.timer, "timer", TYPE_U64),
	CPU(cpu.timer_below, "timer_below", TYPE_BOOL),
	CPU(cpu.disk_name, "disk", TYPE_NAME),
	CPU(cpu.disk_slot, "disk_thread", TYPE_SLOT),
	CPU(cpu.disk_ns, "disk_time", TYPE_U64),
	CPU(cpu.disk_limit, "disk_limit", TYPE_NAME),
	CPU(cpu.disk_limit_by, "disk_limit_by", TYPE_U8),
	CPU(cpu.packet_dev, "packet", TYPE_NAME),
	CPU(cpu.packet_slot, "packet_thread", TYPE_SLOT),
	CPU(cpu.packet_queue, "packet_queue", TYPE_NAME),
	CPU(cpu.packet_timer, "packet_timer", TYPE_NAME),
	CPU(cpu.packet_ns, "packet_time", TYPE_U64),
	CPU(cpu.out, "out", TYPE_SLOT),
	CPU(cpu.woken, "woken", TYPE_SLOT),
	CPU(cpu.doubt, "doubt", TYPE_U8),
	CPU(cpu.irq_wakes, "irq_wakes", TYPE_NAME),
	CPU(cpu.irq_before_softirq, "irq_before_softirq", TYPE_BOOL),
};

static const struct moment_field pending_fields[] = {
	NUMBER(pending_image, which, "what", TYPE_U8),
	NUMBER(pending_image, key, "key", TYPE_U64),
	NUMBER(pending_image, actor, "by", TYPE_ACTOR),
};

static const struct moment_field setter_fields[] = {
	NUMBER(setter_image, timer, "timer", TYPE_U64),
	NUMBER(setter_image, slot, "thread", TYPE_SLOT),
};

static const struct moment_field all_fields[] = {
	NUMBER(all_image, has_wakings, "has_wakings", TYPE_BOOL),
	NUMBER(all_image, no_irqs, "no_irqs", TYPE_BOOL),
	NUMBER(all_image, timers_end, "timers_end", TYPE_BOOL),
	NUMBER(all_image, cpus, "cpus", TYPE_U32),
};

#define END(member, key, kind) NUMBER(end_image, member, key, kind)

static const struct moment_field end_fields[] = {
	END(id, "id", TYPE_U32),
	END(tid, "tid", TYPE_I32),
	END(comm, "comm", TYPE_NAME),
	END(cmdline, "cmdline", TYPE_NAME),
	END(word, "word", TYPE_WORD),
	END(cpu, "cpu", TYPE_U32),
	END(since_ns, "since", TYPE_U64),
	END(fault, "fault", TYPE_U32),
	END(wait.woken_ns, "woken", TYPE_U64),
	END(wait.waker, "waker", TYPE_ACTOR),
	END(wait.origin, "origin", TYPE_ACTOR),
	END(wait.in, "in", TYPE_WORD),
	END(wait.object, "object", TYPE_NAME),
	END(wait.stack, "stack", TYPE_NAME),
	END(wait.fd, "fd", TYPE_I32),
	END(wait.flags, "flags", TYPE_U32),
};

static const struct moment_field other_fields[] = {
	NUMBER(other_image, id, "id", TYPE_U32),
	NUMBER(other_image, tid, "tid", TYPE_I32),
	NUMBER(other_image, tgid, "tgid", TYPE_I32),
	NUMBER(other_image, comm, "comm", TYPE_NAME),
	NUMBER(other_image, cmdline, "cmdline", TYPE_NAME),
	NUMBER(other_image, parent, "parent", TYPE_SLOT),
	NUMBER(other_image, kernel, "kernel", TYPE_BOOL),
	NUMBER(other_image, born, "born", TYPE_BOOL),
};

static const struct moment_field ran_fields[] = {
	NUMBER(ran_image, id, "id", TYPE_U32),
	NUMBER(ran_image, cpu, "cpu", TYPE_U32),
};

static const struct moment_field hole_fields[] = {
	NUMBER(hole_image, cpu, "cpu", TYPE_U32),
	NUMBER(hole_image, since_ns, "since", TYPE_U64),
	NUMBER(hole_image, lost, "lost", TYPE_U64),
};

static const struct moment_field lock_fields[] = {
	NUMBER(lock_image, address, "lock", TYPE_U64),
	NUMBER(lock_image, known.time_ns, "time", TYPE_U64),
	NUMBER(lock_image, known.told, "name", TYPE_NAME),
	NUMBER(lock_image, known.tgid, "tgid", TYPE_I32),
};

const struct moment_line moment_lines[LINE_COUNT] = {
	[LINE_THREAD] = { "thread", thread_fields, ARRAY_LEN(thread_fields) },
	[LINE_CPU] = { "cpu", cpu_fields, ARRAY_LEN(cpu_fields) },
	[LINE_PENDING] = { "pending", pending_fields, ARRAY_LEN(pending_fields) },
	[LINE_SETTER] = { "setter", setter_fields, ARRAY_LEN(setter_fields) },
	[LINE_ALL] = { "all", all_fields, ARRAY_LEN(all_fields) },
	[LINE_END] = { "end", end_fields, ARRAY_LEN(end_fields) },
	[LINE_OTHER] = { "other", other_fields, ARRAY_LEN(other_fields) },
	[LINE_RAN] = { "ran", ran_fields, ARRAY_LEN(ran_fields) },
	[LINE_HOLE] = { "hole", hole_fields, ARRAY_LEN(hole_fields) },
	[LINE_LOCK] = { "lock", lock_fields, ARRAY_LEN(lock_fields) },
};

/* As in files: never renamed. */
const char *const moment_word_names[WORD_KIND_COUNT] = {
	[WORD_NONE] = "none",	      [WORD_UNCERTAIN] = "uncertain", [WORD_RUN] = "run",
	[WORD_USER] = "user",	      [WORD_SYSCALL] = "syscall",     [WORD_TRAP] = "trap",
	[WORD_KERNEL] = "kernel",     [WORD_WORK] = "work",	      [WORD_IDLE] = "idle",
	[WORD_IRQ] = "irq",	      [WORD_VECTOR] = "vector",	      [WORD_SOFTIRQ] = "softirq",
	[WORD_PREEMPTED] = "preempt", [WORD_WAIT_CPU] = "queue",      [WORD_BLOCKED] = "blocked",
	[WORD_CPU] = "cpu",
};

static struct actor no_actor(void)
{
	return (struct actor){ .slot = SLOT_NONE };
}

union moment_image moment_empty(enum moment_line_kind kind)
{
	union moment_image image;

	memset(&image, 0, sizeof(image));
	if (kind == LINE_THREAD) {
		image.thread.parent = SLOT_NONE;
		image.thread.thread.call_nr = -1;
		image.thread.thread.asked_fd = -1;
		image.thread.thread.told_owner = SLOT_NONE;
		image.thread.thread.held = image.thread.thread.child_held = SLOT_NONE;
		image.thread.thread.left_held = SLOT_NONE;
		image.thread.thread.ender = SLOT_NONE;
		image.thread.thread.on_cpu = SLOT_NONE;
		image.thread.thread.tracer = SLOT_NONE;
		image.thread.thread.early_wake = image.thread.thread.work = no_actor();
		image.thread.wait.waker = image.thread.wait.origin = no_actor();
		image.thread.wait.fd = -1;
	} else if (kind == LINE_CPU) {
		struct cpu *cpu = &image.cpu.cpu;

		cpu->cur = cpu->idle = cpu->disk_slot = SLOT_NONE;
		cpu->packet_slot = cpu->out = cpu->woken = SLOT_NONE;
	} else if (kind == LINE_PENDING) {
		image.pending.actor = no_actor();
	} else if (kind == LINE_SETTER) {
		image.setter.slot = SLOT_NONE;
	} else if (kind == LINE_END) {
		image.end.wait.waker = image.end.wait.origin = no_actor();
		image.end.wait.fd = -1;
	} else if (kind == LINE_OTHER) {
		image.other.parent = SLOT_NONE;
	}
	return image;
}
