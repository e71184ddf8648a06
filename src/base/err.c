/* err.c - build an error sentence in a fixed buffer. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Append to err->text; when the room runs out the text ends in "...". */
static void append(struct err *err, const char *format, va_list args)
{
	size_t used = strlen(err->text);
	size_t room = sizeof(err->text) - used;
	int wanted = vsnprintf(err->text + used, room, format, args);

	if (wanted >= 0 && (size_t)wanted >= room)
		memcpy(err->text + sizeof(err->text) - 4, "...", 4);
}

int err_set(struct err *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	err->text[0] = '\0';
	va_start(args, format);
	append(err, format, args);
	va_end(args);
	return code;
}

static void append_text(struct err *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append_text(struct err *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(err, format, args);
	va_end(args);
}

int err_wrap(struct err *err, const char *format, ...)
{
	va_list args;

	if (!err)
		return -1;
	append_text(err, ", while ");
	va_start(args, format);
	append(err, format, args);
	va_end(args);
	return err->code;
}
