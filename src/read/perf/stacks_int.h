/*
 * stacks_int.h - what is kept of call chains and copies of stacks until all records were there.
 */
#ifndef READ_PERF_STACKS_INT_H
#define READ_PERF_STACKS_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "read/format_text.h"
#include "read/perf/copies.h"
#include "read/perf/maps.h"
#include "read/stack_pool.h"

struct perf_attr;

#define PERF_STACK_CHAIN_MAX 256u	/* addresses of one */
#define PERF_MARK_WAKES	     UINT32_MAX /* no chain: the thread is woken, or goes on */

/* A chain, each once for each process. */
struct perf_stack_chain {
	int32_t tgid;
	uint64_t first; /* of 'words' */
	uint32_t count;
	struct perf_copy copy; /* what has the user's part, where the chain has none */
};

/* A thread goes to sleep with this chain, or it is over; or it is seen at work. */
struct perf_moment {
	int32_t tid;
	uint32_t chain; /* or PERF_MARK_WAKES */
	uint64_t time_ns;
	bool is_sample;
};

struct perf_stacks {
	struct perf_maps maps;
	struct perf_stack_chain *chains; /* owned */
	size_t chain_count, chain_cap;
	uint64_t *words; /* owned */
	size_t word_count, word_cap;
	struct perf_moment *moments; /* owned */
	size_t moment_count, moment_cap;
	struct map by_hash; /* of a chain: its index */
	struct map made;    /* chain, and what became of its process by then: number of the stack */
	struct stack_pool pool;
	const struct perf_attr *clock; /* whose samples are those of work */
	bool knows_formats;
	int32_t switch_id, waking_id, wakeup_id; /* -1 = there is no such event */
	struct format_field prev_state, next_pid, waking_pid, wakeup_pid;
	struct format_states states;
};

#endif
