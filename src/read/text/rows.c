/*
 * rows.c - the table of print formats: those of the kernel first, old and new, then those
 * of trace-cmd's own.
 */
#include "read/text/rows.h"

#include "base/mem.h"

#define WAKE(name)                                                                                   \
	{                                                                                            \
		"sched/" name,                                                                       \
			{                                                                            \
				"comm={comm:s} pid={pid:d} prio={prio:d} success={:d} "              \
				"target_cpu={target_cpu:d}",                                         \
				"comm={comm:s} pid={pid:d} prio={prio:d} target_cpu={target_cpu:d}", \
				"{comm:s}:{pid:d} [{prio:d}] success={:d} CPU:{target_cpu:d}",       \
				"{comm:s}:{pid:d} [{prio:d}] CPU:{target_cpu:d}",                    \
			},                                                                           \
	}

#define DELAY(name)                                                 \
	{                                                           \
		"sched/" name,                                      \
		{                                                   \
			"comm={comm:s} pid={pid:d} delay={delay:d}" \
		}                                                   \
	}

#define TASK(name)                                                \
	{                                                         \
		"sched/" name,                                    \
		{                                                 \
			"comm={comm:s} pid={pid:d} prio={prio:d}" \
		}                                                 \
	}

#define VECTOR(name)                                               \
	{ "irq_vectors/" name "_entry", { "vector={vector:d}" } }, \
	{                                                          \
		"irq_vectors/" name "_exit",                       \
		{                                                  \
			"vector={vector:d}"                        \
		}                                                  \
	}

#define SOFTIRQ(name)                                              \
	{                                                          \
		"irq/softirq_" name,                               \
			{                                          \
				"vec={vec:d} [action={action:w}]", \
				"softirq={vec:d}",                 \
				"vec={vec:d}",                     \
			},                                         \
	}

#define PACKET(name)                                                            \
	{                                                                       \
		"net/" name,                                                    \
		{                                                               \
			"dev={name:w} skbaddr={skbaddr:x} len={len:d}",         \
				"skbaddr={skbaddr:x} len={len:d} name={name:w}" \
		}                                                               \
	}

#define FAULT(name)                                                                        \
	{                                                                                  \
		"exceptions/" name,                                                        \
			{                                                                  \
				"address={address:x} ip={ip:x} error_code={error_code:x}", \
				"address={address:F} ip={ip:F} error_code={error_code:x}", \
			},                                                                 \
	}

/* With the option "fields". */
#define REQUEST                                                                      \
	"dev={dev:d} sector={sector:d} nr_sector={nr_sector:d} bytes={bytes:d} {:s}" \
	"rwbs={rwbs:w} comm={comm:s} cmd={:e}"

static const struct text_row rows[] = {
	{
		"sched/sched_switch",
		{
			"prev_comm={prev_comm:s} prev_pid={prev_pid:d} prev_prio={prev_prio:d} "
			"prev_state={prev_state:S} ==> next_comm={next_comm:s} "
			"next_pid={next_pid:d} next_prio={next_prio:d}",
			"prev_comm={prev_comm:s} prev_pid={prev_pid:d} prev_prio={prev_prio:d} "
			"prev_state={prev_state:S} next_comm={next_comm:s} "
			"next_pid={next_pid:d} next_prio={next_prio:d}",
			"{prev_comm:s}:{prev_pid:d} [{prev_prio:d}] {prev_state:S} ==> "
			"{next_comm:s}:{next_pid:d} [{next_prio:d}]",
			"task {prev_comm:s}:{prev_pid:d} [{prev_prio:d}] ({prev_state:S}) ==> "
			"{next_comm:s}:{next_pid:d} [{next_prio:d}]",
		},
	},
	WAKE("sched_waking"),
	WAKE("sched_wakeup"),
	WAKE("sched_wakeup_new"),
	{
		"sched/sched_process_fork",
		{
			"comm={parent_comm:s} pid={parent_pid:d} child_comm={child_comm:s} "
			"child_pid={child_pid:d}",
			"parent {parent_comm:s}:{parent_pid:d} child {child_comm:s}:{child_pid:d}",
			"parent_comm={parent_comm:s} parent_pid={parent_pid:d} "
			"child_comm={child_comm:s} child_pid={child_pid:d}",
		},
	},
	{ "sched/sched_process_exec", { "filename={filename:s} pid={pid:d} old_pid={old_pid:d}" } },
	{
		"sched/sched_process_exit",
		{
			"comm={comm:s} pid={pid:d} prio={prio:d} group_dead={group_dead:b}",
			"comm={comm:s} pid={pid:d} prio={prio:d}",
			"task {comm:s}:{pid:d} [{prio:d}]",
		},
	},
	TASK("sched_process_free"),
	TASK("sched_process_wait"),
	{ "sched/sched_migrate_task",
	  { "comm={comm:s} pid={pid:d} prio={prio:d} orig_cpu={orig_cpu:d} "
	    "dest_cpu={dest_cpu:d}",
	    "task {comm:s}:{pid:d} [{prio:d}] from: {orig_cpu:d} to: {dest_cpu:d}" } },
	{ "sched/sched_pi_setprio",
	  { "comm={comm:s} pid={pid:d} oldprio={oldprio:d} newprio={newprio:d}" } },
	{ "sched/sched_stat_runtime", { "comm={comm:s} pid={pid:d} runtime={runtime:d}" } },
	DELAY("sched_stat_wait"),
	DELAY("sched_stat_sleep"),
	DELAY("sched_stat_iowait"),
	DELAY("sched_stat_blocked"),
	{ "sched/sched_blocked_reason", { "pid={pid:d} iowait={iowait:d} caller={caller:F}" } },
	{ "task/task_newtask", { "pid={pid:d} comm={comm:s} clone_flags={clone_flags:x}" } },
	{ "task/task_rename",
	  { "pid={pid:d} oldcomm={oldcomm:s} newcomm={newcomm:s} oom_score_adj={oom_score_adj:d}",
	    "oldcomm={oldcomm:s} newcomm={newcomm:s} oom_score_adj={oom_score_adj:d}" } },

	{ "irq/irq_handler_entry",
	  { "irq={irq:d} name={name:e}", "irq={irq:d} handler={name:e}" } },
	{ "irq/irq_handler_exit", { "irq={irq:d} ret={ret:h}", "irq={irq:d} return={ret:h}" } },
	SOFTIRQ("entry"),
	SOFTIRQ("exit"),
	SOFTIRQ("raise"),
	VECTOR("local_timer"),
	VECTOR("reschedule"),
	VECTOR("call_function"),
	VECTOR("call_function_single"),
	VECTOR("irq_work"),
	VECTOR("x86_platform_ipi"),
	VECTOR("error_apic"),
	VECTOR("spurious_apic"),
	VECTOR("thermal_apic"),
	VECTOR("threshold_apic"),
	VECTOR("deferred_error_apic"),
	{ "ipi/ipi_entry", { "({reason:s})" } },
	{ "ipi/ipi_exit", { "({reason:s})" } },
	{ "ipi/ipi_send_cpu", { "cpu={cpu:d} callsite={callsite:F} callback={callback:F}" } },

	{ "raw_syscalls/sys_enter", { "NR {id:d} ({args:a})", "id={id:d} args={:e}" } },
	{ "raw_syscalls/sys_exit", { "NR {id:d} = {ret:d}", "id={id:d} ret={ret:d}" } },
	FAULT("page_fault_user"),
	FAULT("page_fault_kernel"),

	{ "block/block_rq_insert",
	  { "{dev:D} {rwbs:w} {bytes:d} ({:s}) {sector:d} + {nr_sector:d} [{comm:s}]",
	    "{dev:D} {rwbs:w} {bytes:d} ({:s}) {sector:d} + {nr_sector:d} {:w}", REQUEST } },
	{ "block/block_rq_issue",
	  { "{dev:D} {rwbs:w} {bytes:d} ({:s}) {sector:d} + {nr_sector:d} [{comm:s}]",
	    "{dev:D} {rwbs:w} {bytes:d} ({:s}) {sector:d} + {nr_sector:d} {:s} "
	    "[{comm:s}]",
	    REQUEST } },
	{ "block/block_rq_complete",
	  { "{dev:D} {rwbs:w} ({:s}) {sector:d} + {nr_sector:d} [{error:d}]",
	    "{dev:D} {rwbs:w} ({:s}) {sector:d} + {nr_sector:d} {:s} [{error:d}]",
	    "dev={dev:d} sector={sector:d} nr_sector={nr_sector:d} error={error:d} {:s}"
	    "rwbs={rwbs:w}",
	    "dev={dev:d} sector={sector:d} nr_sector={nr_sector:d} error={error:d} "
	    "rwbs={rwbs:w}" } },

	{ "block/block_bio_remap",
	  { "{dev:D} {rwbs:w} {sector:d} + {nr_sector:d} <- ({old_dev:D}) {old_sector:d}" } },

	{ "workqueue/workqueue_queue_work",
	  { "work struct={work:x} function={function:F} workqueue={workqueue:s} "
	    "req_cpu={req_cpu:d} cpu={cpu:d}",
	    "work={work:x} function={function:F} workqueue={workqueue:s} req_cpu={req_cpu:d} "
	    "cpu={cpu:d}" } },
	{ "workqueue/workqueue_execute_start",
	  { "work struct {work:x}: function {function:F}",
	    "work={work:x} function={function:F}" } },
	{ "workqueue/workqueue_execute_end",
	  { "work struct {work:x}: function {function:F}", "work struct {work:x}",
	    "work={work:x} function={function:F}", "work={work:x}" } },
	{ "timer/hrtimer_start",
	  { "hrtimer={hrtimer:x} function={function:F} expires={expires:d}" } },
	{ "timer/hrtimer_expire_entry",
	  { "hrtimer={hrtimer:x} function={function:F} now={now:d}",
	    "hrtimer={hrtimer:x} now={now:d} function={function:F}",
	    "hrtimer={hrtimer:x} now={now:d}" } },
	{ "timer/hrtimer_expire_exit", { "hrtimer={hrtimer:x}" } },
	{ "timer/timer_expire_entry",
	  { "timer={timer:x} function={function:F} now={now:d}",
	    "timer={timer:x} now={now:d} function={function:F}", "timer={timer:x} now={now:d}" } },
	{ "timer/timer_expire_exit", { "timer={timer:x}" } },
	{ "lock/contention_begin",
	  { "{lock_addr:x} (flags={flags:L})", "lock_addr={lock_addr:x} flags={flags:L}" } },
	{ "lock/contention_end",
	  { "{lock_addr:x} (ret={ret:d})", "lock_addr={lock_addr:x} ret={ret:d}" } },
	PACKET("net_dev_queue"),
	PACKET("netif_rx"),
	PACKET("netif_receive_skb"),
	{ "signal/signal_generate",
	  { "sig={sig:d} errno={errno:d} code={code:d} comm={comm:s} pid={pid:d} grp={group:d} "
	    "res={result:d}",
	    "sig={sig:d} errno={errno:d} code={code:d} comm={comm:s} pid={pid:d} group={group:d} "
	    "result={result:d}",
	    "sig={sig:d} errno={errno:d} code={code:d} comm={comm:s} pid={pid:d}" } },
	{ "signal/signal_deliver", { "sig={sig:d} errno={errno:d} code={code:d}" } },
	{ "power/cpu_frequency", { "state={state:d} cpu_id={cpu_id:d}" } },
	{ "power/cpu_idle", { "state={state:d} cpu_id={cpu_id:d}" } },
};

const struct text_row *text_rows(size_t *out_count)
{
	*out_count = ARRAY_LEN(rows);
	return rows;
}
