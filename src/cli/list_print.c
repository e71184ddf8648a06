/*
 * list_print.c - the columns of a line.
 *
 *	#     time s      delta us cpu  lat.  thread                 event: text
 *	13391.488061191     +1.234 000 d..2.  ls[5980]               sched:sched_switch: ...
 */
#include "cli/list_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "cli/list_stack.h"
#include "event/comms.h"
#include "event/event.h"
#include "fields/print.h"
#include "fields/value.h"

#define SECOND_COLUMNS 6
#define DELTA_COLUMNS  10
#define THREAD_COLUMNS 24
#define MAX_NAMES      64u
#define THREADS	       256u /* whose columns are kept, a power of two */

/* The column of a thread, as it was made for the last line. */
struct thread_text {
	int32_t tid;
	uint32_t bytes;
	char comm[COMMS_BYTES];
	char text[104]; /* a name with each byte escaped */
};

struct list_scratch {
	struct value_context context;
	uint64_t second_begin_ns; /* the second that 'second' is the text of */
	uint32_t second_bytes;
	char second[32];
	struct thread_text threads[THREADS];
};

struct list_print {
	struct list_print_opts opts;
	struct value_name **names; /* owned; the columns asked for */
	size_t name_count;
};

void list_names_free(struct value_name **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		value_name_free(names[i]);
	free(names);
}

int list_names(const struct value_context *context, const char *text,
	       struct value_name ***out_names, size_t *out_count, struct err *err)
{
	struct value_name **names = xcalloc(MAX_NAMES, sizeof(struct value_name *));
	AUTO_FREE char *copy = xstrdup(text);
	char *rest = copy, *part;
	size_t count = 0;
	int rc = 0;

	while (rc == 0 && (part = strsep(&rest, ","))) {
		if (count == MAX_NAMES)
			rc = err_set(err, -EINVAL, "more than %u fields", MAX_NAMES);
		else
			rc = value_name_new(context, part, &names[count], err);
		count += rc == 0;
	}
	if (rc < 0) {
		list_names_free(names, count);
		return rc;
	}
	*out_names = names;
	*out_count = count;
	return 0;
}

int list_print_new(const struct value_context *context, const struct list_print_opts *opts,
		   struct list_print **out_print, struct err *err)
{
	struct list_print *print = xcalloc(1, sizeof(*print));
	int rc = 0;

	print->opts = *opts;
	if (opts->fields)
		rc = list_names(context, opts->fields, &print->names, &print->name_count, err);
	if (rc < 0) {
		free(print);
		return err_wrap(err, "reading --fields");
	}
	*out_print = print;
	return 0;
}

void list_print_free(struct list_print *print)
{
	if (!print)
		return;
	list_names_free(print->names, print->name_count);
	free(print);
}

void list_print_head(const struct list_print *print, struct outbuf *out)
{
	if (print->opts.json || print->opts.fields)
		return;
	outbuf_string(out, "#      time s      delta us  cpu  lat.  thread                   ");
	if (print->opts.place)
		outbuf_string(out, "place           ");
	outbuf_string(out, "event: text");
	outbuf_string(out, print->opts.state ? " | state\n" : "\n");
}

struct list_scratch *list_scratch_new(const struct value_context *context)
{
	struct list_scratch *scratch = xcalloc(1, sizeof(*scratch));

	scratch->context = *context;
	scratch->context.memory = print_memory_new(context->printer);
	scratch->second_begin_ns = (uint64_t)1 << 63; /* no time is in its second */
	for (size_t i = 0; i < THREADS; i++)
		scratch->threads[i].tid = INT32_MIN;
	return scratch;
}

void list_scratch_free(struct list_scratch *scratch)
{
	if (!scratch)
		return;
	print_memory_free(scratch->context.memory);
	free(scratch);
}

/* ------------------------------------------------------- the usual columns */

static void new_second(struct list_scratch *scratch, uint64_t ns)
{
	uint64_t second = ns / 1000000000;
	char *to = scratch->second;

	for (int i = digits_count(second); i < SECOND_COLUMNS; i++)
		*to++ = ' ';
	to = digits_u64(to, second);
	*to++ = '.';
	scratch->second_bytes = (uint32_t)(to - scratch->second);
	scratch->second_begin_ns = second * 1000000000;
}

static inline char *put_time(struct list_scratch *scratch, char *to, uint64_t ns)
{
	if (__builtin_expect(ns - scratch->second_begin_ns >= 1000000000, 0))
		new_second(scratch, ns);
	memcpy(to, scratch->second, sizeof(scratch->second));
	return digits_nine(to + scratch->second_bytes, (uint32_t)(ns - scratch->second_begin_ns));
}

/* "+1.234": us, with its sign next to it. */
static inline char *put_delta(char *to, uint64_t ns)
{
	uint64_t us = ns / 1000;
	int blanks = DELTA_COLUMNS - 1 - digits_count(us);

	memset(to, ' ', 16);
	to += blanks > 0 ? blanks : 0;
	*to = '+';
	to = digits_u64(to + 1, us);
	*to = '.';
	return digits_three(to + 1, (uint32_t)(ns - us * 1000));
}

/* "ls[5980]" and blanks. */
static void new_thread(struct thread_text *thread, const struct value_line *line)
{
	struct outbuf made;
	size_t bytes;

	outbuf_to_memory(&made);
	outbuf_foreign(&made, line->comm, COMMS_BYTES);
	outbuf_room(&made);
	*made.at++ = '[';
	made.at = digits_i64(made.at, line->event->tid);
	*made.at++ = ']';
	outbuf_blanks(&made, THREAD_COLUMNS - (int64_t)outbuf_bytes(&made));
	outbuf_char(&made, ' ');
	bytes = outbuf_bytes(&made);
	thread->tid = line->event->tid;
	memcpy(thread->comm, line->comm, COMMS_BYTES);
	thread->bytes = (uint32_t)(bytes < sizeof(thread->text) ? bytes : sizeof(thread->text));
	memcpy(thread->text, made.start, thread->bytes);
	outbuf_fini(&made);
}

static inline char *list_put_thread(struct list_scratch *scratch, const struct value_line *line,
				    char *to)
{
	struct thread_text *thread = &scratch->threads[(uint32_t)line->event->tid % THREADS];

	if (line->event->tid < 0) { /* a thread is not known */
		memset(to, ' ', THREAD_COLUMNS + 1);
		to[0] = '-';
		return to + THREAD_COLUMNS + 1;
	}
	if (__builtin_expect(thread->tid != line->event->tid ||
				     memcmp(thread->comm, line->comm, COMMS_BYTES) != 0,
			     0))
		new_thread(thread, line);
	memcpy(to, thread->text, THREAD_COLUMNS + 8);
	if (__builtin_expect(thread->bytes > THREAD_COLUMNS + 8, 0))
		memcpy(to, thread->text, sizeof(thread->text));
	return to + thread->bytes;
}

static void put_place(const struct value_line *line, struct outbuf *out)
{
	size_t before = outbuf_bytes(out);

	value_put_place(line, out);
	outbuf_blanks(out, 16 - (int64_t)(outbuf_bytes(out) - before));
}

/* "[NAME] ": the event is from another tracing instance. */
static void put_origin(const struct value_line *line, struct outbuf *out)
{
	outbuf_char(out, '[');
	outbuf_foreign(out, line->record.origin, strlen(line->record.origin));
	outbuf_string(out, "] ");
	outbuf_room(out);
}

static void put_usual(const struct list_print *print, struct list_scratch *scratch,
		      const struct value_line *line, struct outbuf *out)
{
	const struct print_event *kind = line->kind;
	char *to;

	outbuf_room(out);
	to = put_time(scratch, out->at, line->event->time_ns);
	to = put_delta(to, line->delta_ns);
	to[0] = to[1] = ' ';
	to = digits_three(to + 2, line->event->cpu % 1000u);
	to[0] = to[1] = ' ';
	print_flags(scratch->context.printer, kind, &line->record, to + 2);
	to[7] = ' ';
	out->at = list_put_thread(scratch, line, to + 8);
	if (print->opts.place)
		put_place(line, out);
	if (line->record.origin)
		put_origin(line, out);
	if (kind->title_bytes <= 64) {
		memcpy(out->at, kind->title, 64);
		out->at += kind->title_bytes;
	} else {
		outbuf_put(out, kind->title, kind->title_bytes);
		outbuf_room(out);
	}
	memcpy(out->at, ": ", 2);
	out->at += 2;
	value_put_event_text(&scratch->context, line, out);
	if (print->opts.state) {
		outbuf_string(out, " | ");
		outbuf_string(out, line->state);
	}
	outbuf_char(out, '\n');
	list_stack_put(print->opts.stacks, list_stack_of(print->opts.stacks, line->event), out);
}

/* -------------------------------------------------------- the columns asked for */

static const int widths[] = {
	[COLUMN_TIME] = 16,	[COLUMN_SINCE] = 16,  [COLUMN_WALL] = 29,   [COLUMN_DELTA] = 13,
	[COLUMN_CPU] = 3,	[COLUMN_TID] = 7,     [COLUMN_LATENCY] = 5, [COLUMN_COMM] = 16,
	[COLUMN_EVENT] = 26,	[COLUMN_NAME] = 20,   [COLUMN_SYSTEM] = 12, [COLUMN_PLACE] = 14,
	[COLUMN_SYSCALL] = 16,	[COLUMN_STATE] = 24,  [COLUMN_TEXT] = 0,    [COLUMN_FIELD] = 0,
	[COLUMN_INSTANCE] = 12, [COLUMN_THREAD] = 24,
};

static bool is_right(enum value_column column)
{
	return column == COLUMN_TIME || column == COLUMN_SINCE || column == COLUMN_DELTA ||
	       column == COLUMN_CPU || column == COLUMN_TID;
}

/* A column in its width, the last one as it is. */
static void put_padded(const struct value_context *context, const struct value_place *place,
		       const struct value_line *line, bool is_last, struct outbuf *out)
{
	struct outbuf made;
	int64_t left;

	outbuf_to_memory(&made);
	value_text(context, place, line, false, &made);
	if (outbuf_bytes(&made) == 0)
		outbuf_char(&made, '-');
	left = widths[place->column] - (int64_t)outbuf_bytes(&made);
	if (is_right(place->column))
		outbuf_blanks(out, left);
	outbuf_put(out, made.start, outbuf_bytes(&made));
	if (!is_right(place->column) && !is_last)
		outbuf_blanks(out, left);
	outbuf_fini(&made);
}

static void put_chosen(const struct list_print *print, const struct value_context *context,
		       const struct value_line *line, struct outbuf *out)
{
	bool any = false;

	for (size_t i = 0; i < print->name_count; i++) {
		const struct value_name *name = print->names[i];
		struct value_place place = value_place(name, line->kind);
		bool is_column = value_name_column(name) != COLUMN_FIELD;

		if (place.kind == VALUE_NONE && !is_column)
			continue; /* not of this event */
		outbuf_string(out, any ? "  " : "");
		any = true;
		if (place.column != COLUMN_FIELD && is_column) {
			put_padded(context, &place, line, i + 1 == print->name_count, out);
			continue;
		}
		outbuf_string(out, value_name_text(name));
		outbuf_char(out, '=');
		value_text(context, &place, line, value_has_words(&place, line->kind), out);
	}
	outbuf_char(out, '\n');
}

/* ----------------------------------------------------------------------- JSON */

/* Keys are names of fields and our own: nothing in them needs an escape. */
static void put_key(struct outbuf *out, const char *key, bool *any)
{
	size_t bytes = strlen(key);

	if (bytes > 1000) {
		outbuf_string(out, *any ? "," : "");
		outbuf_json(out, key, bytes);
		outbuf_char(out, ':');
		*any = true;
		return;
	}
	outbuf_room(out);
	if (*any)
		*out->at++ = ',';
	*any = true;
	*out->at++ = '"';
	memcpy(out->at, key, bytes);
	memcpy(out->at + bytes, "\":", 2);
	out->at += bytes + 2;
}

static void put_pair_u64(struct outbuf *out, const char *key, uint64_t value, bool *any)
{
	put_key(out, key, any);
	outbuf_room(out);
	out->at = digits_u64(out->at, value);
}

static void put_own_fields(const struct value_line *line, struct outbuf *out, bool *any)
{
	const struct event *event = line->event;

	if (event->type == EV_LOST) {
		put_pair_u64(out, "since_ns", event->lost.since_ns, any);
		put_key(out, "lost", any);
		outbuf_room(out);
		if (event->lost.count)
			out->at = digits_u64(out->at, event->lost.count);
		else
			outbuf_string(out, "null");
		if (event->lost.is_step)
			put_pair_u64(out, "step", event->lost.step, any);
		if (event->lost.packets)
			put_pair_u64(out, "packets", event->lost.packets, any);
	} else if (event->type == EV_FD_NAME) {
		const struct ev_fd_name *name = &event->fd_name;

		put_pair_u64(out, "pid", (uint64_t)name->tgid, any);
		put_pair_u64(out, "tid", (uint64_t)name->tid, any);
		if (name->watch == FD_LOCK) {
			put_pair_u64(out, "owner", (uint64_t)fd_owner(name->fd), any);
			put_pair_u64(out, "address", name->inode, any);
			put_key(out, "lock", any);
			outbuf_json(out, name->name, strcspn(name->name, "\t"));
			return;
		}
		put_pair_u64(out, "fd", (uint64_t)name->fd, any);
		put_pair_u64(out, "inode", name->inode, any);
		put_key(out, "name", any);
		outbuf_json(out, name->name, strlen(name->name));
	}
}

static void list_print_put_fields(const struct value_context *context,
				  const struct value_line *line, struct outbuf *out)
{
	const struct print_event *kind = line->kind;
	bool any = false;

	outbuf_char(out, '{');
	put_own_fields(line, out, &any);
	for (uint32_t i = kind->common_count; i < kind->field_count; i++) {
		put_key(out, kind->fields[i].name, &any);
		print_field_json(context->printer, &kind->fields[i], &line->record, out);
	}
	outbuf_char(out, '}');
}

static void list_print_put_column(const struct value_context *context,
				  const struct value_line *line, enum value_column column,
				  const char *key, struct outbuf *out, bool *any)
{
	struct value_place place = value_column_place(column, line->kind);

	put_key(out, key, any);
	value_json(context, &place, line, out);
}

static void put_json(const struct list_print *print, const struct value_context *context,
		     const struct value_line *line, struct outbuf *out)
{
	bool any = false;

	outbuf_char(out, '{');
	list_print_put_column(context, line, COLUMN_TIME, "time_ns", out, &any);
	list_print_put_column(context, line, COLUMN_DELTA, "delta_ns", out, &any);
	list_print_put_column(context, line, COLUMN_CPU, "cpu", out, &any);
	list_print_put_column(context, line, COLUMN_TID, "tid", out, &any);
	list_print_put_column(context, line, COLUMN_COMM, "comm", out, &any);
	list_print_put_column(context, line, COLUMN_LATENCY, "latency", out, &any);
	list_print_put_column(context, line, COLUMN_PLACE, "place", out, &any);
	list_print_put_column(context, line, COLUMN_EVENT, "event", out, &any);
	put_key(out, "fields", &any);
	list_print_put_fields(context, line, out);
	if (line->record.origin)
		list_print_put_column(context, line, COLUMN_INSTANCE, "instance", out, &any);
	if (print->opts.state)
		list_print_put_column(context, line, COLUMN_STATE, "state", out, &any);
	if (print->opts.stacks) {
		put_key(out, "stack", &any);
		list_stack_put_json(print->opts.stacks,
				    list_stack_of(print->opts.stacks, line->event), out);
	}
	outbuf_put(out, "}\n", 2);
}

static void put_json_chosen(const struct list_print *print, const struct value_context *context,
			    const struct value_line *line, struct outbuf *out)
{
	bool any = false;

	outbuf_char(out, '{');
	for (size_t i = 0; i < print->name_count; i++) {
		struct value_place place = value_place(print->names[i], line->kind);
		AUTO_FREE char *key = xasprintf("%s%s", value_name_text(print->names[i]),
						place.is_time ? "_ns" : "");

		put_key(out, key, &any);
		value_json(context, &place, line, out);
	}
	outbuf_put(out, "}\n", 2);
}

void list_print_line(const struct list_print *print, struct list_scratch *scratch,
		     const struct value_line *line, struct outbuf *out)
{
	const struct value_context *context = &scratch->context;

	if (print->opts.json)
		(print->opts.fields ? put_json_chosen : put_json)(print, context, line, out);
	else if (print->opts.fields)
		put_chosen(print, context, line, out);
	else
		put_usual(print, scratch, line, out);
}
