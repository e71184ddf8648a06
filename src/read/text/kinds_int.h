/*
 * kinds_int.h - kinds of events, their patterns, and the values that a pattern finds. Only
 * for text_kinds.c and text_match.c.
 *
 *	text_kinds.c  which kinds there are; events and records of values
 *	text_match.c  values out of a line
 */
#ifndef READ_TEXT_KINDS_INT_H
#define READ_TEXT_KINDS_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "read/text/kinds.h"
#include "read/text/line.h"

struct target;

#define TEXT_MAX_STEPS 40u

/* A part of a pattern: a literal text, or a field. */
struct step {
	const char *literal;
	uint8_t bytes; /* of the literal; 0 = a field */
	uint8_t field; /* TEXT_MAX_FIELDS = one without a name */
	char letter;
};

struct pattern {
	struct step steps[TEXT_MAX_STEPS];
	uint32_t count;
};

struct field {
	char *name; /* owned */
	char letter;
	const struct target *target; /* NULL = none */
};

struct kind {
	char *system, *name; /* owned */
	uint32_t number;     /* of its format */
	uint32_t pattern_count;
	struct pattern *patterns; /* owned */
	struct field fields[TEXT_MAX_FIELDS];
	uint32_t field_count;
	bool is_call; /* sys_enter or sys_exit by name */
	struct event base;
};

/* What a field of a line is. */
struct value {
	bool is_set;
	uint64_t number;
	struct text_view text;
};

/*
 * The values of the fields, by the first pattern of the kind that fits; all of them unset when
 * none does. True for a kind without patterns.
 */
bool text_match(const struct kind *kind, struct text_view text, struct value *values);

/* A number at the start of the view, which is moved behind it. */
uint64_t text_take_signed(struct text_view *view, bool *out_good);

/* What stands before the first of 'ends', or all. */
struct text_view text_take_until(struct text_view *view, const char *ends);

bool text_looks_like_address(struct text_view view);

/* What words of the kernel mean: flags of lock:contention_begin, a state of sched_switch. */
uint64_t text_lock_flags(struct text_view view);
uint8_t text_state_of(struct text_view view);

/* "0x3, 0x7f12, 8": arguments of a system call. */
void text_read_args(struct text_view view, uint64_t out_args[6]);

#endif
