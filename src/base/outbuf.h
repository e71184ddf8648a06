/*
 * outbuf.h - text that is made fast and written in large pieces.
 *
 *	struct outbuf out;
 *
 *	outbuf_to_fd(&out, STDOUT_FILENO);
 *	outbuf_room(&out);
 *	out.at = digits_u64(out.at, events);
 *	outbuf_char(&out, '\n');
 *	rc = outbuf_flush(&out);
 *	outbuf_fini(&out);
 *
 * After outbuf_room() there are OUTBUF_SLACK bytes at out.at that may be written without
 * asking again; the functions that take text of any length ask themselves. Used by one
 * thread at a time.
 */
#ifndef BASE_OUTBUF_H
#define BASE_OUTBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/terminal.h"

#define OUTBUF_SLACK 4096u

struct outbuf {
	char *at;		  /* where the next byte goes */
	char *limit;		  /* behind this there is only the slack */
	char *start;		  /* owned */
	int fd;			  /* -1 = it grows in memory */
	bool is_text;		  /* for a terminal, too */
	struct terminal terminal; /* used when 'is_text' */
	int error; /* negative errno of the first write that failed; what follows is dropped */
};

/* Text goes to 'fd', which stays the caller's, or into memory that grows. */
void outbuf_to_fd(struct outbuf *out, int fd);
/* The same, of text that a terminal may get: see terminal.h. */
void outbuf_to_terminal(struct outbuf *out, int fd);
void outbuf_to_memory(struct outbuf *out);
void outbuf_fini(struct outbuf *out);

/* Write out what is there. Returns 0 or out->error. In memory: nothing to do. */
int outbuf_flush(struct outbuf *out);

/* Many bytes, without copying them: what is there goes out first. */
void outbuf_write(struct outbuf *out, const void *bytes, size_t count);

/* Slow path of outbuf_room(). */
void outbuf_make_room(struct outbuf *out);

static inline void outbuf_room(struct outbuf *out)
{
	if (__builtin_expect(out->at > out->limit, 0))
		outbuf_make_room(out);
}

static inline size_t outbuf_bytes(const struct outbuf *out)
{
	return (size_t)(out->at - out->start);
}

/* In memory: begin again. */
static inline void outbuf_reset(struct outbuf *out)
{
	out->at = out->start;
}

/* Any bytes, as they are. */
void outbuf_put(struct outbuf *out, const void *bytes, size_t count);

static inline void outbuf_char(struct outbuf *out, char c)
{
	outbuf_room(out);
	*out->at++ = c;
}

/* The lowest 'bytes' bytes of the number, the lowest first. */
static inline void outbuf_little(struct outbuf *out, uint64_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		outbuf_char(out, (char)(value >> (8 * i)));
}

static inline void outbuf_string(struct outbuf *out, const char *text)
{
	outbuf_put(out, text, strlen(text));
}

/* 'count' blanks; none when it is not above 0. */
void outbuf_blanks(struct outbuf *out, int64_t count);

/*
 * Text out of a trace, up to 'max' bytes or a terminator: what could harm a terminal or
 * break the line is escaped as text_escaped() does.
 */
void outbuf_foreign(struct outbuf *out, const char *text, size_t max);

/* The same as a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD. */
void outbuf_json(struct outbuf *out, const char *text, size_t max);

#endif
