/*
 * call_width.c - remember which threads are of 32-bit programs, and since when.
 *
 * There are few or none: without any, an event costs a look at its type. Each change is kept with
 * its time, so that a seek back finds what was known there.
 */
#include "read/call_width.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "event/compat.h"
#include "event/event.h"
#include "event/facts.h"
#include "read/fill.h"

/* From this time on the thread is, or is no more, of a 32-bit program. */
struct change {
	uint64_t time_ns;
	int32_t tid;
	bool compat;
};

struct widths {
	struct fill fill;
	const struct facts *facts;
	struct map compat;	/* threads that are, now */
	struct map fresh;	/* threads that executed a program, and called nothing since */
	struct change *changes; /* owned; ascending by time */
	size_t change_count;
	size_t change_cap;
	uint64_t known_ns; /* of the last event that was read in order */
	bool is_lost;	   /* a seek: what holds now is to be found in the changes */
};

static void widths_put(struct widths *widths, int32_t tid, bool compat)
{
	if (compat)
		map_put(&widths->compat, (uint32_t)tid, 1);
	else
		(void)map_remove(&widths->compat, (uint32_t)tid);
}

static void widths_keep(struct widths *widths, const struct change *change)
{
	widths->changes = vec_room(widths->changes, widths->change_count, &widths->change_cap,
				   sizeof(*widths->changes));
	widths->changes[widths->change_count++] = *change;
}

static void call_width_change(struct widths *widths, uint64_t time_ns, int32_t tid, bool compat)
{
	if (compat == (map_find(&widths->compat, (uint32_t)tid) != NULL))
		return;
	widths_put(widths, tid, compat);
	if (time_ns >= widths->known_ns)
		widths_keep(widths, &(struct change){ time_ns, tid, compat });
}

static void recall(struct widths *widths, uint64_t time_ns)
{
	widths->is_lost = false;
	for (size_t i = 0; i < widths->change_count && widths->changes[i].time_ns < time_ns; i++)
		widths_put(widths, widths->changes[i].tid, widths->changes[i].compat);
}

static bool was_fresh(struct widths *widths, int32_t tid)
{
	return widths->fresh.count && map_remove(&widths->fresh, (uint32_t)tid);
}

static void call_width_on_call(struct widths *widths, struct event *event)
{
	const char *arch = widths->facts->arch;
	int64_t nr = event->syscall.nr;

	if (event->syscall.by_name)
		return; /* the event knows */
	if (was_fresh(widths, event->tid))
		call_width_change(widths, event->time_ns, event->tid,
				  event->type == EV_SYS_EXIT
					  ? compat_by_exec(arch, nr)
					  : compat_by_first_call(arch, nr, event->syscall.args[0]));
	if (widths->compat.count && map_find(&widths->compat, (uint32_t)event->tid))
		event->syscall.compat = true;
}

static void call_width_fill_in(struct fill *fill, struct event *event)
{
	struct widths *widths = (struct widths *)fill;

	if (widths->is_lost)
		recall(widths, event->time_ns);
	switch (event->type) {
	case EV_SYS_ENTER:
	case EV_SYS_EXIT:
		call_width_on_call(widths, event);
		break;
	case EV_SCHED_FORK:
	case EV_TASK_NEW:
		if (widths->compat.count)
			call_width_change(widths, event->time_ns, event->task.tid,
					  map_find(&widths->compat, (uint32_t)event->tid) != NULL);
		break;
	case EV_SCHED_EXEC:
		call_width_change(widths, event->time_ns, event->tid, false);
		map_put(&widths->fresh, (uint32_t)event->tid, 1);
		break;
	case EV_SCHED_EXIT:
		(void)was_fresh(widths, event->tid);
		call_width_change(widths, event->time_ns, event->tid, false);
		break;
	default:
		break;
	}
	if (event->time_ns > widths->known_ns)
		widths->known_ns = event->time_ns;
}

static void widths_forget(struct fill *fill)
{
	struct widths *widths = (struct widths *)fill;

	map_fini(&widths->fresh);
	map_fini(&widths->compat);
	widths->fresh = widths->compat = (struct map){ 0 };
	widths->is_lost = widths->change_count > 0;
}

static void widths_free(struct fill *fill)
{
	struct widths *widths = (struct widths *)fill;

	map_fini(&widths->fresh);
	map_fini(&widths->compat);
	free(widths->changes);
	free(widths);
}

static const struct fill_ops widths_ops = { call_width_fill_in, widths_forget, widths_free };

struct source *call_width_new(struct source *inner, const struct facts *facts)
{
	struct widths *widths = xcalloc(1, sizeof(*widths));

	widths->facts = facts;
	for (size_t i = 0; i < facts->thread_count; i++) {
		if (facts->threads[i].compat)
			widths_keep(widths, &(struct change){ 0, facts->threads[i].tid, true });
	}
	fill_init(&widths->fill, inner, 0, &widths_ops);
	return &widths->fill.source;
}

void call_width_learn(struct source *source, const struct source *from)
{
	struct widths *widths = (struct widths *)source;
	const struct widths *other = (const struct widths *)from;

	widths->change_count = 0;
	for (size_t i = 0; i < other->change_count; i++)
		widths_keep(widths, &other->changes[i]);
	widths->known_ns = other->known_ns;
	widths_forget(&widths->fill);
}
