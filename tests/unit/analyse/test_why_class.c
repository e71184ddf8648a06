/* The verdict of one class of delay: its sum is the figure of the class, whatever the trace. */
#include "analyse/accounts/delays_trace.h"
#include "analyse/accounts/memory_spans.h"
#include "random_trace.h"
#include "told.h"

static uint64_t sum_of(const struct why *why)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < why->root_count; i++)
		ns += why->roots[i].ns;
	return ns;
}

static struct why asked(const struct told *told, uint32_t slot, uint32_t classes,
			const struct memory_spans *memory)
{
	const struct why_opts opts = { .slot = slot, .classes = classes, .memory = memory };
	struct why why;
	struct err err = { 0 };

	if (why_run(told->tl, &told->trace->facts, &opts, &why, &err) < 0)
		fail_msg("%s", err.text);
	return why;
}

static const char disk_and_cpu[] = "  0 cpu0 switch 0(runnable) 7\n"
				   "  0 cpu1 switch 0(runnable) 9\n"
				   "  5 cpu1 other mm_vmscan_memcg_reclaim_begin\n"
				   " 20 cpu1 issue vda 8 R\n"
				   " 25 cpu1 switch 9(disk) 0\n"
				   " 38 cpu1 irq 24 virtio0\n"
				   " 39 cpu1 complete vda 8\n"
				   " 40 cpu1 waking 9\n"
				   " 40 cpu1 irqexit 24\n"
				   " 46 cpu1 switch 0(runnable) 9\n"
				   " 50 cpu1 other mm_vmscan_memcg_reclaim_end\n"
				   " 70 cpu1 switch 9(runnable) 7\n"
				   " 80 cpu1 switch 7(runnable) 9\n"
				   "100 cpu1 switch 9(blocked) 0\n";

static struct memory_spans spans_of(const struct text_trace *trace)
{
	struct memory_spans spans = { 0 };

	for (size_t i = 0; i < trace->count; i++)
		memory_spans_feed(&spans, &trace->events[i]);
	memory_spans_end(&spans);
	return spans;
}

static void a_verdict_is_of_the_class_alone(void **unused)
{
	struct told *told = replayed(disk_and_cpu);
	struct memory_spans memory = spans_of(told->trace);
	uint32_t slot = timeline_find_thread(told->tl, 9, UINT64_MAX);
	struct why why = asked(told, slot, 1u << DELAYS_DISK, &memory);

	assert_int_equal(why.class_ns, 15);
	assert_int_equal(why.class_count, 1);
	assert_int_equal(why.root_count, 1);
	assert_int_equal(why.roots[0].kind, WHY_DISK);
	assert_int_equal(why.roots[0].ns, 15);
	assert_int_equal(why.blocked_ns + why.working_ns + why.interrupted_ns + why.uncertain_ns,
			 why.end_ns - why.start_ns);
	why_fini(&why);

	why = asked(told, slot, 1u << DELAYS_CPU, &memory);
	assert_int_equal(why.class_ns, 6 + 10);
	assert_int_equal(why.class_count, 2);
	assert_int_equal(sum_of(&why), why.class_ns);
	why_fini(&why);

	why = asked(told, slot, 1u << DELAYS_SWAPIN, &memory);
	assert_int_equal(why.class_ns, 0);
	assert_int_equal(why.root_count, 0);
	assert_int_equal(why.chain_count, 0);
	why_fini(&why);
	memory_spans_fini(&memory);
	told_free(told);
}

/* 5 to 50: it works for 24, waits for disk for 15 and for a CPU for 6. */
static void reclaim_is_told_by_what_it_was_made_of(void **unused)
{
	struct told *told = replayed(disk_and_cpu);
	struct memory_spans memory = spans_of(told->trace);
	uint32_t slot = timeline_find_thread(told->tl, 9, UINT64_MAX);
	struct why why = asked(told, slot, WHY_CLASS_MEMORY, &memory);
	bool worked = false;

	assert_int_equal(why.class_ns, 45);
	assert_int_equal(sum_of(&why), 45);
	for (size_t i = 0; i < why.root_count; i++) {
		if (why.roots[i].kind != WHY_WORKING)
			continue;
		worked = true;
		assert_int_equal(why.roots[i].ns, 24);
		assert_string_equal(why.roots[i].object, "freeing or moving memory");
	}
	assert_true(worked);
	why_fini(&why);
	memory_spans_fini(&memory);
	told_free(told);
}

static void on_random_traces_it_adds_up_to_the_figure_of_the_class(void **unused)
{
	static const enum delays_class classes[] = { DELAYS_CPU, DELAYS_DISK, DELAYS_IRQ };
	const struct memory_spans memory = { 0 };
	uint64_t seen_ns = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct told *told = told_trace(random_trace(seed, 300, false, seed % 2 == 0));

		for (uint32_t slot = 0; slot < told->tl->thread_count; slot++) {
			const struct tl_thread *thread = told->tl->threads[slot];
			const struct tl_interval life = { thread->birth_ns, thread->death_ns, 0 };
			struct delays_trace_account account;

			if (thread->tid <= 0 || life.start_ns >= life.end_ns)
				continue;
			delays_trace_account(told->tl, NULL, slot, &life, &account);
			for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
				const struct delays_delay *delay = &account.stats.delay[classes[i]];
				struct why why = asked(told, slot, 1u << classes[i], &memory);

				assert_int_equal(why.class_ns, delay->total_ns);
				assert_int_equal(why.class_count, delay->count);
				assert_int_equal(sum_of(&why), delay->total_ns);
				seen_ns += why.class_ns;
				why_fini(&why);
			}
		}
		told_free(told);
	}
	assert_true(seen_ns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_verdict_is_of_the_class_alone),
		cmocka_unit_test(reclaim_is_told_by_what_it_was_made_of),
		cmocka_unit_test(on_random_traces_it_adds_up_to_the_figure_of_the_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
