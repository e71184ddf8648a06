/*
 * list_count.c - a hash of the values' texts.
 *
 * Most lines have values that many lines before had: what these texts are made of (the kind of
 * event, a thread's name, numbers) leads by a table to the key that came of it.
 */
#include "cli/list_count.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/line_reader.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "cli/list_print.h"
#include "event/comms.h"
#include "event/event.h"
#include "fields/print.h"
#include "fields/value.h"
#include "report/list.h"

#define MAX_NAMES 6u	      /* a table has so many columns besides share and events */
#define SLOTS	  (1u << 19)  /* over twice LIST_COUNT_MAX */
#define KEY_BYTES (32u << 20) /* of all keys together */
#define SEEN	  4096u	      /* values that are known again, a power of two */
#define RAW_WORDS (2u * MAX_NAMES + 1)

struct key {
	char *text; /* owned; the values, each terminated; \1 alone = there is none */
	uint32_t bytes;
	uint64_t hash;
	uint64_t count;
};

/* What a name is in one kind of event. */
struct column {
	struct value_place place;
	bool has_words;
	bool is_quick; /* its text follows from a few words, see put_raw() */
};

/* The names in one kind of event. */
struct kind {
	struct column *columns; /* owned; NULL = not met yet */
	bool decides;		/* its events have the same values all */
	bool has_fields;	/* among them */
	uint32_t key;		/* of these, plus 1; 0 = not known yet */
};

/* What the texts of a line are made of, and the key that it was. */
struct seen {
	uint64_t raw[RAW_WORDS];
	uint32_t key; /* plus 1; 0 = unused */
};

struct counter {
	const struct value_context *context;
	struct value_name **names; /* owned */
	size_t name_count;
	uint32_t *slots;  /* owned; index of a key, plus 1 */
	struct key *keys; /* owned */
	size_t key_count;
	size_t key_cap;
	size_t key_bytes;
	struct kind *kinds; /* owned; by value_kind_index() */
	size_t kind_count;
	struct seen *seen; /* owned */
	struct outbuf made;
	struct list_counts sums;
};

static bool is_quick(const struct value_place *place)
{
	switch (place->column) {
	case COLUMN_EVENT:
	case COLUMN_NAME:
	case COLUMN_SYSTEM:
	case COLUMN_CPU:
	case COLUMN_TID:
	case COLUMN_COMM:
		return true;
	case COLUMN_FIELD:
		return place->kind == VALUE_NUMBER || place->kind == VALUE_NONE;
	default:
		return place->kind == VALUE_NONE;
	}
}

/* Does its text follow from the kind of event? */
static bool is_of_kind(const struct value_place *place)
{
	return place->kind == VALUE_NONE || place->column == COLUMN_EVENT ||
	       place->column == COLUMN_NAME || place->column == COLUMN_SYSTEM;
}

static void meet_kind(struct counter *counter, const struct value_line *line, struct kind *kind)
{
	kind->columns = xcalloc(counter->name_count, sizeof(*kind->columns));
	kind->decides = true;
	for (size_t i = 0; i < counter->name_count; i++) {
		struct column *column = &kind->columns[i];

		column->place = value_place(counter->names[i], line->kind);
		column->has_words = column->place.kind != VALUE_NONE &&
				    value_has_words(&column->place, line->kind);
		column->is_quick = is_quick(&column->place);
		kind->has_fields |= column->place.field != NULL;
		kind->decides &= is_of_kind(&column->place);
	}
}

/* The words that the line's texts follow from. False when these are not enough. */
static bool put_raw(const struct counter *counter, const struct value_line *line,
		    const struct kind *kind, uint64_t raw[RAW_WORDS])
{
	const struct column *columns = kind->columns;
	bool is_call = line->event->type == EV_SYS_ENTER || line->event->type == EV_SYS_EXIT;
	uint64_t *to = raw;

	_Static_assert(COMMS_BYTES <= 2 * sizeof(*raw), "a name fits into two words");
	memset(raw, 0, (2 * counter->name_count + 1) * sizeof(*raw));
	/* One that is too short has no words. */
	if (kind->has_fields && line->record.data && line->record.bytes < line->kind->need_bytes)
		return false;
	*to++ = (uint64_t)value_kind_index(counter->context->printer, line->kind) << 1 |
		(is_call && line->event->syscall.compat);
	for (size_t i = 0; i < counter->name_count; i++, to += 2) {
		const struct value_place *place = &columns[i].place;

		if (!columns[i].is_quick)
			return false;
		if (place->column == COLUMN_COMM)
			memcpy(to, line->comm, strnlen(line->comm, COMMS_BYTES));
		else
			to[0] = value_number(counter->context, place, line);
		/* A call is told by the event, its number by the record. */
		if (is_call && columns[i].has_words)
			to[1] = (uint64_t)line->event->syscall.nr;
	}
	return true;
}

/* The values of a line as one text. */
static void list_count_make_key(struct counter *counter, const struct value_line *line,
				const struct column *columns)
{
	struct outbuf *made = &counter->made;

	outbuf_reset(made);
	for (size_t i = 0; i < counter->name_count; i++) {
		if (columns[i].place.kind == VALUE_NONE)
			outbuf_char(made, '\1');
		else
			value_text(counter->context, &columns[i].place, line, columns[i].has_words,
				   made);
		outbuf_char(made, '\0');
	}
}

/* Count the text that was made. Returns its key plus 1; 0 = there is no room for another. */
static uint32_t count_key(struct counter *counter)
{
	size_t bytes;
	uint64_t hash;
	uint32_t at;
	struct key *key;

	bytes = outbuf_bytes(&counter->made);
	hash = hash_bytes(counter->made.start, bytes, 0);
	for (at = (uint32_t)hash % SLOTS; counter->slots[at]; at = (at + 1) % SLOTS) {
		key = &counter->keys[counter->slots[at] - 1];
		if (key->hash == hash && key->bytes == bytes &&
		    memcmp(key->text, counter->made.start, bytes) == 0) {
			key->count++;
			return counter->slots[at];
		}
	}
	if (counter->key_count == LIST_COUNT_MAX || bytes > KEY_BYTES - counter->key_bytes) {
		counter->sums.uncounted++;
		return 0;
	}
	counter->keys =
		vec_room(counter->keys, counter->key_count, &counter->key_cap, sizeof(*key));
	key = &counter->keys[counter->key_count++];
	*key = (struct key){ xmalloc(bytes), (uint32_t)bytes, hash, 1 };
	memcpy(key->text, counter->made.start, bytes);
	counter->key_bytes += bytes;
	counter->slots[at] = (uint32_t)counter->key_count;
	return counter->slots[at];
}

/* A line whose values do not follow from its kind: by what they are made of. */
static void count_values(struct counter *counter, const struct value_line *line,
			 const struct kind *kind)
{
	size_t words = 2 * counter->name_count + 1;
	uint64_t raw[RAW_WORDS], hash = 0;
	struct seen *seen = NULL;
	uint32_t key;

	if (put_raw(counter, line, kind, raw)) {
		for (size_t i = 0; i < words; i++)
			hash = (hash ^ raw[i]) * UINT64_C(0x9e3779b97f4a7c15) >> 7 ^ hash << 51;
		seen = &counter->seen[(hash ^ hash >> 29) % SEEN];
		if (seen->key && memcmp(seen->raw, raw, words * sizeof(*raw)) == 0) {
			counter->keys[seen->key - 1].count++;
			return;
		}
	}
	list_count_make_key(counter, line, kind->columns);
	key = count_key(counter);
	if (!seen || !key)
		return;
	memcpy(seen->raw, raw, words * sizeof(*raw));
	seen->key = key;
}

static void count_line(struct counter *counter, const struct value_line *line)
{
	struct kind *kind =
		&counter->kinds[value_kind_index(counter->context->printer, line->kind)];

	counter->sums.total++;
	if (kind->key) {
		counter->keys[kind->key - 1].count++;
		return;
	}
	if (!kind->columns)
		meet_kind(counter, line, kind);
	if (!kind->decides) {
		count_values(counter, line, kind);
		return;
	}
	list_count_make_key(counter, line, kind->columns);
	kind->key = count_key(counter);
}

static void list_count_hole(struct counter *counter, const struct event *event)
{
	counter->sums.holes++;
	if (event->lost.is_step)
		return;
	counter->sums.lost += event->lost.count ? event->lost.count : 1;
}

static int list_count_more_first(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	int order;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	order = memcmp(a->text, b->text, a->bytes < b->bytes ? a->bytes : b->bytes);
	return order ? order : a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static void list_count_print(struct counter *counter, uint32_t top, bool json)
{
	size_t columns = counter->name_count;
	AUTO_FREE const char **names = xcalloc(columns, sizeof(*names));
	AUTO_FREE const char **values = xcalloc(counter->key_count * columns + 1, sizeof(*values));
	AUTO_FREE struct list_count *rows = xcalloc(counter->key_count + 1, sizeof(*rows));

	if (counter->key_count)
		qsort(counter->keys, counter->key_count, sizeof(struct key), list_count_more_first);
	for (size_t i = 0; i < columns; i++)
		names[i] = value_name_text(counter->names[i]);
	for (size_t i = 0; i < counter->key_count; i++) {
		const char *at = counter->keys[i].text;

		rows[i].values = &values[i * columns];
		rows[i].count = counter->keys[i].count;
		for (size_t j = 0; j < columns; j++, at += strlen(at) + 1)
			values[i * columns + j] = *at == '\1' ? NULL : at;
	}
	counter->sums.names = names;
	counter->sums.name_count = columns;
	counter->sums.rows = rows;
	counter->sums.row_count = counter->key_count;
	report_list_counts(stdout, &counter->sums, top, json);
}

/* Do the values follow from the kind of event, the CPU and the thread? */
static bool is_of_heads(const struct counter *counter)
{
	for (size_t i = 0; i < counter->name_count; i++) {
		switch (value_name_column(counter->names[i])) {
		case COLUMN_EVENT:
		case COLUMN_SYSTEM:
		case COLUMN_CPU:
		case COLUMN_TID:
		case COLUMN_COMM:
			break;
		default:
			return false;
		}
	}
	return true;
}

static int list_count_read_lines(struct counter *counter, struct line_reader *reader,
				 struct err *err)
{
	struct value_line line;
	int rc;

	while ((rc = line_reader_next(reader, &line, err)) > 0) {
		if (line.event->type == EV_LOST)
			list_count_hole(counter, line.event);
		else
			count_line(counter, &line);
	}
	return rc;
}

int list_count(struct line_reader *reader, const char *fields, uint32_t top, bool json,
	       struct err *err)
{
	struct counter counter = { .context = line_reader_context(reader) };
	int rc = list_names(counter.context, fields, &counter.names, &counter.name_count, err);

	if (rc == 0 && counter.name_count > MAX_NAMES) {
		list_names_free(counter.names, counter.name_count);
		rc = err_set(err, -EINVAL, "more than %u fields", MAX_NAMES);
	}
	if (rc < 0)
		return err_wrap(err, "reading --count-by");
	counter.slots = xcalloc(SLOTS, sizeof(*counter.slots));
	counter.seen = xcalloc(SEEN, sizeof(*counter.seen));
	counter.kind_count = value_kind_count(counter.context->printer);
	counter.kinds = xcalloc(counter.kind_count, sizeof(*counter.kinds));
	outbuf_to_memory(&counter.made);
	if (is_of_heads(&counter))
		rc = line_reader_heads(reader, err);
	if (rc == 0)
		rc = list_count_read_lines(&counter, reader, err);
	if (rc == 0)
		list_count_print(&counter, top, json);
	for (size_t i = 0; i < counter.key_count; i++)
		free(counter.keys[i].text);
	for (size_t i = 0; i < counter.kind_count; i++)
		free(counter.kinds[i].columns);
	free(counter.kinds);
	free(counter.seen);
	free(counter.keys);
	free(counter.slots);
	outbuf_fini(&counter.made);
	list_names_free(counter.names, counter.name_count);
	return rc;
}
