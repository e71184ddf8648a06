/* test_chrome.c - Trace Event JSON, parsed back by json-c. */
#include "exporting.h"

/* Call with each event. */
typedef void look_fn(struct json_object *event, void *context);

static void each_event(struct exporting *ex, look_fn *look, void *context)
{
	size_t bytes;
	const char *text = exported(ex, export_chrome, &bytes);
	struct json_object *all = parsed_json(text, bytes), *events;

	assert_string_equal(json_text(all, "displayTimeUnit"), "ns");
	assert_true(json_object_object_get_ex(all, "traceEvents", &events));
	for (size_t i = 0; i < json_object_array_length(events); i++)
		look(json_object_array_get_idx(events, i), context);
	json_object_put(all);
}

/* "B 0.010 read; E 0.070 read; ..." of one thread and kind, in the order in which they come. */
struct lines {
	int64_t tid;
	const char *phases, *category;
	char text[2000];
};

static void add_line(struct json_object *event, void *context)
{
	struct lines *lines = context;
	const char *phase = json_text(event, "ph");
	size_t used = strlen(lines->text);

	if (json_number(event, "tid") != lines->tid || !strchr(lines->phases, phase[0]) ||
	    strcmp(json_text(event, "cat"), lines->category) != 0)
		return;
	snprintf(lines->text + used, sizeof(lines->text) - used, "%s%s %s %s", used ? "; " : "",
		 phase, json_text(event, "ts"), json_text(event, "name"));
}

static void assert_lines(struct exporting *ex, int64_t tid, const char *phases,
			 const char *category, const char *want)
{
	struct lines lines = { tid, phases, category, "" };

	each_event(ex, add_line, &lines);
	assert_string_equal(lines.text, want);
}

static void calls_and_waits_are_slices_with_times_in_us(void **unused)
{
	struct exporting *ex = exporting_of(two_threads);

	assert_lines(ex, 7, "BE", "syscall", "B 0.010 read; E 0.070 read");
	assert_lines(ex, 7, "be", "waits",
		     "b 0.020 read: fd 3; e 0.050 read: fd 3; b 0.050 waiting for a CPU; "
		     "e 0.060 waiting for a CPU; b 0.090 return to user mode; "
		     "e 0.100 return to user mode");
	assert_lines(ex, 0, "X", "sched",
		     "X 0.000 same[7]; X 0.020 same[8]; X 0.060 same[7]; X 0.090 same[8]");
	exporting_free(ex);
}

static void count_names(struct json_object *event, void *context)
{
	int *count = context;
	struct json_object *args = json_object_object_get(event, "args");

	if (strcmp(json_text(event, "name"), "thread_name") != 0)
		return;
	count[0] += strcmp(json_text(args, "name"), HOSTILE_NAME) == 0;
	count[1] += strcmp(json_text(args, "name"), BROKEN_UTF8) == 0;
}

static void any_name_can_be_parsed_back(void **unused)
{
	struct exporting *ex = exporting_hostile();
	int count[2] = { 0 };

	each_event(ex, count_names, count);
	assert_int_equal(count[0], 1);
	assert_int_equal(count[1], 1);
	exporting_free(ex);
}

static void count_all(struct json_object *event, void *context)
{
	int *count = context;

	(void)event;
	++*count;
}

static void a_trace_of_nothing_is_json_too(void **unused)
{
	struct exporting *ex = exporting_of("thread 7 7 1 S same\n");
	int count = 0;

	each_event(ex, count_all, &count);
	assert_int_equal(count, 0);
	exporting_free(ex);
}

static void a_wait_of_no_length_ends_where_it_begins(void **unused)
{
	struct exporting *ex = exporting_of("  0 cpu0 switch 0(runnable) 7\n"
					    " 10 cpu0 switch 7(blocked) 8\n"
					    " 10 cpu0 waking 7\n"
					    " 20 cpu0 switch 8(runnable) 7\n"
					    " 30 cpu0 switch 7(blocked) 0\n");
	struct lines lines = { 7, "be", "waits", "" };

	each_event(ex, add_line, &lines);
	assert_non_null(strstr(lines.text, "b 0.010 waiting for a CPU; e 0.020 waiting for a CPU"));
	exporting_free(ex);
}

static void a_hole_is_a_slice_and_a_counter(void **unused)
{
	struct exporting *ex = exporting_of("  0 cpu0 switch 0(runnable) 7\n"
					    " 40 cpu0 lost 10 3\n"
					    " 50 cpu0 switch 7(blocked) 0\n");

	assert_lines(ex, 0, "BE", "lost", "B 0.010 3 events lost; E 0.040 3 events lost");
	assert_lines(ex, 0, "C", "", "C 0.000 CPU 0 runnable threads; C 0.040 events lost");
	exporting_free(ex);
}

static void a_flush_is_in_flight_until_it_is_complete(void **unused)
{
	struct exporting *ex = exporting_of("  0 cpu0 switch 0(runnable) 7\n"
					    " 10 cpu0 issue vda 0 F\n"
					    " 20 cpu0 issue vda 4096 W\n"
					    " 30 cpu0 complete vda -1 F\n"
					    " 50 cpu0 switch 7(blocked) 0\n");

	assert_lines(ex, 0, "C", "",
		     "C 0.000 CPU 0 runnable threads; C 0.010 disk requests in flight; "
		     "C 0.020 disk requests in flight; C 0.030 disk requests in flight");
	exporting_free(ex);
}

static void a_window_ends_what_is_open(void **unused)
{
	struct exporting *ex = exporting_of(two_threads);

	ex->job.start_ns = 15;
	ex->job.end_ns = 30;
	assert_lines(ex, 7, "BE", "syscall", "B 0.015 read; E 0.030 read");
	assert_lines(ex, 7, "be", "waits", "b 0.020 read: fd 3; e 0.030 read: fd 3");
	exporting_free(ex);
}

static void only_chosen_threads_have_waits(void **unused)
{
	struct exporting *ex = exporting_of(two_threads);
	bool *chosen = xcalloc(ex->told->tl->thread_count, sizeof(*chosen));

	chosen[slot_of(ex->told, 8)] = true;
	ex->job.chosen = chosen;
	assert_lines(ex, 7, "beBE", "waits", "");
	assert_lines(ex, 8, "be", "waits",
		     "b 0.000 waiting for a CPU; e 0.020 waiting for a CPU; "
		     "b 0.060 preempted; e 0.090 preempted");
	exporting_free(ex);
	free(chosen);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_and_waits_are_slices_with_times_in_us),
		cmocka_unit_test(any_name_can_be_parsed_back),
		cmocka_unit_test(a_trace_of_nothing_is_json_too),
		cmocka_unit_test(a_wait_of_no_length_ends_where_it_begins),
		cmocka_unit_test(a_hole_is_a_slice_and_a_counter),
		cmocka_unit_test(a_flush_is_in_flight_until_it_is_complete),
		cmocka_unit_test(a_window_ends_what_is_open),
		cmocka_unit_test(only_chosen_threads_have_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
