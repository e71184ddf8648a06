/* verify_verdicts.c - a few windows of a few threads: is what they are charged to the window? */
#include "analyse/verify/verify_int.h"
#include "analyse/why/why.h"
#include "event/facts.h"

#define VERDICTS       8
#define VERDICT_MAX_NS 1000000000u /* longer windows cost more than they prove */

static uint64_t roots_ns(const struct why *why)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < why->root_count; i++)
		sum += why->roots[i].ns;
	return sum;
}

static uint64_t sections_ns(const struct why *why)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < why->line_count; i++)
		sum += why->lines[i].depth == 0 ? why->lines[i].ns : 0;
	return sum;
}

static void fail_sum(struct verify *verify, struct verify_broken *broken, enum verify_fault fault,
		     uint64_t sum_ns, uint64_t whole_ns)
{
	broken->fault = fault;
	broken->number[0] = sum_ns;
	broken->number[1] = whole_ns;
	verify_fail(verify, broken);
}

static void check_verdict(const struct timeline *tl, const struct why *why, struct verify *verify)
{
	uint64_t window = why->end_ns - why->start_ns;
	uint64_t states =
		why->working_ns + why->interrupted_ns + why->blocked_ns + why->uncertain_ns;
	uint64_t classes = why->held_up_ns + why->asked_ns + why->idle_ns;
	uint32_t slot = timeline_find_thread(tl, why->target.tid, why->start_ns);
	struct verify_broken broken = { VERIFY_VERDICT, .who = verify_who(tl, slot) };

	verify_done(verify, VERIFY_VERDICT);
	if (roots_ns(why) != window)
		fail_sum(verify, &broken, FAULT_ROOTS, roots_ns(why), window);
	if (states != window || sections_ns(why) != window)
		fail_sum(verify, &broken, FAULT_STATES, states, window);
	if (classes != why->blocked_ns)
		fail_sum(verify, &broken, FAULT_WAIT_KINDS, classes, why->blocked_ns);
}

/* The recorded command first, then threads and windows by chance. */
void verify_verdicts(const struct timeline *tl, const struct facts *facts, struct verify *verify)
{
	uint32_t slot = timeline_find_thread(tl, facts->target_tid, UINT64_MAX);
	uint64_t random = 0x2545f4914f6cdd1du;

	for (int i = 0; i < VERDICTS && tl->thread_count; i++) {
		const struct tl_thread *thread;
		struct why_opts opts = { .lock_owners = verify->locks };
		struct why why;

		if (i > 0 || slot >= tl->thread_count || facts->target_tid == 0)
			slot = (uint32_t)verify_random(&random, tl->thread_count);
		thread = tl->threads[slot];
		if (thread->tid == 0 || thread->birth_ns >= thread->death_ns)
			continue;
		opts.slot = slot;
		opts.start_ns = thread->birth_ns +
				verify_random(&random, thread->death_ns - thread->birth_ns);
		opts.end_ns = opts.start_ns + 1 + verify_random(&random, VERDICT_MAX_NS);
		if (opts.end_ns > thread->death_ns)
			opts.end_ns = thread->death_ns;
		if (why_run(tl, facts, &opts, &why, NULL) < 0)
			continue;
		check_verdict(tl, &why, verify);
		why_fini(&why);
	}
}
