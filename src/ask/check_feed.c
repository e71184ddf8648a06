/* check_feed.c - patterns by kind of event, filters and fields by the reader's own means. */
#include "ask/check_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check.h"
#include "ask/lock_decode.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "base/text.h"
#include "event/comms.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "model/model.h"
#include "fields/expr.h"
#include "fields/print.h"
#include "read/read.h"
#include "fields/value.h"
#include "store/formats.h"

#define RECORD_BYTES 131072u /* as in line_reader.c */
#define PAGE_BYTES   UINT64_C(4096)

/* What the model wants of one kind of event. */
struct wanted {
	uint32_t *patterns; /* owned */
	uint32_t count;
};

/* Fields of the model in one kind of event. */
struct place {
	bool is_known;
	struct value_place place;
};

struct check_feed {
	struct trace *trace;
	const struct model *model;
	const struct formats *formats; /* what the names were looked up in */
	uint32_t *patterns;	       /* owned; of the event at hand */
	struct printer *printer;       /* owned */
	struct value_context context;
	struct comms *comms;	    /* owned; NULL = no filter asks for names of threads */
	struct expr **filters;	    /* owned; by pattern; NULL = none */
	struct value_name **fields; /* owned; by field; NULL = the trace has none of that name */
	struct place **places; /* owned; by number of the kind, then by field; NULL = not yet */
	struct wanted *kinds;  /* owned; by number of the kind */
	uint32_t kind_count;
	struct wanted calls[2]; /* patterns of system calls: enter, exit */
	struct value_line line; /* the event at hand */
	struct outbuf text;	/* of a field at hand */
	char comm[COMMS_BYTES];
	struct lock_decode *locks;	 /* owned; NULL = no metric is about them */
	const struct print_event *page;	 /* memory is given out; NULL = no metric is about it */
	const struct print_field *order; /* of pages, as a power of 2 */
	const struct print_event *rss;	 /* memory of a process; NULL = no metric is about it */
	struct {
		const struct print_field *space, *is_own, *counter, *bytes;
	} rss_fields;
	const char *missing[METRIC_KIND_COUNT];
	char **notes; /* owned */
	size_t note_count, note_cap;
	bool has_kernel;
	struct check_hole *holes; /* owned; that came by */
	size_t hole_count, hole_cap;
};

static void feed_note(struct check_feed *feed, char *text)
{
	feed->notes = vec_room(feed->notes, feed->note_count, &feed->note_cap, sizeof(char *));
	feed->notes[feed->note_count++] = text;
}

/* ------------------------------------------------------------------- events */

static bool has_name(const struct print_event *kind, const char *glob)
{
	return text_glob(glob, kind->title, strlen(kind->title)) ||
	       text_glob(glob, kind->name, strlen(kind->name));
}

static bool trace_has(const struct printer *printer, const char *glob)
{
	const struct print_event *kind = NULL;

	while ((kind = printer_next(printer, kind))) {
		if (has_name(kind, glob))
			return true;
	}
	return false;
}

static void unknown_event(struct check_feed *feed, const struct model_pattern *pattern)
{
	AUTO_FREE char *safe = text_escaped(pattern->name);
	const struct print_event *kind = NULL;
	size_t best = strlen(pattern->name) / 3 + 2;
	const char *near = NULL;

	while ((kind = printer_next(feed->printer, kind))) {
		size_t edits = text_edits(pattern->name, kind->title);
		size_t short_edits = text_edits(pattern->name, kind->name);

		edits = edits < short_edits ? edits : short_edits;
		if (edits < best) {
			best = edits;
			near = kind->title;
		}
	}
	AUTO_FREE char *safe_near = near ? text_escaped(near) : NULL;

	feed_note(feed, xasprintf("The trace has no event \"%s\" (line %u of the model)%s%s%s",
				  safe, pattern->place.line, near ? "; did you mean \"" : ".",
				  near ? safe_near : "", near ? "\"?" : ""));
}

static void add_wanted(struct wanted *wanted, uint32_t pattern)
{
	wanted->patterns = xrealloc(wanted->patterns, wanted->count + 1, sizeof(uint32_t));
	wanted->patterns[wanted->count++] = pattern;
}

static void unknown_call(struct check_feed *feed, const struct model_pattern *pattern)
{
	AUTO_FREE char *safe = text_escaped(pattern->name);

	for (int64_t nr = 0; nr < 1024; nr++) {
		const char *name = facts_syscall(feed->context.facts, nr, false);

		if (name && strcmp(name, pattern->name) == 0)
			return;
	}
	feed_note(feed, xasprintf("There is no system call \"%s\" (line %u of the model).", safe,
				  pattern->place.line));
}

static void bind_pattern(struct check_feed *feed, uint32_t index)
{
	const struct model_pattern *pattern = &feed->model->patterns[index];
	const struct print_event *kind = NULL;
	bool is_known = false;

	if (pattern->take != TAKE_EVENT) {
		add_wanted(&feed->calls[pattern->take == TAKE_SYSCALL_EXIT], index);
		unknown_call(feed, pattern);
		return;
	}
	while ((kind = printer_next(feed->printer, kind))) {
		uint32_t number = value_kind_index(feed->printer, kind);

		if (number >= feed->kind_count || !has_name(kind, pattern->name))
			continue;
		is_known = true;
		add_wanted(&feed->kinds[number], index);
	}
	if (!is_known)
		unknown_event(feed, pattern);
}

/* A filter of an event that the trace does not have may name fields that it does not have. */
static void bind_filter(struct check_feed *feed, uint32_t index, struct model_errors *errors)
{
	const struct model_pattern *pattern = &feed->model->patterns[index];
	struct err why = { 0 };

	if (!pattern->filter ||
	    (pattern->take == TAKE_EVENT && !trace_has(feed->printer, pattern->name)))
		return;
	if (expr_new(pattern->filter, &feed->context, &feed->filters[index], &why) < 0) {
		model_errors_add(errors, pattern->filter_place, "%s", why.text);
		return;
	}
	if (!feed->comms && expr_uses(feed->filters[index], COLUMN_COMM))
		feed->comms = comms_new(feed->context.facts);
}

/* What a name may have been meant to be. */
struct nearest {
	const char *name;
	const char *near;
	size_t best; /* only what differs less */
};

static void try_name(struct nearest *nearest, const char *other)
{
	size_t edits = text_edits(nearest->name, other);

	if (edits >= nearest->best)
		return;
	nearest->best = edits;
	nearest->near = other;
}

/* A name in an expression that is nothing else is a field: of no event, it is a mistake. */
static void unknown_field(struct check_feed *feed, const struct model_field *field)
{
	AUTO_FREE char *safe = text_escaped(field->name);
	struct nearest nearest = { .name = field->name, .best = strlen(field->name) / 3 + 2 };
	const struct print_event *kind = NULL;

	for (uint32_t i = 0; i < feed->model->variable_count; i++) {
		if (!feed->model->variables[i].is_auto)
			try_name(&nearest, feed->model->variables[i].name);
	}
	for (uint32_t i = 0; i < METRIC_KIND_COUNT; i++)
		try_name(&nearest, metric_row((enum metric_kind)i)->name);
	while ((kind = printer_next(feed->printer, kind))) {
		for (uint32_t i = kind->common_count; i < kind->field_count; i++)
			try_name(&nearest, kind->fields[i].name);
	}
	AUTO_FREE char *safe_near = nearest.near ? text_escaped(nearest.near) : NULL;

	feed_note(feed,
		  xasprintf("No event of the trace has a field \"%s\" (line %u of the model)%s%s%s",
			    safe, field->place.line, safe_near ? "; did you mean \"" : ".",
			    safe_near ? safe_near : "", safe_near ? "\"?" : ""));
}

static void bind_field(struct check_feed *feed, uint32_t index)
{
	const struct model_field *field = &feed->model->fields[index];

	if (value_name_new(&feed->context, field->name, &feed->fields[index], NULL) < 0)
		unknown_field(feed, field);
}

/*
 * An event that is named and has not the field of its key belongs to no instance, ever: what it
 * would end is not told to go on for ever, but this is told.
 */
static void bind_key(struct check_feed *feed, uint32_t index, struct model_errors *errors)
{
	const struct model_pattern *pattern = &feed->model->patterns[index];
	const struct print_event *kind = NULL;
	bool is_there = false, has_key = false;

	if (pattern->key != KEY_FIELD || pattern->take != TAKE_EVENT ||
	    !feed->fields[pattern->field])
		return;
	while ((kind = printer_next(feed->printer, kind))) {
		if (!has_name(kind, pattern->name))
			continue;
		is_there = true;
		has_key |= value_place(feed->fields[pattern->field], kind).kind != VALUE_NONE;
	}
	if (!is_there || has_key)
		return;
	AUTO_FREE char *name = text_escaped(pattern->name);
	AUTO_FREE char *field = text_escaped(feed->model->fields[pattern->field].name);

	model_errors_add(
		errors, pattern->place,
		"event %s has no field \"%s\", which is the key, so its instance is unknown. "
		"Write \"key: thread\" if one thread handles each instance (the end of a span has "
		"no fields), or add the field to the event",
		name, field);
}

/* ------------------------------------------------------------ what is missing */

/* A metric cannot be told when none of these events is in the trace. */
static const struct need {
	enum metric_kind kind;
	const char *events[3];
	const char *why;
} needs[] = {
	{ METRIC_SYSCALLS,
	  { "sys_enter*", "*syscall_entry*", "exit_syscall" }, /* the last: LTTng before 2.6 */
	  "system calls were not recorded" },
	{ METRIC_IN_SYSCALLS,
	  { "sys_enter*", "*syscall_entry*", "exit_syscall" },
	  "system calls were not recorded" },
	{ METRIC_FAULTS,
	  { "page_fault*", "x86_exceptions_page*" },
	  "page faults were not recorded" },
	{ METRIC_INTERRUPTS,
	  { "irq_handler_entry", "local_timer_entry" },
	  "interrupts were not recorded" },
	{ METRIC_IN_IRQ,
	  { "irq_handler_entry", "local_timer_entry" },
	  "interrupts were not recorded" },
	{ METRIC_SOFTIRQS, { "softirq_entry", "irq_softirq_entry" }, "softirqs were not recorded" },
	{ METRIC_IN_SOFTIRQ,
	  { "softirq_entry", "irq_softirq_entry" },
	  "softirqs were not recorded" },
	{ METRIC_WAKEUPS, { "sched_waking" }, "sched_waking was not recorded" },
	{ METRIC_SIGNALS, { "signal_deliver" }, "signal_deliver was not recorded" },
	{ METRIC_BYTES_READ,
	  { "sys_exit*", "*syscall_exit*", "exit_syscall" },
	  "system calls were not recorded" },
	{ METRIC_BYTES_WRITTEN,
	  { "sys_exit*", "*syscall_exit*", "exit_syscall" },
	  "system calls were not recorded" },
	{ METRIC_LOCK_WAIT,
	  { "lock:wait_begin" },
	  "the trace has no lock events; record with "
	  "--locks" },
	{ METRIC_LOCK_HELD,
	  { "lock:acquired" },
	  "the trace has no lock events; record with "
	  "--locks" },
	{ METRIC_ALLOCATED, { "mm_page_alloc" }, "kmem:mm_page_alloc was not recorded" },
	{ METRIC_RSS_GROWN, { "rss_stat" }, "kmem:rss_stat was not recorded" },
	{ METRIC_BLOCK_REQUESTS, { "block_rq_issue" }, "block_rq_issue was not recorded" },
};

static void find_missing(struct check_feed *feed, const struct printer *printer)
{
	memset(feed->missing, 0, sizeof(feed->missing));
	feed->has_kernel = trace_has(printer, "sched_switch");
	for (uint32_t i = 0; i < METRIC_KIND_COUNT && !feed->has_kernel; i++) {
		if (metric_row((enum metric_kind)i)->origin == FROM_TIMELINE)
			feed->missing[i] = "the trace has no events of the kernel's scheduler";
	}
	for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
		bool is_there = false;

		for (size_t j = 0; j < ARRAY_LEN(needs[i].events) && needs[i].events[j]; j++)
			is_there |= trace_has(printer, needs[i].events[j]);
		if (!is_there && !feed->missing[needs[i].kind])
			feed->missing[needs[i].kind] = needs[i].why;
	}
}

static const struct print_event *find_kind(const struct printer *printer, const char *name)
{
	const struct print_event *kind = NULL;

	while ((kind = printer_next(printer, kind)) && !has_name(kind, name))
		;
	return kind;
}

/* Older kernels do not say whose memory it is. */
static void find_rss(struct check_feed *feed)
{
	const struct print_event *kind = find_kind(feed->printer, "rss_stat");

	if (!kind)
		return;
	feed->rss_fields.space = print_event_field(kind, "mm_id");
	feed->rss_fields.is_own = print_event_field(kind, "curr");
	feed->rss_fields.counter = print_event_field(kind, "member");
	feed->rss_fields.bytes = print_event_field(kind, "size");
	if (feed->rss_fields.space && feed->rss_fields.is_own && feed->rss_fields.counter &&
	    feed->rss_fields.bytes)
		feed->rss = kind;
	else
		feed->missing[METRIC_RSS_GROWN] =
			"this kernel's kmem:rss_stat does not name the process";
}

/* What metrics want to know beside the event itself. */
static void find_tellers(struct check_feed *feed)
{
	bool wants_pages = false, wants_rss = false;

	for (uint32_t i = 0; i < feed->model->metric_count; i++) {
		enum metric_kind metric = feed->model->metrics[i].kind;

		if (metric_row(metric)->origin == FROM_LOCKS && !feed->locks)
			feed->locks = lock_decode_new(feed->printer);
		wants_pages |= metric == METRIC_ALLOCATED;
		wants_rss |= metric == METRIC_RSS_GROWN;
	}
	if (wants_pages)
		feed->page = find_kind(feed->printer, "mm_page_alloc");
	if (feed->page)
		feed->order = print_event_field(feed->page, "order");
	if (wants_rss)
		find_rss(feed);
}

/* --------------------------------------------------------------------- made */

static int open_printer(struct trace *trace, struct printer **out_printer, struct err *err)
{
	struct trace_meaning meaning;
	struct print_setup setup;

	if (!trace_meaning(trace, &meaning))
		return err_set(err, -ENOTSUP, "the events of this trace have no fields to check");
	setup = (struct print_setup){
		.formats = meaning.formats,
		.facts = trace_facts(trace),
		.big_endian = meaning.big_endian,
		.long_bytes = meaning.long_bytes,
	};
	*out_printer = printer_new(&setup);
	return 0;
}

static int open_context(struct check_feed *feed, struct err *err)
{
	int rc = open_printer(feed->trace, &feed->printer, err);
	struct trace_meaning meaning;

	if (rc < 0)
		return rc;
	if (trace_meaning(feed->trace, &meaning))
		feed->formats = meaning.formats;
	feed->context = (struct value_context){
		.printer = feed->printer,
		.facts = trace_facts(feed->trace),
		.memory = print_memory_new(feed->printer),
	};
	return 0;
}

int check_feed_new(struct trace *trace, const struct model *model, struct check_feed **out_feed,
		   struct model_errors *errors, struct err *err)
{
	struct check_feed *feed = xcalloc(1, sizeof(*feed));
	int rc;

	feed->trace = trace;
	feed->model = model;
	feed->filters = xcalloc(model->pattern_count + 1, sizeof(struct expr *));
	feed->fields = xcalloc(model->field_count + 1, sizeof(struct value_name *));
	feed->patterns = xcalloc(2 * (size_t)model->pattern_count + 1, sizeof(*feed->patterns));
	outbuf_to_memory(&feed->text);
	rc = open_context(feed, err);
	if (rc < 0)
		goto fail;
	feed->kind_count = value_kind_count(feed->printer);
	feed->kinds = xcalloc(feed->kind_count + 1, sizeof(*feed->kinds));
	feed->places = xcalloc(feed->kind_count + 1, sizeof(struct place *));
	for (uint32_t i = 0; i < model->pattern_count; i++) {
		bind_pattern(feed, i);
		bind_filter(feed, i, errors);
	}
	for (uint32_t i = 0; i < model->field_count; i++)
		bind_field(feed, i);
	for (uint32_t i = 0; i < model->pattern_count; i++)
		bind_key(feed, i, errors);
	find_missing(feed, feed->printer);
	find_tellers(feed);
	rc = errors->count ? -EINVAL : 0;
	if (rc < 0)
		goto fail;
	*out_feed = feed;
	return 0;

fail:
	check_feed_free(feed);
	return rc;
}

int check_feed_use_kernel(struct check_feed *feed, struct trace *kernel, struct err *err)
{
	struct printer *printer;
	int rc = open_printer(kernel, &printer, err);

	if (rc < 0)
		return rc;
	find_missing(feed, printer);
	printer_free(printer);
	for (uint32_t i = 0; i < METRIC_KIND_COUNT; i++) {
		uint8_t origin = metric_row((enum metric_kind)i)->origin;

		if (origin == FROM_EVENTS || origin == FROM_RSS)
			feed->missing[i] = "counting needs a trace with kernel events";
	}
	return 0;
}

void check_feed_free(struct check_feed *feed)
{
	if (!feed)
		return;
	for (uint32_t i = 0; i < feed->model->pattern_count; i++)
		expr_free(feed->filters[i]);
	for (uint32_t i = 0; i < feed->model->field_count; i++)
		value_name_free(feed->fields[i]);
	for (uint32_t i = 0; i < feed->kind_count; i++) {
		free(feed->kinds[i].patterns);
		free(feed->places[i]);
	}
	for (size_t i = 0; i < feed->note_count; i++)
		free(feed->notes[i]);
	free(feed->patterns);
	free(feed->calls[0].patterns);
	free(feed->calls[1].patterns);
	free(feed->filters);
	free(feed->fields);
	free(feed->places);
	free(feed->kinds);
	free(feed->notes);
	free(feed->holes);
	lock_decode_free(feed->locks);
	outbuf_fini(&feed->text);
	comms_free(feed->comms);
	print_memory_free(feed->context.memory);
	printer_free(feed->printer);
	free(feed);
}

/* -------------------------------------------------------------------- asked */

static bool passes(void *context, uint32_t pattern)
{
	struct check_feed *feed = context;

	return feed->filters[pattern] && expr_match(feed->filters[pattern], &feed->line);
}

static const struct value_place *feed_field_place(struct check_feed *feed, uint32_t field)
{
	uint32_t kind = value_kind_index(feed->printer, feed->line.kind);
	struct place *place;

	if (kind >= feed->kind_count)
		return NULL;
	if (!feed->places[kind])
		feed->places[kind] = xcalloc(feed->model->field_count, sizeof(struct place));
	place = &feed->places[kind][field];
	if (!place->is_known) {
		place->is_known = true;
		place->place = value_place(feed->fields[field], feed->line.kind);
	}
	return &place->place;
}

static bool read_field(void *context, uint32_t field, struct check_field *out_field)
{
	struct check_feed *feed = context;
	const struct value_place *place;

	if (!feed->fields[field])
		return false;
	place = feed_field_place(feed, field);
	if (!place || place->kind == VALUE_NONE)
		return false;
	*out_field = (struct check_field){ .is_text = place->kind != VALUE_NUMBER };
	if (!out_field->is_text) {
		uint64_t number = value_number(&feed->context, place, &feed->line);

		out_field->number = place->is_signed ? (long double)(int64_t)number : number;
		return true;
	}
	outbuf_reset(&feed->text);
	value_text(&feed->context, place, &feed->line, false, &feed->text);
	out_field->text = feed->text.start;
	out_field->bytes = outbuf_bytes(&feed->text);
	return true;
}

struct check_reader check_feed_reader(struct check_feed *feed)
{
	return (struct check_reader){ .context = feed, .passes = passes, .field = read_field };
}

const char *const *check_feed_missing(const struct check_feed *feed)
{
	return feed->missing;
}

bool check_feed_has_kernel(const struct check_feed *feed)
{
	return feed->has_kernel;
}

size_t check_feed_holes(const struct check_feed *feed, const struct check_hole **out_holes)
{
	*out_holes = feed->holes;
	return feed->hole_count;
}

size_t check_feed_notes(const struct check_feed *feed, const char *const **out_notes)
{
	*out_notes = (const char *const *)feed->notes;
	return feed->note_count;
}

/* ---------------------------------------------------------------------- run */

/* Of the patterns for system calls, those that are about this one, behind 'count' others. */
static uint32_t add_calls(const struct check_feed *feed, const struct event *event,
			  uint32_t *patterns, uint32_t count)
{
	const struct wanted *wanted = &feed->calls[event->type == EV_SYS_EXIT];
	const char *name;

	if (!wanted->count)
		return count;
	name = facts_syscall(feed->context.facts, event->syscall.nr, event->syscall.compat);
	for (uint32_t i = 0; name && i < wanted->count; i++) {
		if (strcmp(feed->model->patterns[wanted->patterns[i]].name, name) == 0)
			patterns[count++] = wanted->patterns[i];
	}
	return count;
}

static int pattern_by_number(const void *a, const void *b)
{
	const uint32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* The patterns of the event, in the order of the model. */
static uint32_t patterns_of(struct check_feed *feed, const struct event *event, uint32_t *patterns)
{
	uint32_t index = value_kind_index(feed->printer, feed->line.kind), count = 0, named;

	if (index < feed->kind_count && feed->kinds[index].count) {
		count = feed->kinds[index].count;
		memcpy(patterns, feed->kinds[index].patterns, count * sizeof(*patterns));
	}
	named = count;
	if (event->type == EV_SYS_ENTER || event->type == EV_SYS_EXIT)
		count = add_calls(feed, event, patterns, count);
	if (named && count > named)
		qsort(patterns, count, sizeof(*patterns), pattern_by_number);
	return count;
}

static void note_hole(struct check_feed *feed, const struct event *event)
{
	feed->holes =
		vec_room(feed->holes, feed->hole_count, &feed->hole_cap, sizeof(*feed->holes));
	feed->holes[feed->hole_count++] =
		(struct check_hole){ .since_ns = event->lost.since_ns < event->time_ns
							 ? event->lost.since_ns
							 : event->time_ns,
				     .until_ns = event->time_ns,
				     .is_user = event->context & EV_CTX_USER };
}

static void tell_rss(struct check_feed *feed, struct check *check)
{
	const struct trace_record *record = &feed->line.record;
	struct check_resident resident = {
		.space =
			(uint32_t)print_field_number(feed->printer, feed->rss_fields.space, record),
		.is_own = print_field_number(feed->printer, feed->rss_fields.is_own, record),
		.counter = (uint32_t)print_field_number(feed->printer, feed->rss_fields.counter,
							record),
		.bytes = print_field_number(feed->printer, feed->rss_fields.bytes, record),
	};

	check_tell_resident(check, feed->line.event, &resident);
}

/* What the engine does not see in the event itself. */
static void feed_tell(struct check_feed *feed, struct check *check)
{
	const struct value_line *line = &feed->line;
	struct event lock;
	uint64_t order;

	if (feed->locks && lock_decode(feed->locks, line, &lock))
		check_tell_lock(check, &lock);
	if (feed->rss && line->kind == feed->rss && line->record.data)
		tell_rss(feed, check);
	if (!feed->page || line->kind != feed->page || !feed->order || !line->record.data)
		return;
	order = print_field_number(feed->printer, feed->order, &line->record);
	if (order < 32)
		check_tell_memory(check, line->event, PAGE_BYTES << order);
}

void check_feed_event(struct check_feed *feed, struct check *check, const struct event *event)
{
	static const char nobody[COMMS_BYTES];
	struct value_line *line = &feed->line;

	line->comm = nobody;
	line->event = event;
	if (event->type == EV_LOST)
		note_hole(feed, event);
	if (!trace_record(feed->trace, &line->record))
		line->record = (struct trace_record){ 0 };
	else if (line->record.bytes > RECORD_BYTES)
		line->record.bytes = RECORD_BYTES;
	line->kind = value_kind_of(feed->printer, event, &line->record);
	if (feed->comms) {
		memcpy(feed->comm, comms_find(feed->comms, event->tid), COMMS_BYTES);
		line->comm = feed->comm;
	}
	if (feed->locks || feed->page || feed->rss)
		feed_tell(feed, check);
	check_feed(check, event, feed->patterns, patterns_of(feed, event, feed->patterns));
	if (feed->comms)
		comms_feed(feed->comms, event);
}

static bool same_formats(const struct formats *a, const struct formats *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (a->sections[i].bytes != b->sections[i].bytes ||
		    memcmp(a->sections[i].text, b->sections[i].text, a->sections[i].bytes) != 0)
			return false;
	}
	return true;
}

bool check_feed_use_trace(struct check_feed *feed, struct trace *trace)
{
	struct trace_meaning meaning;

	if (!trace_meaning(trace, &meaning) || !same_formats(feed->formats, meaning.formats))
		return false;
	feed->trace = trace;
	return true;
}

void check_feed_take_over(struct check_feed *feed, struct check_feed *before)
{
	if (!feed->comms || !before->comms)
		return;
	comms_free(feed->comms);
	feed->comms = before->comms;
	before->comms = NULL;
}

int check_feed_run(struct check_feed *feed, struct check *check, struct err *err)
{
	struct source *source = trace_source(feed->trace);
	const struct event *event;
	uint64_t last_ns = 0;
	int rc;

	feed->hole_count = 0;
	if (feed->comms) {
		comms_free(feed->comms);
		feed->comms = comms_new(feed->context.facts);
	}
	trace_keep_records(feed->trace, true);
	rc = source_seek(source, 0, err);
	if (rc < 0)
		return rc;
	while ((rc = source_next(source, &event, err)) > 0) {
		last_ns = event->time_ns;
		check_feed_event(feed, check, event);
	}
	if (rc < 0)
		return rc;
	if (trace_facts(feed->trace)->last_ns > last_ns)
		last_ns = trace_facts(feed->trace)->last_ns;
	check_end(check, last_ns);
	return 0;
}
