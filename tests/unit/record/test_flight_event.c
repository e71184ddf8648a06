/* test_flight_event.c - the line that tells of a kernel event; skipped where the kernel's events may not be used. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/flight_event.h"

#define TIMES	500 /* of some of them, the kernel's line has the name from before exec() */
#define WAIT_MS 20000

static struct flight_event *opened(const char *name, const char *filter)
{
	struct flight_event *event = NULL;
	struct err err = { 0 };

	return flight_event_open(name, filter, &event, &err) < 0 ? NULL : event;
}

static char *taken(struct flight_event *event)
{
	struct pollfd wait = { .fd = flight_event_fd(event), .events = POLLIN };

	return poll(&wait, 1, WAIT_MS) > 0 ? flight_event_take(event) : NULL;
}

static void expect_name(struct flight_event *event, char *program)
{
	char *const words[] = { program, NULL }, *const none[] = { NULL };
	AUTO_FREE char *line = NULL;
	AUTO_FREE char *expected = NULL;
	pid_t pid;

	flight_event_arm(event);
	assert_int_equal(posix_spawn(&pid, program, NULL, NULL, words, none), 0);
	line = taken(event);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_non_null(line);
	expected = xasprintf("true-%d [", (int)pid);
	if (strncmp(line, expected, strlen(expected)) != 0)
		fail_msg("%s, not %s", line, expected);
}

static void a_program_that_begins_has_its_own_name(void **state)
{
	char folder[] = "/tmp/flight-XXXXXX";
	AUTO_FREE char *program =
		mkdtemp(folder) ? xasprintf("%s/true", folder) : NULL; /* nobody else begins that */
	AUTO_FREE char *filter = xasprintf("filename == \"%s\"", program);
	struct flight_event *event = opened("sched/sched_process_exec", filter);
	struct flight_event *forks = opened("sched/sched_process_fork", NULL);

	(void)state;
	assert_int_equal(symlink("/bin/true", program), 0);
	for (int i = 0; i < TIMES && event && forks; i++) {
		expect_name(event, program);
		free(flight_event_take(forks));
		flight_event_arm(forks);
	}
	(void)unlink(program);
	(void)rmdir(folder);
	flight_event_close(forks);
	flight_event_close(event);
	if (!event || !forks)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_begins_has_its_own_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
