/* condition.c - see condition.h. */
#include "stuck/condition.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/text.h"
#include "stuck/goroutines.h"
#include "stuck/stuck.h"

#define WANTED "a condition is deadlock, chain>5s, D>10s or convoy>20, got \"%s\""

int condition_parse(const char *text, struct condition *out_condition, struct err *err)
{
	const char *limit = strchr(text, '>');
	size_t length = limit ? (size_t)(limit - text) : strlen(text);
	bool is_read = false;

	*out_condition = (struct condition){ .text = text };
	if (!limit && strcmp(text, "deadlock") == 0)
		return 0;
	if (limit && length == 6 && strncmp(text, "convoy", length) == 0) {
		out_condition->kind = CONDITION_CONVOY;
		is_read = text_parse_u64(limit + 1, &out_condition->least_count);
	} else if (limit && length == 5 && strncmp(text, "chain", length) == 0) {
		out_condition->kind = CONDITION_CHAIN;
		is_read = text_parse_duration(limit + 1, &out_condition->least_ns);
	} else if (limit && length == 1 && *text == 'D') {
		out_condition->kind = CONDITION_D;
		is_read = text_parse_duration(limit + 1, &out_condition->least_ns);
	}
	return is_read ? 0 : err_set(err, -EINVAL, WANTED, text);
}

static struct condition_met *add_met(struct condition_list *list, size_t condition, int32_t tid)
{
	list->items = vec_room(list->items, list->count, &list->cap, sizeof(*list->items));
	list->items[list->count] = (struct condition_met){ .condition = condition, .tid = tid };
	return &list->items[list->count++];
}

static uint64_t since_of(const struct stuck *stuck, int32_t tid)
{
	const struct stuck_thread *thread = stuck_find(stuck, tid);

	return thread ? thread->since_ns : 0;
}

static void set_tids(struct condition_met *met, const struct stuck *stuck, const int32_t *tids,
		     size_t count)
{
	met->tids = xcalloc(count, sizeof(*tids));
	memcpy(met->tids, tids, count * sizeof(*tids));
	met->count = count;
	for (size_t i = 0; i < count; i++) {
		uint64_t since_ns = since_of(stuck, tids[i]);

		if (since_ns && (!met->since_ns || since_ns < met->since_ns))
			met->since_ns = since_ns;
	}
}

static void find_deadlocks(size_t condition, const struct stuck *stuck, struct condition_list *list)
{
	for (size_t i = 0; i < stuck->cycle_count; i++) {
		const struct stuck_cycle *cycle = &stuck->cycles[i];

		set_tids(add_met(list, condition, cycle->tids[0]), stuck, cycle->tids,
			 cycle->count);
	}
}

/* The main thread stands for its process, and is always there. */
static void set_process(struct condition_met *met, const struct stuck *stuck, int32_t tgid)
{
	bool is_known = true;

	met->is_of_goroutines = true;
	met->tids = xcalloc(stuck->count + 1, sizeof(*met->tids));
	met->tids[met->count++] = tgid;
	for (size_t i = 0; i < stuck->count; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];

		if (thread->tgid != tgid)
			continue;
		if (thread->tid != tgid)
			met->tids[met->count++] = thread->tid;
		is_known &= thread->since_ns != 0;
		if (thread->since_ns > met->since_ns)
			met->since_ns = thread->since_ns;
	}
	if (!is_known)
		met->since_ns = 0;
}

static void find_go_deadlocks(size_t condition, const struct stuck *stuck,
			      const struct goroutines *goroutines, struct condition_list *list)
{
	for (size_t i = 0; goroutines && i < goroutines->process_count; i++) {
		int32_t tgid = goroutines->processes[i].tgid;

		if (goroutines->processes[i].is_deadlock)
			set_process(add_met(list, condition, tgid), stuck, tgid);
	}
}

static void find_convoys(size_t condition, uint64_t least, const struct stuck *stuck,
			 struct condition_list *list)
{
	for (size_t i = 0; i < stuck->convoy_count; i++) {
		const struct stuck_convoy *convoy = &stuck->convoys[i];

		if (convoy->count > least)
			set_tids(add_met(list, condition, convoy->tid), stuck, convoy->tids,
				 convoy->count);
	}
}

static bool is_longer(const struct stuck *stuck, const struct stuck_thread *thread,
		      uint64_t least_ns)
{
	return thread->is_asked && thread->since_ns && thread->since_ns < stuck->now_ns &&
	       stuck->now_ns - thread->since_ns > least_ns;
}

static void find_sleepers(size_t condition, uint64_t least_ns, const struct stuck *stuck,
			  struct condition_list *list)
{
	for (size_t i = 0; i < stuck->count; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];

		if (thread->state == 'D' && is_longer(stuck, thread, least_ns))
			set_tids(add_met(list, condition, thread->tid), stuck, &thread->tid, 1);
	}
}

/* A thread that waits for long, and what its chain ends in. */
struct waiter {
	int32_t end, tid;
	uint64_t since_ns;
};

/* By what they wait for; of those, longest first. */
ORDER_FUNCTION(compare_waiters, struct waiter, ORDER_UP(end), ORDER_UP(since_ns), ORDER_UP(tid));

static size_t find_waiters(uint64_t least_ns, const struct stuck *stuck, struct waiter *waiters)
{
	size_t count = 0;

	for (size_t i = 0; i < stuck->count; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];

		if (thread->edge_count && is_longer(stuck, thread, least_ns))
			waiters[count++] =
				(struct waiter){ thread->root_tid ? thread->root_tid : thread->tid,
						 thread->tid, thread->since_ns };
	}
	qsort(waiters, count, sizeof(*waiters), compare_waiters);
	return count;
}

static void find_chains(size_t condition, uint64_t least_ns, const struct stuck *stuck,
			struct condition_list *list)
{
	AUTO_FREE struct waiter *waiters = xcalloc(stuck->count + 1, sizeof(*waiters));
	AUTO_FREE int32_t *tids = xcalloc(stuck->count + 1, sizeof(*tids));
	size_t count = find_waiters(least_ns, stuck, waiters), next;

	for (size_t first = 0; first < count; first = next) {
		for (next = first; next < count && waiters[next].end == waiters[first].end; next++)
			tids[next - first] = waiters[next].tid;
		set_tids(add_met(list, condition, waiters[first].end), stuck, tids, next - first);
	}
}

void conditions_find(const struct condition *conditions, size_t count, const struct stuck *stuck,
		     const struct goroutines *goroutines, struct condition_list *out_list)
{
	*out_list = (struct condition_list){ 0 };
	for (size_t i = 0; i < count; i++) {
		const struct condition *condition = &conditions[i];

		switch (condition->kind) {
		case CONDITION_DEADLOCK:
			find_deadlocks(i, stuck, out_list);
			find_go_deadlocks(i, stuck, goroutines, out_list);
			break;
		case CONDITION_CHAIN:
			find_chains(i, condition->least_ns, stuck, out_list);
			break;
		case CONDITION_D:
			find_sleepers(i, condition->least_ns, stuck, out_list);
			break;
		case CONDITION_CONVOY:
			find_convoys(i, condition->least_count, stuck, out_list);
			break;
		}
	}
}

void conditions_fini(struct condition_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].tids);
	free(list->items);
	*list = (struct condition_list){ 0 };
}
