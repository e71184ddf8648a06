/*
 * python_int.h - what is known of a process that may run CPython.
 */
#ifndef STUCK_PYTHON_INT_H
#define STUCK_PYTHON_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stuck/python_lock.h"
#include "stuck/remote.h"

struct process;
struct snap;

/* A thread that could release a lock. */
struct python_with {
	uint64_t key; /* of the lock: struct python_lock; of multiprocessing: its semaphore */
	struct python_holder holder;
};

struct python {
	struct remote memory;
	bool is_python;
	uint64_t base;		   /* where the file is loaded that the interpreter is in */
	bool has_withs;		   /* the following are known */
	struct python_with *withs; /* owned */
	size_t count, cap;
};

#define PYTHON_TYPE	 8u  /* of an object: its type */
#define PYTHON_TYPE_NAME 24u /* of a type: behind its head of a PyVarObject */
#define PYTHON_LOCK	 16u /* of a Lock or RLock: its semaphore's address, or its PyMutex */
#define PYTHON_SIZE	 16u /* of an object of variable size: how many parts it has */

/* Of the process, once in a look. */
struct python *python_of(struct snap *snap, struct process *process);

/* Those of its threads that could release locks: python->withs. */
void python_find_withs(struct snap *snap, struct process *process, struct python *python);

/* Whether the type of an object has that name. */
bool python_is_a(struct python *python, uint64_t object, const char *type);

#endif
