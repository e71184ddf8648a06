/* vtids.c - threads of containers, sorted by namespace, number there and begin. */
#include "read/vtids.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "event/facts.h"

/* So far a program's clock may be behind the kernel's: it may seem to log before it begins. */
#define CLOCKS_APART_NS 1000000u

struct vtids {
	struct fact_vtid *items; /* owned */
	size_t count;
};

static int vtids_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_number_and_begin(const void *left, const void *right)
{
	const struct fact_vtid *a = left, *b = right;
	int order = vtids_compare(a->space, b->space);

	if (order == 0)
		order = vtids_compare((uint32_t)a->vtid, (uint32_t)b->vtid);
	if (order == 0)
		order = vtids_compare(a->from_ns, b->from_ns);
	return order ? order : vtids_compare((uint32_t)a->tid, (uint32_t)b->tid);
}

struct vtids *vtids_new(const struct facts *facts)
{
	struct vtids *vtids = xcalloc(1, sizeof(*vtids));

	vtids->count = facts->vtid_count;
	vtids->items = xcalloc(vtids->count + 1, sizeof(*vtids->items));
	if (vtids->count)
		memcpy(vtids->items, facts->vtids, vtids->count * sizeof(*vtids->items));
	qsort(vtids->items, vtids->count, sizeof(*vtids->items), by_number_and_begin);
	return vtids;
}

void vtids_free(struct vtids *vtids)
{
	if (!vtids)
		return;
	free(vtids->items);
	free(vtids);
}

/* The last one that began at or before that time. */
static const struct fact_vtid *vtid_at(const struct vtids *vtids, uint64_t space, int32_t vtid,
				       uint64_t time_ns)
{
	const struct fact_vtid key = { space, vtid, INT32_MAX, 0, time_ns, 0 };
	size_t at =
		SEARCH_ITEM(vtids->items, vtids->count, item, by_number_and_begin(item, &key) <= 0);
	const struct fact_vtid *found = at ? &vtids->items[at - 1] : NULL;

	return found && found->space == space && found->vtid == vtid ? found : NULL;
}

/* Who had the number, if one did within what the clocks may differ by. */
static const struct fact_vtid *vtid_near(const struct vtids *vtids, uint64_t space, int32_t vtid,
					 uint64_t time_ns)
{
	uint64_t from_ns = time_ns > CLOCKS_APART_NS ? time_ns - CLOCKS_APART_NS : 0;
	const struct fact_vtid *before = vtid_at(vtids, space, vtid, from_ns);
	const struct fact_vtid *behind = vtid_at(vtids, space, vtid, time_ns + CLOCKS_APART_NS);

	return before && before->tid != behind->tid ? NULL : behind;
}

int32_t vtids_find(const struct vtids *vtids, const struct vtid_process *process, int32_t vtid,
		   uint64_t time_ns)
{
	const struct fact_vtid *leader =
		process->space && vtid > 0
			? vtid_near(vtids, process->space, process->vpid, time_ns)
			: NULL;
	const struct fact_vtid *thread;

	if (!leader || (leader->start && process->start && leader->start != process->start))
		return -1;
	thread = vtid_near(vtids, process->space, vtid, time_ns);
	return thread && thread->tgid == leader->tid ? thread->tid : -1;
}
