/*
 * progress.c - carriage returns and erase-to-end-of-line.
 *
 * The work does not come back to us in time, so a thread waits for the moment to be
 * over. It only writes what the main thread has left for it.
 */
#include "cli/progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/thread.h"

#define MOMENT_NS 300000000L

static struct {
	pthread_mutex_t lock;
	pthread_cond_t over;
	pthread_t thread; /* main thread only, as 'begun' */
	bool begun;
	bool shown;	/* under the lock, as all that follows */
	bool is_over;	/* the thread shall end */
	char line[160]; /* what is to be shown */
} later = { .lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER };

static bool progress_is_shown(void)
{
	return isatty(STDERR_FILENO) == 1;
}

static void progress_put(const char *line)
{
	(void)!write(STDERR_FILENO, line, strlen(line)); /* a terminal that is gone needs none */
}

static void *show_later(void *unused)
{
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += MOMENT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&later.lock);
	while (!later.is_over && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&later.over, &later.lock, &until);
	if (!later.is_over) {
		later.shown = true;
		progress_put(later.line);
	}
	pthread_mutex_unlock(&later.lock);
	return unused;
}

/* Without a thread it is shown at once. */
static void progress_begin(void)
{
	later.is_over = false;
	later.shown = thread_start_quiet(&later.thread, NULL, show_later, NULL) != 0;
	later.begun = !later.shown;
}

void progress_recording(void *context, double seconds, uint64_t bytes, uint64_t lost)
{
	(void)context;
	if (!progress_is_shown())
		return;
	terminal_codes(stderr, "\r");
	fprintf(stderr, "holdup: recording for %.0f s, %s", seconds, text_size(bytes).s);
	if (lost > 0)
		fprintf(stderr, ", %s events lost", text_count(lost).s);
	fputs("; Ctrl-C stops", stderr);
	terminal_codes(stderr, "\033[K");
	later.shown = true; /* no thread is about: the phase is over */
}

void progress_phase(void *context, const char *what)
{
	(void)context;
	if (what)
		progress_say(what);
	else
		progress_clear();
}

void progress_say(const char *text)
{
	AUTO_FREE char *safe = text_escaped(text);
	char line[sizeof(later.line)];

	if (!progress_is_shown())
		return;
	(void)snprintf(line, sizeof(line), "\rholdup: %s\033[K", safe);
	if (!later.begun && !later.shown)
		progress_begin();
	pthread_mutex_lock(&later.lock);
	if (later.shown && strcmp(later.line, line) != 0)
		progress_put(line);
	memcpy(later.line, line, sizeof(line));
	pthread_mutex_unlock(&later.lock);
}

void progress_clear(void)
{
	if (later.begun) {
		pthread_mutex_lock(&later.lock);
		later.is_over = true;
		pthread_cond_signal(&later.over);
		pthread_mutex_unlock(&later.lock);
		(void)pthread_join(later.thread, NULL);
		later.begun = false;
	}
	if (later.shown)
		progress_put("\r\033[K");
	later.shown = false;
	later.line[0] = '\0';
}
