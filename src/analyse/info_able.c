/* info_able.c - which questions a trace can answer, by the events that it has. */
#include <stdlib.h>
#include <string.h>

#include "analyse/info_int.h"
#include "base/mem.h"
#include "event/facts.h"

/* What an answer rests on beside types of events. */
enum rests_on {
	ON_EVENTS,
	ON_FD_NAMES,
	ON_USER_EVENTS,
	ON_USER_LOCKS,
	ON_ACCOUNTING, /* no trace has it */
};

struct need {
	uint8_t type;
	uint8_t instead;   /* enum event_type that is as good; EV_NONE = there is none */
	const char *title; /* as record --events takes it */
};

static const struct row {
	const char *name;
	const char *gives;
	const char *remedy;
	enum rests_on on;
	struct need needs[4];
} rows[] = {
	{ "why",
	  "what each thread waited for, and who ended the wait",
	  "holdup record",
	  ON_EVENTS,
	  { { EV_SCHED_SWITCH, EV_NONE, "sched:sched_switch" },
	    { EV_SCHED_WAKING, EV_SCHED_WAKEUP, "sched:sched_waking" } } },
	{ "processes",
	  "births, programs and ends of threads",
	  "holdup record",
	  ON_EVENTS,
	  { { EV_SCHED_FORK, EV_TASK_NEW, "sched:sched_process_fork" },
	    { EV_SCHED_EXEC, EV_NONE, "sched:sched_process_exec" },
	    { EV_SCHED_EXIT, EV_NONE, "sched:sched_process_exit" } } },
	{ "system calls",
	  "which call a thread waited or worked in",
	  "holdup record --events full",
	  ON_EVENTS,
	  { { EV_SYS_ENTER, EV_NONE, "raw_syscalls:sys_enter" },
	    { EV_SYS_EXIT, EV_NONE, "raw_syscalls:sys_exit" } } },
	{ "page faults",
	  "faults, and what they cost",
	  "holdup record --events full",
	  ON_EVENTS,
	  { { EV_FAULT_USER, EV_NONE, "exceptions:page_fault_user" } } },
	{ "file names",
	  "what descriptors name: files, sockets, pipes",
	  "holdup record (as root: a BPF program learns them)",
	  ON_FD_NAMES,
	  { { 0 } } },
	{ "interrupts",
	  "time in interrupts, and waits that devices ended",
	  "holdup record",
	  ON_EVENTS,
	  { { EV_IRQ_ENTRY, EV_NONE, "irq:irq_handler_entry" },
	    { EV_IRQ_EXIT, EV_NONE, "irq:irq_handler_exit" } } },
	{ "softirqs",
	  "time in softirqs, and waits that they ended",
	  "holdup record",
	  ON_EVENTS,
	  { { EV_SOFTIRQ_ENTRY, EV_NONE, "irq:softirq_entry" },
	    { EV_SOFTIRQ_EXIT, EV_NONE, "irq:softirq_exit" } } },
	{ "timers",
	  "waits that a timer ended",
	  "holdup record",
	  ON_EVENTS,
	  { { EV_HRTIMER_EXPIRE, EV_NONE, "timer:hrtimer_expire_entry" },
	    { EV_VECTOR_ENTRY, EV_IRQ_ENTRY, "irq_vectors:local_timer_entry" } } },
	{ "disks",
	  "waits that a disk ended, by request",
	  "holdup record",
	  ON_EVENTS,
	  { { EV_BLOCK_ISSUE, EV_BLOCK_INSERT, "block:block_rq_issue" },
	    { EV_BLOCK_COMPLETE, EV_NONE, "block:block_rq_complete" } } },
	{ "network",
	  "waits that a packet ended, by device and sender",
	  "holdup record",
	  ON_EVENTS,
	  { { EV_NET_QUEUE, EV_NONE, "net:net_dev_queue" },
	    { EV_NET_RECEIVE, EV_NET_RX, "net:netif_receive_skb" } } },
	{ "kernel work",
	  "waits that a kworker ended, and who had asked for it",
	  "holdup record",
	  ON_EVENTS,
	  { { EV_WORK_QUEUE, EV_NONE, "workqueue:workqueue_queue_work" },
	    { EV_WORK_START, EV_NONE, "workqueue:workqueue_execute_start" },
	    { EV_WORK_END, EV_NONE, "workqueue:workqueue_execute_end" } } },
	{ "kernel locks",
	  "time that threads spin or sleep on locks of the kernel",
	  "holdup record",
	  ON_EVENTS,
	  { { EV_LOCK_BEGIN, EV_NONE, "lock:contention_begin" },
	    { EV_LOCK_END, EV_NONE, "lock:contention_end" } } },
	{ "signals",
	  "who sent a signal that ended a wait",
	  "holdup record",
	  ON_EVENTS,
	  { { EV_SIGNAL_GENERATE, EV_NONE, "signal:signal_generate" } } },
	{ "kernel stacks",
	  "where in the kernel a thread blocked",
	  "holdup record --stacks",
	  ON_EVENTS,
	  { { EV_STACK, EV_NONE, "ftrace:kernel_stack" } } },
	{ "user events",
	  "what programs say of themselves (libholdup, LTTng-UST)",
	  "holdup record --user '*'",
	  ON_USER_EVENTS,
	  { { 0 } } },
	{ "user locks",
	  "who held which lock of a program",
	  "holdup record --locks",
	  ON_USER_LOCKS,
	  { { 0 } } },
	{ "delays",
	  "the kernel's own accounting of delays",
	  "holdup delays",
	  ON_ACCOUNTING,
	  { { 0 } } },
};

static bool has(const struct info_work *work, uint8_t type)
{
	return type != EV_NONE && (work->types[type] || work->recorded[type]);
}

static char *join(char *text, const char *more)
{
	char *joined = text ? xasprintf("%s, %s", text, more) : xstrdup(more);

	free(text);
	return joined;
}

static char *missing_events(const struct info_work *work, const struct row *row)
{
	char *missing = NULL;

	for (size_t i = 0; i < ARRAY_LEN(row->needs) && row->needs[i].title; i++) {
		const struct need *need = &row->needs[i];

		if (!has(work, need->type) && !has(work, need->instead))
			missing = join(missing, need->title);
	}
	return missing;
}

static bool has_user_locks(const struct info *info)
{
	if (info->work->user_locks)
		return true;
	for (size_t i = 0; i < info->type_count; i++) {
		if (strcmp(info->types[i].title, "lock:acquired") == 0)
			return true;
	}
	return false;
}

/* Events that are no kernel's count as a program's where nothing says whose they are. */
static bool has_user_events(const struct info *info)
{
	if (info->work->user_events)
		return true;
	for (size_t i = 0; i < info->type_count; i++) {
		if (strncmp(info->types[i].title, "ctf:", 4) == 0)
			return true;
	}
	return false;
}

static char *missing_of(const struct info *info, const struct row *row)
{
	const struct info_work *work = info->work;

	switch (row->on) {
	case ON_EVENTS:
		return missing_events(work, row);
	case ON_FD_NAMES:
		return work->types[EV_FD_NAME] || info->facts->fd_count
			       ? NULL
			       : xstrdup("names of descriptors");
	case ON_USER_EVENTS:
		return has_user_events(info) ? NULL : xstrdup("events of programs");
	case ON_USER_LOCKS:
		return has_user_locks(info) ? NULL : xstrdup("lock:acquired, lock:released ...");
	case ON_ACCOUNTING:
		break;
	}
	return xstrdup("no trace has them: they are asked of the running kernel");
}

void info_find_abilities(struct info *info)
{
	info->abilities = xcalloc(ARRAY_LEN(rows), sizeof(*info->abilities));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *missing = missing_of(info, &rows[i]);

		info->abilities[info->ability_count++] = (struct info_ability){
			.name = rows[i].name,
			.gives = rows[i].gives,
			.possible = !missing,
			.missing = missing,
			.remedy = missing ? rows[i].remedy : NULL,
		};
	}
}
