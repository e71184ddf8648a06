/* lock_owner.c - the waits of all threads, sorted by thread and time. */
#include "analyse/locks/lock_owner.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyse/locks/lock_names.h"
#include "analyse/locks/lock_track.h"
#include "analyse/locks/locks.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"
#include "event/source.h"

struct kept_wait {
	int32_t tid;
	uint32_t lock;
	uint8_t kind;
	bool is_open;
	uint64_t site;
	uint64_t start_ns, end_ns;
	size_t first_span, span_count;
};

struct lock_owners {
	struct lock_tracker *tracker; /* owned; tells which lock an index is */
	struct kept_wait *waits; /* owned; by thread and time; those of a thread never overlap */
	size_t count, cap;
	struct lock_span *spans; /* owned */
	size_t span_count, span_cap;
	struct lock_names *names; /* owned */
	char **texts;		  /* owned, each; by lock; NULL = not asked for yet */
	size_t text_count;
};

static void keep_wait(void *context, const struct lock_wait *wait)
{
	struct lock_owners *owners = context;

	owners->waits =
		vec_room(owners->waits, owners->count, &owners->cap, sizeof(*owners->waits));
	owners->waits[owners->count++] = (struct kept_wait){ .tid = wait->tid,
							     .lock = wait->lock,
							     .kind = wait->kind,
							     .is_open = wait->is_open,
							     .site = wait->site,
							     .start_ns = wait->start_ns,
							     .end_ns = wait->end_ns,
							     .first_span = owners->span_count,
							     .span_count = wait->span_count };
	for (size_t i = 0; i < wait->span_count; i++) {
		owners->spans = vec_room(owners->spans, owners->span_count, &owners->span_cap,
					 sizeof(*owners->spans));
		owners->spans[owners->span_count++] = wait->spans[i];
	}
}

static void keep_module(void *context, uint32_t process, const struct ev_user_lock *module)
{
	lock_names_add(((struct lock_owners *)context)->names, process, module);
}

ORDER_FUNCTION(by_thread_and_time, struct kept_wait, ORDER_UP(tid), ORDER_UP(start_ns),
	       ORDER_UP(end_ns));

int lock_owners_new(struct source *source, uint64_t end_ns, struct lock_owners **out_owners,
		    struct err *err)
{
	static const struct lock_track_ops ops = { .wait = keep_wait, .module = keep_module };
	struct lock_owners *owners = xcalloc(1, sizeof(*owners));
	const struct event *event;
	int rc;

	owners->tracker = lock_tracker_new(&ops, owners);
	owners->names = lock_names_new();
	while ((rc = source_next(source, &event, err)) > 0)
		lock_tracker_feed(owners->tracker, event);
	if (rc < 0) {
		lock_owners_free(owners);
		return err_wrap(err, "reading lock events");
	}
	lock_tracker_finish(owners->tracker, end_ns);
	if (owners->count)
		qsort(owners->waits, owners->count, sizeof(*owners->waits), by_thread_and_time);
	*out_owners = owners;
	return 0;
}

void lock_owners_free(struct lock_owners *owners)
{
	if (!owners)
		return;
	for (size_t i = 0; i < owners->text_count; i++)
		free(owners->texts[i]);
	free(owners->texts);
	lock_names_free(owners->names);
	lock_tracker_free(owners->tracker);
	free(owners->waits);
	free(owners->spans);
	free(owners);
}

/* The first wait of the thread that ends behind 'from_ns'. */
static size_t first_behind(const struct lock_owners *owners, int32_t tid, uint64_t from_ns)
{
	return SEARCH_ITEM(owners->waits, owners->count, wait,
			   wait->tid < tid || (wait->tid == tid && wait->end_ns <= from_ns));
}

static uint64_t overlap(uint64_t start_ns, uint64_t end_ns, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t begin = start_ns > from_ns ? start_ns : from_ns;
	uint64_t end = end_ns < to_ns ? end_ns : to_ns;

	return end > begin ? end - begin : 0;
}

/* Leave out the spans that lie outside. */
static void cut_spans(struct lock_owner_wait *wait, uint64_t from_ns, uint64_t to_ns)
{
	while (wait->span_count && wait->spans[0].end_ns <= from_ns) {
		wait->spans++;
		wait->span_count--;
	}
	while (wait->span_count && wait->spans[wait->span_count - 1].start_ns >= to_ns)
		wait->span_count--;
}

bool lock_owners_find(const struct lock_owners *owners, int32_t tid, uint64_t from_ns,
		      uint64_t to_ns, struct lock_owner_wait *out_wait)
{
	const struct kept_wait *best = NULL;
	struct lock_identity lock;
	uint64_t most = 0;

	for (size_t i = first_behind(owners, tid, from_ns); i < owners->count; i++) {
		const struct kept_wait *wait = &owners->waits[i];
		uint64_t covered = overlap(wait->start_ns, wait->end_ns, from_ns, to_ns);

		if (wait->tid != tid || wait->start_ns >= to_ns)
			break;
		if (covered > most) {
			best = wait;
			most = covered;
		}
	}
	if (!best)
		return false;
	lock = lock_tracker_identity(owners->tracker, best->lock);
	*out_wait = (struct lock_owner_wait){ .lock = best->lock,
					      .pid = lock.pid,
					      .kind = best->kind,
					      .address = lock.address,
					      .site = best->site,
					      .begin_ns = best->start_ns,
					      .end_ns = best->end_ns,
					      .is_open = best->is_open,
					      .spans = owners->spans + best->first_span,
					      .span_count = best->span_count };
	cut_spans(out_wait, from_ns, to_ns);
	return true;
}

struct lock_span lock_owner_span(const struct lock_owner_wait *wait, size_t index, uint64_t from_ns,
				 uint64_t to_ns)
{
	struct lock_span span = wait->spans[index];

	if (span.start_ns < from_ns)
		span.start_ns = from_ns;
	if (span.end_ns > to_ns)
		span.end_ns = to_ns;
	return span;
}

const char *lock_owners_name(struct lock_owners *owners, const struct lock_owner_wait *wait)
{
	struct lock_identity lock = lock_tracker_identity(owners->tracker, wait->lock);
	const char *kind = locks_kind_name(lock.kind);
	AUTO_FREE char *name = NULL;

	if (wait->lock >= owners->text_count) {
		size_t count = wait->lock + 1u;

		owners->texts = xrealloc(owners->texts, count, sizeof(*owners->texts));
		for (size_t i = owners->text_count; i < count; i++)
			owners->texts[i] = NULL;
		owners->text_count = count;
	}
	if (!owners->texts[wait->lock]) {
		name = lock_names_find(owners->names, lock.process, lock.address);
		owners->texts[wait->lock] = name ? xasprintf("%s %s", kind, name)
						 : xasprintf("%s 0x%" PRIx64, kind, lock.address);
	}
	return owners->texts[wait->lock];
}
