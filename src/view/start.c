/* start.c - the first answer: what trace this is, how long, of how many, and the legend. */
#include <inttypes.h>

#include "ask/loaded.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/shares.h"
#include "view/verdict.h"

static void put_states(struct json *json)
{
	json_begin_array(json, "states");
	for (enum lane_state state = 0; state < LANE_STATE_COUNT; state++) {
		const struct lane_look *look = lane_look(state);

		json_begin_object(json, NULL);
		json_print_string(json, "name", look->name);
		json_print_string(json, "words", look->words);
		json_print_string(json, "light", look->light);
		json_print_string(json, "dark", look->dark);
		json_print_bool(json, "hatched", look->hatched);
		json_end_object(json);
	}
	json_end_array(json);
}

static void put_missing(struct json *json, const struct facts *facts)
{
	json_begin_array(json, "missing");
	for (size_t i = 0; i < facts->missing_count; i++)
		view_json_own_text(json, NULL,
				   xasprintf("%s (%s)", facts->missing[i].what,
					     facts->missing[i].why));
	json_end_array(json);
}

void view_answer_start(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer)
{
	const struct timeline *timeline = view->loaded->timeline;
	const struct facts *facts = view->loaded->facts;
	AUTO_FREE char *origin = xasprintf("%" PRIu64, timeline->origin_ns);
	struct view_json json;

	(void)query;
	view_json_begin(&json);
	json_print_string(&json.json, "state", "ready");
	view_json_text(&json.json, "trace", view->path);
	json_print_string(&json.json, "origin_ns", origin);
	view_json_time(&json.json, "end_ns", view, timeline->end_ns);
	if (view->to_ns) {
		view_json_time(&json.json, "from_ns", view, view->from_ns);
		view_json_time(&json.json, "to_ns", view, view->to_ns);
	}
	json_print_u64(&json.json, "cpus", timeline->cpu_count);
	json_print_u64(&json.json, "threads", timeline->thread_count);
	view_json_text(&json.json, "command", facts->target_cmdline);
	view_json_text(&json.json, "no_verdict", verdict_missing(view));
	json_print_bool(&json.json, "only_programs", facts->only_programs);
	json_print_u64(&json.json, "samples", facts->stacks ? facts->stacks->sample_count : 0);
	json_print_u64(&json.json, "lost_events", timeline->lost_events);
	json_print_bool(&json.json, "complete", facts->complete);
	put_missing(&json.json, facts);
	put_states(&json.json);
	view_json_end(&json, out_answer);
}
