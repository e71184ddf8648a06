/*
 * locks.h - the locks of programs: who waited for which, how long, and who had it meanwhile.
 *
 * A table as K42 had it, from what threads told themselves (libholdup-locks). A condition and
 * a barrier are rows, too: they are waited for and never held.
 */
#ifndef ANALYSE_LOCKS_LOCKS_H
#define ANALYSE_LOCKS_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct source;

enum locks_sort {
	LOCKS_BY_WAIT, /* total of all waits */
	LOCKS_BY_LONGEST,
	LOCKS_BY_CONTENDED,
	LOCKS_BY_TAKEN,
	LOCKS_BY_HELD,
	LOCKS_BY_AVERAGE, /* wait */
	LOCKS_BY_HELD_LONGEST,
	LOCKS_BY_SPINS, /* waits that never slept; of the kernel's locks alone, as the next one */
	LOCKS_BY_SPUN,	/* time spent spinning */
	LOCKS_BY_OWNER, /* its name; from here on in the order of the alphabet */
	LOCKS_BY_CHAIN, /* who asks for it */
	LOCKS_BY_NAME,
	LOCKS_BY_PROCESS,
};

struct locks_owner {
	int32_t tid;
	uint64_t ns; /* of others' waits, while this thread had the lock */
};

/* One place in the program that takes the lock, or waits for the condition. */
struct locks_site {
	uint64_t address;
	char *name; /* owned; NULL = no file is known there */
	uint64_t taken;
	uint64_t contended;
	uint64_t wait_ns, wait_max_ns;
	uint64_t hold_ns, hold_max_ns; /* of what was taken here */
};

struct locks_row {
	uint32_t process;
	int32_t pid;
	const char *program; /* view */
	uint64_t address;
	char *name;   /* owned; of a static lock; NULL = on the heap or a stack */
	uint8_t kind; /* enum lock_kind; LOCK_KIND_READ: a read-write lock */

	uint64_t taken;	      /* times held, however it came to that */
	uint64_t taken_write; /* of these, a read-write lock for writing */
	uint64_t contended;   /* waits that have begun */
	uint64_t failed;      /* of these, ended without the lock: a timeout, an error */
	uint64_t waiting;     /* of these, not ended when the trace did */
	uint64_t wait_ns, wait_max_ns;

	uint64_t holds; /* that were seen from begin to end */
	uint64_t hold_ns, hold_max_ns;

	/* Of wait_ns: who had it. They add up with 'nobody' and 'unknown'; 0 of conditions. */
	struct locks_owner *owners; /* owned; the largest first */
	size_t owner_count, owner_cap;
	uint64_t nobody_ns;  /* let go, and the one it went to had not run yet */
	uint64_t unknown_ns; /* nobody told */

	uint64_t signals, broadcasts;
	uint64_t destroyed; /* times; what came then at this address is counted here as well */

	struct locks_site *sites; /* owned; the longest waits first */
	size_t site_count, site_cap;
};

struct locks {
	struct locks_row *rows; /* owned */
	size_t count, cap;
	uint64_t processes;
	uint64_t taken, contended, wait_ns; /* of locks, not of conditions and barriers */
	uint64_t events;
	uint64_t lost; /* events lost; at least so many when is_lost */
	bool is_lost;
	bool tells_all;		  /* acquisitions without a wait were told, too */
	struct lock_names *names; /* owned */
};

/*
 * Read all events of 'source', which is at its start. Returns 0 and *out_locks (free with
 * locks_fini()), or negative with err filled. Rows with nothing in them are left out. Waits that are
 * open at the end last to 'end_ns', or to the last event that was read.
 */
int locks_run(struct source *source, enum locks_sort sort, uint64_t end_ns, struct locks *out_locks,
	      struct err *err);
void locks_fini(struct locks *locks);

/* "mutex", "rwlock", "spin lock", "barrier", "condition" */
const char *locks_kind_name(uint8_t kind);

#endif
