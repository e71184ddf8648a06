/* save_answer.c - "save": the file of a window, for the page's button. */
#include <stdio.h>
#include <stdlib.h>

#include "ask/loaded.h"
#include "base/err.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/save.h"
#include "view/verdict.h"

/* Of a thread that the page explains; *out_answer stays NULL where it is the command. */
static int saved_verdict(const struct view *view, const struct view_query *query,
			 struct explanation *own, const struct explanation **out_answer,
			 struct err *err)
{
	const struct timeline *timeline = view->loaded->timeline;
	struct verdict_ask ask = { view->from_ns, view->to_ns, 0 };
	uint64_t slot = 0;
	int rc;

	if (!view_query_text(query, "slot") || !timeline->thread_count)
		return 0;
	rc = view_query_number(query, "slot", 0, timeline->thread_count - 1, 0, &slot, err);
	if (rc < 0)
		return rc;
	ask.slot = (uint32_t)slot + 1;
	rc = verdict_of(view, &ask, own, err);
	if (rc == 0)
		*out_answer = own;
	return rc;
}

/* Not as a page of this origin: it is to be kept, not looked at here. */
void view_answer_save(const struct view *view, const struct view_query *query,
		      struct view_answer *out_answer)
{
	const struct explanation *answer = NULL;
	struct explanation own = { 0 };
	struct view windowed = *view;
	struct err err = { 0 };
	char *bytes = NULL;
	size_t count = 0;
	FILE *out;
	int rc = view_window(view, query, &windowed.from_ns, &windowed.to_ns, &err);

	if (rc == 0)
		rc = saved_verdict(&windowed, query, &own, &answer, &err);
	out = rc == 0 ? open_memstream(&bytes, &count) : NULL;
	if (out) {
		rc = view_save_html(out, &windowed, answer, &err);
		(void)fclose(out); /* of memory: what could not be written ended the program */
	}
	explanation_fini(&own);
	if (rc == 0 && out) {
		*out_answer = (struct view_answer){ 200, "application/octet-stream", bytes, count };
		return;
	}
	free(bytes);
	if (rc < 0)
		view_answer_fail(out_answer, &err);
	else
		view_answer_say(out_answer, 500, "there is no memory for the file");
}
