/* saving.c - verdict, window and lanes of a file. */
#include "view/saving.h"

#include <errno.h>

#include "analyse/why/why.h"
#include "base/err.h"
#include "base/mem.h"
#include "timeline/timeline.h"
#include "view/answer.h"
#include "view/rows.h"

#define CPUS_MAX    64u
#define THREADS_MAX 32u
#define BUSIEST	    24u

static void choose_lanes(struct saving *saving)
{
	const struct timeline *timeline = saving->view->loaded->timeline;
	uint32_t slots[THREADS_MAX], count;

	for (uint32_t cpu = 0; cpu < timeline->cpu_count && cpu < CPUS_MAX; cpu++)
		saving->lanes[saving->count++] = (struct view_lane){ 'c', cpu };
	if (saving->answer->count) {
		count = verdict_slots(saving->view, saving->answer, slots, THREADS_MAX);
	} else {
		count = rows_busiest(timeline, saving->from_ns, saving->to_ns, slots, BUSIEST);
		count = count < BUSIEST ? count : BUSIEST;
	}
	for (uint32_t i = 0; i < count; i++)
		saving->lanes[saving->count++] = (struct view_lane){ 't', slots[i] };
}

static void choose_window(struct saving *saving)
{
	const struct view *view = saving->view;
	const struct timeline *timeline = view->loaded->timeline;
	const struct why *why = saving->answer->count ? &saving->answer->results[0] : NULL;

	saving->from_ns = view->to_ns ? view->from_ns : why ? why->start_ns : timeline->origin_ns;
	saving->to_ns = view->to_ns ? view->to_ns : why ? why->end_ns : timeline->end_ns;
}

int saving_make(const struct view *view, const struct explanation *answer,
		struct saving *out_saving, struct err *err)
{
	const struct timeline *timeline = view->loaded->timeline;
	const struct verdict_ask ask = { view->from_ns, view->to_ns, 0 };
	int rc = 0;

	*out_saving = (struct saving){ .view = view, .answer = answer };
	if (!answer) {
		out_saving->answer = &out_saving->own;
		rc = verdict_of(view, &ask, &out_saving->own, err);
	}
	if (rc < 0 && rc != -ESRCH)
		return rc;
	if (timeline->end_ns <= timeline->origin_ns) {
		saving_fini(out_saving);
		return err_set(err, -ENODATA, "%s has no events", view->path);
	}
	choose_window(out_saving);
	choose_lanes(out_saving);
	return 0;
}

void saving_fini(struct saving *saving)
{
	explanation_fini(&saving->own);
}
