/*
 * pidns.c - process ids of a container against those that the kernel records.
 */
#include "record/pidns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/ftrace.h"

#define MARK	      "holdup looks for itself"
#define FIND_TRIES    1000
#define FIND_PAUSE_NS 1000000

int pidns_open(const char *tracing_dir, struct pidns *out_pidns, struct err *err)
{
	struct pidns pidns = PIDNS_NONE;
	int rc = instance_open(tracing_dir, &pidns.instance, err);

	if (rc < 0)
		return rc;
	pidns.mark_fd = openat(pidns.instance.dir_fd, "trace_marker", O_WRONLY | O_CLOEXEC);
	if (pidns.mark_fd < 0)
		rc = err_set(err, -errno, "cannot open trace_marker: %s", strerror(errno));
	else
		rc = ftrace_write(pidns.instance.dir_fd, "tracing_on", "1", err);
	if (rc < 0) {
		pidns_close(&pidns);
		return rc;
	}
	*out_pidns = pidns;
	return 0;
}

void pidns_mark(const struct pidns *pidns)
{
	/* On the stack: older kernels write "<faulted>" for memory that is not present. */
	char text[] = MARK "\n";

	if (pidns->mark_fd < 0)
		return;
	(void)!write(pidns->mark_fd, text, strlen(text)); /* else none is found */
	(void)close(pidns->mark_fd);
	(void)close(pidns->instance.hold_fd);
	(void)close(pidns->instance.dir_fd);
	(void)close(pidns->instance.watchdog_fd);
}

/* "comm-123  [004] ..... 1.5: tracing_mark_write: ...": 123; 0 = not such a line. */
static int32_t line_writer(const char *line, const char *end)
{
	const char *at = memmem(line, (size_t)(end - line), " [", 2);
	long tid;

	while (at && at > line && *at == ' ')
		at--;
	while (at && at > line && *at != '-')
		at--;
	if (!at || *at != '-')
		return 0;
	tid = strtol(at + 1, NULL, 10);
	return tid > 0 && tid <= INT32_MAX ? (int32_t)tid : 0;
}

int32_t pidns_parse(const char *trace)
{
	while (*trace) {
		const char *end = strchrnul(trace, '\n');

		if (*trace != '#' && memmem(trace, (size_t)(end - trace), MARK, strlen(MARK)))
			return line_writer(trace, end);
		trace = *end ? end + 1 : end;
	}
	return 0;
}

int32_t pidns_find(const struct pidns *pidns)
{
	const struct timespec pause = { .tv_nsec = FIND_PAUSE_NS };

	for (int i = 0; i < FIND_TRIES && pidns->mark_fd >= 0; i++) {
		AUTO_FREE char *trace = ftrace_read(pidns->instance.dir_fd, "trace", NULL);
		int32_t tid = trace ? pidns_parse(trace) : 0;

		if (tid)
			return tid;
		nanosleep(&pause, NULL);
	}
	return 0;
}

void pidns_close(struct pidns *pidns)
{
	mem_close_fd(&pidns->mark_fd);
	pidns->mark_fd = -1;
	instance_close(&pidns->instance);
}
