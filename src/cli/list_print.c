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
#include "event/comms.h"
#include "event/event.h"
#include "read/print.h"
#include "read/value.h"

#define THREAD_COLUMNS 24
#define MAX_NAMES      64u

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
	struct value_name **names = xcalloc(MAX_NAMES, sizeof(*names));
	AUTO_FREE char *copy = xstrdup(text);
	char *rest = copy, *part;
	size_t count = 0;
	int rc = 0;

	while (rc == 0 && (part = strsep(&rest, ","))) {
		if (count == MAX_NAMES)
			rc = err_set(err, -EINVAL, "these are more than %u fields", MAX_NAMES);
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

/* ------------------------------------------------------- the usual columns */

/* 'value' in decimal, right-aligned so that it ends at 'end'; blanks from 'to' on. */
static char *put_right(char *to, uint64_t value, int columns)
{
	char digits[DIGITS_MAX];
	int count = (int)(digits_u64(digits, value) - digits);

	for (; count < columns; columns--)
		*to++ = ' ';
	memcpy(to, digits, DIGITS_MAX);
	return to + count;
}

static char *put_time(char *to, uint64_t ns)
{
	to = put_right(to, ns / 1000000000, 6);
	*to = '.';
	return digits_fixed(to + 1, ns % 1000000000, 9);
}

/* "+1.234": us, with its sign next to it. */
static char *put_delta(char *to, uint64_t ns)
{
	uint64_t us = ns / 1000;
	int count = digits_count(us);

	for (int i = count; i < 9; i++)
		*to++ = ' ';
	*to++ = '+';
	to = digits_u64(to, us);
	*to = '.';
	return digits_fixed(to + 1, ns % 1000, 3);
}

static void put_thread(const struct value_line *line, struct outbuf *out)
{
	char *start = out->at;
	size_t used, bytes = strnlen(line->comm, COMMS_BYTES);
	bool plain = true;

	for (size_t i = 0; i < bytes; i++)
		plain &= line->comm[i] >= ' ' && line->comm[i] < 0x7f;
	if (__builtin_expect(!plain, 0)) { /* escaped: it is longer, and columns shift */
		outbuf_foreign(out, line->comm, bytes);
		start = out->at;
	} else {
		memcpy(out->at, line->comm, COMMS_BYTES);
		out->at += bytes;
	}
	if (line->event->tid >= 0) {
		*out->at++ = '[';
		out->at = digits_u32(out->at, (uint32_t)line->event->tid);
		*out->at++ = ']';
	}
	used = (size_t)(out->at - start);
	memset(out->at, ' ', THREAD_COLUMNS + 1);
	out->at += used < THREAD_COLUMNS ? THREAD_COLUMNS - used : 1;
}

static void put_place(const struct value_line *line, struct outbuf *out)
{
	size_t before = outbuf_bytes(out);

	value_put_place(line, out);
	outbuf_blanks(out, 16 - (int64_t)(outbuf_bytes(out) - before));
}

static void put_usual(const struct list_print *print, const struct value_context *context,
		      const struct value_line *line, struct outbuf *out)
{
	const struct print_event *kind = line->kind;

	outbuf_room(out);
	out->at = put_time(out->at, line->event->time_ns);
	out->at = put_delta(out->at, line->delta_ns);
	memcpy(out->at, "  ", 2);
	out->at = digits_fixed(out->at + 2, line->event->cpu, 3);
	memcpy(out->at, "  ", 2);
	print_flags(context->printer, kind, &line->record, out->at + 2);
	memcpy(out->at + 7, " ", 1);
	out->at += 8;
	put_thread(line, out);
	if (print->opts.place)
		put_place(line, out);
	if (kind->title_bytes <= 64) {
		memcpy(out->at, kind->title, 64);
		out->at += kind->title_bytes;
	} else {
		outbuf_put(out, kind->title, kind->title_bytes);
	}
	memcpy(out->at, ": ", 2);
	out->at += 2;
	value_put_event_text(context, line, out);
	if (print->opts.state) {
		outbuf_string(out, " | ");
		outbuf_string(out, line->state);
	}
	outbuf_char(out, '\n');
}

/* -------------------------------------------------------- the columns asked for */

static const int widths[] = {
	[COLUMN_TIME] = 16, [COLUMN_SINCE] = 16, [COLUMN_WALL] = 29,	[COLUMN_DELTA] = 13,
	[COLUMN_CPU] = 3,   [COLUMN_TID] = 7,	 [COLUMN_LATENCY] = 5,	[COLUMN_COMM] = 16,
	[COLUMN_EVENT] = 26, [COLUMN_NAME] = 20, [COLUMN_SYSTEM] = 12, [COLUMN_PLACE] = 14,
	[COLUMN_SYSCALL] = 16, [COLUMN_STATE] = 24, [COLUMN_TEXT] = 0,	[COLUMN_FIELD] = 0,
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

static void put_key(struct outbuf *out, const char *key, bool *any)
{
	outbuf_string(out, *any ? "," : "");
	*any = true;
	outbuf_json(out, key, strlen(key));
	outbuf_char(out, ':');
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
	} else if (event->type == EV_FD_NAME) {
		const struct ev_fd_name *name = &event->fd_name;

		put_pair_u64(out, "pid", (uint64_t)name->tgid, any);
		put_pair_u64(out, "tid", (uint64_t)name->tid, any);
		put_pair_u64(out, "fd", (uint64_t)name->fd, any);
		put_pair_u64(out, "inode", name->inode, any);
		put_key(out, "name", any);
		outbuf_json(out, name->name, strlen(name->name));
	}
}

static void put_fields(const struct value_context *context, const struct value_line *line,
		       struct outbuf *out)
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

static void put_column(const struct value_context *context, const struct value_line *line,
		       enum value_column column, const char *key, struct outbuf *out, bool *any)
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
	put_column(context, line, COLUMN_TIME, "time_ns", out, &any);
	put_column(context, line, COLUMN_DELTA, "delta_ns", out, &any);
	put_column(context, line, COLUMN_CPU, "cpu", out, &any);
	put_column(context, line, COLUMN_TID, "tid", out, &any);
	put_column(context, line, COLUMN_COMM, "comm", out, &any);
	put_column(context, line, COLUMN_LATENCY, "latency", out, &any);
	put_column(context, line, COLUMN_PLACE, "place", out, &any);
	put_column(context, line, COLUMN_EVENT, "event", out, &any);
	put_key(out, "fields", &any);
	put_fields(context, line, out);
	if (print->opts.state)
		put_column(context, line, COLUMN_STATE, "state", out, &any);
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

void list_print_line(const struct list_print *print, const struct value_context *context,
		     const struct value_line *line, struct outbuf *out)
{
	if (print->opts.json)
		(print->opts.fields ? put_json_chosen : put_json)(print, context, line, out);
	else
		(print->opts.fields ? put_chosen : put_usual)(print, context, line, out);
}
