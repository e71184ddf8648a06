/*
 * app_spans.h - what programs said of themselves at known points, as spans of their threads.
 *
 *	spans = app_spans_new(table);
 *	for each event of a point, in the order of time: app_spans_feed(spans, ...)
 *	app_spans_end(spans);
 *	if (app_spans_find(spans, tid, from_ns, to_ns, 1u << APP_WAIT, &span))
 *		... span.words ...
 *
 * A span is told when its begin was seen; of one that was under way before the recording, or in a
 * hole, when its end was and says itself what it was. Behind a hole nothing else is known until
 * the next begin. Read-only once ended.
 */
#ifndef ANALYSE_WHY_APP_SPANS_H
#define ANALYSE_WHY_APP_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/app_table.h"

struct app_spans;

/* 'table' is a view, as long as the spans. */
struct app_spans *app_spans_new(const struct app_table *table);
void app_spans_free(struct app_spans *spans); /* NULL is fine */

/* A thread came by point 'point' of the table; 'words' are copied; "" where there are none. */
void app_spans_feed(struct app_spans *spans, uint64_t time_ns, int32_t tid, uint32_t point,
		    const char *words);
/* It ended, and with it all that it was in. */
void app_spans_exit(struct app_spans *spans, uint64_t time_ns, int32_t tid);
/* Events are missing here: nothing that is open is known to go on. */
void app_spans_lost(struct app_spans *spans, uint64_t time_ns);
void app_spans_end(struct app_spans *spans);

struct app_told {
	const char *app;
	const char *words;
	enum app_kind kind;
	uint64_t start_ns, end_ns; /* UINT64_MAX = it was open at the end */
};

/*
 * Of waits the outermost span, else the innermost, of the kinds (bits) that thread 'tid' was in for all of [from_ns, to_ns].
 * O(spans of the table * log spans of the thread).
 */
bool app_spans_find(const struct app_spans *spans, int32_t tid, uint64_t from_ns, uint64_t to_ns,
		    uint32_t kinds, struct app_told *out_told);

/* The last mark of the thread in [from_ns, to_ns]. */
bool app_spans_mark(const struct app_spans *spans, int32_t tid, uint64_t from_ns, uint64_t to_ns,
		    struct app_told *out_told);

/* The same of the span that overlaps most with [from_ns, to_ns); *out_ns is by how much. */
bool app_spans_most(const struct app_spans *spans, int32_t tid, uint64_t from_ns, uint64_t to_ns,
		    uint32_t kinds, struct app_told *out_told, uint64_t *out_ns);

#endif
