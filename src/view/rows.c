/* rows.c - the threads of a window, busiest first. */
#include "view/rows.h"

#include <stdlib.h>

#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/lanes.h"
#include "view/shares.h"

struct busy {
	uint64_t ns;
	uint32_t slot;
};

ORDER_FUNCTION(compare_busy, struct busy, ORDER_DOWN(ns), ORDER_UP(slot));

/* Working or interrupted. */
static uint64_t busy_ns(const struct timeline *timeline, uint32_t slot, uint64_t start_ns,
			uint64_t end_ns)
{
	struct lane_shares sum;

	lane_sum_of_thread(timeline, slot, start_ns, end_ns, &sum);
	return sum.ns[LANE_OWN] + sum.ns[LANE_KERNEL] + sum.ns[LANE_IRQ] + sum.ns[LANE_QUEUE];
}

void rows_busy_make(const struct timeline *timeline, uint64_t start_ns, uint64_t end_ns,
		    struct rows_busy *out_rows)
{
	AUTO_FREE struct busy *all = xcalloc(timeline->thread_count + 1, sizeof(*all));
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < timeline->thread_count; slot++) {
		const struct tl_thread *thread = timeline->threads[slot];

		if (thread->tid == 0 || thread->birth_ns >= end_ns || thread->death_ns <= start_ns)
			continue;
		all[count++] = (struct busy){ busy_ns(timeline, slot, start_ns, end_ns), slot };
	}
	qsort(all, count, sizeof(*all), compare_busy);
	out_rows->slots = xcalloc(count + 1, sizeof(*out_rows->slots));
	out_rows->ns = xcalloc(count + 1, sizeof(*out_rows->ns));
	out_rows->count = count;
	for (uint32_t i = 0; i < count; i++) {
		out_rows->slots[i] = all[i].slot;
		out_rows->ns[i] = all[i].ns;
	}
}

void rows_busy_fini(struct rows_busy *rows)
{
	free(rows->slots);
	free(rows->ns);
	*rows = (struct rows_busy){ 0 };
}

uint32_t rows_busiest(const struct timeline *timeline, uint64_t start_ns, uint64_t end_ns,
		      uint32_t *out_slots, uint32_t most)
{
	struct rows_busy rows;
	uint32_t count;

	rows_busy_make(timeline, start_ns, end_ns, &rows);
	for (uint32_t i = 0; i < rows.count && i < most; i++)
		out_slots[i] = rows.slots[i];
	count = rows.count;
	rows_busy_fini(&rows);
	return count;
}

void view_answer_rows(const struct view *view, const struct view_query *query,
		      struct view_answer *out_answer)
{
	uint32_t slots[VIEW_LANES_MAX];
	uint64_t start_ns, end_ns, most = 0;
	struct err err = { 0 };
	struct view_json json;
	uint32_t count;
	int rc = view_window(view, query, &start_ns, &end_ns, &err);

	if (rc == 0)
		rc = view_query_number(query, "most", 1, VIEW_LANES_MAX, 24, &most, &err);
	if (rc < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	count = rows_busiest(view->loaded->timeline, start_ns, end_ns, slots, (uint32_t)most);
	view_json_begin(&json);
	json_print_u64(&json.json, "count", count);
	json_begin_array(&json.json, "lanes");
	for (uint32_t i = 0; i < count && i < most; i++)
		view_json_slot(&json.json, NULL, view, slots[i]);
	json_end_array(&json.json);
	view_json_end(&json, out_answer);
}
