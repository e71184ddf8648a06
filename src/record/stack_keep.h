/*
 * stack_keep.h - the stacks that the BPF program told of, each once, until they are given names.
 *
 * They are raw memory of other programs, with all secrets in it: they lie in a file without a name,
 * and never in the trace. By one thread at a time.
 */
#ifndef RECORD_STACK_KEEP_H
#define RECORD_STACK_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/bpf/raw_futex.h"

struct raw_stack;
struct stack_keep;

/* One distinct stack of one process. */
struct kept_stack {
	uint64_t at;	   /* where it lies, for stack_keep_read() */
	uint64_t time_ns;  /* when it was first seen */
	uint64_t slept_ns; /* of all its waits */
	uint32_t bytes;
	uint32_t packed; /* bytes that it takes where it lies */
	int32_t tgid;
	uint32_t
		futex; /* the first word that was waited for there: number of a kept futex, plus 1; 0 = none */
};

/* A word that was waited for with a stack, each once. */
struct kept_futex {
	struct raw_futex raw;
	uint64_t time_ns; /* when that was first seen */
	uint32_t next;	  /* of the same stack, as in struct kept_stack */
};

/* A wait, or a sample of work. */
struct kept_wait {
	uint64_t begin_ns, end_ns, slept_ns;
	int32_t tid;
	uint32_t flags; /* RAW_STACK_... */
	uint32_t stack; /* index of a kept stack */
};

/*
 * 'folder_fd': a folder on whose disk the file lies; -1 = it is in memory. 'most_bytes': of stacks, which are compressed
 * then; 0 = 256 MiB, as they are. NULL, with errno, when that cannot be made.
 */
struct stack_keep *stack_keep_new(int folder_fd, uint64_t most_bytes);

/* What it takes now. */
uint64_t stack_keep_bytes(const struct stack_keep *keep);
uint64_t stack_keep_file_bytes(const struct stack_keep *keep); /* of that, in its file */

/*
 * Keep one; 'raw' is 'bytes' long, whole and checked. What does not matter for its callers is zeroed.
 * Waits have room when samples of work have none any more: of these the place alone is kept then.
 */
void stack_keep_add(struct stack_keep *keep, struct raw_stack *raw, size_t bytes);

/* The stack alone, for a wait that is told of later: its number; UINT32_MAX = there is no room. */
uint32_t stack_keep_put(struct stack_keep *keep, struct raw_stack *raw, size_t bytes);

/* That wait. False: there is no such stack, or no room. */
bool stack_keep_wait(struct stack_keep *keep, const struct raw_stack *raw, uint32_t stack);

/* Views; the stacks in no order. */
struct kept_stack *stack_keep_stacks(const struct stack_keep *keep, size_t *out_count);
const struct kept_wait *stack_keep_waits(const struct stack_keep *keep, size_t *out_count);

const struct kept_futex *stack_keep_futexes(const struct stack_keep *keep, size_t *out_count);

/* All of a raw stack into 'out_raw', which has room for the largest; 0 = it cannot be read. */
size_t stack_keep_read(const struct stack_keep *keep, const struct kept_stack *stack,
		       struct raw_stack *out_raw);

/* Waits that were not kept, as there was no room for them or their stacks. */
uint64_t stack_keep_lost(const struct stack_keep *keep);
uint64_t stack_keep_lost_samples(const struct stack_keep *keep);

void stack_keep_free(struct stack_keep *keep); /* NULL is fine */

#endif
