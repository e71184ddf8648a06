/*
 * filter.h - a reader of hostile traces can read, write its output, use memory, threads and time.
 *
 * Two of the kernel's means, of which each works without the other:
 *
 *	seccomp    which system calls there are: none for sockets, programs, other processes,
 *	           mounts, modules, keys, ids, owners. What reading never does ends the process by
 *	           SIGSYS after a message; what nobody has heard of fails with ENOSYS, so that a
 *	           newer C library can do without.
 *	Landlock   where files can be made, changed and removed: below the folders that are named
 *
 * Both are for good, and for all threads that come after. The calling thread may not be one of
 * several for Landlock to bind them all.
 */
#ifndef GUARD_FILTER_H
#define GUARD_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* What of it the kernel has: bits of guard_filter_state(). */
enum guard_filter_part {
	GUARD_FILTER_CALLS = 1 << 0,
	GUARD_FILTER_FILES = 1 << 1,
};

/* A place for output. */
struct guard_place {
	const char
		*path; /* a folder and all below it, or a file; one that is not there is left out */
	int only_write; /* files can be written to and made without a name, nothing else */
};

/*
 * From here on this process is a reader. What a kernel or an emulator does not have is left out:
 * guard_filter_state() tells. A second call does nothing. Returns 0, or a negative errno with err
 * filled when the kernel has it and refuses.
 */
int guard_filter_reader(const struct guard_place *places, size_t count, struct err *err);

/*
 * The same for a reader that answers on sockets: it can accept connections on a descriptor that
 * listens already, and send and receive on these. It can make no socket, and reach nobody.
 */
int guard_filter_server(const struct guard_place *places, size_t count, struct err *err);

/*
 * The same for a reader that shows what it read on the whole screen: it can set the modes of its terminal, and still
 * types nothing into it.
 */
int guard_filter_screen(const struct guard_place *places, size_t count, struct err *err);

/*
 * For a helper that has the kernel count the time of BPF programs, at each byte that it reads: it can read, send what
 * that gives, and end; anything else ends it. Returns 0, or a negative errno with err filled, also where the kernel has no
 * filters: then it may keep no rights.
 */
int guard_filter_counter(struct err *err);

/* Of this process, since guard_filter_reader(). */
uint32_t guard_filter_state(void);

/* Would the kernel do it? Bits of guard_filter_part. Changes nothing. */
uint32_t guard_filter_support(void);

/* Is this a build with sanitizers, in which most is allowed? */
bool guard_filter_is_wide(void);

/* The call that ends a reader, by position; NULL behind the last one. For tests. */
const char *guard_filter_forbidden(size_t i);

#endif
