/* app_events.c - of all events of a trace those at known points, with their words. */
#include "ask/app_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/app_spans.h"
#include "ask/line_reader.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "fields/print.h"
#include "fields/value.h"

/* What the events of one kind mean: points of the table, in its order. */
struct kind {
	bool is_tried;
	uint32_t *points; /* owned */
	size_t count;
};

struct telling {
	const struct app_table *table;
	struct app_spans *spans;
	const struct printer *printer;
	struct kind *kinds; /* owned; by number of the kind */
	uint32_t kind_count;
	struct value_line line; /* at hand */
	char number[24];
};

static void learn(const struct telling *telling, struct kind *kind, const struct print_event *event)
{
	kind->is_tried = true;
	for (uint32_t i = 0; i < telling->table->point_count; i++) {
		const struct app_point *point = &telling->table->points[i];

		if (point->place != APP_EVENT || strcmp(point->point, event->title) != 0)
			continue;
		kind->points = xrealloc(kind->points, kind->count + 1, sizeof(*kind->points));
		kind->points[kind->count++] = i;
	}
}

static const struct kind *app_event_kind(struct telling *telling, const struct value_line *line)
{
	uint32_t index = value_kind_index(telling->printer, line->kind);

	if (index >= telling->kind_count) {
		uint32_t count = value_kind_count(telling->printer);

		if (index >= count)
			return NULL;
		telling->kinds = xrealloc(telling->kinds, count, sizeof(*telling->kinds));
		memset(telling->kinds + telling->kind_count, 0,
		       (count - telling->kind_count) * sizeof(*telling->kinds));
		telling->kind_count = count;
	}
	if (!telling->kinds[index].is_tried)
		learn(telling, &telling->kinds[index], line->kind);
	return &telling->kinds[index];
}

/* A field of the line at hand; an app_field_fn. */
static bool field_of(void *context, const char *name, struct app_field *out_field)
{
	struct telling *telling = context;
	const struct value_line *line = &telling->line;
	const struct print_field *field = print_event_field(line->kind, name);
	const uint8_t *data;
	uint32_t bytes;

	if (!field)
		return false;
	if (field->is_text) {
		if (!print_field_bytes(telling->printer, field, &line->record, &data, &bytes))
			return false;
		*out_field = (struct app_field){ (const char *)data,
						 strnlen((const char *)data, bytes), 0 };
		return true;
	}
	if (field->is_array)
		return false;
	out_field->number = (int64_t)print_field_number(telling->printer, field, &line->record);
	out_field->text = telling->number;
	out_field->bytes =
		(size_t)snprintf(telling->number, sizeof(telling->number),
				 field->is_signed ? "%" PRId64 : "%" PRIu64, out_field->number);
	return true;
}

static bool holds(struct telling *telling, const struct app_point *point)
{
	struct app_field field;

	return !point->if_field ||
	       (field_of(telling, point->if_field, &field) && field.number == point->if_value);
}

/* Of the lines of one point that begin or end the same span the first one holds. */
static void app_event_feed(struct telling *telling, const struct kind *kind,
			   const struct event *event)
{
	uint32_t last = UINT32_MAX; /* span, and which end of it */

	for (size_t i = 0; i < kind->count; i++) {
		const struct app_point *point = &telling->table->points[kind->points[i]];
		uint32_t what = point->span * 2 + point->ends;
		AUTO_FREE char *words = NULL;

		if (what == last || !holds(telling, point))
			continue;
		words = app_words(telling->table, point, field_of, telling);
		if (!words && point->ends)
			words = xstrdup("");
		if (!words)
			continue;
		last = what;
		app_spans_feed(telling->spans, event->time_ns, event->tid, kind->points[i], words);
	}
}

static int read_all(struct telling *telling, struct line_reader *reader, struct err *err)
{
	const struct value_line *line = &telling->line;
	int rc;

	while ((rc = line_reader_next(reader, &telling->line, err)) > 0) {
		const struct event *event = line->event;
		const struct kind *kind;

		if (event->type == EV_LOST && !(event->context & EV_CTX_USER))
			app_spans_lost(telling->spans, event->time_ns);
		if (event->type == EV_SCHED_EXIT)
			app_spans_exit(telling->spans, event->time_ns, event->tid);
		if (event->type == EV_LOST || !line->record.data || event->tid <= 0)
			continue;
		kind = app_event_kind(telling, line);
		if (kind && kind->count)
			app_event_feed(telling, kind, event);
	}
	return rc;
}

int app_events_read(const char *path, const struct facts *facts, struct app_events *out_events,
		    struct err *err)
{
	const struct line_choice choice = { 0 };
	struct line_reader *reader;
	struct telling telling = { 0 };
	int rc;

	*out_events = (struct app_events){ 0 };
	if (!facts->apps || !*facts->apps)
		return 0;
	rc = line_reader_open(path, &choice, &reader, err);
	if (rc < 0)
		return rc;
	app_table_read(&out_events->table, facts->apps, strlen(facts->apps), "trace.json");
	out_events->spans = app_spans_new(&out_events->table);
	telling.table = &out_events->table;
	telling.spans = out_events->spans;
	telling.printer = line_reader_context(reader)->printer;
	rc = read_all(&telling, reader, err);
	app_spans_end(out_events->spans);
	for (uint32_t i = 0; i < telling.kind_count; i++)
		free(telling.kinds[i].points);
	free(telling.kinds);
	line_reader_close(reader);
	if (rc < 0)
		app_events_fini(out_events);
	return rc;
}

void app_events_fini(struct app_events *events)
{
	app_spans_free(events->spans);
	app_table_fini(&events->table);
	*events = (struct app_events){ 0 };
}
