/*
 * blocked.h - write down in which calls threads block, as the BPF program of names.h tells it.
 *
 * One file for each CPU that has any, DIR/kernel/cpuN.calls, of struct wire_call: wire/wire.h. Used by
 * one thread at a time.
 */
#ifndef RECORD_BLOCKED_H
#define RECORD_BLOCKED_H

#include <stdint.h>

struct blocked;
struct bpf_object;
struct err;

/*
 * Read the ring of 'object', which is loaded, and write below 'dir'. Returns 0 and sets *out_blocked, to
 * be freed with blocked_free(), or a negative errno with err filled.
 */
int blocked_new(struct bpf_object *object, const char *dir, struct blocked **out_blocked,
		struct err *err);

/* Becomes readable when there is much to be taken. */
int blocked_fd(const struct blocked *blocked);

/* Take what is there, and write it. */
void blocked_look(struct blocked *blocked);

/* Records that could not be written. */
uint64_t blocked_unwritten(const struct blocked *blocked);

/* NULL is fine. */
void blocked_free(struct blocked *blocked);

#endif
