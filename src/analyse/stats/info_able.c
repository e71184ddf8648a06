/* info_able.c - which questions a trace can answer, by the events that it has. */
#include <string.h>

#include "analyse/stats/info_int.h"
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

/* By enum info_question. */
static const struct row {
	enum rests_on on;
	struct need needs[INFO_NEEDS];
} rows[INFO_QUESTIONS] = {
	[INFO_WHY] = { ON_EVENTS,
		       { { EV_SCHED_SWITCH, EV_NONE, "sched:sched_switch" },
			 { EV_SCHED_WAKING, EV_SCHED_WAKEUP, "sched:sched_waking" } } },
	[INFO_PROCESSES] = { ON_EVENTS,
			     { { EV_SCHED_FORK, EV_TASK_NEW, "sched:sched_process_fork" },
			       { EV_SCHED_EXEC, EV_NONE, "sched:sched_process_exec" },
			       { EV_SCHED_EXIT, EV_NONE, "sched:sched_process_exit" } } },
	[INFO_SYSTEM_CALLS] = { ON_EVENTS,
				{ { EV_SYS_ENTER, EV_NONE, "raw_syscalls:sys_enter" },
				  { EV_SYS_EXIT, EV_NONE, "raw_syscalls:sys_exit" } } },
	[INFO_PAGE_FAULTS] = { ON_EVENTS,
			       { { EV_FAULT_USER, EV_NONE, "exceptions:page_fault_user" } } },
	[INFO_FILE_NAMES] = { ON_FD_NAMES, { { 0 } } },
	[INFO_INTERRUPTS] = { ON_EVENTS,
			      { { EV_IRQ_ENTRY, EV_NONE, "irq:irq_handler_entry" },
				{ EV_IRQ_EXIT, EV_NONE, "irq:irq_handler_exit" } } },
	[INFO_SOFTIRQS] = { ON_EVENTS,
			    { { EV_SOFTIRQ_ENTRY, EV_NONE, "irq:softirq_entry" },
			      { EV_SOFTIRQ_EXIT, EV_NONE, "irq:softirq_exit" } } },
	[INFO_TIMERS] = { ON_EVENTS,
			  { { EV_HRTIMER_EXPIRE, EV_NONE, "timer:hrtimer_expire_entry" },
			    { EV_VECTOR_ENTRY, EV_IRQ_ENTRY, "irq_vectors:local_timer_entry" } } },
	[INFO_DISKS] = { ON_EVENTS,
			 { { EV_BLOCK_ISSUE, EV_BLOCK_INSERT, "block:block_rq_issue" },
			   { EV_BLOCK_COMPLETE, EV_NONE, "block:block_rq_complete" } } },
	[INFO_NETWORK] = { ON_EVENTS,
			   { { EV_NET_QUEUE, EV_NONE, "net:net_dev_queue" },
			     { EV_NET_RECEIVE, EV_NET_RX, "net:netif_receive_skb" } } },
	[INFO_KERNEL_WORK] = { ON_EVENTS,
			       { { EV_WORK_QUEUE, EV_NONE, "workqueue:workqueue_queue_work" },
				 { EV_WORK_START, EV_NONE, "workqueue:workqueue_execute_start" },
				 { EV_WORK_END, EV_NONE, "workqueue:workqueue_execute_end" } } },
	[INFO_KERNEL_LOCKS] = { ON_EVENTS,
				{ { EV_LOCK_BEGIN, EV_NONE, "lock:contention_begin" },
				  { EV_LOCK_END, EV_NONE, "lock:contention_end" } } },
	[INFO_SIGNALS] = { ON_EVENTS,
			   { { EV_SIGNAL_GENERATE, EV_NONE, "signal:signal_generate" } } },
	[INFO_KERNEL_STACKS] = { ON_EVENTS, { { EV_STACK, EV_NONE, "ftrace:kernel_stack" } } },
	[INFO_USER_EVENTS] = { ON_USER_EVENTS, { { 0 } } },
	[INFO_USER_LOCKS] = { ON_USER_LOCKS, { { 0 } } },
	[INFO_DELAYS] = { ON_ACCOUNTING, { { 0 } } },
};

static bool has(const struct info_work *work, uint8_t type)
{
	return type != EV_NONE && (work->types[type] || work->recorded[type]);
}

/* Returns whether any is missing. */
static bool find_missing(const struct info_work *work, const struct row *row,
			 struct info_ability *ability)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(row->needs) && row->needs[i].title; i++) {
		const struct need *need = &row->needs[i];

		if (!has(work, need->type) && !has(work, need->instead))
			ability->missing[count++] = need->title;
	}
	return count > 0;
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

static enum info_lack lack_of(const struct info *info, const struct row *row,
			      struct info_ability *ability)
{
	const struct info_work *work = info->work;

	switch (row->on) {
	case ON_EVENTS:
		return find_missing(work, row, ability) ? INFO_LACKS_EVENTS : INFO_LACKS_NOTHING;
	case ON_FD_NAMES:
		return work->types[EV_FD_NAME] || info->facts->fd_count ? INFO_LACKS_NOTHING
									: INFO_LACKS_FD_NAMES;
	case ON_USER_EVENTS:
		return has_user_events(info) ? INFO_LACKS_NOTHING : INFO_LACKS_USER_EVENTS;
	case ON_USER_LOCKS:
		return has_user_locks(info) ? INFO_LACKS_NOTHING : INFO_LACKS_USER_LOCKS;
	case ON_ACCOUNTING:
		break;
	}
	return INFO_ASKS_THE_KERNEL;
}

void info_find_abilities(struct info *info)
{
	for (size_t i = 0; i < INFO_QUESTIONS; i++)
		info->abilities[i].lack = lack_of(info, &rows[i], &info->abilities[i]);
}
