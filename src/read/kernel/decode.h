/*
 * decode.h - the inner loop's part of kernel_events: one record to one event.
 *
 * Nearly all events of a recording have one of a few layouts on 64-bit machines of this
 * byte order. When a format was compiled and is found to be one of them, its records are
 * decoded by loads from fixed places, without a look at a list: several times faster.
 * All others go through kernel_events_decode(). Only for this room.
 */
#ifndef READ_KERNEL_DECODE_H
#define READ_KERNEL_DECODE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "event/event.h"
#include "read/kernel/events.h"
#include "read/kernel/pages.h"

/* common_flags: enum trace_flag_type of include/linux/trace_events.h. */
#define FLAG_HARDIRQ_SHIFT 3
#define FLAG_SOFTIRQ_SHIFT 4
#define FLAG_NMI_SHIFT	   6

#define LOW_STATES 512

/* Where all fields stand; SHAPE_ANY = anywhere. */
enum shape {
	SHAPE_ANY,
	SHAPE_SWITCH,
	SHAPE_WAKE,
	SHAPE_ENTER,
	SHAPE_EXIT,
	SHAPE_SOFTIRQ,
	SHAPE_VECTOR, /* nothing but its number, which is that of the format */
	SHAPE_RUNTIME,
	SHAPE_NET,
	SHAPE_FAULT,
	SHAPE_COUNT
};

/* What is looked at first, one for each event number. */
struct decode_head {
	uint32_t need_bytes; /* a record is at least so long */
	uint8_t shape;	     /* enum shape */
	uint8_t type;	     /* enum event_type */
	uint16_t nr;	     /* SHAPE_VECTOR: enum vector_id */
};

struct decode_table {
	const struct decode_head *heads;
	uint32_t id_count;
	uint8_t low_states[LOW_STATES]; /* enum task_state of the kernel's bits */
};

/* What decode_fast() needs of 'events'; lives as long as they do. */
const struct decode_table *kernel_events_table(const struct kernel_events *events);

/*
 * All flags at once are none: where a task is interrupted by a breakpoint (a uprobe) with nothing
 * that counts, kernels take one from a count of zero, and it spills into the flags.
 */
static inline uint8_t decode_context(uint8_t flags)
{
	uint8_t hardirq = ((flags >> FLAG_HARDIRQ_SHIFT) | (flags >> FLAG_NMI_SHIFT)) & 1;
	uint8_t softirq = (flags >> FLAG_SOFTIRQ_SHIFT) & 1;

	if (flags == UINT8_MAX)
		return 0;
	return (uint8_t)(EV_CTX_KNOWN | hardirq * EV_CTX_HARDIRQ | softirq * EV_CTX_SOFTIRQ);
}

static inline uint64_t decode_8(const uint8_t *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

static inline int32_t decode_4(const uint8_t *at)
{
	int32_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

/* A text that 'word' points to, when its last byte ends it; else the general way must look. */
static inline bool decode_text(const struct record *record, uint32_t word, const char **out_text)
{
	uint32_t offset = word & 0xffff, bytes = word >> 16;

	if (bytes == 0 || offset >= record->bytes || bytes > record->bytes - offset ||
	    record->data[offset + bytes - 1] != '\0')
		return false;
	*out_text = (const char *)record->data + offset;
	return true;
}

static inline bool decode_switch(const struct decode_table *table, const uint8_t *data,
				 struct ev_switch *to)
{
	uint64_t bits = decode_8(data + 32);

	if (bits >= LOW_STATES)
		return false;
	to->prev_comm = (const char *)data + 8;
	to->next_comm = (const char *)data + 40;
	to->prev_tid = decode_4(data + 24);
	to->prev_prio = decode_4(data + 28);
	to->next_tid = decode_4(data + 56);
	to->next_prio = decode_4(data + 60);
	to->prev_state = table->low_states[bits];
	to->comms_wide = true;
	return true;
}

/*
 * Fill all of *event that its type has, but its time and CPU. False when this is not the
 * way: the record is too short, or kernel_events_decode() must do it.
 */
static inline __attribute__((always_inline)) bool decode_fast(const struct decode_table *table,
							      const struct record *record,
							      struct event *event)
{
	const uint8_t *data = record->data;
	const struct decode_head *head;
	uint64_t common;

	if (__builtin_expect(record->bytes < KERNEL_EVENT_MIN_BYTES, 0))
		return false;
	/* type : 16, flags : 8, preempt count : 8, pid : 32 */
	common = decode_8(data);
	if (__builtin_expect((uint16_t)common >= table->id_count, 0))
		return false;
	head = &table->heads[(uint16_t)common];
	if (__builtin_expect(record->bytes < head->need_bytes, 0))
		return false;
	event->tid = (int32_t)(common >> 32);
	event->type = head->type;
	event->context = decode_context((uint8_t)(common >> 16));
	switch ((enum shape)head->shape) {
	case SHAPE_SWITCH:
		return decode_switch(table, data, &event->sched_switch);
	case SHAPE_WAKE:
		event->wake.comm_wide = true;
		event->wake.comm = (const char *)data + 8;
		event->wake.tid = decode_4(data + 24);
		event->wake.prio = decode_4(data + 28);
		event->wake.target_cpu = decode_4(data + 32);
		return true;
	case SHAPE_ENTER:
		event->syscall.nr = (int64_t)decode_8(data + 8);
		memcpy(event->syscall.args, data + 16, sizeof(event->syscall.args));
		event->syscall.ret = 0;
		event->syscall.compat = false;
		event->syscall.by_name = false;
		return true;
	case SHAPE_EXIT:
		event->syscall.nr = (int64_t)decode_8(data + 8);
		event->syscall.ret = (int64_t)decode_8(data + 16);
		event->syscall.compat = false;
		event->syscall.by_name = false;
		return true;
	case SHAPE_SOFTIRQ:
		event->irq = (struct ev_irq){ .nr = decode_4(data + 8) };
		return true;
	case SHAPE_VECTOR:
		event->irq = (struct ev_irq){ .nr = head->nr };
		return true;
	case SHAPE_RUNTIME:
		event->runtime.tid = decode_4(data + 12);
		event->runtime.runtime_ns = decode_8(data + 16);
		return true;
	case SHAPE_NET:
		event->net.skb = decode_8(data + 8);
		event->net.len = (uint32_t)decode_4(data + 16);
		return decode_text(record, (uint32_t)decode_4(data + 20), &event->net.dev);
	case SHAPE_FAULT:
		event->fault.address = decode_8(data + 8);
		event->fault.ip = decode_8(data + 16);
		event->fault.error_code = decode_8(data + 24);
		return true;
	case SHAPE_ANY:
	case SHAPE_COUNT:
		break;
	}
	return false;
}

#endif
