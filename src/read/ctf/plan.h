/*
 * plan.h - the fast way to read an event: what is wanted of it stands at places that were
 * worked out when the trace was opened.
 *
 * An event is cut into steps, each with loads from fixed places, that end where a text or a
 * sequence of unknown length begins. Kinds of events with variants, with anything that needs
 * a look at each element, or with numbers of the other byte order have no plan; ctf_walk()
 * reads those. A plan reports no damage: what does not fit is given to ctf_walk(), too.
 *
 * Where records are kept, another plan is used, which has all fields; it makes the same bytes
 * as ctf_walk() does.
 */
#ifndef READ_CTF_PLAN_H
#define READ_CTF_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "event/event.h"
#include "read/ctf/meta.h"
#include "read/ctf/record.h"
#include "read/ctf/walk.h"

#define CTF_PLAN_LOADS 96u /* of an event; one with more has no plan */
#define CTF_PLAN_STEPS 48u
#define CTF_HEAD_MAX   4u /* forms of an event header */
#define CTF_PLAN_SLOTS 4u /* lengths that an event tells */

enum ctf_load_to {
	CTF_TO_NOTHING,
	CTF_TO_4, /* bytes of the event */
	CTF_TO_8,
	CTF_TO_TARGET, /* by ctf_target_number() */
	CTF_TO_TID,
	CTF_TO_CPU,
	CTF_TO_SLOT,
	CTF_TO_FLOAT, /* a text of the record */
};

/* A number at a fixed place of a step. */
struct ctf_load {
	uint32_t offset; /* bytes from the start of the step */
	uint8_t bits;
	uint8_t left, right; /* shifts of the eight bytes there, one after the other */
	bool is_signed;
	uint8_t to;	/* enum ctf_load_to */
	uint16_t at;	/* in struct event, or the slot */
	uint32_t place; /* in the record; 0 = nowhere: what is written there is its head */
	union {
		const struct target *target;
		const struct ctf_type *type; /* CTF_TO_FLOAT */
	};
};

enum ctf_step_end {
	CTF_END_FIXED,	  /* the next step follows */
	CTF_END_STRING,	  /* a text up to its zero byte */
	CTF_END_TEXT,	  /* a text of 'bytes' */
	CTF_END_SEQUENCE, /* as many times 'bytes' as a slot says */
	CTF_END_ARRAY,	  /* numbers for the record: 'count' times 'bytes' */
};

struct ctf_step {
	uint32_t align;	       /* bytes, of the packet: where it begins; 1 = anywhere */
	uint32_t bytes_before; /* fixed bytes before its end */
	uint32_t load_first, load_count;
	uint8_t end; /* enum ctf_step_end */
	uint8_t slot;
	uint32_t bytes;
	uint32_t count;
	const struct target *target; /* of the text */
	const struct ctf_type *type; /* of what the record gets; NULL = nothing */
};

struct ctf_plan {
	const struct ctf_load *loads;
	const struct ctf_step *steps;
	uint32_t load_count, step_count;
};

/* One form of event header: which it is says a tag. */
struct ctf_head_form {
	uint64_t low, high;   /* of the tag */
	struct ctf_load id;   /* bits 0 = the tag is the id */
	struct ctf_load time; /* bits 0 = has none */
	uint32_t bytes;
};

struct ctf_head {
	uint32_t align;	     /* bytes */
	struct ctf_load tag; /* bits 0 = there is one form */
	struct ctf_head_form forms[CTF_HEAD_MAX];
	uint32_t form_count;
};

/* Work out stream->head, and event->plans of its events. Only where a plan is possible. */
void ctf_plan_stream(struct ctf_meta *meta, struct ctf_stream *stream);

/* What is at hand of a packet. */
struct ctf_window {
	const uint8_t *bytes, *end;
	uint64_t first; /* byte of the packet that 'bytes' is */
};

/* How far it is to the next multiple of 'align' bytes of the packet. */
static inline uint64_t ctf_window_padding(const struct ctf_window *window, const uint8_t *at,
					  uint32_t align)
{
	return -(window->first + (uint64_t)(at - window->bytes)) & (align - 1);
}

static inline uint64_t ctf_load(const struct ctf_load *load, const uint8_t *start)
{
	uint64_t number;

	memcpy(&number, start + load->offset, sizeof(number));
	number <<= load->left;
	return load->is_signed ? (uint64_t)((int64_t)number >> load->right) : number >> load->right;
}

/* 'record' is NULL where none is kept. */
static inline __attribute__((always_inline)) void ctf_load_run(const struct ctf_load *load,
							       const uint8_t *start,
							       uint64_t *slots, struct event *event,
							       struct ctf_record *record)
{
	uint64_t number = ctf_load(load, start);
	uint32_t word = (uint32_t)number;

	if (record)
		memcpy(record->bytes + load->place, &number, sizeof(number));
	switch (load->to) {
	case CTF_TO_4:
		memcpy((uint8_t *)event + load->at, &word, sizeof(word));
		break;
	case CTF_TO_8:
		memcpy((uint8_t *)event + load->at, &number, sizeof(number));
		break;
	case CTF_TO_TID:
		event->tid = (int32_t)word;
		break;
	case CTF_TO_CPU:
		event->cpu = (uint16_t)word;
		break;
	case CTF_TO_SLOT:
		slots[load->at] = number;
		break;
	case CTF_TO_TARGET:
		ctf_target_number(load->target, event, number);
		break;
	case CTF_TO_FLOAT:
		if (!record)
			break;
		memset(record->bytes + load->place, 0, CTF_RECORD_PLACE);
		ctf_record_number(record, load->type, number);
		break;
	default:
		break;
	}
}

/* A text behind a step: the event and the record get it. */
static inline __attribute__((always_inline)) void ctf_step_text(const struct ctf_step *step,
								struct event *event,
								struct ctf_record *record,
								const uint8_t *text, uint64_t bytes)
{
	const uint8_t *zero = NULL;

	if (step->target || (record && step->type))
		zero = memchr(text, '\0', bytes);
	if (step->target)
		ctf_target_text(step->target, event, (const char *)text, bytes, zero != NULL);
	if (record && step->type)
		ctf_record_plain_text(record, step->type, (const char *)text,
				      zero ? (size_t)(zero - text) : bytes);
}

/* A sequence behind a step: the record gets it. */
static inline void ctf_step_sequence(const struct ctf_step *step, struct ctf_record *record,
				     const uint8_t *at, uint64_t count)
{
	if (step->type->is_text)
		ctf_step_text(step, NULL, record, at, count);
	else
		ctf_record_numbers(record, step->type, at, count);
}

/*
 * Fill the event, and the record unless it is NULL, from what stands at 'at', behind the header. Returns where the
 * event ends, or NULL: ctf_walk() must read it. May read CTF_WINDOW_SLACK bytes behind 'end'.
 */
static inline __attribute__((always_inline)) const uint8_t *ctf_plan_run(
	const struct ctf_plan *plan, const struct ctf_window *window, const uint8_t *at,
	struct event *event, struct ctf_record *record)
{
	const uint8_t *end = window->end;
	uint64_t slots[CTF_PLAN_SLOTS];

	for (uint32_t i = 0; i < plan->step_count; i++) {
		const struct ctf_step *step = &plan->steps[i];
		const uint8_t *text, *zero;
		uint64_t bytes;

		bytes = ctf_window_padding(window, at, step->align) + step->bytes_before;
		if (__builtin_expect(bytes > (uint64_t)(end - at), 0))
			return NULL;
		at += bytes - step->bytes_before;
		for (uint32_t n = 0; n < step->load_count; n++)
			ctf_load_run(&plan->loads[step->load_first + n], at, slots, event, record);
		text = at = at + step->bytes_before;
		switch (step->end) {
		case CTF_END_STRING:
			zero = memchr(at, '\0', (size_t)(end - at));
			if (__builtin_expect(!zero, 0))
				return NULL;
			at = zero + 1;
			if (step->target)
				ctf_target_text(step->target, event, (const char *)text,
						(uint64_t)(zero - text), true);
			if (record && step->type)
				ctf_record_plain_text(record, step->type, (const char *)text,
						      (size_t)(zero - text));
			break;
		case CTF_END_TEXT:
			if (__builtin_expect(step->bytes > (uint64_t)(end - at), 0))
				return NULL;
			at += step->bytes;
			ctf_step_text(step, event, record, text, step->bytes);
			break;
		case CTF_END_SEQUENCE:
			if (__builtin_expect(slots[step->slot] > (uint64_t)(end - at), 0))
				return NULL;
			bytes = slots[step->slot] * step->bytes;
			if (__builtin_expect(bytes > (uint64_t)(end - at), 0))
				return NULL;
			at += bytes;
			if (record && step->type)
				ctf_step_sequence(step, record, text, slots[step->slot]);
			break;
		case CTF_END_ARRAY:
			bytes = (uint64_t)step->count * step->bytes;
			if (__builtin_expect(bytes > (uint64_t)(end - at), 0))
				return NULL;
			at += bytes;
			if (record)
				ctf_record_numbers(record, step->type, text, step->count);
			break;
		default:
			break;
		}
	}
	return at;
}

#endif
