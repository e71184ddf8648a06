/* test_flight_model.c - violations of a model as they are told to the flight recorder. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/flight_model.h"
#include "cli/watch_flight.h"

static void a_line_is_a_violation_or_about_the_watcher(void **state)
{
	char violation[] = "12 model a.yaml: key=7: broken, thread 3", told[] = "!it ended";
	char begun[] = "=4711", ended[] = "-was ended by signal 9";
	struct flight_model_line line;

	(void)state;
	assert_true(flight_model_parse_line(violation, &line));
	assert_int_equal(line.kind, FLIGHT_MODEL_VIOLATION);
	assert_int_equal(line.before, 12);
	assert_string_equal(line.text, "model a.yaml: key=7: broken, thread 3");
	assert_true(flight_model_parse_line(told, &line));
	assert_int_equal(line.kind, FLIGHT_MODEL_TOLD);
	assert_string_equal(line.text, "it ended");
	assert_true(flight_model_parse_line(begun, &line));
	assert_int_equal(line.kind, FLIGHT_MODEL_BEGUN);
	assert_int_equal(line.pid, 4711);
	assert_true(flight_model_parse_line(ended, &line));
	assert_int_equal(line.kind, FLIGHT_MODEL_ENDED);
	assert_string_equal(line.text, "was ended by signal 9");
}

static void other_lines_are_none(void **state)
{
	char lines[][32] = { "", " ", "x y", "5", "5 ", "+1 a", "=", "=0", "=-3", "=99999999999" };
	struct flight_model_line line;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_false(flight_model_parse_line(lines[i], &line));
}

/* In halves, as they may come, and what the pipe had no room for is told with the next one. */
static void what_is_told_is_read(void **state)
{
	struct watch_flight flight = { .pipe_fd = -1 };
	struct flight_model model = { .fd = -1 };
	struct flight_model_line line;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	watch_flight_tell(&flight, "lost"); /* nobody reads */
	assert_int_equal(flight.untold, 1);
	flight.pipe_fd = fds[1];
	model.fd = fds[0];
	assert_int_equal(write(fds[1], "=47", 3), 3);
	assert_int_equal(flight_model_read(&model), 0);
	assert_false(flight_model_next(&model, &line));
	assert_int_equal(write(fds[1], "11\n", 3), 3);
	watch_flight_tell(&flight, "first");
	watch_flight_tell(&flight, "second");
	assert_int_equal(flight_model_read(&model), 0);
	assert_true(flight_model_next(&model, &line));
	assert_int_equal(model.pid, 4711);
	assert_true(flight_model_next(&model, &line));
	assert_int_equal(line.before, 1);
	assert_string_equal(line.text, "first");
	assert_true(flight_model_next(&model, &line));
	assert_int_equal(line.before, 0);
	assert_string_equal(line.text, "second");
	assert_false(flight_model_next(&model, &line));
	close(fds[1]);
	assert_int_equal(flight_model_read(&model), -1);
	close(fds[0]);
}

static void a_reason_names_who_says_so(void **state)
{
	char *proven = watch_flight_why("/etc/a.yaml", "7", "deadline: 50ms broken", 3, true);
	char *said = watch_flight_why("a.yaml", "x\ny", "broken", 3, false);

	(void)state;
	assert_string_equal(proven, "model a.yaml: key=7: deadline: 50ms broken, thread 3");
	assert_null(strchr(said, '\n'));
	assert_non_null(strstr(said, ": broken, thread 3 by the program's own word"));
	free(proven);
	free(said);
}

static void questions_keep_a_pause_and_a_number(void **state)
{
	struct watch_flight flight = { .pipe_fd = -1 };

	(void)state;
	assert_true(watch_flight_may_ask(&flight, 1, 10));
	flight.asked_ns = 1;
	assert_true(watch_flight_may_ask(&flight, 1, 1e-9));
	assert_false(watch_flight_may_ask(&flight, 1, 1e9));
	flight.done = 1;
	assert_false(watch_flight_may_ask(&flight, 1, 1e-9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_violation_or_about_the_watcher),
		cmocka_unit_test(other_lines_are_none),
		cmocka_unit_test(what_is_told_is_read),
		cmocka_unit_test(a_reason_names_who_says_so),
		cmocka_unit_test(questions_keep_a_pause_and_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
