/*
 * python_lock.h - which lock of Python's threading a thread waits in, and who has it.
 *
 * CPython waits in a semaphore of the C library that belongs to the lock object. The thread that waits has that
 * object on its stack. An RLock notes its owner. A Lock notes none, and anybody may release it; but who took it by
 * `with` has its __exit__ in a frame.
 */
#ifndef STUCK_PYTHON_LOCK_H
#define STUCK_PYTHON_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct asleep;
struct python;

struct python_lock {
	bool is_rlock;
	uint64_t owner; /* of an RLock: threading.get_ident(), which is a pthread_t; 0 = nobody */
};

/* The lock whose semaphore the thread waits for. False when it is none, or it is not known. */
bool python_lock_find(struct asleep *asleep, struct python_lock *out_lock);

/* Why a thread is who could release a lock. */
enum python_how {
	PYTHON_INSIDE, /* it is inside `with` of the lock */
	PYTHON_ENDS,   /* its end releases the lock, for Thread.join() */
	PYTHON_SHARED, /* it is inside `with` of a lock of multiprocessing, and that one notes the thread */
};

struct python_holder {
	int32_t tid;
	enum python_how how;
};

/*
 * Which threads of the process are who could release the Lock that has this semaphore: at most 'max'. Returns how
 * many. More than one: one of them has let it go for a while.
 */
size_t python_holders(struct asleep *asleep, uint64_t semaphore, struct python_holder *out_holders,
		      size_t max);

/* The same of a lock of multiprocessing: threads of the process, of its parent, and of children of both. */
size_t python_shared_holders(struct asleep *asleep, uint64_t semaphore,
			     struct python_holder *out_holders, size_t max);

/* What a look knows of one process; NULL is fine. */
void python_free(struct python *python);

#endif
