/*
 * rows.c - the events of LTTng's kernel tracer that have a type.
 *
 * perf's have the kernel's own names: "sched:sched_switch" is looked up in kernel_rows.c.
 */
#include "read/ctf/rows.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/syscalls.h"
#include "read/ctf/meta.h"
#include "read/ctf/record.h"
#include "read/kernel/rows.h"

static const struct target switch_fields[] = { SWITCH_TARGETS("tid"), { 0 } };
static const struct target wake_fields[] = { WAKE_TARGETS("tid"), { 0 } };

static const struct target fork_fields[] = {
	FORK_TARGETS("tid"),
	TARGET("child_pid", TO_32, task.tgid), /* LTTng: of its process */
	{ 0 },
};

static const struct target exec_fields[] = { EXEC_TARGETS("tid"), { 0 } };
static const struct target exit_fields[] = { EXIT_TARGETS("tid"), { 0 } };
static const struct target setprio_fields[] = { SETPRIO_TARGETS("tid"), { 0 } };
static const struct target frequency_fields[] = { FREQUENCY_TARGETS, { 0 } };
static const struct target migrate_fields[] = { MIGRATE_TARGETS("tid"), { 0 } };
static const struct target runtime_fields[] = { RUNTIME_TARGETS("tid"), { 0 } };

static const struct target exit_call_fields[] = {
	TARGET("ret", TO_64, syscall.ret),
	{ 0 },
};

static const struct target work_fields[] = {
	TARGET("work", TO_64, work.work),
	TARGET("function", TO_64, work.function),
	TARGET("req_cpu", TO_32, work.cpu),
	TARGET("cpu", TO_32, work.cpu),
	{ 0 },
};

static const struct target deliver_fields[] = {
	TARGET("sig", TO_32, signal.signal),
	TARGET("code", TO_32, signal.code),
	{ 0 },
};

/* Names of old versions of LTTng stand beside those of newer ones. */
static const struct row rows[] = {
	{ "sched_switch", EV_SCHED_SWITCH, switch_fields, 0 },
	{ "sched_waking", EV_SCHED_WAKING, wake_fields, 0 },
	{ "sched_wakeup", EV_SCHED_WAKEUP, wake_fields, 0 },
	{ "sched_wakeup_new", EV_SCHED_WAKEUP_NEW, wake_fields, 0 },
	{ "sched_process_fork", EV_SCHED_FORK, fork_fields, 0 },
	{ "sched_process_exec", EV_SCHED_EXEC, exec_fields, 0 },
	{ "sched_process_exit", EV_SCHED_EXIT, exit_fields, 0 },
	{ "sched_migrate_task", EV_SCHED_MIGRATE, migrate_fields, 0 },
	{ "power_cpu_frequency", EV_CPU_FREQUENCY, frequency_fields, 0 },
	{ "sched_pi_setprio", EV_SCHED_PI_SETPRIO, setprio_fields, 0 },
	{ "sched_stat_runtime", EV_SCHED_STAT_RUNTIME, runtime_fields, 0 },
	{ "irq_handler_entry", EV_IRQ_ENTRY, kernel_irq_fields, 0 },
	{ "irq_handler_exit", EV_IRQ_EXIT, kernel_irq_fields, 0 },
	{ "softirq_entry", EV_SOFTIRQ_ENTRY, kernel_softirq_fields, 0 },
	{ "softirq_exit", EV_SOFTIRQ_EXIT, kernel_softirq_fields, 0 },
	{ "softirq_raise", EV_SOFTIRQ_RAISE, kernel_softirq_fields, 0 },
	{ "irq_softirq_entry", EV_SOFTIRQ_ENTRY, kernel_softirq_fields, 0 },
	{ "irq_softirq_exit", EV_SOFTIRQ_EXIT, kernel_softirq_fields, 0 },
	{ "irq_softirq_raise", EV_SOFTIRQ_RAISE, kernel_softirq_fields, 0 },
	VECTOR_ROWS("x86_irq_vectors_"),
	{ "x86_exceptions_page_fault_user", EV_FAULT_USER, kernel_fault_fields, 0 },
	{ "x86_exceptions_page_fault_kernel", EV_FAULT_KERNEL, kernel_fault_fields, 0 },
	{ "page_fault_user", EV_FAULT_USER, kernel_fault_fields, 0 },
	{ "page_fault_kernel", EV_FAULT_KERNEL, kernel_fault_fields, 0 },
	{ "block_rq_insert", EV_BLOCK_INSERT, kernel_block_fields, 0 },
	{ "block_rq_issue", EV_BLOCK_ISSUE, kernel_block_fields, 0 },
	{ "block_rq_complete", EV_BLOCK_COMPLETE, kernel_block_fields, 0 },
	{ "block_bio_remap", EV_BLOCK_REMAP, kernel_block_fields, 0 },
	{ "workqueue_queue_work", EV_WORK_QUEUE, work_fields, 0 },
	{ "workqueue_execute_start", EV_WORK_START, work_fields, 0 },
	{ "workqueue_execute_end", EV_WORK_END, work_fields, 0 },
	{ "timer_hrtimer_start", EV_HRTIMER_START, kernel_hrtimer_fields, 0 },
	{ "timer_hrtimer_expire_entry", EV_HRTIMER_EXPIRE, kernel_hrtimer_fields, 0 },
	{ "timer_hrtimer_expire_exit", EV_HRTIMER_DONE, kernel_hrtimer_fields, 0 },
	{ "hrtimer_start", EV_HRTIMER_START, kernel_hrtimer_fields, 0 },
	{ "hrtimer_expire_entry", EV_HRTIMER_EXPIRE, kernel_hrtimer_fields, 0 },
	{ "hrtimer_expire_exit", EV_HRTIMER_DONE, kernel_hrtimer_fields, 0 },
	{ "timer_expire_entry", EV_TIMER_EXPIRE, kernel_timer_fields, 0 },
	{ "timer_expire_exit", EV_TIMER_DONE, kernel_timer_fields, 0 },
	{ "net_dev_queue", EV_NET_QUEUE, kernel_net_fields, 0 },
	{ "netif_rx", EV_NET_RX, kernel_net_fields, 0 },
	{ "net_if_rx", EV_NET_RX, kernel_net_fields, 0 },
	{ "netif_receive_skb", EV_NET_RECEIVE, kernel_net_fields, 0 },
	{ "net_if_receive_skb", EV_NET_RECEIVE, kernel_net_fields, 0 },
	{ "signal_generate", EV_SIGNAL_GENERATE, kernel_signal_fields, 0 },
	{ "signal_deliver", EV_SIGNAL_DELIVER, deliver_fields, 0 },
};

/* ------------------------------------------------------------------ values */

/* include/linux/sched.h, from 4.14 on; what is older has other bits above D. */
#define STATE_S	       0x1u
#define STATE_D	       0x2u
#define STATE_STOPPED  0xcu
#define STATE_EXIT     0x30u
#define STATE_PARKED   0x40u
#define STATE_IDLE     0x80u
#define STATE_NOLOAD   0x400u
#define STATE_LOW_BITS 0xffu

uint8_t ctf_task_state(uint64_t bits)
{
	uint64_t low = bits & STATE_LOW_BITS;

	if (low == 0)
		return TASK_STATE_RUNNABLE; /* with or without the bit of a preemption */
	if (low & STATE_S)
		return TASK_STATE_SLEEPING;
	if (low & STATE_D)
		return bits & STATE_NOLOAD ? TASK_STATE_IDLE : TASK_STATE_DISK;
	if (low & STATE_STOPPED)
		return TASK_STATE_STOPPED;
	if (low & STATE_EXIT)
		return TASK_STATE_DEAD;
	if (low & STATE_PARKED)
		return TASK_STATE_PARKED;
	return low & STATE_IDLE ? TASK_STATE_IDLE : TASK_STATE_UNKNOWN;
}

/* LTTng's bits of rwbs: 1 write, 2 discard, 4 read, 32 sync, 256 flush. */
void ctf_target_flags(const struct target *target, struct event *event, uint64_t flags)
{
	const char *text = "N";

	if (target->offset != offsetof(struct event, block.rwbs))
		return;
	if (flags & 1)
		text = flags & 32 ? "WS" : "W";
	else if (flags & 4)
		text = flags & 32 ? "RS" : "R";
	else if (flags & 2)
		text = "D";
	else if (flags & 256)
		text = "F";
	event->block.rwbs = text;
}

/* ------------------------------------------------------------------ binding */

static const struct target *target_called(const struct target *targets, const char *name)
{
	name += *name == '_' && name[1];
	for (; targets->field; targets++) {
		if (strcmp(targets->field, name) == 0)
			return targets;
	}
	return NULL;
}

static void bind_fields(struct ctf_type *fields, const struct target *targets)
{
	for (uint32_t i = 0; fields && i < fields->member_count; i++)
		fields->members[i].type->target = target_called(targets, fields->members[i].name);
}

/* The arguments of a call in their order; texts and structs have no number. */
static void bind_args(struct ctf_type *fields)
{
	static const struct target args[6] = {
		TARGET("", TO_64, syscall.args[0]), TARGET("", TO_64, syscall.args[1]),
		TARGET("", TO_64, syscall.args[2]), TARGET("", TO_64, syscall.args[3]),
		TARGET("", TO_64, syscall.args[4]), TARGET("", TO_64, syscall.args[5]),
	};

	static const struct target paths[] = {
		TARGET("filename", TO_TEXT, syscall.path),
		TARGET("pathname", TO_TEXT, syscall.path),
		{ 0 },
	};

	for (uint32_t i = 0; fields && i < fields->member_count && i < ARRAY_LEN(args); i++) {
		struct ctf_type *type = fields->members[i].type;

		if (type->kind == CTF_INTEGER || type->kind == CTF_ENUM)
			type->target = &args[i];
		else
			type->target = target_called(paths, fields->members[i].name);
	}
}

static const struct {
	const char *prefix;
	uint8_t type;
} call_prefixes[] = {
	{ "syscall_entry_", EV_SYS_ENTER },	   { "syscall_exit_", EV_SYS_EXIT },
	{ "compat_syscall_entry_", EV_SYS_ENTER }, { "compat_syscall_exit_", EV_SYS_EXIT },
	{ "compat_sys_", EV_SYS_ENTER },	   { "sys_", EV_SYS_ENTER },
};

/* The call in an event's name; NULL when it is about none. */
static const char *ctf_rows_call_of(const char *event, uint8_t *out_type)
{
	for (size_t i = 0; i < ARRAY_LEN(call_prefixes); i++) {
		size_t bytes = strlen(call_prefixes[i].prefix);

		if (strncmp(event, call_prefixes[i].prefix, bytes) == 0) {
			*out_type = call_prefixes[i].type;
			return event + bytes;
		}
	}
	return NULL;
}

/* LTTng names some calls by the function in the kernel. */
static const struct {
	const char *function, *name;
} call_aliases[] = {
	{ "newstat", "stat" },	    { "newfstat", "fstat" },
	{ "newlstat", "lstat" },    { "newuname", "uname" },
	{ "umount", "umount2" },    { "sendfile64", "sendfile" },
	{ "mmap_pgoff", "mmap2" },  { "newfstatat", "fstatat64" },
	{ "old_select", "select" }, { "sync_file_range2", "arm_sync_file_range" },
};

static bool ctf_rows_is_call(const char *known, const char *name)
{
	if (strcmp(known, name) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(call_aliases); i++) {
		if (strcmp(call_aliases[i].function, name) == 0 &&
		    strcmp(call_aliases[i].name, known) == 0)
			return true;
	}
	return false;
}

/* The number of a call by its name, in the table of 64-bit or of 32-bit programs. */
static void ctf_rows_find_call(const struct facts *facts, const char *name, struct ev_syscall *to)
{
	to->nr = -1;
	for (uint32_t table = 0; facts->arch && table < 2; table++) {
		for (int64_t nr = 0; nr < FACTS_CALLS_MAX; nr++) {
			const char *known = facts_syscall(facts, nr, table);

			if (known && ctf_rows_is_call(known, name)) {
				to->nr = nr;
				to->compat = table;
				return;
			}
		}
	}
}

/* syscall_entry_NAME, compat_syscall_exit_NAME; sys_NAME and exit_syscall before LTTng 2.6 */
static void bind_call(struct ctf_event *event, struct event *base, const char *name,
		      struct facts *facts)
{
	const char *call = ctf_rows_call_of(name, &base->type);

	if (strcmp(name, "exit_syscall") == 0) {
		base->type = EV_SYS_EXIT;
		base->syscall.nr = -1;
	} else if (call) {
		ctf_rows_find_call(facts, call, &base->syscall);
		if (base->syscall.nr < 0)
			base->syscall.nr = facts_name_call(facts, call);
	}
	if (base->type == EV_SYS_ENTER)
		bind_args(event->fields);
	else if (base->type == EV_SYS_EXIT)
		bind_fields(event->fields, exit_call_fields);
}

static void bind_row(struct ctf_event *event, struct event *base, const struct row *row)
{
	base->type = (uint8_t)row->type;
	bind_fields(event->fields, row->fields);
	switch (row->type) {
	case EV_SCHED_WAKING:
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		base->wake.target_cpu = -1;
		break;
	case EV_VECTOR_ENTRY:
	case EV_VECTOR_EXIT:
		base->irq.nr = row->nr;
		break;
	default:
		break;
	}
}

static const struct row *row_called(const char *system, const char *name)
{
	AUTO_FREE char *slashed = xasprintf("%s/%s", system, name);

	for (size_t i = 0; strcmp(system, "kernel") == 0 && i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].event, name) == 0)
			return &rows[i];
	}
	return kernel_row(slashed);
}

/* Is it the kernel's, whoever wrote it down? */
static bool is_kernels(const struct ctf_meta *meta, const struct ctf_event *event,
		       const char *system)
{
	const struct ctf_env *tracer = ctf_meta_env(meta, "tracer_name");

	return strcmp(system, "kernel") == 0 || event->native ||
	       (tracer && tracer->text && strcmp(tracer->text, "perf") == 0);
}

void ctf_rows_bind(struct ctf_meta *meta, struct ctf_event *event, const char *system,
		   const char *name, struct facts *facts)
{
	struct event *base = ctf_take(&meta->arena, sizeof(*base));
	const struct row *row;

	base->tid = -1;
	event->base = base;
	if (is_kernels(meta, event, system)) {
		row = row_called(system, name);
		if (row)
			bind_row(event, base, row);
		else if (strcmp(system, "kernel") == 0)
			bind_call(event, base, name, facts);
	}
	if (base->type == EV_NONE) {
		base->type = EV_OTHER;
		base->other.system = system;
		base->other.name = name;
	}
}

static bool has_field(const struct ctf_type *fields, const char *name)
{
	for (uint32_t i = 0; fields && fields->kind == CTF_STRUCT && i < fields->member_count;
	     i++) {
		const char *member = fields->members[i].name;

		if (strcmp(member + (*member == '_'), name) == 0)
			return true;
	}
	return false;
}

/* Converters and test suites write LTTng's events without saying that they are its. */
static bool switches_like_lttng(const struct ctf_meta *meta)
{
	for (size_t i = 0; i < meta->event_count; i++) {
		const struct ctf_event *event = meta->events[i];

		if (strcmp(event->name, "sched_switch") == 0)
			return has_field(event->fields, "prev_tid") &&
			       has_field(event->fields, "prev_state") &&
			       has_field(event->fields, "next_tid");
	}
	return false;
}

const char *ctf_rows_tracer(const struct ctf_meta *meta)
{
	const struct ctf_env *domain = ctf_meta_env(meta, "domain");
	const struct ctf_env *tracer = ctf_meta_env(meta, "tracer_name");

	if (domain && domain->text && strcmp(domain->text, "kernel") == 0)
		return "kernel";
	if (tracer && tracer->text && strcmp(tracer->text, "lttng-modules") == 0)
		return "kernel";
	return !domain && !tracer && switches_like_lttng(meta) ? "kernel" : "ctf";
}

/* A part of a title: the two are told apart by a slash or a colon. */
static const char *keep_plain(struct ctf_meta *meta, const char *text, size_t bytes)
{
	char *copy = ctf_keep(&meta->arena, text, bytes);

	for (char *c = copy; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == '/' || *c == ':')
			*c = '_';
	}
	return copy;
}

void ctf_rows_title(struct ctf_meta *meta, const struct ctf_event *event, const char **out_system,
		    const char **out_name)
{
	const char *colon = strchr(event->name, ':');

	if (colon && colon > event->name && colon[1]) {
		*out_system = keep_plain(meta, event->name, (size_t)(colon - event->name));
		*out_name = keep_plain(meta, colon + 1, strlen(colon + 1));
		return;
	}
	*out_system = ctf_rows_tracer(meta);
	*out_name = *event->name ? keep_plain(meta, event->name, strlen(event->name)) : "event";
}

/* How many of the trace's calls this machine has. */
static size_t ctf_rows_count_calls(const struct ctf_meta *meta, const char *arch)
{
	struct facts facts = { .arch = arch };
	struct ev_syscall call = { 0 };
	size_t count = 0;
	uint8_t type;

	for (size_t i = 0; i < meta->event_count; i++) {
		const char *name = ctf_rows_call_of(meta->events[i]->name, &type);

		if (!name || type != EV_SYS_ENTER)
			continue;
		ctf_rows_find_call(&facts, name, &call);
		count += call.nr >= 0 && !call.compat;
	}
	return count;
}

const char *ctf_rows_arch(const struct ctf_meta *meta)
{
	static const char *const archs[] = { "x86_64", "aarch64", "i686", "armv7l" };
	size_t best = 0, most = 0;

	for (size_t arch = 0; arch < ARRAY_LEN(archs); arch++) {
		size_t known = ctf_rows_count_calls(meta, archs[arch]);

		if (known > most) {
			most = known;
			best = arch;
		}
	}
	return archs[best];
}
