/* learn_feed.c - which events are learned from, and whose they are. */
#include "ask/learn_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/check/learn.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "base/text.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fields/expr.h"
#include "fields/print.h"
#include "read/read.h"
#include "fields/value.h"
#include "timeline/timeline.h"

#define SYSCALL	 "syscall:"
#define CALLS	 1024
#define NOT_YET	 0u /* in symbols[]: not looked up */
#define UNWANTED 1u
#define FIRST	 2u /* symbol + FIRST */

struct feed {
	const struct learn_wants *wants;
	struct learn *learn;
	struct trace *trace;
	const struct timeline *timeline;
	struct printer *printer; /* owned */
	struct value_context context;
	struct value_name *field; /* owned; NULL = the key is none */
	uint32_t *symbols;	  /* owned; by number of the kind */
	uint32_t kind_count;
	uint32_t calls[CALLS]; /* the same for system calls */
	struct value_line line;
	struct outbuf text;
	bool is_own;	 /* all events are of programs themselves */
	bool has_kernel; /* some of the events are the kernel's: holes in those matter */
	bool is_full;
};

/* ------------------------------------------------------------------- wanted */

static bool is_probe(const struct print_event *kind)
{
	return print_event_field(kind, "__probe_ip") || print_event_field(kind, "__probe_func");
}

static bool learn_is_wanted(const struct feed *feed, const struct print_event *kind,
			    const struct event *event)
{
	const struct learn_wants *wants = feed->wants;

	if (!wants->event_count)
		return is_probe(kind) ||
		       (event->type == EV_OTHER && (feed->is_own || event->context & EV_CTX_USER));
	for (size_t i = 0; i < wants->event_count; i++) {
		if (text_glob(wants->events[i], kind->title, strlen(kind->title)) ||
		    text_glob(wants->events[i], kind->name, strlen(kind->name)))
			return true;
	}
	return false;
}

static uint32_t symbol_of(struct feed *feed, const char *name, enum learn_take take)
{
	uint32_t symbol = learn_symbol(feed->learn, name, take);

	feed->is_full |= symbol == LEARN_NONE;
	return symbol == LEARN_NONE ? UNWANTED : symbol + FIRST;
}

/* "syscall:open*" */
static uint32_t call_symbol(struct feed *feed, const struct event *event)
{
	const struct learn_wants *wants = feed->wants;
	const char *name =
		facts_syscall(feed->context.facts, event->syscall.nr, event->syscall.compat);

	for (size_t i = 0; name && i < wants->event_count; i++) {
		if (strncmp(wants->events[i], SYSCALL, strlen(SYSCALL)) == 0 &&
		    text_glob(wants->events[i] + strlen(SYSCALL), name, strlen(name)))
			return symbol_of(feed, name, LEARN_SYSCALL);
	}
	return UNWANTED;
}

/* The symbol of the event at hand, or LEARN_NONE. */
static uint32_t find_symbol(struct feed *feed, const struct event *event)
{
	uint32_t index = value_kind_index(feed->printer, feed->line.kind), *place = NULL;

	if (event->type == EV_SYS_ENTER && event->syscall.nr >= 0 && event->syscall.nr < CALLS) {
		place = &feed->calls[event->syscall.nr];
		if (*place == NOT_YET)
			*place = call_symbol(feed, event);
		if (*place >= FIRST)
			return *place - FIRST;
	}
	if (index >= feed->kind_count)
		return LEARN_NONE;
	place = &feed->symbols[index];
	if (*place == NOT_YET)
		*place = learn_is_wanted(feed, feed->line.kind, event)
				 ? symbol_of(feed, feed->line.kind->title, LEARN_EVENT)
				 : UNWANTED;
	return *place >= FIRST ? *place - FIRST : LEARN_NONE;
}

/* ---------------------------------------------------------------------- key */

static bool field_key(struct feed *feed, uint64_t *out_key)
{
	struct value_place place = value_place(feed->field, feed->line.kind);

	if (place.kind == VALUE_NONE)
		return false;
	if (place.kind == VALUE_NUMBER) {
		*out_key = value_number(&feed->context, &place, &feed->line);
		return true;
	}
	outbuf_reset(&feed->text);
	value_text(&feed->context, &place, &feed->line, false, &feed->text);
	*out_key = hash_bytes(feed->text.start, outbuf_bytes(&feed->text), 1);
	return true;
}

static bool find_key(struct feed *feed, const struct event *event, uint64_t *out_key)
{
	const char *key = feed->wants->key;
	uint32_t slot;

	if (feed->field)
		return field_key(feed, out_key);
	*out_key = 0;
	if (strcmp(key, "all") == 0)
		return true;
	if (strcmp(key, "cpu") == 0) {
		*out_key = event->cpu;
		return true;
	}
	if (event->tid < 0)
		return false;
	*out_key = (uint64_t)event->tid;
	if (strcmp(key, "thread") == 0)
		return true;
	slot = feed->timeline ? timeline_find_thread(feed->timeline, event->tid, event->time_ns)
			      : SLOT_NONE;
	if (slot == SLOT_NONE)
		return false;
	*out_key = (uint64_t)feed->timeline->threads[slot]->tgid;
	return true;
}

/* ---------------------------------------------------------------------- run */

static bool is_word(const char *key)
{
	static const char *const words[] = { "thread", "process", "cpu", "all" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i], key) == 0)
			return true;
	}
	return false;
}

static bool has_scheduler(const struct printer *printer)
{
	const struct print_event *kind = NULL;

	while ((kind = printer_next(printer, kind))) {
		if (strcmp(kind->name, "sched_switch") == 0)
			return true;
	}
	return false;
}

static int open_feed(struct feed *feed, struct err *err)
{
	const char *key = feed->wants->key;
	struct trace_meaning meaning;

	if (!trace_meaning(feed->trace, &meaning))
		return err_set(err, -ENOTSUP, "the events of this trace have no names to learn");
	feed->printer = printer_new(&(struct print_setup){
		.formats = meaning.formats,
		.facts = trace_facts(feed->trace),
		.big_endian = meaning.big_endian,
		.long_bytes = meaning.long_bytes,
	});
	feed->context = (struct value_context){
		.printer = feed->printer,
		.facts = trace_facts(feed->trace),
		.memory = print_memory_new(feed->printer),
	};
	feed->kind_count = value_kind_count(feed->printer);
	feed->symbols = xcalloc(feed->kind_count + 1, sizeof(uint32_t));
	feed->is_own = !has_scheduler(feed->printer);
	if (is_word(key))
		return 0;
	key += strncmp(key, "field:", 6) == 0 ? 6 : 0;
	return value_name_new(&feed->context, key, &feed->field, err);
}

static void close_feed(struct feed *feed)
{
	value_name_free(feed->field);
	print_memory_free(feed->context.memory);
	printer_free(feed->printer);
	free(feed->symbols);
	outbuf_fini(&feed->text);
}

static void feed_event(struct feed *feed, const struct event *event)
{
	bool is_user = event->context & EV_CTX_USER;
	uint32_t symbol;
	uint64_t key;

	if (event->type == EV_LOST) {
		if (is_user || feed->has_kernel)
			learn_hole(feed->learn);
		return;
	}
	feed->line.event = event;
	if (!trace_record(feed->trace, &feed->line.record))
		feed->line.record = (struct trace_record){ 0 };
	feed->line.kind = value_kind_of(feed->printer, event, &feed->line.record);
	symbol = find_symbol(feed, event);
	if (symbol != LEARN_NONE && find_key(feed, event, &key)) {
		feed->has_kernel |= !is_user;
		learn_feed(feed->learn, key, symbol);
	}
	if (event->type == EV_SCHED_EXIT && strcmp(feed->wants->key, "thread") == 0)
		learn_end_key(feed->learn, (uint64_t)event->task.tid);
}

static int run_feed(struct feed *feed, struct err *err)
{
	struct source *source = trace_source(feed->trace);
	static const char nobody[64];
	const struct event *event;
	int rc;

	feed->line.comm = nobody;
	trace_keep_records(feed->trace, true);
	rc = source_seek(source, 0, err);
	if (rc < 0)
		return rc;
	while ((rc = source_next(source, &event, err)) > 0)
		feed_event(feed, event);
	if (rc < 0)
		return rc;
	learn_end_trace(feed->learn);
	if (feed->is_full)
		return err_set(err, -E2BIG,
			       "more than %u types of events; choose some with --from-events",
			       LEARN_MAX_SYMBOLS);
	return 0;
}

int learn_feed_trace(struct trace *trace, const struct timeline *timeline,
		     const struct learn_wants *wants, struct learn *learn, struct err *err)
{
	struct feed feed = { .wants = wants, .learn = learn, .trace = trace, .timeline = timeline };
	int rc;

	outbuf_to_memory(&feed.text);
	rc = open_feed(&feed, err);
	if (rc == 0)
		rc = run_feed(&feed, err);
	close_feed(&feed);
	return rc;
}
