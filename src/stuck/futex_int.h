/*
 * futex_int.h - a futex word that a thread waits for, and what a C library put around it.
 */
#ifndef STUCK_FUTEX_INT_H
#define STUCK_FUTEX_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "stuck/how.h"

#define FUTEX_USERS_MAX (1 << 20)

struct asleep;

struct futex {
	struct asleep *asleep;
	uint64_t address;
	uint32_t op;
	uint32_t awaited; /* the value that it slept on */
	bool is_private;
};

/* The word 'offset' bytes from it, of the memory that was read around it. */
uint32_t futex_word(const struct futex *futex, int offset);

/* Our number of a tid in a word of the process; 0 = it is none of its threads, or a main thread that has ended. */
int32_t futex_own_thread(const struct futex *futex, uint32_t number);

/* The wait is for that thread, or for what names nobody. Both return true. */
bool futex_set_owner(const struct futex *futex, int32_t tid, const char *what, enum stuck_how how);
bool futex_set_unowned(const struct futex *futex, const char *what);

/* So many have a rwlock, as they count themselves; who they are is written nowhere. */
bool futex_set_readers(const struct futex *futex, uint32_t readers);

/* Whether it is a lock of musl, or a semaphore or condition variable: all but a mutex with an owner. */
bool futex_is_musl(const struct futex *futex);

#endif
