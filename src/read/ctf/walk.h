/*
 * walk.h - read values of a type out of the bits of a packet, one after the other.
 *
 * The bytes at hand are a window into a packet's content. What does not fit into the window
 * is asked for again with a larger one (CTF_MORE); what does not fit into the content is
 * damage (CTF_BAD).
 */
#ifndef READ_CTF_WALK_H
#define READ_CTF_WALK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "read/ctf/type.h"

struct ctf_record;
struct event;

#define CTF_MORE (-1)
#define CTF_BAD	 (-2)

#define CTF_WINDOW_SLACK 16u /* bytes behind a window that may be read, whatever they are */

/* All positions are in bits from the start of the packet. */
struct ctf_cursor {
	const uint8_t *bytes; /* of the packet's bit 'first' */
	uint64_t first;	      /* a multiple of 8 */
	uint64_t at;
	uint64_t window_end; /* at most 'end' */
	uint64_t end;	     /* of the content */
	uint8_t order;	     /* enum ctf_order of the last number */
	const char *wrong;   /* after CTF_BAD: what */
};

struct ctf_walk {
	struct ctf_cursor cursor;
	uint64_t *slots;
	uint64_t roles[CTF_ROLE_COUNT];
	uint32_t has;		   /* bits: roles that were met */
	uint32_t idle;		   /* values without a bit, of this event or head of a packet */
	uint64_t clock;		   /* ticks */
	struct event *event;	   /* where targets are; NULL = nowhere */
	struct ctf_record *record; /* takes the fields; NULL = nobody does */
};

/* Read one value of the type. 0, CTF_MORE or CTF_BAD. */
int ctf_walk(struct ctf_walk *walk, const struct ctf_type *type);

static inline bool ctf_walk_has(const struct ctf_walk *walk, enum ctf_role role)
{
	return walk->has >> role & 1;
}

/* The value of a clock whose low 'bits' are 'value', at or after 'now'. */
static inline uint64_t ctf_clock_next(uint64_t now, uint64_t value, uint32_t bits)
{
	uint64_t mask, next;

	if (bits == 64)
		return value;
	mask = ((uint64_t)1 << bits) - 1;
	next = (now & ~mask) | value;
	return value < (now & mask) ? next + mask + 1 : next;
}

/* Write the number to the event's member. */
void ctf_target_number(const struct target *target, struct event *event, uint64_t number);
void ctf_target_text(const struct target *target, struct event *event, const char *text,
		     uint64_t bytes, bool ended);

#endif
