/* beside.c - each part read on its own, none of them needed. */
#include "ask/beside.h"

#include <errno.h>
#include <stdlib.h>

#include "analyse/locks/lock_owner.h"
#include "analyse/why/why.h"
#include "ask/loaded.h"
#include "ask/lock_source.h"
#include "ask/reclaim_events.h"
#include "base/err.h"
#include "base/mem.h"

static void note_left_out(struct beside *beside, const char *what, const struct err *why)
{
	char *before = beside->note;

	beside->note =
		xasprintf("%s%s%s: %s.", before ? before : "", before ? " " : "", what, why->text);
	free(before);
}

void beside_read(const char *path, const struct facts *facts, struct beside *out_beside)
{
	struct err err = { 0 };

	*out_beside = (struct beside){ 0 };
	if (lock_owners_read(path, &out_beside->locks, &err) < 0)
		note_left_out(out_beside, "Only the kernel's lock events are used", &err);
	if (app_events_read(path, facts, &out_beside->told, &err) < 0)
		note_left_out(out_beside, "Events at known points are ignored", &err);
}

int beside_read_memory(const char *path, const struct loaded *loaded, uint32_t classes,
		       struct beside *beside, struct err *err)
{
	int rc = reclaim_spans_read(loaded, path, &beside->memory, err);

	if (rc < 0 || beside->memory.classes & classes)
		return rc;
	return err_set(err, -ENODATA, "this recording has no events for %s; needed: %s",
		       why_class_words(classes),
		       memory_class_events(classes & 1u << DELAYS_RECLAIM ? DELAYS_RECLAIM
									  : DELAYS_COMPACTION));
}

void beside_fini(struct beside *beside)
{
	lock_owners_free(beside->locks);
	app_events_fini(&beside->told);
	memory_spans_fini(&beside->memory);
	free(beside->note);
	*beside = (struct beside){ 0 };
}
