/*
 * told.h - what a reader told of an event, beside its record.
 *
 * Records of other tracers' events are made by their readers, and what an event means cannot always
 * be told from the record alone: text names states by letters and functions by names, perf tells
 * births by records of its own. So holdup export writes behind each such record what its reader
 * told, and reading that gives the same event:
 *
 *	u16 bytes | u8 version, u8 type, u8 context | its fields, in the order of a table
 *
 * Numbers are LEB128 (signed ones as 64 bits in two's complement), texts end in a zero and have a 1
 * before them, or are a 0; an array of frames is its count and so many u64, the lowest byte first.
 */
#ifndef READ_CTF_TOLD_H
#define READ_CTF_TOLD_H

#include <stdbool.h>
#include <stdint.h>

struct event;

#define CTF_TOLD_MAX 6000u /* bytes, with the length; longer texts are cut */

/* The same for the reader: in the metadata behind the fields of the record. */
#define CTF_TOLD_FIELDS                                                        \
	"\t\tinteger { size = 16; align = 8; signed = false; } _told_bytes;\n" \
	"\t\tuint8_t _told[_told_bytes];\n"

/* Write what 'event' is to 'to'. Returns how many bytes. */
uint32_t ctf_told_put(const struct event *event, uint8_t to[CTF_TOLD_MAX]);

/*
 * The event told by 'bytes' behind the length; what it points to lies there. 'other' is what it is
 * when it is of no known type. Time, CPU and thread are left alone. False when it is damaged.
 */
bool ctf_told_take(const uint8_t *at, uint32_t bytes, const struct event *other,
		   struct event *out_event);

#endif
