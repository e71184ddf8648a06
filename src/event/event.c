/* event.c - the names of the event types. */
#include "event/event.h"

#include <stddef.h>

static const char *const names[EV_TYPE_COUNT] = {
	[EV_NONE] = "none",
	[EV_LOST] = "lost_events",
	[EV_OTHER] = "other",
	[EV_SCHED_SWITCH] = "sched_switch",
	[EV_SCHED_WAKING] = "sched_waking",
	[EV_SCHED_WAKEUP] = "sched_wakeup",
	[EV_SCHED_WAKEUP_NEW] = "sched_wakeup_new",
	[EV_SCHED_FORK] = "sched_process_fork",
	[EV_SCHED_EXEC] = "sched_process_exec",
	[EV_SCHED_EXIT] = "sched_process_exit",
	[EV_SCHED_MIGRATE] = "sched_migrate_task",
	[EV_SCHED_PI_SETPRIO] = "sched_pi_setprio",
	[EV_SCHED_STAT_RUNTIME] = "sched_stat_runtime",
	[EV_SCHED_BLOCKED_REASON] = "sched_blocked_reason",
	[EV_TASK_NEW] = "task_newtask",
	[EV_TASK_RENAME] = "task_rename",
	[EV_IRQ_ENTRY] = "irq_handler_entry",
	[EV_IRQ_EXIT] = "irq_handler_exit",
	[EV_VECTOR_ENTRY] = "irq_vector_entry",
	[EV_VECTOR_EXIT] = "irq_vector_exit",
	[EV_SOFTIRQ_ENTRY] = "softirq_entry",
	[EV_SOFTIRQ_EXIT] = "softirq_exit",
	[EV_SOFTIRQ_RAISE] = "softirq_raise",
	[EV_SYS_ENTER] = "sys_enter",
	[EV_SYS_EXIT] = "sys_exit",
	[EV_FAULT_USER] = "page_fault_user",
	[EV_FAULT_KERNEL] = "page_fault_kernel",
	[EV_BLOCK_INSERT] = "block_rq_insert",
	[EV_BLOCK_ISSUE] = "block_rq_issue",
	[EV_BLOCK_COMPLETE] = "block_rq_complete",
	[EV_WORK_QUEUE] = "workqueue_queue_work",
	[EV_WORK_START] = "workqueue_execute_start",
	[EV_WORK_END] = "workqueue_execute_end",
	[EV_HRTIMER_START] = "hrtimer_start",
	[EV_HRTIMER_EXPIRE] = "hrtimer_expire_entry",
	[EV_HRTIMER_DONE] = "hrtimer_expire_exit",
	[EV_TIMER_EXPIRE] = "timer_expire_entry",
	[EV_TIMER_DONE] = "timer_expire_exit",
	[EV_LOCK_BEGIN] = "contention_begin",
	[EV_LOCK_END] = "contention_end",
	[EV_NET_QUEUE] = "net_dev_queue",
	[EV_NET_RX] = "netif_rx",
	[EV_NET_RECEIVE] = "netif_receive_skb",
	[EV_SIGNAL_GENERATE] = "signal_generate",
	[EV_SIGNAL_DELIVER] = "signal_deliver",
	[EV_IPI_SEND] = "ipi_send_cpu",
	[EV_STACK] = "kernel_stack",
	[EV_FD_NAME] = "fd_name",
	[EV_USER_LOCK] = "user_lock",
	[EV_URING_READY] = "io_uring_task_add",
	[EV_URING_DONE] = "io_uring_complete",
	[EV_URING_QUEUE] = "io_uring_queue_async_work",
	[EV_URING_FILE] = "io_uring_file_get",
	[EV_URING_SUBMIT] = "io_uring_submit_req",
	[EV_BLOCKED_IN] = "blocked_in",
	[EV_BLOCK_REMAP] = "block_bio_remap",
	[EV_CPU_FREQUENCY] = "cpu_frequency",
};

const char *event_type_name(enum event_type type)
{
	return (unsigned int)type < EV_TYPE_COUNT ? names[type] : "unknown";
}

const char *event_softirq_name(uint32_t nr)
{
	static const char *const softirqs[] = { "HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
						"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU" };

	return nr < sizeof(softirqs) / sizeof(softirqs[0]) ? softirqs[nr] : NULL;
}

const char *event_vector_name(uint32_t id)
{
	static const char *const vectors[VECTOR_COUNT] = {
		[VECTOR_LOCAL_TIMER] = "local timer",
		[VECTOR_RESCHEDULE] = "reschedule",
		[VECTOR_CALL_FUNCTION] = "call function",
		[VECTOR_CALL_FUNCTION_SINGLE] = "call function single",
		[VECTOR_IRQ_WORK] = "irq work",
		[VECTOR_X86_PLATFORM] = "platform",
		[VECTOR_ERROR] = "APIC error",
		[VECTOR_SPURIOUS] = "spurious",
		[VECTOR_THERMAL] = "thermal",
		[VECTOR_THRESHOLD] = "threshold",
		[VECTOR_DEFERRED_ERROR] = "deferred error",
		[VECTOR_OTHER] = "other",
	};

	return id < VECTOR_COUNT ? vectors[id] : NULL;
}
