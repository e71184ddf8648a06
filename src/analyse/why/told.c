/*
 * told.c - what programs said of themselves at known points, beside what the kernel saw.
 *
 * It explains a wait and changes no sum: which thread held up which is told by the kernel alone.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/app_spans.h"
#include "analyse/why/why_int.h"
#include "base/mem.h"

#define WAIT 1u << APP_WAIT
#define WORK 1u << APP_WORK
#define HOLD 1u << APP_HOLD

/* A mark so long before a wake-up is of something else. */
#define RIGHT_BEFORE_NS 1000000u

const char *query_told_wait(struct query *query, uint32_t slot, const struct wait *wait)
{
	const struct app_spans *told = query->opts->told;
	uint64_t from = wait->begin_ns;
	uint64_t to = wait->woken_ns ? wait->woken_ns : query->tl->end_ns;
	struct app_told waits, works;
	bool is_wait, is_work;
	int32_t tid;

	if (!told || slot >= query->tl->thread_count)
		return NULL;
	tid = query->tl->threads[slot]->tid;
	is_wait = app_spans_find(told, tid, from, to, WAIT, &waits);
	is_work = app_spans_find(told, tid, from, to, WORK, &works);
	if (!is_wait && !is_work)
		return app_spans_find(told, tid, from, to, HOLD, &waits) ? waits.words : NULL;
	if (!is_wait)
		return works.words;
	if (!is_work || strcmp(works.app, waits.app) != 0)
		return waits.words;
	return why_keep(query->why, xasprintf("%s; %s", waits.words, works.words));
}

const char *query_told_waker(struct query *query, const struct wait *wait)
{
	const struct app_spans *told = query->opts->told;
	uint32_t slot = wait->waker.slot;
	uint64_t from = wait->woken_ns > RIGHT_BEFORE_NS ? wait->woken_ns - RIGHT_BEFORE_NS : 0;
	struct app_told mark;

	if (from < wait->begin_ns)
		from = wait->begin_ns;
	if (!told || !wait->woken_ns || wait->waker.kind != ACTOR_THREAD ||
	    slot >= query->tl->thread_count ||
	    !app_spans_mark(told, query->tl->threads[slot]->tid, from, wait->woken_ns, &mark))
		return NULL;
	return mark.words;
}

const char *query_told_work(struct query *query, uint32_t slot, const struct tl_interval *in,
			    uint64_t *out_ns)
{
	const struct app_spans *told = query->opts->told;
	struct app_told works;

	if (!told || slot >= query->tl->thread_count ||
	    !app_spans_most(told, query->tl->threads[slot]->tid, in->start_ns, in->end_ns, WORK,
			    &works, out_ns))
		return NULL;
	return works.words;
}
