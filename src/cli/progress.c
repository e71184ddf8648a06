/* progress.c - carriage returns and erase-to-end-of-line. */
#include "cli/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"

static bool is_shown(void)
{
	return isatty(STDERR_FILENO) == 1;
}

void progress_recording(void *context, double seconds, uint64_t bytes, uint64_t lost)
{
	(void)context;
	if (!is_shown())
		return;
	fprintf(stderr, "\rholdup: recording for %.0f s, %s", seconds, text_size(bytes).s);
	if (lost > 0)
		fprintf(stderr, ", %s events lost", text_count(lost).s);
	fputs("; Ctrl-C ends it\033[K", stderr);
	fflush(stderr);
}

void progress_say(const char *text)
{
	if (!is_shown())
		return;
	fprintf(stderr, "\rholdup: %s\033[K", text);
	fflush(stderr);
}

void progress_clear(void)
{
	if (!is_shown())
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
}
