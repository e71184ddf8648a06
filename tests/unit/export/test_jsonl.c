/* test_jsonl.c - lines, each parsed back by json-c. */
#include "exporting.h"

/* The parsed lines. Returns their number. */
static size_t lines_of(struct exporting *ex, enum export_what what, struct json_object **lines,
		       size_t max)
{
	const char *at;
	size_t count = 0;

	ex->job.what = what;
	at = exported(ex, export_jsonl, NULL);
	while (*at) {
		size_t bytes = strcspn(at, "\n");
		AUTO_FREE char *line = xstrndup(at, bytes);

		assert_int_equal(at[bytes], '\n');
		assert_true(count < max);
		lines[count++] = parsed_json(line, bytes);
		at += bytes + 1;
	}
	return count;
}

static void drop(struct json_object **lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		json_object_put(lines[i]);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(object, key, &value));
	return value;
}

static void intervals_are_the_life_of_each_thread(void **unused)
{
	struct exporting *ex = exporting_of(two_threads);
	struct json_object *lines[50];
	size_t count = lines_of(ex, EXPORT_INTERVALS, lines, 50);
	int64_t at[2] = { 0, 0 };

	for (size_t i = 0; i < count; i++) {
		int64_t tid = json_number(member(lines[i], "who"), "tid");

		assert_true(tid == 7 || tid == 8);
		assert_string_equal(json_text(member(lines[i], "who"), "comm"), "same");
		assert_int_equal(json_number(lines[i], "start_ns"), at[tid - 7]);
		at[tid - 7] = json_number(lines[i], "end_ns");
		assert_int_equal(json_number(lines[i], "ns"),
				 at[tid - 7] - json_number(lines[i], "start_ns"));
	}
	assert_int_equal(at[0], 100);
	assert_int_equal(at[1], 100);
	drop(lines, count);
	exporting_free(ex);
}

static void waits_have_a_root_and_edges_two_ends(void **unused)
{
	struct exporting *ex = exporting_of(two_threads);
	struct json_object *lines[50], *who;
	size_t count = lines_of(ex, EXPORT_WAITS, lines, 50);

	assert_int_equal(count, 2);
	assert_string_equal(json_text(lines[0], "in"), "read");
	assert_int_equal(json_number(member(member(lines[0], "root"), "who"), "tid"), 8);
	assert_int_equal(json_number(member(lines[0], "root"), "ns"), 30);
	drop(lines, count);

	count = lines_of(ex, EXPORT_EDGES, lines, 50);
	assert_int_equal(count, 1);
	who = member(lines[0], "woken_by");
	assert_int_equal(json_number(lines[0], "time_ns"), 50);
	assert_int_equal(json_number(lines[0], "waited_ns"), 30);
	assert_int_equal(json_number(who, "tid"), 8);
	assert_int_equal(json_number(member(lines[0], "who"), "tid"), 7);
	drop(lines, count);
	exporting_free(ex);
}

static void any_name_can_be_parsed_back(void **unused)
{
	struct exporting *ex = exporting_hostile();
	struct json_object *lines[50];
	size_t count = lines_of(ex, EXPORT_INTERVALS, lines, 50), hostile = 0, broken = 0;

	for (size_t i = 0; i < count; i++) {
		const char *comm = json_text(member(lines[i], "who"), "comm");

		hostile += strcmp(comm, HOSTILE_NAME) == 0;
		broken += strcmp(comm, BROKEN_UTF8) == 0;
	}
	assert_true(hostile && broken && hostile + broken == count);
	drop(lines, count);
	exporting_free(ex);
}

static void a_trace_of_nothing_has_no_line(void **unused)
{
	struct exporting *ex = exporting_of("0 cpu0 switch 0(runnable) 0\n");
	struct json_object *lines[1];

	assert_int_equal(lines_of(ex, EXPORT_INTERVALS, lines, 1), 0);
	assert_int_equal(lines_of(ex, EXPORT_WAITS, lines, 1), 0);
	assert_int_equal(lines_of(ex, EXPORT_EDGES, lines, 1), 0);
	exporting_free(ex);
}

static void what_is_lost_is_uncertain(void **unused)
{
	struct exporting *ex = exporting_of("  0 cpu0 switch 0(runnable) 7\n"
					    " 40 cpu0 lost 10 3\n"
					    " 50 cpu0 switch 7(blocked) 0\n");
	struct json_object *lines[20];
	size_t count = lines_of(ex, EXPORT_INTERVALS, lines, 20);
	int64_t uncertain = 0;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(json_text(lines[i], "wib"), "uncertain") == 0)
			uncertain += json_number(lines[i], "ns");
	}
	assert_in_range(uncertain, 30, 40); /* the hole, and until the next event */
	drop(lines, count);
	exporting_free(ex);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_are_the_life_of_each_thread),
		cmocka_unit_test(waits_have_a_root_and_edges_two_ends),
		cmocka_unit_test(any_name_can_be_parsed_back),
		cmocka_unit_test(a_trace_of_nothing_has_no_line),
		cmocka_unit_test(what_is_lost_is_uncertain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
