/*
 * check_live.h - a check of a trace that is still being recorded.
 *
 *	for each stretch of the recording that has come
 *		feed the state engine; timeline->end_ns = ...
 *		check_live_advance(check, timeline, missing);
 *		check_feed() with the events, up to a little before that
 *		check_live_fresh(), check_live_explain(): use what was found
 *		check_live_forget(check, ...);
 *	check_end(check, end_ns);
 *
 * The engine amends what it wrote when later events prove otherwise: so the events of the check
 * come some time behind those of the engine.
 */
#ifndef ANALYSE_CHECK_CHECK_LIVE_H
#define ANALYSE_CHECK_CHECK_LIVE_H

#include <stddef.h>
#include <stdint.h>

struct check;
struct check_finding;
struct facts;
struct timeline;

/*
 * The timeline that the check has from its opts was written to. 'missing': as in the opts, for
 * events of programs that have come since; copied by reference.
 */
void check_live_advance(struct check *check, const char *const *missing);

/*
 * Go on with another timeline from 'time_ns' on: what was summed up so far is kept. The check
 * must not have been fed events behind 'time_ns'. Returns how many instances were in something
 * at that moment that the new timeline does not know: what they do is uncertain from then on.
 */
uint64_t check_live_renew(struct check *check, const struct timeline *timeline, uint64_t time_ns);

/* The timeline is finished: nothing in it is under way any more. Before the last events are fed. */
void check_live_settle(struct check *check);

/*
 * Events were lost there, as something that reads ahead of the check saw. By their ends, in order;
 * before the check is fed what comes behind the begin.
 */
struct check_hole;
void check_live_hole(struct check *check, const struct check_hole *hole);

/* Findings of the check, in the order they were found; *out_findings is valid until it is fed. */
size_t check_live_findings(struct check *check, struct check_finding **out_findings);

/* Why the finding came about, if the timeline tells. Does nothing the second time. */
void check_live_explain(struct check *check, struct check_finding *finding,
			const struct timeline *timeline, const struct facts *facts);

/* Keep the first 'keep' findings; the others are counted as left out. */
void check_live_forget(struct check *check, size_t keep);

/*
 * Call 'late' for each open instance that misses a deadline at 'time_ns', whatever way it will go
 * on. The finding is not one of the result: that comes when the instance goes on, or at the end.
 * At most 'most' instances are looked at, those first that were heard of last the longest ago.
 */
void check_live_late(struct check *check, uint64_t time_ns, size_t most,
		     void (*late)(void *context, const struct check_finding *finding),
		     void *context);

#endif
