/* Questions and answers, without a socket: what is refused, and that lanes are the sums. */
#include "view/answer.h"

#include <string.h>

#include "analyse/others/others.h"
#include "ask/loaded.h"
#include "ask/other_lanes.h"
#include "told.h"
#include "view/others.h"
#include "view/page.h"
#include "view/query.h"
#include "view/shares.h"

struct asking {
	struct told *told;
	struct loaded loaded;
	struct view view;
	struct view_answer answer;
};

static void begin(struct asking *asking)
{
	*asking = (struct asking){ 0 };
	asking->told = replayed("facts last 1000\n"
				"thread 7 7 1 R <b>&\n"
				"thread 8 8 1 R other\n"
				"0 cpu0 switch 0(runnable) 7\n"
				"0 cpu1 switch 0(runnable) 8\n"
				"100 cpu0 enter read 3\n"
				"200 cpu0 switch 7(blocked) 0\n"
				"500 cpu1 waking 7 cpu 0\n"
				"600 cpu0 switch 0(runnable) 7\n");
	asking->loaded.timeline = asking->told->tl;
	asking->loaded.facts = &asking->told->trace->facts;
	asking->view = (struct view){ .path = "a.holdup", .loaded = &asking->loaded };
}

static const char *ask(struct asking *asking, const char *route, const char *query)
{
	view_answer_fini(&asking->answer);
	view_answer_route(&asking->view, route, query, &asking->answer);
	asking->answer.bytes = xrealloc(asking->answer.bytes, asking->answer.count + 1, 1);
	asking->answer.bytes[asking->answer.count] = '\0';
	return asking->answer.bytes;
}

static void end(struct asking *asking)
{
	view_answer_fini(&asking->answer);
	told_free(asking->told);
}

static void what_makes_no_sense_is_refused(void **unused)
{
	static const struct {
		const char *route, *query;
		int status;
	} cases[] = {
		{ "start", "", 200 },
		{ "nothing", "", 404 },
		{ "../start", "", 404 },
		{ "lanes", "from=5&to=5", 400 },
		{ "lanes", "from=-1", 400 },
		{ "lanes", "from=0&from=1", 400 },
		{ "lanes", "to=99999999999999999999999", 400 },
		{ "lanes", "width=0", 400 },
		{ "lanes", "width=100000", 400 },
		{ "lanes", "rows=t99", 400 },
		{ "lanes", "rows=x1", 400 },
		{ "lanes", "rows=", 200 },
		{ "lanes", "rows=%zz", 400 },
		{ "lanes", "rows=%00", 400 },
		{ "lanes", "=1", 400 },
		{ "details", "lane=c0,c1&at=1", 400 },
		{ "details", "at=1", 400 },
		{ "details", "lane=t0&at=5000", 400 },
		{ "search", "q=", 400 },
		{ "verdict", "", 404 },
		{ "sums", "", 404 },
		{ "sums", "slot=99", 400 },
		{ "events", "lane=c0,c1", 400 },
		{ "flame", "", 404 },
		{ "flame", "lane=c0", 400 },
		{ "events", "q=", 400 },
		{ "events", "most=0", 400 },
		{ "events", "most=501", 400 },
		{ "verdict", "slot=99", 400 },
	};
	struct asking asking;

	begin(&asking);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		(void)ask(&asking, cases[i].route, cases[i].query);
		if (asking.answer.status != cases[i].status)
			fail_msg("%s?%s is %d, not %d: %s", cases[i].route, cases[i].query,
				 asking.answer.status, cases[i].status, asking.answer.bytes);
	}
	end(&asking);
}

static uint64_t number_at(const char *bytes, size_t at, size_t count)
{
	uint64_t value = 0;

	while (count-- > 0)
		value = value << 8 | (unsigned char)bytes[at + count];
	return value;
}

static void lanes_have_their_sums_and_all_columns(void **unused)
{
	AUTO_FREE char *query = NULL;
	struct asking asking;
	const char *bytes;
	uint64_t sum = 0, columns = 0;
	size_t at = 16;

	begin(&asking);
	query = xasprintf("width=50&rows=t%u", slot_of(asking.told, 7));
	bytes = ask(&asking, "lanes", query);
	assert_memory_equal(bytes, "HLL1", 4);
	assert_int_equal(number_at(bytes, 4, 4), 50);
	assert_int_equal(number_at(bytes, 8, 4), 1);
	assert_int_equal(number_at(bytes, 12, 4), LANE_STATE_COUNT);
	assert_int_equal(number_at(bytes, at, 4), 't');
	for (uint32_t i = 0; i < LANE_STATE_COUNT; i++)
		sum += number_at(bytes, at + 8 + 8 * i, 8);
	assert_int_equal(sum, 1000);
	assert_int_equal(number_at(bytes, at + 8 + 8 * LANE_THREAD, 8), 300);
	at += 8 + 8 * LANE_STATE_COUNT;
	for (uint64_t runs = number_at(bytes, at, 4), next = at + 4; runs > 0; runs--) {
		uint64_t parts = number_at(bytes, next + 2, 1), shares = 0;

		columns += number_at(bytes, next, 2);
		for (uint64_t i = 0; i < parts; i++)
			shares += number_at(bytes, next + 4 + 2 * i, 1);
		assert_int_equal(shares, 255);
		next += 3 + 2 * parts;
		at = next;
	}
	assert_int_equal(columns, 50);
	assert_int_equal(at, asking.answer.count);
	end(&asking);
}

/* One request in flight from 100 to 400, of a window of 1000 in 7 columns. */
static void other_lanes_have_their_sums_and_all_columns(void **unused)
{
	const struct event issue = { .time_ns = 100,
				     .tid = 7,
				     .type = EV_BLOCK_ISSUE,
				     .block = { .sector = 8, .dev = 8 << 20 } };
	struct event complete = issue;
	struct other_lanes lanes = { 0 };
	struct others_opts opts = { 0 };
	struct asking asking;
	const char *bytes;
	uint64_t columns = 0, sum = 0;
	size_t at = 16 + 8 + 5 * 8;

	begin(&asking);
	assert_int_equal((ask(&asking, "others", ""), asking.answer.status), 404);
	opts.facts = asking.loaded.facts;
	lanes.others = others_new(&opts);
	others_feed(lanes.others, &issue);
	complete.type = EV_BLOCK_COMPLETE;
	complete.time_ns = 400;
	others_feed(lanes.others, &complete);
	others_end(lanes.others, 1000);
	asking.view.others = view_others_ready(&lanes);
	bytes = ask(&asking, "others", "");
	if (!strstr(bytes, "\"lane\":\"o0\",\"label\":\"disk 8:0\",\"kind\":\"level\""))
		fail_msg("%s", bytes);
	bytes = ask(&asking, "series", "width=7&rows=o0");
	assert_memory_equal(bytes, "HLS1", 4);
	assert_int_equal(number_at(bytes, 24, 8), 300);
	for (uint64_t runs = number_at(bytes, at, 4), next = at + 4; runs > 0; runs--) {
		columns += number_at(bytes, next, 2);
		sum += number_at(bytes, next, 2) * number_at(bytes, next + 2, 8);
		next += 2 + 5 * 8;
		at = next;
	}
	assert_int_equal(columns, 7);
	assert_int_equal(sum, 300);
	assert_int_equal(at, asking.answer.count);
	bytes = ask(&asking, "other", "lane=o0&from=200&to=300");
	if (!strstr(bytes,
		    "\"sums\":[100],\"most\":1,\"spans\":[{\"what\":\"request\",\"start_ns\":100,"))
		fail_msg("%s", bytes);
	view_others_end(asking.view.others);
	others_free(lanes.others);
	end(&asking);
}

static void a_wait_is_told_whole_with_what_ended_it(void **unused)
{
	AUTO_FREE char *query = NULL;
	struct asking asking;
	const char *text;

	begin(&asking);
	query = xasprintf("lane=t%u&at=333", slot_of(asking.told, 7));
	text = ask(&asking, "details", query);
	if (!strstr(text,
		    "\"start_ns\":200,\"end_ns\":500,\"wib\":\"blocked\",\"state\":\"read\"") ||
	    !strstr(text, "\"kind\":\"thread\",\"who\":{\"lane\":"))
		fail_msg("%s", text);
	end(&asking);
}

static void a_verdict_says_where_in_time_each_cause_was(void **unused)
{
	AUTO_FREE char *query = NULL;
	struct asking asking;
	const char *text;

	begin(&asking);
	query = xasprintf("slot=%u", slot_of(asking.told, 7));
	text = ask(&asking, "verdict", query);
	if (asking.answer.status != 200 || !strstr(text, "\"kind\":\"other_thread\"") ||
	    !strstr(text, "\"spans\":[[200,500,300,7]]"))
		fail_msg("%s", text);
	end(&asking);
}

static void sums_are_those_of_the_window(void **unused)
{
	AUTO_FREE char *query = NULL;
	struct asking asking;
	const char *text;

	begin(&asking);
	query = xasprintf("slot=%u&from=200&to=700", slot_of(asking.told, 7));
	text = ask(&asking, "sums", query);
	if (!strstr(text, "\"depth\":0,\"text\":\"Working\",\"ns\":100,") ||
	    !strstr(text, "\"depth\":0,\"text\":\"Blocked\",\"ns\":300,"))
		fail_msg("%s", text);
	end(&asking);
}

static void search_finds_threads_and_calls(void **unused)
{
	AUTO_FREE char *query = NULL;
	struct asking asking;

	begin(&asking);
	assert_non_null(strstr(ask(&asking, "search", "q=OTHER"), "\"comm\":\"other\""));
	assert_non_null(strstr(ask(&asking, "search", "q=%3Cb%3E"), "\"kind\":\"thread\""));
	query = xasprintf("q=read&rows=t%u", slot_of(asking.told, 7));
	assert_non_null(strstr(ask(&asking, "search", query), "\"start_ns\":200,\"end_ns\":500"));
	assert_non_null(strstr(ask(&asking, "search", "q=nowhere"), "\"results\":[]"));
	end(&asking);
}

static void the_page_loads_nothing_but_its_own_files(void **unused)
{
	static const char *const names[] = { "",	  "style.css", "main.js",   "model.js",
					     "draw.js",	  "wire.js",   "time.js",   "list.js",
					     "events.js", "flame.js",  "state.js",  "lanes.js",
					     "folds.js",  "moves.js",  "answer.js", "panes.js",
					     "find.js",	  "pointer.js" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_non_null(view_page_find(names[i]));
	assert_null(view_page_find("index.html"));
	assert_null(view_page_find("embed.py"));
	assert_int_equal(strncmp(view_saved_script_hash, "sha256-", 7), 0);
	assert_null(memmem(view_saved_script.bytes, view_saved_script.count, "</script", 8));
}

static void a_process_is_told_with_the_cgroup_in_which_it_was_seen(void **unused)
{
	struct asking asking;
	const char *text;

	(void)unused;
	begin(&asking);
	asking.told->trace->facts.threads[0].cgroup = "/<app>.slice";
	text = ask(&asking, "processes", "");
	assert_int_equal(asking.answer.status, 200);
	assert_non_null(strstr(text, "\"cgroup\":\"/<app>.slice\""));
	assert_non_null(strstr(text, "\"cgroup\":null"));
	end(&asking);
}

static void a_file_is_kept_of_a_window_and_of_nonsense_none(void **unused)
{
	struct asking asking;

	(void)unused;
	begin(&asking);
	assert_non_null(strstr(ask(&asking, "save", "from=0&to=500&slot=0"), "id=\"verdict\""));
	assert_string_equal(asking.answer.type, "application/octet-stream");
	(void)ask(&asking, "save", "from=0&to=500&slot=77");
	assert_int_equal(asking.answer.status, 400);
	(void)ask(&asking, "save", "from=5&to=5");
	assert_int_equal(asking.answer.status, 400);
	end(&asking);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(lanes_have_their_sums_and_all_columns),
		cmocka_unit_test(other_lanes_have_their_sums_and_all_columns),
		cmocka_unit_test(a_wait_is_told_whole_with_what_ended_it),
		cmocka_unit_test(a_verdict_says_where_in_time_each_cause_was),
		cmocka_unit_test(sums_are_those_of_the_window),
		cmocka_unit_test(search_finds_threads_and_calls),
		cmocka_unit_test(a_process_is_told_with_the_cgroup_in_which_it_was_seen),
		cmocka_unit_test(a_file_is_kept_of_a_window_and_of_nonsense_none),
		cmocka_unit_test(the_page_loads_nothing_but_its_own_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
