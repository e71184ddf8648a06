/*
 * reconcile_edge.c - how far events and accounts of this recording stand apart at each switch.
 *
 * The kernel reads its clock when it begins to look for another thread, and writes the event of the
 * switch when it has found one. What lies between depends on the machine, so it is measured: the
 * time on a CPU of threads that switched often, by both, and the difference for each switch. What
 * most of them keep is a property of all threads, and so cannot hide what is wrong with a few.
 */
#include <stdlib.h>

#include "analyse/accounts/delays_trace.h"
#include "analyse/accounts/reconcile_int.h"
#include "base/mem.h"

#define SWITCHES_LEAST 100u /* fewer: what was under way at the ends weighs too much */
#define THREADS_LEAST  5u
#define EDGE_TIMES     3u /* the median: twice the deviation, if these were distributed normally */
#define EDGE_DEFAULT   10000u
#define EDGE_LEAST     1000u
#define EDGE_MOST      100000u	 /* beyond, something else is the matter */
#define TICK_DEFAULT   10000000u /* of the slowest kernels, CONFIG_HZ=100 */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The difference for each switch. Returns false when this thread cannot tell. */
static bool measure(const struct reconcile_ground *ground, const struct reconcile_life *life,
		    uint64_t *out_ns)
{
	static const struct delays_stats nothing;
	const struct delays_stats *start = life->start ? &life->start->stats : &nothing, *end;
	struct delays_trace_account account;
	uint64_t run_ns, switches;

	if (!life->has_span || life->slot == SLOT_NONE)
		return false;
	end = &life->end->stats;
	if (end->delay[DELAYS_CPU].count < start->delay[DELAYS_CPU].count + SWITCHES_LEAST ||
	    end->run_ns < start->run_ns)
		return false;
	switches = end->delay[DELAYS_CPU].count - start->delay[DELAYS_CPU].count;
	run_ns = end->run_ns - start->run_ns;
	delays_trace_account(ground->timeline, NULL, life->slot, &life->span, &account);
	if (account.uncertain_ns)
		return false;
	/* Where the kernel counts interrupts, it takes them off the run time. */
	if (end->delay[DELAYS_IRQ].total_ns)
		account.stats.run_ns -= account.stats.delay[DELAYS_IRQ].total_ns;
	*out_ns = (run_ns > account.stats.run_ns ? run_ns - account.stats.run_ns
						 : account.stats.run_ns - run_ns) /
		  switches;
	return true;
}

void reconcile_measure(const struct reconcile_ground *ground, const struct reconcile_life *lives,
		       size_t count, struct reconcile_scale *out_scale)
{
	AUTO_FREE uint64_t *apart = xcalloc(count + 1, sizeof(*apart));
	struct reconcile_scale scale = { .edge_ns = EDGE_DEFAULT,
					 .tick_ns = ground->recorded->tick_ns };
	uint64_t edge_ns;

	for (size_t i = 0; i < count; i++)
		scale.threads += measure(ground, &lives[i], &apart[scale.threads]);
	if (!scale.tick_ns)
		scale.tick_ns = TICK_DEFAULT;
	if (scale.threads >= THREADS_LEAST) {
		qsort(apart, scale.threads, sizeof(*apart), by_value);
		scale.apart_ns = apart[scale.threads / 2];
		scale.most_ns = apart[scale.threads * 9 / 10];
		edge_ns = scale.apart_ns * EDGE_TIMES;
		edge_ns = edge_ns > scale.most_ns ? edge_ns : scale.most_ns;
		edge_ns = edge_ns > EDGE_LEAST ? edge_ns : EDGE_LEAST;
		scale.edge_ns = edge_ns < EDGE_MOST ? edge_ns : EDGE_MOST;
	} else {
		scale.threads = 0;
	}
	*out_scale = scale;
}
