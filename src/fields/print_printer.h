/* print_printer.h - struct printer, for print*.c. */
#ifndef FIELDS_PRINT_PRINTER_H
#define FIELDS_PRINT_PRINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "fields/print.h"

struct facts;
struct pool;

struct printer {
	const struct facts *facts;
	struct pool *pool; /* owned; names, fields, programs */
	bool big_endian;
	uint32_t long_bytes;
	struct print_event **by_id; /* owned; id_count of them, none is NULL */
	uint32_t id_count;
	struct print_event **events; /* owned; in the order of the formats */
	size_t event_count;
	size_t event_cap;
	struct print_event unknown;
	uint32_t id_offset;    /* of common_type */
	uint32_t memory_count; /* memos in all programs */
	/* Of common_flags and common_preempt_count; UINT32_MAX = there is none. */
	uint32_t flags_offset;
	uint32_t preempt_offset;
	char flag_text[256][4];
	char preempt_text[256][2];
};

/* The texts that one conversion made before, by the value of the field it is about. */
#define MEMO_BITS  5
#define MEMO_BYTES 112u

struct memo {
	uint64_t key;
	uint8_t bytes;
	bool used;
	char text[MEMO_BYTES];
};

/* Make the program of an event out of its format text. Sets event->program or why_not. */
void print_compile(struct printer *printer, struct print_event *event, const char *text);

#endif
