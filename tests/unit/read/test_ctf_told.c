/* test_ctf_told.c - what is told of an event comes back; damaged bytes are refused or do no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/event.h"
#include "read/ctf/told.h"

static const struct event other = { .type = EV_OTHER, .other = { "system", "name" } };

static void told_again(const struct event *event, uint8_t *bytes, struct event *out_event)
{
	uint32_t count = ctf_told_put(event, bytes);

	assert_true(count <= CTF_TOLD_MAX);
	assert_true(ctf_told_take(bytes, count, &other, out_event));
	assert_int_equal(out_event->type, event->type);
}

static void a_switch_comes_back(void **unused)
{
	uint8_t bytes[CTF_TOLD_MAX];
	struct event again;
	/* A name of 16 bytes may lack its end. */
	const struct event event = { .type = EV_SCHED_SWITCH,
				     .context = EV_CTX_KNOWN | EV_CTX_HARDIRQ,
				     .sched_switch = { .prev_comm = "0123456789abcdefTAIL",
						       .prev_tid = 7,
						       .next_tid = -1,
						       .prev_prio = 120,
						       .prev_state = TASK_STATE_DISK } };

	told_again(&event, bytes, &again);
	assert_int_equal(again.context, event.context);
	assert_int_equal(again.sched_switch.prev_tid, 7);
	assert_int_equal(again.sched_switch.next_tid, -1);
	assert_int_equal(again.sched_switch.prev_prio, 120);
	assert_int_equal(again.sched_switch.prev_state, TASK_STATE_DISK);
	assert_string_equal(again.sched_switch.prev_comm, "0123456789abcdef");
	assert_null(again.sched_switch.next_comm);
}

static void a_birth_comes_back(void **unused)
{
	const struct event fork = { .type = EV_SCHED_FORK,
				    .task = { .tid = 12, .parent_tid = 7, .tgid = 7 } };
	uint8_t bytes[CTF_TOLD_MAX];
	struct event again;

	told_again(&fork, bytes, &again);
	assert_int_equal(again.task.tid, 12);
	assert_int_equal(again.task.parent_tid, 7);
	assert_int_equal(again.task.tgid, 7);
}

static void a_call_and_a_stack_come_back(void **unused)
{
	static const uint64_t frames[] = { 0xffffffff81000000u, 0x1234 };
	const struct event call = { .type = EV_SYS_ENTER,
				    .syscall = { .nr = 202,
						 .by_name = true,
						 .args = { UINT64_MAX, 0, 3, 4, 5, 6 },
						 .path = "/data/data.bin" } };
	const struct event stack = { .type = EV_STACK, .stack = { frames, 2 } };
	uint8_t bytes[CTF_TOLD_MAX];
	struct event again;

	told_again(&call, bytes, &again);
	assert_int_equal(again.syscall.nr, 202);
	assert_memory_equal(again.syscall.args, call.syscall.args, sizeof(call.syscall.args));
	assert_string_equal(again.syscall.path, "/data/data.bin");
	assert_true(again.syscall.by_name);
	told_again(&stack, bytes, &again);
	assert_int_equal(again.stack.count, 2);
	assert_memory_equal(again.stack.frames, frames, sizeof(frames));
}

static void an_event_of_no_known_type_is_the_other_one(void **unused)
{
	uint8_t bytes[CTF_TOLD_MAX];
	struct event again;

	told_again(&other, bytes, &again);
	assert_string_equal(again.other.name, "name");
}

/* It is the last one, of one byte when it is 0: told before there was such a field. */
static void a_field_that_came_later_may_be_missing(void **unused)
{
	const struct event fork = { .type = EV_SCHED_FORK, .task = { .tid = 12, .parent_tid = 7 } };
	uint8_t bytes[CTF_TOLD_MAX];
	struct event again;

	assert_true(ctf_told_take(bytes, ctf_told_put(&fork, bytes) - 1, &other, &again));
	assert_int_equal(again.type, EV_SCHED_FORK);
	assert_int_equal(again.task.tid, 12);
	assert_int_equal(again.task.tgid, 0);
}

/* Those that have no record, or are of programs, are not told so. */
static void every_type_that_a_reader_tells_has_its_fields(void **unused)
{
	uint8_t bytes[CTF_TOLD_MAX];
	struct event event = { 0 };

	for (uint32_t type = EV_SCHED_SWITCH; type < EV_TYPE_COUNT; type++) {
		if (type == EV_FD_NAME || type == EV_USER_LOCK)
			continue;
		event.type = (uint8_t)type;
		(void)ctf_told_put(&event, bytes);
		assert_int_not_equal(bytes[1], 0);
	}
}

/* Every event type, every length, every byte changed. Run with a sanitizer it tells more. */
static void damaged_bytes_do_no_harm(void **unused)
{
	uint8_t bytes[CTF_TOLD_MAX], spoilt[CTF_TOLD_MAX];
	struct event event = { 0 }, again;

	for (uint32_t type = 1; type < EV_TYPE_COUNT; type++) {
		uint32_t count;

		event.type = (uint8_t)type;
		count = ctf_told_put(&event, bytes);
		for (uint32_t cut = 0; cut < count; cut++)
			(void)ctf_told_take(bytes, cut, &other, &again);
		for (uint32_t at = 0; at < count; at++) {
			for (uint32_t value = 0; value < 256; value += 5) {
				memcpy(spoilt, bytes, count);
				spoilt[at] = (uint8_t)value;
				if (ctf_told_take(spoilt, count, &other, &again))
					assert_true(again.type < EV_TYPE_COUNT);
			}
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_comes_back),
		cmocka_unit_test(a_birth_comes_back),
		cmocka_unit_test(a_field_that_came_later_may_be_missing),
		cmocka_unit_test(a_call_and_a_stack_come_back),
		cmocka_unit_test(an_event_of_no_known_type_is_the_other_one),
		cmocka_unit_test(every_type_that_a_reader_tells_has_its_fields),
		cmocka_unit_test(damaged_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
