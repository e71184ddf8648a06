/*
 * hotspot_park.c - who has the lock, or runs the task, of java.util.concurrent that a thread is parked for.
 *
 * LockSupport.park() notes in the Thread what it waits for (parkBlocker). A lock that one thread has at a
 * time is an AbstractOwnableSynchronizer, and notes that thread (exclusiveOwnerThread): it writes both itself, after
 * it got the lock and before it lets it go. jstack -l reads the same.
 *
 * A FutureTask notes the thread that runs it (runner), until it is done: whoever wants its result is parked for the task.
 *
 * A thread that is parked waits for a word in its own JavaThread, OpenJDK 17 and later. Elsewhere it waits for
 * HotSpot, as while garbage is collected, and how it is parked is not known.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stuck/hotspot.h"
#include "stuck/hotspot_int.h"
#include "stuck/snap_int.h"

#define OWNABLE "java/util/concurrent/locks/AbstractOwnableSynchronizer"
#define TASK	"java/util/concurrent/FutureTask"

/* The Thread that a thread runs now: a virtual one, or its own. */
static uint64_t current_object(struct hotspot *hotspot, uint64_t thread)
{
	uint64_t handle = hotspot_field(hotspot, thread, VIRTUAL_OBJECT);
	uint64_t object = handle ? remote_u64(&hotspot->memory, handle) : 0;

	if (object)
		return object;
	handle = hotspot_field(hotspot, thread, THREAD_OBJECT);
	return handle ? remote_u64(&hotspot->memory, handle) : 0;
}

static uint64_t blocker_of(struct hotspot *hotspot, uint64_t thread)
{
	uint64_t object = current_object(hotspot, thread);
	uint64_t klass = hotspot_klass(hotspot, object);

	return hotspot_reference(hotspot, object,
				 hotspot_ancestor(hotspot, klass, "java/lang/Thread"),
				 "parkBlocker");
}

/* The thread that the object notes in that field, which is of 'klass'. */
static int32_t hotspot_park_noted(struct hotspot *hotspot, uint64_t blocker, uint64_t klass,
				  const char *field)
{
	uint64_t noted = klass ? hotspot_reference(hotspot, blocker, klass, field) : 0;

	return noted ? hotspot_thread_of(hotspot, noted) : 0;
}

/* Who is awaited, and from what that is known; 0 = nobody in particular. */
static int32_t hotspot_park_owner_of(struct hotspot *hotspot, uint64_t blocker, uint64_t klass,
				     uint64_t ownable, enum stuck_how *out_how)
{
	*out_how = ownable ? STUCK_HOW_JAVA_LOCK : STUCK_HOW_JAVA_TASK;
	if (ownable)
		return hotspot_park_noted(hotspot, blocker, ownable, "exclusiveOwnerThread");
	return hotspot_park_noted(hotspot, blocker, hotspot_ancestor(hotspot, klass, TASK),
				  "runner");
}

/* Several may have it (a semaphore, readers), or nobody, who is to signal it. */
bool hotspot_parked(struct asleep *asleep, struct hotspot *hotspot, uint64_t thread)
{
	struct stuck_edge edge = { 0 };
	uint64_t word = asleep->task.args[0], blocker, klass, ownable;
	char name[HOTSPOT_CLASS_MAX + 1];
	AUTO_FREE char *kind = NULL;

	if (word < thread || word - thread >= hotspot->sizes[SIZE_THREAD])
		return false;
	blocker = blocker_of(hotspot, thread);
	klass = hotspot_klass(hotspot, blocker);
	if (!blocker || !hotspot_class_name(hotspot, klass, name))
		return false;
	ownable = hotspot_ancestor(hotspot, klass, OWNABLE);
	edge.tid = hotspot_park_owner_of(hotspot, blocker, klass, ownable, &edge.how);
	kind = xasprintf("Java %s of %s", ownable ? "lock" : "park for an object", name);
	wait_object_at(asleep->wait, kind, blocker, "");
	if (edge.tid && edge.tid != asleep->task.tid) {
		wait_edge(asleep->wait, &edge);
	} else {
		asleep->wait->has_unowned = true;
		asleep->wait->is_inside = true;
	}
	return true;
}
