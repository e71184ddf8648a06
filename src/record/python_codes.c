/* python_codes.c - see python_codes.h. */
#include "record/python_codes.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/bpf/raw_python.h"
#include "symbol/python_lines.h"

#define CODES_MAX 100000u
#define BYTES_MAX ((size_t)64 << 20) /* of names and tables */

struct python_code {
	char *function, *file; /* owned; 'file' may be NULL */
	uint8_t *table;	       /* owned */
	uint32_t table_bytes;
	uint32_t line; /* of the first one */
};

struct python_codes {
	struct map index;	   /* key -> index */
	struct python_code *codes; /* owned */
	size_t count, cap;
	size_t bytes;
};

struct python_codes *python_codes_new(void)
{
	return xcalloc(1, sizeof(struct python_codes));
}

void python_codes_free(struct python_codes *codes)
{
	if (!codes)
		return;
	for (size_t i = 0; i < codes->count; i++) {
		free(codes->codes[i].function);
		free(codes->codes[i].file);
		free(codes->codes[i].table);
	}
	free(codes->codes);
	map_fini(&codes->index);
	free(codes);
}

static bool is_character(uint32_t code)
{
	return code && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
}

/* To free; NULL = it is no text. */
static char *text_of(const struct raw_python_text *raw, const uint8_t *bytes, size_t room)
{
	size_t width = raw->width, at = 0;
	char *text;

	if (!raw->bytes || raw->bytes > room || (width != 1 && width != 2 && width != 4) ||
	    raw->bytes % width)
		return NULL;
	text = xcalloc(raw->bytes / width, 4 + 1);
	for (size_t i = 0; i < raw->bytes; i += width) {
		uint32_t character = 0;

		memcpy(&character, bytes + i,
		       width); /* little endian, as the machines that are known */
		if (!is_character(character)) {
			free(text);
			return NULL;
		}
		at += text_put_utf8(text + at, character);
	}
	return text;
}

void python_codes_add(struct python_codes *codes, const struct raw_python_code *raw, size_t bytes)
{
	struct python_code code = { .line = raw->line, .table_bytes = raw->table_bytes };
	size_t head = offsetof(struct raw_python_code, table);

	if (bytes < head || raw->table_bytes > bytes - head ||
	    raw->table_bytes > RAW_PYTHON_TABLE || codes->count >= CODES_MAX ||
	    codes->bytes > BYTES_MAX || map_find(&codes->index, raw->key))
		return;
	code.function = text_of(&raw->name, raw->name_text, sizeof(raw->name_text));
	if (!code.function)
		return;
	code.file = text_of(&raw->file, raw->file_text, sizeof(raw->file_text));
	code.table = xcalloc(1, raw->table_bytes + 1);
	memcpy(code.table, raw->table, raw->table_bytes);
	codes->bytes += 5 * (raw->name.bytes + (size_t)raw->file.bytes) + raw->table_bytes;
	codes->codes = vec_room(codes->codes, codes->count, &codes->cap, sizeof(*codes->codes));
	codes->codes[codes->count] = code;
	map_put(&codes->index, raw->key, codes->count++);
}

bool python_codes_find(const struct python_codes *codes, const struct raw_python_frame *frame,
		       struct python_place *out_place)
{
	const uint64_t *index = map_find(&codes->index, frame->code);
	const struct python_code *code = index ? &codes->codes[*index] : NULL;

	if (!code)
		return false;
	*out_place = (struct python_place){
		.function = code->function,
		.file = code->file,
		.line = frame->unit == RAW_PYTHON_BEGIN
				? code->line
				: python_line(code->table, code->table_bytes, code->line,
					      frame->unit),
	};
	return true;
}
