/* test_why_reason.c - reasons: kept once, ordered, and in words and in JSON as their kind says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/why/why.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/why_reason.h"
#include "timeline/timeline.h"

#define SSH                   \
	{                     \
		12, 11, "ssh" \
	}

static const struct why_reason key = { .kind = WHY_REASON_TERMINAL_KEY,
				       .who = SSH,
				       .name = "Ctrl-C" };
static const struct why_reason second_share = {
	.kind = WHY_REASON_SHARE, .name = "getdents64", .part_ns = 30, .whole_ns = 100
};
static const struct why_reason ended = { .kind = WHY_REASON_RECORDING_ENDED };

static const struct {
	struct why_reason reason;
	const char *words, *json;
} told[] = {
	{ { .kind = WHY_REASON_UNSURE, .number = UNSURE_LOST },
	  "events were lost",
	  "{\"kind\":\"uncertain\",\"reason\":\"events were lost\"}" },
	{ { .kind = WHY_REASON_ENDED, .name = "SIGINT", .inner = &key },
	  "SIGINT of the terminal (Ctrl-C from ssh[12]) ended it",
	  "{\"kind\":\"thread_ended\",\"signal\":\"SIGINT\",\"inner\":{\"kind\":\"terminal_key\","
	  "\"who\":{\"tid\":12,\"tgid\":11,\"comm\":\"ssh\"},\"key\":\"Ctrl-C\"}}" },
	{ { .kind = WHY_REASON_INTERRUPTED, .name = "SIGALRM", .by_timer = 1 },
	  "SIGALRM by a timer interrupted it",
	  "{\"kind\":\"interrupted\",\"signal\":\"SIGALRM\",\"by_timer\":true}" },
	{ { .kind = WHY_REASON_ENDED, .who = SSH },
	  "ssh[12] ended it",
	  "{\"kind\":\"thread_ended\",\"who\":{\"tid\":12,\"tgid\":11,\"comm\":\"ssh\"}}" },
	{ { .kind = WHY_REASON_ENDED }, "its process ended", "{\"kind\":\"thread_ended\"}" },
	{ { .kind = WHY_REASON_CIRCLE, .who = SSH, .inner = &ended },
	  "the recording ended, in a circle: ssh[12], which it waits for, waits for it",
	  "{\"kind\":\"circle\",\"who\":{\"tid\":12,\"tgid\":11,\"comm\":\"ssh\"},\"inner\":"
	  "{\"kind\":\"recording_ended\"}}" },
	{ { .kind = WHY_REASON_CONTINUED, .name = "SIGCONT", .who = SSH },
	  "SIGCONT of ssh[12]",
	  "{\"kind\":\"continued\",\"who\":{\"tid\":12,\"tgid\":11,\"comm\":\"ssh\"},\"signal\":"
	  "\"SIGCONT\"}" },
	{ { .kind = WHY_REASON_THAWED, .who = SSH },
	  "ssh[12] thawed it",
	  "{\"kind\":\"thawed\",\"who\":{\"tid\":12,\"tgid\":11,\"comm\":\"ssh\"}}" },
	{ { .kind = WHY_REASON_THAWED }, "it was thawed", "{\"kind\":\"thawed\"}" },
	{ { .kind = WHY_REASON_TERMINAL_WRITTEN, .who = SSH },
	  "the terminal (written to by ssh[12])",
	  "{\"kind\":\"terminal_written\",\"who\":{\"tid\":12,\"tgid\":11,\"comm\":\"ssh\"}}" },
	{ { .kind = WHY_REASON_TERMINAL_WRITTEN },
	  "the terminal",
	  "{\"kind\":\"terminal_written\"}" },
	{ { .kind = WHY_REASON_TERMINAL_HUNG_UP },
	  "the terminal (it was hung up)",
	  "{\"kind\":\"terminal_hung_up\"}" },
	{ { .kind = WHY_REASON_QUOTA,
	    .object = "/a%W",
	    .part_ns = 10000000,
	    .whole_ns = 100000000 },
	  "held back by the CPU quota of cgroup /a%W, 10.0 ms in each 100 ms",
	  "{\"kind\":\"cpu_quota\",\"object\":\"/a%W\",\"quota_ns\":10000000,\"period_ns\":"
	  "100000000}" },
	{ { .kind = WHY_REASON_SUCCEEDED,
	    .call = "flock",
	    .object = "fd 3 = /x",
	    .name = "EAGAIN",
	    .by = "close" },
	  "flock() of fd 3 = /x failed with EAGAIN until it called close()",
	  "{\"kind\":\"call_succeeded\",\"call\":\"flock\",\"object\":\"fd 3 = /x\",\"error\":"
	  "\"EAGAIN\",\"by\":\"close\"}" },
	{ { .kind = WHY_REASON_SUCCEEDED, .call = "kill", .found_alive = 1 },
	  "kill() found it there until it ended",
	  "{\"kind\":\"call_succeeded\",\"call\":\"kill\",\"found_alive\":true}" },
	{ { .kind = WHY_REASON_SHARE,
	    .name = "own code",
	    .part_ns = 61,
	    .whole_ns = 100,
	    .inner = &second_share },
	  "own code 61 %, getdents64 30 %",
	  "{\"kind\":\"share\",\"name\":\"own code\",\"ns\":61,\"of_ns\":100,\"inner\":{\"kind\":"
	  "\"share\",\"name\":\"getdents64\",\"ns\":30,\"of_ns\":100}}" },
	{ { .kind = WHY_REASON_PACKET,
	    .name = "packet on lo",
	    .object = "tcp_delack_timer",
	    .number = WHY_TCP_DELAYED_ACK },
	  "packet on lo, sent when timer tcp_delack_timer went off (TCP's delayed acknowledgement)",
	  "{\"kind\":\"packet_sent_by_timer\",\"object\":\"tcp_delack_timer\",\"name\":"
	  "\"packet on lo\",\"tcp\":\"delayed_ack\"}" },
	{ { .kind = WHY_REASON_TCP_GAVE_UP, .number = WHY_TCP_KEEP_ALIVE },
	  "TCP gave up: the other end answered no keep-alive",
	  "{\"kind\":\"tcp_gave_up\",\"tcp\":\"keep_alive\"}" },
	{ { .kind = WHY_REASON_HAD_LOCK, .call = "fcntl", .name = "EAGAIN", .who = SSH },
	  "fcntl() failed with EAGAIN: ssh[11] had the lock",
	  "{\"kind\":\"had_file_lock\",\"who\":{\"tid\":12,\"tgid\":11,\"comm\":\"ssh\"},\"call\":"
	  "\"fcntl\",\"error\":\"EAGAIN\"}" },
	{ { .kind = WHY_REASON_UNANSWERED,
	    .who = SSH,
	    .did = WHY_DEED_WAITED,
	    .call = "clock_nanosleep" },
	  "ssh[12] had read what was sent there and did not answer: it waited in clock_nanosleep()",
	  "{\"kind\":\"unanswered\",\"who\":{\"tid\":12,\"tgid\":11,\"comm\":\"ssh\"},\"call\":"
	  "\"clock_nanosleep\",\"did\":\"waited\"}" },
	{ { .kind = WHY_REASON_SLEEPS_ENDED,
	    .call = "nanosleep",
	    .number = 2,
	    .did = WHY_DEED_MOVED_ON },
	  "it alone went on in other code as 2 equal sleeps in nanosleep() ended, between which "
	  "nothing was done: what they were for is in memory, and not recorded",
	  "{\"kind\":\"changed_as_sleeps_ended\",\"call\":\"nanosleep\",\"did\":\"moved_on\","
	  "\"count\":2}" },
	{ { .kind = WHY_REASON_SLEEPS_ENDED,
	    .call = "nanosleep",
	    .number = 5,
	    .did = WHY_DEED_STOPPED_WORK },
	  "it alone stopped working as 5 equal sleeps in nanosleep() ended, between which nothing "
	  "was done: what they were for is in memory, and not recorded",
	  "{\"kind\":\"changed_as_sleeps_ended\",\"call\":\"nanosleep\",\"did\":\"stopped_working\","
	  "\"count\":5}" },
};

static char *json_of(const struct why_reason *reason)
{
	char *text = NULL, *data;
	size_t bytes;
	struct json json = { .out = open_memstream(&text, &bytes) };

	json_begin_object(&json, NULL);
	report_json_reason(&json, "why", reason);
	json_end_object(&json);
	json_fini(&json);
	fclose(json.out);
	data = strstr(text, "\"why_data\":");
	data = data ? xstrndup(data + 11, strrchr(data, '}') - (data + 11)) : xstrdup("");
	free(text);
	return data;
}

static void a_reason_has_words_and_data(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(told); i++) {
		AUTO_FREE char *words = report_why_reason(&told[i].reason);
		AUTO_FREE char *json = json_of(&told[i].reason);

		assert_string_equal(words, told[i].words);
		assert_string_equal(json, told[i].json);
	}
}

static void every_kind_has_a_name_and_words(void **unused)
{
	for (enum why_reason_kind kind = WHY_REASON_NONE + 1; kind < WHY_REASON_KINDS; kind++) {
		const struct why_reason reason = { .kind = kind, .object = "o", .inner = &ended };
		AUTO_FREE char *words = report_why_reason(&reason);

		assert_string_not_equal(words, "");
		assert_non_null(why_reason_name(kind));
		assert_true(kind == WHY_REASON_SHARE || !strchr(words, '%')); /* shares have it */
		for (enum why_reason_kind other = WHY_REASON_NONE; other < kind; other++)
			assert_string_not_equal(why_reason_name(kind), why_reason_name(other));
	}
}

static void objects_are_how_many_and_the_one_that_took_longest(void **unused)
{
	AUTO_FREE char *one = report_why_object("/x", 0), *some = report_why_object("/x", 3);
	AUTO_FREE char *nameless = report_why_object("", 2);

	assert_string_equal(one, "/x");
	assert_string_equal(some, "3 things, mostly for /x");
	assert_string_equal(nameless, "2 things");
}

static void no_reason_has_no_words(void **unused)
{
	AUTO_FREE char *words = report_why_reason(NULL), *json = json_of(NULL);

	assert_string_equal(words, "");
	assert_string_equal(json, "");
}

static void a_result_keeps_each_reason_once(void **unused)
{
	struct why why = { 0 }, other = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(told); i++) {
		struct why_reason again = told[i].reason;
		AUTO_FREE char *object = again.object ? xstrdup(again.object) : NULL;
		const struct why_reason *kept = why_reason_keep(&why, &again), *copy;

		again.object = object;
		again.id = 77;
		assert_ptr_equal(why_reason_keep(&why, &again), kept);
		assert_ptr_equal(why_reason_at(&why, kept->id), kept);
		copy = why_reason_keep(&other, kept);
		assert_ptr_not_equal(copy, kept);
		assert_int_equal(why_reason_compare(copy, kept), 0);
		for (size_t k = 0; k < i; k++) {
			int order = why_reason_compare(&told[k].reason, kept);

			assert_int_not_equal(order, 0);
			assert_int_equal(order > 0, why_reason_compare(kept, &told[k].reason) < 0);
		}
	}
	assert_null(why_reason_keep(&why, NULL));
	assert_null(why_reason_keep(&why, &(struct why_reason){ 0 }));
	assert_null(why_reason_at(&why, 0));
	assert_null(why_reason_at(&why, 1000));
	why_fini(&why);
	why_fini(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reason_has_words_and_data),
		cmocka_unit_test(every_kind_has_a_name_and_words),
		cmocka_unit_test(objects_are_how_many_and_the_one_that_took_longest),
		cmocka_unit_test(no_reason_has_no_words),
		cmocka_unit_test(a_result_keeps_each_reason_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
