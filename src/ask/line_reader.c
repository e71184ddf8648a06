/* line_reader.c - events, and what a line says of them beside their fields. */
#include "ask/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask/line_state.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/comms.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fields/expr.h"
#include "fields/print.h"
#include "read/read.h"

#define TIDS_MAX (1 << 22)
#define CPUS_MAX 8192u
/* Offsets and lengths in a record have 16 bits: what is behind this is never looked at. */
#define RECORD_BYTES 131072u
/* Read before the first line, to know the names of threads and what they are in. */
#define WARM_NS	      20000000u
#define WARM_STATE_NS 500000000u
/* Who has had its CPU for longer has no name then: so much more is read, up to a limit. */
#define WARMER	 8u
#define WARM_MAX 10240000000u /* WARM_NS * WARMER ^ 3 */

struct line_reader {
	struct trace *trace;	 /* owned */
	struct printer *printer; /* owned */
	struct value_context context;
	struct comms *comms;	  /* owned */
	struct expr *filter;	  /* owned; NULL = none */
	struct line_state *state; /* owned; NULL = not asked for */
	const struct line_choice *choice;
	uint8_t *followed; /* owned; a bit for each thread id; NULL = all */
	bool *cpus;	   /* owned; CPUS_MAX of them; NULL = all */
	bool shows_lost;   /* whatever the filter says */
	uint64_t from_ns, to_ns;
	uint64_t start_ns;    /* of the lines */
	uint64_t start_place; /* the first line is this record, at start_ns; UINT64_MAX = any */
	uint32_t start_cpu;
	uint64_t warm_ns;	/* read before start_ns */
	int32_t *warm_tids;	/* owned; by CPU, who had it last then; 0 = idle, or not known */
	struct comms *warm;	/* owned; the names that were told then */
	uint64_t warm_switches; /* seen then */
	bool is_warm;		/* that was read */
	uint64_t last_ns;	/* time of the line before; 0 = there was none */
	uint64_t looks_left;	/* events that may be looked at; UINT64_MAX = any number */
	uint64_t looked_ns;	/* at the last one that was */
	bool is_spent;
	struct event_run run;	/* events that were read */
	size_t run_at;		/* the next of these */
	char comm[COMMS_BYTES]; /* of the line that was handed out */
};

static bool is_followed(const struct line_reader *reader, int32_t tid)
{
	return tid >= 0 && tid < TIDS_MAX && (reader->followed[tid / 8] >> (tid % 8) & 1);
}

static void reader_follow(struct line_reader *reader, int32_t tid)
{
	if (tid >= 0 && tid < TIDS_MAX)
		reader->followed[tid / 8] |= (uint8_t)(1u << (tid % 8));
}

/* Is the event one of a followed thread, or about one? */
static bool is_about(const struct line_reader *reader, const struct event *event)
{
	if (is_followed(reader, event->tid))
		return true;
	switch (event->type) {
	case EV_SCHED_SWITCH:
		return is_followed(reader, event->sched_switch.prev_tid) ||
		       is_followed(reader, event->sched_switch.next_tid);
	case EV_SCHED_WAKING:
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		return is_followed(reader, event->wake.tid);
	case EV_SCHED_FORK:
	case EV_SCHED_EXEC:
	case EV_SCHED_EXIT:
	case EV_SCHED_PI_SETPRIO:
	case EV_TASK_NEW:
	case EV_TASK_RENAME:
		return is_followed(reader, event->task.tid);
	case EV_SCHED_MIGRATE:
		return is_followed(reader, event->migrate.tid);
	case EV_SCHED_STAT_RUNTIME:
		return is_followed(reader, event->runtime.tid);
	case EV_SCHED_BLOCKED_REASON:
		return is_followed(reader, event->blocked_reason.tid);
	case EV_SIGNAL_GENERATE:
		return is_followed(reader, event->signal.tid);
	case EV_FD_NAME:
		return is_followed(reader, event->fd_name.tid);
	default:
		return false;
	}
}

/* Children of followed threads are followed from their birth on. */
static void follow_children(struct line_reader *reader, const struct event *event)
{
	if (event->type == EV_SCHED_FORK && is_followed(reader, event->task.parent_tid))
		reader_follow(reader, event->task.tid);
	else if (event->type == EV_TASK_NEW && is_followed(reader, event->tid))
		reader_follow(reader, event->task.tid);
}

/* "0,2-5" */
static int parse_cpus(const char *text, bool **out_cpus, struct err *err)
{
	AUTO_FREE char *copy = xstrdup(text), *safe = text_escaped(text);
	bool *cpus = xcalloc(CPUS_MAX, sizeof(bool));
	char *rest = copy, *part;

	while ((part = strsep(&rest, ","))) {
		char *dash = strchr(part, '-');
		uint64_t first, last;

		if (dash)
			*dash = '\0';
		if (!text_parse_u64(part, &first) ||
		    !text_parse_u64(dash ? dash + 1 : part, &last) || first > last ||
		    last >= CPUS_MAX) {
			free(cpus);
			return err_set(err, -EINVAL,
				       "--cpu needs CPUs such as 0 or 0,2-5, got \"%s\"", safe);
		}
		for (uint64_t cpu = first; cpu <= last; cpu++)
			cpus[cpu] = true;
	}
	*out_cpus = cpus;
	return 0;
}

static int open_choice(struct line_reader *reader, struct err *err)
{
	const struct line_choice *choice = reader->choice;
	int rc = 0;

	if (choice->filter)
		rc = expr_new(choice->filter, &reader->context, &reader->filter, err);
	reader->shows_lost = !reader->filter || !expr_names(reader->filter, "lost_events");
	if (rc == 0 && choice->cpus)
		rc = parse_cpus(choice->cpus, &reader->cpus, err);
	if (choice->follow_count) {
		reader->followed = xcalloc(TIDS_MAX / 8, 1);
		for (size_t i = 0; i < choice->follow_count; i++)
			reader_follow(reader, choice->follow[i]);
	}
	return rc;
}

static int reader_open_trace(struct line_reader *reader, const char *path, struct err *err)
{
	struct trace_meaning meaning;
	struct print_setup setup;
	int rc = read_open(path, &reader->trace, err);

	if (rc < 0)
		return rc;
	if (!trace_meaning(reader->trace, &meaning))
		return err_set(err, -ENOTSUP, "the events of this trace have no fields to list");
	setup = (struct print_setup){
		.formats = meaning.formats,
		.facts = trace_facts(reader->trace),
		.big_endian = meaning.big_endian,
		.long_bytes = meaning.long_bytes,
	};
	reader->printer = printer_new(&setup);
	reader->context = (struct value_context){
		.printer = reader->printer,
		.facts = setup.facts,
		.memory = print_memory_new(reader->printer),
	};
	reader->comms = comms_new(setup.facts);
	if (reader->choice->code && setup.facts->stacks_of_others)
		reader->choice->code(reader->trace);
	trace_keep_records(reader->trace, true);
	return 0;
}

static int reader_find_window(struct line_reader *reader, struct err *err)
{
	const struct line_choice *choice = reader->choice;
	int rc = when_find(reader->trace, &choice->from, 0, 0, &reader->from_ns, err);

	if (rc < 0)
		return err_wrap(err, "searching for the first event (--from)");
	rc = when_find(reader->trace, &choice->to, reader->from_ns, UINT64_MAX, &reader->to_ns,
		       err);
	if (rc < 0)
		return err_wrap(err, "searching for the last event (--to)");
	if (reader->to_ns < reader->from_ns)
		return err_set(err, -EINVAL, "the list ends (--to) before it begins (--from)");
	return 0;
}

int line_reader_open(const char *path, const struct line_choice *choice,
		     struct line_reader **out_reader, struct err *err)
{
	struct line_reader *reader = xcalloc(1, sizeof(*reader));
	int rc;

	reader->choice = choice;
	reader->looks_left = UINT64_MAX;
	rc = reader_open_trace(reader, path, err);
	if (rc == 0)
		rc = open_choice(reader, err);
	if (rc == 0) {
		rc = reader_find_window(reader, err);
		rc = rc == -EINVAL ? -ENOENT : rc; /* of the trace, not of the command line */
	}
	if (rc == 0)
		rc = line_reader_seek(reader, reader->from_ns, err);
	if (rc < 0) {
		line_reader_close(reader);
		return rc;
	}
	*out_reader = reader;
	return 0;
}

void line_reader_close(struct line_reader *reader)
{
	if (!reader)
		return;
	line_state_free(reader->state);
	expr_free(reader->filter);
	comms_free(reader->comms);
	print_memory_free(reader->context.memory);
	printer_free(reader->printer);
	trace_close(reader->trace);
	free(reader->followed);
	free(reader->cpus);
	free(reader->warm_tids);
	comms_free(reader->warm);
	free(reader);
}

const struct value_context *line_reader_context(const struct line_reader *reader)
{
	return &reader->context;
}

const struct facts *line_reader_facts(const struct line_reader *reader)
{
	return reader->context.facts;
}

void line_reader_window(const struct line_reader *reader, uint64_t *out_from_ns,
			uint64_t *out_to_ns)
{
	const struct facts *facts = reader->context.facts;

	*out_from_ns = reader->from_ns > facts->first_ns ? reader->from_ns : facts->first_ns;
	*out_to_ns = reader->to_ns < facts->last_ns ? reader->to_ns : facts->last_ns;
}

/* To warm_ns before start_ns. */
static int seek_warm(struct line_reader *reader, struct err *err)
{
	uint64_t at_ns =
		reader->start_ns > reader->warm_ns ? reader->start_ns - reader->warm_ns : 0;
	int rc = source_seek(trace_source(reader->trace), at_ns, err);

	reader->run.count = reader->run_at = 0;
	reader->is_warm = false;
	reader->warm_switches = 0;
	comms_free(reader->warm);
	reader->warm = comms_new(&(struct facts){ 0 });
	free(reader->warm_tids);
	reader->warm_tids = xcalloc(CPUS_MAX, sizeof(*reader->warm_tids));
	if (rc == 0 && reader->choice->state) {
		line_state_free(reader->state);
		rc = line_state_new(reader->context.facts, &reader->state, err);
	}
	return rc;
}

int line_reader_seek(struct line_reader *reader, uint64_t from_ns, struct err *err)
{
	const struct when *from = &reader->choice->from;

	reader->start_ns = from_ns;
	reader->start_place = UINT64_MAX;
	if (from->kind == WHEN_PLACE && from_ns == reader->from_ns) {
		reader->start_place = from->ns;
		reader->start_cpu = from->cpu;
	}
	reader->last_ns = 0;
	reader->warm_ns = reader->choice->state ? WARM_STATE_NS : WARM_NS;
	return seek_warm(reader, err);
}

int line_reader_heads(struct line_reader *reader, struct err *err)
{
	if (reader->filter)
		return 0;
	trace_keep_heads(reader->trace);
	return line_reader_seek(reader, reader->from_ns, err);
}

static void warm_by(struct line_reader *reader, const struct event *event)
{
	bool is_switch = event->type == EV_SCHED_SWITCH;

	reader->warm_switches += is_switch;
	comms_feed(reader->warm, event);
	if (event->tid >= 0 && event->cpu < CPUS_MAX)
		reader->warm_tids[event->cpu] =
			is_switch ? event->sched_switch.next_tid : event->tid;
}

/* Whoever runs where the list begins was named as it came onto its CPU, maybe long before. */
static bool lacks_names(const struct line_reader *reader)
{
	bool can_learn = reader->warm_switches || reader->warm_ns <= WARM_STATE_NS;

	if (reader->warm_ns >= WARM_MAX || !can_learn ||
	    reader->start_ns <= reader->context.facts->first_ns + reader->warm_ns)
		return false;
	for (size_t i = 0; i < CPUS_MAX; i++) {
		if (reader->warm_tids[i] > 0 && !comms_knows(reader->warm, reader->warm_tids[i]))
			return true;
	}
	return false;
}

/* Does the list begin at this event or before it? */
static bool has_begun(struct line_reader *reader, const struct event *event,
		      const struct trace_record *record)
{
	if (event->time_ns < reader->start_ns)
		return false;
	if (reader->start_place == UINT64_MAX)
		return true;
	if (event->time_ns == reader->start_ns &&
	    !(event->cpu == reader->start_cpu && record && record->place == reader->start_place))
		return false;
	reader->start_place = UINT64_MAX;
	return true;
}

static bool reader_is_wanted(struct line_reader *reader, const struct value_line *line)
{
	const struct event *event = line->event;

	if (reader->cpus && (event->cpu >= CPUS_MAX || !reader->cpus[event->cpu]))
		return false;
	if (event->type == EV_LOST && reader->shows_lost)
		return true;
	if (reader->followed && !is_about(reader, event))
		return false;
	return !reader->filter || expr_match(reader->filter, line);
}

/* Make a line of the event, and learn from it. True when it is one of those wanted. */
static bool reader_take_event(struct line_reader *reader, const struct event *event,
			      struct value_line *out_line)
{
	const char *state = reader->state ? line_state_feed(reader->state, event) : NULL;
	const struct trace_record *record = trace_record_of(reader->trace, event);
	bool wanted = has_begun(reader, event, record);

	if (wanted) {
		out_line->event = event;
		out_line->record = record ? *record : (struct trace_record){ 0 };
		if (out_line->record.bytes > RECORD_BYTES)
			out_line->record.bytes = RECORD_BYTES;
		out_line->kind = value_kind_of(reader->printer, event, &out_line->record);
		/* A copy: what the event tells is learnt before the line is printed. */
		memcpy(reader->comm, comms_find(reader->comms, event->tid), COMMS_BYTES);
		out_line->comm = reader->comm;
		out_line->delta_ns = reader->last_ns ? event->time_ns - reader->last_ns : 0;
		out_line->state = state;
		wanted = reader_is_wanted(reader, out_line);
	}
	if (reader->followed && reader->choice->children)
		follow_children(reader, event);
	/* A thread's name is the one it had as the event was recorded. */
	comms_feed(reader->comms, event);
	return wanted;
}

void line_reader_limit(struct line_reader *reader, uint64_t count)
{
	reader->looks_left = count ? count : UINT64_MAX;
	reader->is_spent = false;
}

bool line_reader_is_spent(const struct line_reader *reader, uint64_t *out_ns)
{
	if (reader->is_spent)
		*out_ns = reader->looked_ns;
	return reader->is_spent;
}

/* May the event be looked at? Those before the first line are free. */
static bool may_look(struct line_reader *reader, const struct event *event)
{
	if (!reader->is_warm || reader->looks_left == UINT64_MAX)
		return true;
	if (reader->looks_left == 0 && event->time_ns != reader->looked_ns) {
		reader->looked_ns = event->time_ns;
		reader->is_spent = true;
		return false;
	}
	reader->looks_left -= reader->looks_left != 0;
	reader->looked_ns = event->time_ns;
	return true;
}

int line_reader_next(struct line_reader *reader, struct value_line *out_line, struct err *err)
{
	struct source *source = trace_source(reader->trace);
	int rc;

	for (;;) {
		const struct event *event;

		if (reader->run_at == reader->run.count) {
			reader->run.count = reader->run_at = 0;
			rc = source_next_run(source, &reader->run, err);
			if (rc <= 0)
				return rc;
		}
		event = reader->run.events[reader->run_at++];
		if (!reader->is_warm && event->time_ns >= reader->start_ns) {
			reader->is_warm = true;
			if (lacks_names(reader)) {
				reader->warm_ns *= WARMER;
				rc = seek_warm(reader, err);
				if (rc < 0)
					return rc;
				continue;
			}
		}
		if (event->time_ns > reader->to_ns || !may_look(reader, event))
			return 0;
		if (!reader->is_warm)
			warm_by(reader, event);
		if (reader_take_event(reader, event, out_line)) {
			reader->last_ns = event->time_ns;
			return 1;
		}
	}
}
