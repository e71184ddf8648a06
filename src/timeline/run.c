/*
 * run.c - what one entry after the other adds up to.
 *
 * A call begins where its word follows the base of the control-flow stack: an
 * interrupt or a wait in between shows the same call again. It ends where the base
 * shows again, where another call begins (the end of the first was not recorded), or where
 * nothing is known any more.
 */
#include "timeline/run.h"

#include <string.h>

#include "timeline/timeline.h"

enum {
	OFF_CPU = MODE_COUNT, /* no mode: it runs nowhere, or that is not known */
	WORD_KINDS = 1 << (32 - WORD_ARG_BITS),
};

static const uint8_t mode_of[WORD_KINDS] = {
	[WORD_KIND_COUNT... WORD_KINDS - 1] = OFF_CPU, /* no such word */
	[WORD_NONE] = OFF_CPU,
	[WORD_UNCERTAIN] = OFF_CPU,
	[WORD_RUN] = MODE_RUN,
	[WORD_USER] = MODE_USER,
	[WORD_SYSCALL] = MODE_KERNEL,
	[WORD_TRAP] = MODE_KERNEL,
	[WORD_KERNEL] = MODE_KERNEL,
	[WORD_WORK] = MODE_KERNEL,
	[WORD_IDLE] = MODE_IDLE,
	[WORD_IRQ] = MODE_IRQ,
	[WORD_VECTOR] = MODE_IRQ,
	[WORD_SOFTIRQ] = MODE_SOFTIRQ,
	[WORD_PREEMPTED] = OFF_CPU,
	[WORD_WAIT_CPU] = OFF_CPU,
	[WORD_BLOCKED] = OFF_CPU,
	[WORD_CPU] = OFF_CPU,
};

uint32_t run_state_of(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	if (kind == WORD_BLOCKED || kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU)
		return word_make(kind, 0);
	return word_plain(word);
}

void run_restart(struct run *run)
{
	memset(run->cached_key, 0xff, sizeof(run->cached_key));
	memset(run->mode_ns, 0, sizeof(run->mode_ns));
	memset(run->counts, 0, sizeof(run->counts));
	run->call_since = run->now;
}

void run_init(struct run *run, uint32_t cpu)
{
	memset(run, 0, sizeof(*run));
	run->word = word_make(WORD_NONE, 0);
	run->call = RUN_NO_CALL;
	run->cpu = cpu;
	run->ran_on = SLOT_NONE;
	run->vague = true;
	run_restart(run);
}

void run_fini(struct run *run)
{
	totals_fini(&run->totals);
}

static inline struct total *row(struct run *run, uint64_t key)
{
	uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 59); /* RUN_CACHE of them */

	if (run->cached_key[at] != key) {
		struct total *found = totals_row(&run->totals, key);

		run->cached_key[at] = key;
		run->cached_row[at] = (uint32_t)(found - run->totals.rows);
	}
	return &run->totals.rows[run->cached_row[at]];
}

static void settle_cpu(struct run *run)
{
	for (uint32_t mode = 0; mode < MODE_COUNT; mode++) {
		if (run->mode_ns[mode] && run->cpu != SLOT_NONE)
			row(run, total_key(TOTAL_CPU, run->cpu, mode))->ns += run->mode_ns[mode];
		run->mode_ns[mode] = 0;
	}
}

static void settle_call(struct run *run)
{
	if (run->call != RUN_NO_CALL)
		row(run, total_key(TOTAL_CALL, run->call, 0))->ns += run->now - run->call_since;
	run->call_since = run->now;
}

void run_settle(struct run *run)
{
	settle_cpu(run);
	settle_call(run);
	for (uint32_t i = 0; i < COUNT_COUNTERS; i++) {
		if (run->counts[i])
			row(run, total_key(TOTAL_COUNTER, i, 0))->count += run->counts[i];
		run->counts[i] = 0;
	}
}

static void keep_max(struct total *total, uint64_t ns)
{
	if (ns > total->max_ns)
		total->max_ns = ns;
}

static void begin_call(struct run *run, uint32_t call, bool known)
{
	run->call = call;
	run->call_begin = run->call_since = run->now;
	run->call_known = known;
	if (run->goes_on) {
		known = false;
		run->call_known = run->before[BEFORE_CALL] > 0;
		run->call_begin -= run->before[BEFORE_CALL];
	}
	row(run, total_key(TOTAL_CALL, call, 0))->count += known;
}

/* 'ended': at this instant, which the word in force says. */
static void end_call(struct run *run, uint32_t word, bool ended)
{
	settle_call(run);
	if (ended && run->call_known)
		keep_max(row(run, total_key(TOTAL_CALL, run->call, 0)), run->now - run->call_begin);
	if (ended && word_error(word))
		row(run, total_key(TOTAL_ERROR, run->call, word_error(word)))->count++;
	run->call = RUN_NO_CALL;
}

/*
 * Nothing is known there, but for a switch that must have been somewhere in it. One of no length
 * says only how its neighbours were found out: a call goes on over it.
 */
static inline bool is_hole(uint32_t word)
{
	return word_kind(word) == WORD_UNCERTAIN && word_arg(word) != UNSURE_SWITCH;
}

void run_to(struct run *run, uint64_t time)
{
	uint64_t ns = time - run->now;
	struct total *state;
	uint32_t mode;

	if (time <= run->now)
		return;
	if (is_hole(run->word)) {
		run->on_cpu = false;
		run->vague = true;
		if (run->call != RUN_NO_CALL)
			end_call(run, run->word, false);
	}
	run->now = time;
	run->goes_on = 0;
	if (run->only_places)
		return;
	run->vague_ns += run->vague ? ns : 0;
	mode = mode_of[word_kind(run->word)];
	state = row(run, total_key(TOTAL_STATE, run_state_of(run->word), 0));
	state->ns += ns;
	state->count += !run->counted;
	if (mode != OFF_CPU) {
		run->mode_ns[mode] += ns;
	} else if (word_kind(run->word) == WORD_BLOCKED) {
		struct total *wait = row(run, total_key(TOTAL_WAIT, run->wait_in, run->wait_kind));

		wait->ns += ns;
		wait->count += !run->counted;
	}
	run->counted = true;
}

static void follow_call(struct run *run, uint32_t word)
{
	enum word_kind kind = word_kind(word), before = word_kind(run->word);

	switch (kind) {
	case WORD_SYSCALL:
		if (run->call != RUN_NO_CALL && run->call != word_call(word)) {
			end_call(run, word, true);
			begin_call(run, word_call(word), true);
			break;
		}
		if (before == WORD_USER || before == WORD_RUN || before == WORD_TRAP)
			begin_call(run, word_call(word), true);
		else if (run->call == RUN_NO_CALL)
			begin_call(run, word_call(word), false);
		break;
	case WORD_USER:
	case WORD_RUN:
	case WORD_NONE:
	case WORD_KERNEL:
		if (run->call != RUN_NO_CALL)
			end_call(run, word, true);
		break;
	default:
		break;
	}
}

/* What a word tells of where the thread is below its interrupts and waits. */
static void follow_mode(struct run *run, enum word_kind kind)
{
	switch (kind) {
	case WORD_RUN:
		run->vague = true;
		break;
	case WORD_NONE:
	case WORD_USER:
	case WORD_SYSCALL:
	case WORD_TRAP:
	case WORD_KERNEL:
	case WORD_WORK:
	case WORD_IDLE:
		run->vague = false;
		break;
	default:
		break;
	}
}

static inline void run_count(struct run *run, enum total_counter counter)
{
	run->counts[counter] += !run->goes_on;
}

static void come_onto_cpu(struct run *run)
{
	run->on_cpu = true;
	if (run->goes_on)
		return;
	run_count(run, COUNT_SWITCH_IN);
	if (run->ran_on != SLOT_NONE && run->cpu != run->ran_on)
		run_count(run, COUNT_MIGRATIONS);
	run->ran_on = run->cpu;
}

/*
 * A sleep that its waking forestalled is an uncertain span of no length and a queue: it left its
 * CPU to sleep all the same. A longer one ends the stay on the CPU: see run_to().
 */
static void leave_cpu(struct run *run, uint32_t word)
{
	enum word_kind kind = word_kind(word);

	if (is_hole(word))
		return;
	run->on_cpu = false;
	if (kind == WORD_PREEMPTED)
		run_count(run, COUNT_PREEMPTED);
	if (kind == WORD_BLOCKED || (kind == WORD_WAIT_CPU && is_hole(run->word)))
		run_count(run, COUNT_WAITS);
}

/* The mark of what goes on since before the origin. */
static void go_on(struct run *run, uint32_t word)
{
	uint32_t arg = word_arg(word), cpu = arg & WORD_CPU_NONE;

	run->word = word;
	if (arg & WORD_BEGAN) {
		uint32_t half = arg >> WORD_BEGAN_SHIFT & 1;

		run->before[arg >> (WORD_BEGAN_SHIFT + 1) & 1] |=
			(uint64_t)(arg & ((1u << WORD_BEGAN_BITS) - 1)) << half * WORD_BEGAN_BITS;
		return;
	}
	run->goes_on = (uint8_t)(arg >> WORD_GOES_ON_SHIFT & 31);
	run->cpu = cpu == WORD_CPU_NONE ? SLOT_NONE : cpu;
	if (!run->goes_on)
		run->ran_on = run->cpu;
}

/* One of the entries that began before was fed; what is uncertain becomes known by the next one. */
static void gone_on(struct run *run, enum word_kind kind)
{
	run->counted = true;
	run->goes_on -= kind != WORD_UNCERTAIN && kind != WORD_CPU;
}

void run_feed(struct run *run, uint64_t time, uint32_t word, const struct wait *wait)
{
	enum word_kind kind = word_kind(word);
	bool on_cpu = mode_of[kind] != OFF_CPU;

	run_to(run, time);
	if (kind == WORD_CPU && (word & WORD_GOES_ON)) {
		go_on(run, word);
		return;
	}
	if (word_kind(run->word) == WORD_BLOCKED && (int64_t)(time - run->wait_begin) > 0 &&
	    !run->only_places)
		keep_max(row(run, total_key(TOTAL_WAIT, run->wait_in, run->wait_kind)),
			 time - run->wait_begin);
	if ((kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU || kind == WORD_CPU) &&
	    run->cpu != word_arg(word)) {
		settle_cpu(run);
		run->cpu = word_arg(word);
	}
	if ((kind == WORD_SYSCALL || run->call != RUN_NO_CALL) && !run->only_places)
		follow_call(run, word);
	follow_mode(run, kind);
	if (on_cpu && !run->on_cpu)
		come_onto_cpu(run);
	else if (!on_cpu && run->on_cpu)
		leave_cpu(run, word);
	if (word_faulted(word))
		run_count(run, COUNT_FAULTS);
	if (kind == WORD_BLOCKED && wait) {
		run->wait_begin = time - (run->goes_on ? run->before[BEFORE_WAIT] : 0);
		run->wait_in = word_plain(wait->in);
		run->wait_kind = wait_kind(wait);
	}
	/* The same state goes on: see tl_iter_next(). */
	if (word_plain(word) != word_plain(run->word))
		run->counted = false;
	run->word = word;
	if (run->goes_on)
		gone_on(run, kind);
}
