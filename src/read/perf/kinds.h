/*
 * kinds.h - records of perf that are no tracepoints, as kinds of events with fields.
 *
 * The printer, the columns and the filters of holdup list read fields by a kernel's format
 * file. Such a file is made for each kind of record and for each event that is sampled, with
 * the fields where perf has them; a record is then copied behind a head of the kernel's form:
 *
 *	0   u16 number of the kind, u8 0, u8 0, s32 thread
 *	8   places of 8 bytes for what has no fixed place in the record
 *	    the record itself, without its header
 */
#ifndef READ_PERF_KINDS_H
#define READ_PERF_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "read/perf/attr.h"

struct perf_file;

enum perf_extra_kind {
	PERF_KIND_OTHER = PERF_CALLCHAIN_DEFERRED + 1, /* types that came later */
	PERF_KIND_EXEC,
	PERF_KIND_CALLCHAIN,
	PERF_KIND_COUNT
};

struct perf_kinds {
	uint16_t ids[PERF_KIND_COUNT]; /* index: type of the record, or an extra one */
	bool swap;
};

/*
 * Name all events of 'file', and add the formats of those that are no tracepoints to its
 * formats, which are complete then.
 */
void perf_kinds_init(struct perf_kinds *kinds, struct perf_file *file);

/* "mmap2"; of an extra kind, too. */
const char *perf_kind_name(uint32_t kind);

/* Room that a copy needs at most. */
#define PERF_COPY_MAX 65536u

/*
 * Write a record down as one of 'kind' (or of 'attr', for a sample) at 'to', which has room for
 * PERF_COPY_MAX. Returns its length.
 */
uint32_t perf_kind_copy(const struct perf_kinds *kinds, uint32_t kind, const struct perf_attr *attr,
			const struct perf_record *record, int32_t tid, uint8_t *to);
uint32_t perf_kind_sample(const struct perf_kinds *kinds, const struct perf_attr *attr,
			  const struct perf_record *record, int32_t tid, uint8_t *to);

/*
 * The call chain of a sample by itself: its addresses stand at PERF_CHAIN_AT, and are at most
 * PERF_CHAIN_MAX.
 */
#define PERF_CHAIN_AT  16u
#define PERF_CHAIN_MAX 8000u
uint32_t perf_kind_chain(const struct perf_kinds *kinds, const uint8_t *chain, uint32_t count,
			 int32_t tid, uint8_t *to);

#endif
