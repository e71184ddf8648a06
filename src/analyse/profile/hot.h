/*
 * hot.h - which code had the CPU: the time of the timeline, spread over the samples of its threads.
 *
 * A sample says where, the timeline for how long: so sums are those of the states, whatever the
 * number of samples. A thread of few samples is taken together with the others of its name, since
 * most of these had no sample at all.
 *
 * The same of waits: each wait that has a stack, by its place. How long it was, the timeline says.
 */
#ifndef ANALYSE_PROFILE_HOT_H
#define ANALYSE_PROFILE_HOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/why/why.h"
#include "timeline/totals.h"

struct err;
struct facts;
struct stack_frame;
struct stack_wait;
struct timeline;

/* Whose time. */
enum hot_scope {
	HOT_OF_TREE, /* the command that was recorded, and all that it started; or what was sampled */
	HOT_OF_ALL,	/* all threads of the machine */
	HOT_OF_CHOSEN,	/* those that were asked for */
	HOT_OF_VERDICT, /* the work that the verdict charges */
};

enum hot_by {
	HOT_FUNCTION,
	HOT_LINE,
	HOT_MODULE,
	HOT_PROCESS,
	HOT_THREAD,
	HOT_BY_COUNT
};

/* What a thread was in. */
#define HOT_USER    (1u << 0)
#define HOT_SYSCALL (1u << 1) /* system calls, page faults, and what kernel threads do */
#define HOT_IRQ	    (1u << 2) /* interrupts and softirqs on its CPU */
#define HOT_WORKING (HOT_USER | HOT_SYSCALL)

enum hot_tree_kind {
	HOT_TREE_NONE,
	HOT_TREE_CALLEES, /* from the outermost function down */
	HOT_TREE_CALLERS, /* from where the time was spent up */
};

/* Time that is told of: of one stack. */
struct hot_part {
	uint32_t slot;	/* the thread */
	uint32_t stack; /* STACK_NONE = it is not known where it was */
	uint64_t ns;
	uint64_t count;		       /* samples or waits that this is of; of no stack 0 */
	uint32_t state;		       /* HOT_... of the sample; of no stack, and of waits 0 */
	const struct stack_wait *wait; /* NULL = it is work, or of no stack */
	enum wait_kind kind;	       /* of waits: what for */
};

struct hot_opts {
	uint64_t start_ns, end_ns; /* the window */
	enum hot_by by;
	uint32_t states;       /* HOT_... */
	bool waits;	       /* waits instead of work */
	bool native;	       /* a script's functions do not own the code that they call */
	const uint32_t *slots; /* the threads that are meant, a view */
	size_t slot_count;
	const struct why_work *path; /* only these spans of them, a view; NULL = all */
	enum hot_tree_kind tree;     /* besides the rows; by function, line or module */
	/* Called for each part that the rows by function, line, module are sums of. May be NULL. */
	void (*each)(void *context, const struct hot_part *part);
	void *context;
};

struct hot_row {
	/* By function, line, module: of this frame; NULL = of this time there is no stack. */
	const struct stack_frame *frame; /* a view into the facts */
	struct why_thread who; /* by process, thread; its name lives as long as the timeline */
	uint64_t self_ns;      /* it was the innermost one; of waits: the place */
	uint64_t total_ns;     /* it was anywhere on the stack */
	uint64_t samples;      /* or waits: that 'self_ns' is of */
};

/* Of a tree; what is below a node follows it, one deeper. */
struct hot_node {
	const struct stack_frame *frame; /* as a row's */
	uint32_t depth;			 /* from 0 */
	uint64_t self_ns;		 /* spent here: of callers only at depth 0 */
	uint64_t total_ns;		 /* and below */
	uint64_t samples;		 /* that 'self_ns' is of */
};

struct hot {
	uint64_t start_ns, end_ns;
	uint64_t period_ns; /* of the samples; of waits 0 */
	uint64_t samples;   /* that count, or waits */
	uint64_t lost;	    /* samples of the whole recording that were not kept */
	uint64_t
		doubtful; /* samples in the window at whose time the thread was not at work, or that is not known */
	uint64_t total_ns;    /* the rows' self_ns add up to it */
	struct hot_row *rows; /* owned; most self_ns first */
	size_t row_count;
	struct hot_node *nodes; /* owned; when a tree was asked for */
	size_t node_count;
};

/*
 * Returns 0 and fills *out_hot, or -ENODATA with err filled when the trace has no samples, or no
 * stacks of waits.
 */
int hot_run(const struct timeline *timeline, const struct facts *facts, const struct hot_opts *opts,
	    struct hot *out_hot, struct err *err);

void hot_fini(struct hot *hot);

#endif
