/*
 * charge_open.c - charges waits that nothing ended, or a grace period of RCU did; what a root says of its wait.
 */
#include "analyse/why/charge_add.h"
#include "analyse/why/why_int.h"

void root_in(struct charger *charger, struct root *root, const struct wait *wait)
{
	root->what = charge_text(charger, describe_in(charger->query, wait));
	root->is_call = word_is_call(charger->query, wait->in);
}

void root_for(struct charger *charger, struct root *root, uint32_t slot, const struct wait *wait)
{
	root->object = charge_text(charger, describe_object(charger->query, slot, wait));
	root->no_name = wait_has_no_name(charger->query, slot, wait);
}

/* What was awaited did not come, or nothing tells what ended the wait: 'instead' is NULL. */
void charge_open(struct charger *charger, const struct place *place, uint32_t slot,
		 const struct wait *wait, const struct why_reason *instead, uint64_t ns)
{
	struct query *query = charger->query;
	struct root root = { .kind = WHY_TIMER, .slot = slot };
	uint32_t index;

	root_in(charger, &root, wait);
	if (wait_sleeps(query, wait) || (!wait->woken_ns && wait_sleeps_there(query, slot, wait))) {
		/* Somebody ended the sleep before its time. */
		root.reason = wait->woken_ns ? why_reason_id(instead) : 0;
	} else {
		if (!instead) {
			(void)charge_unknown(charger, place, slot, WHY_REASON_OPEN, ns);
			return;
		}
		root.kind = WHY_STUCK;
		root.object = charger->nodes[place->node].lock;
		if (!root.object)
			root_for(charger, &root, slot, wait);
		root.reason = why_reason_id(instead);
		root.in_circle = charger->nodes[place->node].in_circle;
	}
	index = charge_add(charger, place, root, ns);
	told_root(charger->query, &charger->roots[index], slot, wait, ns);
	code_sleep(query, &charger->roots[index], slot, wait, ns);
}

/* It waited for all CPUs: what the threads of RCU did meanwhile is no answer. */
void charge_grace(struct charger *charger, const struct place *place, uint32_t slot,
		  const struct wait *wait, enum why_reason_kind grace, uint64_t ns)
{
	struct query *query = charger->query;
	struct root root = { .kind = WHY_GRACE,
			     .slot = slot,
			     .reason = charge_reason(charger, grace) };
	uint32_t index;

	root_in(charger, &root, wait);
	root_for(charger, &root, slot, wait);
	index = charge_add(charger, place, root, ns);
	code_sleep(query, &charger->roots[index], slot, wait, ns);
}
