/*
 * flight_on.h - when the flight recorder takes a snapshot by itself: --on.
 *
 *	psi:io>10%/1s           some threads waited for io in 10 % of a second: the kernel wakes us
 *	psi:memory:full>5%/2s   all of them did
 *	psi:cpu@/web.slice>...  of a cgroup
 *	D>500ms                 a thread sleeps in D for longer
 *	runnable:nginx>100ms    a thread of this name has no CPU for longer
 *
 * The last two are looked for in /proc, so often that looking costs at most 1 % of a CPU. A wait that
 * is over before the second look at it is not seen. Threads with a name are found by the looks at all, and
 * then looked at more often.
 */
#ifndef RECORD_FLIGHT_ON_H
#define RECORD_FLIGHT_ON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum flight_on_kind {
	FLIGHT_ON_PSI,
	FLIGHT_ON_D,
	FLIGHT_ON_RUNNABLE,
};

enum flight_on_resource {
	FLIGHT_ON_CPU,
	FLIGHT_ON_MEMORY,
	FLIGHT_ON_IO,
};

struct flight_on {
	enum flight_on_kind kind;
	const char *text; /* as given; a view */
	/* psi */
	enum flight_on_resource resource;
	bool full;
	uint64_t stall_us, window_us;
	char *cgroup; /* owned; "/web.slice"; NULL = the machine */
	int fd;	      /* -1 = not open */
	/* D, runnable */
	char *comm; /* owned; NULL = any */
	uint64_t min_ns;
	/* what came of it */
	uint64_t fired, suppressed;
};

/* Returns 0, or -EINVAL with err filled. End it with flight_on_fini(). */
int flight_on_parse(const char *text, struct flight_on *out_on, struct err *err);

/*
 * Ask the kernel (psi), which then makes 'fd' ready for POLLPRI. Returns 0; 1 when it takes the window
 * only as whole 2 s, to which it was widened with its limit; or a negative errno with err filled: -ENOTSUP = this kernel has no such thing, or it is switched off.
 */
int flight_on_open(struct flight_on *on, struct err *err);
void flight_on_fini(struct flight_on *on);

/* A thread that waits, as /proc shows it. */
struct flight_seen {
	int32_t tid;
	char state;		 /* 'D' or 'R' */
	uint64_t ran_ns, slices; /* as long as these are the same it has not run */
	uint64_t since_ns;	 /* when it was first seen so; CLOCK_MONOTONIC */
	uint64_t before_ns;	 /* ... and the look before that; 0 = there was none */
	bool fired;
	char comm[16];
};

/* Looks at the same threads, one after the other. */
struct flight_scan {
	struct flight_seen *seen; /* owned; of the last look, by tid */
	size_t count, cap;
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
	uint64_t cost_ns;   /* CPU time of the last one */
};

struct flight_task {
	int32_t tgid, tid;
};

/* Zeroed: none was taken. */
struct flight_looks {
	/* All threads; seldom where there are many. */
	struct flight_scan all;
	/* Those with a name of a trigger, as the last look at all threads found them. */
	struct flight_scan named;
	struct flight_task *tasks; /* owned; these */
	size_t count, cap;
};

/*
 * Take the looks that are due. Returns the trigger that a thread fires now, which is then in *out_seen, or
 * NULL. A wait fires once.
 */
struct flight_on *flight_looks_take(struct flight_looks *looks, struct flight_on *ons, size_t count,
				    struct flight_seen *out_seen);

/* Time between two looks at all threads, and at the named ones, ns; UINT64_MAX = nobody asked for them. */
uint64_t flight_looks_every_ns(const struct flight_looks *looks, const struct flight_on *ons,
			       size_t count, bool named);

/* When the next one is due; UINT64_MAX = never. */
uint64_t flight_looks_next_ns(const struct flight_looks *looks, const struct flight_on *ons,
			      size_t count);

void flight_looks_fini(struct flight_looks *looks);

/* Is the thread still in that wait? */
bool flight_seen_waits(const struct flight_seen *seen);

#endif
