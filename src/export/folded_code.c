/*
 * folded_code.c - stacks for flame graphs: a thread's name, the code it was in from the outermost
 * function on, and what it waited for on top.
 *
 *	sort;_start;main;merge;fread;read;[read: /tmp/a]
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "base/hash.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "export/code.h"
#include "export/export.h"
#include "export/folded.h"
#include "timeline/timeline.h"

struct folded_code {
	const struct export_job *job;
	struct folded_lines lines;
	struct outbuf text;
};

static const char *top_state(const struct code_part *part)
{
	if (part->kind == CODE_WAITS)
		return "blocked";
	return part->kind == CODE_REST ? part->state : NULL;
}

static void put_cause(struct outbuf *out, const struct code_part *part)
{
	const char *state = top_state(part);
	AUTO_FREE char *text = NULL;

	if (part->stack == STACK_NONE && part->kind != CODE_REST)
		folded_frame(out, "[no stack]");
	if (!state)
		return;
	text = xasprintf("[%s]", *part->cause ? part->cause : state);
	folded_frame(out, text);
}

static void folded_code_take_part(void *context, const struct code_part *part)
{
	struct folded_code *folded = context;
	const struct stacks *stacks = folded->job->facts->stacks;
	uint32_t count = part->stack == STACK_NONE ? 0 : stacks->stacks[part->stack].count;

	outbuf_reset(&folded->text);
	folded_frame(&folded->text, timeline_comm(folded->job->timeline, part->slot));
	for (uint32_t i = count; i-- > 0;) {
		AUTO_FREE char *name = code_frame_text(stacks_frame(stacks, part->stack, i));

		folded_frame(&folded->text, name);
	}
	put_cause(&folded->text, part);
	outbuf_char(&folded->text, '\0');
	folded_add(&folded->lines, folded->text.start, part->ns);
}

int export_folded_code(struct export_job *job, FILE *out, struct err *err)
{
	static const uint32_t kinds[] = {
		[EXPORT_BLOCKED] = CODE_WAITS,
		[EXPORT_WALL] = CODE_WORK | CODE_WAITS | CODE_REST,
		[EXPORT_WORKING] = CODE_WORK,
	};
	struct folded_code folded = { .job = job };
	int rc;

	outbuf_to_memory(&folded.text);
	rc = code_run(job, kinds[job->measure], folded_code_take_part, &folded, err);
	if (rc == 0)
		folded_print(&folded.lines, out);
	outbuf_fini(&folded.text);
	folded_fini(&folded.lines);
	return rc;
}
