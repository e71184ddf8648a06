/*
 * type.h - the types that the metadata of a CTF trace declares.
 *
 * A type is read by ctf_parse.c as it is written, and may then be used at several places.
 * ctf_resolve.c makes an instance of it for each place: byte order, clocks, roles and what
 * lengths and tags refer to are known there.
 */
#ifndef READ_CTF_TYPE_H
#define READ_CTF_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CTF_MAX_DEPTH 48u /* of types within types */

enum ctf_kind {
	CTF_INTEGER,
	CTF_ENUM,
	CTF_FLOAT,
	CTF_STRING,
	CTF_STRUCT,
	CTF_VARIANT,
	CTF_ARRAY,
	CTF_SEQUENCE,
	CTF_VARINT, /* LEB128; CTF 2 */
};

/* How the bytes of a text are characters. */
enum ctf_encoding {
	CTF_UTF8,
	CTF_UTF16_LITTLE,
	CTF_UTF16_BIG,
	CTF_UTF32_LITTLE,
	CTF_UTF32_BIG,
};

/* Where a path begins. Those of CTF 2 have CTF_PATH_MARK between their parts. */
enum ctf_path_from {
	CTF_PATH_TSDL,	   /* as it is written: "event.fields.a.b", or the nearest "a.b" before */
	CTF_PATH_RELATIVE, /* 'path_up' structures outwards */
	CTF_PATH_SCOPE,	   /* plus enum scope of ctf_resolve.c */
};

#define CTF_PATH_MARK '\x1f'

enum ctf_order {
	CTF_ORDER_NATIVE, /* the trace's; not in instances */
	CTF_ORDER_LITTLE,
	CTF_ORDER_BIG,
};

/* What an integer tells the reader itself, by its name and where it stands. */
enum ctf_role {
	CTF_ROLE_NONE,
	CTF_ROLE_MAGIC,
	CTF_ROLE_STREAM_ID,
	CTF_ROLE_INSTANCE_ID,
	CTF_ROLE_PACKET_SIZE,
	CTF_ROLE_CONTENT_SIZE,
	CTF_ROLE_BEGIN,
	CTF_ROLE_END,
	CTF_ROLE_DISCARDED,
	CTF_ROLE_SEQUENCE_NUMBER,
	CTF_ROLE_CPU,
	CTF_ROLE_EVENT_ID,
	CTF_ROLE_TIMESTAMP,
	CTF_ROLE_TID,
	CTF_ROLE_VTID,
	CTF_ROLE_COUNT
};

/* Values of an enumeration; signed ones as their 64 bits in two's complement. */
struct ctf_range {
	const char *label;
	uint64_t low, high;
};

struct ctf_member {
	const char *name;
	struct ctf_type *type;
};

/* Of a variant's instance: which member a range of the tag's values chooses. */
struct ctf_choice {
	uint64_t low, high;
	uint32_t member;
};

struct target;
struct ctf_clock;

struct ctf_type {
	uint8_t kind;  /* enum ctf_kind */
	uint8_t order; /* enum ctf_order: integers, enumerations, floats */
	uint8_t base;  /* 2, 8, 10, 16 */
	uint8_t role;  /* enum ctf_role; instances only */
	bool is_signed;
	bool is_text;	/* an integer that is a character; an array or sequence of such bytes */
	uint32_t bits;	/* integers, enumerations, floats: 1 to 64 */
	uint32_t align; /* in bits, a power of two */
	uint32_t line;	/* of the metadata */
	uint32_t depth; /* of types within it */

	const char *clock_name;	       /* mapped to this clock; NULL = to none */
	const struct ctf_clock *clock; /* instances */

	struct ctf_range *ranges;
	uint32_t range_count;

	struct ctf_member *members; /* struct, variant */
	uint32_t member_count;

	struct ctf_type *element; /* array, sequence */
	uint64_t length;	  /* array */
	const char *path;	  /* sequence: its length; variant: its tag; NULL = not given */
	uint8_t path_from;	  /* enum ctf_path_from */
	uint8_t path_up;

	uint8_t encoding;    /* enum ctf_encoding; of texts */
	bool is_reversed;    /* the bits of a number come last to first, for its byte order */
	bool is_optional;    /* a variant of one member, which may be missing */
	bool has_choices;    /* a variant whose choices are declared: the tag may be any integer */
	uint32_t roles_also; /* bits: more roles than 'role' */

	/* Instances: where values that others refer to are kept. */
	uint32_t *slots; /* this integer is written to each of them */
	uint32_t slot_count;
	uint32_t source; /* sequence, variant: the slot that is read */
	struct ctf_choice *choices;
	uint32_t choice_count;
	bool tag_signed;

	/* Instances of an event: where the value goes. */
	const struct target *target; /* member of struct event; NULL = none */
	uint32_t field;		     /* of the record, plus 1; 0 = none */
};

/* Memory that is freed at once. */
struct ctf_arena {
	struct ctf_block *blocks;
	size_t room; /* of the next block */
	size_t left;
	uint8_t *at;
};

void *ctf_take(struct ctf_arena *arena, size_t bytes); /* zeroed, aligned */
char *ctf_keep(struct ctf_arena *arena, const char *text, size_t bytes);
void ctf_arena_fini(struct ctf_arena *arena);

/* Has no value of this type any bits? */
bool ctf_type_is_empty(const struct ctf_type *type);

#endif
