/* test_pidns.c - the kernel's id of a process, out of the text of a trace. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "proc/proc.h"
#include "record/ftrace.h"
#include "record/pidns.h"

#define HEAD "# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
#define MARK " 12.5: tracing_mark_write: holdup looks for itself\n"

static void the_writer_of_a_mark_is_found(void **state)
{
	assert_int_equal(pidns_parse(HEAD "           <...>-4711    [000] ....." MARK), 4711);
	assert_int_equal(pidns_parse(HEAD "  kworker/0:1-events-81 [012] ....." MARK), 81);
}

static void without_a_mark_nobody_is_found(void **state)
{
	assert_int_equal(pidns_parse(""), 0);
	assert_int_equal(pidns_parse(HEAD), 0);
	assert_int_equal(pidns_parse(HEAD "  sh-12 [000] ..... 1.5: tracing_mark_write: hi\n"), 0);
	assert_int_equal(pidns_parse(MARK), 0);
	assert_int_equal(pidns_parse("[-" MARK), 0);
	assert_int_equal(pidns_parse(" - [000]" MARK), 0);
}

/* In the first namespace both ids are the same. */
static void a_child_is_found_by_its_mark(void **state)
{
	struct pidns pidns = PIDNS_NONE;
	struct err err = { 0 };
	char *tracing_dir = NULL;
	pid_t pid;

	if (!proc_is_outermost() || geteuid() != 0 || ftrace_find(&tracing_dir, &err) < 0 ||
	    pidns_open(tracing_dir, &pidns, &err) < 0) {
		free(tracing_dir);
		skip();
	}
	pid = fork();
	if (pid == 0) {
		pidns_mark(&pidns);
		pause(); /* a child that lives on does not keep the instance */
		_exit(0);
	}
	assert_int_equal(pidns_find(&pidns), pid);
	pidns_close(&pidns);
	pidns_close(&pidns);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(tracing_dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_writer_of_a_mark_is_found),
		cmocka_unit_test(without_a_mark_nobody_is_found),
		cmocka_unit_test(a_child_is_found_by_its_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
