/*
 * record.h - the fields of an event of CTF as a record that the printer understands.
 *
 * The printer, the columns and the filters of holdup list read fields by a kernel's format
 * file. For each kind of event such a file is made, and, where records are asked for, each
 * event is written down in that form, in the byte order of this machine:
 *
 *	0  u16 number of the kind, u8 0, u8 0, s32 thread
 *	8  one place of 8 bytes for each field: a number, or where its text or its array is
 *	   texts and arrays
 *
 * Members of structs are fields of their own (OUTER_INNER). Floats, variants and arrays of
 * anything but numbers are texts. What does not fit into 64 KiB is cut.
 */
#ifndef READ_CTF_RECORD_H
#define READ_CTF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "read/ctf/type.h"
#include "read/kernel/events.h"

struct ctf_event;
struct ctf_stream;
struct event;
struct formats;
struct target;

#define CTF_RECORD_MAX	 65535u /* bytes */
#define CTF_RECORD_PLACE 8u	/* bytes of a place */

struct ctf_record {
	uint8_t *bytes; /* room for CTF_RECORD_MAX */
	uint32_t fixed; /* up to here are the places of fields */
	uint32_t used;
	uint32_t depth;	      /* of what is being written as one text; 0 = nothing is */
	uint32_t array_depth; /* 1 = numbers of an array are being written */
	uint32_t field;	      /* that the text or array is for */
	uint32_t start;	      /* of it */
	bool first;	      /* in a struct or array of it */
	bool is_full;	      /* to the last byte, which is the end of a text that was cut */
};

/*
 * Number the kind of event and add its format file to 'formats'. 'title' is "SYSTEM/EVENT".
 * Sets ctf_type.field of the types of its fields; those of 'stream' are the same for all of
 * its events. Returns how many fields there are beyond those that a record has room for.
 */
uint32_t ctf_record_plan(const struct ctf_stream *stream, struct ctf_event *event,
			 const char *title, struct formats *formats);

/* How many numbers and texts 'type' has that tell the reader nothing about the packet; NULL: none. */
uint32_t ctf_record_own(const struct ctf_type *type);

void ctf_record_open(struct ctf_record *record, uint8_t *bytes, uint32_t fixed);
/* Write the head, and return the length. */
uint32_t ctf_record_close(struct ctf_record *record, uint16_t number, int32_t tid);

/* Called by ctf_walk(). */
void ctf_record_number(struct ctf_record *record, const struct ctf_type *type, uint64_t number);
void ctf_record_text(struct ctf_record *record, const struct ctf_type *type, const char *text,
		     size_t bytes);
void ctf_record_begin(struct ctf_record *record, const struct ctf_type *type);
void ctf_record_member(struct ctf_record *record, const char *name, uint64_t index);
void ctf_record_end(struct ctf_record *record, const struct ctf_type *type);

/*
 * Called by ctf_plan_run(): fields that stand for themselves. Both need places that are not set
 * yet, and set all of them. Numbers stand without gaps, those of more than a byte with the low one
 * first; CTF_WINDOW_SLACK bytes behind them may be read.
 */
void ctf_record_numbers(struct ctf_record *record, const struct ctf_type *type, const uint8_t *at,
			uint64_t count);

/* Where the place of a field is; 0 = it is none. */
static inline uint32_t ctf_record_place(const struct ctf_type *type)
{
	return type->field ? KERNEL_EVENT_MIN_BYTES + (type->field - 1) * CTF_RECORD_PLACE : 0;
}

static inline void ctf_record_plain_text(struct ctf_record *record, const struct ctf_type *type,
					 const char *text, size_t bytes)
{
	uint64_t word;

	if (__builtin_expect(bytes + 2 > CTF_RECORD_MAX - record->used, 0)) {
		memset(record->bytes + ctf_record_place(type), 0, CTF_RECORD_PLACE);
		ctf_record_text(record, type, text, bytes);
		return;
	}
	memcpy(record->bytes + record->used, text, bytes);
	record->bytes[record->used + bytes] = '\0';
	word = (uint64_t)(bytes + 1) << 16 | record->used;
	memcpy(record->bytes + ctf_record_place(type), &word, sizeof(word));
	record->used += (uint32_t)bytes + 1;
}

/* ctf_rows.c: what the kernel's bits mean. */
uint8_t ctf_task_state(uint64_t bits);
void ctf_target_flags(const struct target *target, struct event *event, uint64_t flags);

#endif
