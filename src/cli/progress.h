/*
 * progress.h - one line on the terminal that says that work goes on.
 *
 * It stands on stderr, only when that is a terminal, and is erased at the end.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

/* For record_opts.progress. */
void progress_recording(void *context, double seconds, uint64_t bytes, uint64_t lost);

void progress_say(const char *text);
void progress_clear(void);

#endif
