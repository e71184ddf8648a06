/*
 * rows.h - the kernel's events that have a type, and where their fields go.
 */
#ifndef READ_KERNEL_ROWS_H
#define READ_KERNEL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "event/event.h"

/* What a member of struct event is. */
enum member {
	TO_U8,
	TO_32,
	TO_64,
	TO_ARGS,  /* uint64_t[6] */
	TO_COMM,  /* const char *, a short text that may lack a terminator */
	TO_TEXT,  /* const char *, terminated or NULL */
	TO_STATE, /* uint8_t enum task_state out of the kernel's bits */
	TO_STACK, /* struct ev_stack: the addresses up to the end of the record */
	TO_TRUE,  /* bool: set when the format has the field */
};

/* A field of a kernel event and where it goes. A list ends with field NULL. */
struct target {
	const char *field;
	enum member member;
	size_t offset;
};

/* One of a list: the field goes to 'path' of struct event. */
#define TARGET(field, to, path)                         \
	{                                               \
		field, to, offsetof(struct event, path) \
	}

/* Fields that LTTng has, too: what the kernel calls pid is tid there. */
#define SWITCH_TARGETS(id)                                            \
	TARGET("prev_comm", TO_COMM, sched_switch.prev_comm),         \
		TARGET("next_comm", TO_COMM, sched_switch.next_comm), \
		TARGET("prev_" id, TO_32, sched_switch.prev_tid),     \
		TARGET("next_" id, TO_32, sched_switch.next_tid),     \
		TARGET("prev_prio", TO_32, sched_switch.prev_prio),   \
		TARGET("next_prio", TO_32, sched_switch.next_prio),   \
		TARGET("prev_state", TO_STATE, sched_switch.prev_state)
/* A whole list. */
#define FREQUENCY_TARGETS \
	TARGET("state", TO_32, frequency.khz), TARGET("cpu_id", TO_32, frequency.cpu)
#define WAKE_TARGETS(id)                                                 \
	TARGET("comm", TO_COMM, wake.comm), TARGET(id, TO_32, wake.tid), \
		TARGET("prio", TO_32, wake.prio), TARGET("target_cpu", TO_32, wake.target_cpu)
#define FORK_TARGETS(id)                                                                \
	TARGET("child_comm", TO_COMM, task.comm), TARGET("child_" id, TO_32, task.tid), \
		TARGET("parent_" id, TO_32, task.parent_tid)
#define EXEC_TARGETS(id)                                                         \
	TARGET("filename", TO_TEXT, task.filename), TARGET(id, TO_32, task.tid), \
		TARGET("old_" id, TO_32, task.parent_tid)
#define EXIT_TARGETS(id)                                                 \
	TARGET("comm", TO_COMM, task.comm), TARGET(id, TO_32, task.tid), \
		TARGET("prio", TO_32, task.prio)
#define SETPRIO_TARGETS(id)                                              \
	TARGET("comm", TO_COMM, task.comm), TARGET(id, TO_32, task.tid), \
		TARGET("newprio", TO_32, task.prio)
#define MIGRATE_TARGETS(id)                                                          \
	TARGET(id, TO_32, migrate.tid), TARGET("orig_cpu", TO_32, migrate.from_cpu), \
		TARGET("dest_cpu", TO_32, migrate.to_cpu)
#define RUNTIME_TARGETS(id) \
	TARGET(id, TO_32, runtime.tid), TARGET("runtime", TO_64, runtime.runtime_ns)

/* Put a number there as it is; what is no plain number is left to the caller. */
static inline void target_put_number(const struct target *target, struct event *event,
				     uint64_t number)
{
	uint8_t *to = (uint8_t *)event + target->offset;
	uint32_t word = (uint32_t)number;

	switch (target->member) {
	case TO_U8:
		*to = (uint8_t)number;
		break;
	case TO_32:
		memcpy(to, &word, sizeof(word));
		break;
	case TO_64:
		memcpy(to, &number, sizeof(number));
		break;
	default:
		break;
	}
}

struct row {
	const char *event; /* "SYSTEM/EVENT" */
	enum event_type type;
	const struct target *fields;
	int32_t nr; /* ev_irq.nr, for vectors: their number is their name */
};

/* Fields that have the same names in LTTng's events. */
extern const struct target kernel_no_fields[], kernel_irq_fields[], kernel_softirq_fields[],
	kernel_fault_fields[], kernel_block_fields[], kernel_hrtimer_fields[],
	kernel_timer_fields[], kernel_net_fields[], kernel_signal_fields[];

#define VECTOR_ROW(prefix, name, id)                                      \
	{ prefix name "_entry", EV_VECTOR_ENTRY, kernel_no_fields, id },  \
	{                                                                 \
		prefix name "_exit", EV_VECTOR_EXIT, kernel_no_fields, id \
	}

/* The rows of x86's interrupt vectors, whose events have names that begin with 'prefix'. */
#define VECTOR_ROWS(prefix)                                                              \
	VECTOR_ROW(prefix, "local_timer", VECTOR_LOCAL_TIMER),                           \
		VECTOR_ROW(prefix, "reschedule", VECTOR_RESCHEDULE),                     \
		VECTOR_ROW(prefix, "call_function", VECTOR_CALL_FUNCTION),               \
		VECTOR_ROW(prefix, "call_function_single", VECTOR_CALL_FUNCTION_SINGLE), \
		VECTOR_ROW(prefix, "irq_work", VECTOR_IRQ_WORK),                         \
		VECTOR_ROW(prefix, "x86_platform_ipi", VECTOR_X86_PLATFORM),             \
		VECTOR_ROW(prefix, "error_apic", VECTOR_ERROR),                          \
		VECTOR_ROW(prefix, "spurious_apic", VECTOR_SPURIOUS),                    \
		VECTOR_ROW(prefix, "thermal_apic", VECTOR_THERMAL),                      \
		VECTOR_ROW(prefix, "threshold_apic", VECTOR_THRESHOLD),                  \
		VECTOR_ROW(prefix, "deferred_error_apic", VECTOR_DEFERRED_ERROR)

/* The row of the event "SYSTEM/EVENT", or NULL. */
const struct row *kernel_row(const char *event);

/*
 * Is it the row of all events that tell of one system call each, "syscalls/sys_enter_read"? It
 * has no fields: first in the format stands the number of the call, then each argument, or "ret".
 */
bool kernel_row_is_call(const struct row *row);

#endif
