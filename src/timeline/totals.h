/*
 * totals.h - sums over the intervals of a track: what each state, system call, wait,
 * interrupt and CPU took, and how often.
 *
 * A run of totals is fed the intervals of one thread in order; the sums at two times,
 * subtracted, are the sums of the window between them ("incrementally maintained
 * state", as the LTTV Delay Analyzer and the State History Tree keep it). The timeline
 * stores them at the start of each chunk: see timeline_totals().
 *
 * One thread at a time. Nothing fails.
 */
#ifndef TIMELINE_TOTALS_H
#define TIMELINE_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wait;

/* What a row adds up. Its key is total_key(kind, a, b). */
enum total_kind {
	/*
	 * a = the state word of an interval (WORD_USER without its error, WORD_BLOCKED,
	 * WORD_PREEMPTED and WORD_WAIT_CPU without their argument). ns = its time, count =
	 * how often it began. These rows partition the life of a thread: their ns add up
	 * to the window.
	 */
	TOTAL_STATE,
	/*
	 * a = word of what it waited in (system call, trap ...), b = enum wait_kind.
	 * ns = blocked time, count = waits begun, max_ns = longest that ended.
	 * They partition TOTAL_STATE of WORD_BLOCKED.
	 */
	TOTAL_WAIT,
	/*
	 * a = argument of WORD_SYSCALL: number and WORD_COMPAT. ns = from enter to exit, all
	 * that happened in between included; count = calls begun; max_ns = longest that ended.
	 */
	TOTAL_CALL,
	/* a = argument of WORD_SYSCALL, b = errno. count = calls that ended so. */
	TOTAL_ERROR,
	/* a = CPU, b = enum total_mode. ns = time on that CPU in that mode. */
	TOTAL_CPU,
	/* a = enum total_counter. count. */
	TOTAL_COUNTER,
	TOTAL_KIND_COUNT
};

enum total_mode {
	MODE_USER,
	MODE_KERNEL, /* system calls, faults, kernel threads */
	MODE_RUN,    /* on the CPU, user or kernel is not known */
	MODE_IRQ,
	MODE_SOFTIRQ,
	MODE_IDLE,
	MODE_COUNT
};

enum total_counter {
	COUNT_SWITCH_IN,  /* came onto a CPU */
	COUNT_PREEMPTED,  /* lost its CPU while it could run on */
	COUNT_WAITS,	  /* went to sleep, if only to find that it was woken already */
	COUNT_MIGRATIONS, /* came onto another CPU than before */
	COUNT_FAULTS,	  /* page faults that took time of their own: see WORD_TRAP */
	COUNT_COUNTERS
};

/* What kind of thing a wait was for, by what is known of its end; the first that fits. */
enum wait_kind {
	WAIT_FOR_STOP,	  /* stopped by a signal or a tracer */
	WAIT_FOR_LOCK,	  /* futex, kernel lock, file lock */
	WAIT_FOR_DISK,	  /* a block device ended it */
	WAIT_FOR_IDLE,	  /* a server that waits for work */
	WAIT_FOR_TIME,	  /* its own timer ended it: it asked to sleep */
	WAIT_FOR_NETWORK, /* a packet */
	WAIT_FOR_THREAD,  /* another thread ended it */
	WAIT_FOR_IO,	  /* uninterruptible, ended by work or an interrupt: other I/O */
	WAIT_FOR_OTHER,	  /* another interrupt or softirq ended it */
	WAIT_FOR_UNKNOWN, /* it had not ended, or its end was not recorded */
	WAIT_KIND_COUNT
};

enum wait_kind wait_kind(const struct wait *wait);
const char *wait_kind_name(enum wait_kind kind); /* "lock", "disk", "time" ... */

/* 4 bits of kind, 32 of a, 28 of b. */
static inline uint64_t total_key(enum total_kind kind, uint32_t a, uint32_t b)
{
	return (uint64_t)kind << 60 | (uint64_t)a << 28 | (b & 0xfffffff);
}

static inline enum total_kind total_kind(uint64_t key)
{
	return (enum total_kind)(key >> 60);
}

static inline uint32_t total_a(uint64_t key)
{
	return (uint32_t)(key >> 28);
}

static inline uint32_t total_b(uint64_t key)
{
	return (uint32_t)key & 0xfffffff;
}

struct total {
	uint64_t key;
	uint64_t ns;
	uint64_t count;
	uint64_t max_ns;
};

/* Sums by key. Zero-initialised is empty. */
struct totals {
	struct total *rows; /* owned; in no order until totals_sort() */
	uint32_t count;
	uint32_t cap;
	uint32_t *index; /* owned; hash of the key -> row + 1 */
	uint32_t index_cap;
};

void totals_fini(struct totals *totals);
void totals_clear(struct totals *totals);

/* The row of 'key', made when new. Valid until the next row is made. */
struct total *totals_row(struct totals *totals, uint64_t key);

/* The row of 'key', or NULL. */
const struct total *totals_find(const struct totals *totals, uint64_t key);

/* Add every row of 'other'; max_ns becomes the larger one. */
void totals_add(struct totals *totals, const struct totals *other);

/* Take off ns and counts of 'before'; max_ns stays. Rows that become empty are kept. */
void totals_subtract(struct totals *totals, const struct totals *before);

/* Rows in order of their keys, those of no time and no count left out. */
void totals_sort(struct totals *totals);

/* The sum of 'ns' of all rows of 'kind'. */
uint64_t totals_ns(const struct totals *totals, enum total_kind kind);

#endif
