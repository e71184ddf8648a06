/* list_count.c - a hash of the values' texts. */
#include "cli/list_count.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "cli/list_print.h"
#include "cli/list_reader.h"
#include "event/event.h"
#include "report/list.h"

#define MAX_NAMES 6u /* a table has so many columns besides share and events */
#define SLOTS	  (1u << 19) /* over twice LIST_COUNT_MAX */
#define KEY_BYTES (32u << 20) /* of all keys together */

struct key {
	char *text; /* owned; the values, each terminated; \1 alone = there is none */
	uint32_t bytes;
	uint64_t hash;
	uint64_t count;
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
	struct outbuf made;
	struct list_counts sums;
};

/* The values of a line as one text. */
static void make_key(struct counter *counter, const struct value_line *line)
{
	struct outbuf *made = &counter->made;

	outbuf_reset(made);
	for (size_t i = 0; i < counter->name_count; i++) {
		struct value_place place = value_place(counter->names[i], line->kind);

		if (place.kind == VALUE_NONE)
			outbuf_char(made, '\1');
		else
			value_text(counter->context, &place, line,
				   value_has_words(&place, line->kind), made);
		outbuf_char(made, '\0');
	}
}

static void count_line(struct counter *counter, const struct value_line *line)
{
	size_t bytes;
	uint64_t hash;
	uint32_t at;
	struct key *key;

	make_key(counter, line);
	counter->sums.total++;
	bytes = outbuf_bytes(&counter->made);
	hash = hash_bytes(counter->made.start, bytes, 0);
	for (at = (uint32_t)hash % SLOTS; counter->slots[at]; at = (at + 1) % SLOTS) {
		key = &counter->keys[counter->slots[at] - 1];
		if (key->hash == hash && key->bytes == bytes &&
		    memcmp(key->text, counter->made.start, bytes) == 0) {
			key->count++;
			return;
		}
	}
	if (counter->key_count == LIST_COUNT_MAX || bytes > KEY_BYTES - counter->key_bytes) {
		counter->sums.uncounted++;
		return;
	}
	counter->keys = vec_room(counter->keys, counter->key_count, &counter->key_cap, sizeof(*key));
	key = &counter->keys[counter->key_count++];
	*key = (struct key){ xmalloc(bytes), (uint32_t)bytes, hash, 1 };
	memcpy(key->text, counter->made.start, bytes);
	counter->key_bytes += bytes;
	counter->slots[at] = (uint32_t)counter->key_count;
}

static void count_hole(struct counter *counter, const struct event *event)
{
	counter->sums.holes++;
	counter->sums.lost += event->lost.count ? event->lost.count : 1;
}

static int more_first(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	int order;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	order = memcmp(a->text, b->text, a->bytes < b->bytes ? a->bytes : b->bytes);
	return order ? order : a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static void print(struct counter *counter, uint32_t top, bool json)
{
	size_t columns = counter->name_count;
	AUTO_FREE const char **names = xcalloc(columns, sizeof(*names));
	AUTO_FREE const char **values = xcalloc(counter->key_count * columns + 1, sizeof(*values));
	AUTO_FREE struct list_count *rows = xcalloc(counter->key_count + 1, sizeof(*rows));

	if (counter->key_count)
		qsort(counter->keys, counter->key_count, sizeof(struct key), more_first);
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

static int read_lines(struct counter *counter, struct list_reader *reader, struct err *err)
{
	struct value_line line;
	int rc;

	while ((rc = list_reader_next(reader, &line, err)) > 0) {
		if (line.event->type == EV_LOST)
			count_hole(counter, line.event);
		else
			count_line(counter, &line);
	}
	return rc;
}

int list_count(struct list_reader *reader, const char *fields, uint32_t top, bool json,
	       struct err *err)
{
	struct counter counter = { .context = list_reader_context(reader) };
	int rc = list_names(counter.context, fields, &counter.names, &counter.name_count, err);

	if (rc == 0 && counter.name_count > MAX_NAMES) {
		list_names_free(counter.names, counter.name_count);
		rc = err_set(err, -EINVAL, "more than %u fields", MAX_NAMES);
	}
	if (rc < 0)
		return err_wrap(err, "reading --count-by");
	counter.slots = xcalloc(SLOTS, sizeof(*counter.slots));
	outbuf_to_memory(&counter.made);
	rc = read_lines(&counter, reader, err);
	if (rc == 0)
		print(&counter, top, json);
	for (size_t i = 0; i < counter.key_count; i++)
		free(counter.keys[i].text);
	free(counter.keys);
	free(counter.slots);
	outbuf_fini(&counter.made);
	list_names_free(counter.names, counter.name_count);
	return rc;
}
