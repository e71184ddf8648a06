/*
 * test_verify.c - traces without a fault, and one fault planted at a time.
 *
 * Every check has a fault that makes it fail, but the verdict's: nothing that can be
 * planted reaches it without another check that fails first.
 */
#include <fcntl.h>
#include <unistd.h>

#include "analyse/verify/verify.h"
#include "base/hash.h"
#include "base/mem.h"
#include "random_trace.h"
#include "report/verify.h"
#include "told.h"
#include "wire/index.h"

#include "random_track.h"

#define SEEDS 200
#define STEPS 150

/* Two CPUs: 7 sleeps from 10 to 40, woken by 8; CPU 0 has a hole from 80 to 90. */
static const char scene[] = "facts last 100\n"
			    "thread 7 7 1 R seven\n"
			    "thread 8 8 1 R eight\n"
			    "  0 cpu0 switch 0(runnable) 7\n"
			    "  0 cpu1 switch 0(runnable) 8\n"
			    "  5 cpu0 enter read 3\n"
			    " 10 cpu0 switch 7(blocked) 0\n"
			    " 40 cpu1 waking 7 cpu 0\n"
			    " 55 cpu0 switch 0(runnable) 7\n"
			    " 60 cpu1 switch 8(runnable) 0\n"
			    " 70 cpu1 switch 0(runnable) 8\n"
			    " 90 cpu0 lost 80 3\n"
			    " 95 cpu0 by 7 leave read 1\n";

static void verify_told(struct told *told, struct verify *verify)
{
	struct err err = { 0 };

	*verify = (struct verify){ 0 };
	if (verify_events(&told->trace->source, &told->trace->facts, NULL, verify, &err) < 0)
		fail_msg("%s", err.text);
	verify_timeline(told->tl, &told->trace->facts, NULL, verify);
}

static void expect_none_broken(const struct verify *verify, uint64_t seed)
{
	if (verify->broken_count)
		fail_msg("seed %" PRIu64 ": %s: %s", seed,
			 verify_check_key(verify->broken[0].check),
			 report_verify_broken(verify, &verify->broken[0]));
}

/* The planted fault is found by that check, and said in a sentence with 'words' in it. */
static void expect_broken(struct told *told, enum verify_check check, const char *words)
{
	struct verify verify;
	bool said = false;

	verify_told(told, &verify);
	for (size_t i = 0; i < verify.broken_count; i++) {
		AUTO_FREE char *text = report_verify_broken(&verify, &verify.broken[i]);

		said |= verify.broken[i].check == check && strstr(text, words);
	}
	if (!said)
		fail_msg("%s: nothing says \"%s\", but %zu others; the first: %s",
			 verify_check_key(check), words, verify.broken_count,
			 verify.broken_count ? report_verify_broken(&verify, &verify.broken[0])
					     : "none");
	assert_true(verify_is_broken(&verify));
	assert_false(verify_is_whole(&verify, &told->trace->facts));
	verify_fini(&verify);
	told_free(told);
}

static struct tl_thread *thread_to_change(struct told *told, int32_t tid)
{
	return told->tl->threads[slot_of(told, tid)];
}

/* The first entry of that kind in a track. */
static uint32_t entry_of(struct track *track, enum word_kind kind)
{
	for (uint32_t i = 0; i < track->count; i++) {
		if (word_kind(track_at(track, i)->word) == kind)
			return i;
	}
	fail_msg("there is no entry of kind %d", (int)kind);
	return 0;
}

static void change_word(struct track *track, enum word_kind from, uint32_t to)
{
	track_at(track, entry_of(track, from))->word = to;
}

/* On CPU 1 another one runs instead of 8. */
static void replace_eight(struct told *told, uint32_t slot)
{
	struct track *track = timeline_cpu(told->tl, 1);

	for (uint32_t i = 0; i < track->count; i++) {
		if (track_at(track, i)->word == slot_of(told, 8))
			track_at(track, i)->word = slot;
	}
}

/* ------------------------------------------------------------------ no fault */

static void random_traces_are_whole(void **unused)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct told *told = told_trace(random_trace(seed, STEPS, seed % 3, seed % 2));
		struct verify verify;

		verify_told(told, &verify);
		expect_none_broken(&verify, seed);
		assert_true(verify_is_whole(&verify, &told->trace->facts));
		assert_int_equal(verify.events, told->trace->count);
		assert_true(verify.checks[VERIFY_LIFE].done > 0);
		assert_true(verify.checks[VERIFY_THREADS].done > 0);
		verify_fini(&verify);
		told_free(told);
	}
}

static void every_check_is_made(void **unused)
{
	struct told *told = replayed(scene);
	struct facts *facts = &told->trace->facts;
	struct verify verify;

	facts->cpus = xcalloc(2, sizeof(*facts->cpus));
	facts->cpu_count = 2;
	facts->cpus[1].events = 4;
	verify_told(told, &verify);
	expect_none_broken(&verify, 0);
	for (uint32_t i = 0; i < VERIFY_CHECKS; i++) {
		if (verify.checks[i].done == 0)
			fail_msg("nothing was checked: %s", verify_check_key((enum verify_check)i));
	}
	verify_fini(&verify);
	told_free(told);
}

/* -------------------------------------------------------------------- losses */

static void a_hole_is_told_with_its_cpu_span_and_size(void **unused)
{
	struct told *told = replayed(scene);
	struct verify verify;

	verify_told(told, &verify);
	assert_false(verify_is_whole(&verify, &told->trace->facts));
	assert_false(verify_is_broken(&verify));
	assert_int_equal(verify_lost(&verify), 3);
	assert_int_equal(verify_unknown(&verify), 0);
	assert_int_equal(verify.hole_count, 1);
	assert_int_equal(verify.holes[0].cpu, 0);
	assert_int_equal(verify.holes[0].since_ns, 80);
	assert_int_equal(verify.holes[0].until_ns, 90);
	assert_int_equal(verify.cpus[0].hole_ns, 10);
	assert_int_equal(verify.cpus[1].holes, 0);
	verify_fini(&verify);
	told_free(told);
}

static void a_hole_of_unknown_size_is_one(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 30 cpu0 lost 20 0\n"
				     " 40 cpu0 by 7 switch 7(runnable) 8\n");
	struct verify verify;

	verify_told(told, &verify);
	assert_int_equal(verify_lost(&verify), 0);
	assert_int_equal(verify_unknown(&verify), 1);
	assert_false(verify_is_whole(&verify, &told->trace->facts));
	verify_fini(&verify);
	told_free(told);
}

static void more_holes_than_are_kept_are_counted(void **unused)
{
	struct text_trace *trace = text_trace_new();
	struct verify verify = { 0 };

	for (uint64_t i = 0; i < VERIFY_MAX_HOLES + 5; i++)
		tt_add(trace, &(struct event){ .type = EV_LOST,
					       .time_ns = 100 + i * 10,
					       .lost.since_ns = 95 + i * 10,
					       .lost.count = 2 });
	assert_int_equal(verify_events(&trace->source, &trace->facts, NULL, &verify, NULL), 0);
	assert_int_equal(verify.hole_count, VERIFY_MAX_HOLES);
	assert_int_equal(verify.cpus[0].holes, VERIFY_MAX_HOLES + 5);
	assert_int_equal(verify_lost(&verify), 2 * (VERIFY_MAX_HOLES + 5));
	verify_fini(&verify);
	text_trace_free(trace);
}

static void a_recording_that_was_cut_short_is_not_whole(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n");
	struct verify verify;

	told->trace->facts.complete = false;
	verify_told(told, &verify);
	assert_false(verify_is_whole(&verify, &told->trace->facts));
	verify_fini(&verify);
	told_free(told);
}

static void damage_that_the_reader_noted_makes_it_not_whole(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n");
	struct verify verify;

	facts_note_damage(&told->trace->facts, "cpu0.ring page 3: only zeros");
	verify_told(told, &verify);
	assert_false(verify_is_whole(&verify, &told->trace->facts));
	assert_false(verify_is_broken(&verify));
	verify_fini(&verify);
	told_free(told);
}

/* ------------------------------------------------------------ planted faults */

static void time_that_goes_back_is_found(void **unused)
{
	struct told *told = replayed(scene);

	told->trace->events[5].time_ns = 9;
	expect_broken(told, VERIFY_ORDER, "on CPU 0 time goes back by 1 ns");
}

static void a_stream_that_lacks_events_without_a_hole_is_found(void **unused)
{
	struct told *told = replayed(scene);
	struct facts *facts = &told->trace->facts;

	facts->cpus = xcalloc(2, sizeof(*facts->cpus));
	facts->cpu_count = 2;
	facts->cpus[1].events = 5; /* there are 4 */
	expect_broken(told, VERIFY_STREAMS, "of CPU 1 4 events are read, but 5 were recorded");
}

static void events_that_the_timeline_does_not_know_are_found(void **unused)
{
	struct told *told = replayed(scene);

	told->tl->events -= 2;
	expect_broken(told, VERIFY_EVENTS, "events");
}

static void a_hole_that_the_timeline_does_not_know_is_found(void **unused)
{
	struct told *told = replayed(scene);

	told->tl->gap_count = 0;
	expect_broken(told, VERIFY_GAPS, "the timeline has 0 holes");
}

static void a_hole_on_another_cpu_is_found(void **unused)
{
	struct told *told = replayed(scene);

	told->tl->gaps[0].cpu = 1;
	expect_broken(told, VERIFY_GAPS, "the timeline has one on CPU 1");
}

static void a_thread_that_is_not_there_while_it_lives_is_found(void **unused)
{
	struct told *told = replayed(scene);

	change_word(&thread_to_change(told, 7)->track, WORD_WAIT_CPU, word_make(WORD_NONE, 0));
	expect_broken(told, VERIFY_LIFE, "seven[7]: state");
}

static void states_that_are_not_the_life_are_found(void **unused)
{
	struct told *told = replayed(scene);

	thread_to_change(told, 8)->death_ns -= 5;
	expect_broken(told, VERIFY_LIFE, "of a life of");
}

static void a_life_outside_of_the_recording_is_found(void **unused)
{
	struct told *told = replayed(scene);

	thread_to_change(told, 8)->death_ns += 5;
	expect_broken(told, VERIFY_LIFE, "it lives from");
}

static void a_mark_of_a_cpu_that_lasts_is_found(void **unused)
{
	struct told *told = replayed(scene);

	change_word(&thread_to_change(told, 7)->track, WORD_WAIT_CPU, word_make(WORD_CPU, 0));
	expect_broken(told, VERIFY_LIFE, "seven[7]: state");
}

static void a_wait_that_ends_before_it_begins_is_found(void **unused)
{
	struct told *told = replayed(scene);

	tl_wait(thread_to_change(told, 7), 0)->woken_ns = 3;
	expect_broken(told, VERIFY_WAITS, "is woken before it begins");
}

static void a_wait_that_lies_beside_its_interval_is_found(void **unused)
{
	struct told *told = replayed(scene);

	tl_wait(thread_to_change(told, 7), 0)->begin_ns = 12;
	expect_broken(told, VERIFY_WAITS, "before or after its wait 0");
}

static void a_wait_that_its_interval_does_not_cover_is_found(void **unused)
{
	struct told *told = replayed(scene);

	tl_wait(thread_to_change(told, 7), 0)->woken_ns = 50;
	expect_broken(told, VERIFY_WAITS, "wait 0 should go on");
}

static void a_waker_that_is_no_thread_is_found(void **unused)
{
	struct told *told = replayed(scene);

	tl_wait(thread_to_change(told, 7), 0)->waker.slot = 1000;
	expect_broken(told, VERIFY_WAITS, "which is none");
}

static void a_waker_that_did_not_live_is_found(void **unused)
{
	struct told *told = replayed(scene);

	thread_to_change(told, 8)->death_ns = 30;
	expect_broken(told, VERIFY_WAITS, "which did not live then");
}

static void a_wait_that_does_not_exist_is_found(void **unused)
{
	struct told *told = replayed(scene);

	change_word(&thread_to_change(told, 7)->track, WORD_BLOCKED, word_make(WORD_BLOCKED, 9));
	expect_broken(told, VERIFY_WAITS, "in wait 9 of 1");
}

static void a_wake_up_of_another_wait_is_found(void **unused)
{
	struct told *told = replayed(scene);

	thread_to_change(told, 8)->edges[0].wait = 5;
	expect_broken(told, VERIFY_EDGES, "it ended wait 5");
}

static void a_wake_up_at_another_time_is_found(void **unused)
{
	struct told *told = replayed(scene);

	thread_to_change(told, 8)->edges[0].time_ns = 41;
	expect_broken(told, VERIFY_EDGES, "it ended wait 0 of seven[7]");
}

static void a_thread_on_a_cpu_that_says_it_sleeps_is_found(void **unused)
{
	struct told *told = replayed(scene);

	change_word(&thread_to_change(told, 7)->track, WORD_SYSCALL, word_make(WORD_PREEMPTED, 0));
	expect_broken(told, VERIFY_CPUS, "CPU 0 runs seven[7]");
}

static void a_thread_that_runs_on_no_cpu_is_found(void **unused)
{
	struct told *told = replayed(scene);

	change_word(&thread_to_change(told, 7)->track, WORD_WAIT_CPU, word_make(WORD_USER, 0));
	expect_broken(told, VERIFY_THREADS, "but no CPU names it");
}

static void a_thread_on_two_cpus_is_found(void **unused)
{
	struct told *told = replayed(scene);

	replace_eight(told, slot_of(told, 7));
	expect_broken(told, VERIFY_CPUS, "seven[7] runs on CPUs");
}

static void a_thread_that_does_not_exist_on_a_cpu_is_found(void **unused)
{
	struct told *told = replayed(scene);

	replace_eight(told, 1000);
	expect_broken(told, VERIFY_CPUS, "runs thread number 1000");
}

static void the_idle_task_of_another_cpu_is_found(void **unused)
{
	struct told *told = replayed(scene);
	uint32_t slot = timeline_running_at(told->tl, 0, 20);

	told->tl->threads[slot]->idle_cpu = 1;
	expect_broken(told, VERIFY_CPUS, "runs the idle task of CPU 1");
}

/* The bytes of the first chunk of a track whose sums are not empty: changed, with a new checksum. */
static void spoil_sums(const char *path, const struct chunk_ref *ref)
{
	const size_t skip = offsetof(struct chunk_head, start);
	AUTO_FREE uint8_t *bytes = xmalloc(ref->bytes);
	AUTO_CLOSE int fd = open(path, O_RDWR);
	struct chunk_head head;
	uint8_t *last;

	assert_int_equal(pread(fd, bytes, ref->bytes, (off_t)ref->offset), ref->bytes);
	memcpy(&head, bytes, sizeof(head));
	/* The sums end with ns, count and longest of a row: one more ns, or one less, in it. */
	last = bytes + sizeof(head) + head.run_bytes - 3;
	*last ^= 1;
	head.hash = hash_bytes(bytes + skip, ref->bytes - skip, 0);
	memcpy(bytes, &head, sizeof(head));
	assert_int_equal(pwrite(fd, bytes, ref->bytes, (off_t)ref->offset), ref->bytes);
}

/* A busy thread in a store of several chunks. Its folder is the caller's. */
static struct timeline *stored_thread(const char *dir, const struct index_key *key)
{
	struct plain plain = { 0 };
	uint64_t end_ns = random_track(7, 9000, RK_USER, &plain);
	struct index_writer *writer;
	struct timeline *tl;
	struct err err = { 0 };

	if (index_begin(dir, key, true, &writer, &err) < 0)
		fail_msg("%s", err.text);
	tl = timeline_of_track(&plain, end_ns, writer);
	plain_fini(&plain);
	return tl;
}

static void remove_index(const char *dir)
{
	AUTO_FREE char *index = xasprintf("%s/index", dir);
	AUTO_FREE char *lock = xasprintf("%s/lock", dir);

	(void)unlink(index);
	(void)unlink(lock);
	(void)rmdir(dir);
}

static void verify_stored(const struct timeline *tl, struct verify *verify)
{
	const struct facts facts = { .complete = true, .first_ns = tl->origin_ns };

	*verify = (struct verify){ 0 };
	verify_timeline(tl, &facts, NULL, verify);
}

static void stored_sums_that_are_wrong_are_found(void **unused)
{
	char dir[] = "/tmp/holdup-verify-XXXXXX";
	AUTO_FREE char *path = xasprintf("%s/index", mkdtemp(dir));
	const struct index_key key = { .bytes = { 1 } };
	struct timeline *tl = stored_thread(dir, &key);
	struct verify verify;

	verify_stored(tl, &verify);
	assert_int_equal(verify.checks[VERIFY_TOTALS].failed, 0);
	assert_null(verify.index_damage);
	verify_fini(&verify);
	for (uint32_t i = 1; i < tl->threads[0]->track.chunk_count; i++)
		spoil_sums(path, &tl->threads[0]->track.chunks[i]);
	timeline_free(tl);
	assert_int_equal(index_open(dir, &key, &tl, NULL), 0);
	verify_stored(tl, &verify);
	assert_null(verify.index_damage);
	assert_true(verify.checks[VERIFY_TOTALS].failed > 0);
	verify_fini(&verify);
	timeline_free(tl);
	remove_index(dir);
}

static void a_chunk_whose_checksum_is_wrong_is_found(void **unused)
{
	char dir[] = "/tmp/holdup-verify-XXXXXX";
	AUTO_FREE char *path = xasprintf("%s/index", mkdtemp(dir));
	const struct index_key key = { .bytes = { 1 } };
	struct timeline *tl = stored_thread(dir, &key);
	struct verify verify;
	FILE *file = fopen(path, "r+");

	assert_non_null(file);
	fseek(file, (long)tl->threads[0]->track.chunks[2].offset + 200, SEEK_SET);
	fputs("damage", file);
	fclose(file);
	timeline_free(tl);
	assert_int_equal(index_open(dir, &key, &tl, NULL), 0);
	verify_stored(tl, &verify);
	assert_non_null(verify.index_damage);
	assert_non_null(strstr(verify.index_damage, "checksum"));
	verify_fini(&verify);
	timeline_free(tl);
	remove_index(dir);
}

/* A trace with a fault everywhere keeps some sentences, and counts them all. */
static void faults_are_kept_up_to_a_bound(void **unused)
{
	struct told *told = told_trace(random_trace(3, 3000, false, false));
	struct verify verify;

	for (uint32_t slot = 0; slot < told->tl->thread_count; slot++) {
		struct track *track = &told->tl->threads[slot]->track;

		for (uint32_t i = 0; i < track->count; i++)
			track_at(track, i)->word = word_make(WORD_CPU, 0);
	}
	verify_told(told, &verify);
	assert_true(verify.broken_count <= VERIFY_MAX_BROKEN);
	assert_true(verify.checks[VERIFY_LIFE].failed > VERIFY_MAX_BROKEN / VERIFY_CHECKS);
	verify_fini(&verify);
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_traces_are_whole),
		cmocka_unit_test(every_check_is_made),
		cmocka_unit_test(a_hole_is_told_with_its_cpu_span_and_size),
		cmocka_unit_test(a_hole_of_unknown_size_is_one),
		cmocka_unit_test(more_holes_than_are_kept_are_counted),
		cmocka_unit_test(a_recording_that_was_cut_short_is_not_whole),
		cmocka_unit_test(damage_that_the_reader_noted_makes_it_not_whole),
		cmocka_unit_test(time_that_goes_back_is_found),
		cmocka_unit_test(a_stream_that_lacks_events_without_a_hole_is_found),
		cmocka_unit_test(events_that_the_timeline_does_not_know_are_found),
		cmocka_unit_test(a_hole_that_the_timeline_does_not_know_is_found),
		cmocka_unit_test(a_hole_on_another_cpu_is_found),
		cmocka_unit_test(a_thread_that_is_not_there_while_it_lives_is_found),
		cmocka_unit_test(states_that_are_not_the_life_are_found),
		cmocka_unit_test(a_life_outside_of_the_recording_is_found),
		cmocka_unit_test(a_mark_of_a_cpu_that_lasts_is_found),
		cmocka_unit_test(a_wait_that_ends_before_it_begins_is_found),
		cmocka_unit_test(a_wait_that_lies_beside_its_interval_is_found),
		cmocka_unit_test(a_wait_that_its_interval_does_not_cover_is_found),
		cmocka_unit_test(a_waker_that_is_no_thread_is_found),
		cmocka_unit_test(a_waker_that_did_not_live_is_found),
		cmocka_unit_test(a_wait_that_does_not_exist_is_found),
		cmocka_unit_test(a_wake_up_of_another_wait_is_found),
		cmocka_unit_test(a_wake_up_at_another_time_is_found),
		cmocka_unit_test(a_thread_on_a_cpu_that_says_it_sleeps_is_found),
		cmocka_unit_test(a_thread_that_runs_on_no_cpu_is_found),
		cmocka_unit_test(a_thread_on_two_cpus_is_found),
		cmocka_unit_test(a_thread_that_does_not_exist_on_a_cpu_is_found),
		cmocka_unit_test(the_idle_task_of_another_cpu_is_found),
		cmocka_unit_test(stored_sums_that_are_wrong_are_found),
		cmocka_unit_test(a_chunk_whose_checksum_is_wrong_is_found),
		cmocka_unit_test(faults_are_kept_up_to_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
