/* lane_sums.h - what a lane must show: slow and obvious. */
#ifndef LANE_SUMS_H
#define LANE_SUMS_H

#include "timeline/timeline.h"
#include "timeline/totals.h"
#include "view/shares.h"

/* A wait that is the last thing known of a thread, and of no kind: it still waits. */
static inline void lane_sums_open(const struct timeline *tl, uint32_t slot, uint64_t start_ns,
				  uint64_t end_ns, struct lane_shares *shares)
{
	struct tl_interval entry, last = { 0 };
	struct tl_iter iter;
	struct wait wait;
	uint64_t from_ns;

	tl_iter_thread(&iter, tl, slot, tl->origin_ns, UINT64_MAX);
	while (tl_iter_entry(&iter, &entry))
		last = entry;
	if (word_kind(last.word) != WORD_BLOCKED || last.start_ns >= end_ns)
		return;
	timeline_wait(tl, slot, word_arg(last.word), &wait);
	if (wait_kind(&wait) != WAIT_FOR_UNKNOWN)
		return;
	from_ns = last.start_ns > start_ns ? last.start_ns : start_ns;
	shares->ns[LANE_STILL] += end_ns - from_ns;
	shares->ns[LANE_UNENDED] -= end_ns - from_ns;
}

/* The sums of a window by state, out of the timeline's own, row by row. */
static inline struct lane_shares lane_sums(const struct timeline *tl, uint32_t slot,
					   uint64_t start_ns, uint64_t end_ns)
{
	static const enum lane_state waits[WAIT_KIND_COUNT] = {
		LANE_STOP,    LANE_LOCK,   LANE_DISK,  LANE_IDLE,  LANE_SLEEP,
		LANE_NETWORK, LANE_THREAD, LANE_OTHER, LANE_OTHER, LANE_UNENDED,
	};
	struct lane_shares shares = { 0 };
	struct totals totals = { 0 };

	timeline_totals(tl, slot, start_ns, end_ns, &totals);
	for (uint32_t i = 0; i < totals.count; i++) {
		const struct total *row = &totals.rows[i];
		enum word_kind kind = word_kind(total_a(row->key));
		enum wib wib = word_wib(total_a(row->key));

		if (total_kind(row->key) == TOTAL_WAIT)
			shares.ns[waits[total_b(row->key)]] += row->ns;
		if (total_kind(row->key) != TOTAL_STATE || kind == WORD_BLOCKED)
			continue;
		if (kind == WORD_NONE)
			shares.ns[LANE_ABSENT] += row->ns;
		else if (wib == WIB_UNCERTAIN)
			shares.ns[LANE_UNCERTAIN] += row->ns;
		else if (kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU)
			shares.ns[LANE_QUEUE] += row->ns;
		else if (kind == WORD_IRQ || kind == WORD_VECTOR || kind == WORD_SOFTIRQ)
			shares.ns[LANE_IRQ] += row->ns;
		else if (kind == WORD_USER || kind == WORD_RUN || kind == WORD_IDLE)
			shares.ns[LANE_OWN] += row->ns;
		else
			shares.ns[LANE_KERNEL] += row->ns;
	}
	totals_fini(&totals);
	lane_sums_open(tl, slot, start_ns, end_ns, &shares);
	return shares;
}

#endif
