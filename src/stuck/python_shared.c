/* python_shared.c - locks of multiprocessing: semaphores in a file that processes share, of parent and children. */
#include <string.h>

#include "base/mem.h"
#include "stuck/look.h"
#include "stuck/maps.h"
#include "stuck/python_int.h"
#include "stuck/python_lock.h"
#include "stuck/related.h"
#include "stuck/snap_int.h"

/* Those of one process, of which the file is mapped there. */
static size_t process_holders(struct snap *snap, struct process *process,
			      const struct mapping *mapping, struct python_holder *out_holders,
			      size_t max)
{
	struct python *python;
	size_t found = 0;

	if (!maps_has(&snap->look, process, mapping))
		return 0;
	python = python_of(snap, process);
	python_find_withs(snap, process, python);
	for (size_t i = 0; i < python->count && found < max; i++) {
		const struct python_with *with = &python->withs[i];
		struct mapping at;

		if (with->holder.how == PYTHON_SHARED &&
		    maps_at(&snap->look, process, with->key, &at) && at.inode == mapping->inode &&
		    at.offset == mapping->offset && strcmp(at.device, mapping->device) == 0)
			out_holders[found++] = with->holder;
	}
	python->memory.process = NULL;
	return found;
}

size_t python_shared_holders(struct asleep *asleep, uint64_t semaphore,
			     struct python_holder *out_holders, size_t max)
{
	struct snap *snap = asleep->snap;
	struct related related;
	struct mapping mapping;
	size_t found = 0;

	if (!python_of(snap, asleep->process)->is_python ||
	    !maps_at(&snap->look, asleep->process, semaphore, &mapping))
		return 0;
	related_find(&snap->look, &asleep->task, &related);
	for (size_t i = 0; i < related.count && found < max; i++) {
		struct process other = { .tgid = related.tgids[i] };
		bool is_own = related.tgids[i] == asleep->task.tgid;

		found += process_holders(snap, is_own ? asleep->process : &other, &mapping,
					 out_holders + found, max - found);
		if (!is_own)
			map_fini(&other.numbers);
	}
	return found;
}
