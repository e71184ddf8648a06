/*
 * python_lock.c - see python_lock.h. The layouts are those of CPython's Modules/_threadmodule.c, and of
 * Python/parking_lot.c.
 *
 * The calls from the lock object's method to the kernel are few, so the object lies near the stack pointer. A word
 * there is believed to be it when it leads to an object of one of the two types with that very semaphore.
 */
#include "stuck/python_lock.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "stuck/maps.h"
#include "stuck/python_int.h"
#include "stuck/remote.h"
#include "stuck/snap_int.h"

#define PART_WORDS   64u
#define STACK_PARTS  4u
#define OBJECT_ALIGN 16u

/* PyObject_HEAD, then what both begin with; the last two are of an RLock. */
struct lock_object {
	uint64_t references, type, semaphore, owner, count;
};

/* With a PyMutex, which is a byte; of an RLock it begins a _PyRecursiveMutex. */
struct mutex_object {
	uint64_t references, type;
	uint8_t mutex, zero[7];
	uint64_t owner, level; /* of an RLock; it is taken once more than this */
};

#define MUTEX_AWAITED 3u /* it is locked, and somebody waits */

void python_free(struct python *python)
{
	if (!python)
		return;
	remote_fini(&python->memory);
	free(python->withs);
	free(python);
}

/* A library has it, or else the program. */
static bool find_python(struct snap *snap, struct process *process, uint64_t *out_base)
{
	char exe[1024];
	const char *name;

	if (maps_library(&snap->look, process, "libpython3.*.so.1.0", out_base))
		return true;
	if (look_link(&snap->look, process, "exe", exe, sizeof(exe)) <= 0)
		return false;
	name = strrchr(exe, '/');
	return name && strncmp(name + 1, "python", 6) == 0 &&
	       maps_library(&snap->look, process, name + 1, out_base);
}

struct python *python_of(struct snap *snap, struct process *process)
{
	uint64_t tgid = (uint64_t)process->tgid;
	uint64_t *index = map_find(&snap->by_python, tgid);
	struct python *python;

	if (!index) {
		python = xcalloc(1, sizeof(*python));
		python->memory.look = &snap->look;
		python->memory.process = process;
		python->is_python = find_python(snap, process, &python->base);
		snap->pythons = vec_room(snap->pythons, snap->python_count, &snap->python_cap,
					 sizeof(struct python *));
		map_put(&snap->by_python, tgid, snap->python_count);
		snap->pythons[snap->python_count++] = python;
		index = map_find(&snap->by_python, tgid);
	}
	python = snap->pythons[*index];
	python->memory.process = process;
	return python;
}

bool python_is_a(struct python *python, uint64_t object, const char *type)
{
	uint64_t of = object ? remote_u64(&python->memory, object + PYTHON_TYPE) : 0;

	return of && remote_is_text(&python->memory,
				    remote_u64(&python->memory, of + PYTHON_TYPE_NAME), type);
}

/* Which of the two its type is; sets 'is_rlock'. */
static bool is_lock_type(struct remote *memory, uint64_t type, bool *out_is_rlock)
{
	uint64_t name = type ? remote_u64(memory, type + PYTHON_TYPE_NAME) : 0;

	*out_is_rlock = remote_is_text(memory, name, "_thread.RLock");
	return *out_is_rlock || remote_is_text(memory, name, "_thread.lock");
}

static bool is_lock(struct remote *memory, uint64_t object, uint64_t semaphore,
		    struct python_lock *out_lock)
{
	struct lock_object lock;

	*out_lock = (struct python_lock){ .key = object + PYTHON_LOCK };
	if (remote_u64(memory, object + PYTHON_LOCK) != semaphore ||
	    !remote_read(memory, object, &lock, sizeof(lock)) ||
	    !is_lock_type(memory, lock.type, &out_lock->is_rlock))
		return false;
	if (out_lock->is_rlock && lock.count)
		out_lock->owner = lock.owner;
	return true;
}

/* struct wait_entry on the stack: an argument, the address of the mutex, the semaphore. */
static bool is_parked(struct asleep *asleep, struct remote *memory, struct python_lock *out_lock)
{
	struct mutex_object lock;
	uint64_t mutex, semaphore = asleep->task.args[0];

	if (!look_memory(&asleep->snap->look, asleep->process, semaphore - sizeof(mutex), &mutex,
			 sizeof(mutex)) ||
	    mutex < REMOTE_PAGE || mutex % sizeof(mutex) ||
	    !look_memory(&asleep->snap->look, asleep->process, mutex - PYTHON_LOCK, &lock,
			 sizeof(lock)))
		return false;
	*out_lock = (struct python_lock){ .key = mutex, .is_parked = true };
	if (lock.mutex != MUTEX_AWAITED || !is_lock_type(memory, lock.type, &out_lock->is_rlock))
		return false;
	if (out_lock->is_rlock)
		out_lock->owner = lock.owner;
	return true;
}

/* One of the words on its stack leads there; near the end of the stack there are fewer. */
static bool is_in_words(struct python *python, const struct asleep *asleep, const uint64_t *words,
			struct python_lock *out_lock)
{
	for (size_t i = 0; i < PART_WORDS; i++) {
		uint64_t object = words[i];

		if (object >= REMOTE_PAGE && object % OBJECT_ALIGN == 0 && object >> 47 == 0 &&
		    is_lock(&python->memory, object, asleep->task.args[0], out_lock))
			return true;
	}
	return false;
}

bool python_lock_find(struct asleep *asleep, struct python_lock *out_lock)
{
	struct python *python = python_of(asleep->snap, asleep->process);
	uint64_t sp = asleep->task.sp & ~(uint64_t)7, words[PART_WORDS];

	if (!python->is_python || !sp)
		return false;
	if (is_parked(asleep, &python->memory, out_lock))
		return true;
	for (size_t i = 0; i < STACK_PARTS; i++, sp += sizeof(words)) {
		if (!look_memory(&asleep->snap->look, asleep->process, sp, words, sizeof(words)))
			return false;
		if (is_in_words(python, asleep, words, out_lock))
			return true;
	}
	return false;
}
