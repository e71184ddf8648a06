/* test_klock.c - which kernel lock a thread waits for, and who has it. */
#include "told.h"

#define BEGINS                            \
	"thread 7 7 1 R prog\n"           \
	"thread 9 7 1 R helper\n"         \
	"thread 8 8 1 R holder\n"         \
	"  0 cpu0 switch 0(runnable) 7\n" \
	"  0 cpu1 switch 0(runnable) 8\n" \
	"  1us cpu1 enter munmap 0 0\n"   \
	"  5us cpu0 enter mmap 0 0\n"

#define ENDS                                \
	" 40us cpu1 waking 7\n"             \
	" 50us cpu0 switch 0(runnable) 7\n" \
	" 51us cpu0 lockend 0x77\n"         \
	" 60us cpu0 leave mmap 0\n"         \
	" 90us cpu0 switch 7(blocked) 0\n"

#define SLEEPS "10us cpu0 lockbegin 0x77 4\n 11us cpu0 switch 7(disk) 0\n"

static void without_a_word_of_the_recorder_it_is_known_by_its_address(void **unused)
{
	struct told *told = replayed(BEGINS SLEEPS ENDS);

	assert_string_equal(object_of(told, 7, 0), "kernel rw lock 0x77");
	assert_false(wait_of(told, 7, 0)->flags & WAIT_OWNED);
	assert_string_equal(verdict_in(told, 7, 11000, 40000),
			    "lock 8 29000 munmap [kernel rw lock 0x77]");
	told_free(told);
}

/* Two clocks: it may be told a moment before or after. */
static void what_is_told_around_the_beginning_is_of_that_wait(void **unused)
{
	static const char *const texts[] = {
		BEGINS " 9us cpu0 locktold 7 0x77 8 \"inode lock of /x\"\n" SLEEPS ENDS,
		BEGINS SLEEPS " 12us cpu0 locktold 7 0x77 8 \"inode lock of /x\"\n" ENDS,
	};

	for (size_t i = 0; i < 2; i++) {
		struct told *told = replayed(texts[i]);
		const struct wait *wait = wait_of(told, 7, 0);

		assert_string_equal(object_of(told, 7, 0), "inode lock of /x");
		assert_true(wait->flags & WAIT_OWNED);
		assert_int_equal(told->tl->threads[wait->origin.slot]->tid, 8);
		assert_string_equal(verdict_in(told, 7, 11000, 40000),
				    "lock 8 29000 munmap [inode lock of /x]");
		assert_int_equal(told->why.chain[0].holder.tid, 8);
		assert_string_equal(told->why.chain[0].holding, "munmap");
		told_free(told);
	}
}

/* 8 had it, and 9 took it in between: the causality has both, and what each waited for. */
static void who_had_it_is_a_hop_of_its_own_when_another_one_ended_the_wait(void **unused)
{
	struct told *told =
		replayed(BEGINS "  9us cpu0 locktold 7 0x77 8 \"inode lock of /x\"\n" SLEEPS
				" 15us cpu1 switch 8(blocked) 0\n"
				" 20us cpu1 waking 8\n"
				" 21us cpu1 switch 0(runnable) 8\n"
				" 30us cpu1 switch 8(blocked) 9\n" ENDS);
	const struct why *why =
		why_of(told, &(struct why_opts){ .slot = slot_of(told, 7), .want_waits = true });
	const struct why_wait *wait = &why->waits[0];

	assert_int_equal(wait->woken_by.tid, 9);
	assert_int_equal(wait->holder.tid, 8);
	assert_string_equal(wait->holding, "munmap");
	assert_int_equal(wait->held.working_ns, 13000);
	assert_int_equal(wait->held.blocked_ns, 15000);
	assert_int_equal(wait->held.interrupted_ns, 1000);
	assert_int_equal(why->waits[1].who.tid, 8);
	assert_int_equal(why->waits[1].depth, 1);
	told_free(told);
}

static void of_a_waker_that_had_the_lock_nothing_is_told_twice(void **unused)
{
	struct told *told =
		replayed(BEGINS " 9us cpu0 locktold 7 0x77 8 \"inode lock of /x\"\n" SLEEPS ENDS);
	const struct why *why =
		why_of(told, &(struct why_opts){ .slot = slot_of(told, 7), .want_waits = true });

	assert_int_equal(why->waits[0].holder.tid, 8);
	assert_string_equal(why->waits[0].holding, "munmap");
	assert_int_equal(why->waits[0].working_ns, 29000);
	assert_int_equal(why->waits[0].held.working_ns, 0);
	told_free(told);
}

/* Between the event and what the recorder notes, others had the CPU. */
static void what_is_told_later_in_a_wait_is_of_that_wait(void **unused)
{
	struct told *told =
		replayed(BEGINS SLEEPS " 5ms cpu1 locktold 7 0x77 8 \"inode lock of /x\"\n"
				       "10ms cpu1 waking 7\n");

	assert_string_equal(object_of(told, 7, 0), "inode lock of /x");
	assert_true(wait_of(told, 7, 0)->flags & WAIT_OWNED);
	told_free(told);
}

/* What was told of another lock, or of a wait long ago. */
static void an_owner_is_of_one_wait_alone(void **unused)
{
	struct told *told =
		replayed(BEGINS " 9us cpu0 locktold 7 0x78 8 \"inode lock of /x\"\n" SLEEPS ENDS);

	assert_string_equal(object_of(told, 7, 0), "kernel rw lock 0x77");
	assert_false(wait_of(told, 7, 0)->flags & WAIT_OWNED);
	told_free(told);
	told = replayed(BEGINS " 5us cpu0 locktold 7 0x77 8 \"inode lock of /x\"\n"
			       "20ms cpu0 lockbegin 0x77 4\n20010us cpu0 switch 7(disk) 0\n"
			       "20040us cpu1 waking 7\n");
	assert_string_equal(object_of(told, 7, 0), "inode lock of /x");
	assert_false(wait_of(told, 7, 0)->flags & WAIT_OWNED);
	told_free(told);
}

/* It is told before the event that says what kind of lock it is. */
static void a_name_that_is_told_early_gets_the_kind_of_its_lock(void **unused)
{
	struct told *told =
		replayed(BEGINS " 9us cpu0 locktold 7 0x77 8 \"uts_sem\"\n" SLEEPS ENDS);

	assert_string_equal(object_of(told, 7, 0), "kernel rw lock uts_sem");
	told_free(told);
}

/* Short waits are not told of each; another process may have another lock at that address. */
static void a_lock_is_known_to_the_process_that_was_told_of_it(void **unused)
{
	struct told *told =
		replayed(BEGINS " 9us cpu0 locktold 9 0x77 0 \"inode lock of /x\"\n" SLEEPS ENDS);

	assert_string_equal(object_of(told, 7, 0), "inode lock of /x");
	told_free(told);
	told = replayed(BEGINS " 9us cpu0 locktold 8 0x77 0 \"inode lock of /x\"\n" SLEEPS ENDS);
	assert_string_equal(object_of(told, 7, 0), "kernel rw lock 0x77");
	told_free(told);
	told = replayed(BEGINS " 9us cpu0 locktold 9 0x77 0 \"inode lock of /x\"\n"
			       "200ms cpu0 lockbegin 0x77 4\n200010us cpu0 switch 7(disk) 0\n"
			       "200040us cpu1 waking 7\n");
	assert_string_equal(object_of(told, 7, 0), "kernel rw lock 0x77");
	told_free(told);
}

static void nobody_has_a_lock_that_he_waits_for(void **unused)
{
	struct told *told =
		replayed(BEGINS " 9us cpu0 locktold 7 0x77 7 \"inode lock of /x\"\n" SLEEPS ENDS);

	assert_false(wait_of(told, 7, 0)->flags & WAIT_OWNED);
	told_free(told);
	told = replayed(BEGINS " 9us cpu0 locktold 7 0x77 4711 \"inode lock of /x\"\n" SLEEPS ENDS);
	assert_false(wait_of(told, 7, 0)->flags & WAIT_OWNED);
	told_free(told);
}

/* Who has it is awaited when it is never let go. */
static void of_a_wait_that_nobody_ended_the_owner_is_charged(void **unused)
{
	struct told *told =
		replayed(BEGINS SLEEPS " 12us cpu0 locktold 7 0x77 8 \"inode lock of /x\"\n"
				       "100us cpu1 leave munmap 0\n");

	assert_string_equal(verdict_in(told, 7, 11000, 100000),
			    "lock 8 89000 munmap [inode lock of /x]");
	assert_int_equal(told->why.chain[0].expects.tid, 8);
	assert_string_equal(told_reason(told->why.chain[0].instead), "the recording ended");
	told_free(told);
}

/* No event tells of it: the recorder found it waiting. */
static void who_waits_since_before_the_recording_waits_for_that_lock(void **unused)
{
	struct told *told = replayed("thread 7 7 1 D prog\nseenin 5us mmap 0 0\n"
				     "thread 8 8 1 R holder\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     "  1us cpu1 enter munmap 0 0\n"
				     " 12us cpu1 locktold 7 0x77 8 \"inode lock of /x\"\n"
				     "100us cpu1 leave munmap 0\n");
	const struct wait *wait = wait_of(told, 7, 0);

	assert_string_equal(object_of(told, 7, 0), "inode lock of /x");
	assert_true(wait->flags & WAIT_LOCK);
	assert_true(wait->flags & WAIT_OWNED);
	assert_int_equal(told->tl->threads[wait->origin.slot]->tid, 8);
	told_free(told);
}

/* A mutex is spun for first; woken up, a thread may find it taken again. */
static void one_wait_may_begin_several_times(void **unused)
{
	struct told *told =
		replayed(BEGINS " 9us cpu0 lockbegin 0x77 33\n" /* MUTEX | SPIN */
				"200us cpu0 lockbegin 0x77 32\n"
				"201us cpu0 locktold 7 0x77 8 \"pipe lock of pipe:[5]\"\n"
				"202us cpu0 switch 7(disk) 0\n"
				"300us cpu1 waking 7\n"
				"310us cpu0 switch 0(runnable) 7\n"
				"311us cpu0 lockbegin 0x77 33\n"
				"312us cpu0 lockbegin 0x77 32\n"
				"313us cpu0 switch 7(disk) 0\n"
				"400us cpu1 waking 7\n"
				"410us cpu0 switch 0(runnable) 7\n"
				"411us cpu0 lockend 0x77\n");

	assert_string_equal(object_of(told, 7, 0), "pipe lock of pipe:[5]");
	assert_string_equal(object_of(told, 7, 1), "pipe lock of pipe:[5]");
	assert_true(wait_of(told, 7, 0)->flags & WAIT_OWNED);
	told_free(told);
}

/* A mutex has a spin lock of its own, which may be contended for on the way to sleep. */
static void a_spin_lock_on_the_way_is_not_what_it_sleeps_for(void **unused)
{
	struct told *told = replayed(BEGINS "10us cpu0 lockbegin 0x77 32\n"
					    "10500 cpu0 lockbegin 0x99 1\n"
					    "10700 cpu0 lockend 0x99\n"
					    "11us cpu0 switch 7(disk) 0\n" ENDS);

	assert_string_equal(object_of(told, 7, 0), "kernel mutex 0x77");
	told_free(told);
}

/* A server that waits for a lock of the kernel's does not wait for work. */
static void within_a_call_that_waits_for_work_a_lock_is_a_lock(void **unused)
{
	struct told *told = replayed("thread 7 7 1 R prog\nthread 8 8 1 R holder\n"
				     "fd 7 3 listen tcp:80\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 8\n"
				     "  5us cpu0 enter accept 3 0 0\n" SLEEPS ENDS);

	assert_string_equal(object_of(told, 7, 0), "kernel rw lock 0x77");
	assert_false(wait_of(told, 7, 0)->flags & WAIT_SERVER);
	assert_int_equal(wait_of(told, 7, 0)->fd, -1);
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_word_of_the_recorder_it_is_known_by_its_address),
		cmocka_unit_test(what_is_told_around_the_beginning_is_of_that_wait),
		cmocka_unit_test(who_had_it_is_a_hop_of_its_own_when_another_one_ended_the_wait),
		cmocka_unit_test(of_a_waker_that_had_the_lock_nothing_is_told_twice),
		cmocka_unit_test(what_is_told_later_in_a_wait_is_of_that_wait),
		cmocka_unit_test(an_owner_is_of_one_wait_alone),
		cmocka_unit_test(a_name_that_is_told_early_gets_the_kind_of_its_lock),
		cmocka_unit_test(a_lock_is_known_to_the_process_that_was_told_of_it),
		cmocka_unit_test(nobody_has_a_lock_that_he_waits_for),
		cmocka_unit_test(of_a_wait_that_nobody_ended_the_owner_is_charged),
		cmocka_unit_test(who_waits_since_before_the_recording_waits_for_that_lock),
		cmocka_unit_test(one_wait_may_begin_several_times),
		cmocka_unit_test(a_spin_lock_on_the_way_is_not_what_it_sleeps_for),
		cmocka_unit_test(within_a_call_that_waits_for_work_a_lock_is_a_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
