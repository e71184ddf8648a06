/* find.c - events one by one, against the expression. */
#include "fields/find.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/comms.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fields/expr.h"
#include "fields/print.h"
#include "fields/value.h"
#include "read/read.h"

struct search {
	struct trace *trace;
	struct printer *printer; /* owned */
	struct value_context context;
	struct expr *expr;   /* owned */
	struct comms *comms; /* owned; NULL = names of threads are not asked for */
	char comm[COMMS_BYTES];
};

static int search_init(struct search *search, struct trace *trace, const char *expression,
		       struct err *err)
{
	struct trace_meaning meaning;
	int rc;

	*search = (struct search){ .trace = trace, .comm = "<...>" };
	if (!trace_meaning(trace, &meaning))
		return err_set(err, -ENOTSUP, "the events of this trace have no fields");
	search->printer = printer_new(&(struct print_setup){
		.formats = meaning.formats,
		.facts = trace_facts(trace),
		.big_endian = meaning.big_endian,
		.long_bytes = meaning.long_bytes,
	});
	search->context = (struct value_context){
		.printer = search->printer,
		.facts = trace_facts(trace),
		.memory = print_memory_new(search->printer),
	};
	rc = expr_new(expression, &search->context, &search->expr, err);
	if (rc < 0)
		return rc;
	if (expr_uses(search->expr, COLUMN_COMM))
		search->comms = comms_new(trace_facts(trace));
	return 0;
}

static void search_fini(struct search *search)
{
	comms_free(search->comms);
	expr_free(search->expr);
	print_memory_free(search->context.memory);
	printer_free(search->printer);
}

static bool is_match(struct search *search, const struct event *event)
{
	struct value_line line = { .event = event, .comm = search->comm };
	bool match;

	(void)trace_record(search->trace, &line.record);
	line.kind = value_kind_of(search->printer, event, &line.record);
	if (search->comms)
		memcpy(search->comm, comms_find(search->comms, event->tid), COMMS_BYTES);
	match = expr_match(search->expr, &line);
	if (search->comms)
		comms_feed(search->comms, event);
	return match;
}

/* Whose event it is; -1 where it is an interrupt's, or nobody knows. */
static int32_t event_thread(const struct event *event)
{
	bool known = (event->context & EV_CTX_KNOWN) != 0;
	bool foreign = known && event->context & (EV_CTX_HARDIRQ | EV_CTX_SOFTIRQ);

	return foreign ? -1 : event->tid;
}

static bool find_is_of(const struct trace_find *find, const struct event *event)
{
	int32_t tid = event_thread(event);

	for (size_t i = 0; i < find->thread_count; i++) {
		const struct trace_thread *thread = &find->threads[i];

		if (thread->tid == tid && event->time_ns >= thread->from_ns &&
		    event->time_ns <= thread->to_ns)
			return true;
	}
	return find->thread_count == 0;
}

/* Names of threads are learnt from the beginning on. */
static int search_run(struct search *search, const struct trace_find *find,
		      struct trace_found *out_found, struct err *err)
{
	struct source *source = trace_source(search->trace);
	const struct event *event;
	int rc = source_seek(source, search->comms ? 0 : find->from_ns, err), found = 0;

	while (rc >= 0 && !(found && !find->last) && (rc = source_next(source, &event, err)) > 0) {
		if (!is_match(search, event) || event->time_ns < find->from_ns ||
		    !find_is_of(find, event))
			continue;
		*out_found = (struct trace_found){ event->time_ns, event_thread(event) };
		found = 1;
	}
	return rc < 0 ? rc : found;
}

int trace_find_of(struct trace *trace, const struct trace_find *find, struct trace_found *out_found,
		  struct err *err)
{
	struct search search;
	int rc = search_init(&search, trace, find->expression, err), sought;

	if (rc == 0) {
		bool kept = trace_keeps_records(trace);

		trace_keep_records(trace, true);
		rc = search_run(&search, find, out_found, err);
		trace_keep_records(trace, kept);
		sought = source_seek(trace_source(trace), 0, rc < 0 ? NULL : err);
		rc = rc < 0 ? rc : sought < 0 ? sought : rc;
	}
	search_fini(&search);
	return rc;
}

int trace_find_event(struct trace *trace, const char *expression, bool last, uint64_t from_ns,
		     uint64_t *out_ns, struct err *err)
{
	const struct trace_find find = { expression, last, from_ns, NULL, 0 };
	struct trace_found found;
	int rc = trace_find_of(trace, &find, &found, err);

	if (rc > 0)
		*out_ns = found.time_ns;
	return rc;
}
