/*
 * progress.h - one line on the terminal that says that work goes on.
 *
 * It stands on stderr, only when that is a terminal and the work takes longer than a
 * moment (0.3 s), and is erased at the end. Used by the main thread only.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

/* For record_opts.progress. */
void progress_recording(void *context, double seconds, uint64_t bytes, uint64_t lost);

/* For record_opts.phase: progress_say(), and progress_clear() for NULL. */
void progress_phase(void *context, const char *what);

/* The work that goes on now; the moment counts from the first call since progress_clear(). */
void progress_say(const char *text);
void progress_clear(void);

#endif
