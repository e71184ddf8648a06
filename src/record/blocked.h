/*
 * blocked.h - write down in which calls threads block, as the BPF program of names.h tells it.
 *
 * One file for each CPU that has any, DIR/kernel/cpuN.calls, of struct wire_call: wire/wire.h. Or in memory,
 * where the oldest go, until a snapshot. Used by one thread at a time.
 */
#ifndef RECORD_BLOCKED_H
#define RECORD_BLOCKED_H

#include <stdint.h>

#include "record/last_calls.h"

struct blocked;
struct bpf_object;
struct err;

/*
 * Read the ring of 'object', which is loaded, and write below 'dir'; NULL: keep them in memory. Returns 0 and sets
 * *out_blocked, to be freed with blocked_free(), or a negative errno with err filled.
 */
int blocked_new(struct bpf_object *object, const char *dir, struct blocked **out_blocked,
		struct err *err);

/* In memory: at most so many bytes of all CPUs together. Before the first look. */
void blocked_keep(struct blocked *blocked, uint64_t most_bytes);

/* Becomes readable when there is much to be taken. */
int blocked_fd(const struct blocked *blocked);

/* Take what is there, and write it. */
void blocked_look(struct blocked *blocked);

/* Records that could not be written. */
uint64_t blocked_unwritten(const struct blocked *blocked);

/* In memory: nobody needs what was before. */
void blocked_forget(struct blocked *blocked, uint64_t before_ns);

/* In memory: what it takes now, and when the youngest record was that went for want of room; 0 = none. */
uint64_t blocked_bytes(const struct blocked *blocked);
uint64_t blocked_gone_ns(const struct blocked *blocked);

/*
 * In memory: make the files in 'kernel_fd', and give *out_last, zeroed before, the last call of each thread before
 * 'begin_ns'. Returns 0, or a negative errno with err filled.
 */
int blocked_snapshot(const struct blocked *blocked, int kernel_fd, uint64_t begin_ns,
		     struct last_calls *out_last, struct err *err);

/* NULL is fine. */
void blocked_free(struct blocked *blocked);

#endif
