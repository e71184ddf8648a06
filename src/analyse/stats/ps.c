/*
 * ps.c - find the ticks of the clock in a trace, and charge them.
 *
 * The tick is a timer of each CPU; its callback is known by name. Where that is not
 * recorded, the local timer interrupts are looked at: those of the tick keep step, so
 * they have one phase. A CPU without work leaves its ticks out.
 */
#include "analyse/stats/ps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "timeline/timeline.h"

#define NS_PER_S 1000000000u
#define MAX_CPUS 8192 /* as the engine has it */

/* CONFIG_HZ, the usual choices. */
static const uint32_t rates[] = { 100, 250, 300, 1000 };

static uint64_t period_of(uint32_t rate)
{
	return (NS_PER_S + rate / 2) / rate;
}

/* What one CPU is in while the events pass. */
struct tick_cpu {
	uint64_t entry_ns; /* a local timer interrupt that goes on began; 0 = none */
	uint64_t last_ns;  /* the last tick, for the distance to the next */
};

struct tick_finder {
	const struct facts *facts;
	struct map is_tick;    /* address of a callback -> whether it is the tick's */
	struct tick_cpu *cpus; /* owned */
	size_t cpu_count;
	struct ps_ticks ticks;	 /* by the tick's own callback */
	struct ps_ticks entries; /* all local timer interrupts */
};

static bool is_tick_function(struct tick_finder *finder, uint64_t function)
{
	/* Before 6.7, 6.7 and 6.8, since 6.9. */
	static const char *const names[] = { "tick_sched_timer", "tick_nohz_highres_handler",
					     "tick_nohz_handler" };
	uint64_t *known = map_find(&finder->is_tick, function);
	const char *name;
	bool is = false;

	if (known)
		return *known;
	name = facts_symbol(finder->facts, function);
	for (size_t i = 0; i < ARRAY_LEN(names) && name; i++)
		is |= strcmp(name, names[i]) == 0;
	map_put(&finder->is_tick, function, is);
	return is;
}

static void add_tick(struct ps_ticks *ticks, uint64_t time_ns, uint32_t cpu)
{
	ticks->ticks = vec_room(ticks->ticks, ticks->count, &ticks->cap, sizeof(*ticks->ticks));
	ticks->ticks[ticks->count++] = (struct ps_tick){ time_ns, cpu };
}

static struct tick_cpu *cpu_at(struct tick_finder *finder, uint32_t cpu)
{
	if (cpu >= finder->cpu_count) {
		finder->cpus =
			vec_grow(finder->cpus, finder->cpu_count, cpu + 1u, sizeof(*finder->cpus));
		finder->cpu_count = cpu + 1u;
	}
	return &finder->cpus[cpu];
}

static void tick_look_at(struct tick_finder *finder, const struct event *ev)
{
	struct tick_cpu *cpu;

	if (ev->cpu >= MAX_CPUS || ev->type == EV_FD_NAME)
		return;
	cpu = cpu_at(finder, ev->cpu);
	switch (ev->type) {
	case EV_VECTOR_ENTRY:
		if (ev->irq.nr != VECTOR_LOCAL_TIMER)
			break;
		cpu->entry_ns = ev->time_ns;
		add_tick(&finder->entries, ev->time_ns, ev->cpu);
		break;
	case EV_VECTOR_EXIT:
		if (ev->irq.nr == VECTOR_LOCAL_TIMER)
			cpu->entry_ns = 0;
		break;
	case EV_LOST:
		if (!(ev->context & EV_CTX_USER))
			cpu->entry_ns = 0;
		break;
	case EV_HRTIMER_EXPIRE:
		if (is_tick_function(finder, ev->timer.function))
			add_tick(&finder->ticks, cpu->entry_ns ? cpu->entry_ns : ev->time_ns,
				 ev->cpu);
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------------ the rate */

/* The rate whose period is the distance of most neighbours on a CPU; 0 = none is. */
static uint32_t find_rate(struct tick_finder *finder, const struct ps_ticks *ticks)
{
	uint64_t votes[ARRAY_LEN(rates)] = { 0 };
	size_t best = 0;

	for (size_t i = 0; i < finder->cpu_count; i++)
		finder->cpus[i].last_ns = 0;
	for (size_t i = 0; i < ticks->count; i++) {
		struct tick_cpu *cpu = cpu_at(finder, ticks->ticks[i].cpu);
		uint64_t apart = ticks->ticks[i].time_ns - cpu->last_ns;

		for (size_t k = 0; k < ARRAY_LEN(rates) && cpu->last_ns; k++) {
			uint64_t period = period_of(rates[k]);

			votes[k] += apart > period - period / 20 && apart < period + period / 20;
		}
		cpu->last_ns = ticks->ticks[i].time_ns;
	}
	for (size_t k = 1; k < ARRAY_LEN(rates); k++) {
		if (votes[k] > votes[best])
			best = k;
	}
	return votes[best] ? rates[best] : 0;
}

#define PHASES 40 /* parts of a period; the interrupts of the tick lie in one or two */

/* Keep those of the phase that most have. */
static void keep_in_step(struct ps_ticks *ticks, uint64_t period_ns)
{
	uint64_t counts[PHASES] = { 0 };
	uint32_t best = 0;
	size_t kept = 0;

	for (size_t i = 0; i < ticks->count; i++)
		counts[ticks->ticks[i].time_ns % period_ns * PHASES / period_ns]++;
	for (uint32_t k = 1; k < PHASES; k++) {
		if (counts[k] + counts[(k + 1) % PHASES] >
		    counts[best] + counts[(best + 1) % PHASES])
			best = k;
	}
	for (size_t i = 0; i < ticks->count; i++) {
		uint64_t phase = ticks->ticks[i].time_ns % period_ns * PHASES / period_ns;

		if (phase == best || phase == (best + 1) % PHASES)
			ticks->ticks[kept++] = ticks->ticks[i];
	}
	ticks->count = kept;
}

static struct ps_ticks ps_ticks_take(struct ps_ticks *from, enum ps_source source, uint32_t rate)
{
	struct ps_ticks ticks = *from;

	*from = (struct ps_ticks){ 0 };
	ticks.source = source;
	ticks.period_ns = period_of(rate);
	return ticks;
}

static struct ps_ticks choose(struct tick_finder *finder)
{
	uint32_t rate = find_rate(finder, &finder->ticks);

	/* One tick alone tells no rate, but it is one. */
	if (finder->ticks.count)
		return ps_ticks_take(&finder->ticks, PS_TICKS, rate ? rate : 250);
	rate = find_rate(finder, &finder->entries);
	if (!rate)
		return (struct ps_ticks){ .period_ns = period_of(250), .source = PS_ASSUMED };
	keep_in_step(&finder->entries, period_of(rate));
	return ps_ticks_take(&finder->entries, PS_INTERRUPTS, rate);
}

int ps_find_ticks(struct source *source, const struct facts *facts, uint64_t start_ns,
		  uint64_t end_ns, struct ps_ticks *out_ticks, struct err *err)
{
	struct tick_finder finder = { .facts = facts };
	const struct event *ev;
	int rc = source_seek(source, start_ns, err);

	while (rc >= 0 && (rc = source_next(source, &ev, err)) > 0 && ev->time_ns < end_ns) {
		tick_look_at(&finder, ev);
		if (finder.entries.count > PS_MAX_TICKS || finder.ticks.count > PS_MAX_TICKS)
			rc = err_set(err, -E2BIG,
				     "more than %u ticks; choose a window with --from and --to",
				     PS_MAX_TICKS);
	}
	if (rc >= 0) {
		*out_ticks = choose(&finder);
		out_ticks->cpu_count = (uint32_t)finder.cpu_count;
	}
	map_fini(&finder.is_tick);
	free(finder.cpus);
	ps_ticks_fini(&finder.ticks);
	ps_ticks_fini(&finder.entries);
	return rc < 0 ? err_wrap(err, "looking for the ticks of the clock") : 0;
}

void ps_ticks_fini(struct ps_ticks *ticks)
{
	free(ticks->ticks);
	*ticks = (struct ps_ticks){ 0 };
}

/* ------------------------------------------------------------------- charges */

/* 'count' ticks that found the CPU with the thread of 'slot', which was in 'word'. */
static void charge(const struct timeline *timeline, uint32_t slot, uint32_t word, uint64_t count,
		   struct ps_charge *charges, struct ps_cpu *cpu)
{
	if (slot >= timeline->thread_count) {
		cpu->unknown += count;
		return;
	}
	if (timeline->threads[slot]->tid == 0) {
		if (word_kind(word) == WORD_IDLE)
			cpu->idle += count;
		else
			cpu->system += count;
		return;
	}
	switch (word_kind(word)) {
	case WORD_USER:
		charges[slot].user += count;
		cpu->user += count;
		break;
	case WORD_RUN:
	case WORD_UNCERTAIN:
		charges[slot].either += count;
		cpu->either += count;
		break;
	default:
		charges[slot].system += count;
		cpu->system += count;
		break;
	}
}

static void charge_tick(const struct timeline *timeline, const struct ps_tick *tick,
			struct ps_charge *charges, struct ps_cpu *cpu)
{
	uint32_t slot = timeline_running_at(timeline, tick->cpu, tick->time_ns);

	/* What it was in just before the interrupt of the tick. */
	charge(timeline, slot, timeline_state_at(timeline, slot, tick->time_ns - 1), 1, charges,
	       cpu);
}

/* Multiples of the period in [start, end): years of them cost as little as one. */
static uint64_t multiples(uint64_t start_ns, uint64_t end_ns, uint64_t period_ns)
{
	return end_ns > start_ns ? (end_ns - 1) / period_ns - (start_ns - 1) / period_ns : 0;
}

/* The ticks that are assumed while 'run' lasts, in which a thread has the CPU. */
static void charge_run(const struct timeline *timeline, const struct tl_interval *run,
		       uint64_t period_ns, struct ps_charge *charges, struct ps_cpu *cpu)
{
	struct tl_interval in;
	struct tl_iter iter;

	if (run->word >= timeline->thread_count) {
		charge(timeline, run->word, 0, multiples(run->start_ns, run->end_ns, period_ns),
		       charges, cpu);
		return;
	}
	/* The state just before a tick: 1 ns earlier. */
	tl_iter_thread(&iter, timeline, run->word, run->start_ns - 1, run->end_ns - 1);
	while (tl_iter_next(&iter, &in))
		charge(timeline, run->word, in.word,
		       multiples(in.start_ns + 1, in.end_ns + 1, period_ns), charges, cpu);
}

static void charge_assumed(const struct timeline *timeline, const struct ps_ticks *ticks,
			   uint64_t start_ns, uint64_t end_ns, struct ps_charge *charges,
			   struct ps_cpu *cpus)
{
	struct tl_interval run;
	struct tl_iter iter;

	for (uint32_t i = 0; i < ticks->cpu_count && i < timeline->cpu_count; i++) {
		tl_iter_begin(&iter, timeline, timeline->cpus[i], start_ns + 1, end_ns);
		while (tl_iter_next(&iter, &run))
			charge_run(timeline, &run, ticks->period_ns, charges, &cpus[i]);
	}
}

/* A CPU has a tick in each period; those that did not come were left out while it idled. */
static void add_left_out(struct ps_cpu *cpu, uint64_t periods)
{
	uint64_t seen = cpu->user + cpu->system + cpu->either + cpu->idle + cpu->unknown;

	if (seen < periods)
		cpu->idle += periods - seen;
}

void ps_charge(const struct timeline *timeline, const struct ps_ticks *ticks, uint64_t start_ns,
	       uint64_t end_ns, struct ps_charge *charges, struct ps_cpu *cpus)
{
	for (size_t i = 0; i < ticks->count; i++) {
		const struct ps_tick *tick = &ticks->ticks[i];

		if (tick->cpu < timeline->cpu_count && tick->time_ns > start_ns &&
		    tick->time_ns < end_ns)
			charge_tick(timeline, tick, charges, &cpus[tick->cpu]);
	}
	if (ticks->source == PS_ASSUMED)
		charge_assumed(timeline, ticks, start_ns, end_ns, charges, cpus);
	for (uint32_t i = 0; i < timeline->cpu_count; i++)
		add_left_out(&cpus[i], (end_ns - start_ns) / ticks->period_ns);
}
