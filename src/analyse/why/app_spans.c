/* app_spans.c - points into spans: of each thread and each kind of span a list without overlaps. */
#include "analyse/why/app_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/search.h"

#define OPEN	    UINT64_MAX
#define LISTS_MAX   (1u << 20)
#define SPANS_MAX   (1u << 22) /* in all: behind them nothing is told */
#define WORDS_BYTES 512
#define WORDS_MAX   (64u << 20) /* bytes of all words */

struct span {
	uint64_t start_ns, end_ns;
	uint32_t words; /* id */
};

/* Of one thread, and one span of the table. */
struct list {
	int32_t tid;
	uint32_t span;
	uint32_t depth; /* begins within, of one that nests */
	struct span *items;
	size_t count, cap;
};

struct app_spans {
	const struct app_table *table;
	struct list *lists;
	size_t list_count, list_cap;
	size_t span_count;
	size_t word_bytes;
	uint32_t last_word; /* id */
	struct map index;   /* tid << 32 | span -> list */
	struct map exits;   /* tid -> when a thread of that number ended last */
	uint64_t lost_ns;   /* the last hole; 0 = none */
	struct names words;
};

struct app_spans *app_spans_new(const struct app_table *table)
{
	struct app_spans *spans = xcalloc(1, sizeof(*spans));

	spans->table = table;
	return spans;
}

void app_spans_free(struct app_spans *spans)
{
	if (!spans)
		return;
	for (size_t i = 0; i < spans->list_count; i++)
		free(spans->lists[i].items);
	free(spans->lists);
	map_fini(&spans->index);
	map_fini(&spans->exits);
	names_fini(&spans->words);
	free(spans);
}

static uint64_t app_spans_key_of(int32_t tid, uint32_t span)
{
	return (uint64_t)(uint32_t)tid << 32 | span;
}

static struct list *list_of(struct app_spans *spans, int32_t tid, uint32_t span)
{
	uint64_t *found = map_find(&spans->index, app_spans_key_of(tid, span));

	if (found)
		return &spans->lists[*found];
	if (spans->list_count == LISTS_MAX)
		return NULL;
	spans->lists =
		vec_room(spans->lists, spans->list_count, &spans->list_cap, sizeof(*spans->lists));
	spans->lists[spans->list_count] = (struct list){ .tid = tid, .span = span };
	map_put(&spans->index, app_spans_key_of(tid, span), spans->list_count);
	return &spans->lists[spans->list_count++];
}

static struct span *open_of(struct list *list)
{
	return list->count && list->items[list->count - 1].end_ns == OPEN
		       ? &list->items[list->count - 1]
		       : NULL;
}

static void close_span(struct list *list, uint64_t time_ns)
{
	struct span *open = open_of(list);

	list->depth = 0;
	if (open)
		open->end_ns = time_ns;
}

/* The id of the words; 0 = there are too many of them. */
static uint32_t keep_words(struct app_spans *spans, const char *words)
{
	uint32_t id;

	if (spans->word_bytes > WORDS_MAX)
		return 0;
	id = names_add(&spans->words, words, WORDS_BYTES);
	if (id > spans->last_word) {
		spans->last_word = id;
		spans->word_bytes += strlen(words);
	}
	return id;
}

static void add_span(struct app_spans *spans, struct list *list, uint64_t start_ns, uint64_t end_ns,
		     const char *words)
{
	if (spans->span_count == SPANS_MAX)
		return;
	spans->span_count++;
	list->items = vec_room(list->items, list->count, &list->cap, sizeof(*list->items));
	list->items[list->count++] = (struct span){ start_ns, end_ns, keep_words(spans, words) };
}

static void begin(struct app_spans *spans, struct list *list, uint64_t time_ns, const char *words)
{
	if (open_of(list) && spans->table->spans[list->span].nests) {
		list->depth++;
		return;
	}
	close_span(list, time_ns);
	add_span(spans, list, time_ns, OPEN, words);
}

/* It began before the recording or in a hole, if nothing of it was seen since. */
static void began_unseen(struct app_spans *spans, struct list *list, uint64_t time_ns,
			 const char *words)
{
	uint64_t *exit_ns = map_find(&spans->exits, (uint32_t)list->tid);
	uint64_t since_ns = exit_ns && *exit_ns > spans->lost_ns ? *exit_ns : spans->lost_ns;

	if (*words && (list->count == 0 || list->items[list->count - 1].end_ns <= since_ns))
		add_span(spans, list, since_ns, time_ns, words);
}

void app_spans_feed(struct app_spans *spans, uint64_t time_ns, int32_t tid, uint32_t point,
		    const char *words)
{
	const struct app_point *at = &spans->table->points[point];
	struct list *list = list_of(spans, tid, at->span);

	if (!list)
		return;
	if (!at->ends)
		begin(spans, list, time_ns, words);
	else if (list->depth)
		list->depth--;
	else if (open_of(list))
		close_span(list, time_ns);
	else
		began_unseen(spans, list, time_ns, words);
}

void app_spans_exit(struct app_spans *spans, uint64_t time_ns, int32_t tid)
{
	map_put(&spans->exits, (uint32_t)tid, time_ns);
	for (uint32_t i = 0; i < spans->table->span_count; i++) {
		uint64_t *found = map_find(&spans->index, app_spans_key_of(tid, i));

		if (found)
			close_span(&spans->lists[*found], time_ns);
	}
}

void app_spans_lost(struct app_spans *spans, uint64_t time_ns)
{
	spans->lost_ns = time_ns;
	for (size_t i = 0; i < spans->list_count; i++)
		close_span(&spans->lists[i], time_ns);
}

void app_spans_end(struct app_spans *spans)
{
	for (size_t i = 0; i < spans->list_count; i++)
		spans->lists[i].depth = 0;
}

/* The first span that ends behind 'time_ns'; 'count' = none. */
static size_t first_behind(const struct list *list, uint64_t time_ns)
{
	return SEARCH_BEHIND(list->items, list->count, end_ns, time_ns);
}

static const struct list *known_list(const struct app_spans *spans, int32_t tid, uint32_t span,
				     uint32_t kinds)
{
	uint64_t *found = kinds & 1u << spans->table->spans[span].kind
				  ? map_find(&spans->index, app_spans_key_of(tid, span))
				  : NULL;

	return found ? &spans->lists[*found] : NULL;
}

static struct app_told told_of(const struct app_spans *spans, const struct list *list,
			       const struct span *span)
{
	const struct app_span *kind = &spans->table->spans[list->span];

	return (struct app_told){
		.app = spans->table->apps[kind->app].name,
		.words = names_text(&spans->words, span->words),
		.kind = kind->kind,
		.start_ns = span->start_ns,
		.end_ns = span->end_ns,
	};
}

bool app_spans_find(const struct app_spans *spans, int32_t tid, uint64_t from_ns, uint64_t to_ns,
		    uint32_t kinds, struct app_told *out_told)
{
	bool any = false;

	for (uint32_t i = 0; i < spans->table->span_count; i++) {
		const struct list *list = known_list(spans, tid, i, kinds);
		size_t at = list ? first_behind(list, from_ns) : 0;
		const struct span *span = list && at < list->count ? &list->items[at] : NULL;

		if (!span || !span->words || span->start_ns > from_ns || span->end_ns < to_ns)
			continue;
		if (any && (spans->table->spans[i].kind == APP_WAIT) ==
				   (span->start_ns > out_told->start_ns))
			continue;
		*out_told = told_of(spans, list, span);
		any = true;
	}
	return any;
}

bool app_spans_mark(const struct app_spans *spans, int32_t tid, uint64_t from_ns, uint64_t to_ns,
		    struct app_told *out_told)
{
	bool any = false;

	for (uint32_t i = 0; i < spans->table->span_count; i++) {
		const struct list *list = known_list(spans, tid, i, 1u << APP_MARK);
		size_t at = list ? first_behind(list, to_ns) : 0;
		const struct span *span = list && at < list->count ? &list->items[at] : NULL;

		if (!span || !span->words || span->start_ns < from_ns || span->start_ns > to_ns ||
		    (any && span->start_ns < out_told->start_ns))
			continue;
		*out_told = told_of(spans, list, span);
		any = true;
	}
	return any;
}

bool app_spans_most(const struct app_spans *spans, int32_t tid, uint64_t from_ns, uint64_t to_ns,
		    uint32_t kinds, struct app_told *out_told, uint64_t *out_ns)
{
	bool any = false;

	*out_ns = 0;
	for (uint32_t i = 0; i < spans->table->span_count; i++) {
		const struct list *list = known_list(spans, tid, i, kinds);

		for (size_t at = list ? first_behind(list, from_ns) : 0; list && at < list->count;
		     at++) {
			const struct span *span = &list->items[at];
			uint64_t start = span->start_ns > from_ns ? span->start_ns : from_ns;
			uint64_t end = span->end_ns < to_ns ? span->end_ns : to_ns;

			if (span->start_ns >= to_ns)
				break;
			if (!span->words || end - start < *out_ns ||
			    (end - start == *out_ns && any && span->start_ns <= out_told->start_ns))
				continue;
			*out_told = told_of(spans, list, span);
			*out_ns = end - start;
			any = true;
		}
	}
	return any;
}
