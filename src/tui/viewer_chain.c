/* viewer_chain.c - the chain of a cause, or of one wait, hop by hop; and what one wait was charged to. */
#include "tui/viewer_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/why.h"
#include "view/answer.h"

#define NARROW 3u /* columns: what is narrower is zoomed to */

static void forget_hops(struct viewer_chain *chain)
{
	for (uint32_t i = 0; i < chain->hop_count; i++)
		free(chain->hops[i].words);
	chain->hop_count = chain->hop_at = 0;
}

void viewer_chain_hide(struct viewer *viewer)
{
	forget_hops(&viewer->chain);
	viewer->chain.shown = viewer->chain.is_awaited = false;
	viewer->chain.wait_count = viewer->chain.wait_at = 0;
}

static char *hop_words(const struct why_wait *wait)
{
	AUTO_FREE char *words = report_why_wait(wait);

	return xasprintf("%s: %s", text_duration(wait->end_ns - wait->start_ns).s, words);
}

/* The result whose waits the chain is of. */
static const struct why *told_of(const struct viewer *viewer)
{
	const struct why *why = viewer->chain.of_lane ? viewer_charged(viewer) : viewer_why(viewer);

	return why ? verdict_told(why) : NULL;
}

static uint32_t waker_of(const struct viewer *viewer, const struct why_wait *wait)
{
	return view_wait_has_actor(wait)
		       ? timeline_near_thread(viewer->timeline, wait->woken_by.tid, wait->end_ns)
		       : SLOT_NONE;
}

static void fill_hops(struct viewer *viewer)
{
	struct viewer_chain *chain = &viewer->chain;
	const struct why *told = told_of(viewer);
	uint32_t path[VIEW_CHAIN_HOPS], count;

	forget_hops(chain);
	if (!told || !chain->wait_count)
		return;
	count = view_chain_path(told, chain->waits[chain->wait_at],
				chain->of_lane ? NULL : viewer_cause(viewer), path);
	for (uint32_t i = 0; i < count; i++) {
		const struct why_wait *wait = &told->waits[path[i]];

		chain->hops[chain->hop_count++] = (struct viewer_hop){
			.slot = timeline_near_thread(viewer->timeline, wait->who.tid,
						     wait->start_ns),
			.waker = waker_of(viewer, wait),
			.start_ns = wait->start_ns,
			.end_ns = wait->end_ns,
			.words = hop_words(wait),
		};
	}
	for (uint32_t i = 0; i < chain->hop_count; i++) {
		viewer_show_thread(viewer, chain->hops[i].slot);
		viewer_show_thread(viewer, chain->hops[i].waker);
	}
	viewer_rows_build(viewer);
}

/* Its lane is selected, and the cursor is in it. */
static void go_to_hop(struct viewer *viewer)
{
	const struct viewer_chain *chain = &viewer->chain;
	const struct viewer_hop *hop;

	if (!chain->hop_count)
		return;
	hop = &chain->hops[chain->hop_at];
	if (hop->start_ns < viewer->from_ns || hop->end_ns > viewer->to_ns ||
	    viewer_column(viewer, hop->end_ns) - viewer_column(viewer, hop->start_ns) < NARROW)
		viewer_look_at(viewer, hop->start_ns, hop->end_ns);
	viewer->cursor_ns = hop->start_ns + (hop->end_ns - hop->start_ns) / 2;
	viewer_select_thread(viewer, hop->slot);
}

static void find_waits_of_cause(struct viewer *viewer)
{
	const struct why_root *cause = viewer_cause(viewer);

	if (cause)
		viewer->chain.wait_count = view_chains(viewer_why(viewer), cause,
						       viewer->chain.waits, VIEWER_WAITS_MAX);
}

/* The one wait that was asked about: the longest, should it be several. */
static void find_wait_of_lane(struct viewer *viewer)
{
	const struct why *told = told_of(viewer);
	struct viewer_chain *chain = &viewer->chain;
	uint64_t longest = 0;

	for (size_t i = 0; told && i < told->wait_count; i++) {
		uint64_t ns = told->waits[i].end_ns - told->waits[i].start_ns;

		if (told->waits[i].depth || ns <= longest)
			continue;
		longest = ns;
		chain->waits[0] = (uint32_t)i;
		chain->wait_count = 1;
	}
}

static bool chain_is_same(const struct viewer_spot *a, const struct viewer_spot *b)
{
	return a->lane.kind == b->lane.kind && a->lane.index == b->lane.index &&
	       a->start_ns == b->start_ns && a->end_ns == b->end_ns;
}

/* Of the wait at the cursor. */
static bool is_charge_known(const struct viewer *viewer)
{
	const struct viewer_spot spot = viewer_spot(viewer);

	return chain_is_same(&viewer->charge.of, &spot) && !viewer->charge.is_awaited;
}

void viewer_chain_show(struct viewer *viewer)
{
	struct viewer_chain *chain = &viewer->chain;
	bool of_lane = viewer->focus == VIEWER_LANES;

	if (of_lane && !viewer_spot(viewer).is_wait) {
		snprintf(viewer->message, sizeof(viewer->message),
			 "no wait is at the cursor: . and , step from one to the next");
		return;
	}
	viewer_chain_hide(viewer);
	if (of_lane && !viewer->asks_later)
		(void)viewer_settle(viewer);
	chain->shown = true;
	chain->of_lane = of_lane;
	if (of_lane) {
		chain->is_awaited = !is_charge_known(viewer);
		find_wait_of_lane(viewer);
	} else {
		find_waits_of_cause(viewer);
	}
	fill_hops(viewer);
}

void viewer_chain_step(struct viewer *viewer, int by)
{
	struct viewer_chain *chain = &viewer->chain;

	if (!chain->shown) {
		viewer_chain_show(viewer);
	} else if (by < 0 ? chain->hop_at > 0 : chain->hop_at + 1 < chain->hop_count) {
		chain->hop_at += (uint32_t)by;
	} else {
		snprintf(viewer->message, sizeof(viewer->message), "this is the %s of the chain",
			 by < 0 ? "begin" : "end");
	}
	go_to_hop(viewer);
}

void viewer_chain_wait(struct viewer *viewer, int by)
{
	struct viewer_chain *chain = &viewer->chain;

	if (!chain->shown)
		viewer_chain_show(viewer);
	else if (by < 0 ? chain->wait_at > 0 : chain->wait_at + 1 < chain->wait_count)
		chain->wait_at += (uint32_t)by;
	fill_hops(viewer);
	go_to_hop(viewer);
}

/* ------------------------------------------------------------------ of one wait */

bool viewer_settle_ask(struct viewer *viewer, struct verdict_ask *out_ask,
		       struct viewer_spot *out_spot)
{
	const struct viewer_spot spot = viewer_spot(viewer);

	if (!spot.is_wait || chain_is_same(&viewer->charge.of, &spot))
		return false;
	if (viewer->chain.shown && viewer->chain.of_lane && !viewer->chain.is_awaited)
		return false; /* whose hops are of the one that is kept */
	explanation_fini(&viewer->charge.answer);
	viewer->charge = (struct viewer_charge){ .of = spot, .is_awaited = true };
	*out_ask = (struct verdict_ask){ spot.start_ns, spot.end_ns, spot.lane.index + 1 };
	*out_spot = spot;
	return true;
}

void viewer_settle_take(struct viewer *viewer, const struct viewer_spot *spot,
			const struct explanation *answer)
{
	struct viewer_charge *charge = &viewer->charge;
	struct explanation late = *answer;

	if (!chain_is_same(&charge->of, spot) || !charge->is_awaited) {
		explanation_fini(&late);
		return;
	}
	charge->answer = late;
	charge->is_awaited = false;
	if (viewer->chain.is_awaited && is_charge_known(viewer)) {
		viewer->chain.is_awaited = false;
		find_wait_of_lane(viewer);
		fill_hops(viewer);
	}
}

bool viewer_settle(struct viewer *viewer)
{
	struct explanation answer = { 0 };
	struct verdict_ask ask;
	struct viewer_spot spot;
	struct err err = { 0 };

	if (!viewer_settle_ask(viewer, &ask, &spot))
		return false;
	if (verdict_of(viewer->view, &ask, &answer, &err) < 0)
		answer = (struct explanation){ 0 };
	viewer_settle_take(viewer, &spot, &answer);
	return true;
}

const struct why *viewer_charged(const struct viewer *viewer)
{
	return viewer->charge.answer.count ? &viewer->charge.answer.results[0] : NULL;
}
