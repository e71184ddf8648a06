/*
 * others.c - lanes that are no threads and no CPUs.
 *
 * Columns are bytes, all numbers little endian:
 *
 *	"HLS1"  u32 width  u32 lanes  u32 values
 *	lane:   u32 index  u32 kind (0 states, 1 level, 2 amount)  u64 values...  u32 runs  run...
 *	run:    u16 columns  u64 values...
 *
 * The values are of the whole window, then of each column: three sums, the largest level, and the ns
 * in which events were lost.
 */
#include "view/others.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/others/others.h"
#include "analyse/why/why.h"
#include "ask/loaded.h"
#include "ask/other_lanes.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "base/text.h"
#include "base/thread.h"
#include "report/check.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/lanes.h"

#define GROUP_LANES 60u	 /* told of a group */
#define SPANS_TOLD  100u /* of a part of a lane: the longest */
#define VALUES	    (SERIES_SUMS + 2u)
#define WIDTH	    1600u

enum others_state {
	OTHERS_WAITING, /* nobody has asked yet */
	OTHERS_READING,
	OTHERS_READY,
	OTHERS_FAILED
};

struct view_others {
	const char *path;
	const struct model *model;
	pthread_mutex_t lock; /* of what follows; once it is ready, 'lanes' is only read */
	pthread_cond_t wanted;
	enum others_state state;
	uint64_t done_ns, whole_ns;
	struct err failure;
	struct other_lanes read; /* owned */
	const struct other_lanes *lanes;
};

static const struct {
	const char *name, *words;
	const char *values[SERIES_SUMS]; /* what the sums are of */
} groups[OTHER_GROUP_COUNT] = {
	{ "locks", "Locks", { "held", "held, and waited for", "waited for; no holder is known" } },
	{ "disks", "Disks", { "requests in flight" } },
	{ "network", "Network", { "packets", "bytes" } },
	{ "programs", "Events of programs, and probes", { "events" } },
	{ "samples", "Samples of code at work", { "samples" } },
	{ "frequency", "Frequency of CPUs", { "MHz" } },
	{ "pressure", "Pressure of the machine", { "some tasks stalled", "all tasks stalled" } },
	{ "model", "Model", { "at once" } },
};

static const char *const whats[] = {
	[OTHER_HOLD] = "held by",      [OTHER_WAIT] = "waited for by",	[OTHER_REQUEST] = "request",
	[OTHER_INSTANCE] = "instance", [OTHER_VIOLATION] = "violation", [OTHER_EVENT] = "event",
};

/* ------------------------------------------------------------------ the reading */

static void on_progress(void *context, uint64_t done_ns, uint64_t whole_ns)
{
	struct view_others *others = context;

	pthread_mutex_lock(&others->lock);
	others->done_ns = done_ns;
	others->whole_ns = whole_ns;
	pthread_mutex_unlock(&others->lock);
}

static void *run_reading(void *context)
{
	struct view_others *others = context;
	const struct other_lanes_opts opts = { .model = others->model,
					       .reason_of = report_check_reason,
					       .progress = on_progress,
					       .context = others };
	struct err err = { 0 };
	int rc;

	pthread_mutex_lock(&others->lock);
	while (others->state == OTHERS_WAITING)
		pthread_cond_wait(&others->wanted, &others->lock);
	pthread_mutex_unlock(&others->lock);
	rc = other_lanes_read(others->path, &opts, &others->read, &err);
	pthread_mutex_lock(&others->lock);
	others->state = rc < 0 ? OTHERS_FAILED : OTHERS_READY;
	others->failure = err;
	others->lanes = &others->read;
	pthread_mutex_unlock(&others->lock);
	return NULL;
}

static struct view_others *make(const char *path, const struct model *model)
{
	struct view_others *others = xcalloc(1, sizeof(*others));

	others->path = path;
	others->model = model;
	pthread_mutex_init(&others->lock, NULL);
	pthread_cond_init(&others->wanted, NULL);
	return others;
}

int view_others_new(const char *path, const struct model *model, struct view_others **out_others,
		    struct err *err)
{
	struct view_others *others = make(path, model);
	pthread_t thread;
	int rc = thread_start_quiet(&thread, NULL, run_reading, others);

	if (rc) {
		view_others_end(others);
		return err_set(err, -rc, "cannot start a thread: %s", strerror(rc));
	}
	pthread_detach(thread);
	*out_others = others;
	return 0;
}

int view_others_read(const char *path, const struct model *model, struct view_others **out_others,
		     struct err *err)
{
	const struct other_lanes_opts opts = { .model = model, .reason_of = report_check_reason };
	struct view_others *others = make(path, model);
	int rc = other_lanes_read(path, &opts, &others->read, err);

	if (rc < 0) {
		view_others_end(others);
		return rc;
	}
	others->lanes = &others->read;
	others->state = OTHERS_READY;
	*out_others = others;
	return 0;
}

struct view_others *view_others_ready(const struct other_lanes *lanes)
{
	struct view_others *others = make("", NULL);

	others->lanes = lanes;
	others->state = OTHERS_READY;
	return others;
}

void view_others_end(struct view_others *others)
{
	if (!others)
		return;
	other_lanes_fini(&others->read);
	pthread_cond_destroy(&others->wanted);
	pthread_mutex_destroy(&others->lock);
	free(others);
}

const struct others *view_others_lanes(struct view_others *others)
{
	const struct others *lanes = NULL;

	if (!others)
		return NULL;
	pthread_mutex_lock(&others->lock);
	if (others->state == OTHERS_READY)
		lanes = others->lanes->others;
	pthread_mutex_unlock(&others->lock);
	return lanes;
}

const char *const *view_others_values(enum other_group group)
{
	return groups[group].values;
}

const char *view_others_group(enum other_group group)
{
	return groups[group].name;
}

const char *view_others_words(enum other_group group)
{
	return groups[group].words;
}

const char *view_others_kind(enum series_kind kind)
{
	static const char *const names[] = { "states", "level", "amount" };

	return names[kind];
}

const char *view_others_what(enum other_what what)
{
	return whats[what];
}

char *view_others_sum_words(const struct other_lane *lane, const struct series_column *sum,
			    uint64_t length_ns)
{
	const char *const *values = groups[lane->group].values;
	char *text = xstrdup("");

	for (uint32_t i = 0; i < SERIES_SUMS && values[i]; i++) {
		AUTO_FREE char *before = text;
		const char *comma = *before ? ", " : "";

		if (!sum->sums[i])
			text = xstrdup(before);
		else if (lane->series.kind == SERIES_STATES)
			text = xasprintf("%s%s%s %s", before, comma, values[i],
					 text_duration(sum->sums[i]).s);
		else if (lane->series.kind == SERIES_LEVEL)
			text = xasprintf("%s%s%s: %.2f on average, %" PRIu64 " at most", before,
					 comma, values[i], (double)sum->sums[i] / (double)length_ns,
					 sum->most);
		else
			text = xasprintf("%s%s%" PRIu64 " %s", before, comma, sum->sums[i],
					 values[i]);
	}
	return text;
}

/* The lanes, when they are read. */
static const struct others *lanes_of(const struct view *view, struct err *err)
{
	const struct others *lanes = view_others_lanes(view->others);

	if (!lanes)
		(void)err_set(err, -ENOENT, "the other lanes are not read yet; ask \"others\"");
	return lanes;
}

/* ------------------------------------------------------------- which there are */

static void others_put_lane(struct json *json, const struct other_lane *lane, size_t index)
{
	AUTO_FREE char *name = xasprintf("o%zu", index);

	json_begin_object(json, NULL);
	json_print_string(json, "lane", name);
	view_json_text(json, "label", lane->label);
	json_print_string(json, "kind", view_others_kind(lane->series.kind));
	json_print_u64(json, "weight", lane->weight);
	json_print_u64(json, "joined_ns", lane->series.joined_ns);
	json_print_u64(json, "spans_left_out", lane->spans_left_out);
	json_end_object(json);
}

/* The first ones, or those of 'chosen'. */
static void put_group(struct json *json, const struct others *others, enum other_group group,
		      const bool *chosen)
{
	uint64_t told = 0, all = 0;

	for (size_t i = 0; i < others_count(others); i++)
		all += others_lane(others, i)->group == group;
	if (!all)
		return;
	json_begin_object(json, NULL);
	json_print_string(json, "name", groups[group].name);
	json_print_string(json, "words", groups[group].words);
	json_begin_array(json, "values");
	for (size_t i = 0; i < SERIES_SUMS && groups[group].values[i]; i++)
		json_print_string(json, NULL, groups[group].values[i]);
	json_end_array(json);
	json_begin_array(json, "lanes");
	for (size_t i = 0; i < others_count(others) && told < GROUP_LANES; i++) {
		if (others_lane(others, i)->group != group || (chosen && !chosen[i]))
			continue;
		others_put_lane(json, others_lane(others, i), i);
		told++;
	}
	json_end_array(json);
	json_print_u64(json, "more", all - told + others_left_out(others, group));
	json_end_object(json);
}

void view_others_json(struct json *json, const struct view_others *others, const bool *chosen)
{
	json_print_string(json, "state", "ready");
	view_json_text(json, "note", others->lanes->note);
	json_begin_array(json, "groups");
	for (enum other_group group = 0; group < OTHER_GROUP_COUNT; group++)
		put_group(json, others->lanes->others, group, chosen);
	json_end_array(json);
}

/* The lock is held. */
static void begin_reading(struct view_others *others)
{
	if (others->state != OTHERS_WAITING)
		return;
	others->state = OTHERS_READING;
	pthread_cond_signal(&others->wanted);
}

enum view_others_is view_others_want(struct view_others *others, uint64_t *out_done_ns,
				     uint64_t *out_whole_ns, struct err *err)
{
	enum others_state state;

	pthread_mutex_lock(&others->lock);
	begin_reading(others);
	state = others->state;
	*out_done_ns = others->done_ns;
	*out_whole_ns = others->whole_ns;
	if (state == OTHERS_FAILED)
		*err = others->failure;
	pthread_mutex_unlock(&others->lock);
	return state == OTHERS_READY	? VIEW_OTHERS_READY
	       : state == OTHERS_FAILED ? VIEW_OTHERS_FAILED
					: VIEW_OTHERS_READING;
}

/* Ask for it begins it. */
static void put_progress(struct json *json, struct view_others *others)
{
	begin_reading(others);
	json_print_string(json, "state", others->state == OTHERS_FAILED ? "failed" : "reading");
	view_json_text(json, "error", others->state == OTHERS_FAILED ? others->failure.text : NULL);
	json_print_u64(json, "done_ns", others->done_ns);
	json_print_u64(json, "whole_ns", others->whole_ns);
}

void view_answer_others(const struct view *view, const struct view_query *query,
			struct view_answer *out_answer)
{
	struct view_others *others = view->others;
	struct view_json json;
	bool is_ready;

	(void)query;
	if (!others) {
		view_answer_say(out_answer, 404, "this viewer reads no other lanes");
		return;
	}
	view_json_begin(&json);
	pthread_mutex_lock(&others->lock);
	is_ready = others->state == OTHERS_READY;
	if (!is_ready)
		put_progress(&json.json, others);
	pthread_mutex_unlock(&others->lock);
	if (is_ready)
		view_others_json(&json.json, others, NULL);
	view_json_end(&json, out_answer);
}

/* --------------------------------------------------------------------- columns */

static int other_parse(const void *context, const char *text, struct view_lane *out_lane)
{
	const struct others *others = context;
	uint64_t index;

	if (text[0] != 'o' || !text_parse_u64(text + 1, &index) || index >= others_count(others))
		return -EINVAL;
	*out_lane = (struct view_lane){ 'o', (uint32_t)index };
	return 0;
}

/* Columns of a lane on their way out; runs are cut where a hole begins or ends. */
struct series_writer {
	struct outbuf *out;
	const uint64_t *lost; /* ns of each column */
	uint32_t at, runs;
};

static void put_values(struct outbuf *out, const struct series_column *column, uint64_t lost_ns)
{
	for (uint32_t i = 0; i < SERIES_SUMS; i++)
		outbuf_little(out, column->sums[i], 8);
	outbuf_little(out, column->most, 8);
	outbuf_little(out, lost_ns, 8);
}

static void write_columns(void *context, uint32_t columns, const struct series_column *column)
{
	struct series_writer *writer = context;
	uint32_t end = writer->at + columns;

	while (writer->at < end) {
		uint32_t first = writer->at;

		while (writer->at < end && writer->lost[writer->at] == writer->lost[first])
			writer->at++;
		outbuf_little(writer->out, writer->at - first, 2);
		put_values(writer->out, column, writer->lost[first]);
		writer->runs++;
	}
}

/* The window that is asked for, and the ns of each column in which events of any CPU were lost. */
struct asked_window {
	uint64_t from_ns, to_ns;
	uint64_t width;
	uint64_t *lost; /* owned */
	uint64_t lost_ns;
};

static uint64_t column_start(const struct asked_window *window, uint64_t column)
{
	return window->from_ns + (uint64_t)((unsigned __int128)(window->to_ns - window->from_ns) *
					    column / window->width);
}

static void add_hole(struct asked_window *window, uint64_t since_ns, uint64_t until_ns)
{
	uint64_t length_ns = window->to_ns - window->from_ns;
	uint64_t column = (uint64_t)((unsigned __int128)(since_ns - window->from_ns) *
				     window->width / length_ns);

	window->lost_ns += until_ns - since_ns;
	for (; column < window->width && column_start(window, column) < until_ns; column++) {
		uint64_t start_ns = column_start(window, column),
			 end_ns = column_start(window, column + 1);

		start_ns = start_ns > since_ns ? start_ns : since_ns;
		end_ns = end_ns < until_ns ? end_ns : until_ns;
		window->lost[column] += end_ns > start_ns ? end_ns - start_ns : 0;
	}
}

/* Holes of several CPUs at one time are one. They are in order of their ends: from the last one back, each ends where one begins already. */
static void find_holes(const struct timeline *timeline, struct asked_window *window)
{
	uint64_t seen_ns = window->to_ns;

	window->lost = xcalloc(window->width + 1, sizeof(*window->lost));
	for (size_t i = timeline->gap_count;
	     i-- > 0 && timeline->gaps[i].until_ns > window->from_ns;) {
		const struct tl_gap *gap = &timeline->gaps[i];
		uint64_t until_ns = gap->until_ns < seen_ns ? gap->until_ns : seen_ns;
		uint64_t since_ns =
			gap->since_ns > window->from_ns ? gap->since_ns : window->from_ns;

		if (until_ns <= since_ns)
			continue;
		add_hole(window, since_ns, until_ns);
		seen_ns = since_ns;
	}
}

static void put_series(struct outbuf *out, const struct others *others, uint32_t index,
		       const struct asked_window *window)
{
	const struct series *series = &others_lane(others, index)->series;
	struct outbuf runs;
	struct series_writer writer = { .out = &runs, .lost = window->lost };
	struct series_column sum;

	outbuf_to_memory(&runs);
	series_columns(series, window->from_ns, window->to_ns, (uint32_t)window->width,
		       write_columns, &writer, &sum);
	outbuf_little(out, index, 4);
	outbuf_little(out, series->kind, 4);
	put_values(out, &sum, window->lost_ns);
	outbuf_little(out, writer.runs, 4);
	outbuf_put(out, runs.start, outbuf_bytes(&runs));
	outbuf_fini(&runs);
}

void view_answer_series(const struct view *view, const struct view_query *query,
			struct view_answer *out_answer)
{
	const char *text = view_query_text(query, "rows");
	struct view_lane rows[VIEW_LANES_MAX];
	uint32_t count = 0;
	struct asked_window window = { 0 };
	struct err err = { 0 };
	const struct others *others = lanes_of(view, &err);
	struct outbuf out;
	int rc = others ? view_window(view, query, &window.from_ns, &window.to_ns, &err) : -ENOENT;

	if (rc == 0)
		rc = view_query_number(query, "width", 1, VIEW_WIDTH_MAX, WIDTH, &window.width,
				       &err);
	if (rc == 0)
		rc = view_names_parse(text ? text : "", other_parse, others, rows, &count, &err);
	if (rc < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	find_holes(view->loaded->timeline, &window);
	view_bytes_begin(&out, "HLS1", window.width, count, VALUES);
	for (uint32_t i = 0; i < count; i++)
		put_series(&out, others, rows[i].index, &window);
	free(window.lost);
	view_answer_bytes(out_answer, &out);
}

/* ----------------------------------------------------------- what lies behind it */

static void put_who(struct json *json, const char *key, const struct view *view, int32_t tid,
		    uint64_t time_ns)
{
	const struct timeline *timeline = view->loaded->timeline;
	uint32_t slot = tid > 0 ? timeline_near_thread(timeline, tid, time_ns) : SLOT_NONE;
	const struct why_thread thread = { .tid = tid > 0 ? tid : 0,
					   .comm = slot == SLOT_NONE
							   ? NULL
							   : timeline_comm(timeline, slot) };

	if (slot == SLOT_NONE)
		view_json_thread(json, key, view, &thread, time_ns);
	else
		view_json_slot(json, key, view, slot);
}

static void put_span(struct json *json, const struct view *view, const struct others *others,
		     const struct other_span *span)
{
	json_begin_object(json, NULL);
	json_print_string(json, "what", whats[span->what]);
	view_json_time(json, "start_ns", view, span->start_ns);
	view_json_time(json, "end_ns", view, span->end_ns);
	put_who(json, "who", view, span->tid, span->start_ns);
	put_who(json, "holder", view, span->other_tid, span->start_ns);
	view_json_text(json, "text", others_text(others, span->text));
	json_end_object(json);
}

static int compare_spans(const void *a, const void *b)
{
	const struct other_span *x = *(const struct other_span *const *)a,
				*y = *(const struct other_span *const *)b;
	uint64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;

	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	if (!x_ns && x->start_ns != y->start_ns) /* of moments the last one is first */
		return x->start_ns > y->start_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Those of a part of the time, longest first. */
static void others_put_spans(struct json *json, const struct view *view,
			     const struct other_lane *lane, const struct asked_window *window,
			     uint64_t most)
{
	const struct others *others = view_others_lanes(view->others);
	AUTO_FREE const struct other_span **found =
		xcalloc(lane->span_count + 1, sizeof(struct other_span *));
	size_t count = 0;

	for (size_t i = 0; i < lane->span_count; i++) {
		const struct other_span *span = &lane->spans[i];

		if (span->start_ns < window->to_ns &&
		    (span->end_ns > window->from_ns || span->start_ns >= window->from_ns))
			found[count++] = span;
	}
	if (count)
		qsort(found, count, sizeof(struct other_span *), compare_spans);
	json_begin_array(json, "spans");
	for (size_t i = 0; i < count && i < most; i++)
		put_span(json, view, others, found[i]);
	json_end_array(json);
	json_print_u64(json, "more", count > most ? count - most : 0);
	json_print_u64(json, "left_out", lane->spans_left_out);
}

static void ignore_columns(void *context, uint32_t columns, const struct series_column *column)
{
	(void)context;
	(void)columns;
	(void)column;
}

static void put_sums(struct json *json, const struct other_lane *lane,
		     const struct asked_window *window)
{
	struct series_column sum;

	series_columns(&lane->series, window->from_ns, window->to_ns, 1, ignore_columns, NULL,
		       &sum);
	json_begin_array(json, "sums");
	for (size_t i = 0; i < SERIES_SUMS && groups[lane->group].values[i]; i++)
		json_print_u64(json, NULL, sum.sums[i]);
	json_end_array(json);
	json_print_u64(json, "most", sum.most);
}

void view_answer_other(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer)
{
	const char *name = view_query_text(query, "lane");
	struct asked_window window = { 0 };
	struct err err = { 0 };
	const struct others *others = lanes_of(view, &err);
	const struct other_lane *lane;
	struct view_json json;
	struct view_lane named = { 0 };
	uint64_t most = SPANS_TOLD;
	int rc = others ? view_window(view, query, &window.from_ns, &window.to_ns, &err) : -ENOENT;

	if (rc == 0 && (!name || other_parse(others, name, &named) < 0))
		rc = err_set(&err, -EINVAL, "no such lane");
	if (rc == 0)
		rc = view_query_number(query, "most", 1, SPANS_TOLD, SPANS_TOLD, &most, &err);
	if (rc < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	lane = others_lane(others, named.index);
	view_json_begin(&json);
	view_json_text(&json.json, "label", lane->label);
	json_print_string(&json.json, "kind", view_others_kind(lane->series.kind));
	view_json_time(&json.json, "from_ns", view, window.from_ns);
	view_json_time(&json.json, "to_ns", view, window.to_ns);
	put_sums(&json.json, lane, &window);
	others_put_spans(&json.json, view, lane, &window, most);
	view_json_end(&json, out_answer);
}

bool view_others_leave(struct view_others *others)
{
	bool is_reading;

	pthread_mutex_lock(&others->lock);
	is_reading = others->state == OTHERS_WAITING || others->state == OTHERS_READING;
	pthread_mutex_unlock(&others->lock);
	if (!is_reading)
		view_others_end(others);
	return !is_reading;
}
