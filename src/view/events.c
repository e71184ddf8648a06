/*
 * events.c - single events, a page at a time: of a lane, by the filter language of list, by a text in them.
 *
 * A page looks at a bounded number of events, and says how far it got: who wants more asks again from there.
 * Events of one time are told apart by how many of them were told before.
 */
#include "view/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "event/event.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/lanes.h"

#define LOOKED_MAX 100000u /* events, in a page */
#define PAGE_MAX   500u
#define TEXT_MAX   200u
#define FIRST_BACK_NS \
	1000000u /* looked at first, when the last events before a time are asked for */

/* What is asked, and where in the recording. */
struct asked {
	const struct view *view;
	struct view_lane lane; /* kind 0: of all */
	const char *filter, *sought;
	uint64_t from_ns, to_ns;
	uint64_t skip, most;
	bool is_back;
};

/* A page while it is written. */
struct page {
	const struct asked *asked;
	struct line_reader *reader;
	struct json *json;
	uint64_t told, skip;
	uint64_t last_ns; /* of the last one told */
	uint64_t at_last; /* told of that time */
};

void view_events_fini(struct view_events *events)
{
	line_reader_close(events->reader);
	free(events->key);
	free(events->filter);
	free(events->cpus);
	*events = (struct view_events){ 0 };
}

/* ------------------------------------------------------------------ the reader */

static int open_reader(const struct asked *asked, struct view_events *events, struct err *err)
{
	const struct timeline *timeline = asked->view->loaded->timeline;

	if (asked->filter)
		events->filter = xstrdup(asked->filter);
	if (asked->lane.kind == 'c')
		events->cpus = xasprintf("%u", asked->lane.index);
	if (asked->lane.kind == 't')
		events->tid = timeline->threads[asked->lane.index]->tid;
	events->choice = (struct line_choice){
		.filter = events->filter,
		.follow = &events->tid,
		.follow_count = asked->lane.kind == 't',
		.cpus = events->cpus,
	};
	return line_reader_open(asked->view->path, &events->choice, &events->reader, err);
}

/* The one that is open, when it reads the same. */
static int find_reader(const struct asked *asked, struct view_events *events, struct err *err)
{
	AUTO_FREE char *key = xasprintf("%c%u %s", asked->lane.kind ? asked->lane.kind : '-',
					asked->lane.index, asked->filter ? asked->filter : "");
	int rc;

	if (events->reader && strcmp(events->key, key) == 0)
		return 0;
	view_events_fini(events);
	rc = open_reader(asked, events, err);
	if (rc < 0) {
		view_events_fini(events);
		return rc;
	}
	events->key = xstrdup(key);
	return 0;
}

/* ------------------------------------------------------------------- its lines */

static void put_column(const struct value_context *context, enum value_column column,
		       const struct value_line *line, struct outbuf *out)
{
	const struct value_place place = value_column_place(column, line->kind);

	value_text(context, &place, line, false, out);
}

static char *column_text(const struct page *page, enum value_column column,
			 const struct value_line *line)
{
	struct outbuf out;
	char *text;

	outbuf_to_memory(&out);
	put_column(line_reader_context(page->reader), column, line, &out);
	text = xstrndup(out.start, outbuf_bytes(&out));
	outbuf_fini(&out);
	return text;
}

static bool is_sought(const struct page *page, const struct value_line *line)
{
	static const enum value_column columns[] = { COLUMN_EVENT, COLUMN_COMM, COLUMN_SYSCALL,
						     COLUMN_TEXT };

	if (!page->asked->sought)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		AUTO_FREE char *text = column_text(page, columns[i], line);

		if (strcasestr(text, page->asked->sought))
			return true;
	}
	return false;
}

static void put_line(const struct page *page, const struct value_line *line)
{
	const struct view *view = page->asked->view;
	const struct event *event = line->event;
	struct json *json = page->json;
	uint32_t slot = event->tid > 0 ? timeline_near_thread(view->loaded->timeline, event->tid,
							      event->time_ns)
				       : SLOT_NONE;
	AUTO_FREE char *lane = slot == SLOT_NONE ? NULL : xasprintf("t%u", slot);

	json_begin_object(json, NULL);
	view_json_time(json, "ns", view, event->time_ns);
	json_print_u64(json, "cpu", event->cpu);
	json_print_i64(json, "tid", event->tid);
	json_print_string(json, "lane", lane);
	json_print_i64(json, "tgid",
		       lane ? thread_process(view->loaded->timeline->threads[slot]) : -1);
	view_json_own_text(json, "comm", column_text(page, COLUMN_COMM, line));
	view_json_own_text(json, "event", column_text(page, COLUMN_EVENT, line));
	view_json_own_text(json, "call", column_text(page, COLUMN_SYSCALL, line));
	view_json_own_text(json, "text", column_text(page, COLUMN_TEXT, line));
	json_end_object(json);
}

static void take_line(struct page *page, const struct value_line *line)
{
	uint64_t ns = line->event->time_ns;

	page->at_last = ns == page->last_ns ? page->at_last + 1 : 1;
	page->last_ns = ns;
	if (page->skip) {
		page->skip--;
		return;
	}
	page->told++;
	if (page->json)
		put_line(page, line);
}

/*
 * Lines of [from, to) until 'most' are told (0 = all), and how far that led: *out_next_ns. 1: there may be
 * more, 0: there are none; or negative with err filled.
 */
static int read_lines(struct page *page, uint64_t from_ns, uint64_t most, uint64_t *out_next_ns,
		      struct err *err)
{
	struct value_line line;
	int rc = line_reader_seek(page->reader, from_ns, err);

	line_reader_limit(page->reader, LOOKED_MAX);
	while (rc == 0 && (rc = line_reader_next(page->reader, &line, err)) > 0) {
		if (line.event->time_ns >= page->asked->to_ns)
			return 0;
		if (is_sought(page, &line))
			take_line(page, &line);
		if (most && page->told == most) {
			*out_next_ns = page->last_ns;
			return 1;
		}
		rc = 0;
	}
	if (rc == 0 && line_reader_is_spent(page->reader, out_next_ns)) {
		if (*out_next_ns != page->last_ns)
			page->at_last = 0;
		return 1;
	}
	return rc;
}

/* The last ones before asked->to_ns: looked for in spans that grow, until there are enough. */
static int read_back(struct page *page, uint64_t *out_next_ns, struct err *err)
{
	const struct asked *asked = page->asked;
	struct json *json = page->json;
	uint64_t length_ns = asked->to_ns - asked->from_ns, span_ns = FIRST_BACK_NS,
		 begin_ns = asked->to_ns, next_ns;
	int rc = 0;

	page->json = NULL;
	while (begin_ns > asked->from_ns && page->told < asked->most) {
		struct page looking = *page;
		uint64_t at_ns = span_ns < length_ns ? asked->to_ns - span_ns : asked->from_ns;

		looking.told = 0;
		rc = read_lines(&looking, at_ns, 0, &next_ns, err);
		if (rc != 0)
			break; /* it is too far for one page, or cannot be read */
		page->told = looking.told;
		begin_ns = at_ns;
		span_ns *= 4;
	}
	if (rc < 0)
		return rc;
	page->json = json;
	page->skip = page->told > asked->most ? page->told - asked->most : 0;
	page->told = 0;
	*out_next_ns = begin_ns;
	if (begin_ns < asked->to_ns)
		rc = read_lines(page, begin_ns, asked->most, &next_ns, err);
	return rc < 0 ? rc : begin_ns > asked->from_ns;
}

/* -------------------------------------------------------------------- the answer */

static int parse_texts(const struct view_query *query, struct asked *asked, struct err *err)
{
	const char *lane = view_query_text(query, "lane"), *back = view_query_text(query, "back");
	struct view_lane lanes[VIEW_LANES_MAX];
	uint32_t count = 0;
	int rc = lane ? view_lanes_parse(asked->view, lane, lanes, &count, err) : 0;

	if (rc == 0 && lane && count != 1)
		rc = err_set(err, -EINVAL, "expected one lane");
	if (rc < 0)
		return rc;
	if (lane)
		asked->lane = lanes[0];
	asked->is_back = back && strcmp(back, "1") == 0;
	asked->filter = view_query_text(query, "filter");
	asked->sought = view_query_text(query, "q");
	if (asked->filter && !*asked->filter)
		asked->filter = NULL;
	if (asked->sought && (!*asked->sought || strlen(asked->sought) > TEXT_MAX))
		return err_set(err, -EINVAL, "expected a search text of 1 to %u bytes", TEXT_MAX);
	return 0;
}

static int parse(const struct view_query *query, struct asked *asked, struct err *err)
{
	int rc = view_window(asked->view, query, &asked->from_ns, &asked->to_ns, err);

	if (rc == 0 && asked->to_ns == asked->view->loaded->timeline->end_ns)
		asked->to_ns++; /* the last event is where the recording ends */
	if (rc == 0)
		rc = view_query_number(query, "most", 1, PAGE_MAX, PAGE_MAX, &asked->most, err);
	if (rc == 0)
		rc = view_query_number(query, "skip", 0, UINT32_MAX, 0, &asked->skip, err);
	return rc < 0 ? rc : parse_texts(query, asked, err);
}

static void put_page(const struct asked *asked, struct line_reader *reader,
		     struct view_answer *out_answer)
{
	struct view_json json;
	struct page page = {
		.asked = asked, .reader = reader, .skip = asked->skip, .json = &json.json
	};
	uint64_t next_ns = asked->to_ns;
	struct err err = { 0 };
	int rc;

	view_json_begin(&json);
	json_begin_array(&json.json, "events");
	rc = asked->is_back ? read_back(&page, &next_ns, &err)
			    : read_lines(&page, asked->from_ns, asked->most, &next_ns, &err);
	json_end_array(&json.json);
	json_print_bool(&json.json, "more", rc > 0);
	view_json_time(&json.json, "next_ns", asked->view, next_ns);
	json_print_u64(&json.json, "skip", asked->is_back ? 0 : page.at_last);
	view_json_end(&json, out_answer);
	if (rc < 0) {
		view_answer_fini(out_answer);
		view_answer_fail(out_answer, &err);
	}
}

void view_answer_events(const struct view *view, const struct view_query *query,
			struct view_answer *out_answer)
{
	struct view_events own = { 0 }, *events = view->events ? view->events : &own;
	struct asked asked = { .view = view };
	struct err err = { 0 };
	int rc = parse(query, &asked, &err);

	if (rc == 0)
		rc = find_reader(&asked, events, &err);
	if (rc < 0)
		view_answer_fail(out_answer, &err);
	else
		put_page(&asked, events->reader, out_answer);
	view_events_fini(&own);
}
