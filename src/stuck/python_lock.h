/*
 * python_lock.h - which lock of Python's threading a thread waits in, and who has it.
 *
 * CPython waits in a semaphore of the C library that belongs to the lock object. The thread that waits has that
 * object on its stack. An RLock notes its owner; a Lock notes none, anybody may release it.
 */
#ifndef STUCK_PYTHON_LOCK_H
#define STUCK_PYTHON_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct asleep;
struct python;

struct python_lock {
	bool is_rlock;
	uint64_t owner; /* of an RLock: threading.get_ident(), which is a pthread_t; 0 = nobody */
};

/* The lock whose semaphore the thread waits for. False when it is none, or it is not known. */
bool python_lock_find(struct asleep *asleep, struct python_lock *out_lock);

/* What a look knows of one process; NULL is fine. */
void python_free(struct python *python);

#endif
