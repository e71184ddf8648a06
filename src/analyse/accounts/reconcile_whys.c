/*
 * reconcile_whys.c - why the kernel's account and the events differ, and by how much at most.
 *
 * Each reason has a direction: time that the events are not certain about can only be missing on
 * their side, a wait that the kernel forgot only on its. A reason of the wrong direction is left
 * out when the row is settled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/delays_class.h"
#include "analyse/accounts/delays_trace.h"
#include "analyse/accounts/memory_spans.h"
#include "analyse/why/sleeper_moves.h"
#include "analyse/accounts/reconcile_int.h"
#include "base/mem.h"

#define LOOK_BACK_NS	    UINT64_C(30000000000)
#define FAULTS_OF_A_PROGRAM 50u	 /* fewer may be a child that only exits */
#define AGREE_SHARE	    100u /* 1 % */
#define AGREE_NS	    100000u
#define DELAYED_MAIN	    6u /* Linux 6.12: threads that sleep may stay on their queue a while */
#define DELAYED_SUB	    12u

static const struct why_row {
	const char *name;
	bool kernel_more; /* it makes the kernel's value the larger one */
	bool events_more; /* and this that of the events */
} why_rows[RECONCILE_WHYS] = {
	[RECONCILE_OFF] = { "off", false, false },
	[RECONCILE_OLDER] = { "older", false, false },
	[RECONCILE_NO_CLASS] = { "no_class", false, false },
	[RECONCILE_NO_START] = { "no_start", false, false },
	[RECONCILE_NO_END] = { "no_end", false, false },
	[RECONCILE_NO_THREAD] = { "no_thread", false, false },
	[RECONCILE_NO_EVENTS] = { "no_events", false, false },
	[RECONCILE_UNTOLD] = { "untold", false, false },
	[RECONCILE_LOST] = { "lost", true, false },
	[RECONCILE_OMITTED] = { "omitted_switches", true, false },
	[RECONCILE_BEGAN] = { "began", true, false },
	[RECONCILE_UNSURE] = { "unsure", true, false },
	[RECONCILE_ASKED] = { "asked", true, true },
	[RECONCILE_OPEN] = { "open", true, true },
	[RECONCILE_EDGES] = { "edges", true, true },
	[RECONCILE_IRQ_TIME] = { "irq_time", false, true },
	[RECONCILE_MARKED] = { "marked", true, true },
	[RECONCILE_DELAYED] = { "delayed_dequeue", true, true },
	[RECONCILE_IMPOSSIBLE] = { "impossible", false, false },
	[RECONCILE_ZONES] = { "zones", true, false },
	[RECONCILE_QUEUED] = { "queued", true, false },
	[RECONCILE_STOLEN] = { "stolen", true, true },
	[RECONCILE_IRQ_RUN] = { "irq_run", false, true },
	[RECONCILE_MOVED] = { "moved_asleep", true, false },
};

const char *reconcile_why_name(enum reconcile_why why)
{
	return why_rows[why].name;
}

static void add_why(struct reconcile_class *row, enum reconcile_why why, uint64_t at_most_ns)
{
	row->whys |= 1u << why;
	row->at_most_ns[why] += at_most_ns;
}

int64_t reconcile_difference(const struct reconcile_class *row)
{
	if (!row->kernel.known || !row->events.known)
		return 0;
	return (int64_t)(row->kernel.ns - row->events.ns);
}

static uint64_t size_of(int64_t difference)
{
	return difference < 0 ? (uint64_t)-difference : (uint64_t)difference;
}

bool reconcile_agrees(const struct reconcile_class *row)
{
	uint64_t larger = row->kernel.ns > row->events.ns ? row->kernel.ns : row->events.ns;
	uint64_t size = size_of(reconcile_difference(row));

	return row->kernel.known && row->events.known &&
	       (size <= AGREE_NS || size <= larger / AGREE_SHARE);
}

void reconcile_settle(struct reconcile_class *row)
{
	int64_t difference = reconcile_difference(row);
	uint64_t left = size_of(difference);

	if (!row->kernel.known || !row->events.known) {
		row->unexplained_ns = 0;
		return;
	}
	for (enum reconcile_why why = RECONCILE_LOST; why < RECONCILE_WHYS; why++) {
		bool fits = difference > 0 ? why_rows[why].kernel_more : why_rows[why].events_more;

		if (!(row->whys & 1u << why))
			continue;
		if (!fits || !row->at_most_ns[why]) {
			row->whys &= ~(1u << why);
			row->at_most_ns[why] = 0;
			continue;
		}
		left -= left < row->at_most_ns[why] ? left : row->at_most_ns[why];
	}
	row->unexplained_ns = reconcile_agrees(row) ? 0 : left;
}

/* ------------------------------------------------------------- the kernel's side */

static uint64_t birth_of(const struct recorded_task *task)
{
	uint64_t life_ns = task->stats.life_us * 1000;

	return task->time_ns > life_ns ? task->time_ns - life_ns : 0;
}

/*
 * A program that started copied pages of its parent at their first write: if none are on the account of
 * the main thread, they were not counted, and the accounting was off when it was born.
 */
static bool lacks_copies(const struct delays_stats *stats)
{
	return delays_has_class(stats, DELAYS_COW) && stats->tid == stats->tgid &&
	       stats->minor_faults >= FAULTS_OF_A_PROGRAM;
}

/* Why the kernel does not count anything but CPUs of this thread; RECONCILE_WHYS = it does. */
static enum reconcile_why why_uncounted(const struct reconcile_ground *ground,
					const struct recorded_task *end)
{
	if (delays_stats_counted(&end->stats) || ground->recorded->since_boot)
		return RECONCILE_WHYS;
	if (ground->recorded->state != DELAYS_ACCOUNT_ON)
		return RECONCILE_OFF;
	return birth_of(end) < ground->since_ns || lacks_copies(&end->stats) ? RECONCILE_OLDER
									     : RECONCILE_WHYS;
}

static struct reconcile_value change(const struct delays_delay *start,
				     const struct delays_delay *end)
{
	struct reconcile_value value = { .known = true };

	value.ns = end->total_ns > start->total_ns ? end->total_ns - start->total_ns : 0;
	value.count = end->count > start->count ? end->count - start->count : 0;
	return value;
}

static void kernel_class(const struct reconcile_ground *ground, const struct reconcile_life *life,
			 enum delays_class class, struct reconcile_class *row)
{
	static const struct delays_stats nothing;
	struct delays_stats checked = life->end->stats;
	const struct delays_stats *start = life->start ? &life->start->stats : &nothing;
	enum reconcile_why uncounted = why_uncounted(ground, life->end);

	delays_stats_check(&checked, checked.life_us * 1000, false);
	if (checked.impossible & 1u << class)
		add_why(row, RECONCILE_IMPOSSIBLE, 0);
	else if (!delays_has_class(&checked, class))
		add_why(row, RECONCILE_NO_CLASS, 0);
	else if (class != DELAYS_CPU && uncounted != RECONCILE_WHYS)
		add_why(row, uncounted, 0);
	else
		row->kernel = change(&start->delay[class], &checked.delay[class]);
}

static void kernel_side(const struct reconcile_ground *ground, const struct reconcile_life *life,
			struct reconcile_class *rows)
{
	enum reconcile_why missing = life->end ? RECONCILE_NO_START : RECONCILE_NO_END;
	uint64_t before_ns = life->start ? life->start->stats.run_ns : 0;

	if (!life->has_span) {
		for (size_t i = 0; i < RECONCILE_ROWS; i++)
			add_why(&rows[i], missing, 0);
		return;
	}
	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++)
		kernel_class(ground, life, class, &rows[class]);
	rows[RECONCILE_RUN].kernel = (struct reconcile_value){
		.known = true,
		.ns = life->end->stats.run_ns > before_ns ? life->end->stats.run_ns - before_ns : 0,
	};
}

/* ------------------------------------------------------------ the events' side */

static void events_side(const struct reconcile_life *life,
			const struct delays_trace_account *account, struct reconcile_class *rows)
{
	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++) {
		const struct delays_delay *delay = &account->stats.delay[class];

		if (life->slot == SLOT_NONE)
			add_why(&rows[class], RECONCILE_NO_THREAD, 0);
		else if (delays_has_class(&account->stats, class))
			rows[class].events =
				(struct reconcile_value){ true, delay->total_ns, delay->count };
		else
			add_why(&rows[class],
				memory_class_events(class) ? RECONCILE_NO_EVENTS : RECONCILE_UNTOLD,
				0);
	}
	if (life->slot == SLOT_NONE)
		add_why(&rows[RECONCILE_RUN], RECONCILE_NO_THREAD, 0);
	else
		rows[RECONCILE_RUN].events =
			(struct reconcile_value){ true, account->stats.run_ns, 0 };
}

/* ------------------------------------------------------------------ the reasons */

/* Where the events are not certain, whatever the thread did then is in no class. */
static void add_uncertain(const struct reconcile_ground *ground, struct reconcile_class *row,
			  const struct delays_trace_account *account)
{
	static const enum reconcile_why whys[DELAYS_TRACE_UNSURE] = {
		[UNSURE_LOST] = RECONCILE_LOST,	     [UNSURE_START] = RECONCILE_BEGAN,
		[UNSURE_SWITCH] = RECONCILE_OMITTED, [UNSURE_ORDER] = RECONCILE_UNSURE,
		[UNSURE_DAMAGED] = RECONCILE_UNSURE, [UNSURE_WAKING] = RECONCILE_UNSURE,
	};

	for (size_t i = 0; i < DELAYS_TRACE_UNSURE; i++) {
		enum reconcile_why why = whys[i];

		if (why == RECONCILE_LOST && !ground->timeline->lost_events)
			why = RECONCILE_UNSURE;
		if (account->unsure_ns[i])
			add_why(row, why, account->unsure_ns[i]);
	}
}

static bool may_delay_dequeue(const char *kernel)
{
	unsigned int main = 0, sub = 0;

	if (!kernel || sscanf(kernel, "%u.%u", &main, &sub) != 2)
		return false;
	return main > DELAYED_MAIN || (main == DELAYED_MAIN && sub >= DELAYED_SUB);
}

/*
 * Running, waiting for a CPU and waiting for disk never are at the same time: what the kernel counts of
 * them beyond the span cannot have been.
 */
static uint64_t excess(const struct reconcile_life *life)
{
	const struct delays_stats *end = &life->end->stats;
	uint64_t span_ns = life->span.end_ns - life->span.start_ns + life->slack_ns;
	uint64_t counted_ns =
		end->run_ns + end->delay[DELAYS_CPU].total_ns + end->delay[DELAYS_DISK].total_ns;

	if (life->start) {
		const struct delays_stats *start = &life->start->stats;

		counted_ns -= start->run_ns + start->delay[DELAYS_CPU].total_ns +
			      start->delay[DELAYS_DISK].total_ns;
	}
	return counted_ns > span_ns && counted_ns < UINT64_MAX / 2 ? counted_ns - span_ns : 0;
}

/*
 * __block_task() begins a wait for disk of "current". When a thread that sleeps was left on its
 * queue and is taken off later, current is another: its own wait then is not counted, or from the
 * begin of an earlier one on.
 */
static void add_delayed(const struct reconcile_ground *ground, const struct reconcile_life *life,
			const struct delays_trace_account *account, struct reconcile_class *row)
{
	const struct delays_delay *events = &account->stats.delay[DELAYS_DISK];

	if (!may_delay_dequeue(ground->kernel) || !row->kernel.known)
		return;
	if (row->kernel.ns < row->events.ns && row->kernel.count < row->events.count) {
		uint64_t missed = row->events.count - row->kernel.count;
		uint64_t all = events->max_ns > UINT64_MAX / missed ? UINT64_MAX / 2
								    : events->max_ns * missed;

		add_why(row, RECONCILE_DELAYED, all < events->total_ns ? all : events->total_ns);
	}
	if (row->kernel.ns > row->events.ns)
		add_why(row, RECONCILE_DELAYED, excess(life));
}

/*
 * Between its waking and its queue a thread may wait for an interrupt of another CPU. The kernel counts that as
 * disk, the events as waiting for a CPU: so much more the one has, so much less the other.
 */
static uint64_t queued(const struct reconcile_class *cpu,
		       const struct delays_trace_account *account)
{
	uint64_t less_ns = cpu->events.ns > cpu->kernel.ns ? cpu->events.ns - cpu->kernel.ns : 0;

	if (!cpu->kernel.known || !cpu->events.known)
		return account->after_disk_ns;
	return less_ns < account->after_disk_ns ? less_ns : account->after_disk_ns;
}

static void add_disk(const struct reconcile_ground *ground, const struct reconcile_life *life,
		     const struct delays_trace_account *account, struct reconcile_class *rows)
{
	struct reconcile_class *row = &rows[DELAYS_DISK];

	if (!row->kernel.known)
		return;
	add_delayed(ground, life, account, row);
	add_why(row, RECONCILE_QUEUED, queued(&rows[DELAYS_CPU], account));
	add_why(row, RECONCILE_STOLEN, ground->recorded->stolen_ns);
	add_why(row, RECONCILE_MARKED,
		row->kernel.ns > row->events.ns ? account->other_sleep_ns : account->soft_disk_ns);
}

/* Interrupts: where the kernel does not count them, they are in the run time of whoever ran. */
static void add_irq(const struct reconcile_ground *ground, const struct reconcile_life *life,
		    const struct delays_trace_account *account, struct reconcile_class *rows)
{
	struct reconcile_class *irq = &rows[DELAYS_IRQ];

	if (!irq->kernel.known || !irq->events.known)
		return;
	if (irq->kernel.ns == 0) {
		add_why(irq, RECONCILE_IRQ_TIME, irq->events.ns);
	} else {
		add_uncertain(ground, irq, account);
		add_why(irq, RECONCILE_ASKED, life->slack_ns);
		add_why(irq, RECONCILE_EDGES, irq->events.count * ground->scale.edge_ns);
		add_why(&rows[RECONCILE_RUN], RECONCILE_IRQ_RUN, irq->events.ns);
	}
	if (rows[RECONCILE_RUN].kernel.ns < rows[RECONCILE_RUN].events.ns)
		add_why(&rows[RECONCILE_RUN], RECONCILE_STOLEN, ground->recorded->stolen_ns);
}

/* How long 'class' had been under way at 'at_ns'. A thread that is on a CPU: up to a tick. */
static void find_open(const struct reconcile_ground *ground, uint32_t slot, uint64_t at_ns,
		      uint64_t out_ns[RECONCILE_ROWS])
{
	const struct timeline *timeline = ground->timeline;
	const struct tl_thread *thread = timeline->threads[slot];
	uint64_t from_ns = at_ns > LOOK_BACK_NS ? at_ns - LOOK_BACK_NS : 0;
	enum delays_class class, open = DELAYS_CLASSES;
	uint64_t since_ns = at_ns;
	struct tl_interval in = { 0 };
	struct tl_iter iter;

	memset(out_ns, 0, RECONCILE_ROWS * sizeof(*out_ns));
	tl_iter_begin(&iter, timeline, &thread->track,
		      from_ns > thread->birth_ns ? from_ns : thread->birth_ns, at_ns);
	while (tl_iter_next(&iter, &in)) {
		if (!delays_trace_class(timeline, slot, &in, &class) || class == DELAYS_IRQ) {
			open = DELAYS_CLASSES;
			continue;
		}
		since_ns = class == open ? since_ns : in.start_ns;
		open = class;
	}
	if (open != DELAYS_CLASSES)
		out_ns[open] = at_ns - since_ns;
	else if (word_kind(in.word) >= WORD_RUN && word_kind(in.word) <= WORD_SOFTIRQ)
		out_ns[RECONCILE_RUN] = ground->scale.tick_ns;
}

/* A wait that was under way at the start is all counted later, one at the end not yet. */
static void add_open(const struct reconcile_ground *ground, const struct reconcile_life *life,
		     struct reconcile_class *rows)
{
	uint64_t start[RECONCILE_ROWS] = { 0 }, end[RECONCILE_ROWS] = { 0 };

	if (life->start)
		find_open(ground, life->slot, life->span.start_ns, start);
	if (life->end->when == RECORDED_END)
		find_open(ground, life->slot, life->span.end_ns, end);
	for (size_t i = 0; i < RECONCILE_ROWS; i++) {
		struct reconcile_class *row = &rows[i];

		if (row->kernel.known && row->events.known)
			add_why(row, RECONCILE_OPEN,
				row->kernel.ns > row->events.ns ? start[i] : end[i]);
	}
	if (rows[RECONCILE_RUN].whys & 1u << RECONCILE_OPEN)
		rows[RECONCILE_RUN].at_most_ns[RECONCILE_OPEN] =
			start[RECONCILE_RUN] + end[RECONCILE_RUN];
}

/*
 * A thread that sleeps and is still in a queue may be moved with it. enqueue_task() then notes that it waits
 * for a CPU, and nothing takes that back when it leaves the queue: all of the sleep from there on is counted.
 */
static void add_moved(const struct reconcile_ground *ground, const struct reconcile_life *life,
		      struct reconcile_class *cpu)
{
	const struct tl_thread *thread = ground->timeline->threads[life->slot];
	const struct move *moves;
	size_t count;

	if (!may_delay_dequeue(ground->kernel) || !cpu->kernel.known)
		return;
	moves = moved_find(ground->moved, thread->tid, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t at_ns = moves[i].time_ns;
		struct tl_interval in;
		struct tl_iter iter;

		if (at_ns < life->span.start_ns || at_ns >= life->span.end_ns)
			continue;
		tl_iter_begin(&iter, ground->timeline, &thread->track, at_ns, life->span.end_ns);
		if (tl_iter_next(&iter, &in) && word_kind(in.word) == WORD_BLOCKED &&
		    in.end_ns > at_ns)
			add_why(cpu, RECONCILE_MOVED, in.end_ns - at_ns);
	}
}

static void add_reasons(const struct reconcile_ground *ground, const struct reconcile_life *life,
			const struct delays_trace_account *account, struct reconcile_class *rows)
{
	for (size_t i = 0; i < RECONCILE_ROWS; i++) {
		uint64_t waits = rows[i].events.count > rows[i].kernel.count ? rows[i].events.count
									     : rows[i].kernel.count;

		if (!rows[i].kernel.known || !rows[i].events.known || i == DELAYS_IRQ)
			continue;
		if (i == RECONCILE_RUN)
			waits = life->end->stats.delay[DELAYS_CPU].count;
		add_uncertain(ground, &rows[i], account);
		add_why(&rows[i], RECONCILE_ASKED, life->slack_ns);
		add_why(&rows[i], RECONCILE_EDGES, waits * ground->scale.edge_ns);
	}
	add_disk(ground, life, account, rows);
	if (life->slot != SLOT_NONE) {
		add_open(ground, life, rows);
		add_moved(ground, life, &rows[DELAYS_CPU]);
	}
	add_irq(ground, life, account, rows);
	if (rows[DELAYS_COMPACTION].kernel.known && rows[DELAYS_COMPACTION].events.known)
		add_why(&rows[DELAYS_COMPACTION], RECONCILE_ZONES,
			rows[DELAYS_COMPACTION].kernel.ns);
}

void reconcile_compare(const struct reconcile_ground *ground, const struct reconcile_life *life,
		       struct reconcile_class out_rows[RECONCILE_ROWS])
{
	struct delays_trace_account account = { 0 };

	kernel_side(ground, life, out_rows);
	if (!life->has_span)
		return;
	if (life->slot != SLOT_NONE)
		delays_trace_account(ground->timeline, ground->memory, life->slot, &life->span,
				     &account);
	events_side(life, &account, out_rows);
	add_reasons(ground, life, &account, out_rows);
}
