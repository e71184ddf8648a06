/*
 * format_text.h - the fields that a format file of tracefs lists.
 *
 *	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
 *
 * Written for text that anybody may have made: whatever is no such line is passed
 * over. The print format is not looked at, except for format_text_states().
 */
#ifndef READ_FORMAT_TEXT_H
#define READ_FORMAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct formats;

enum format_kind {
	FORMAT_NUMBER,
	FORMAT_ARRAY,	 /* of numbers; bytes / count is the size of one */
	FORMAT_TEXT,	 /* char NAME[bytes], may lack a terminator */
	FORMAT_DATA_LOC, /* 4 bytes: length << 16 | offset from the start of the record */
	FORMAT_REL_LOC,	 /* the same, offset from the end of this field */
};

struct format_field {
	const char *type; /* "unsigned char common_flags", a view into the text */
	uint32_t type_bytes;
	const char *name; /* a view into 'type' */
	uint32_t name_bytes;
	uint32_t offset;
	uint32_t bytes; /* at least 1; offset + bytes is at most FORMAT_MAX_END */
	uint32_t count; /* elements of an array, else 1 */
	bool is_signed;
	enum format_kind kind;
};

/* How a format file of a reader's own begins; for printf, with the event's number. */
#define FORMAT_TEXT_HEAD                                                               \
	"name: event\nID: %u\nformat:\n"                                               \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

#define FORMAT_MAX_END 65536u /* a record is never longer */

/*
 * The next field at or after *cursor (start with the text itself); moves *cursor
 * behind it. False when there is none.
 */
bool format_text_next(const char **cursor, struct format_field *out_field);

/* The field called 'name'. False when there is none. */
bool format_text_field(const char *text, const char *name, struct format_field *out_field);

/* The event's number, from its line "ID: 372". -1 when there is none below 65536. */
int32_t format_text_id(const char *text);

/* The highest of all their numbers; 0 when there is none. */
uint32_t format_text_highest_id(const struct formats *formats);

/* What the bits of prev_state mean, as the print format of sched_switch says. */
struct format_states {
	uint64_t preempted;   /* this bit alone: still runnable */
	uint64_t letter[128]; /* index = letter; the bit it stands for, 0 = none */
};

/* Falls back to S = 1, D = 2 when the text does not tell. */
void format_text_states(const char *text, struct format_states *out_states);

#endif
