/*
 * reason.h - why it is so, as data: what ended a wait, what was awaited, from what it is inferred.
 *
 * Words of a reason are made in report/why_reason.h alone. A reason belongs to one result, which has
 * each only once: equal reasons of a result are one pointer, and one number.
 */
#ifndef ANALYSE_WHY_REASON_H
#define ANALYSE_WHY_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct why;

struct why_thread {
	int32_t tid; /* 0 = none (hardware, the CPU queue, unknown) */
	int32_t tgid;
	const char *comm;
};

/* What each has beside its kind is told in brackets. */
enum why_reason_kind {
	WHY_REASON_NONE,

	/* Why nothing is known. */
	WHY_REASON_UNSURE,	      /* (number: enum unsure) */
	WHY_REASON_CPU_UNKNOWN,	      /* which one it waited for */
	WHY_REASON_WAKEUP_UNRECORDED, /* what ended the wait */
	WHY_REASON_OPEN,	      /* nothing ended the wait while it was recorded */
	WHY_REASON_TOO_DEEP,	      /* the bound on depth */
	WHY_REASON_HAD_ENDED,	      /* the thread */
	WHY_REASON_NOT_YET_THERE,     /* the thread */

	/* What happened instead of what was awaited. */
	WHY_REASON_RECORDING_ENDED,
	WHY_REASON_ENDED, /* the thread, in the wait (name: signal, by_timer, who, inner: terminal) */
	WHY_REASON_KERNEL_GAVE_UP, /* by a limit of its own */
	WHY_REASON_INTERRUPTED,	   /* the wait (as above) */
	WHY_REASON_CIRCLE, /* (who: it waits for that one, which waits for it; inner: until what) */

	/* Why an idle CPU did not take a thread. */
	WHY_REASON_QUOTA,	   /* (object: cgroup, part_ns: quota of each whole_ns) */
	WHY_REASON_QUOTA_PROBABLY, /* (the same) another cgroup than the thread was seen in */
	WHY_REASON_STOOD_STILL,	   /* the thread was throttled, or the machine stood still */

	/* How both are scheduled, where who had the CPU comes before who waited for it. */
	WHY_REASON_ALLOWED,   /* (name: the CPUs that it may use) */
	WHY_REASON_SCHEDULED, /* (name: the one that ran, object: the other one) */
	WHY_REASON_GAVE_WAY,  /* it gave up its CPU by sched_yield() */

	/* Until when it was stopped. */
	WHY_REASON_CONTINUED, /* (name: signal, who) */
	WHY_REASON_THAWED,    /* (who) */

	/* What in the kernel was awaited, or ended the wait for others. */
	WHY_REASON_RCU,
	WHY_REASON_SRCU,
	WHY_REASON_RCU_TASKS,
	WHY_REASON_GRACE_ENDED,	     /* (inner: one of the three above) */
	WHY_REASON_TERMINAL_KEY,     /* (name: "Ctrl-C", who: typed it, over a network or so) */
	WHY_REASON_TERMINAL_HUNG_UP, /* (who) */
	WHY_REASON_TERMINAL_WRITTEN, /* (who) */
	WHY_REASON_RING_POLLER,	     /* (who: polls for io_uring) */

	/* From what it is inferred who was awaited. */
	WHY_REASON_EXPECTED,	    /* (object: as the index of an older version words it) */
	WHY_REASON_END_USED_LATELY, /* of the other end's threads only this one used that lately */
	WHY_REASON_LOCK_WORD,	    /* which has the thread's number */
	WHY_REASON_LISTENS,	    /* at the address */
	WHY_REASON_NO_LATER_USER,   /* of the object */
	WHY_REASON_TAKER_GONE, /* of the lock; one process has the file open beside the asker */
	WHY_REASON_TAKER_GONE_FAMILY, /* the same, and its children */
	WHY_REASON_GLIBC_OWNER,	      /* glibc keeps the owner of a lock there */
	WHY_REASON_TOLD_BEFORE,	      /* of the same call, when it was looked at last */
	WHY_REASON_PASSED_ON,	      /* what had come was sent on there, and nothing came back */
	WHY_REASON_WRITTEN_TO,	      /* of what is watched, room to write is awaited there only */
	WHY_REASON_QUEUE_FULL,	      /* it listens, and had no room for a connection */
	WHY_REASON_ENDED_BELOW, /* the request ended right behind one below it that a limit had held back */
	WHY_REASON_NOT_AT_DISK, /* it slept for I/O, and no such request was with the disk */
	WHY_REASON_POLLED_LIMIT, /* (who) such a request ended right before that one, which polls, was done */
	WHY_REASON_WAITED_AGAIN,  /* (who: woke it at last) at once, for the same, when woken */
	WHY_REASON_ONLY_ONE_LEFT, /* of its process's threads: no other could end it */
	WHY_REASON_CHILD_SIGNAL,  /* whose end sends the signal that is awaited */
	WHY_REASON_ALL_LEAD, /* any of several could end it: who those wait for, this one among them */
	WHY_REASON_OTHERS_WAIT, /* the same, and the others of them wait for the waiter */
	WHY_REASON_EQUAL_PART,	/* (number: of children) any of them could end it */
	WHY_REASON_SEEN,	/* the recorder saw it as it looked (name: of stuck/how.h) */
	WHY_REASON_SUCCEEDED, /* (call, object, name: error, by) failed until somebody did something */
	WHY_REASON_CHANGED,	   /* (call, object, by) found nothing new until then */
	WHY_REASON_CHANGED_MAPPED, /* (call, object, did) the same, and it has the file mapped */
	WHY_REASON_GONE,	   /* (call, object, by) found it until then */
	WHY_REASON_ASKS_STILL,	   /* (call, object) found nothing up to the end */
	WHY_REASON_HAD_LOCK, /* (call, object, name: error, who) failed, as that one had the lock */
	WHY_REASON_PROGRAM_GONE,  /* (object: command line of who asked) found it until it ended */
	WHY_REASON_PROGRAM_FOUND, /* (object: as above, by) did not find it until then */
	WHY_REASON_WOKE_ALONE,	  /* (call) as that had timed out and was not called again */
	WHY_REASON_TIMED_OUT,	  /* (call, by) did something as that had timed out, the same */
	WHY_REASON_FOUND_LATE,	  /* (call, by) the same, and the call still found something */
	WHY_REASON_FOUND_NEXT, /* (call, by) after that had timed out, the next one found it at once */
	WHY_REASON_SLEEPS_ENDED, /* (call, number: of equal sleeps, did) changed alone as they ended */
	WHY_REASON_TIMEOUTS_ENDED,	/* (call, number: of equal time-outs, did) the same */
	WHY_REASON_FILE_SLEEPS_ENDED,	/* (as above) and both have a file mapped */
	WHY_REASON_FILE_TIMEOUTS_ENDED, /* (as above) and both have a file mapped */
	WHY_REASON_WROTE_MEMORY, /* (call, number: of equal sleeps, by) into that of who slept */
	WHY_REASON_SEVERAL,	 /* of several threads not the same one */
	WHY_REASON_REPORTED,	 /* (call) was called again each time, with output in between */
	WHY_REASON_UNANSWERED,	 /* (who, did, call) had been asked, and did not answer in time */
	WHY_REASON_NO_REQUEST,	 /* it waited for its clients, and its time-out ended that */
	WHY_REASON_GAVE_UP,	 /* it was killed as the limit of the wait had run out */
	WHY_REASON_LAUNCHED,	 /* the program runs in a thread that this one has made for it */
	WHY_REASON_PARKED,	 /* a scheduler in the program had nothing to run */
	WHY_REASON_WORD_FOR_WORK, /* idle: its waits at that word of which a stack is known are for work */
	WHY_REASON_OUTERMOST, /* idle: it waits in the outermost code of its thread */
	WHY_REASON_WORKER,    /* of those that work for who waits, this one alone is not idle */
	WHY_REASON_A_WORKER,  /* (number) it is one of so many */

	/* What it did, where that is no name. */
	WHY_REASON_SHARE,  /* (name, part_ns of whole_ns, inner: the next one) of its work */
	WHY_REASON_PACKET, /* (name, object: timer, number: enum why_tcp) which a timer had sent */
	WHY_REASON_TCP_GAVE_UP, /* (number: enum why_tcp) its timer ended the wait */
	WHY_REASON_KINDS
};

/* What it means that a timer of TCP went off. */
enum why_tcp {
	WHY_TCP_NONE,
	WHY_TCP_DELAYED_ACK,
	WHY_TCP_SENT_AGAIN,
	WHY_TCP_KEEP_ALIVE,
};

enum why_deed {
	WHY_DEED_NONE,
	WHY_DEED_ENDED,
	WHY_DEED_WOKE,
	WHY_DEED_STOPPED_WORK,
	WHY_DEED_MOVED_ON, /* worked on in other code */
	WHY_DEED_WORKED,   /* for most of the time, as the two below */
	WHY_DEED_WAITED,
	WHY_DEED_NO_CPU,
};

/* A field that its kind does not have is 0; a text is never NULL but here: "" and NULL are the same. */
struct why_reason {
	enum why_reason_kind kind;
	uint32_t id; /* in its result, from 1 */
	uint32_t number;
	enum why_deed did;
	uint32_t by_timer; /* 1: the signal came from a timer */
	uint32_t
		found_alive; /* 1: the call did not fail, but found the process alive that it sought */
	uint64_t part_ns, whole_ns;
	struct why_thread who;
	const char *call;
	const char *object;
	const char *name;
	const char *by; /* the call that somebody made; "" = that one ended */
	const struct why_reason *inner;
};

struct why_reasons {
	struct why_reason **at; /* owned; id - 1 -> reason */
	size_t count, cap;
	struct map by_hash;
};

/* Why time is uncertain, of an enum unsure: "events were lost". States are called by it, too. */
const char *why_unsure_name(uint32_t unsure);

/* Is it why a thread is idle, beside that it waits for work? */
bool why_reason_is_idle(enum why_reason_kind kind);

/* The word used in JSON: "recording_ended". */
const char *why_reason_name(enum why_reason_kind kind);

/*
 * Keep it in the result, copied with its texts, as it may be another result's; 'id' is not looked at.
 * Lives as long as the result. NULL, and no kind, give NULL.
 */
const struct why_reason *why_reason_keep(struct why *why, const struct why_reason *reason);

/* The one with that number; NULL for 0. */
const struct why_reason *why_reason_at(const struct why *why, uint32_t id);
static inline uint32_t why_reason_id(const struct why_reason *reason)
{
	return reason ? reason->id : 0;
}

/* An order over all that they say, also of two results; 0 = they say the same. NULL is fine. */
int why_reason_compare(const struct why_reason *a, const struct why_reason *b);

void why_reasons_fini(struct why_reasons *reasons);

#endif
