/* err.c - build an error sentence in a fixed buffer. */
#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/*
 * What was appended from 'used' on may quote a trace, a path, a program: nothing in it commands a
 * terminal. 'is_cut': it was longer than its room.
 */
static void make_safe(struct err *err, size_t used, bool is_cut)
{
	AUTO_FREE char *safe = text_escaped(err->text + used);
	size_t room = sizeof(err->text) - used;

	is_cut |= strlen(safe) >= room;
	(void)snprintf(err->text + used, room, "%s", safe);
	if (is_cut)
		memcpy(err->text + sizeof(err->text) - 4, "...", 4);
}

/* Append to err->text; when the room runs out the text ends in "...". */
static void err_append(struct err *err, const char *format, va_list args)
{
	size_t used = strlen(err->text);
	size_t room = sizeof(err->text) - used;
	int wanted = vsnprintf(err->text + used, room, format, args);

	if (wanted >= 0)
		make_safe(err, used, (size_t)wanted >= room);
}

int err_set(struct err *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	err->text[0] = '\0';
	va_start(args, format);
	err_append(err, format, args);
	va_end(args);
	return code;
}

static void append_text(struct err *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append_text(struct err *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	err_append(err, format, args);
	va_end(args);
}

int err_wrap(struct err *err, const char *format, ...)
{
	va_list args;

	if (!err)
		return -1;
	append_text(err, ", while ");
	va_start(args, format);
	err_append(err, format, args);
	va_end(args);
	return err->code;
}
