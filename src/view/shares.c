/* shares.c - the sums of the timeline, cut into columns; and the colours of their states. */
#include "view/shares.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "timeline/timeline.h"
#include "timeline/totals.h"

_Static_assert(LANE_STATE_COUNT <= TL_CLASSES, "each state is a class of the timeline's sums");

/*
 * The colours are those of Okabe and Ito, which the colour-blind can tell apart, and their lighter
 * and darker shades: strong for work and for what holds up, pale for what was asked for.
 */
static const struct lane_look looks[LANE_STATE_COUNT] = {
	[LANE_OWN] = { "own", "working: own code", "#009e73", "#14b589" },
	[LANE_KERNEL] = { "kernel", "working: in the kernel", "#0072b2", "#3d9bdc" },
	[LANE_IRQ] = { "irq", "interrupted", "#cc79a7", "#d98bb5" },
	[LANE_QUEUE] = { "queue", "waiting for a CPU", "#d55e00", "#ee7420" },
	[LANE_LOCK] = { "lock", "blocked: lock", "#e69f00", "#f0b026" },
	[LANE_DISK] = { "disk", "blocked: disk", "#8c5a2b", "#b57f4a" },
	[LANE_NETWORK] = { "network", "blocked: network", "#56b4e9", "#7cc7f2" },
	[LANE_THREAD] = { "thread", "blocked: another thread", "#e8dc3c", "#efe565" },
	[LANE_OTHER] = { "other", "blocked: other I/O", "#b39ddb", "#9c84cc" },
	[LANE_SLEEP] = { "sleep", "sleeping until a timer", "#c3cdd8", "#56626f" },
	[LANE_IDLE] = { "idle", "waiting for work", "#dfe5ea", "#3b454f" },
	[LANE_STOP] = { "stop", "stopped", "#6b7480", "#8b95a1" },
	[LANE_UNENDED] = { "unended", "blocked: end not recorded", "#a9a08c", "#7d7564" },
	[LANE_STILL] = { "still", "blocked: still waiting", "#e0cfae", "#6a5a3c" },
	[LANE_UNCERTAIN] = { "uncertain", "uncertain", "#8a8a8a", "#9a9a9a", true },
	[LANE_TARGET] = { "target", "CPU: this program", "#009e73", "#14b589" },
	[LANE_PROGRAM] = { "program", "CPU: another program", "#a98bc4", "#a98bc4" },
	[LANE_SYSTEM] = { "system", "CPU: a kernel thread", "#0072b2", "#3d9bdc" },
	[LANE_BUSY] = { "busy", "CPU: busy", "#5f7f8f", "#7fa0b0" },
	[LANE_FREE] = { "free", "CPU: idle", "#e8ecef", "#2c343c" },
	[LANE_ABSENT] = { "absent", "absent", "", "" },
};

const struct lane_look *lane_look(enum lane_state state)
{
	return &looks[state];
}

uint64_t lane_column_ns(const struct lane_window *window, uint32_t column)
{
	uint64_t ns = window->end_ns - window->start_ns;

	if (ns <= UINT64_MAX >> 12 && column <= 1u << 12) /* the product fits */
		return window->start_ns + ns * column / window->width;
	return window->start_ns + (uint64_t)((unsigned __int128)ns * column / window->width);
}

static const struct tl_classes states_of = {
	.of_word = {
		[WORD_NONE] = LANE_ABSENT,	[WORD_UNCERTAIN] = LANE_UNCERTAIN,
		[WORD_RUN] = LANE_OWN,		[WORD_USER] = LANE_OWN,
		[WORD_IDLE] = LANE_OWN,		[WORD_SYSCALL] = LANE_KERNEL,
		[WORD_TRAP] = LANE_KERNEL,	[WORD_KERNEL] = LANE_KERNEL,
		[WORD_WORK] = LANE_KERNEL,	[WORD_IRQ] = LANE_IRQ,
		[WORD_VECTOR] = LANE_IRQ,	[WORD_SOFTIRQ] = LANE_IRQ,
		[WORD_PREEMPTED] = LANE_QUEUE,	[WORD_WAIT_CPU] = LANE_QUEUE,
		[WORD_BLOCKED] = LANE_UNENDED,	[WORD_CPU] = LANE_UNCERTAIN,
	},
	.of_wait = {
		[WAIT_FOR_STOP] = LANE_STOP,	 [WAIT_FOR_LOCK] = LANE_LOCK,
		[WAIT_FOR_DISK] = LANE_DISK,	 [WAIT_FOR_IDLE] = LANE_IDLE,
		[WAIT_FOR_TIME] = LANE_SLEEP,	 [WAIT_FOR_NETWORK] = LANE_NETWORK,
		[WAIT_FOR_THREAD] = LANE_THREAD, [WAIT_FOR_IO] = LANE_OTHER,
		[WAIT_FOR_OTHER] = LANE_OTHER,	 [WAIT_FOR_UNKNOWN] = LANE_UNENDED,
	},
};

/* ------------------------------------------------------------------- threads */

/* A wait behind which nothing comes: who waits there still does at the end. */
static bool is_open(const struct tl_classed_pace *pace)
{
	return pace->in_class == LANE_UNENDED && pace->until_ns == UINT64_MAX;
}

/* A thread's sums on their way through the window. */
struct passing {
	struct tl_classed *sums;
	uint64_t asked_ns;
	struct tl_classed_pace pace; /* there */
	bool has_pace;
	struct lane_shares shares; /* of the last step */
};

/* What passed since the last time, by state. */
static const struct lane_shares *pass(struct passing *passing, uint64_t time_ns)
{
	struct lane_shares *shares = &passing->shares;
	uint64_t open_ns, from_ns = passing->asked_ns;

	for (uint32_t bits = shares->states; bits; bits &= bits - 1)
		shares->ns[__builtin_ctz(bits)] = 0;
	shares->states = tl_classed_take(passing->sums, time_ns, shares->ns);
	passing->asked_ns = time_ns;
	passing->has_pace = tl_classed_pace(passing->sums, &passing->pace);
	if (!passing->has_pace || !is_open(&passing->pace))
		return shares;
	open_ns = time_ns - (passing->pace.since_ns > from_ns ? passing->pace.since_ns : from_ns);
	shares->ns[LANE_STILL] = open_ns;
	shares->ns[LANE_UNENDED] -= open_ns;
	shares->states |= 1u << LANE_STILL;
	return shares;
}

static void add_shares(struct lane_shares *sum, const struct lane_shares *more)
{
	sum->states |= more->states;
	for (uint32_t bits = more->states; bits; bits &= bits - 1)
		sum->ns[__builtin_ctz(bits)] += more->ns[__builtin_ctz(bits)];
}

/* How many columns from 'first' on lie within what goes on there. */
static uint32_t columns_alike(const struct passing *passing, const uint64_t *starts, uint32_t first,
			      uint32_t width)
{
	uint64_t until_ns = passing->pace.until_ns;
	uint32_t low = first + 1, high = first + 2, step = 1;

	if (!passing->has_pace || starts[low] > until_ns)
		return 0;
	while (high <= width && starts[high] <= until_ns) { /* mostly they are few */
		low = high;
		high += step *= 2;
	}
	high = high <= width ? high - 1 : width;
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (starts[middle] <= until_ns)
			low = middle;
		else
			high = middle - 1;
	}
	return low - first;
}

/* Where each column begins, and the last one ends: lane_column_ns(), without its divisions. Owned by the caller. */
static uint64_t *column_starts(const struct lane_window *window)
{
	uint64_t *starts = xcalloc((size_t)window->width + 1, sizeof(*starts));
	uint64_t ns = window->end_ns - window->start_ns, at = window->start_ns;
	uint32_t width = window->width, rest = (uint32_t)(ns % width), left = 0;

	for (uint32_t i = 0; i <= width; i++) {
		starts[i] = at;
		at += ns / width;
		left += rest;
		at += left >= width;
		left -= left >= width ? width : 0;
	}
	return starts;
}

/* 'count' columns that are all in what goes on. */
static void give_alike(const struct lane_window *window, const struct tl_classed_pace *pace,
		       const uint64_t *starts, uint32_t first, uint32_t count)
{
	enum lane_state state = is_open(pace) ? LANE_STILL : (enum lane_state)pace->in_class;
	struct lane_shares one = { .states = 1u << state };

	one.ns[state] = starts[first + 1] - starts[first];
	if (!one.ns[state]) /* shorter than a ns, and in this state all the same */
		one.ns[state] = 1;
	window->each(window->context, first, count, &one);
}

void lane_of_thread(const struct timeline *timeline, uint32_t slot,
		    const struct lane_window *window, struct lane_shares *out_sum)
{
	struct passing passing = { .sums = tl_classed_new(timeline, slot, &states_of) };
	AUTO_FREE uint64_t *starts = column_starts(window);
	const struct lane_shares *shares;
	uint32_t count;

	*out_sum = (struct lane_shares){ 0 };
	(void)pass(&passing, window->start_ns);
	for (uint32_t at = 0; at < window->width; at += count) {
		struct tl_classed_pace pace = passing.pace;

		count = columns_alike(&passing, starts, at, window->width);
		shares = pass(&passing, starts[at + (count ? count : 1)]);
		add_shares(out_sum, shares);
		if (count) {
			give_alike(window, &pace, starts, at, count);
			continue;
		}
		count = 1;
		window->each(window->context, at, count, shares);
	}
	tl_classed_free(passing.sums);
}

void lane_sum_of_thread(const struct timeline *timeline, uint32_t slot, uint64_t start_ns,
			uint64_t end_ns, struct lane_shares *out_sum)
{
	struct passing passing = { .sums = tl_classed_new(timeline, slot, &states_of) };

	(void)pass(&passing, start_ns);
	*out_sum = *pass(&passing, end_ns);
	tl_classed_free(passing.sums);
}

/* ---------------------------------------------------------------------- CPUs */

/* Columns while spans are added to them, one after the other. */
struct filling {
	const struct lane_window *window;
	struct lane_shares now, sum;
	uint32_t at; /* the column that is being filled */
};

static void filling_give(struct filling *filling, uint32_t count)
{
	filling->window->each(filling->window->context, filling->at, count, &filling->now);
	filling->now = (struct lane_shares){ 0 };
	filling->at += count;
}

/* [start, end) goes on where the one before ended. */
static void filling_add(struct filling *filling, enum lane_state state, uint64_t start_ns,
			uint64_t end_ns)
{
	const struct lane_window *window = filling->window;

	filling->sum.ns[state] += end_ns - start_ns;
	filling->sum.states |= 1u << state;
	while (filling->at < window->width) {
		uint64_t column_ns = lane_column_ns(window, filling->at + 1);
		uint32_t count = 1;

		filling->now.states |= 1u << state;
		if (column_ns > end_ns) {
			filling->now.ns[state] += end_ns - start_ns;
			return;
		}
		filling->now.ns[state] += column_ns - start_ns;
		if (lane_column_ns(window, filling->at) == column_ns) /* shorter than a ns */
			filling->now.ns[state] = 1;
		while (lane_column_ns(window, filling->at) == start_ns &&
		       filling->at + count < window->width &&
		       lane_column_ns(window, filling->at + count + 1) <= end_ns)
			count++;
		start_ns = lane_column_ns(window, filling->at + count);
		filling_give(filling, count);
	}
}

static enum lane_state state_of_runner(const struct timeline *timeline, uint32_t slot,
				       int32_t target_tgid)
{
	const struct tl_thread *thread;

	if (slot >= timeline->thread_count)
		return LANE_UNCERTAIN;
	thread = timeline->threads[slot];
	if (thread->tid == 0)
		return LANE_FREE;
	if (thread->kernel)
		return LANE_SYSTEM;
	return target_tgid && thread_process(thread) == target_tgid ? LANE_TARGET : LANE_PROGRAM;
}

/* False: there are more than 'most' spans. */
static bool are_few(const struct timeline *timeline, const struct track *track,
		    const struct lane_window *window, uint32_t most)
{
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_begin(&iter, timeline, track, window->start_ns, window->end_ns);
	for (uint32_t i = 0; i <= most; i++) {
		if (!tl_iter_next(&iter, &in))
			return true;
	}
	return false;
}

/* The idle task of 'cpu', or SLOT_NONE. */
static uint32_t idle_slot(const struct timeline *timeline, uint32_t cpu)
{
	for (uint32_t i = 0; i < timeline->thread_count; i++) {
		if (thread_idle_cpu(timeline->threads[i]) == cpu)
			return i;
	}
	return SLOT_NONE;
}

/* What the idle task's states say of its CPU: where it was not there another thread ran, but for holes. */
struct seen_from_idle {
	const struct lane_window *window;
	struct tl_interval *unknown; /* owned; in order: nobody knows who had the CPU */
	size_t count, cap;
};

/* Behind a hole, too, until it is known again who has the CPU. */
static void add_unknown(struct seen_from_idle *seen, const struct timeline *timeline, uint32_t cpu,
			uint64_t since_ns, uint64_t until_ns)
{
	struct tl_interval in = { 0 };
	struct tl_iter iter;

	tl_iter_begin(&iter, timeline, timeline->cpus[cpu], until_ns, timeline->end_ns);
	if (tl_iter_next(&iter, &in) && in.word == SLOT_NONE)
		until_ns = in.end_ns;
	if (seen->count && since_ns < seen->unknown[seen->count - 1].end_ns)
		since_ns = seen->unknown[seen->count - 1].end_ns;
	if (since_ns >= until_ns)
		return;
	seen->unknown = vec_room(seen->unknown, seen->count, &seen->cap, sizeof(*seen->unknown));
	seen->unknown[seen->count++] = (struct tl_interval){ since_ns, until_ns, SLOT_NONE };
}

/* The last hole of the CPU that is over by 'time_ns' comes first: what is behind it may last longer. */
static size_t first_gap(const struct timeline *timeline, uint32_t cpu, uint64_t time_ns)
{
	size_t at = SEARCH_BEHIND(timeline->gaps, timeline->gap_count, until_ns, time_ns);

	for (size_t before = at; before > 0; before--) {
		if (timeline->gaps[before - 1].cpu == cpu)
			return before - 1;
	}
	return at;
}

/* In the window; earlier ones are of no use. */
static void find_unknown(struct seen_from_idle *seen, const struct timeline *timeline, uint32_t cpu)
{
	add_unknown(seen, timeline, cpu, timeline->origin_ns, timeline->origin_ns);
	for (size_t i = first_gap(timeline, cpu, seen->window->start_ns); i < timeline->gap_count;
	     i++) {
		const struct tl_gap *gap = &timeline->gaps[i];

		if (gap->cpu != cpu)
			continue;
		if (gap->since_ns >= seen->window->end_ns)
			return;
		add_unknown(seen, timeline, cpu, gap->since_ns, gap->until_ns);
	}
}

static uint64_t unknown_ns(const struct seen_from_idle *seen, uint64_t start_ns, uint64_t end_ns)
{
	size_t at = SEARCH_BEHIND(seen->unknown, seen->count, end_ns, start_ns);
	uint64_t ns = 0;

	for (; at < seen->count && seen->unknown[at].start_ns < end_ns; at++) {
		const struct tl_interval *in = &seen->unknown[at];

		ns += (in->end_ns < end_ns ? in->end_ns : end_ns) -
		      (in->start_ns > start_ns ? in->start_ns : start_ns);
	}
	return ns;
}

static struct lane_shares as_cpu(const struct lane_shares *idle, uint64_t unknown)
{
	struct lane_shares cpu = { 0 };

	for (size_t i = 0; i < LANE_STATE_COUNT; i++) {
		enum lane_state state = i == LANE_OWN || i == LANE_KERNEL || i == LANE_IRQ
						? LANE_FREE
					: i == LANE_UNCERTAIN ? LANE_UNCERTAIN
							      : LANE_BUSY;

		cpu.ns[state] += idle->ns[i];
	}
	unknown = unknown < cpu.ns[LANE_BUSY] ? unknown : cpu.ns[LANE_BUSY];
	cpu.ns[LANE_BUSY] -= unknown;
	cpu.ns[LANE_UNCERTAIN] += unknown;
	cpu.states = 1u << LANE_FREE | 1u << LANE_BUSY | 1u << LANE_UNCERTAIN;
	return cpu;
}

static void give_as_cpu(void *context, uint32_t first, uint32_t count,
			const struct lane_shares *shares)
{
	const struct seen_from_idle *seen = context;
	const struct lane_window *window = seen->window;

	for (uint32_t i = first; i < first + count; i++) {
		const struct lane_shares cpu =
			as_cpu(shares, unknown_ns(seen, lane_column_ns(window, i),
						  lane_column_ns(window, i + 1)));

		window->each(window->context, i, 1, &cpu);
	}
}

static void from_idle(const struct timeline *timeline, uint32_t cpu, uint32_t slot,
		      const struct lane_window *window, struct lane_shares *out_sum)
{
	struct seen_from_idle seen = { .window = window };
	struct lane_window inner = *window;

	find_unknown(&seen, timeline, cpu);
	inner.each = give_as_cpu;
	inner.context = &seen;
	lane_of_thread(timeline, slot, &inner, out_sum);
	*out_sum = as_cpu(out_sum, unknown_ns(&seen, window->start_ns, window->end_ns));
	free(seen.unknown);
}

void lane_of_cpu(const struct timeline *timeline, uint32_t cpu, int32_t target_tgid, uint32_t most,
		 const struct lane_window *window, struct lane_shares *out_sum)
{
	const struct track *track = timeline->cpus[cpu];
	struct filling filling = { .window = window };
	uint32_t idle = idle_slot(timeline, cpu);
	struct tl_interval in;
	struct tl_iter iter;

	if (idle != SLOT_NONE && !are_few(timeline, track, window, most)) {
		from_idle(timeline, cpu, idle, window, out_sum);
		return;
	}
	tl_iter_begin(&iter, timeline, track, window->start_ns, window->end_ns);
	while (tl_iter_next(&iter, &in))
		filling_add(&filling, state_of_runner(timeline, in.word, target_tgid), in.start_ns,
			    in.end_ns);
	if (filling.at < window->width) /* a window of less than a ns for each column */
		filling_give(&filling, window->width - filling.at);
	*out_sum = filling.sum;
}
