/*
 * trace.c - a trace that is text: of the kernel itself, trace-cmd, perf or systrace.
 *
 * All CPUs stand in one file, and are one lane.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/source.h"
#include "read/event_stacks.h"
#include "read/lane.h"
#include "read/merge.h"
#include "read/read.h"
#include "read/read_int.h"
#include "read/text/kinds.h"
#include "read/text/lane.h"
#include "read/text/scan.h"
#include "store/formats.h"

struct text_trace {
	struct trace trace;
	char *path; /* owned; no symbolic link */
	struct text_kinds *kinds;
	struct text_common common;
	struct text_lane *lane; /* the merge's */
	struct formats formats;
};

static void text_trace_close(struct trace *trace)
{
	struct text_trace *text = (struct text_trace *)trace;

	if (text->trace.merge)
		source_close(merge_source(text->trace.merge));
	text_kinds_free(text->kinds);
	formats_fini(&text->formats);
	facts_fini(&trace->facts);
	free(text->path);
	free(text);
}

static void text_trace_meaning(const struct trace *trace, struct trace_meaning *out_meaning)
{
	*out_meaning = (struct trace_meaning){
		.formats = &((const struct text_trace *)trace)->formats,
		.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
		.long_bytes = 8,
	};
}

static int text_trace_find_place(struct trace *trace, uint32_t cpu, uint64_t place,
				 uint64_t *out_ns, struct err *err)
{
	const struct text_trace *text = (const struct text_trace *)trace;

	if (text_lane_time_at(text->lane, place, out_ns))
		return 0;
	return err_set(err, -ENOENT, "there is no event at the place %u@%llx", cpu,
		       (unsigned long long)place);
}

static const struct trace_ops text_trace_ops = {
	.meaning = text_trace_meaning,
	.find_place = text_trace_find_place,
	.close = text_trace_close,
};

static bool has_stacks(const struct formats *formats)
{
	return formats_find(formats, "ftrace/kernel_stack") ||
	       formats_find(formats, "ftrace/user_stack");
}

static int text_trace_open_lane(struct text_trace *text, struct err *err)
{
	struct lane *lane;
	int rc;

	text_kinds_finish(text->kinds, &text->trace.facts, &text->formats);
	text->common = (struct text_common){
		.path = text->path,
		.kinds = text->kinds,
		.first_ns = text->trace.facts.first_ns,
	};
	rc = text_lane_new(&text->common, &text->lane, err);
	if (rc < 0)
		return rc;
	lane = text_lane_lane(text->lane);
	text->trace.merge = merge_new(&lane, 1, &text->trace.facts);
	text->trace.source = merge_source(text->trace.merge);
	return has_stacks(&text->formats) ? event_stacks_read(&text->trace, NULL, err) : 0;
}

static int text_trace_open(const char *path, struct trace **out_trace, struct err *err)
{
	struct text_trace *text = xcalloc(1, sizeof(*text));
	int rc = 0;

	text->trace.ops = &text_trace_ops;
	text->trace.facts.format = "ftrace text";
	text->trace.facts.target_status = -1;
	text->trace.facts.complete = true;
	text->path = realpath(path, NULL);
	if (!text->path)
		rc = err_set(err, -errno, "%s", strerror(errno));
	text->kinds = text_kinds_new();
	if (rc == 0)
		rc = text_scan(text->path, text->kinds, &text->trace.facts, err);
	if (rc == 0)
		rc = text_trace_open_lane(text, err);
	if (rc < 0) {
		text_trace_close(&text->trace);
		return rc;
	}
	*out_trace = &text->trace;
	return 0;
}

static bool text_trace_matches(const char *path)
{
	AUTO_FREE char *real = realpath(path, NULL);

	return real && text_scan_matches(real);
}

const struct trace_format text_format = {
	.name = "ftrace text",
	.matches = text_trace_matches,
	.open = text_trace_open,
};
