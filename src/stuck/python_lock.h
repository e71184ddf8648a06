/*
 * python_lock.h - which lock of Python's threading a thread waits in, and who has it.
 *
 * CPython up to 3.13 waits in a semaphore of the C library that belongs to the lock object. The thread that waits has
 * that object on its stack. Later it is a PyMutex (of Locks in some builds of 3.13, of both since 3.14): the semaphore is the
 * thread's own, and lies on its stack behind the address of the mutex. An RLock notes its owner. A Lock notes none, and anybody may release it; but who took it by
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
	uint64_t key; /* the address of what lies in it: its semaphore's address, or its PyMutex */
	bool is_parked; /* it is that */
	bool is_rlock;
	uint64_t owner; /* of an RLock: threading.get_ident(), which is a pthread_t; 0 = nobody */
};

/* The lock that the thread waits for. False when it is none, or it is not known. */
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
 * Which threads of the process are who could release the Lock of this key: at most 'max'. Returns how
 * many. More than one: one of them has let it go for a while.
 */
size_t python_holders(struct asleep *asleep, uint64_t key, struct python_holder *out_holders,
		      size_t max);

/* The same of a lock of multiprocessing: threads of the process, of its parent, and of children of both. */
size_t python_shared_holders(struct asleep *asleep, uint64_t semaphore,
			     struct python_holder *out_holders, size_t max);

/* What a look knows of one process; NULL is fine. */
void python_free(struct python *python);

#endif
