/* value.c - columns and fields of a line by name. */
#include "fields/value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/digits.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "base/text.h"
#include "event/comms.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/steps.h"
#include "fields/print.h"

#define SECOND_NS 1000000000

struct value_name {
	char *text;	/* owned; as written */
	char *field;	/* owned; without dot and index */
	uint32_t index; /* UINT32_MAX = none */
	enum value_column column;
	bool own_first; /* the event's own field, where it has one */
};

/* Titles are copied in large steps. */
static const char lost_title[64] = "holdup:lost_events";
static const char fd_name_title[64] = "holdup:fd_name";

/* Kinds of events that the reader makes. */
static const struct print_event lost_kind = {
	.system = "holdup",
	.name = "lost_events",
	.title = lost_title,
	.title_bytes = 18,
};
static const struct print_event fd_name_kind = {
	.system = "holdup",
	.name = "fd_name",
	.title = fd_name_title,
	.title_bytes = 14,
};

static const struct {
	const char *name;
	enum value_column column;
	enum value_kind kind;
	bool own_first;
	bool is_time;
} columns[] = {
	{ "time", COLUMN_TIME, VALUE_NUMBER, false, true },
	{ "since", COLUMN_SINCE, VALUE_NUMBER, false, true },
	{ "wall", COLUMN_WALL, VALUE_TEXT, false, false },
	{ "delta", COLUMN_DELTA, VALUE_NUMBER, false, true },
	{ "cpu", COLUMN_CPU, VALUE_NUMBER, false, false },
	{ "tid", COLUMN_TID, VALUE_NUMBER, false, false },
	{ "pid", COLUMN_TID, VALUE_NUMBER, true, false },
	{ "comm", COLUMN_COMM, VALUE_TEXT, false, false },
	{ "thread", COLUMN_THREAD, VALUE_TEXT, true, false },
	{ "latency", COLUMN_LATENCY, VALUE_TEXT, false, false },
	{ "lat", COLUMN_LATENCY, VALUE_TEXT, true, false }, /* as it is titled */
	{ "event", COLUMN_EVENT, VALUE_TEXT, false, false },
	{ "name", COLUMN_NAME, VALUE_TEXT, true, false },
	{ "system", COLUMN_SYSTEM, VALUE_TEXT, false, false },
	{ "place", COLUMN_PLACE, VALUE_TEXT, false, false },
	{ "text", COLUMN_TEXT, VALUE_TEXT, false, false },
	{ "syscall", COLUMN_SYSCALL, VALUE_TEXT, false, false },
	{ "state", COLUMN_STATE, VALUE_TEXT, false, false },
	{ "instance", COLUMN_INSTANCE, VALUE_TEXT, true, false },
};

/* The field called so in any event, or NULL. */
static const struct print_field *any_field(const struct printer *printer, const char *name)
{
	const struct print_event *kind = NULL;
	const struct print_field *field = NULL;

	while (!field && (kind = printer_next(printer, kind)))
		field = print_event_field(kind, name);
	return field;
}

/* How many letters must be changed, at most 3. */
static int value_distance(const char *a, const char *b, int most)
{
	if (most < 0 || strcmp(a, b) == 0)
		return 0;
	if (!*a || !*b)
		return (int)(strlen(a) + strlen(b));
	if (*a == *b)
		return value_distance(a + 1, b + 1, most);
	if (most == 0)
		return 1;
	int change = value_distance(a + 1, b + 1, most - 1);
	int less = value_distance(a + 1, b, most - 1), more = value_distance(a, b + 1, most - 1);
	int best = change < less ? change : less;

	return 1 + (best < more ? best : more);
}

/* A name of the trace that this one may have been meant to be, or NULL. */
static const char *near_name(const struct printer *printer, const char *name)
{
	const struct print_event *kind = NULL;
	int most = strlen(name) > 4 ? 2 : 1;

	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		if (value_distance(name, columns[i].name, 1) <= 1)
			return columns[i].name;
	}
	while ((kind = printer_next(printer, kind))) {
		for (uint32_t i = 0; i < kind->field_count; i++) {
			if (value_distance(name, kind->fields[i].name, most) <= most)
				return kind->fields[i].name;
		}
	}
	return NULL;
}

/* "args[2]": cut the index off. False when what stands in the brackets is none. */
static bool cut_index(char *field, uint32_t *out_index)
{
	char *bracket = strchr(field, '[');
	uint64_t index;

	*out_index = UINT32_MAX;
	if (!bracket)
		return true;
	if (bracket[strlen(bracket) - 1] != ']')
		return false;
	bracket[strlen(bracket) - 1] = '\0';
	*bracket = '\0';
	if (!text_parse_u64(bracket + 1, &index) || index >= UINT32_MAX)
		return false;
	*out_index = (uint32_t)index;
	return true;
}

static void find_column(struct value_name *name, bool is_own)
{
	for (size_t i = 0; i < ARRAY_LEN(columns) && !is_own; i++) {
		if (strcmp(columns[i].name, name->field) == 0) {
			name->column = columns[i].column;
			name->own_first = columns[i].own_first;
		}
	}
}

int value_name_new(const struct value_context *context, const char *text,
		   struct value_name **out_name, struct err *err)
{
	struct value_name *name = xcalloc(1, sizeof(*name));
	AUTO_FREE char *safe = text_escaped(text);
	bool is_own = text[0] == '.';
	const char *near;

	name->text = xstrdup(text);
	name->field = xstrdup(text + is_own);
	if (!cut_index(name->field, &name->index)) {
		value_name_free(name);
		return err_set(err, -EINVAL, "\"%s\": an element is written NAME[NUMBER]", safe);
	}
	find_column(name, is_own);
	if (name->column == COLUMN_FIELD && !any_field(context->printer, name->field)) {
		near = near_name(context->printer, name->field);
		value_name_free(name);
		return err_set(err, -EINVAL, "no event of this trace has a field \"%s\"%s%s%s",
			       safe, near ? "; did you mean \"" : "", near ? near : "",
			       near ? "\"?" : "");
	}
	*out_name = name;
	return 0;
}

void value_name_free(struct value_name *name)
{
	if (!name)
		return;
	free(name->text);
	free(name->field);
	free(name);
}

const char *value_name_text(const struct value_name *name)
{
	return name->text;
}

enum value_column value_name_column(const struct value_name *name)
{
	return name->own_first ? COLUMN_FIELD : name->column;
}

bool value_name_shows_comm(const struct value_name *name)
{
	return name->column == COLUMN_COMM || name->column == COLUMN_THREAD;
}

/* Has an event of this kind the column at all? */
static bool has_column(enum value_column column, const struct print_event *kind)
{
	bool is_ours = kind == &lost_kind || kind == &fd_name_kind;

	switch (column) {
	case COLUMN_LATENCY:
	case COLUMN_PLACE:
		return !is_ours;
	case COLUMN_TID:
	case COLUMN_COMM:
	case COLUMN_THREAD:
	case COLUMN_STATE:
		return !is_ours;
	case COLUMN_SYSCALL:
		return strcmp(kind->system, "raw_syscalls") == 0 ||
		       strcmp(kind->system, "syscalls") == 0;
	default:
		return true;
	}
}

struct value_place value_column_place(enum value_column column, const struct print_event *kind)
{
	struct value_place place = { .column = column, .index = UINT32_MAX };

	if (!has_column(column, kind))
		return place;
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		if (columns[i].column == column) {
			place.kind = columns[i].kind;
			place.is_time = columns[i].is_time;
			place.is_signed = column != COLUMN_TIME; /* a counter may pass 2^63 */
			break;
		}
	}
	return place;
}

struct value_place value_place(const struct value_name *name, const struct print_event *kind)
{
	struct value_place place = { .index = UINT32_MAX };
	const struct print_field *field = print_event_field(kind, name->field);

	if (name->column != COLUMN_FIELD && !(name->own_first && field))
		return value_column_place(name->column, kind);
	if (!field)
		return place;
	place.field = field;
	place.is_signed = field->is_signed;
	if (name->index != UINT32_MAX && field->is_array && !field->is_text) {
		place.index = name->index;
		place.kind = VALUE_NUMBER;
	} else if (name->index == UINT32_MAX) {
		place.kind = field->is_text    ? VALUE_TEXT
			     : field->is_array ? VALUE_BYTES
					       : VALUE_NUMBER;
	}
	return place;
}

static uint64_t since_ns(const struct value_context *context, const struct value_line *line)
{
	uint64_t first_ns = context->facts->first_ns;

	return line->event->time_ns > first_ns ? line->event->time_ns - first_ns : 0;
}

static uint64_t element_number(const struct value_context *context, const struct value_place *place,
			       const struct value_line *line)
{
	const uint8_t *data;
	uint32_t bytes;

	if (!print_field_bytes(context->printer, place->field, &line->record, &data, &bytes) ||
	    place->index >= bytes / place->field->element_bytes)
		return 0;
	return print_element(context->printer, place->field, data, place->index);
}

uint64_t value_number(const struct value_context *context, const struct value_place *place,
		      const struct value_line *line)
{
	switch (place->column) {
	case COLUMN_TIME:
		return line->event->time_ns;
	case COLUMN_SINCE:
		return since_ns(context, line);
	case COLUMN_DELTA:
		return line->delta_ns;
	case COLUMN_CPU:
		return line->event->cpu;
	case COLUMN_TID:
		return (uint64_t)line->event->tid;
	case COLUMN_FIELD:
		break;
	default:
		return 0;
	}
	if (place->kind != VALUE_NUMBER)
		return 0;
	if (place->index != UINT32_MAX)
		return element_number(context, place, line);
	return print_field_number(context->printer, place->field, &line->record);
}

bool value_has_words(const struct value_place *place, const struct print_event *kind)
{
	if (!place->field || place->index != UINT32_MAX)
		return false;
	return print_field_has_words(kind, place->field) ||
	       ((strcmp(kind->system, "raw_syscalls") == 0 ||
		 strcmp(kind->system, "holdup") == 0) &&
		strcmp(place->field->name, "id") == 0);
}

static bool is_of_call(const struct event *event)
{
	return event->type == EV_SYS_ENTER || event->type == EV_SYS_EXIT ||
	       event->type == EV_BLOCKED_IN;
}

static const char *value_syscall_name(const struct value_context *context,
				      const struct value_line *line)
{
	if (!is_of_call(line->event))
		return NULL;
	return facts_syscall(context->facts, line->event->syscall.nr, line->event->syscall.compat);
}

static bool put_words(const struct value_context *context, const struct value_place *place,
		      const struct value_line *line, struct outbuf *out)
{
	const char *call =
		strcmp(place->field->name, "id") == 0 ? value_syscall_name(context, line) : NULL;

	if (call)
		outbuf_string(out, call);
	return call ||
	       print_field_words(context->printer, line->kind, place->field, &line->record, out);
}

void value_put_place(const struct value_line *line, struct outbuf *out)
{
	outbuf_room(out);
	if (!line->record.data) {
		*out->at++ = '-';
		return;
	}
	out->at = digits_u32(out->at, line->event->cpu);
	*out->at++ = '@';
	out->at = digits_hex(out->at, line->record.place);
}

/* "2026-01-02T14:03:12.500000000", local time. */
static void put_wall(const struct value_context *context, const struct value_line *line,
		     struct outbuf *out)
{
	int64_t ns = (int64_t)line->event->time_ns + context->facts->realtime_offset_ns;
	time_t seconds = (time_t)(ns / SECOND_NS);
	struct tm tm = { 0 };

	(void)localtime_r(&seconds, &tm);
	out->at += strftime(out->at, 64, "%Y-%m-%dT%H:%M:%S.", &tm);
	out->at = digits_fixed(out->at, (uint64_t)(ns % SECOND_NS), 9);
}

void value_put_time(const struct value_context *context, enum value_column column,
		    const struct value_line *line, struct outbuf *out)
{
	outbuf_room(out);
	switch (column) {
	case COLUMN_WALL:
		put_wall(context, line, out);
		break;
	case COLUMN_SINCE:
		out->at = digits_seconds(out->at, since_ns(context, line));
		break;
	case COLUMN_DELTA:
		out->at = digits_seconds(out->at, line->delta_ns);
		break;
	default:
		out->at = digits_seconds(out->at, line->event->time_ns);
		break;
	}
}

static void value_put_column(const struct value_context *context, enum value_column column,
			     const struct value_line *line, struct outbuf *out)
{
	const char *call;

	switch (column) {
	case COLUMN_TIME:
	case COLUMN_SINCE:
	case COLUMN_WALL:
	case COLUMN_DELTA:
		value_put_time(context, column, line, out);
		break;
	case COLUMN_CPU:
		out->at = digits_u32(out->at, line->event->cpu);
		break;
	case COLUMN_TID:
		out->at = digits_i64(out->at, line->event->tid);
		break;
	case COLUMN_COMM:
		outbuf_foreign(out, line->comm, COMMS_BYTES);
		break;
	case COLUMN_THREAD:
		outbuf_foreign(out, line->comm, COMMS_BYTES);
		outbuf_char(out, '[');
		out->at = digits_i64(out->at, line->event->tid);
		outbuf_char(out, ']');
		break;
	case COLUMN_LATENCY:
		print_flags(context->printer, line->kind, &line->record, out->at);
		out->at += 5;
		break;
	case COLUMN_EVENT:
		outbuf_foreign(out, line->kind->title, line->kind->title_bytes);
		break;
	case COLUMN_NAME:
		outbuf_foreign(out, line->kind->name, strlen(line->kind->name));
		break;
	case COLUMN_SYSTEM:
		outbuf_foreign(out, line->kind->system, strlen(line->kind->system));
		break;
	case COLUMN_PLACE:
		value_put_place(line, out);
		break;
	case COLUMN_SYSCALL:
		call = value_syscall_name(context, line);
		if (call)
			outbuf_string(out, call);
		else if (is_of_call(line->event))
			out->at = digits_i64(out->at, line->event->syscall.nr);
		break;
	case COLUMN_STATE:
		outbuf_string(out, line->state ? line->state : "");
		break;
	case COLUMN_INSTANCE:
		if (line->record.origin)
			outbuf_foreign(out, line->record.origin, strlen(line->record.origin));
		break;
	case COLUMN_TEXT:
		value_put_event_text(context, line, out);
		break;
	case COLUMN_FIELD:
		break;
	}
}

void value_text(const struct value_context *context, const struct value_place *place,
		const struct value_line *line, bool words, struct outbuf *out)
{
	outbuf_room(out);
	if (place->kind == VALUE_NONE)
		return;
	if (place->column != COLUMN_FIELD) {
		value_put_column(context, place->column, line, out);
		return;
	}
	if (place->index != UINT32_MAX) {
		uint64_t number = element_number(context, place, line);

		out->at = place->is_signed ? digits_i64(out->at, (int64_t)number)
					   : digits_u64(out->at, number);
		return;
	}
	if (words && put_words(context, place, line, out))
		return;
	print_field_text(context->printer, place->field, &line->record, out);
}

static void put_quoted(const struct value_context *context, const struct value_place *place,
		       const struct value_line *line, struct outbuf *out)
{
	struct outbuf made;

	switch (place->column) {
	case COLUMN_EVENT:
		outbuf_json(out, line->kind->title, line->kind->title_bytes);
		return;
	case COLUMN_PLACE:
	case COLUMN_LATENCY: /* nothing in them needs an escape */
		outbuf_char(out, '"');
		value_put_column(context, place->column, line, out);
		outbuf_char(out, '"');
		return;
	default:
		break;
	}
	outbuf_to_memory(&made);
	value_text(context, place, line, false, &made);
	outbuf_json(out, made.start, outbuf_bytes(&made));
	outbuf_fini(&made);
}

void value_json(const struct value_context *context, const struct value_place *place,
		const struct value_line *line, struct outbuf *out)
{
	outbuf_room(out);
	if (place->kind == VALUE_NONE) {
		outbuf_string(out, "null");
	} else if (place->column == COLUMN_COMM) {
		outbuf_json(out, line->comm, COMMS_BYTES);
	} else if (place->kind == VALUE_NUMBER &&
		   (place->column != COLUMN_FIELD || place->index != UINT32_MAX)) {
		uint64_t number = value_number(context, place, line);

		out->at = place->is_signed ? digits_i64(out->at, (int64_t)number)
					   : digits_u64(out->at, number);
	} else if (place->column != COLUMN_FIELD) {
		put_quoted(context, place, line, out);
	} else {
		print_field_json(context->printer, place->field, &line->record, out);
	}
}

const struct print_event *value_kind_of(const struct printer *printer, const struct event *event,
					const struct trace_record *record)
{
	if (event->type == EV_LOST)
		return &lost_kind;
	if (event->type == EV_FD_NAME)
		return &fd_name_kind;
	return printer_event_of(printer, record);
}

uint32_t value_kind_count(const struct printer *printer)
{
	return printer_id_count(printer) + 3;
}

uint32_t value_kind_index(const struct printer *printer, const struct print_event *kind)
{
	uint32_t count = printer_id_count(printer);

	if (__builtin_expect(kind->id < count && kind->fields, 1))
		return kind->id;
	return kind == &lost_kind ? count : kind == &fd_name_kind ? count + 1 : count + 2;
}

/* "12 events lost in 4.20 ms" */
static void value_put_step(const struct value_line *line, struct outbuf *out)
{
	static const char *const texts[STEP_COUNT] = {
		"all events that were asked for",
		"no system calls and no page faults",
		"only who runs, who waits and who woke whom",
		"nothing",
	};
	const struct ev_lost *lost = &line->event->lost;

	if (lost->since_ns < line->event->time_ns) {
		outbuf_string(out, "nothing was recorded for ");
		outbuf_string(out, text_duration(line->event->time_ns - lost->since_ns).s);
		outbuf_string(out, "; ");
	}
	outbuf_string(out, "to keep to the budget, recorded from here on: ");
	outbuf_string(out, lost->step < STEP_COUNT ? texts[lost->step] : "?");
}

static void value_put_lost(const struct value_line *line, struct outbuf *out)
{
	const struct ev_lost *lost = &line->event->lost;

	if (lost->is_step) {
		value_put_step(line, out);
		return;
	}
	if (lost->count) {
		out->at = digits_u64(out->at, lost->count);
		outbuf_string(out, lost->count == 1 ? " event" : " events");
	} else {
		outbuf_string(out, "an unknown number of events");
	}
	if (lost->packets) {
		outbuf_string(out, " (");
		out->at = digits_u64(out->at, lost->packets);
		outbuf_string(out, lost->packets == 1 ? " packet)" : " packets)");
	}
	outbuf_string(out, line->event->context & EV_CTX_USER ? " of a program lost on this CPU in "
							      : " lost on this CPU in ");
	outbuf_string(out, text_duration(line->event->time_ns - lost->since_ns).s);
}

static void put_fd_name(const struct value_line *line, struct outbuf *out)
{
	const struct ev_fd_name *name = &line->event->fd_name;

	outbuf_string(out, "pid=");
	out->at = digits_i64(out->at, name->tgid);
	outbuf_string(out, " tid=");
	out->at = digits_i64(out->at, name->tid);
	if (name->watch == FD_LOCK || name->fd >= 0) {
		outbuf_string(out, name->watch == FD_LOCK ? " owner=" : " fd=");
		out->at =
			digits_i64(out->at, name->watch == FD_LOCK ? fd_owner(name->fd) : name->fd);
	}
	outbuf_string(out, name->watch == FD_LOCK    ? " lock="
			   : name->watch == FD_ASKED ? " asked="
			   : name->watch == FD_RUNS  ? " runs="
						     : " name=");
	/* Of a lock, addresses follow. */
	outbuf_foreign(out, name->name,
		       name->watch == FD_LOCK ? strcspn(name->name, "\t") : strlen(name->name));
	outbuf_room(out);
	if (name->watch == FD_ASKED || name->watch == FD_HELD) {
		outbuf_string(out, name->watch == FD_HELD ? " held_by=" : " error=");
		out->at = digits_u64(out->at, name->inode & UINT32_MAX);
	}
}

/* Functions from the innermost on. */
static void put_stack(const struct value_context *context, const struct value_line *line,
		      struct outbuf *out)
{
	const struct ev_stack *stack = &line->event->stack;
	uint64_t address;

	for (uint32_t i = 0; stack->frames && i < stack->count; i++) {
		const char *symbol;

		memcpy(&address, (const char *)stack->frames + (size_t)i * 8, 8);
		if (address == 0 || address == UINT64_MAX)
			break;
		outbuf_string(out, i ? " <- " : "");
		symbol = facts_symbol(context->facts, address);
		outbuf_room(out);
		if (symbol)
			outbuf_foreign(out, symbol, strlen(symbol));
		else
			out->at = digits_hex(out->at, address);
	}
}

/* The texts of events that have no record, or whose record says it less well. */
static __attribute__((noinline)) void put_own_text(const struct value_context *context,
						   const struct value_line *line,
						   struct outbuf *out)
{
	outbuf_room(out);
	if (line->event->type == EV_LOST)
		value_put_lost(line, out);
	else if (line->event->type == EV_FD_NAME)
		put_fd_name(line, out);
	else
		put_stack(context, line, out);
}

void value_put_event_text(const struct value_context *context, const struct value_line *line,
			  struct outbuf *out)
{
	switch (line->event->type) {
	case EV_LOST:
	case EV_FD_NAME:
	case EV_STACK:
		put_own_text(context, line, out);
		break;
	default:
		print_text(context->printer, context->memory, line->kind, &line->record, out);
		break;
	}
}
