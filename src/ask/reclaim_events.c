/* reclaim_events.c - one more look at all events, where there may be any of reclaim. */
#include "ask/reclaim_events.h"

#include <stdbool.h>
#include <string.h>

#include "analyse/accounts/memory_spans.h"
#include "analyse/why/sleeper_moves.h"
#include "ask/loaded.h"
#include "base/err.h"
#include "event/source.h"
#include "read/read.h"
#include "store/manifest.h"

/* A recording of ours says what it recorded; of others it is seen when there is one. */
static bool may_have_any(const char *path, uint32_t *out_classes)
{
	struct manifest manifest = { 0 };

	*out_classes = 0;
	if (manifest_read(path, &manifest, NULL) < 0)
		return true;
	for (size_t i = 0; i < manifest.event_count; i++) {
		if (strcmp(manifest.events[i], "vmscan:mm_vmscan_direct_reclaim_begin") == 0)
			*out_classes |= 1u << DELAYS_RECLAIM;
		if (strcmp(manifest.events[i], "compaction:mm_compaction_begin") == 0)
			*out_classes |= 1u << DELAYS_COMPACTION;
	}
	manifest_fini(&manifest);
	return *out_classes != 0;
}

static int feed_all(struct source *source, struct memory_spans *spans, struct moved *moved,
		    struct err *err)
{
	struct event_run run;
	int rc = source_seek(source, 0, err);

	if (rc < 0)
		return rc;
	while ((rc = source_next_run(source, &run, err)) > 0) {
		for (size_t i = 0; i < run.count; i++) {
			memory_spans_feed(spans, run.events[i]);
			if (moved)
				moved_feed(moved, run.events[i]);
		}
	}
	return rc;
}

int reclaim_spans_moved(const struct loaded *loaded, const char *path,
			struct memory_spans *out_spans, struct moved *out_moved, struct err *err)
{
	struct memory_spans spans = { 0 };
	uint32_t classes;
	int rc = 0;

	if (may_have_any(path, &classes) || out_moved)
		rc = feed_all(trace_source(loaded->trace), &spans, out_moved, err);
	if (rc < 0) {
		memory_spans_fini(&spans);
		return err_wrap(err, "searching for reclaim and compaction");
	}
	spans.classes |= classes;
	memory_spans_end(&spans);
	if (out_moved)
		moved_end(out_moved);
	*out_spans = spans;
	return 0;
}

int reclaim_spans_read(const struct loaded *loaded, const char *path,
		       struct memory_spans *out_spans, struct err *err)
{
	return reclaim_spans_moved(loaded, path, out_spans, NULL, err);
}
