/* tracing.c - formats of tracepoints out of a perf.data file. */
#include "read/perf/tracing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "event/facts.h"
#include "read/perf/wire.h"
#include "read/kernel_symbols.h"
#include "store/formats.h"

#define MAX_FORMATS 65536u
#define NAME_BYTES  128u

struct cursor {
	const uint8_t *start, *at, *end;
	bool swap;
	const char *wrong; /* NULL = nothing yet */
};

static const uint8_t *tracing_take(struct cursor *cursor, uint64_t bytes, const char *what)
{
	const uint8_t *at = cursor->at;

	if (cursor->wrong)
		return NULL;
	if (bytes > (uint64_t)(cursor->end - at)) {
		cursor->wrong = what;
		return NULL;
	}
	cursor->at += bytes;
	return at;
}

static uint32_t take_u32(struct cursor *cursor, const char *what)
{
	const uint8_t *at = tracing_take(cursor, 4, what);

	return at ? perf_u32(at, cursor->swap) : 0;
}

static uint64_t perf_tracing_take_u64(struct cursor *cursor, const char *what)
{
	const uint8_t *at = tracing_take(cursor, 8, what);

	return at ? perf_u64(at, cursor->swap) : 0;
}

static const char *perf_tracing_take_string(struct cursor *cursor, const char *what)
{
	const uint8_t *at = cursor->at;
	const uint8_t *end = cursor->wrong ? NULL : memchr(at, '\0', (size_t)(cursor->end - at));

	if (!end) {
		cursor->wrong = cursor->wrong ? cursor->wrong : what;
		return "";
	}
	cursor->at = end + 1;
	return (const char *)at;
}

static void formats_add_text(struct formats *formats, char *name, const uint8_t *text, size_t bytes)
{
	formats->sections = vec_room(formats->sections, formats->count, &formats->cap,
				     sizeof(*formats->sections));
	formats->sections[formats->count++] =
		(struct format_section){ name, xstrndup((const char *)text, bytes), bytes };
}

static void perf_tracing_take_header(struct cursor *cursor, const char *name,
				     struct formats *formats)
{
	const char *found = perf_tracing_take_string(cursor, name);
	const uint8_t *text;
	uint64_t bytes;

	if (!cursor->wrong && strcmp(found, name) != 0)
		cursor->wrong = name;
	bytes = perf_tracing_take_u64(cursor, name);
	text = tracing_take(cursor, bytes, name);
	if (text)
		formats_add_text(formats, xstrdup(name), text, (size_t)bytes);
}

/* "name: sched_switch\nID: ..." */
static void perf_tracing_take_format(struct cursor *cursor, const char *system,
				     struct formats *formats)
{
	uint64_t bytes = perf_tracing_take_u64(cursor, "the format of an event");
	const uint8_t *text = tracing_take(cursor, bytes, "the format of an event");
	const uint8_t *end;
	size_t length;

	if (!text || bytes < 7 || memcmp(text, "name: ", 6) != 0)
		return;
	text += 6;
	bytes -= 6;
	end = memchr(text, '\n', (size_t)bytes);
	length = end ? (size_t)(end - text) : 0;
	if (length == 0 || length > NAME_BYTES || memchr(text, '/', length) ||
	    formats->count >= MAX_FORMATS)
		return;
	formats_add_text(formats,
			 xasprintf("%.*s/%.*s", (int)NAME_BYTES, system, (int)length, text),
			 text - 6, (size_t)bytes + 6);
}

static void take_formats(struct cursor *cursor, struct formats *formats)
{
	uint32_t count = take_u32(cursor, "the formats of ftrace");

	for (uint32_t i = 0; i < count && !cursor->wrong; i++)
		perf_tracing_take_format(cursor, "ftrace", formats);
	count = take_u32(cursor, "the systems of events");
	for (uint32_t i = 0; i < count && !cursor->wrong; i++) {
		const char *system = perf_tracing_take_string(cursor, "the name of a system");
		uint32_t events = take_u32(cursor, "the events of a system");

		for (uint32_t j = 0; j < events && !cursor->wrong; j++)
			perf_tracing_take_format(cursor, *system ? system : "unnamed", formats);
	}
}

/* "ffffffff81000000 T _stext\t[module]"; ends the name. */
static bool perf_tracing_parse_symbol(char *line, struct fact_symbol *out_symbol)
{
	char *end, *name;

	out_symbol->address = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || !end[1] || end[2] != ' ')
		return false;
	name = end + 3;
	name[strcspn(name, " \t")] = '\0';
	out_symbol->name = name;
	return *name && out_symbol->address;
}

void perf_symbols_add(char *text, struct facts *facts)
{
	if (facts->symbols) /* the first ones told */
		facts_take(facts, text);
	else
		(void)symbols_add(facts, text, SIZE_MAX, perf_tracing_parse_symbol);
}

/* Newer versions of perf leave them out. */
static void take_symbols(struct cursor *cursor, struct facts *facts)
{
	uint32_t bytes = take_u32(cursor, "the symbols of the kernel");
	const uint8_t *text = tracing_take(cursor, bytes, "the symbols of the kernel");

	if (text && bytes)
		perf_symbols_add(xstrndup((const char *)text, bytes), facts);
}

int perf_tracing_read(const uint8_t *data, size_t bytes, struct formats *formats,
		      struct facts *facts, struct perf_tracing *out_tracing, struct err *err)
{
	static const uint8_t magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	struct cursor cursor = { data, data, data + bytes, false, NULL };
	const uint8_t *start = tracing_take(&cursor, sizeof(magic), "the magic");
	const uint8_t *orders;

	if (!start || memcmp(start, magic, sizeof(magic)) != 0)
		return err_set(err, -EBADMSG, "it does not begin as one");
	(void)perf_tracing_take_string(&cursor, "the version");
	orders = tracing_take(&cursor, 2, "the byte order");
	if (!orders)
		return err_set(err, -EBADMSG, "it ends in the byte order");
	out_tracing->big_endian = orders[0] != 0;
	out_tracing->long_bytes = orders[1] == 4 ? 4 : 8;
	cursor.swap = order_swaps(out_tracing->big_endian);
	(void)tracing_take(&cursor, 4, "the size of a page");
	perf_tracing_take_header(&cursor, "header_page", formats);
	perf_tracing_take_header(&cursor, "header_event", formats);
	take_formats(&cursor, formats);
	take_symbols(&cursor, facts);
	if (cursor.wrong)
		return err_set(err, -EBADMSG, "%s: wrong data at byte %zu", cursor.wrong,
			       (size_t)(cursor.at - cursor.start));
	return 0;
}
