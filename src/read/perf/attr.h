/*
 * attr.h - the events that perf was asked to record, and where their records have what.
 *
 *	sample   header | identifier ip tid time addr id stream cpu period | read, chain, raw ...
 *	others   header | fields ...                | tid time id stream cpu identifier
 *
 * Which of these are there is told by the attribute of the event, and which event a record is
 * of, by its id.
 */
#ifndef READ_PERF_ATTR_H
#define READ_PERF_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "read/perf/wire.h"

#define PERF_MAX_ATTRS 16384u
#define PERF_MAX_IDS   (1u << 22)

struct perf_attr {
	uint32_t type; /* enum perf_event_kind, or a PMU of the machine */
	uint64_t config;
	uint64_t period; /* or frequency */
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t flags;
	uint64_t branch_type;
	uint64_t regs_user, regs_intr;
	int32_t clockid; /* -1 = perf's own clock */
	char *name;	 /* owned; NULL = not told */
	uint16_t kind;	 /* number of the events' format, see perf_kinds.h */
	char *title;	 /* owned; name as it stands in the format */
	bool is_tracepoint;
	uint32_t id_count;

	/* Offsets from the start of a sample; 0 = not there. */
	uint16_t ip_at, tid_at, time_at, cpu_at, id_at;
	uint16_t fixed_end;
	uint16_t raw_at; /* of the length of the raw data, when it is the same in all samples */

	/* Offsets from the end of other records; 0 = not there. */
	uint8_t tail_bytes;
	uint8_t tail_tid, tail_time, tail_cpu, tail_id;
};

/* Where a sample that tells all of time, CPU and its event has what. */
struct perf_quick {
	uint32_t need_bytes; /* it is at least so long; UINT32_MAX = none of this event does */
	uint16_t time_at, cpu_at;
	uint16_t raw_at; /* of the length of a tracepoint's data; 0 = at no fixed place */
};

struct perf_attrs {
	struct perf_attr **items; /* owned */
	size_t count, cap;
	struct map by_id; /* id: number of the attribute */
	struct map cpus;  /* id: CPU plus 1 */
	bool swap;
	/* Where all of them have their id; 0 = nowhere. */
	uint16_t id_at;
	uint8_t tail_id;
	/* The same as by_id, where the ids are close together. */
	uint64_t low_id;
	uint16_t *dense; /* owned; number of the attribute plus 1 */
	size_t dense_count;
	struct perf_quick *quick; /* owned; as many, or NULL: samples do not tell their id */
	size_t quick_count;
};

void perf_attrs_fini(struct perf_attrs *attrs);

/*
 * Understand 'bytes' of a struct perf_event_attr and add it. Returns NULL when it is none, or
 * there are too many.
 */
struct perf_attr *perf_attrs_add(struct perf_attrs *attrs, const uint8_t *data, size_t bytes);

/* Samples with this id are of attribute 'index'. */
void perf_attrs_add_id(struct perf_attrs *attrs, uint64_t id, size_t index);

/* All ids are known: make finding quick. Optional. */
void perf_attrs_settle(struct perf_attrs *attrs);

/* The attribute of an id, or NULL. */
const struct perf_attr *perf_attrs_find(const struct perf_attrs *attrs, uint64_t id);

/* The attribute of a record of the kernel; NULL: none has its id, or it is too short. */
const struct perf_attr *perf_attrs_of(const struct perf_attrs *attrs,
				      const struct perf_record *record);

/* What every record tells. */
struct perf_where {
	uint64_t time_ns; /* 0 = not told: it is no event, but tells of what was before */
	int32_t tid;	  /* -1 = not told */
	uint16_t cpu;
	bool has_cpu;
};

/* False when it is too short for what 'attr' says. */
bool perf_attr_where(const struct perf_attr *attr, const struct perf_record *record, bool swap,
		     struct perf_where *out_where);

/*
 * For the loops over all records: where a sample has what, of those that tell all of it, where the
 * ids are close together. NULL: it is another record, or not as it should be. 'swap' is that of
 * the file, and known to the compiler where it matters.
 */
static inline const struct perf_quick *perf_attrs_quick(const struct perf_attrs *attrs,
							const struct perf_record *record, bool swap)
{
	const struct perf_quick *quick;
	uint64_t place;

	if (record->type != PERF_SAMPLE || record->bytes < attrs->id_at + 8u)
		return NULL;
	place = perf_u64(record->data + attrs->id_at, swap) - attrs->low_id;
	if (place >= attrs->quick_count)
		return NULL;
	quick = &attrs->quick[place];
	return record->bytes >= quick->need_bytes ? quick : NULL;
}

/* What stands behind the fixed part of a sample. Lengths in bytes; pointers NULL = not there. */
struct perf_rest {
	const uint8_t *read, *chain, *raw;
	uint32_t read_bytes, chain_count, raw_bytes;
	uint32_t branch_count;
	enum perf_regs_abi abi;
	const uint8_t *regs;  /* of the program: those of attr->regs_user; NULL: .abi is none */
	const uint8_t *stack; /* a copy of its stack */
	uint32_t stack_bytes; /* of it that are set */
	const uint8_t *weight, *data_src, *transaction, *phys_addr, *cgroup, *data_page, *code_page;
};

/* False when something does not fit into the record. */
bool perf_attr_rest(const struct perf_attr *attr, const struct perf_record *record, bool swap,
		    struct perf_rest *out_rest);

#endif
