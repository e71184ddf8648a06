/* test_flight_logged.c - what programs log fires triggers: in the order of times, once, and of one thread. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/flight_logged.h"
#include "cli/flight_logged_match.h"
#include "cli/flight_logged_reader.h"
#include "read/ctf/pieces.h"
#include "../attach/packet_maker.h"

enum {
	BEGIN,
	END,
	PAID,
};

/* Two ticks are a ns; a pair may last 100 ns. */
static const struct flight_logged_trigger triggers[] = {
	{ BEGIN, END, 100 },
	{ PAID, FLIGHT_LOGGED_ALONE, 0 },
};
static const struct flight_logged_rules rules = { triggers, 2, 2 };

struct fires {
	struct flight_logged_fire of[2];
};

static void log_event(struct flight_logged_match *match, uint64_t ticks, int32_t tid, uint32_t name)
{
	const struct ctf_found found = { ticks, tid, name };

	assert_true(flight_logged_add(match, &found, 1));
}

static struct fires judge(struct flight_logged_match *match, uint64_t until_ticks)
{
	struct fires fires = { 0 };

	assert_true(flight_logged_judge(match, &rules, until_ticks, fires.of));
	return fires;
}

static void an_event_fires_each_time(void **state)
{
	struct flight_logged_match match = { 0 };
	struct fires fires;

	(void)state;
	log_event(&match, 20, 7, PAID);
	log_event(&match, 10, 8, PAID);
	fires = judge(&match, 30);
	assert_int_equal(fires.of[1].count, 2);
	assert_int_equal(fires.of[1].tid, 8); /* the first one */
	assert_int_equal(fires.of[1].first_ticks, 10);
	assert_int_equal(judge(&match, 40).of[1].count, 0);
	flight_logged_match_fini(&match);
}

/* One CPU is read before the other. */
static void a_pair_is_in_the_order_of_times(void **state)
{
	struct flight_logged_match match = { 0 };
	struct fires fires;

	(void)state;
	log_event(&match, 500, 7, END);
	log_event(&match, 200, 7, BEGIN);
	fires = judge(&match, 600);
	assert_int_equal(fires.of[0].count, 1);
	assert_int_equal(fires.of[0].first_ticks, 200);
	assert_int_equal(fires.of[0].second_ticks, 500);
	flight_logged_match_fini(&match);
}

static void a_pair_that_is_soon_or_of_two_threads_fires_nothing(void **state)
{
	struct flight_logged_match match = { 0 };

	(void)state;
	log_event(&match, 1000, 7, BEGIN);
	log_event(&match, 1200, 7, END); /* exactly the limit */
	log_event(&match, 1300, 7, END);
	log_event(&match, 1400, 8, BEGIN);
	log_event(&match, 1500, 9, END);
	assert_int_equal(judge(&match, 1600).of[0].count, 0);
	flight_logged_match_fini(&match);
}

/* What came behind the look may be there of one CPU, and not yet of another one. */
static void events_behind_the_look_wait_for_the_next(void **state)
{
	struct flight_logged_match match = { 0 };

	(void)state;
	log_event(&match, 1250, 7, END);
	assert_int_equal(judge(&match, 1200).of[0].count, 0);
	log_event(&match, 1000, 7, BEGIN);
	assert_int_equal(judge(&match, 1300).of[0].count, 1);
	flight_logged_match_fini(&match);
}

static void a_pair_that_does_not_end_fires_once(void **state)
{
	struct flight_logged_match match = { 0 };
	struct fires fires;

	(void)state;
	log_event(&match, 1000, 7, BEGIN);
	assert_int_equal(judge(&match, 1200).of[0].count, 0);
	fires = judge(&match, 1202);
	assert_int_equal(fires.of[0].count, 1);
	assert_int_equal(fires.of[0].second_ticks, 0);
	assert_int_equal(judge(&match, 5000).of[0].count, 0);
	log_event(&match, 6000, 7, END);
	log_event(&match, 6001, 7, BEGIN);
	assert_int_equal(judge(&match, 6100).of[0].count, 0);
	assert_int_equal(judge(&match, 6300).of[0].count, 1); /* the next one */
	flight_logged_match_fini(&match);
}

static void what_began_before_a_hole_does_not_count(void **state)
{
	struct flight_logged_match match = { 0 };

	(void)state;
	log_event(&match, 1000, 7, BEGIN);
	(void)judge(&match, 1100);
	flight_logged_forget(&match);
	log_event(&match, 3000, 7, END);
	assert_int_equal(judge(&match, 4000).of[0].count, 0);
	flight_logged_match_fini(&match);
}

/* A program may say anything of its threads: those that have fired make room, and no room is said. */
static void threads_without_end_are_bounded(void **state)
{
	struct flight_logged_match match = { .salt = 4711 };
	struct flight_logged_fire fires[2] = { 0 };
	bool is_all = true;

	(void)state;
	for (int32_t tid = 1; tid <= 5000; tid++)
		log_event(&match, 1000, tid, BEGIN);
	assert_false(flight_logged_judge(&match, &rules, 1100, fires));
	assert_int_equal(fires[0].count, 0);
	is_all = flight_logged_judge(&match, &rules, 2000, fires);
	assert_true(is_all);
	assert_in_range(fires[0].count, 4000, 4999);
	log_event(&match, 2001, 6000, BEGIN);
	assert_true(flight_logged_judge(&match, &rules, 2100, fires));
	flight_logged_match_fini(&match);
}

static void messages_are_not_believed(void **state)
{
	const struct flight_logged_message good = {
		.pid = 1, .count = 1, .first_ns = 5, .second_ns = 6
	};
	struct flight_logged_message bad[] = { good, good, good, good, good, good, good };

	(void)state;
	assert_true(flight_logged_is_sane(&good, 10));
	bad[0].pid = 0;
	bad[1].tid = -1;
	bad[2].count = 0;
	bad[3].count = UINT64_MAX;
	bad[4].first_ns = 11;
	bad[5].second_ns = 4;
	bad[6].second_ns = 11;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(flight_logged_is_sane(&bad[i], 10));
}

static void a_message_of_another_size_ends_it(void **state)
{
	struct flight_logged_message message = { .pid = 1, .count = 1 }, got;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	assert_int_equal(flight_logged_take(fds[0], &got), 0);
	memset(message.comm, 'x', sizeof(message.comm));
	assert_int_equal(write(fds[1], &message, sizeof(message)), sizeof(message));
	assert_int_equal(flight_logged_take(fds[0], &got), 1);
	assert_string_equal(got.comm, "xxxxxxxxxxxxxxx");
	assert_int_equal(write(fds[1], "short", 5), 5);
	assert_int_equal(flight_logged_take(fds[0], &got), -1);
	close(fds[0]);
	close(fds[1]);
}

/* The bytes of one packet, by a process without rights. */
static void a_reader_finds_events_and_says_what_is_bad(void **state)
{
	static const char *const names[] = { "shop:none", "shop:paid" };
	const char *text = MADE_METADATA(MADE_COUNTER, "", "");
	struct made_packet *packet = xcalloc(1, sizeof(*packet) + CTF_PIECES_SLACK);
	struct flight_logged_reader reader;
	const struct ctf_found *found;
	struct ctf_piece piece = { (const uint8_t *)packet + USER_HEAD, 0, USER_HEAD, 1000 };
	uint64_t last_ticks;
	size_t count;

	(void)state;
	packet_init(packet, 0, 0);
	for (uint64_t i = 0; i < 3; i++)
		packet_event(packet, 1000 + i, (int32_t)(70 + i), i);
	piece.count = (uint32_t)(packet->head.content_bits / 8 - USER_HEAD);
	assert_true(flight_logged_reader_init(&reader, names, ARRAY_LEN(names)));
	assert_int_equal(flight_logged_describe(&reader, 3, text, strlen(text)),
			 FLIGHT_LOGGED_READ);
	assert_int_equal(flight_logged_read(&reader, 3, &piece, &found, &count, &last_ticks),
			 FLIGHT_LOGGED_READ);
	assert_int_equal(count, 3);
	assert_int_equal(found[2].ticks, 1002);
	assert_int_equal(found[2].tid, 72);
	assert_int_equal(found[2].name, 1);
	assert_int_equal(last_ticks, 1002);
	((uint8_t *)packet)[USER_HEAD + 4 + 24] = 9; /* the second one's kind */
	assert_int_equal(flight_logged_read(&reader, 3, &piece, &found, &count, &last_ticks),
			 FLIGHT_LOGGED_BAD);
	assert_int_equal(count, 1);
	assert_int_equal(flight_logged_describe(&reader, 4, "trace {", 7), FLIGHT_LOGGED_BAD);
	assert_int_equal(flight_logged_read(&reader, 4, &piece, &found, &count, &last_ticks),
			 FLIGHT_LOGGED_BAD);
	flight_logged_reader_end(&reader);
	free(packet);
}

/* One in so many of a CPU, for each of two: they have half of the budget at most, and never more than without one. */
static void looks_cost_half_of_a_budget(void **state)
{
	assert_int_equal(flight_logged_cost_part(0, 4), 20);
	assert_int_equal(flight_logged_cost_part(10000, 4),
			 100); /* 1 % of 4 CPUs: 2 times 1 % of one */
	assert_int_equal(flight_logged_cost_part(4000, 2), 500);
	assert_int_equal(flight_logged_cost_part(500000, 64), 20);
	assert_int_equal(flight_logged_cost_part(1, 1), 4000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_fires_each_time),
		cmocka_unit_test(a_pair_is_in_the_order_of_times),
		cmocka_unit_test(a_pair_that_is_soon_or_of_two_threads_fires_nothing),
		cmocka_unit_test(events_behind_the_look_wait_for_the_next),
		cmocka_unit_test(a_pair_that_does_not_end_fires_once),
		cmocka_unit_test(what_began_before_a_hole_does_not_count),
		cmocka_unit_test(threads_without_end_are_bounded),
		cmocka_unit_test(messages_are_not_believed),
		cmocka_unit_test(a_message_of_another_size_ends_it),
		cmocka_unit_test(a_reader_finds_events_and_says_what_is_bad),
		cmocka_unit_test(looks_cost_half_of_a_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
