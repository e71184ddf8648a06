/* kinds.c - patterns against texts. */
#include "read/text/kinds.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/facts.h"
#include "read/format_text.h"
#include "read/kernel/events.h"
#include "read/kernel/rows.h"
#include "read/text/kinds_int.h"
#include "read/text/rows.h"
#include "store/formats.h"

#define MAX_KINDS    8192u
#define MAX_SYMBOLS  65536u
#define MAX_CALLS    1024u
#define MAX_NAME     128u
#define PLACE_BYTES  8u
#define FIRST_SYMBOL UINT64_C(0xffffffffffe00000) /* above all of the kernel's */

struct symbol {
	char *name; /* owned */
};

struct text_kinds {
	struct kind *kinds; /* owned; the first one is that of unknown names */
	size_t count, cap;
	struct map by_name;	/* hash of a name: kind */
	struct map calls;	/* hash of a call's name: number, twice, plus 1 when 32-bit */
	struct map by_symbol;	/* hash of a function's name: place in 'symbols' */
	struct symbol *symbols; /* owned */
	size_t symbol_count, symbol_cap;
	const struct facts *facts;
	bool in_interrupt; /* some line says that it is in an interrupt or softirq */
	bool untold;	   /* one begins in a line that does not say so */
};

/* ------------------------------------------------------------------ patterns */

static uint32_t text_kinds_add_field(struct kind *kind, const char *name, size_t bytes, char letter)
{
	if (bytes == 0)
		return TEXT_MAX_FIELDS;
	for (uint32_t i = 0; i < kind->field_count; i++) {
		if (strlen(kind->fields[i].name) == bytes &&
		    memcmp(kind->fields[i].name, name, bytes) == 0)
			return i;
	}
	if (kind->field_count == TEXT_MAX_FIELDS)
		abort(); /* our own table */
	kind->fields[kind->field_count] = (struct field){ xstrndup(name, bytes), letter, NULL };
	return kind->field_count++;
}

static void text_kinds_compile(struct kind *kind, const char *text, struct pattern *pattern)
{
	while (*text && pattern->count < TEXT_MAX_STEPS) {
		struct step *step = &pattern->steps[pattern->count++];
		size_t bytes = strcspn(text, "{");

		if (bytes) {
			*step = (struct step){ .literal = text, .bytes = (uint8_t)bytes };
		} else {
			bytes = strcspn(text, "}") + 1;
			step->letter = text[bytes - 2];
			step->field = (uint8_t)text_kinds_add_field(kind, text + 1, bytes - 4,
								    step->letter);
		}
		text += bytes;
	}
}

static void bind(struct kind *kind, const struct row *row)
{
	kind->base.type = (uint8_t)row->type;
	for (uint32_t i = 0; i < kind->field_count; i++) {
		for (const struct target *target = row->fields; target->field; target++) {
			if (target->member != TO_TRUE &&
			    strcmp(target->field, kind->fields[i].name) == 0)
				kind->fields[i].target = target;
		}
	}
	if (row->type == EV_VECTOR_ENTRY || row->type == EV_VECTOR_EXIT)
		kind->base.irq.nr = row->nr;
	else if (row->type == EV_SCHED_WAKING || row->type == EV_SCHED_WAKEUP ||
		 row->type == EV_SCHED_WAKEUP_NEW)
		kind->base.wake.target_cpu = -1;
}

/* ------------------------------------------------------------------ names */

static uint64_t text_kinds_hash_of(char prefix, struct text_view name)
{
	return hash_bytes(name.at, name.bytes, (uint64_t)(unsigned char)prefix + 1);
}

/* A part of a title: the two are told apart by a slash or a colon. */
static char *text_kinds_plain_name(const char *name, size_t bytes)
{
	char *copy = xstrndup(name, bytes);

	for (char *c = copy; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("_.-@+<>", *c))
			*c = '_';
	}
	return copy;
}

static struct kind *text_kinds_add_kind(struct text_kinds *kinds, const char *system,
					size_t system_bytes, const char *name, size_t name_bytes)
{
	struct kind *kind;

	kinds->kinds = vec_room(kinds->kinds, kinds->count, &kinds->cap, sizeof(*kinds->kinds));
	kind = &kinds->kinds[kinds->count++];
	*kind = (struct kind){
		.system = text_kinds_plain_name(system, system_bytes),
		.name = text_kinds_plain_name(name, name_bytes),
		.number = (uint32_t)kinds->count,
		.base = { .type = EV_OTHER },
	};
	return kind;
}

static void name_kind(struct text_kinds *kinds, char prefix, const char *name, size_t bytes)
{
	map_put(&kinds->by_name, text_kinds_hash_of(prefix, (struct text_view){ name, bytes }),
		kinds->count - 1);
}

static void kinds_add_row(struct text_kinds *kinds, const struct text_row *text_row)
{
	const char *slash = strchr(text_row->event, '/'), *name = slash + 1;
	size_t system_bytes = (size_t)(slash - text_row->event);
	struct kind *kind =
		text_kinds_add_kind(kinds, text_row->event, system_bytes, name, strlen(name));
	const struct row *row = kernel_row(text_row->event);
	AUTO_FREE char *title = xasprintf("%.*s:%s", (int)system_bytes, text_row->event, name);

	kind->patterns = xcalloc(TEXT_ROW_PATTERNS, sizeof(*kind->patterns));
	while (kind->pattern_count < TEXT_ROW_PATTERNS && text_row->patterns[kind->pattern_count]) {
		text_kinds_compile(kind, text_row->patterns[kind->pattern_count],
				   &kind->patterns[kind->pattern_count]);
		kind->pattern_count++;
	}
	if (row)
		bind(kind, row);
	name_kind(kinds, 0, name, strlen(name));
	name_kind(kinds, 0, title, strlen(title));
}

struct text_kinds *text_kinds_new(void)
{
	struct text_kinds *kinds = xcalloc(1, sizeof(*kinds));
	size_t count;
	const struct text_row *rows = text_rows(&count);

	(void)text_kinds_add_kind(kinds, "text", 4, "line", 4);
	for (size_t i = 0; i < count; i++)
		kinds_add_row(kinds, &rows[i]);
	return kinds;
}

void text_kinds_free(struct text_kinds *kinds)
{
	if (!kinds)
		return;
	for (size_t i = 0; i < kinds->count; i++) {
		for (uint32_t f = 0; f < kinds->kinds[i].field_count; f++)
			free(kinds->kinds[i].fields[f].name);
		free(kinds->kinds[i].patterns);
		free(kinds->kinds[i].system);
		free(kinds->kinds[i].name);
	}
	for (size_t i = 0; i < kinds->symbol_count; i++)
		free(kinds->symbols[i].name);
	free(kinds->kinds);
	free(kinds->symbols);
	map_fini(&kinds->by_name);
	map_fini(&kinds->calls);
	map_fini(&kinds->by_symbol);
	free(kinds);
}

/*
 * "sys_openat(...)" of the kernel is "sys_enter_openat: ..." of trace-cmd, and
 * "syscalls:sys_enter_openat: ..." of perf.
 */
static uint8_t text_kinds_call_of(const struct text_line *line, struct text_view *out_name)
{
	struct text_view name = line->name;

	*out_name = name;
	if (line->kind == TEXT_ENTER || line->kind == TEXT_EXIT)
		return line->kind;
	if (text_begins(&name, "syscalls:")) {
		name.at += 9;
		name.bytes -= 9;
	}
	if (text_begins(&name, "sys_enter_")) {
		*out_name = (struct text_view){ name.at + 10, name.bytes - 10 };
		return TEXT_ENTER;
	}
	if (text_begins(&name, "sys_exit_")) {
		*out_name = (struct text_view){ name.at + 9, name.bytes - 9 };
		return TEXT_EXIT;
	}
	return TEXT_EVENT;
}

static void text_kinds_add_call(struct text_kinds *kinds, uint8_t type, struct text_view call)
{
	bool enters = type == TEXT_ENTER;
	AUTO_FREE char *name =
		xasprintf("%s_%.*s", enters ? "sys_enter" : "sys_exit", (int)call.bytes, call.at);
	struct kind *kind = text_kinds_add_kind(kinds, "syscalls", 8, name, strlen(name));

	kind->is_call = true;
	kind->base.type = enters ? EV_SYS_ENTER : EV_SYS_EXIT;
	(void)text_kinds_add_field(kind, "nr", 2, 'd');
	if (!enters)
		(void)text_kinds_add_field(kind, "ret", 3, 'd');
	name_kind(kinds, enters ? '>' : '<', call.at, call.bytes);
}

static const struct kind *text_kinds_find_kind(const struct text_kinds *kinds, char prefix,
					       struct text_view name)
{
	const uint64_t *found = map_find(&kinds->by_name, text_kinds_hash_of(prefix, name));

	return found ? &kinds->kinds[*found] : NULL;
}

static char prefix_of(uint8_t type)
{
	return type == TEXT_ENTER ? '>' : type == TEXT_EXIT ? '<' : 0;
}

/* The name that stands for lines of a shape that have none. */
static struct text_view line_event_name(const struct text_line *line)
{
	if (line->kind == TEXT_FUNCTION)
		return (struct text_view){ "ftrace:function", 15 };
	if (line->kind == TEXT_STACK)
		return text_is(line->name, "user_stack") || text_begins(&line->text, "<user")
			       ? (struct text_view){ "ftrace:user_stack", 17 }
			       : (struct text_view){ "ftrace:kernel_stack", 19 };
	return line->name;
}

/*
 * Some write no flags but what fills their column: Perfetto "....", as a systrace. No kernel has
 * the beginning of an interrupt outside of one everywhere: then no line tells.
 */
static void learn_context(struct text_kinds *kinds, const struct text_line *line,
			  const struct kind *kind)
{
	enum event_type type = kind ? kind->base.type : EV_OTHER;

	if (line->context & (EV_CTX_HARDIRQ | EV_CTX_SOFTIRQ))
		kinds->in_interrupt = true;
	else if (type == EV_IRQ_ENTRY || type == EV_VECTOR_ENTRY || type == EV_SOFTIRQ_ENTRY)
		kinds->untold = true;
}

static uint8_t context_of(const struct text_kinds *kinds, const struct text_line *line)
{
	return kinds->untold && !kinds->in_interrupt ? 0 : line->context;
}

void text_kinds_add(struct text_kinds *kinds, const struct text_line *line)
{
	struct text_view name;
	uint8_t type = text_kinds_call_of(line, &name);
	const struct kind *known;
	const char *colon;

	if (type == TEXT_EVENT)
		name = line_event_name(line);
	if (!name.bytes || name.bytes > MAX_NAME)
		return;
	known = text_kinds_find_kind(kinds, prefix_of(type), name);
	learn_context(kinds, line, known);
	if (known || kinds->count >= MAX_KINDS)
		return;
	if (type != TEXT_EVENT) {
		text_kinds_add_call(kinds, type, name);
		return;
	}
	colon = memchr(name.at, ':', name.bytes);
	if (colon && colon > name.at && colon + 1 < name.at + name.bytes)
		(void)text_kinds_add_kind(kinds, name.at, (size_t)(colon - name.at), colon + 1,
					  name.bytes - (size_t)(colon + 1 - name.at));
	else
		(void)text_kinds_add_kind(kinds, "text", 4, name.at, name.bytes);
	name_kind(kinds, 0, name.at, name.bytes);
}

/* ------------------------------------------------------------------ formats */

static bool is_text(char letter)
{
	return strchr("sweSFhL", letter) != NULL;
}

static void text_kinds_print_format(FILE *out, const struct kind *kind)
{
	uint32_t i;

	fprintf(out, FORMAT_TEXT_HEAD, kind->number);
	for (i = 0; i < kind->field_count; i++) {
		const struct field *field = &kind->fields[i];
		uint32_t offset = KERNEL_EVENT_MIN_BYTES + i * PLACE_BYTES;

		if (is_text(field->letter))
			fprintf(out,
				"\tfield:__data_loc char[] %s;\toffset:%u;\tsize:4;\tsigned:0;\n",
				field->name, offset);
		else if (field->letter == 'a')
			fprintf(out,
				"\tfield:__data_loc u64[] %s;\toffset:%u;\tsize:4;\tsigned:0;\n",
				field->name, offset);
		else
			fprintf(out, "\tfield:%s%s;\toffset:%u;\tsize:8;\tsigned:%d;\n",
				field->letter == 'x' ? "u64 *" : "s64 ", field->name, offset,
				field->letter != 'x');
	}
	fprintf(out, "\tfield:__data_loc char[] text;\toffset:%u;\tsize:4;\tsigned:0;\n",
		KERNEL_EVENT_MIN_BYTES + i * PLACE_BYTES);
	fputs("\nprint fmt: \"%s\", __get_str(text)\n", out);
}

static void text_kinds_add_format(const struct kind *kind, struct formats *formats)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return;
	text_kinds_print_format(out, kind);
	fclose(out);
	formats->sections = vec_room(formats->sections, formats->count, &formats->cap,
				     sizeof(*formats->sections));
	formats->sections[formats->count++] =
		(struct format_section){ xasprintf("%s/%s", kind->system, kind->name), text,
					 bytes };
}

/* Some calls are named by the function in the kernel. */
static const struct {
	const char *function, *name;
} call_aliases[] = {
	{ "newstat", "stat" },		{ "newfstat", "fstat" },   { "newlstat", "lstat" },
	{ "newuname", "uname" },	{ "umount", "umount2" },   { "sendfile64", "sendfile" },
	{ "newfstatat", "newfstatat" }, { "mmap_pgoff", "mmap2" },
};

static void add_call_number(struct text_kinds *kinds, const char *name, uint64_t value)
{
	bool added;
	uint64_t *to =
		map_add(&kinds->calls,
			text_kinds_hash_of('s', (struct text_view){ name, strlen(name) }), &added);

	if (added)
		*to = value;
}

/* Numbers of calls by their names: those of 64-bit programs first. */
static void learn_calls(struct text_kinds *kinds)
{
	for (uint32_t table = 0; kinds->facts->arch && table < 2; table++) {
		for (int64_t nr = 0; nr < MAX_CALLS; nr++) {
			const char *name = facts_syscall(kinds->facts, nr, table);

			if (!name)
				continue;
			add_call_number(kinds, name, (uint64_t)nr * 2 + table);
			for (size_t i = 0; i < ARRAY_LEN(call_aliases); i++) {
				if (strcmp(call_aliases[i].name, name) == 0)
					add_call_number(kinds, call_aliases[i].function,
							(uint64_t)nr * 2 + table);
			}
		}
	}
}

static void learn_symbols(const struct text_kinds *kinds, struct facts *facts)
{
	facts->symbols = xcalloc(kinds->symbol_count + 1, sizeof(*facts->symbols));
	for (size_t i = 0; i < kinds->symbol_count; i++)
		facts->symbols[facts->symbol_count++] = (struct fact_symbol){
			FIRST_SYMBOL + i * 16,
			facts_keep(facts, kinds->symbols[i].name),
		};
}

void text_kinds_finish(struct text_kinds *kinds, struct facts *facts, struct formats *formats)
{
	kinds->facts = facts;
	for (size_t i = 0; i < kinds->count; i++)
		text_kinds_add_format(&kinds->kinds[i], formats);
	learn_calls(kinds);
	learn_symbols(kinds, facts);
}

/* ------------------------------------------------------------------ names of functions */

/* "worker_thread+0x534/0x820", "blk_mq_run_work_fn [loop]": the name alone. */
static struct text_view function_name(struct text_view view)
{
	return text_take_until(&view, "+/ \t");
}

static uint64_t function_address(const struct text_kinds *kinds, struct text_view view)
{
	struct text_view name = function_name(view);
	const uint64_t *known;
	uint64_t number = 0;

	if (text_looks_like_address(name)) {
		(void)text_take_hex(&name, &number);
		return number;
	}
	known = map_find(&kinds->by_symbol, text_kinds_hash_of('f', name));
	return known ? FIRST_SYMBOL + *known * 16 : 0;
}

/* ------------------------------------------------------------------ events */

/* The text is ended in place: what follows it in the line was read. */
static void text_kinds_set_text(const struct target *target, struct event *event,
				struct text_view text)
{
	char *end = (char *)(uintptr_t)(text.at + text.bytes);

	*end = '\0';
	memcpy((uint8_t *)event + target->offset, &text.at, sizeof(text.at));
}

static void text_kinds_set_value(const struct text_kinds *kinds, const struct field *field,
				 struct value *value, struct event *event)
{
	const struct target *target = field->target;
	uint64_t args[6];

	if (field->letter == 'F')
		value->number = function_address(kinds, value->text);
	else if (field->letter == 'L')
		value->number = text_lock_flags(value->text);
	if (!target)
		return;
	switch (target->member) {
	case TO_ARGS:
		text_read_args(value->text, args);
		memcpy((uint8_t *)event + target->offset, args, sizeof(args));
		break;
	case TO_STATE:
		*((uint8_t *)event + target->offset) = text_state_of(value->text);
		break;
	case TO_COMM:
	case TO_TEXT:
		/* Old kernels print the address of a work queue. */
		if (!(event->type == EV_WORK_QUEUE && text_looks_like_address(value->text) &&
		      value->text.bytes >= 8))
			text_kinds_set_text(target, event, value->text);
		break;
	default:
		target_put_number(target, event, value->number);
		break;
	}
}

/* What follows from the event itself. */
static void text_kinds_complete(struct event *event, const struct kind *kind,
				const struct value *values)
{
	if (event->type == EV_SIGNAL_DELIVER)
		event->signal.tid = event->tid;
	else if (event->type == EV_TASK_RENAME && event->task.tid == 0)
		event->task.tid = event->tid;
	for (uint32_t i = 0; event->type == EV_SCHED_EXIT && i < kind->field_count; i++)
		event->task.group_dead_known |= kind->fields[i].letter == 'b' && values[i].is_set;
}

/* Behind the address of a path, kernels of today print the path: it may have any characters. */
static void skip_path(struct text_view *text)
{
	struct text_view at = *text;

	text_skip_blanks(&at);
	if (!text_begins(&at, "\""))
		return;
	for (size_t i = 1; i < at.bytes; i++) {
		if (at.at[i] != '"' || (i + 1 < at.bytes && !strchr(",)", at.at[i + 1])))
			continue;
		*text = (struct text_view){ at.at + i + 1, at.bytes - i - 1 };
		return;
	}
}

/*
 * With the option "fields": "__syscall_nr=0x101 (257) dfd=0xffffff9c (-100) filename=(0x7f00)". The
 * number is of no table, as it stands in the event.
 */
static bool read_call_fields(struct text_view text, struct event *event)
{
	uint64_t number = 0;

	if (!text_begins(&text, "__syscall_nr="))
		return false;
	for (uint32_t i = 0; i < 7 && text.bytes; i++) {
		text_skip_blanks(&text);
		(void)text_take_until(&text, "=");
		if (!text.bytes)
			break;
		text.at++;
		text.bytes--;
		if (text_begins(&text, "(")) {
			text.at++;
			text.bytes--;
		}
		if (!text_take_hex(&text, &number))
			break;
		if (i == 0 && event->syscall.nr < 0)
			event->syscall.nr = (int64_t)(number & INT32_MAX);
		else if (i && event->type == EV_SYS_EXIT)
			event->syscall.ret = (int64_t)number;
		else if (i)
			event->syscall.args[i - 1] = number;
		skip_path(&text);
		(void)text_take_until(&text, ")");
		if (text.bytes) {
			text.at++;
			text.bytes--;
		}
	}
	return true;
}

/* "fd: b, buf: 7f00, count: 10" with or without 0x; "0x3" of an exit. */
static void text_kinds_read_call(struct text_kinds *kinds, struct text_view name,
				 struct text_view text, struct event *event)
{
	const uint64_t *known = map_find(&kinds->calls, text_kinds_hash_of('s', name));
	uint64_t number = 0;

	event->syscall.by_name = true;
	event->syscall.nr = known ? (int64_t)*known >> 1 : -1;
	event->syscall.compat = known && *known & 1;
	if (read_call_fields(text, event))
		return;
	if (event->type == EV_SYS_EXIT) {
		bool good;

		event->syscall.ret = (int64_t)text_take_signed(&text, &good);
		return;
	}
	for (uint32_t i = 0; i < 6; i++) {
		const char *colon = text.bytes ? memchr(text.at, ':', text.bytes) : NULL;

		if (!colon)
			break;
		text.bytes -= (size_t)(colon + 1 - text.at);
		text.at = colon + 1;
		text_skip_blanks(&text);
		if (text_take_hex(&text, &number))
			event->syscall.args[i] = number;
		skip_path(&text);
	}
}

/* ------------------------------------------------------------------ records */

struct record {
	uint8_t *bytes;
	uint32_t used;
};

static void put_bytes(struct record *record, uint32_t field, const void *bytes, size_t count)
{
	size_t room = TEXT_MAX_RECORD - 2 - record->used;
	uint32_t word;

	if (count > room)
		count = room;
	memcpy(record->bytes + record->used, bytes, count);
	record->bytes[record->used + count] = '\0';
	word = (uint32_t)(count + 1) << 16 | record->used;
	memcpy(record->bytes + KERNEL_EVENT_MIN_BYTES + field * PLACE_BYTES, &word, sizeof(word));
	record->used += (uint32_t)count + 1;
}

static void text_kinds_put_field(struct record *record, const struct field *field, uint32_t index,
				 const struct value *value)
{
	uint64_t args[6];

	if (is_text(field->letter)) {
		put_bytes(record, index, value->text.bytes ? value->text.at : "",
			  value->text.bytes);
	} else if (field->letter == 'a') {
		uint32_t word = (uint32_t)sizeof(args) << 16 | record->used;

		if (TEXT_MAX_RECORD - record->used < sizeof(args) + 2)
			return;
		text_read_args(value->text, args);
		memcpy(record->bytes + record->used, args, sizeof(args));
		memcpy(record->bytes + KERNEL_EVENT_MIN_BYTES + index * PLACE_BYTES, &word,
		       sizeof(word));
		record->used += (uint32_t)sizeof(args);
	} else {
		memcpy(record->bytes + KERNEL_EVENT_MIN_BYTES + index * PLACE_BYTES, &value->number,
		       sizeof(value->number));
	}
}

static uint32_t text_kinds_make_record(const struct kind *kind, const struct value *values,
				       const struct text_line *line, uint8_t *bytes)
{
	struct record record = { bytes,
				 KERNEL_EVENT_MIN_BYTES + (kind->field_count + 1) * PLACE_BYTES };
	uint16_t number = (uint16_t)kind->number;

	memset(bytes, 0, record.used);
	memcpy(bytes, &number, sizeof(number));
	bytes[2] = line->flags;
	bytes[3] = line->preempt;
	memcpy(bytes + 4, &line->tid, sizeof(line->tid));
	for (uint32_t i = 0; i < kind->field_count; i++)
		text_kinds_put_field(&record, &kind->fields[i], i, &values[i]);
	put_bytes(&record, kind->field_count, line->text.at, line->text.bytes);
	return record.used;
}

/* ------------------------------------------------------------------ an event */

static struct text_view without_mark(struct text_view text)
{
	static const char mark[] = "[FAILED TO PARSE]";

	if (text_begins(&text, mark)) {
		text.at += strlen(mark);
		text.bytes -= strlen(mark);
		text_skip_blanks(&text);
	}
	return text;
}

struct text_made text_kinds_event(struct text_kinds *kinds, const struct text_line *line,
				  struct event *out_event, uint8_t *record)
{
	struct value values[TEXT_MAX_FIELDS + 1];
	struct text_made made = { .understood = true };
	struct text_view name;
	uint8_t type = text_kinds_call_of(line, &name);
	const struct kind *kind = text_kinds_find_kind(
		kinds, prefix_of(type), type == TEXT_EVENT ? line_event_name(line) : name);

	if (!kind)
		kind = &kinds->kinds[0];
	*out_event = kind->base;
	out_event->time_ns = line->time_ns;
	out_event->tid = line->tid;
	out_event->cpu = (uint16_t)line->cpu;
	out_event->context = context_of(kinds, line);
	made.understood = text_match(kind, without_mark(line->text), values);
	if (kind->is_call || (type != TEXT_EVENT && kind == kinds->kinds)) {
		out_event->type = type == TEXT_ENTER ? EV_SYS_ENTER : EV_SYS_EXIT;
		text_kinds_read_call(kinds, name, line->text, out_event);
		if (kind->is_call) {
			memset(values, 0, sizeof(values));
			values[0].number = (uint64_t)out_event->syscall.nr;
			values[1].number = (uint64_t)out_event->syscall.ret;
		}
	}
	if (record)
		made.record_bytes = text_kinds_make_record(kind, values, line, record);
	for (uint32_t i = 0; made.understood && i < kind->field_count; i++) {
		if (values[i].is_set)
			text_kinds_set_value(kinds, &kind->fields[i], &values[i], out_event);
	}
	if (!made.understood || out_event->type == EV_OTHER) {
		made.understood = kind->base.type == EV_OTHER;
		*out_event = (struct event){
			.time_ns = line->time_ns,
			.tid = line->tid,
			.cpu = (uint16_t)line->cpu,
			.context = context_of(kinds, line),
			.type = EV_OTHER,
			.other = { kind->system, kind->name },
		};
		return made;
	}
	text_kinds_complete(out_event, kind, values);
	return made;
}

/* ------------------------------------------------------------------ symbols */

static void text_kinds_add_symbol(struct text_kinds *kinds, struct text_view view)
{
	struct text_view name = function_name(view);
	uint64_t *place;
	bool added;

	if (!name.bytes || name.bytes > MAX_NAME || text_looks_like_address(name) ||
	    kinds->symbol_count == MAX_SYMBOLS)
		return;
	place = map_add(&kinds->by_symbol, text_kinds_hash_of('f', name), &added);
	if (!added)
		return;
	*place = kinds->symbol_count;
	kinds->symbols = vec_room(kinds->symbols, kinds->symbol_count, &kinds->symbol_cap,
				  sizeof(*kinds->symbols));
	kinds->symbols[kinds->symbol_count++].name = xstrndup(name.at, name.bytes);
}

void text_kinds_add_symbols(struct text_kinds *kinds, const struct text_line *line)
{
	struct value values[TEXT_MAX_FIELDS + 1];
	const struct kind *kind;
	bool has_functions = false;

	if (line->kind != TEXT_EVENT)
		return;
	kind = text_kinds_find_kind(kinds, 0, line->name);
	for (uint32_t i = 0; kind && i < kind->field_count; i++)
		has_functions |= kind->fields[i].letter == 'F' && kind->fields[i].target;
	if (!has_functions || !text_match(kind, line->text, values))
		return;
	for (uint32_t i = 0; i < kind->field_count; i++) {
		if (kind->fields[i].letter == 'F' && values[i].is_set)
			text_kinds_add_symbol(kinds, values[i].text);
	}
}
