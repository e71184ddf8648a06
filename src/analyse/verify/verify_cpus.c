/*
 * verify_cpus.c - what the CPUs say against what the threads say.
 *
 *	CPU 0    | make      | idle | cc1        |
 *	CPU 1    | cc1 | idle       | make |
 *	cc1      | user| blocked    | user       | ...
 *
 * One sweep through time: the stays of all CPUs in order of their start, and for each
 * thread one walk that never goes back. Where a CPU names a thread, that thread runs, or
 * nobody knows; between two stays it does not run.
 */
#include <stdlib.h>

#include "analyse/verify/verify_int.h"
#include "base/mem.h"

/* A thread's walk: what comes before 'at_ns' was held against the CPUs. */
struct runner {
	struct tl_iter iter;
	struct tl_interval in; /* the interval at hand; may have begun earlier */
	uint64_t at_ns;
	uint32_t cpu; /* of its last stay */
	bool begun, ended;
};

struct sweep {
	const struct timeline *tl;
	struct verify *verify;
	const struct verify_progress *progress;
	struct runner *runners;	   /* owned; index = slot */
	struct tl_iter *iters;	   /* owned; index = CPU */
	struct tl_interval *stays; /* owned; the next one of each CPU */
	uint32_t *heap;		   /* owned; CPUs by the start of their next stay */
	uint32_t heap_count;
};

/* ------------------------------------------------------------ the next stay */

static bool is_before(const struct sweep *sweep, uint32_t a, uint32_t b)
{
	uint64_t x = sweep->stays[a].start_ns, y = sweep->stays[b].start_ns;

	return x != y ? x < y : a < b;
}

static void sift_down(struct sweep *sweep, uint32_t at)
{
	for (;;) {
		uint32_t low = at, cpu = sweep->heap[at];

		for (uint32_t i = 2 * at + 1; i <= 2 * at + 2 && i < sweep->heap_count; i++) {
			if (is_before(sweep, sweep->heap[i], sweep->heap[low]))
				low = i;
		}
		if (low == at)
			return;
		sweep->heap[at] = sweep->heap[low];
		sweep->heap[low] = cpu;
		at = low;
	}
}

/* The next interval of 'cpu' in which it names a thread. */
static bool next_stay(struct sweep *sweep, uint32_t cpu)
{
	while (tl_iter_next(&sweep->iters[cpu], &sweep->stays[cpu])) {
		if (sweep->stays[cpu].word != SLOT_NONE)
			return true;
	}
	return false;
}

static void fill_heap(struct sweep *sweep)
{
	const struct timeline *tl = sweep->tl;

	for (uint32_t cpu = 0; cpu < tl->cpu_count; cpu++) {
		tl_iter_begin(&sweep->iters[cpu], tl, tl->cpus[cpu], tl->origin_ns, tl->end_ns);
		if (next_stay(sweep, cpu))
			sweep->heap[sweep->heap_count++] = cpu;
	}
	for (uint32_t i = sweep->heap_count; i-- > 0;)
		sift_down(sweep, i);
}

/* ------------------------------------------------------------------- threads */

/* Bring the interval that holds 'at_ns' to hand. False at the end of the recording. */
static bool at_hand(struct sweep *sweep, uint32_t slot)
{
	const struct timeline *tl = sweep->tl;
	struct runner *runner = &sweep->runners[slot];

	if (!runner->begun) {
		tl_iter_thread(&runner->iter, tl, slot, tl->origin_ns, tl->end_ns);
		runner->begun = true;
	}
	while (!runner->ended && runner->in.end_ns <= runner->at_ns)
		runner->ended = !tl_iter_next(&runner->iter, &runner->in);
	return !runner->ended;
}

/* Up to 'until_ns' no CPU names it: it does not run, as far as anybody knows. */
static void off_until(struct sweep *sweep, uint32_t slot, uint64_t until_ns)
{
	struct runner *runner = &sweep->runners[slot];

	while (runner->at_ns < until_ns && at_hand(sweep, slot)) {
		uint64_t end = runner->in.end_ns < until_ns ? runner->in.end_ns : until_ns;

		if (word_on_cpu(runner->in.word)) {
			verify_done(sweep->verify, VERIFY_THREADS);
			verify_fail(sweep->verify,
				    &(struct verify_broken){ VERIFY_THREADS, FAULT_NO_CPU,
							     .who = verify_who(sweep->tl, slot),
							     .start_ns = runner->at_ns,
							     .end_ns = end });
		}
		runner->at_ns = end;
	}
}

/* Up to 'until_ns' CPU 'cpu' names it: it runs there. */
static void on_until(struct sweep *sweep, uint32_t slot, uint32_t cpu, uint64_t until_ns)
{
	struct runner *runner = &sweep->runners[slot];

	while (runner->at_ns < until_ns && at_hand(sweep, slot)) {
		uint64_t end = runner->in.end_ns < until_ns ? runner->in.end_ns : until_ns;

		if (word_on_cpu(runner->in.word))
			verify_done(sweep->verify, VERIFY_THREADS);
		else if (word_kind(runner->in.word) != WORD_UNCERTAIN)
			verify_fail(sweep->verify,
				    &(struct verify_broken){ VERIFY_CPUS, FAULT_OTHER_STATE,
							     .who = verify_who(sweep->tl, slot),
							     .cpu = cpu, .start_ns = runner->at_ns,
							     .end_ns = end,
							     .number = { runner->in.word } });
		runner->at_ns = end;
	}
}

static void check_stay(struct sweep *sweep, uint32_t cpu)
{
	const struct tl_interval *stay = &sweep->stays[cpu];
	uint32_t slot = stay->word;
	struct verify_broken broken = { VERIFY_CPUS,
					FAULT_NO_THREAD,
					.who = verify_who(sweep->tl, slot),
					.cpu = cpu,
					.start_ns = stay->start_ns,
					.number = { slot } };
	const struct tl_thread *thread;
	struct runner *runner;

	verify_done(sweep->verify, VERIFY_CPUS);
	if (slot >= sweep->tl->thread_count) {
		verify_fail(sweep->verify, &broken);
		return;
	}
	thread = sweep->tl->threads[slot];
	runner = &sweep->runners[slot];
	if (thread->tid == 0 && thread->idle_cpu != cpu) {
		broken.fault = FAULT_OTHER_IDLE;
		broken.other_cpu = thread->idle_cpu;
		verify_fail(sweep->verify, &broken);
	}
	if (stay->start_ns < runner->at_ns) {
		broken.fault = FAULT_TWO_CPUS;
		broken.cpu = runner->cpu;
		broken.other_cpu = cpu;
		verify_fail(sweep->verify, &broken);
	}
	off_until(sweep, slot, stay->start_ns);
	on_until(sweep, slot, cpu, stay->end_ns);
	runner->cpu = cpu;
}

static void sweep_through(struct sweep *sweep)
{
	uint32_t count = 0;

	while (sweep->heap_count) {
		uint32_t cpu = sweep->heap[0];

		check_stay(sweep, cpu);
		if ((++count & 0xfffff) == 0 && sweep->progress && sweep->progress->say)
			sweep->progress->say(sweep->progress->context, sweep->stays[cpu].start_ns);
		if (!next_stay(sweep, cpu))
			sweep->heap[0] = sweep->heap[--sweep->heap_count];
		sift_down(sweep, 0);
	}
}

void verify_cpus(const struct timeline *tl, const struct verify_progress *progress,
		 struct verify *verify)
{
	struct sweep sweep = {
		.tl = tl,
		.verify = verify,
		.progress = progress,
		.runners = xcalloc(tl->thread_count + 1u, sizeof(struct runner)),
		.iters = xcalloc(tl->cpu_count + 1u, sizeof(struct tl_iter)),
		.stays = xcalloc(tl->cpu_count + 1u, sizeof(struct tl_interval)),
		.heap = xcalloc(tl->cpu_count + 1u, sizeof(uint32_t)),
	};

	for (uint32_t slot = 0; slot < tl->thread_count; slot++)
		sweep.runners[slot].at_ns = tl->origin_ns;
	fill_heap(&sweep);
	sweep_through(&sweep);
	for (uint32_t slot = 0; slot < tl->thread_count; slot++)
		off_until(&sweep, slot, tl->end_ns);
	free(sweep.runners);
	free(sweep.iters);
	free(sweep.stays);
	free(sweep.heap);
}
