/*
 * flight_on.h - when the flight recorder takes a snapshot by itself: --on.
 *
 *	psi:io>10%/1s           some threads waited for io in 10 % of a second: the kernel wakes us
 *	psi:memory:full>5%/2s   all of them did
 *	psi:cpu@/web.slice>...  of a cgroup
 *	D>500ms                 a thread sleeps in D for longer
 *	runnable:nginx>100ms    a thread of this name has no CPU for longer
 *
 *	runq>8/2s               more than 8 threads of the machine run or can run, for 2 s
 *	oom, oom@/web.slice     the kernel kills a process for want of memory
 *	event:oom:mark_victim   a kernel event; with a third colon the kernel's filter of it
 *	probe:/usr/bin/x:work   a function of a program, or its return, begins: as --probe of record takes it
 *	usdt:/usr/bin/x:a:b     a USDT point of a program is passed, likewise
 *	pair:A:B->C:D>200ms     a thread passes event C:D longer after A:B: flight_pair.h
 *	unit:nginx, unit        a unit of systemd fails: flight_unit.h
 *	model:/etc/shop.yaml    a model (docs/model.md) is violated: who runs us has a child that says so
 *	user:shop:paid          a program logs this event with libholdup: who runs us looks for it; also in pairs
 *	pair:usdt:/usr/bin/x:a:b->usdt:/usr/bin/x:a:c>1s    the same of points in programs
 *
 * D and runnable are looked for in /proc, so often that looking costs at most 1 % of a CPU. A wait that
 * is over before the second look at it is not seen. Threads with a name are found by the looks at all, and
 * then looked at more often.
 */
#ifndef RECORD_FLIGHT_ON_H
#define RECORD_FLIGHT_ON_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct flight_event;
struct flight_pair;

enum flight_on_kind {
	FLIGHT_ON_PSI,
	FLIGHT_ON_D,
	FLIGHT_ON_RUNNABLE,
	FLIGHT_ON_RUNQ,	 /* flight_count.h */
	FLIGHT_ON_OOM,	 /* as above */
	FLIGHT_ON_EVENT, /* flight_event.h */
	FLIGHT_ON_PAIR,
	FLIGHT_ON_MODEL,  /* not opened here */
	FLIGHT_ON_UNIT,	  /* as above; flight_unit.h */
	FLIGHT_ON_LOGGED, /* not opened here: flight_logged.h of cli */
};

enum flight_on_resource {
	FLIGHT_ON_CPU,
	FLIGHT_ON_MEMORY,
	FLIGHT_ON_IO,
};

struct flight_on {
	enum flight_on_kind kind;
	const char *text; /* as given; a view */
	/* psi; the cgroup and fd also of oom, the fd of runq */
	enum flight_on_resource resource;
	bool full;
	uint64_t stall_us, window_us;
	char *cgroup; /* owned; "/web.slice"; NULL = the machine */
	int fd;	      /* -1 = not open */
	/* D, runnable; min_ns also of runq and of a pair */
	char *comm; /* owned; NULL = any */
	uint64_t min_ns;
	/* runq, oom */
	uint64_t most;	    /* threads that may run or be able to */
	uint64_t over_ns;   /* since when there are more; 0 = there are not */
	uint64_t kills;	    /* at the last look */
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
	uint64_t cost_ns;   /* CPU time of the last look */
	/* event */
	char *event; /* owned; "oom/mark_victim", logged "shop:paid"; NULL = a point in a program */
	const char *point; /* behind the colon; a view */
	bool is_usdt;
	char *filter;		     /* owned; NULL = all */
	struct flight_event *tracer; /* owned; NULL = not open */
	char *second;		     /* owned; of a pair, whose first one is 'event' */
	struct flight_pair *pair;    /* owned; NULL = not open */
	/* model */
	const char *model; /* its file; a view */
	/* unit */
	char *unit; /* owned; a pattern of names */
	/* unit, model, logged */
	bool is_deaf; /* nothing is heard for now: of units, or as who looks has ended */
	/* what came of it */
	uint64_t fired, suppressed;
	uint64_t told_ns; /* the snapshot whose pause was told to suppress it; 0 = none */
};

/* Returns 0, or -EINVAL with err filled. End it with flight_on_fini(). */
int flight_on_parse(const char *text, struct flight_on *out_on, struct err *err);

/*
 * Ask the kernel (psi), which then makes 'fd' ready for POLLPRI; open what is looked at (runq, oom), or the
 * event, which then makes flight_event_fd() or flight_pair_fd() ready for POLLIN. Returns 0; 1 when it takes the window
 * only as whole 2 s, to which it was widened with its limit; or a negative errno with err filled: -ENOTSUP = this kernel has no such thing, or it is switched off.
 */
int flight_on_open(struct flight_on *on, struct err *err);
/* Close what was opened; its text and counts stay. Safe to call twice. */
void flight_on_close(struct flight_on *on);
void flight_on_fini(struct flight_on *on);

/* Is it of one thread, between two events that it passed? */
bool flight_on_is_pair(const struct flight_on *on);

/* Is it about the wait of one thread? */
bool flight_on_is_wait(const struct flight_on *on);

/* What is to be waited for with poll(): its descriptor is -1 where that is nothing. */
struct pollfd flight_on_wait(const struct flight_on *on);

/* Has it been opened, and not gone since? */
bool flight_on_works(const struct flight_on *on);

/* A thread that waits, as /proc shows it. */
struct flight_seen {
	int32_t tid;
	char state;		 /* 'D' or 'R' */
	uint64_t ran_ns, slices; /* as long as these are the same it has not run */
	uint64_t since_ns;	 /* when it was first seen so; CLOCK_MONOTONIC */
	uint64_t before_ns;	 /* ... and the look before that; 0 = there was none */
	uint64_t until_ns;	 /* 0 = it goes on */
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

/*
 * The function of the kernel in which the thread sleeps, by /proc/TID/wchan, of that very wait; to be freed.
 * NULL: it is over, or the kernel does not tell.
 */
char *flight_seen_place(const struct flight_seen *seen);

void flight_looks_fini(struct flight_looks *looks);

/* Is the thread still in that wait? */
bool flight_seen_waits(const struct flight_seen *seen);

#endif
