/*
 * idle.c - threads without a CPU, beside a CPU that has nothing to do.
 *
 * An idle CPU takes a thread in microseconds. One that stays idle for longer beside a thread that
 * could run is not let take it: by the CPU quota of the thread's cgroup (Documentation/scheduler/
 * sched-bwc.rst), or because the machine itself stood still. No event tells which; the recorder
 * asked the cgroups before and after.
 */
#include <string.h>

#include "analyse/facts_at.h"
#include "analyse/why/why_int.h"
#include "base/mem.h"
#include "event/facts.h"

#define LONG_WAKEUP_NS 3000000u

/* The cgroup that a thread, or who it inherits from, was seen in; NULL = not known. */
static const char *cgroup_of(struct query *query, uint32_t slot)
{
	const struct fact_thread *fact;

	if (!query->fact_of)
		query->fact_of = fact_of_threads(query->tl, query->facts);
	if (!query->fact_of[slot])
		return NULL;
	fact = &query->facts->threads[query->fact_of[slot] - 1];
	return fact->cgroup[0] ? fact->cgroup : NULL;
}

static bool is_within(const char *cgroup, const char *top)
{
	size_t length = strlen(top);

	return strncmp(cgroup, top, length) == 0 &&
	       (cgroup[length] == '\0' || cgroup[length] == '/' || strcmp(top, "/") == 0);
}

/* The quota that may have held the thread back for 'ns'; *out_sure when its cgroup has it. */
static const struct fact_throttle *find_throttle(struct query *query, uint32_t slot, uint64_t ns,
						 bool *out_sure)
{
	const struct facts *facts = query->facts;
	const char *cgroup = facts->throttle_count ? cgroup_of(query, slot) : NULL;
	const struct fact_throttle *found = NULL;

	*out_sure = false;
	for (size_t i = 0; i < facts->throttle_count; i++) {
		const struct fact_throttle *throttle = &facts->throttles[i];

		if (throttle->times == 0 || !throttle->cgroup)
			continue;
		if (cgroup && is_within(cgroup, throttle->cgroup)) {
			*out_sure = true;
			return throttle;
		}
		/* It may have moved since it was seen. */
		if (throttle->ns >= ns && (!found || throttle->ns > found->ns))
			found = throttle;
	}
	return found;
}

/* For how long no thread ran on that CPU. */
static uint64_t idle_ns(const struct timeline *tl, uint32_t cpu, const struct tl_interval *in)
{
	struct tl_interval ran;
	struct tl_iter iter;
	uint64_t ns = 0;

	tl_iter_begin(&iter, tl, tl->cpus[cpu], in->start_ns, in->end_ns);
	while (tl_iter_next(&iter, &ran)) {
		if (ran.word < tl->thread_count && tl->threads[ran.word]->tid == 0)
			ns += ran.end_ns - ran.start_ns;
	}
	return ns;
}

const struct why_reason *query_idle(struct query *query, uint32_t slot,
				    const struct tl_interval *in)
{
	bool is_long = in->end_ns - in->start_ns >= LONG_WAKEUP_NS;
	uint64_t ns = is_long ? idle_ns(query->tl, word_arg(in->word), in) : 0;
	const struct fact_throttle *throttle;
	bool is_sure;

	if (ns < LONG_WAKEUP_NS)
		return NULL;
	throttle = find_throttle(query, slot, ns, &is_sure);
	if (!throttle)
		return why_reason_keep(query->why,
				       &(struct why_reason){ .kind = WHY_REASON_STOOD_STILL });
	return why_reason_keep(query->why,
			       &(struct why_reason){ .kind = is_sure ? WHY_REASON_QUOTA
								     : WHY_REASON_QUOTA_PROBABLY,
						     .object = throttle->cgroup,
						     .part_ns = throttle->quota_ns,
						     .whole_ns = throttle->period_ns });
}
