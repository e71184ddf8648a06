/*
 * text_trace.h - traces in text, so that a test can be checked by hand.
 *
 *	# what was known before the first event (all optional)
 *	facts no_syscalls | steps | omits_idle | first NS | last NS
 *	thread TID TGID PPID LETTER COMM [kernel]
 *	seenin NS CALL [ARG0 ARG1 ARG2]	the thread above slept in that call then
 *	fd TGID FD ROLE NAME [reads | writes]
 *	epoll TGID EPOLL TARGET
 *
 *	# one event a line
 *	TIME cpuN [by TID] VERB ARGS
 *
 * The thread an event was recorded in is the one that the switches in the text put
 * on that CPU, unless "by TID" says otherwise (then it is that one from there on:
 * so a switch that was not recorded is written). The context bits of an event follow
 * from the interrupts and softirqs that are open on its CPU. A TID may carry a
 * command name: 7:make. Words with blanks stand in double quotes.
 *
 *	switch PREV(runnable|blocked|disk|stopped|dead) NEXT [prio PREV NEXT]
 *	waking TID [cpu N]	wakeup TID [cpu N]	migrate TID FROM TO
 *	newtask TID [thread]	fork TID [TGID]	exec TID FILE [OLD_TID]
 *	exit TID		rename TID COMM		runtime TID NS
 *	irq NR NAME		irqexit NR [RET]	vector NAME	vectorexit NAME
 *	softirq NAME		softirqexit NAME
 *	enter CALL [ARGS]	leave CALL RET		fault ADDRESS
 *	timerstart TIMER	hrtimer FUNCTION [TIMER]	hrtimerdone
 *	insert|issue DEV SECTOR [R|W]	complete DEV SECTOR [R|W SECTORS]
 *	queuework WORK FUNCTION	work WORK FUNCTION	workdone WORK
 *	ringsubmit REQ OPCODE	ringready REQ		ringdone REQ		ringqueue REQ OPCODE	ringfile REQ FD
 *	netqueue SKB DEV	netrx SKB DEV		receive SKB DEV
 *	signal NR TID		lost SINCE COUNT [user|stepN]
 *	fdname TID FD NAME ROLE [named TGID | watched | room | throttled [DEV SECTOR] | held PID | asked ERRNO | runs | owner TID]
 *	lockbegin ADDRESS FLAGS	lockend ADDRESS		locktold TID ADDRESS OWNER NAME
 *	other NAME
 */
#ifndef TEXT_TRACE_H
#define TEXT_TRACE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"

#define TT_CPUS	 16
#define TT_WORDS 16
#define TT_NEST	 16

struct tt_cpu {
	int32_t tid;	    /* -1 = the text did not say yet */
	char open[TT_NEST]; /* 'h' or 's' */
	uint32_t depth;
};

struct text_trace {
	struct source source; /* first: the trace is a source of its events */
	size_t at;
	struct facts facts;
	struct event *events;
	size_t count, cap;
	size_t thread_cap, fd_cap, epoll_cap, wait_cap, symbol_cap, device_cap;
	struct tt_cpu cpus[TT_CPUS];
	char *words[TT_WORDS]; /* of the line being read */
	int word_count;
	uint32_t line;
};

/* A mistake in the text of a test. */
static inline void __attribute__((noreturn, format(printf, 2, 3)))
tt_die(const struct text_trace *trace, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "text trace, line %u: ", trace->line);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	abort();
}

/* Word 'i' after the verb. */
static inline const char *tt_word(struct text_trace *trace, int i)
{
	if (i >= trace->word_count)
		tt_die(trace, "%s wants more arguments", trace->words[0]);
	return trace->words[i];
}

static inline uint64_t tt_number(struct text_trace *trace, int i)
{
	const char *word = tt_word(trace, i);
	char *end;
	uint64_t number = (uint64_t)strtoll(word, &end, 0);

	if (strcmp(end, "us") == 0)
		return number * 1000;
	if (strcmp(end, "ms") == 0)
		return number * 1000000;
	if (strcmp(end, "s") == 0)
		return number * 1000000000;
	if (end == word || (*end && *end != '(' && *end != ':'))
		tt_die(trace, "'%s' is not a number", word);
	return number;
}

static inline uint64_t tt_number_or(struct text_trace *trace, int i, uint64_t other)
{
	return i < trace->word_count ? tt_number(trace, i) : other;
}

/* The name in 7:make or 7:make(blocked); NULL when there is none. */
static inline const char *tt_comm(struct text_trace *trace, int i)
{
	const char *colon = strchr(tt_word(trace, i), ':');
	char name[32];

	if (!colon)
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(colon + 1, "("), colon + 1);
	return facts_keep(&trace->facts, name);
}

/* The place of 'word' in a list that ends with NULL. */
static inline uint32_t tt_index(struct text_trace *trace, const char *const *list, const char *word)
{
	for (uint32_t i = 0; list[i]; i++) {
		if (strcmp(list[i], word) == 0)
			return i;
	}
	tt_die(trace, "'%s' is not known here", word);
}

/* An address for a function name: the facts know it as a symbol. */
static inline uint64_t tt_symbol(struct text_trace *trace, const char *name)
{
	struct facts *facts = &trace->facts;
	uint64_t address;

	for (size_t i = 0; i < facts->symbol_count; i++) {
		if (strcmp(facts->symbols[i].name, name) == 0)
			return facts->symbols[i].address;
	}
	address = 0x1000 * (facts->symbol_count + 1);
	facts->symbols = vec_room(facts->symbols, facts->symbol_count, &trace->symbol_cap,
				  sizeof(*facts->symbols));
	facts->symbols[facts->symbol_count++] =
		(struct fact_symbol){ address, facts_keep(facts, name) };
	return address;
}

static inline uint32_t tt_device(struct text_trace *trace, const char *name)
{
	struct facts *facts = &trace->facts;

	for (size_t i = 0; i < facts->device_count; i++) {
		if (strcmp(facts->devices[i].name, name) == 0)
			return (uint32_t)facts->devices[i].nr;
	}
	facts->devices = vec_room(facts->devices, facts->device_count, &trace->device_cap,
				  sizeof(*facts->devices));
	facts->devices[facts->device_count] =
		(struct fact_name){ (254u << 20) + facts->device_count, facts_keep(facts, name) };
	return (uint32_t)facts->devices[facts->device_count++].nr;
}

/* -------------------------------------------------------------------- verbs */

static inline void tt_switch(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	static const char *const states[] = { "runnable)", "blocked)", "disk)",	  "idle)",
					      "stopped)",  "dead)",    "parked)", NULL };
	const char *state = strchr(tt_word(trace, 1), '(');

	if (!state)
		tt_die(trace, "switch wants PREV(state)");
	ev->sched_switch.prev_tid = (int32_t)tt_number(trace, 1);
	ev->sched_switch.prev_comm = tt_comm(trace, 1);
	ev->sched_switch.prev_state = (uint8_t)tt_index(trace, states, state + 1);
	ev->sched_switch.next_tid = (int32_t)tt_number(trace, 2);
	ev->sched_switch.next_comm = tt_comm(trace, 2);
	if (trace->word_count > 3 && strcmp(trace->words[3], "prio") == 0) {
		ev->sched_switch.prev_prio = (int32_t)tt_number(trace, 4);
		ev->sched_switch.next_prio = (int32_t)tt_number(trace, 5);
	}
	/* Always recorded in the thread that leaves. */
	ev->tid = ev->sched_switch.prev_tid;
	cpu->tid = ev->sched_switch.next_tid;
	cpu->depth = 0;
}

static inline void tt_wake(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	bool has_cpu = trace->word_count > 2 && strcmp(trace->words[2], "cpu") == 0;

	(void)cpu;
	ev->wake.tid = (int32_t)tt_number(trace, 1);
	ev->wake.comm = tt_comm(trace, 1);
	ev->wake.target_cpu = has_cpu ? (int32_t)tt_number(trace, 3) : ev->cpu;
}

static inline void tt_task(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	ev->task.tid = (int32_t)tt_number(trace, 1);
	ev->task.comm = tt_comm(trace, 1);
	ev->task.parent_tid = cpu->tid;
	if (ev->type == EV_TASK_NEW && trace->word_count > 2)
		ev->task.clone_flags = 0x00010000; /* CLONE_THREAD */
	if (ev->type == EV_SCHED_FORK && trace->word_count > 2)
		ev->task.tgid = (int32_t)tt_number(trace, 2);
	if (ev->type == EV_TASK_RENAME)
		ev->task.comm = facts_keep(&trace->facts, tt_word(trace, 2));
	if (ev->type == EV_SCHED_EXEC) {
		ev->task.filename = facts_keep(&trace->facts, tt_word(trace, 2));
		ev->task.parent_tid = (int32_t)tt_number_or(trace, 3, (uint64_t)ev->task.tid);
	}
}

static inline void tt_migrate(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->migrate.tid = (int32_t)tt_number(trace, 1);
	ev->migrate.from_cpu = (int32_t)tt_number(trace, 2);
	ev->migrate.to_cpu = (int32_t)tt_number(trace, 3);
}

static inline void tt_runtime(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->runtime.tid = (int32_t)tt_number(trace, 1);
	ev->runtime.runtime_ns = tt_number(trace, 2);
}

static inline void tt_reason(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->blocked_reason.tid = (int32_t)tt_number(trace, 1);
	ev->blocked_reason.io = (uint8_t)tt_number(trace, 2);
}

static inline void tt_open(struct text_trace *trace, struct tt_cpu *cpu, char what)
{
	if (cpu->depth == TT_NEST)
		tt_die(trace, "nested too deep");
	cpu->open[cpu->depth++] = what;
}

/* An exit without its entry closes nothing. */
static inline void tt_close(struct tt_cpu *cpu, char what)
{
	if (cpu->depth && cpu->open[cpu->depth - 1] == what)
		cpu->depth--;
}

static const char *const tt_vectors[] = {
	"local_timer", "reschedule", "call_function", "call_function_single", "irq_work",
	"platform",    NULL
};
static const char *const tt_softirqs[] = { "HI",      "TIMER",	  "NET_TX",  "NET_RX",
					   "BLOCK",   "IRQ_POLL", "TASKLET", "SCHED",
					   "HRTIMER", "RCU",	  NULL };

static inline void tt_irq(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	bool soft = ev->type == EV_SOFTIRQ_ENTRY || ev->type == EV_SOFTIRQ_EXIT;
	bool vector = ev->type == EV_VECTOR_ENTRY || ev->type == EV_VECTOR_EXIT;

	if (soft)
		ev->irq.nr = (int32_t)tt_index(trace, tt_softirqs, tt_word(trace, 1));
	else if (vector)
		ev->irq.nr = (int32_t)tt_index(trace, tt_vectors, tt_word(trace, 1));
	else
		ev->irq.nr = (int32_t)tt_number(trace, 1);
	if (ev->type == EV_IRQ_EXIT)
		ev->irq.ret = (int32_t)tt_number_or(trace, 2, 1);
	if (ev->type == EV_IRQ_ENTRY)
		ev->irq.name = facts_keep(&trace->facts, tt_word(trace, 2));
	if (ev->type == EV_IRQ_ENTRY || ev->type == EV_VECTOR_ENTRY || ev->type == EV_SOFTIRQ_ENTRY)
		tt_open(trace, cpu, soft ? 's' : 'h');
}

static inline int64_t tt_call_number(struct text_trace *trace, const char *name)
{
	for (int64_t nr = 0; nr < 1024; nr++) {
		const char *there = facts_syscall(&trace->facts, nr, false);

		if (there && strcmp(there, name) == 0)
			return nr;
	}
	tt_die(trace, "no system call is called %s", name);
}

static inline void tt_call(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->syscall.nr = tt_call_number(trace, tt_word(trace, 1));
	if (ev->type == EV_SYS_EXIT)
		ev->syscall.ret = (int64_t)tt_number(trace, 2);
	for (int i = 0; ev->type == EV_SYS_ENTER && i < 6; i++)
		ev->syscall.args[i] = i + 2 < trace->word_count && *tt_word(trace, i + 2) == '/'
					      ? 0
					      : tt_number_or(trace, 2 + i, 0);
	for (int i = 2; ev->type == EV_SYS_ENTER && i < trace->word_count; i++) {
		if (*tt_word(trace, i) == '/')
			ev->syscall.path = facts_keep(&trace->facts, tt_word(trace, i));
	}
}

/* "blockedin read 3", "blockedin read 3 ended", "blockedin nothing" */
static inline void tt_blocked(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	bool in_call = strcmp(tt_word(trace, 1), "nothing") != 0;
	int last = trace->word_count;

	(void)cpu;
	ev->syscall.ended = strcmp(tt_word(trace, last - 1), "ended") == 0;
	last -= ev->syscall.ended;
	ev->syscall.nr = in_call ? tt_call_number(trace, tt_word(trace, 1)) : -1;
	for (int i = 2; i < last && i < 8; i++)
		ev->syscall.args[i - 2] = tt_number(trace, i);
}

static inline void tt_fault(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->fault.address = tt_number(trace, 1);
}

static inline void tt_timer(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	if (ev->type == EV_HRTIMER_START) {
		ev->timer.timer = tt_number(trace, 1);
		if (trace->word_count > 2)
			ev->timer.function = tt_symbol(trace, tt_word(trace, 2));
	}
	if (ev->type == EV_HRTIMER_EXPIRE) {
		ev->timer.function = tt_symbol(trace, tt_word(trace, 1));
		ev->timer.timer = tt_number_or(trace, 2, 0);
	}
}

static inline void tt_block(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->block.dev = tt_device(trace, tt_word(trace, 1));
	ev->block.sector = tt_number(trace, 2);
	if (ev->type == EV_BLOCK_REMAP) { /* DEVICE SECTOR OLD-DEVICE OLD-SECTOR */
		ev->block.old_dev = tt_device(trace, tt_word(trace, 3));
		ev->block.old_sector = tt_number(trace, 4);
		return;
	}
	ev->block.rwbs = trace->word_count > 3 ? facts_keep(&trace->facts, tt_word(trace, 3)) : "R";
	ev->block.sectors = trace->word_count > 4 ? (uint32_t)tt_number(trace, 4) : 8;
	ev->block.bytes = ev->type == EV_BLOCK_COMPLETE ? 0 : 4096;
}

static inline void tt_work(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->work.work = tt_number(trace, 1);
	if (ev->type != EV_WORK_END)
		ev->work.function = tt_symbol(trace, tt_word(trace, 2));
}

static inline void tt_ipi(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)trace;
	ev->ipi.cpu = ev->cpu;
	(void)cpu;
}

/* REQ OPCODE, or REQ FD of a file */
static inline void tt_uring(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->uring.req = tt_number(trace, 1);
	if (ev->type == EV_URING_FILE)
		ev->uring.fd = (int32_t)tt_number(trace, 2);
	else if (ev->type == EV_URING_QUEUE || ev->type == EV_URING_SUBMIT)
		ev->uring.opcode = (uint32_t)tt_number(trace, 2);
}

static inline void tt_net(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->net.skb = tt_number(trace, 1);
	ev->net.dev = facts_keep(&trace->facts, tt_word(trace, 2));
}

static inline void tt_signal(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->signal.signal = (int32_t)tt_number(trace, 1);
	ev->signal.tid = (int32_t)tt_number(trace, 2);
}

static inline void tt_lost(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	ev->lost.since_ns = tt_number(trace, 1);
	ev->lost.count = tt_number(trace, 2);
	ev->tid = -1;
	ev->context = 0;
	/* Events of programs: what runs on the CPU is known all the same. */
	if (trace->word_count > 3 && strcmp(tt_word(trace, 3), "user") == 0) {
		ev->context = EV_CTX_USER;
		return;
	}
	/* A budget: from here on so many kinds of events. */
	if (trace->word_count > 3 && strncmp(tt_word(trace, 3), "step", 4) == 0) {
		ev->lost.is_step = true;
		ev->lost.step = (uint8_t)(tt_word(trace, 3)[4] - '0');
		if (ev->lost.since_ns == ev->time_ns)
			return;
	}
	cpu->tid = -1;
	cpu->depth = 0;
}

static const char *const tt_roles[] = { "unknown", "file",    "dir",	 "pipe",     "tty",
					"device",  "socket",  "listen",	 "accepted", "connected",
					"epoll",   "eventfd", "timerfd", "signalfd", "inotify",
					"pidfd",   "other",   NULL };

static const char *const tt_watches[] = { "named", "watched", "lock", "throttled", "held", "asked",
					  "runs",  "owner",   "vtid", "room",	   NULL };

static inline void tt_fd_name(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->fd_name.tid = (int32_t)tt_number(trace, 1);
	ev->fd_name.fd = (int32_t)tt_number(trace, 2);
	ev->fd_name.name = facts_keep(&trace->facts, tt_word(trace, 3));
	ev->fd_name.role = (uint8_t)tt_index(trace, tt_roles, tt_word(trace, 4));
	if (trace->word_count > 5)
		ev->fd_name.watch = (uint8_t)tt_index(trace, tt_watches, tt_word(trace, 5));
	if (trace->word_count > 6 && ev->fd_name.watch == FD_THROTTLED)
		ev->fd_name.inode =
			throttle_request(tt_device(trace, tt_word(trace, 6)), tt_number(trace, 7));
	else if (trace->word_count > 6 && ev->fd_name.watch == FD_NAMED)
		ev->fd_name.tgid = (int32_t)tt_number(trace, 6);
	else if (trace->word_count > 6)
		ev->fd_name.inode = (uint64_t)tt_number(trace, 6);
}

static inline void tt_lock_told(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->fd_name.tid = (int32_t)tt_number(trace, 1);
	ev->fd_name.tgid = ev->fd_name.tid;
	ev->fd_name.inode = tt_number(trace, 2);
	ev->fd_name.fd = fd_of_owner((int32_t)tt_number(trace, 3));
	ev->fd_name.name = facts_keep(&trace->facts, tt_word(trace, 4));
	ev->fd_name.watch = FD_LOCK;
	/* Threads of the dump have their process. */
	for (size_t i = 0; i < trace->facts.thread_count; i++) {
		if (trace->facts.threads[i].tid == ev->fd_name.tid)
			ev->fd_name.tgid = trace->facts.threads[i].tgid;
	}
	ev->tid = -1;
}

static inline void tt_lock(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->lock.address = tt_number(trace, 1);
	if (ev->type == EV_LOCK_BEGIN)
		ev->lock.flags = (uint32_t)tt_number_or(trace, 2, 0);
}

static inline void tt_frequency(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	ev->frequency.cpu = (int32_t)tt_number(trace, 1);
	ev->frequency.khz = (uint32_t)tt_number(trace, 2);
}

static inline void tt_other(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu)
{
	(void)cpu;
	if (trace->word_count > 1)
		ev->other.name = facts_keep(&trace->facts, tt_word(trace, 1));
	if (trace->word_count > 2)
		ev->other.system = facts_keep(&trace->facts, tt_word(trace, 2));
}

static const struct tt_verb {
	const char *word;
	enum event_type type;
	void (*read)(struct text_trace *trace, struct event *ev, struct tt_cpu *cpu);
} tt_verbs[] = {
	{ "switch", EV_SCHED_SWITCH, tt_switch },
	{ "waking", EV_SCHED_WAKING, tt_wake },
	{ "wakeup", EV_SCHED_WAKEUP, tt_wake },
	{ "wakeupnew", EV_SCHED_WAKEUP_NEW, tt_wake },
	{ "newtask", EV_TASK_NEW, tt_task },
	{ "fork", EV_SCHED_FORK, tt_task },
	{ "exec", EV_SCHED_EXEC, tt_task },
	{ "exit", EV_SCHED_EXIT, tt_task },
	{ "rename", EV_TASK_RENAME, tt_task },
	{ "migrate", EV_SCHED_MIGRATE, tt_migrate },
	{ "runtime", EV_SCHED_STAT_RUNTIME, tt_runtime },
	{ "reason", EV_SCHED_BLOCKED_REASON, tt_reason }, /* TID 1 = for I/O, 0 = not */
	{ "irq", EV_IRQ_ENTRY, tt_irq },
	{ "irqexit", EV_IRQ_EXIT, tt_irq },
	{ "vector", EV_VECTOR_ENTRY, tt_irq },
	{ "vectorexit", EV_VECTOR_EXIT, tt_irq },
	{ "softirq", EV_SOFTIRQ_ENTRY, tt_irq },
	{ "softirqexit", EV_SOFTIRQ_EXIT, tt_irq },
	{ "enter", EV_SYS_ENTER, tt_call },
	{ "leave", EV_SYS_EXIT, tt_call },
	{ "blockedin", EV_BLOCKED_IN, tt_blocked },
	{ "fault", EV_FAULT_USER, tt_fault },
	{ "kernelfault", EV_FAULT_KERNEL, tt_fault },
	{ "timerstart", EV_HRTIMER_START, tt_timer },
	{ "hrtimer", EV_HRTIMER_EXPIRE, tt_timer },
	{ "hrtimerdone", EV_HRTIMER_DONE, tt_timer },
	{ "insert", EV_BLOCK_INSERT, tt_block },
	{ "issue", EV_BLOCK_ISSUE, tt_block },
	{ "complete", EV_BLOCK_COMPLETE, tt_block },
	{ "remap", EV_BLOCK_REMAP, tt_block },
	{ "queuework", EV_WORK_QUEUE, tt_work },
	{ "work", EV_WORK_START, tt_work },
	{ "workdone", EV_WORK_END, tt_work },
	{ "ringsubmit", EV_URING_SUBMIT, tt_uring },
	{ "ringready", EV_URING_READY, tt_uring },
	{ "ringdone", EV_URING_DONE, tt_uring },
	{ "ringqueue", EV_URING_QUEUE, tt_uring },
	{ "ringfile", EV_URING_FILE, tt_uring },
	{ "netqueue", EV_NET_QUEUE, tt_net },
	{ "netrx", EV_NET_RX, tt_net },
	{ "receive", EV_NET_RECEIVE, tt_net },
	{ "signal", EV_SIGNAL_GENERATE, tt_signal },
	{ "lost", EV_LOST, tt_lost },
	{ "fdname", EV_FD_NAME, tt_fd_name },
	{ "locktold", EV_FD_NAME, tt_lock_told },
	{ "lockbegin", EV_LOCK_BEGIN, tt_lock },
	{ "lockend", EV_LOCK_END, tt_lock },
	{ "ipi", EV_IPI_SEND, tt_ipi },
	{ "other", EV_OTHER, tt_other },
	{ "frequency", EV_CPU_FREQUENCY, tt_frequency },
};

/* -------------------------------------------------------------------- lines */

static inline uint8_t tt_context(const struct tt_cpu *cpu)
{
	uint8_t context = EV_CTX_KNOWN;

	for (uint32_t i = 0; i < cpu->depth; i++)
		context |= cpu->open[i] == 'h' ? EV_CTX_HARDIRQ : EV_CTX_SOFTIRQ;
	return context;
}

static inline void tt_drop_words(struct text_trace *trace, int at, int count)
{
	memmove(trace->words + at, trace->words + at + count,
		sizeof(trace->words[0]) * (size_t)(trace->word_count - at - count));
	trace->word_count -= count;
}

static inline const struct tt_verb *tt_verb(struct text_trace *trace, const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(tt_verbs); i++) {
		if (strcmp(tt_verbs[i].word, word) == 0)
			return &tt_verbs[i];
	}
	tt_die(trace, "no event is called '%s'", word);
}

static inline void tt_add(struct text_trace *trace, const struct event *ev)
{
	trace->events = vec_room(trace->events, trace->count, &trace->cap, sizeof(*trace->events));
	trace->events[trace->count++] = *ev;
}

/* TIME cpuN [by TID] VERB ARGS */
static inline void tt_event_line(struct text_trace *trace)
{
	struct event ev = { .time_ns = tt_number(trace, 0) };
	const struct tt_verb *verb;
	struct tt_cpu *cpu;
	char *end;

	if (strncmp(tt_word(trace, 1), "cpu", 3) != 0)
		tt_die(trace, "an event wants a CPU");
	ev.cpu = (uint16_t)strtoul(trace->words[1] + 3, &end, 10);
	if (*end || ev.cpu >= TT_CPUS)
		tt_die(trace, "'%s' is not a CPU", trace->words[1]);
	cpu = &trace->cpus[ev.cpu];
	tt_drop_words(trace, 0, 2);
	if (strcmp(tt_word(trace, 0), "by") == 0) {
		cpu->tid = (int32_t)tt_number(trace, 1);
		tt_drop_words(trace, 0, 2);
	}
	verb = tt_verb(trace, tt_word(trace, 0));
	ev.type = (uint8_t)verb->type;
	ev.tid = cpu->tid;
	/* Entries and exits are recorded inside of what they open or close. */
	ev.context = tt_context(cpu);
	verb->read(trace, &ev, cpu);
	if (ev.type == EV_IRQ_ENTRY || ev.type == EV_VECTOR_ENTRY || ev.type == EV_SOFTIRQ_ENTRY)
		ev.context = tt_context(cpu);
	if (ev.type == EV_IRQ_EXIT || ev.type == EV_VECTOR_EXIT)
		tt_close(cpu, 'h');
	if (ev.type == EV_SOFTIRQ_EXIT)
		tt_close(cpu, 's');
	tt_add(trace, &ev);
}

static inline void tt_fact_line(struct text_trace *trace)
{
	struct facts *facts = &trace->facts;
	const char *what = tt_word(trace, 1);

	if (strcmp(what, "no_syscalls") == 0)
		facts->has_syscalls = false;
	else if (strcmp(what, "steps") == 0)
		facts->has_syscalls = !(facts->has_some_syscalls = true);
	else if (strcmp(what, "lean") == 0)
		facts->has_syscalls = !(facts->is_lean = true);
	else if (strcmp(what, "omits_idle") == 0)
		facts->omits_idle_switches = true;
	else if (strcmp(what, "first") == 0)
		facts->first_ns = tt_number(trace, 2);
	else if (strcmp(what, "last") == 0)
		facts->last_ns = tt_number(trace, 2);
	else
		tt_die(trace, "no fact is called '%s'", what);
}

static inline void tt_thread_line(struct text_trace *trace)
{
	struct facts *facts = &trace->facts;

	facts->threads = vec_room(facts->threads, facts->thread_count, &trace->thread_cap,
				  sizeof(*facts->threads));
	facts->threads[facts->thread_count++] = (struct fact_thread){
		.tid = (int32_t)tt_number(trace, 1),
		.tgid = (int32_t)tt_number(trace, 2),
		.ppid = (int32_t)tt_number(trace, 3),
		.state = tt_word(trace, 4)[0],
		.comm = facts_keep(facts, tt_word(trace, 5)),
		.cmdline = "",
		.cgroup = "",
		.kernel = trace->word_count > 6,
	};
}

static inline void tt_seen_in_line(struct text_trace *trace)
{
	struct fact_thread *thread = &trace->facts.threads[trace->facts.thread_count - 1];

	thread->call_ns = tt_number(trace, 1);
	thread->call = (int32_t)tt_call_number(trace, tt_word(trace, 2));
	thread->arg0 = tt_number_or(trace, 3, 0);
	thread->arg1 = tt_number_or(trace, 4, 0);
	thread->arg2 = tt_number_or(trace, 5, 0);
	thread->untimed = tt_number_or(trace, 6, 0) != 0;
}

/* Of a pipe, how it is open. */
static inline uint8_t tt_open_as(struct text_trace *trace, const char *word)
{
	static const char *const words[] = { "writes", "reads", NULL };

	return tt_index(trace, words, word) ? FD_STAYS | FD_READS : FD_STAYS;
}

static inline void tt_fd_line(struct text_trace *trace)
{
	struct facts *facts = &trace->facts;

	facts->fds = vec_room(facts->fds, facts->fd_count, &trace->fd_cap, sizeof(*facts->fds));
	facts->fds[facts->fd_count++] = (struct fact_fd){
		.tgid = (int32_t)tt_number(trace, 1),
		.fd = (int32_t)tt_number(trace, 2),
		.role = (uint8_t)tt_index(trace, tt_roles, tt_word(trace, 3)) |
			(trace->word_count > 5 ? tt_open_as(trace, tt_word(trace, 5)) : 0),
		.name = facts_keep(facts, tt_word(trace, 4)),
	};
}

static inline void tt_epoll_line(struct text_trace *trace)
{
	struct facts *facts = &trace->facts;

	facts->epolls = vec_room(facts->epolls, facts->epoll_count, &trace->epoll_cap,
				 sizeof(*facts->epolls));
	facts->epolls[facts->epoll_count++] = (struct fact_epoll){
		.tgid = (int32_t)tt_number(trace, 1),
		.epoll = (int32_t)tt_number(trace, 2),
		.target = (int32_t)tt_number(trace, 3),
	};
}

/* waits TIME TID CALL OBJECT WHO|0 [process] [HOW]: in order of TID */
static inline void tt_waits_line(struct text_trace *trace)
{
	struct facts *facts = &trace->facts;
	bool is_process = trace->word_count > 6 && strcmp(trace->words[6], "process") == 0;

	facts->waits =
		vec_room(facts->waits, facts->wait_count, &trace->wait_cap, sizeof(*facts->waits));
	facts->waits[facts->wait_count++] = (struct fact_wait){
		.seen_ns = tt_number(trace, 1),
		.tid = (int32_t)tt_number(trace, 2),
		.call = facts_keep(facts, trace->words[3]),
		.object = facts_keep(facts, trace->words[4]),
		.who = (int32_t)tt_number(trace, 5),
		.is_process = is_process,
		.how = facts_keep(facts, trace->words[trace->word_count - 1]),
		.word = strcmp(trace->words[3], "futex") == 0 ? 0x1000 : 0,
	};
}

/* Cut 'line' into words; a '#' begins a comment. */
static inline void tt_split(struct text_trace *trace, char *line)
{
	trace->word_count = 0;
	while (true) {
		line += strspn(line, " \t");
		if (!*line || *line == '#')
			return;
		if (trace->word_count == TT_WORDS)
			tt_die(trace, "too many words");
		if (*line == '"') {
			trace->words[trace->word_count++] = ++line;
			line += strcspn(line, "\"");
		} else {
			trace->words[trace->word_count++] = line;
			line += strcspn(line, " \t");
		}
		if (*line)
			*line++ = '\0';
	}
}

static inline void tt_line(struct text_trace *trace, char *line)
{
	tt_split(trace, line);
	if (trace->word_count == 0)
		return;
	if (strcmp(trace->words[0], "facts") == 0)
		tt_fact_line(trace);
	else if (strcmp(trace->words[0], "thread") == 0)
		tt_thread_line(trace);
	else if (strcmp(trace->words[0], "seenin") == 0)
		tt_seen_in_line(trace);
	else if (strcmp(trace->words[0], "fd") == 0)
		tt_fd_line(trace);
	else if (strcmp(trace->words[0], "epoll") == 0)
		tt_epoll_line(trace);
	else if (strcmp(trace->words[0], "waits") == 0)
		tt_waits_line(trace);
	else
		tt_event_line(trace);
}

/* ------------------------------------------------------------------- source */

static inline int tt_source_next(struct source *source, const struct event **out_event,
				 struct err *err)
{
	struct text_trace *trace = (struct text_trace *)source;

	(void)err;
	if (trace->at == trace->count)
		return 0;
	*out_event = &trace->events[trace->at++];
	return 1;
}

static inline int tt_source_seek(struct source *source, uint64_t time_ns, struct err *err)
{
	struct text_trace *trace = (struct text_trace *)source;

	(void)err;
	trace->at = 0;
	while (trace->at < trace->count && trace->events[trace->at].time_ns < time_ns)
		trace->at++;
	return 0;
}

static inline void tt_source_close(struct source *source)
{
	(void)source; /* the trace belongs to the test */
}

/* An empty trace: "x86_64", with system calls, from 0 on. */
static inline struct text_trace *text_trace_new(void)
{
	static const struct source_ops ops = { tt_source_next, tt_source_seek, tt_source_close };
	struct text_trace *trace = xcalloc(1, sizeof(*trace));

	trace->source.ops = &ops;
	trace->facts.arch = "x86_64";
	trace->facts.has_syscalls = true;
	trace->facts.complete = true;
	trace->facts.host = trace->facts.kernel = trace->facts.format = "";
	trace->facts.target_status = -1;
	for (int i = 0; i < TT_CPUS; i++)
		trace->cpus[i].tid = -1;
	return trace;
}

/* Add the lines of 'text'. A mistake in it ends the program: it is the test's own. */
static inline void text_trace_add(struct text_trace *trace, const char *text)
{
	AUTO_FREE char *copy = xstrdup(text);
	char *line, *rest = copy;

	while ((line = strsep(&rest, "\n"))) {
		trace->line++;
		tt_line(trace, line);
	}
}

static inline struct text_trace *text_trace_of(const char *text)
{
	struct text_trace *trace = text_trace_new();

	text_trace_add(trace, text);
	return trace;
}

static inline void text_trace_free(struct text_trace *trace)
{
	if (!trace)
		return;
	facts_fini(&trace->facts);
	free(trace->events);
	free(trace);
}

#endif
