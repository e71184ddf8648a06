/* outbuf.c - collect text, write it when there is much of it. */
#include "base/outbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#define FD_BYTES     (256u << 10)
#define MEMORY_BYTES (4u << 10)

static void init(struct outbuf *out, int fd, size_t bytes)
{
	/* Plain copies may write up to a word behind what they put. */
	out->start = out->at = xmalloc(bytes + OUTBUF_SLACK);
	out->limit = out->start + bytes - OUTBUF_SLACK;
	out->fd = fd;
	out->is_text = false;
	out->error = 0;
}

void outbuf_to_fd(struct outbuf *out, int fd)
{
	init(out, fd, FD_BYTES);
}

void outbuf_to_terminal(struct outbuf *out, int fd)
{
	init(out, fd, FD_BYTES);
	out->is_text = true;
	out->terminal = (struct terminal){ .fd = fd };
}

void outbuf_to_memory(struct outbuf *out)
{
	init(out, -1, 2 * MEMORY_BYTES);
}

void outbuf_fini(struct outbuf *out)
{
	free(out->start);
	*out = (struct outbuf){ .fd = -1 };
}

static void write_all(struct outbuf *out, const char *at, size_t count)
{
	if (out->is_text) {
		out->error = out->error ? out->error : terminal_put(&out->terminal, at, count);
		return;
	}
	out->error = out->error ? out->error : file_write(out->fd, at, count);
}

int outbuf_flush(struct outbuf *out)
{
	if (out->fd < 0)
		return 0;
	write_all(out, out->start, outbuf_bytes(out));
	out->at = out->start;
	return out->error;
}

void outbuf_write(struct outbuf *out, const void *bytes, size_t count)
{
	if (out->fd < 0) {
		outbuf_put(out, bytes, count);
		return;
	}
	(void)outbuf_flush(out);
	write_all(out, bytes, count);
}

void outbuf_make_room(struct outbuf *out)
{
	size_t used = outbuf_bytes(out), bytes = 2 * used;

	if (out->fd >= 0) {
		(void)outbuf_flush(out); /* a failure stays in out->error */
		return;
	}
	out->start = xrealloc(out->start, bytes + 2 * (size_t)OUTBUF_SLACK, 1);
	out->at = out->start + used;
	out->limit = out->start + bytes;
}

void outbuf_put(struct outbuf *out, const void *bytes, size_t count)
{
	const char *from = bytes;

	while (count) {
		size_t part = count < OUTBUF_SLACK ? count : OUTBUF_SLACK;

		outbuf_room(out);
		memcpy(out->at, from, part);
		out->at += part;
		from += part;
		count -= part;
	}
}

void outbuf_blanks(struct outbuf *out, int64_t count)
{
	for (; count > 0; count--)
		outbuf_char(out, ' ');
}

void outbuf_foreign(struct outbuf *out, const char *text, size_t max)
{
	size_t bytes = 0, plain = 0;

	while (plain < max && text_is_plain(text[plain]))
		plain++;
	outbuf_put(out, text, plain);
	text += plain;
	max -= plain;
	bytes = strnlen(text, max);
	if (bytes) {
		AUTO_FREE char *copy = xstrndup(text, bytes);
		AUTO_FREE char *safe = text_escaped(copy);

		outbuf_string(out, safe);
	}
}

/* One character of a JSON string that needs more than a copy. Returns its bytes. */
static size_t put_json_special(struct outbuf *out, const char *text, size_t left)
{
	unsigned char c = (unsigned char)*text;
	char copy[5] = { 0 };
	uint32_t code;
	size_t bytes;

	if (c == '"' || c == '\\') {
		outbuf_char(out, '\\');
		outbuf_char(out, (char)c);
		return 1;
	}
	memcpy(copy, text, strnlen(text, left < 4 ? left : 4));
	bytes = text_utf8(copy, &code);
	if (bytes && text_is_safe(code))
		outbuf_put(out, text, bytes);
	else if (bytes)
		outbuf_string(out, text_json_escape(code).s);
	else
		outbuf_string(out, "\xef\xbf\xbd");
	return bytes ? bytes : 1;
}

void outbuf_json(struct outbuf *out, const char *text, size_t max)
{
	size_t at = 0;

	outbuf_char(out, '"');
	while (at < max && text[at]) {
		size_t plain = at;

		while (plain < max && text_is_plain(text[plain]) && text[plain] != '"' &&
		       text[plain] != '\\')
			plain++;
		outbuf_put(out, text + at, plain - at);
		at = plain;
		if (at < max && text[at])
			at += put_json_special(out, text + at, max - at);
	}
	outbuf_char(out, '"');
}
