/* Where in time a cause was: spans of the target's own states, which add up to the cause. */
#include "random_trace.h"
#include "told.h"

static void run(struct told *told, uint32_t slot, uint64_t spans_ns, struct why *out_why)
{
	const struct why_opts opts = { .slot = slot, .spans_ns = spans_ns };
	struct err err = { 0 };

	if (why_run(told->tl, &told->trace->facts, &opts, out_why, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_cause_has_the_waits_that_it_was_charged_for(void **unused)
{
	struct told *told = replayed("facts last 100\n"
				     "  0 cpu0 switch 0(runnable) 7\n"
				     "  0 cpu1 switch 0(runnable) 9\n"
				     " 10 cpu0 switch 7(blocked) 0\n"
				     " 30 cpu1 waking 7 cpu 0\n"
				     " 30 cpu0 switch 0(runnable) 7\n"
				     " 60 cpu0 switch 7(blocked) 0\n"
				     " 80 cpu1 waking 7 cpu 0\n"
				     " 80 cpu0 switch 0(runnable) 7\n");
	struct why why;

	run(told, slot_of(told, 7), 1, &why);
	for (size_t i = 0; i < why.root_count; i++) {
		const struct why_root *root = &why.roots[i];

		if (root->kind != WHY_OTHER_THREAD)
			continue;
		assert_int_equal(root->span_count, 2);
		assert_int_equal(root->spans[0].start_ns, 10);
		assert_int_equal(root->spans[0].end_ns, 30);
		assert_int_equal(root->spans[1].start_ns, 60);
		assert_int_equal(root->spans[1].ns, 20);
		assert_int_equal(root->spans[1].tid, 7);
	}
	why_fini(&why);
	run(told, slot_of(told, 7), 100, &why); /* joined: what lies nearer than that is one */
	for (size_t i = 0; i < why.root_count; i++)
		assert_int_equal(why.roots[i].span_count, 1);
	why_fini(&why);
	run(told, slot_of(told, 7), 0, &why);
	for (size_t i = 0; i < why.root_count; i++)
		assert_int_equal(why.roots[i].span_count, 0);
	why_fini(&why);
	told_free(told);
}

static void check_root(const struct why_root *root, uint64_t seed)
{
	uint64_t ns = 0, end_ns = 0;

	for (size_t i = 0; i < root->span_count; i++) {
		const struct why_span *span = &root->spans[i];

		if (span->start_ns < end_ns || span->ns > span->end_ns - span->start_ns)
			fail_msg("seed %" PRIu64 ": %" PRIu64 " to %" PRIu64 " has %" PRIu64 " ns",
				 seed, span->start_ns, span->end_ns, span->ns);
		end_ns = span->end_ns;
		ns += span->ns;
	}
	if (ns != root->ns)
		fail_msg("seed %" PRIu64 ": spans of %" PRIu64 " ns for a cause of %" PRIu64, seed,
			 ns, root->ns);
}

static void on_random_traces_spans_add_up_to_their_cause(void **unused)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct told *told = told_trace(random_trace(seed, 300, false, seed % 2 == 0));

		for (uint32_t slot = 0; slot < told->tl->thread_count; slot++) {
			const struct tl_thread *thread = told->tl->threads[slot];
			struct why why;

			if (thread->tid == 0 || thread->birth_ns >= thread->death_ns)
				continue;
			run(told, slot, 1 + seed % 3 * 50, &why);
			for (size_t i = 0; i < why.root_count; i++)
				check_root(&why.roots[i], seed);
			why_fini(&why);
		}
		told_free(told);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cause_has_the_waits_that_it_was_charged_for),
		cmocka_unit_test(on_random_traces_spans_add_up_to_their_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
