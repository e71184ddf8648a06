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
#include <stdlib.h>
#include <string.h>

#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "base/text.h"
#include "event/facts.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/crew.h"
#include "view/shares.h"

#define CPU_SPANS_MAX 20000u /* of a CPU in a window, that are looked at one by one */
#define SHARES	      255u
#define WIDTH	      1600u

/* Columns of one lane on their way out. */
struct lane_writer {
	struct outbuf *out;
	struct lane_run {
		uint8_t bytes[1 + 2 * LANE_STATE_COUNT]; /* how many parts, and the parts */
		size_t count;
	} run; /* that is not written yet */
	uint32_t columns, runs;
};

static void write_run(struct lane_writer *writer)
{
	struct outbuf *out = writer->out;

	if (!writer->columns)
		return;
	outbuf_little(out, writer->columns, 2);
	outbuf_room(out);
	memcpy(out->at, writer->run.bytes, sizeof(writer->run.bytes)); /* the slack is larger */
	out->at += writer->run.count;
	writer->runs++;
	writer->columns = 0;
}

static inline uint32_t share_of(uint64_t ns, uint64_t sum)
{
	return sum <= UINT64_MAX / SHARES ? (uint32_t)(ns * SHARES / sum)
					  : (uint32_t)((unsigned __int128)ns * SHARES / sum);
}

/* In parts of SHARES; what is left by rounding goes to the largest. Returns whether there was any time. */
static bool divide(const struct lane_shares *shares, struct lane_run *out_run)
{
	uint32_t left = SHARES, parts[LANE_STATE_COUNT], most = 0;
	uint64_t sum = 0, most_ns = 0;

	for (uint32_t bits = shares->states; bits; bits &= bits - 1) {
		uint32_t state = (uint32_t)__builtin_ctz(bits);

		sum += shares->ns[state];
		most = shares->ns[state] > most_ns ? state : most;
		most_ns = shares->ns[most];
	}
	if (!sum)
		return false;
	if (most_ns == sum) { /* it is all: no need to divide */
		*out_run = (struct lane_run){ { 1, (uint8_t)most, SHARES }, 3 };
		return true;
	}
	for (uint32_t bits = shares->states; bits; bits &= bits - 1) {
		uint32_t state = (uint32_t)__builtin_ctz(bits);

		parts[state] = shares->ns[state] ? share_of(shares->ns[state], sum) : 0;
		left -= parts[state];
	}
	parts[most] += left;
	out_run->count = 1;
	for (uint32_t bits = shares->states; bits; bits &= bits - 1) {
		uint32_t state = (uint32_t)__builtin_ctz(bits);

		if (!parts[state])
			continue;
		out_run->bytes[out_run->count++] = (uint8_t)state;
		out_run->bytes[out_run->count++] = (uint8_t)parts[state];
	}
	out_run->bytes[0] = (uint8_t)(out_run->count / 2);
	return true;
}

static void write_columns(void *context, uint32_t first, uint32_t count,
			  const struct lane_shares *shares)
{
	struct lane_writer *writer = context;
	struct lane_run run;

	(void)first;
	if (!divide(shares, &run)) /* shorter than a ns: it is as the one before */
		run = writer->run;
	if (writer->columns && (run.count != writer->run.count ||
				memcmp(run.bytes, writer->run.bytes, run.count) != 0))
		write_run(writer);
	if (!writer->columns)
		writer->run = run;
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

/* Lanes that are asked for, and what is made of each. */
struct lanes_asked {
	const struct view_lane *lanes;
	struct lane_window window;
	struct outbuf *made;
};

/* The runs come behind their number and the sums, which are known at the end. */
static void make_lane(const struct view *view, uint32_t index, void *context)
{
	const struct lanes_asked *asked = context;
	struct outbuf runs, *out = &asked->made[index];
	struct lane_writer writer = { .out = &runs, .run.count = 1 };
	struct lane_window window = asked->window;
	struct view_lane lane = asked->lanes[index];
	struct lane_shares sum;

	outbuf_to_memory(&runs);
	window.each = write_columns;
	window.context = &writer;
	view_lane_columns(view, lane, &window, &sum);
	write_run(&writer);
	outbuf_to_memory(out);
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
	struct lanes_asked asked = { .lanes = lanes };
	struct err err = { 0 };
	struct outbuf out;
	uint32_t count = 0;
	uint64_t width;
	int rc = view_window(view, query, &asked.window.start_ns, &asked.window.end_ns, &err);

	if (rc == 0)
		rc = view_query_number(query, "width", 1, VIEW_WIDTH_MAX, WIDTH, &width, &err);
	if (rc == 0)
		rc = view_lanes_parse(view, rows ? rows : "", lanes, &count, &err);
	if (rc < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	asked.window.width = (uint32_t)width;
	asked.made = xcalloc(count + 1, sizeof(*asked.made));
	view_crew_each(view, count, make_lane, &asked);
	view_bytes_begin(&out, "HLL1", width, count, LANE_STATE_COUNT);
	for (uint32_t i = 0; i < count; i++) {
		outbuf_put(&out, asked.made[i].start, outbuf_bytes(&asked.made[i]));
		outbuf_fini(&asked.made[i]);
	}
	free(asked.made);
	view_answer_bytes(out_answer, &out);
}
