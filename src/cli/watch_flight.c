/* watch_flight.c - a pipe, or a child that asks and tells by its status what came of it. */
#include "cli/watch_flight.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/flight_ask.h"

#define WHY_BYTES   700 /* of a line, which is whole in a pipe and in a question */
#define NONE_STATUS 10	/* of the child: no flight recorder runs */

static int pipe_of_starter(void)
{
	const char *text = getenv(WATCH_FLIGHT_FD);
	uint64_t fd;
	struct stat st;

	if (!text || !text_parse_u64(text, &fd) || fd <= STDERR_FILENO || fd > 1023 ||
	    fstat((int)fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return -1;
	(void)fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	return (int)fd;
}

void watch_flight_begin(struct watch_flight *flight)
{
	*flight = (struct watch_flight){ .pipe_fd = pipe_of_starter() };
}

char *watch_flight_why(const char *model_path, const char *key, const char *what, int32_t tid,
		       bool is_proven)
{
	const char *slash = strrchr(model_path, '/');
	AUTO_FREE char *text = xasprintf("model %s: key=%.100s: %.400s, thread %d%s",
					 slash ? slash + 1 : model_path, key, what, tid,
					 is_proven ? "" : " by the program's own word");
	char *safe = text_escaped(text);

	if (strlen(safe) > WHY_BYTES)
		safe[WHY_BYTES] = '\0';
	return safe;
}

void watch_flight_tell(struct watch_flight *flight, const char *why)
{
	AUTO_FREE char *line = xasprintf("%" PRIu64 " %s\n", flight->untold, why);
	ssize_t bytes = (ssize_t)strlen(line);

	if (write(flight->pipe_fd, line, (size_t)bytes) != bytes) {
		flight->untold++;
		flight->left_out++;
		return;
	}
	flight->untold = 0;
	flight->done++;
}

bool watch_flight_may_ask(const struct watch_flight *flight, uint32_t most, double gap_s)
{
	uint64_t now_ns = clock_now_ns();

	return flight->done + flight->failed < most &&
	       (!flight->asked_ns || (double)(now_ns - flight->asked_ns) >= gap_s * 1e9);
}

static void __attribute__((noreturn)) ask(const char *why)
{
	AUTO_FREE char *line = xasprintf("snapshot %s", why);
	AUTO_FREE char *answer = NULL;
	struct err err = { 0 };
	int rc = flight_ask(line, &answer, &err);
	AUTO_FREE char *safe = text_escaped(rc < 0 ? err.text : answer);

	if (rc == -ESRCH)
		_exit(NONE_STATUS);
	if (rc != 0)
		fprintf(stderr, "holdup watch: no snapshot of the flight recorder: %s\n", safe);
	_exit(rc != 0);
}

pid_t watch_flight_ask(struct watch_flight *flight, const char *why)
{
	pid_t pid;

	flight->asked_ns = clock_now_ns();
	(void)fflush(stdout); /* what is in the buffer is ours to print */
	pid = fork();
	if (pid == 0) {
		child_reset_signals();
		ask(why);
	}
	flight->failed += pid < 0;
	return pid > 0 ? pid : 0;
}

void watch_flight_ended(struct watch_flight *flight, int status)
{
	bool is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	flight->done += is_done;
	flight->failed += !is_done;
	if (flight->is_none_told || !WIFEXITED(status) || WEXITSTATUS(status) != NONE_STATUS)
		return;
	flight->is_none_told = true;
	fprintf(stderr, "holdup watch: no snapshot: no flight recorder runs: sudo holdup flight "
			"start\n");
}
