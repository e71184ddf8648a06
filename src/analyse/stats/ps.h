/*
 * ps.h - what accounting by clock ticks would have told of the same time.
 *
 * At each tick of the clock the kernel charged the whole tick to the thread that was
 * current on that CPU, as user or as system time by what it was in; `ps` and `top` were
 * built on that. A thread that runs between the ticks is then never seen: the Linux Trace
 * Toolkit compared such figures with exact ones.
 */
#ifndef ANALYSE_STATS_PS_H
#define ANALYSE_STATS_PS_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct facts;
struct source;
struct timeline;

/* Where the ticks are known from. */
enum ps_source {
	PS_TICKS,      /* the timer of the tick went off, as recorded */
	PS_INTERRUPTS, /* local timer interrupts that keep step */
	PS_ASSUMED,    /* nothing was recorded of them: 250 a second */
};

struct ps_tick {
	uint64_t time_ns; /* when the CPU was interrupted for it */
	uint32_t cpu;
};

struct ps_ticks {
	struct ps_tick *ticks; /* owned; in order of time; none are kept of those assumed */
	size_t count;
	size_t cap;
	uint64_t period_ns;
	enum ps_source source;
	uint32_t
		cpu_count; /* PS_ASSUMED: each of so many CPUs has one at each multiple of the period */
};

/* Ticks charged to a thread. */
struct ps_charge {
	uint64_t user;
	uint64_t system; /* also in interrupts on top of it */
	uint64_t either; /* user or system: the trace does not tell */
};

/* Ticks of a CPU. What the kernel left out while the CPU was idle is idle. */
struct ps_cpu {
	uint64_t user;
	uint64_t system;
	uint64_t either;
	uint64_t idle;
	uint64_t unknown; /* who ran is not known */
};

/*
 * Find the ticks of [start, end) in the events: one pass. Where nothing is recorded of
 * them they are assumed. Memory is bounded: of more than PS_MAX_TICKS it says so (-E2BIG). Returns 0
 * and fills *out_ticks (free with ps_ticks_fini()), or
 * what source_next() failed with.
 */
#define PS_MAX_TICKS (8u << 20)
int ps_find_ticks(struct source *source, const struct facts *facts, uint64_t start_ns,
		  uint64_t end_ns, struct ps_ticks *out_ticks, struct err *err);

void ps_ticks_fini(struct ps_ticks *ticks);

/*
 * Charge each tick of [start, end). 'charges' has an element for each thread of the
 * timeline, 'cpus' one for each CPU; both are added to.
 */
void ps_charge(const struct timeline *timeline, const struct ps_ticks *ticks, uint64_t start_ns,
	       uint64_t end_ns, struct ps_charge *charges, struct ps_cpu *cpus);

#endif
