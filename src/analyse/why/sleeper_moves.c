/* sleeper_moves.c - who sleeps, and moves between the switch and the waking. */
#include "analyse/why/sleeper_moves.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"
#include "event/event.h"

static void add_move(struct moved *moved, const struct event *event)
{
	/* A waking takes it off, and so does the first move. */
	if (!map_find(&moved->asleep, (uint32_t)event->migrate.tid))
		return;
	(void)map_remove(&moved->asleep, (uint32_t)event->migrate.tid);
	moved->moves = vec_room(moved->moves, moved->count, &moved->cap, sizeof(*moved->moves));
	moved->moves[moved->count++] =
		(struct move){ .time_ns = event->time_ns, .tid = event->migrate.tid };
}

void moved_feed(struct moved *moved, const struct event *event)
{
	switch (event->type) {
	case EV_SCHED_SWITCH:
		if (event->sched_switch.prev_tid > 0 &&
		    event->sched_switch.prev_state != TASK_STATE_RUNNABLE &&
		    event->sched_switch.prev_state != TASK_STATE_DEAD)
			map_put(&moved->asleep, (uint32_t)event->sched_switch.prev_tid, 1);
		break;
	case EV_SCHED_WAKING:
		(void)map_remove(&moved->asleep, (uint32_t)event->wake.tid);
		break;
	case EV_SCHED_MIGRATE:
		add_move(moved, event);
		break;
	case EV_LOST: /* whoever slept may have been woken */
		map_fini(&moved->asleep);
		moved->asleep = (struct map){ 0 };
		break;
	default:
		break;
	}
}

ORDER_FUNCTION(by_thread, struct move, ORDER_UP(tid), ORDER_UP(time_ns));

void moved_end(struct moved *moved)
{
	map_fini(&moved->asleep);
	moved->asleep = (struct map){ 0 };
	if (moved->count)
		qsort(moved->moves, moved->count, sizeof(*moved->moves), by_thread);
}

const struct move *moved_find(const struct moved *moved, int32_t tid, size_t *out_count)
{
	size_t first = SEARCH_FROM(moved->moves, moved->count, tid, tid), low = first;

	while (low < moved->count && moved->moves[low].tid == tid)
		low++;
	*out_count = low - first;
	return *out_count ? &moved->moves[first] : NULL;
}

void moved_fini(struct moved *moved)
{
	free(moved->moves);
	map_fini(&moved->asleep);
	*moved = (struct moved){ 0 };
}
