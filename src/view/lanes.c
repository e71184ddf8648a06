/*
 * lanes.c - lanes as bytes: runs of columns that are divided alike.
 *
 * All numbers are little endian.
 *
 *	"HLL1"  u32 width  u32 lanes  u32 states
 *	lane:   u8 'c' or 't'  u8 0  u16 0  u32 index  u64 ns of each state  u32 runs  run...
 *	run:    u16 columns  u8 parts  then for each part: u8 state  u8 share; the shares are 255 together
 */
#include "view/lanes.h"

#include <errno.h>
#include <string.h>

#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "base/text.h"
#include "event/facts.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/shares.h"

#define CPU_SPANS_MAX 20000u /* of a CPU in a window, that are looked at one by one */
#define SHARES	      255u
#define WIDTH	      1600u

/* Columns of one lane on their way out. */
struct lane_writer {
	struct outbuf *out;
	uint8_t parts[LANE_STATE_COUNT]; /* of the run that is not written yet */
	uint32_t columns, runs;
};

static void write_run(struct lane_writer *writer)
{
	uint32_t parts = 0;

	if (!writer->columns)
		return;
	for (size_t i = 0; i < LANE_STATE_COUNT; i++)
		parts += writer->parts[i] != 0;
	outbuf_little(writer->out, writer->columns, 2);
	outbuf_little(writer->out, parts, 1);
	for (size_t i = 0; i < LANE_STATE_COUNT; i++) {
		if (!writer->parts[i])
			continue;
		outbuf_little(writer->out, i, 1);
		outbuf_little(writer->out, writer->parts[i], 1);
	}
	writer->runs++;
	writer->columns = 0;
}

/* In parts of SHARES; what is left by rounding goes to the largest. Returns whether there was any time. */
static bool divide(const struct lane_shares *shares, uint8_t *out_parts)
{
	uint32_t left = SHARES, most = 0;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < LANE_STATE_COUNT; i++) {
		sum += shares->ns[i];
		most = shares->ns[i] > shares->ns[most] ? i : most;
	}
	for (uint32_t i = 0; sum && i < LANE_STATE_COUNT; i++) {
		uint64_t ns = shares->ns[i];

		if (!ns)
			continue;
		out_parts[i] = sum <= UINT64_MAX / SHARES
				       ? (uint8_t)(ns * SHARES / sum)
				       : (uint8_t)((unsigned __int128)ns * SHARES / sum);
		left -= out_parts[i];
	}
	if (sum)
		out_parts[most] = (uint8_t)(out_parts[most] + left);
	return sum != 0;
}

static void write_columns(void *context, uint32_t first, uint32_t count,
			  const struct lane_shares *shares)
{
	struct lane_writer *writer = context;
	uint8_t parts[LANE_STATE_COUNT] = { 0 };

	(void)first;
	if (!divide(shares, parts)) /* shorter than a ns: it is as the one before */
		memcpy(parts, writer->parts, sizeof(parts));
	if (writer->columns && memcmp(parts, writer->parts, sizeof(parts)) != 0)
		write_run(writer);
	memcpy(writer->parts, parts, sizeof(parts));
	writer->columns += count;
}

static int lane_parse(const void *context, const char *text, struct view_lane *out_lane)
{
	const struct view *view = context;
	const struct timeline *timeline = view->loaded->timeline;
	uint64_t index;

	if ((text[0] != 't' && text[0] != 'c') || !text_parse_u64(text + 1, &index) ||
	    index >= (text[0] == 't' ? timeline->thread_count : timeline->cpu_count))
		return -EINVAL;
	*out_lane = (struct view_lane){ text[0], (uint32_t)index };
	return 0;
}

int view_names_parse(const char *text, view_name_parse *parse, const void *context,
		     struct view_lane *out_lanes, uint32_t *out_count, struct err *err)
{
	AUTO_FREE char *copy = xstrdup(text);
	char *rest = copy;
	uint32_t count = 0;

	while (rest && *rest) {
		if (count == VIEW_LANES_MAX)
			return err_set(err, -EINVAL, "more than %d lanes", VIEW_LANES_MAX);
		if (parse(context, strsep(&rest, ","), &out_lanes[count++]) < 0)
			return err_set(err, -EINVAL, "no such lane");
	}
	*out_count = count;
	return 0;
}

int view_lanes_parse(const struct view *view, const char *text, struct view_lane *out_lanes,
		     uint32_t *out_count, struct err *err)
{
	return view_names_parse(text, lane_parse, view, out_lanes, out_count, err);
}

static int32_t target_tgid(const struct view *view)
{
	const struct timeline *timeline = view->loaded->timeline;
	uint32_t slot = view->loaded->facts->target_tid
				? timeline_find_thread(timeline, view->loaded->facts->target_tid,
						       UINT64_MAX)
				: SLOT_NONE;

	return slot == SLOT_NONE ? 0 : thread_process(timeline->threads[slot]);
}

void view_lane_columns(const struct view *view, struct view_lane lane,
		       const struct lane_window *window, struct lane_shares *out_sum)
{
	const struct timeline *timeline = view->loaded->timeline;

	if (lane.kind == 't')
		lane_of_thread(timeline, lane.index, window, out_sum);
	else
		lane_of_cpu(timeline, lane.index, target_tgid(view), CPU_SPANS_MAX, window,
			    out_sum);
}

/* The runs come behind their number and the sums, which are known at the end. */
static void lanes_put_lane(struct outbuf *out, const struct view *view, struct view_lane lane,
			   const struct lane_window *of)
{
	struct outbuf runs;
	struct lane_writer writer = { .out = &runs };
	struct lane_window window = *of;
	struct lane_shares sum;

	outbuf_to_memory(&runs);
	window.each = write_columns;
	window.context = &writer;
	view_lane_columns(view, lane, &window, &sum);
	write_run(&writer);
	outbuf_little(out, (uint8_t)lane.kind, 4);
	outbuf_little(out, lane.index, 4);
	for (size_t i = 0; i < LANE_STATE_COUNT; i++)
		outbuf_little(out, sum.ns[i], 8);
	outbuf_little(out, writer.runs, 4);
	outbuf_put(out, runs.start, outbuf_bytes(&runs));
	outbuf_fini(&runs);
}

void view_answer_lanes(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer)
{
	const char *rows = view_query_text(query, "rows");
	struct view_lane lanes[VIEW_LANES_MAX];
	struct lane_window window = { 0 };
	struct err err = { 0 };
	struct outbuf out;
	uint32_t count = 0;
	uint64_t width;
	int rc = view_window(view, query, &window.start_ns, &window.end_ns, &err);

	if (rc == 0)
		rc = view_query_number(query, "width", 1, VIEW_WIDTH_MAX, WIDTH, &width, &err);
	if (rc == 0)
		rc = view_lanes_parse(view, rows ? rows : "", lanes, &count, &err);
	if (rc < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	window.width = (uint32_t)width;
	view_bytes_begin(&out, "HLL1", width, count, LANE_STATE_COUNT);
	for (uint32_t i = 0; i < count; i++)
		lanes_put_lane(&out, view, lanes[i], &window);
	view_answer_bytes(out_answer, &out);
}
