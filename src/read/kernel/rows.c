/*
 * rows.c - the table of kernel events.
 *
 * A format that lacks a field leaves the member at 0. Two fields for one member are
 * two lines: kernels have one of them.
 */
#include "read/kernel/rows.h"

#include <string.h>

#include "base/mem.h"

static const struct target switch_fields[] = { SWITCH_TARGETS("pid"), { 0 } };
static const struct target wake_fields[] = { WAKE_TARGETS("pid"), { 0 } };
static const struct target fork_fields[] = { FORK_TARGETS("pid"), { 0 } };
static const struct target exec_fields[] = { EXEC_TARGETS("pid"), { 0 } };

static const struct target exit_fields[] = {
	EXIT_TARGETS("pid"),
	TARGET("group_dead", TO_U8, task.group_dead),
	TARGET("group_dead", TO_TRUE, task.group_dead_known),
	{ 0 },
};

static const struct target setprio_fields[] = { SETPRIO_TARGETS("pid"), { 0 } };

static const struct target newtask_fields[] = {
	TARGET("comm", TO_COMM, task.comm),
	TARGET("pid", TO_32, task.tid),
	TARGET("clone_flags", TO_64, task.clone_flags),
	{ 0 },
};

static const struct target rename_fields[] = {
	TARGET("newcomm", TO_COMM, task.comm),
	TARGET("pid", TO_32, task.tid),
	{ 0 },
};

static const struct target migrate_fields[] = { MIGRATE_TARGETS("pid"), { 0 } };
static const struct target frequency_fields[] = { FREQUENCY_TARGETS, { 0 } };
static const struct target runtime_fields[] = { RUNTIME_TARGETS("pid"), { 0 } };

/* Printed as iowait: so it is called in text. */
static const struct target reason_fields[] = {
	TARGET("pid", TO_32, blocked_reason.tid),
	TARGET("io_wait", TO_U8, blocked_reason.io),
	TARGET("iowait", TO_U8, blocked_reason.io),
	{ 0 },
};

const struct target kernel_irq_fields[] = {
	TARGET("irq", TO_32, irq.nr),
	TARGET("name", TO_TEXT, irq.name),
	TARGET("ret", TO_32, irq.ret),
	{ 0 },
};

const struct target kernel_softirq_fields[] = {
	TARGET("vec", TO_32, irq.nr),
	{ 0 },
};

const struct target kernel_no_fields[] = { { 0 } };

static const struct target sys_enter_fields[] = {
	TARGET("id", TO_64, syscall.nr),
	TARGET("args", TO_ARGS, syscall.args),
	{ 0 },
};

static const struct target sys_exit_fields[] = {
	TARGET("id", TO_64, syscall.nr),
	TARGET("ret", TO_64, syscall.ret),
	{ 0 },
};

/* Of our own: see texts_write_formats(). */
static const struct target blocked_fields[] = {
	TARGET("id", TO_64, syscall.nr),
	TARGET("compat", TO_U8, syscall.compat),
	TARGET("ended", TO_U8, syscall.ended),
	TARGET("args", TO_ARGS, syscall.args),
	{ 0 },
};

const struct target kernel_fault_fields[] = {
	TARGET("address", TO_64, fault.address),
	TARGET("ip", TO_64, fault.ip),
	TARGET("error_code", TO_64, fault.error_code),
	{ 0 },
};

const struct target kernel_block_fields[] = {
	TARGET("dev", TO_32, block.dev),
	TARGET("sector", TO_64, block.sector),
	TARGET("nr_sector", TO_32, block.sectors),
	TARGET("bytes", TO_32, block.bytes),
	TARGET("errors", TO_32, block.error), /* before 5.x */
	TARGET("error", TO_32, block.error),
	TARGET("rwbs", TO_COMM, block.rwbs),
	TARGET("comm", TO_COMM, block.comm),
	TARGET("old_dev", TO_32, block.old_dev),
	TARGET("old_sector", TO_64, block.old_sector),
	{ 0 },
};

static const struct target work_fields[] = {
	TARGET("work", TO_64, work.work),
	TARGET("function", TO_64, work.function),
	TARGET("workqueue", TO_TEXT, work.workqueue), /* a pointer on old kernels: left out */
	TARGET("cpu", TO_32, work.cpu),
	{ 0 },
};

const struct target kernel_hrtimer_fields[] = {
	TARGET("hrtimer", TO_64, timer.timer),
	TARGET("function", TO_64, timer.function),
	TARGET("expires", TO_64, timer.expires_ns),
	{ 0 },
};

const struct target kernel_timer_fields[] = {
	TARGET("timer", TO_64, timer.timer),
	TARGET("function", TO_64, timer.function),
	{ 0 },
};

static const struct target lock_fields[] = {
	TARGET("lock_addr", TO_64, lock.address),
	TARGET("flags", TO_32, lock.flags),
	TARGET("ret", TO_32, lock.ret),
	{ 0 },
};

static const struct target uring_fields[] = {
	TARGET("req", TO_64, uring.req),
	TARGET("fd", TO_32, uring.fd),
	TARGET("opcode", TO_32, uring.opcode),
	{ 0 },
};

const struct target kernel_net_fields[] = {
	TARGET("skbaddr", TO_64, net.skb),
	TARGET("len", TO_32, net.len),
	TARGET("name", TO_TEXT, net.dev),
	{ 0 },
};

const struct target kernel_signal_fields[] = {
	TARGET("sig", TO_32, signal.signal),  TARGET("code", TO_32, signal.code),
	TARGET("pid", TO_32, signal.tid),     TARGET("result", TO_32, signal.result),
	TARGET("comm", TO_COMM, signal.comm), { 0 },
};

static const struct target signal_deliver_fields[] = {
	TARGET("sig", TO_32, signal.signal),
	TARGET("code", TO_32, signal.code),
	TARGET("common_pid", TO_32, signal.tid), /* it gets its own signal */
	{ 0 },
};

static const struct target ipi_fields[] = {
	TARGET("cpu", TO_32, ipi.cpu),
	TARGET("callback", TO_64, ipi.callback),
	{ 0 },
};

/* 'size' counts the addresses; the array in the format is as long as it likes. */
static const struct target stack_fields[] = {
	TARGET("size", TO_32, stack.count),
	TARGET("caller", TO_STACK, stack),
	{ 0 },
};

static const struct row rows[] = {
	{ "sched/sched_switch", EV_SCHED_SWITCH, switch_fields, 0 },
	{ "sched/sched_waking", EV_SCHED_WAKING, wake_fields, 0 },
	{ "sched/sched_wakeup", EV_SCHED_WAKEUP, wake_fields, 0 },
	{ "sched/sched_wakeup_new", EV_SCHED_WAKEUP_NEW, wake_fields, 0 },
	{ "sched/sched_process_fork", EV_SCHED_FORK, fork_fields, 0 },
	{ "sched/sched_process_exec", EV_SCHED_EXEC, exec_fields, 0 },
	{ "sched/sched_process_exit", EV_SCHED_EXIT, exit_fields, 0 },
	{ "sched/sched_migrate_task", EV_SCHED_MIGRATE, migrate_fields, 0 },
	{ "power/cpu_frequency", EV_CPU_FREQUENCY, frequency_fields, 0 },
	{ "sched/sched_pi_setprio", EV_SCHED_PI_SETPRIO, setprio_fields, 0 },
	{ "sched/sched_stat_runtime", EV_SCHED_STAT_RUNTIME, runtime_fields, 0 },
	{ "sched/sched_blocked_reason", EV_SCHED_BLOCKED_REASON, reason_fields, 0 },
	{ "task/task_newtask", EV_TASK_NEW, newtask_fields, 0 },
	{ "task/task_rename", EV_TASK_RENAME, rename_fields, 0 },
	{ "irq/irq_handler_entry", EV_IRQ_ENTRY, kernel_irq_fields, 0 },
	{ "irq/irq_handler_exit", EV_IRQ_EXIT, kernel_irq_fields, 0 },
	{ "irq/softirq_entry", EV_SOFTIRQ_ENTRY, kernel_softirq_fields, 0 },
	{ "irq/softirq_exit", EV_SOFTIRQ_EXIT, kernel_softirq_fields, 0 },
	{ "irq/softirq_raise", EV_SOFTIRQ_RAISE, kernel_softirq_fields, 0 },
	VECTOR_ROWS("irq_vectors/"),
	/* ARM: the reason is an address of a text in the kernel, which is not recorded. */
	{ "ipi/ipi_entry", EV_VECTOR_ENTRY, kernel_no_fields, VECTOR_OTHER },
	{ "ipi/ipi_exit", EV_VECTOR_EXIT, kernel_no_fields, VECTOR_OTHER },
	{ "raw_syscalls/sys_enter", EV_SYS_ENTER, sys_enter_fields, 0 },
	{ "raw_syscalls/sys_exit", EV_SYS_EXIT, sys_exit_fields, 0 },
	{ "holdup/blocked_in", EV_BLOCKED_IN, blocked_fields, 0 },
	{ "exceptions/page_fault_user", EV_FAULT_USER, kernel_fault_fields, 0 },
	{ "exceptions/page_fault_kernel", EV_FAULT_KERNEL, kernel_fault_fields, 0 },
	{ "block/block_rq_insert", EV_BLOCK_INSERT, kernel_block_fields, 0 },
	{ "block/block_rq_issue", EV_BLOCK_ISSUE, kernel_block_fields, 0 },
	{ "block/block_rq_complete", EV_BLOCK_COMPLETE, kernel_block_fields, 0 },
	{ "block/block_bio_remap", EV_BLOCK_REMAP, kernel_block_fields, 0 },
	{ "workqueue/workqueue_queue_work", EV_WORK_QUEUE, work_fields, 0 },
	{ "workqueue/workqueue_execute_start", EV_WORK_START, work_fields, 0 },
	{ "workqueue/workqueue_execute_end", EV_WORK_END, work_fields, 0 },
	{ "timer/hrtimer_start", EV_HRTIMER_START, kernel_hrtimer_fields, 0 },
	{ "timer/hrtimer_expire_entry", EV_HRTIMER_EXPIRE, kernel_hrtimer_fields, 0 },
	{ "timer/hrtimer_expire_exit", EV_HRTIMER_DONE, kernel_hrtimer_fields, 0 },
	{ "timer/timer_expire_entry", EV_TIMER_EXPIRE, kernel_timer_fields, 0 },
	{ "timer/timer_expire_exit", EV_TIMER_DONE, kernel_timer_fields, 0 },
	{ "lock/contention_begin", EV_LOCK_BEGIN, lock_fields, 0 },
	{ "lock/contention_end", EV_LOCK_END, lock_fields, 0 },
	{ "io_uring/io_uring_task_add", EV_URING_READY, uring_fields, 0 },
	{ "io_uring/io_uring_complete", EV_URING_DONE, uring_fields, 0 },
	{ "io_uring/io_uring_queue_async_work", EV_URING_QUEUE, uring_fields, 0 },
	{ "io_uring/io_uring_file_get", EV_URING_FILE, uring_fields, 0 },
	{ "io_uring/io_uring_submit_req", EV_URING_SUBMIT, uring_fields, 0 },
	{ "net/net_dev_queue", EV_NET_QUEUE, kernel_net_fields, 0 },
	{ "net/netif_rx", EV_NET_RX, kernel_net_fields, 0 },
	{ "net/netif_receive_skb", EV_NET_RECEIVE, kernel_net_fields, 0 },
	{ "signal/signal_generate", EV_SIGNAL_GENERATE, kernel_signal_fields, 0 },
	{ "signal/signal_deliver", EV_SIGNAL_DELIVER, signal_deliver_fields, 0 },
	{ "ipi/ipi_send_cpu", EV_IPI_SEND, ipi_fields, 0 },
	{ "ftrace/kernel_stack", EV_STACK, stack_fields, 0 },
};

/* Events of one call each, "syscalls/sys_enter_read": their fields are the call's arguments. */
static const struct row calls[] = {
	{ "syscalls/sys_enter_", EV_SYS_ENTER, kernel_no_fields, 0 },
	{ "syscalls/sys_exit_", EV_SYS_EXIT, kernel_no_fields, 0 },
};

bool kernel_row_is_call(const struct row *row)
{
	return row == &calls[0] || row == &calls[1];
}

const struct row *kernel_row(const char *event)
{
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (strncmp(calls[i].event, event, strlen(calls[i].event)) == 0)
			return &calls[i];
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].event, event) == 0)
			return &rows[i];
	}
	return NULL;
}
