/* told.c - the fields of each type of event, as bytes and back: see ctf_told.h. */
#include "read/ctf/told.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "event/event.h"

#define VERSION	   1
#define MAX_FRAMES 256u

enum told_kind {
	TOLD_U8,
	TOLD_32, /* signed or not */
	TOLD_64,
	TOLD_TEXT,
	TOLD_ARGS,
	TOLD_FRAMES,
};

struct told {
	uint16_t offset;
	uint8_t kind;
	uint16_t max; /* bytes of a text, which may lack its end there */
};

#define TOLD(member, kind)                              \
	{                                               \
		offsetof(struct event, member), kind, 0 \
	}
#define TEXT(member, max)                                      \
	{                                                      \
		offsetof(struct event, member), TOLD_TEXT, max \
	}

/* Fields are only ever added, at the end. */
static const struct told switch_told[] = {
	TOLD(sched_switch.prev_tid, TOLD_32),	TOLD(sched_switch.next_tid, TOLD_32),
	TOLD(sched_switch.prev_prio, TOLD_32),	TOLD(sched_switch.next_prio, TOLD_32),
	TOLD(sched_switch.prev_state, TOLD_U8), TEXT(sched_switch.prev_comm, 16),
	TEXT(sched_switch.next_comm, 16),
};

static const struct told wake_told[] = {
	TOLD(wake.tid, TOLD_32),
	TOLD(wake.prio, TOLD_32),
	TOLD(wake.target_cpu, TOLD_32),
	TEXT(wake.comm, 16),
};

static const struct told task_told[] = {
	TOLD(task.tid, TOLD_32),
	TOLD(task.parent_tid, TOLD_32),
	TOLD(task.clone_flags, TOLD_64),
	TOLD(task.group_dead, TOLD_U8),
	TOLD(task.prio, TOLD_32),
	TOLD(task.group_dead_known, TOLD_U8),
	TEXT(task.comm, 16),
	TEXT(task.filename, 4096),
	TOLD(task.tgid, TOLD_32),
};

static const struct told migrate_told[] = {
	TOLD(migrate.tid, TOLD_32),
	TOLD(migrate.from_cpu, TOLD_32),
	TOLD(migrate.to_cpu, TOLD_32),
};

static const struct told frequency_told[] = {
	TOLD(frequency.khz, TOLD_32),
	TOLD(frequency.cpu, TOLD_32),
};

static const struct told runtime_told[] = {
	TOLD(runtime.tid, TOLD_32),
	TOLD(runtime.runtime_ns, TOLD_64),
};

static const struct told reason_told[] = {
	TOLD(blocked_reason.tid, TOLD_32),
	TOLD(blocked_reason.io, TOLD_U8),
};

static const struct told irq_told[] = {
	TOLD(irq.nr, TOLD_32),
	TOLD(irq.ret, TOLD_32),
	TEXT(irq.name, 64),
};

static const struct told call_told[] = {
	TOLD(syscall.nr, TOLD_64),	TOLD(syscall.ret, TOLD_64),
	TOLD(syscall.compat, TOLD_U8),	TOLD(syscall.args, TOLD_ARGS),
	TOLD(syscall.by_name, TOLD_U8),
};

static const struct told enter_told[] = {
	TOLD(syscall.nr, TOLD_64),	TOLD(syscall.ret, TOLD_64),
	TOLD(syscall.compat, TOLD_U8),	TOLD(syscall.args, TOLD_ARGS),
	TOLD(syscall.by_name, TOLD_U8), TEXT(syscall.path, 4096),
};

static const struct told blocked_told[] = {
	TOLD(syscall.nr, TOLD_64),
	TOLD(syscall.compat, TOLD_U8),
	TOLD(syscall.ended, TOLD_U8),
	TOLD(syscall.args, TOLD_ARGS),
};

static const struct told fault_told[] = {
	TOLD(fault.address, TOLD_64),
	TOLD(fault.ip, TOLD_64),
	TOLD(fault.error_code, TOLD_64),
};

static const struct told block_told[] = {
	TOLD(block.sector, TOLD_64), TOLD(block.dev, TOLD_32),	 TOLD(block.sectors, TOLD_32),
	TOLD(block.bytes, TOLD_32),  TOLD(block.error, TOLD_32), TEXT(block.rwbs, 10),
	TEXT(block.comm, 16),
};

static const struct told remap_told[] = {
	TOLD(block.sector, TOLD_64),	 TOLD(block.dev, TOLD_32),     TOLD(block.sectors, TOLD_32),
	TOLD(block.old_sector, TOLD_64), TOLD(block.old_dev, TOLD_32), TEXT(block.rwbs, 10),
};

static const struct told work_told[] = {
	TOLD(work.work, TOLD_64),
	TOLD(work.function, TOLD_64),
	TOLD(work.cpu, TOLD_32),
	TEXT(work.workqueue, 64),
};

static const struct told timer_told[] = {
	TOLD(timer.timer, TOLD_64),
	TOLD(timer.function, TOLD_64),
	TOLD(timer.expires_ns, TOLD_64),
};

static const struct told lock_told[] = {
	TOLD(lock.address, TOLD_64),
	TOLD(lock.flags, TOLD_32),
	TOLD(lock.ret, TOLD_32),
};

static const struct told uring_told[] = {
	TOLD(uring.req, TOLD_64),
	TOLD(uring.fd, TOLD_32),
	TOLD(uring.opcode, TOLD_32),
};

static const struct told net_told[] = {
	TOLD(net.skb, TOLD_64),
	TOLD(net.len, TOLD_32),
	TEXT(net.dev, 32),
};

static const struct told signal_told[] = {
	TOLD(signal.signal, TOLD_32), TOLD(signal.code, TOLD_32), TOLD(signal.tid, TOLD_32),
	TOLD(signal.result, TOLD_32), TEXT(signal.comm, 16),
};

static const struct told ipi_told[] = {
	TOLD(ipi.cpu, TOLD_32),
	TOLD(ipi.callback, TOLD_64),
};

static const struct told stack_told[] = {
	TOLD(stack.frames, TOLD_FRAMES),
};

/* Numbers as in files: never changed. 0 = an event of no type that is known. */
static const struct told_type {
	uint8_t number;
	uint8_t type; /* enum event_type */
	uint8_t count;
	const struct told *fields;
} types[] = {
#define TYPE(number, type, fields)                        \
	{                                                 \
		number, type, ARRAY_LEN(fields), (fields) \
	}
	TYPE(1, EV_SCHED_SWITCH, switch_told),	  TYPE(2, EV_SCHED_WAKING, wake_told),
	TYPE(3, EV_SCHED_WAKEUP, wake_told),	  TYPE(4, EV_SCHED_WAKEUP_NEW, wake_told),
	TYPE(5, EV_SCHED_FORK, task_told),	  TYPE(6, EV_SCHED_EXEC, task_told),
	TYPE(7, EV_SCHED_EXIT, task_told),	  TYPE(8, EV_SCHED_MIGRATE, migrate_told),
	TYPE(9, EV_SCHED_PI_SETPRIO, task_told),  TYPE(10, EV_SCHED_STAT_RUNTIME, runtime_told),
	TYPE(11, EV_TASK_NEW, task_told),	  TYPE(12, EV_TASK_RENAME, task_told),
	TYPE(13, EV_IRQ_ENTRY, irq_told),	  TYPE(14, EV_IRQ_EXIT, irq_told),
	TYPE(15, EV_VECTOR_ENTRY, irq_told),	  TYPE(16, EV_VECTOR_EXIT, irq_told),
	TYPE(17, EV_SOFTIRQ_ENTRY, irq_told),	  TYPE(18, EV_SOFTIRQ_EXIT, irq_told),
	TYPE(19, EV_SOFTIRQ_RAISE, irq_told),	  TYPE(20, EV_SYS_ENTER, enter_told),
	TYPE(21, EV_SYS_EXIT, call_told),	  TYPE(22, EV_FAULT_USER, fault_told),
	TYPE(23, EV_FAULT_KERNEL, fault_told),	  TYPE(24, EV_BLOCK_INSERT, block_told),
	TYPE(25, EV_BLOCK_ISSUE, block_told),	  TYPE(26, EV_BLOCK_COMPLETE, block_told),
	TYPE(27, EV_WORK_QUEUE, work_told),	  TYPE(28, EV_WORK_START, work_told),
	TYPE(29, EV_WORK_END, work_told),	  TYPE(30, EV_HRTIMER_START, timer_told),
	TYPE(31, EV_HRTIMER_EXPIRE, timer_told),  TYPE(32, EV_HRTIMER_DONE, timer_told),
	TYPE(33, EV_TIMER_EXPIRE, timer_told),	  TYPE(34, EV_TIMER_DONE, timer_told),
	TYPE(35, EV_LOCK_BEGIN, lock_told),	  TYPE(36, EV_LOCK_END, lock_told),
	TYPE(37, EV_NET_QUEUE, net_told),	  TYPE(38, EV_NET_RX, net_told),
	TYPE(39, EV_NET_RECEIVE, net_told),	  TYPE(40, EV_SIGNAL_GENERATE, signal_told),
	TYPE(41, EV_SIGNAL_DELIVER, signal_told), TYPE(42, EV_IPI_SEND, ipi_told),
	TYPE(43, EV_STACK, stack_told),		  TYPE(44, EV_SCHED_BLOCKED_REASON, reason_told),
	TYPE(45, EV_URING_READY, uring_told),	  TYPE(46, EV_URING_DONE, uring_told),
	TYPE(47, EV_URING_QUEUE, uring_told),	  TYPE(48, EV_URING_FILE, uring_told),
	TYPE(49, EV_URING_SUBMIT, uring_told),	  TYPE(50, EV_BLOCKED_IN, blocked_told),
	TYPE(51, EV_BLOCK_REMAP, remap_told),	  TYPE(52, EV_CPU_FREQUENCY, frequency_told),
};

/* ------------------------------------------------------------------ write */

static uint8_t *told_put_number(uint8_t *to, uint64_t number)
{
	while (number >= 0x80) {
		*to++ = (uint8_t)(number | 0x80);
		number >>= 7;
	}
	*to++ = (uint8_t)number;
	return to;
}

static uint8_t *told_put_text(uint8_t *to, const char *text, uint32_t max)
{
	size_t bytes = text ? strnlen(text, max) : 0;

	*to++ = text != NULL;
	if (!text)
		return to;
	memcpy(to, text, bytes);
	to[bytes] = '\0';
	return to + bytes + 1;
}

static uint8_t *ctf_told_put_frames(uint8_t *to, const struct ev_stack *stack)
{
	uint32_t count = stack->count < MAX_FRAMES ? stack->count : MAX_FRAMES;

	to = told_put_number(to, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t frame;

		memcpy(&frame, (const char *)stack->frames + (size_t)i * 8, sizeof(frame));
		for (int byte = 0; byte < 8; byte++)
			*to++ = (uint8_t)(frame >> byte * 8);
	}
	return to;
}

static uint8_t *ctf_told_put_field(uint8_t *to, const struct told *field, const struct event *event)
{
	const uint8_t *from = (const uint8_t *)event + field->offset;
	const char *text;
	uint64_t number;
	int32_t word;

	switch ((enum told_kind)field->kind) {
	case TOLD_U8:
		return told_put_number(to, *from);
	case TOLD_32:
		memcpy(&word, from, sizeof(word));
		return told_put_number(to, (uint32_t)word);
	case TOLD_64:
		memcpy(&number, from, sizeof(number));
		return told_put_number(to, number);
	case TOLD_TEXT:
		memcpy(&text, from, sizeof(text));
		return told_put_text(to, text, field->max);
	case TOLD_ARGS:
		for (int i = 0; i < 6; i++) {
			memcpy(&number, from + i * 8, sizeof(number));
			to = told_put_number(to, number);
		}
		return to;
	case TOLD_FRAMES:
		return ctf_told_put_frames(to, &event->stack);
	}
	return to;
}

uint32_t ctf_told_put(const struct event *event, uint8_t to[CTF_TOLD_MAX])
{
	const struct told_type *type = NULL;
	uint8_t *at = to;

	for (size_t i = 0; i < ARRAY_LEN(types) && !type; i++) {
		if (types[i].type == event->type)
			type = &types[i];
	}
	*at++ = VERSION;
	*at++ = type ? type->number : 0;
	*at++ = event->context;
	for (uint8_t i = 0; type && i < type->count; i++)
		at = ctf_told_put_field(at, &type->fields[i], event);
	return (uint32_t)(at - to);
}

/* ------------------------------------------------------------------ read */

struct taking {
	const uint8_t *at, *end;
	bool good;
};

static uint64_t told_take_number(struct taking *taking)
{
	uint64_t number = 0;

	for (uint32_t shift = 0; taking->at < taking->end && shift < 64; shift += 7) {
		uint8_t byte = *taking->at++;

		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	taking->good = false;
	return 0;
}

static const char *ctf_told_take_text(struct taking *taking)
{
	const uint8_t *text, *zero;

	if (told_take_number(taking) == 0 || !taking->good)
		return NULL;
	text = taking->at;
	zero = memchr(text, 0, (size_t)(taking->end - text));
	if (!zero) {
		taking->good = false;
		return NULL;
	}
	taking->at = zero + 1;
	return (const char *)text;
}

static void ctf_told_take_frames(struct taking *taking, struct ev_stack *out_stack)
{
	uint64_t count = told_take_number(taking);

	if (count > (size_t)(taking->end - taking->at) / 8) {
		taking->good = false;
		return;
	}
	out_stack->frames = taking->at;
	taking->at += count * 8;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	out_stack->count = (uint32_t)count;
#else
	out_stack->count = 0; /* they would have to be turned around where they lie */
#endif
}

static void ctf_told_take_field(struct taking *taking, const struct told *field,
				struct event *event)
{
	uint8_t *to = (uint8_t *)event + field->offset;
	const char *text;
	uint64_t number;
	uint32_t word;

	switch ((enum told_kind)field->kind) {
	case TOLD_U8:
		*to = (uint8_t)told_take_number(taking);
		break;
	case TOLD_32:
		word = (uint32_t)told_take_number(taking);
		memcpy(to, &word, sizeof(word));
		break;
	case TOLD_64:
		number = told_take_number(taking);
		memcpy(to, &number, sizeof(number));
		break;
	case TOLD_TEXT:
		text = ctf_told_take_text(taking);
		memcpy(to, &text, sizeof(text));
		break;
	case TOLD_ARGS:
		for (int i = 0; i < 6; i++) {
			number = told_take_number(taking);
			memcpy(to + i * 8, &number, sizeof(number));
		}
		break;
	case TOLD_FRAMES:
		ctf_told_take_frames(taking, &event->stack);
		break;
	}
}

/* Numbers that others use as an index, and truth values that are one bit. */
static bool ctf_told_is_sane(struct event *event)
{
	if (event->type == EV_SCHED_SWITCH)
		return event->sched_switch.prev_state <= TASK_STATE_UNKNOWN;
	if (event->type == EV_SYS_ENTER || event->type == EV_SYS_EXIT)
		return *(const uint8_t *)&event->syscall.compat <= 1 &&
		       *(const uint8_t *)&event->syscall.by_name <= 1;
	if (event->type == EV_BLOCKED_IN)
		return *(const uint8_t *)&event->syscall.compat <= 1 &&
		       *(const uint8_t *)&event->syscall.ended <= 1;
	if (event->type == EV_SCHED_EXIT)
		return *(const uint8_t *)&event->task.group_dead <= 1 &&
		       *(const uint8_t *)&event->task.group_dead_known <= 1;
	return true;
}

bool ctf_told_take(const uint8_t *at, uint32_t bytes, const struct event *other,
		   struct event *out_event)
{
	struct taking taking = { at + 3, at + bytes, true };
	const struct told_type *type = NULL;
	uint8_t context;

	if (bytes < 3 || at[0] != VERSION)
		return false;
	context = at[2] & (EV_CTX_KNOWN | EV_CTX_HARDIRQ | EV_CTX_SOFTIRQ | EV_CTX_VTID);
	for (size_t i = 0; at[1] && i < ARRAY_LEN(types) && !type; i++) {
		if (types[i].number == at[1])
			type = &types[i];
	}
	if (!type) {
		out_event->type = EV_OTHER;
		out_event->context = context;
		out_event->other = other->other;
		return true;
	}
	*out_event = (struct event){ .type = type->type, .context = context };
	for (uint8_t i = 0; i < type->count && taking.good && taking.at < taking.end; i++)
		ctf_told_take_field(&taking, &type->fields[i], out_event);
	return taking.good && ctf_told_is_sane(out_event);
}
