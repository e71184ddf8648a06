/*
 * shares.h - what a lane shows: a window cut into columns, and how much of each column was what.
 *
 * A column is told by shares, not by samples: the ns of its states add up to its length. They come
 * out of the timeline's sums, so a lane costs what is drawn, however much lies between two columns.
 */
#ifndef VIEW_SHARES_H
#define VIEW_SHARES_H

#include <stdbool.h>
#include <stdint.h>

struct timeline;

/* What a lane can be in: what is drawn in one colour. The order is that of the drawing, from below. */
enum lane_state {
	LANE_OWN,    /* a thread in its own code, or where that is not told apart */
	LANE_KERNEL, /* in a system call, a fault, a kernel thread's work */
	LANE_IRQ,    /* an interrupt or a softirq ran on it */
	LANE_QUEUE,  /* it could run and had no CPU */
	LANE_LOCK,   /* blocked, by kind: enum wait_kind */
	LANE_DISK,
	LANE_NETWORK,
	LANE_THREAD,
	LANE_OTHER,
	LANE_SLEEP,
	LANE_IDLE,
	LANE_STOP,
	LANE_UNENDED,	/* its end was not recorded */
	LANE_STILL,	/* it had not ended when the recording did, or has not ended yet */
	LANE_UNCERTAIN, /* events were lost, or nothing is known yet */
	LANE_TARGET,	/* a CPU: the recorded command ran */
	LANE_PROGRAM,	/* another program */
	LANE_SYSTEM,	/* a thread of the kernel */
	LANE_BUSY,	/* any of the three: not told apart at this zoom */
	LANE_FREE,	/* nothing: its idle task */
	LANE_ABSENT,	/* the thread was not there */
	LANE_STATE_COUNT
};

/* One row of the legend, and of each lane in the table of lanes. */
struct lane_look {
	const char *name;  /* for programs: "own", "kernel" ... */
	const char *words; /* for people */
	const char *light; /* colour on a light page, and on a dark one */
	const char *dark;
	bool hatched;
};

const struct lane_look *lane_look(enum lane_state state);

/* Time by enum lane_state. */
struct lane_shares {
	uint64_t ns[LANE_STATE_COUNT];
	uint32_t states; /* bits of those that may have time: that of the others is 0 */
};

/* The window, its columns, and who is told of them. */
struct lane_window {
	uint64_t start_ns; /* within the timeline */
	uint64_t end_ns;
	uint32_t width; /* columns, at least one */
	/*
	 * 'count' columns from 'first' on, each of which is divided alike: where 'count' is above one
	 * all of them are in one state. 'shares' is of the first one. Called in order, for every column.
	 */
	void (*each)(void *context, uint32_t first, uint32_t count,
		     const struct lane_shares *shares);
	void *context;
};

/* Where a column begins; that of 'width' is the end of the window. */
uint64_t lane_column_ns(const struct lane_window *window, uint32_t column);

/* A thread's lane. *out_sum: the whole window, whose length it adds up to. */
void lane_of_thread(const struct timeline *timeline, uint32_t slot,
		    const struct lane_window *window, struct lane_shares *out_sum);

/* The sum alone. */
void lane_sum_of_thread(const struct timeline *timeline, uint32_t slot, uint64_t start_ns,
			uint64_t end_ns, struct lane_shares *out_sum);

/*
 * A CPU's lane: who ran. 'target_tgid' is the process that is told apart; 0 = none. With more than
 * 'most' changes in the window only busy and idle are told apart.
 */
void lane_of_cpu(const struct timeline *timeline, uint32_t cpu, int32_t target_tgid, uint32_t most,
		 const struct lane_window *window, struct lane_shares *out_sum);

#endif
