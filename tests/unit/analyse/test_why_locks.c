/* test_why_locks.c - why with what a program told of its locks: each owner is charged its part. */
#include <errno.h>

#include "analyse/locks/lock_owner.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/stacks.h"
#include "told.h"

#define A 0x1000 /* locks */
#define B 0x2000

/* Lock events of an array. */
struct listed {
	struct source source;
	const struct event *events;
	size_t count, at;
};

static int listed_next(struct source *source, const struct event **out_event, struct err *err)
{
	struct listed *listed = (struct listed *)source;

	(void)err;
	if (listed->at == listed->count)
		return 0;
	*out_event = &listed->events[listed->at++];
	return 1;
}

#define TOLD(time, thread, operation, lock, ...)                                         \
	{                                                                                \
		.time_ns = (time), .tid = (thread), .type = EV_USER_LOCK, .user_lock = { \
			.op = USER_LOCK_##operation,                                     \
			.pid = 7,                                                        \
			.address = (lock),                                               \
			.path = "",                                                      \
			.kind = LOCK_KIND_MUTEX,                                         \
			__VA_ARGS__                                                      \
		}                                                                        \
	}

static struct lock_owners *owners_of(const struct event *events, size_t count)
{
	static const struct source_ops ops = { .next = listed_next };
	struct listed listed = { { &ops }, events, count, 0 };
	struct lock_owners *owners;
	struct err err = { 0 };

	assert_int_equal(lock_owners_new(&listed.source, 0, &owners, &err), 0);
	return owners;
}

#define OWNERS(...)                                      \
	owners_of((const struct event[]){ __VA_ARGS__ }, \
		  sizeof((const struct event[]){ __VA_ARGS__ }) / sizeof(struct event))

/* Explain 'tid' over [start, end) with what was told; the sums are checked by why_of(). */
static const struct why *explained_with(struct told *told, struct lock_owners *owners, int32_t tid,
					uint64_t start_ns, uint64_t end_ns)
{
	return why_of(told, &(struct why_opts){ .slot = slot_of(told, tid),
						.start_ns = start_ns,
						.end_ns = end_ns,
						.want_waits = true,
						.lock_owners = owners });
}

/* 8 sleeps from 20 to 80 and is woken by 7. What each of the others did in that time: */
#define PROCESS                               \
	"thread 7 7 1 R main\n"               \
	"thread 8 7 1 R asker\n"              \
	"thread 9 7 1 R other\n"              \
	"thread 40 40 1 R stranger\n"         \
	"  0 cpu0 switch 0(runnable) 7\n"     \
	"  0 cpu1 switch 0(runnable) 8\n"     \
	"  0 cpu2 switch 0(runnable) 9\n"     \
	"  0 cpu3 switch 0(runnable) 40\n"    \
	" 10 cpu1 enter futex 0x1000 128 2\n" \
	" 20 cpu1 switch 8(blocked) 0\n"
#define THE_END                           \
	" 80 cpu0 waking 8 cpu 1\n"       \
	" 80 cpu1 switch 0(runnable) 8\n" \
	" 90 cpu1 switch 8(blocked) 0\n"

static void each_owner_is_charged_while_it_had_the_lock(void **unused)
{
	struct told *told = replayed(PROCESS THE_END);
	/* 7 took it late: what it did before was nothing to 8. */
	struct lock_owners *owners =
		OWNERS(TOLD(5, 9, ACQUIRED, A), TOLD(15, 8, WAIT_BEGIN, A, .owner = 9),
		       TOLD(55, 9, RELEASED, A), TOLD(60, 7, ACQUIRED, A), TOLD(78, 7, RELEASED, A),
		       TOLD(85, 8, WAIT_END, A));
	const struct why *why;

	assert_string_equal(verdict_in(told, 8, 20, 80), "lock 7 60 running [futex 0x1000]");
	why = explained_with(told, owners, 8, 20, 80);
	assert_string_equal(roots_text(told),
			    "lock 9 35 running [mutex 0x1000]; lock 7 18 running [mutex 0x1000]; "
			    "lock 7 7 running [futex 0x1000]");
	assert_string_equal(chain_text(told), "8 futex 35, 9 running 35");
	assert_string_equal(why->chain[0].lock, "mutex 0x1000");
	assert_int_equal(why->chain[0].owner.tid, 9);
	assert_int_equal(why->chain[0].waker.tid, 7);
	assert_int_equal(why->chain[0].count, 1);
	lock_owners_free(owners);
	told_free(told);
}

static void a_futex_that_is_known_has_its_name(void **unused)
{
	struct told *told = replayed(PROCESS THE_END);
	struct stacks *stacks = xcalloc(1, sizeof(*stacks));
	const struct why *why;

	stacks_add_futex(stacks, &(struct stack_futex){ .tgid = 7,
							.address = 0x1000,
							.until_ns = UINT64_MAX,
							.kind = STACK_FUTEX_VARIABLE,
							.name = "ledger_lock",
							.module = "planted" });
	stacks_finish(stacks);
	told->trace->facts.stacks = stacks;
	assert_string_equal(verdict_in(told, 8, 20, 80),
			    "lock 7 60 running [futex of ledger_lock (planted)]");
	why = explained_with(told, NULL, 8, 20, 80);
	assert_string_equal(why->waits[0].object, "futex of ledger_lock (planted)");
	assert_string_equal(why->chain[0].object, "futex of ledger_lock (planted)");
	told_free(told);
}

static void the_causality_says_who_had_it_and_what_it_did(void **unused)
{
	struct told *told = replayed(PROCESS " 30 cpu2 enter read 3\n"
					     " 31 cpu2 switch 9(blocked) 0\n"
					     " 41 cpu0 waking 9 cpu 2\n"
					     " 44 cpu2 switch 0(runnable) 9\n" THE_END);
	struct lock_owners *owners =
		OWNERS(TOLD(5, 9, ACQUIRED, A), TOLD(15, 8, WAIT_BEGIN, A, .owner = 9),
		       TOLD(55, 9, RELEASED, A), TOLD(60, 7, ACQUIRED, A), TOLD(78, 7, RELEASED, A),
		       TOLD(85, 8, WAIT_END, A));
	const struct why *why = explained_with(told, owners, 8, 20, 80);
	const struct why_wait *wait = &why->waits[0];

	assert_string_equal(waits_text(told), "0:8 20-80 thread, 1:9 31-41 thread");
	assert_string_equal(wait->lock, "mutex 0x1000");
	assert_int_equal(wait->owner_count, 3);
	assert_int_equal(why->owners[wait->first_owner].who.tid, 9);
	assert_int_equal(why->owners[wait->first_owner].ns, 35);
	assert_int_equal(why->owners[wait->first_owner].working_ns, 11 + 11);
	assert_int_equal(why->owners[wait->first_owner].blocked_ns, 10);
	assert_int_equal(why->owners[wait->first_owner].interrupted_ns, 3);
	assert_int_equal(why->owners[wait->first_owner + 1].who.tid, 0);
	assert_int_equal(why->owners[wait->first_owner + 1].ns, 5 + 2);
	assert_int_equal(why->owners[wait->first_owner + 2].who.tid, 7);
	assert_int_equal(why->owners[wait->first_owner + 2].ns, 18);
	assert_null(why->waits[1].lock);
	lock_owners_free(owners);
	told_free(told);
}

static void a_lock_that_is_never_let_go_names_its_owner(void **unused)
{
	struct told *told = replayed(PROCESS " 80 cpu0 switch 7(blocked) 0\n");
	struct lock_owners *owners =
		OWNERS(TOLD(5, 9, ACQUIRED, A), TOLD(15, 8, WAIT_BEGIN, A, .owner = 9),
		       TOLD(85, 7, ACQUIRED, B));

	assert_string_equal(verdict_in(told, 8, 20, 80),
			    "stuck 8 60 futex: the recording ended [futex 0x1000]");
	(void)explained_with(told, owners, 8, 20, 80);
	assert_string_equal(roots_text(told), "lock 9 60 running [mutex 0x1000]");
	lock_owners_free(owners);
	told_free(told);
}

/* 8 waits for A of 9, which waits for B of 8: told as the circle that it is. */
static void a_deadlock_comes_to_an_end(void **unused)
{
	struct told *told = replayed(PROCESS " 30 cpu2 enter futex 0x2000 128 2\n"
					     " 40 cpu2 switch 9(blocked) 0\n"
					     " 80 cpu0 switch 7(blocked) 0\n");
	struct lock_owners *owners =
		OWNERS(TOLD(2, 8, ACQUIRED, B), TOLD(5, 9, ACQUIRED, A),
		       TOLD(15, 8, WAIT_BEGIN, A, .owner = 9),
		       TOLD(35, 9, WAIT_BEGIN, B, .owner = 8), TOLD(85, 7, ACQUIRED, 0x3000));
	const struct why *why = explained_with(told, owners, 8, 20, 80);

	assert_string_equal(
		roots_text(told),
		"stuck 9 40 futex: the recording ended, in a circle: asker[8], which it waits "
		"for, waits for it [mutex 0x2000]; "
		"lock 9 20 running 50 %, futex 50 % [mutex 0x1000]");
	assert_string_equal(chain_text(told), "8 futex 40, 9 futex 40, 9 futex 40");
	assert_string_equal(why->chain[1].lock, "mutex 0x2000");
	assert_int_equal(why->chain[1].expects.tid, 8);
	assert_int_equal(why->depth_limit_hits, 0);
	assert_string_equal(waits_text(told), "0:8 20-80 none, 1:9 40-80 none");
	lock_owners_free(owners);
	told_free(told);
}

static void who_cannot_have_had_it_is_not_charged(void **unused)
{
	struct told *told = replayed(PROCESS THE_END);
	/* Of another process, itself, no thread at all. */
	static const int32_t wrong[] = { 40, 8, 4711, -5, INT32_MIN };

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct lock_owners *owners = OWNERS(TOLD(15, 8, WAIT_BEGIN, A, .owner = wrong[i]),
						    TOLD(85, 8, WAIT_END, A));

		(void)explained_with(told, owners, 8, 20, 80);
		assert_string_equal(roots_text(told), "lock 7 60 running [futex 0x1000]");
		lock_owners_free(owners);
	}
	told_free(told);
}

/* What it told covers too little of the wait to be about it, or the wait is none for a futex. */
static void other_waits_stay_as_they_are(void **unused)
{
	struct told *told = replayed(PROCESS THE_END);
	struct told *reads = replayed("thread 7 7 1 R main\n"
				      "thread 8 7 1 R asker\n"
				      "  0 cpu0 switch 0(runnable) 7\n"
				      "  0 cpu1 switch 0(runnable) 8\n"
				      " 10 cpu1 enter read 3\n"
				      " 20 cpu1 switch 8(blocked) 0\n" THE_END);
	struct lock_owners *shorter =
		OWNERS(TOLD(15, 8, WAIT_BEGIN, A, .owner = 9), TOLD(40, 8, WAIT_END, A));
	struct lock_owners *owners =
		OWNERS(TOLD(15, 8, WAIT_BEGIN, A, .owner = 9), TOLD(85, 8, WAIT_END, A));

	(void)explained_with(told, shorter, 8, 20, 80);
	assert_string_equal(roots_text(told), "lock 7 60 running [futex 0x1000]");
	(void)explained_with(reads, owners, 8, 20, 80);
	assert_string_equal(roots_text(reads), "other_thread 7 60 running");
	lock_owners_free(owners);
	lock_owners_free(shorter);
	told_free(reads);
	told_free(told);
}

/* A condition has no owner: it is named, and who signals is charged as ever. */
static void a_condition_is_named(void **unused)
{
	struct told *told = replayed(PROCESS THE_END);
	struct lock_owners *owners = OWNERS(TOLD(15, 8, COND_BEGIN, A, .mutex = B),
					    TOLD(85, 8, COND_END, A, .mutex = B));
	const struct why *why = explained_with(told, owners, 8, 20, 80);

	assert_string_equal(roots_text(told), "lock 7 60 running [futex 0x1000]");
	assert_string_equal(why->chain[0].lock, "condition 0x1000");
	assert_int_equal(why->chain[0].owner.tid, 0);
	assert_string_equal(why->waits[0].lock, "condition 0x1000");
	assert_int_equal(why->waits[0].owner_count, 0);
	lock_owners_free(owners);
	told_free(told);
}

/* Five threads that sleep in futex calls most of the time and wake each other at random. */
static struct told *restless(uint64_t *random)
{
	enum {
		THREADS = 5
	};
	struct text_trace *trace = text_trace_new();
	bool sleeps[THREADS] = { 0 };

	for (int i = 0; i < THREADS; i++) {
		AUTO_FREE char *lines = xasprintf("thread %d 7 1 R t\n", 7 + i);

		text_trace_add(trace, lines);
	}
	for (int i = 0; i < THREADS; i++) {
		AUTO_FREE char *lines = xasprintf("0 cpu%d switch 0(runnable) %d\n"
						  "0 cpu%d enter futex 0x1000 128 2\n",
						  i, 7 + i, i);

		text_trace_add(trace, lines);
	}
	for (int time = 10; time < 1500; time += 3) {
		AUTO_FREE char *lines = NULL;
		int who, by;

		*random = *random * 6364136223846793005u + 1442695040888963407u;
		who = (int)(*random >> 33) % THREADS;
		by = (int)(*random >> 45) % THREADS;
		if (!sleeps[who])
			lines = xasprintf("%d cpu%d switch %d(blocked) 0\n", time, who, 7 + who);
		else if (!sleeps[by])
			lines = xasprintf("%d cpu%d waking %d cpu %d\n"
					  "%d cpu%d switch 0(runnable) %d\n",
					  time, by, 7 + who, who, time + 1, who, 7 + who);
		else
			continue;
		sleeps[who] = !sleeps[who];
		text_trace_add(trace, lines);
	}
	return told_trace(trace);
}

/* Whatever is told of locks, every nanosecond is charged once: why_of() checks. */
static void what_makes_no_sense_adds_up(void **unused)
{
	enum {
		COUNT = 700
	};
	struct event *events = xcalloc(COUNT, sizeof(*events));
	uint64_t random = 42;

	for (int round = 0; round < 20; round++) {
		struct told *told = restless(&random);
		struct lock_owners *owners;

		for (size_t i = 0; i < COUNT; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			events[i] = (struct event)TOLD(i * 2, 7 + (int32_t)(random >> 61), ACQUIRED,
						       A + (random >> 50) % 3);
			events[i].user_lock.op =
				(uint8_t)((random >> 40) % (USER_LOCK_DESTROYED + 1));
			events[i].user_lock.owner = 6 + (int32_t)(random >> 30) % 8;
		}
		owners = owners_of(events, COUNT);
		for (int32_t tid = 7; tid < 12; tid++)
			(void)explained_with(told, owners, tid, 0, 0);
		lock_owners_free(owners);
		told_free(told);
	}
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_owner_is_charged_while_it_had_the_lock),
		cmocka_unit_test(a_futex_that_is_known_has_its_name),
		cmocka_unit_test(the_causality_says_who_had_it_and_what_it_did),
		cmocka_unit_test(a_lock_that_is_never_let_go_names_its_owner),
		cmocka_unit_test(a_deadlock_comes_to_an_end),
		cmocka_unit_test(who_cannot_have_had_it_is_not_charged),
		cmocka_unit_test(other_waits_stay_as_they_are),
		cmocka_unit_test(a_condition_is_named),
		cmocka_unit_test(what_makes_no_sense_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
