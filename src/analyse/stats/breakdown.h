/*
 * breakdown.h - one process, fine grained: for each system call, fault and interrupt the
 * time, the count and the events inside, its waits by what for and for whom, and what other
 * threads did meanwhile: figure 8 of "Efficient, Unified, and Scalable Performance
 * Monitoring for Multiprocessor Operating Systems" (Wisniewski, Rosenburg, 2003).
 *
 * A plain result: computed once, never printed here. Every string is owned by the
 * result and never NULL. Spans are ns.
 */
#ifndef ANALYSE_STATS_BREAKDOWN_H
#define ANALYSE_STATS_BREAKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/coverage.h"
#include "analyse/why/why.h"
#include "base/names.h"
#include "timeline/totals.h"

struct err;
struct facts;
struct source;
struct timeline;

/* How a span was spent. The parts of anything add up to its ns. */
enum breakdown_part {
	PART_WORKING, /* on a CPU, in what the line names */
	PART_IRQ,     /* an interrupt or softirq on top */
	PART_WAITING, /* could run, and had no CPU */
	PART_BLOCKED,
	PART_UNCERTAIN,
	PART_COUNT
};

enum breakdown_kind {
	LINE_OWN,     /* its own code */
	LINE_EITHER,  /* own code or kernel: the trace does not tell */
	LINE_CALL,    /* a system call */
	LINE_FAULT,   /* page faults */
	LINE_KERNEL,  /* a kernel thread's own code */
	LINE_WORK,    /* a work function */
	LINE_NEW,     /* it was made, and had not run yet */
	LINE_UNKNOWN, /* nothing tells what it was in */
};

/* What the process was in, with all that happened meanwhile. */
struct breakdown_line {
	enum breakdown_kind kind;
	const char *name; /* "" = the kind says it */
	uint64_t count;	  /* begun in the window; own code: 0 */
	uint64_t ns;
	uint64_t parts[PART_COUNT];
	uint64_t max_ns; /* system calls: longest that ended */
	uint64_t errors; /* system calls */
	uint64_t events; /* recorded by its threads while in it, not counting those in interrupts */
	struct why_codes code; /* where in it threads worked and waited: of parts of 'ns' */
};

/* An interrupt or softirq on top of its threads; all together are PART_IRQ. */
struct breakdown_irq {
	const char *name;
	uint64_t count;
	uint64_t ns;
	uint64_t events;
};

/* Waits of one kind; all together are PART_BLOCKED. */
struct breakdown_wait {
	enum wait_kind kind;
	const char *in;	    /* "read", "page fault" */
	const char *object; /* "" = not known */
	const char *waker;  /* what ended them, beside the thread; "" = not known */
	enum why_waker how;
	struct why_thread by; /* who ended them; tid 0 = hardware or not known */
	uint64_t count;
	uint64_t ns;
	uint64_t max_ns;
	struct why_codes code; /* where the threads waited */
};

/* Another thread, during the waits of the process that it ended: each moment counted once. */
struct breakdown_other {
	struct why_thread who;
	bool queued;	    /* it ran work that a thread of the process had queued */
	uint64_t waits;	    /* that it ended */
	uint64_t ns;	    /* of them; partitioned by the next */
	uint64_t own_ns;    /* it worked in its own code */
	uint64_t kernel_ns; /* it worked in the kernel */
	uint64_t irq_ns;
	uint64_t waiting_ns;
	uint64_t blocked_ns;
	uint64_t uncertain_ns; /* or was not there */
	struct why_codes code; /* where it worked and waited meanwhile */
};

struct breakdown_thread {
	struct why_thread who;
	uint64_t start_ns; /* life inside the window */
	uint64_t end_ns;
	uint64_t ns; /* end - start */
	uint64_t parts[PART_COUNT];
	uint64_t events;
	struct why_codes code; /* where it worked and waited */
	bool adds_up; /* the parts and the states of the timeline are its life, to the ns */
};

struct breakdown {
	struct why_thread process; /* its main thread, or the first one known */
	const char *cmdline;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t wall_ns;	    /* from the first thread's begin to the last one's end */
	uint64_t life_ns;	    /* of all threads together; lines[] add up to it */
	uint64_t parts[PART_COUNT]; /* of life_ns */
	uint64_t events;
	bool adds_up;		      /* lines, threads, interrupts and waits agree, to the ns */
	struct breakdown_line *lines; /* owned; own code and faults first, then the longest */
	size_t line_count;
	struct breakdown_irq *irqs; /* owned; longest in all first */
	size_t irq_count;
	struct breakdown_wait *waits; /* owned; longest in all first */
	size_t wait_count;
	struct breakdown_other *others; /* owned; most work first */
	size_t other_count;
	struct breakdown_thread *threads; /* owned; in order of birth */
	size_t thread_count;
	struct coverage coverage;
	struct names texts;
};

struct breakdown_opts {
	int32_t pid; /* a process, or any thread of it */
	uint64_t start_ns;
	uint64_t end_ns;
};

/*
 * Break it down; 'source' gives the events of the same trace. Returns 0 and fills
 * *out_breakdown (free with breakdown_fini()); -ESRCH when nothing is about 'pid',
 * -EINVAL when the window is empty or the process did not live in it, or what
 * source_next() failed with; err is filled.
 */
int breakdown_run(const struct timeline *timeline, const struct facts *facts, struct source *source,
		  const struct breakdown_opts *opts, struct breakdown *out_breakdown,
		  struct err *err);

void breakdown_fini(struct breakdown *breakdown);

/* Of a row that has parts: the time that can be of code. The shares of places are of that. */
static inline uint64_t breakdown_code_ns(const uint64_t parts[PART_COUNT])
{
	return parts[PART_WORKING] + parts[PART_BLOCKED];
}

static inline uint64_t breakdown_other_code_ns(const struct breakdown_other *other)
{
	return other->own_ns + other->kernel_ns + other->blocked_ns;
}

/* "own_code", "syscall", "fault" ...: the word used in JSON. */
const char *breakdown_kind_name(enum breakdown_kind kind);

#endif
