/*
 * why_int.h - what the files of `why` share.
 *
 *	why.c        puts the result together
 *	reason.c     the reasons of a result, each once
 *	describe.c   words, waits and actors as text
 *	charge.c     the verdict and the chain: every nanosecond to one root; charge_result.c tells it
 *	summary.c    the WIB summary tree and its instances
 *	causality.c  the recursive blocking causality
 *	why_class.c  the waits of one class of delay
 *	why_clients.c for whom a thread works
 *	why_locks.c  the locks that programs told of, and who had them
 *	why_stuck.c  waits that what was awaited never ended
 *	workers.c    workers that a thread waits for, which are threads or children
 *	charge_open.c waits that nothing ended
 *	group.c      several who could end a wait that nobody ended
 *	why_helper.c parts of the kernel that end waits for others: terminals, RCU
 *	why_idle.c   threads without a CPU beside an idle one
 *	why_slices.c waits in slices: time-outs after which the thread waits on
 *	why_people.c who the processes are that the result names
 *	why_process.c a process: its threads added up
 *	why_told.c   what programs said of themselves at known points
 *	why_asks.c   sleeps between calls that fail until one succeeds: who made it succeed
 *	why_calls.c  calls that say nothing of what a thread does
 *	why_doers.c  who changed the answer to a call that was made in vain
 *	why_asks_process.c the same where one thread asks, and another one sleeps
 *	why_asks_child.c the same where programs ask, which a shell runs
 *	why_asks_content.c the same of looks at a file, until what is in it has changed
 *	why_naps.c   sleeps with nothing in between: who changed what it did as they ended
 *	why_polls.c  what a thread asks for in vain before each of its sleeps
 */
#ifndef ANALYSE_WHY_WHY_INT_H
#define ANALYSE_WHY_WHY_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/locks/lock_owner.h"
#include "analyse/why/reason.h"
#include "analyse/why/why.h"
#include "event/stacks.h"
#include "timeline/timeline.h"

struct facts;

/* An argument of WORD_KERNEL, in results only: see query_polls_ring(). */
#define KERNEL_POLLS 1u

/* One question being answered. */
struct query {
	const struct timeline *tl;
	const struct facts *facts;
	const struct why_opts *opts;
	struct why *why;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t slot;
	uint32_t *fact_of;	      /* owned; see fact_of.h; NULL = nobody asked yet */
	struct slice_runs *slices;    /* owned; of why_slices.c; NULL = nobody asked yet */
	struct nothing_sums *nothing; /* owned; of for_nothing.c; NULL = nobody asked yet */
	struct shared_sets *sets;     /* owned; of why_pollers.c; NULL = nobody asked yet */
	struct idle_objects *idle;    /* owned; of wait_idle.c; NULL = nobody asked yet */
	struct asks_runs *asks;	      /* owned; of why_asks.c; NULL = nobody asked yet */
	bool in_group;		      /* of group.c: a group is being followed */
	uint64_t stop_looks;	      /* of stuck.c, at threads for the signal of another one */
};

static inline bool query_is_one_process(const struct query *query, uint32_t one, uint32_t other)
{
	return thread_process(query->tl->threads[one]) == thread_process(query->tl->threads[other]);
}

/* What a thread did behind that is not known to the query: it ended, or the window did. */
static inline uint64_t query_known_ns(const struct query *query, uint32_t slot)
{
	uint64_t death_ns = query->tl->threads[slot]->death_ns;

	return death_ns < query->end_ns ? death_ns : query->end_ns;
}

/* The wait of a blocked interval, copied to *out. Returns 'out'. */
static inline const struct wait *query_wait(const struct query *query, uint32_t slot, uint32_t word,
					    struct wait *out)
{
	timeline_wait(query->tl, slot, word_arg(word), out);
	return out;
}

/* describe.c: strings live as long as the result. */
const char *why_keep(struct why *why, char *text); /* takes ownership of a heap string */
struct why_thread why_thread(struct query *query, uint32_t slot);
const char *describe_word(struct query *query,
			  uint32_t word); /* "own code", "read", "irq 24 vda" */
const char *describe_in(struct query *query, const struct wait *wait); /* "clock_nanosleep" */
const char *describe_object(struct query *query, uint32_t slot, const struct wait *wait);
/* Of a wait at a futex: what is known of its word beside the address; NULL = nothing. */
const struct stack_futex *wait_named_futex(const struct query *query, uint32_t slot,
					   const struct wait *wait);
const char *describe_asked(struct query *query,
			   const struct wait *wait); /* in vain, before it slept */
const char *describe_actor(struct query *query, const struct actor *actor);
/* That ended it; "" = query_packet() tells. */
const char *describe_packet(struct query *query, const struct wait *wait);
/* What it means that a timer of a connection ended it, or had the packet sent that did; NULL = none did. */
const struct why_reason *query_packet(struct query *query, const struct wait *wait);
const char *describe_stack(struct query *query, const struct actor *actor);
/* The same, where own code below says nothing more: without. */
const char *describe_innermost(struct query *query, const struct actor *actor);
bool word_is_call(const struct query *query, uint32_t word); /* a system call with a name */
bool actor_is_call(const struct query *query, const struct actor *actor); /* it is told by one */
bool actor_in_call(const struct query *query, const struct actor *actor); /* innermost */
bool wait_has_no_name(const struct query *query, uint32_t slot,
		      const struct wait *wait);			/* its fd */
const char *describe_error(struct why *why, uint32_t error);	/* "EAGAIN" */
bool wait_sleeps(struct query *query, const struct wait *wait); /* in nanosleep and the like */
bool wait_halted(const struct wait *wait);			/* stopped, frozen or throttled */
bool wait_frozen(const struct wait *wait);			/* not stopped by a signal */
bool wait_timed_out(struct query *query, const struct wait *wait); /* but was for something else */
bool wait_ticks(struct query *query, const struct wait *wait); /* a timerfd of its own ended it */
/* A signal took it out of a call that asks for a lock, and it is known who had that: it did not come. */
bool wait_kernel_gave_up(
	const struct wait *wait); /* a limit of its own: whom it expected did not come */
bool wait_gave_up(const struct wait *wait);
/* That the thread of a known program waits for work, or for what else, as its stack tells. STACK_POLLS is STACK_PARKED here. */
enum stack_idle wait_idle(struct query *query, uint32_t slot, const struct wait *wait);
/* The same file: does its code say that it sleeps, as the program asked, in another call than wait_sleeps() knows? */
bool wait_sleeps_there(struct query *query, uint32_t slot, const struct wait *wait);
void idle_objects_free(struct idle_objects *objects); /* NULL is fine */
enum why_class wait_class(struct query *query, uint32_t slot, const struct wait *wait);
/* 'word' is of its interval. Is it there at the end of the recording? Else nothing tells what ended it. */
bool wait_lasts(const struct query *query, uint32_t slot, uint32_t word, const struct wait *wait);
enum why_waker wait_waker(const struct query *query, uint32_t slot, uint32_t word,
			  const struct wait *wait);

/*
 * why_locks.c: who had the kernel lock that it waited for, as the recorder read out of the lock; SLOT_NONE =
 * not known. '*out_holding' is what that one was in then; "" = not known.
 */
uint32_t query_holder(struct query *query, const struct wait *wait, const char **out_holding);

/*
 * why_locks.c: the lock that a thread told that it waited for during 'in', a blocked interval in a
 * futex call. False when it told of none.
 */
bool query_lock(struct query *query, uint32_t slot, const struct wait *wait,
		const struct tl_interval *in, struct lock_owner_wait *out_lock);

/* Who had a lock: spans that touch and add up to what was asked for. */
struct owned_span {
	uint64_t start_ns, end_ns;
	uint32_t slot; /* SLOT_NONE = nobody, or not told */
};

struct owned_iter {
	const struct timeline *tl;
	const struct lock_owner_wait *lock;
	uint32_t waiter;
	size_t index;
	uint64_t at_ns, end_ns;
};

/* 'lock' is a view, as long as the iterator is used. */
void owned_begin(struct owned_iter *iter, struct query *query, uint32_t waiter,
		 const struct lock_owner_wait *lock, const struct tl_interval *in);
bool owned_next(struct owned_iter *iter, struct owned_span *out_span);

/*
 * why_stuck.c: was 'in', a blocked interval of 'wait', not ended by what was awaited? NULL, or what
 * happened instead: the recording ended, a signal ended the thread.
 */
const struct why_reason *query_stuck(struct query *query, uint32_t slot, const struct wait *wait,
				     const struct tl_interval *in);
/* The same: did the thread end without another system call after it was woken out of wait 'index' of it? */
bool query_ended_in(const struct query *query, uint32_t slot, uint32_t index,
		    const struct wait *wait);

/*
 * Who was awaited during 'in' by a wait that was in vain: the thread it joins, the process at the
 * other end (WAIT_EXPECTS), the only child that there was, or a worker. SLOT_NONE when it is not known.
 * '*out_by' is from what that is inferred; NULL = it is known.
 */
uint32_t query_awaited(struct query *query, uint32_t slot, const struct wait *wait,
		       const struct tl_interval *in, const struct why_reason **out_by);
/* workers.c: the same of who waits for workers; SLOT_NONE = it does not, or none is at work. */
uint32_t query_worker(struct query *query, uint32_t slot, const struct wait *wait,
		      const struct tl_interval *in, const struct why_reason **out_by);
/*
 * unanswered.c: up to when the thread left the request of that wait for a connection unaccepted, as far as it can be
 * told: until it first began to accept one after the last request that may have been dropped. The start of 'in' where
 * it was accepting then, or did not accept.
 */
uint64_t query_accepts_ns(struct query *query, uint32_t slot, const struct wait *wait,
			  const struct tl_interval *in);
/* group.c: those who could end a wait of WAIT_GROUP and were there for all of 'in'. */
struct query_group {
	uint32_t slots[GROUP_MAX];
	size_t count;
	bool children; /* of who waits; else who has the other end, or could end it as the recorder saw */
};

void query_group(struct query *query, const struct wait *wait, const struct tl_interval *in,
		 struct query_group *out);
/*
 * The one of them that leads to where all of them lead; SLOT_NONE where they lead to several. Those that wait for
 * 'slot' itself are not counted; '*out_others_wait': there are such.
 */
uint32_t group_leads_to(struct query *query, uint32_t slot, const struct wait *wait,
			const struct tl_interval *in, bool *out_others_wait);

/*
 * why_stuck.c: was the thread stopped, or frozen, for all of the wait, so that nothing it waited for
 * counts? NULL, or until what: SIGCONT, and of whom. Of who is traced the tracer counts.
 */
const struct why_reason *query_stopped(struct query *query, uint32_t slot, const struct wait *wait,
				       const struct tl_interval *in);

/*
 * why_idle.c: why an idle CPU did not take a thread that waited for it during 'in'; its CPU is known.
 * NULL: it was about to.
 */
const struct why_reason *query_idle(struct query *query, uint32_t slot,
				    const struct tl_interval *in);

/*
 * why_helper.c: what ended the wait for others. NULL = nothing that is known to do so.
 */
enum why_reason_kind query_grace(struct query *query, const struct wait *wait); /* NONE = no RCU */
const struct why_reason *query_terminal(struct query *query, const struct wait *wait);
bool query_polls_ring(struct query *query, uint32_t slot,
		      uint32_t word); /* or is at a request: a thread of SQPOLL */
/* Any of them: the end of a grace period, a key at the terminal, a thread that polls for io_uring. */
const struct why_reason *query_helper(struct query *query, const struct wait *wait);

/* Who changed the answer that a thread got between its sleeps, as inferred. */
struct answer {
	uint32_t slot;
	uint64_t time_ns;  /* when, at the latest */
	const char *call;  /* that asked */
	const char *about; /* what it asked about; "" = not known */
	uint32_t error;	   /* that it failed with before; 0 = it found nothing */
	const char *by;	   /* the call that changed it; "" = the end of the process */
	enum why_deed did; /* where no call did */
	uint32_t naps;	   /* sleeps in between */
	const struct why_reason
		*reason;    /* from what it is inferred, where no call was answered; else NULL */
	bool known;	    /* it had the lock that was asked for: nothing is inferred */
	bool until_changed; /* nothing failed: what is in a file had changed */
	bool until_gone;    /* what it asked about was there before, and then no more */
};

/* The slice that ended a wait in slices. */
struct last_slice {
	struct wait wait;
	uint32_t slot;			   /* another thread of the process may have had it */
	uint32_t word;			   /* of its interval */
	const struct why_reason *inferred; /* from what it is that it is one wait; NULL = known */
};

/* Why a call says nothing of what a thread does. */
enum call_as {
	CALL_LOOKS =
		1, /* it changes nothing that others could see, but for memory, clocks and signals of one's own */
	CALL_QUIET = 2, /* it is no output: files are looked into, and closed */
	CALL_SHELL = 4, /* with it a shell has somebody else sleep, or ask */
	CALL_OWN = 8,	/* threads of a process come and go, and sleep */
	CALL_MUTE = 16, /* it looks at nothing that is not in the memory of its own process */
};
bool call_is(struct query *query, uint32_t call,
	     enum call_as as); /* why_calls.c; 'call' is a word */

/*
 * why_slices.c: is the wait of a blocked interval, ended by its own time-out or broken off, a slice of a
 * longer one? Then *out_last is its last one.
 */
bool query_slice(struct query *query, uint32_t slot, uint32_t word, const struct wait *wait,
		 struct last_slice *out_last);
/* The same: did a signal of another thread, for which it does not wait, break it off? */
bool query_broken_off(struct query *query, const struct wait *wait);
/* The same, where what it waited for came unseen behind its last time-out: by whom, as inferred. */
bool query_gone_on(struct query *query, uint32_t slot, uint32_t word, const struct wait *wait,
		   struct answer *out_answer);
/* A lock taken or a page brought in is no act of the thread's: it waited for that on the way to something else. */
bool query_is_on_the_way(struct query *query, const struct wait *wait);
void slice_runs_free(struct slice_runs *runs); /* NULL is fine */

/* clients.c: how many of a thread's waits, which are in order, began before that time. */
uint32_t waits_before(const struct timeline *tl, uint32_t slot, uint64_t time_ns);

/*
 * for_nothing.c: did the thread that was woken wait for the same again at once? Then from what it is inferred that it
 * waited for who woke it; NULL = that is known.
 */
const struct why_reason *query_for_nothing(struct query *query, uint32_t slot, uint32_t word,
					   const struct wait *wait);
void nothing_sums_free(struct nothing_sums *runs); /* NULL is fine */

/* same.c: did it wait at a futex of which the address is known? */
bool query_futex(const struct query *query, const struct wait *wait, uint64_t *out_address);
/* Were both waits of that thread for the same, as far as is known? */
bool query_is_same(struct query *query, uint32_t slot, const struct wait *one,
		   const struct wait *other);

/*
 * why_pollers.c: the same of a wait on an epoll set, where another thread of the process has the next
 * slice. Gives thread and index of the last one.
 */
bool query_turn(struct query *query, uint32_t slot, const struct wait *wait, uint32_t *out_slot,
		uint32_t *out_index);
void shared_sets_free(struct shared_sets *sets); /* NULL is fine */

#define NAPS_LEAST 4u /* sleeps alike that are no chance */

/* Who let a thread have a lock, and when; slot SLOT_NONE = nobody. */
struct let_go {
	uint32_t slot;
	uint64_t time_ns;
};

/* Time-outs that a thread went on behind. */
struct missed {
	uint32_t slot; /* whose they are */
	struct wait last;
	uint64_t before_ns;  /* when the one before it began; 0 = there was none */
	uint64_t went_on_ns; /* behind the last one; 0 = not known */
	uint64_t
		looked_ns; /* when it could look behind the last one, and see what was done by then */
	struct let_go let_go; /* of the lock that it needed for that look */
	uint64_t
		found_ns; /* when the call of the last one had ended and found something; 0 = nothing */
	bool by_next;	  /* it was the next call that did, and did not sleep */
	uint64_t
		since_ns; /* when the NAPS_LEAST'th from the end began; 0 = there were not so many */
	uint64_t first_ns; /* when the first one began */
	uint32_t count;
	bool is_even; /* all of them were as long */
};

/* Who can have set what a thread looks at in memory: one that shares it by */
enum nap_share {
	NAP_OF_PROCESS,	  /* being of the same process */
	NAP_OF_RELATIVES, /* a fork, or as a relative of the same name */
	NAP_OF_FILE,	  /* a file that both have mapped, it to write to: relatives only */
};

/*
 * why_naps.c: who alone changed what it did as such sleeps, or time-outs, ended, as inferred. Returns how
 * many did: 0, 1 or more; *out_answer is filled for 1.
 */
uint32_t query_naps(struct query *query, uint32_t slot, const struct missed *missed,
		    enum nap_share share, struct answer *out_answer);
/*
 * moved_on.c: when a thread that works all the time was seen first in other code than before, in the last of the
 * sleeps and for good; 0 = it was not.
 */
uint64_t query_moved_on(const struct query *query, uint32_t slot, const struct missed *missed);
/* Does it sleep, and is for nothing else? A read of a timer of its own does, too. */
bool query_sleeps(struct query *query, const struct wait *wait);
/* Is that sleep one that its own timer ended? */
bool query_is_nap(struct query *query, const struct wait *wait);

/* why_missed.c: the thread that did what it waited for, as inferred. query->slices is there. */
bool query_missed(struct query *query, uint32_t slot, const struct missed *missed,
		  struct answer *out_answer);

/*
 * unanswered.c: its time was up: who had been asked on the connection that it waited for, and what that one did. NULL =
 * it is not known, or it had not asked.
 */
const struct why_reason *query_unanswered(struct query *query, uint32_t slot,
					  const struct wait *wait);

/* gave_up.c: did it wait for a child up to a limit, and killed that then? */
bool query_gave_up(struct query *query, uint32_t slot, const struct wait *wait,
		   struct answer *out_answer);

/* why_asks.c: is the wait of a blocked interval a sleep between questions that were answered? */
bool query_answer(struct query *query, uint32_t slot, uint32_t word, const struct wait *wait,
		  struct answer *out_answer);
/* As from what it is inferred, or known: flock() of a file failed until somebody called close(). */
const struct why_reason *answer_reason(struct query *query, const struct answer *answer);
void asks_runs_free(struct asks_runs *runs); /* NULL is fine */

/* What why_clients.c found last: of a thread, from one of its waits to the next. */
struct client {
	uint32_t slot;	 /* SLOT_NONE = nothing yet */
	uint32_t client; /* SLOT_NONE = none, or not known */
	uint64_t from_ns, until_ns;
};

/* why_clients.c: the thread whose request a thread works at, or SLOT_NONE. */
uint32_t query_client(struct query *query, uint32_t slot, uint64_t time_ns, struct client *memo);

/* why_polls.c: of the thread's sleeps in the window. */
struct why_polls query_polls(struct query *query, uint32_t slot);

/*
 * why_told.c: what the thread said of itself at known points, in a wait, or of its work in most of
 * 'in' (*out_ns of it). NULL = nothing. The texts live as long as the result or opts->told.
 */
const char *query_told_wait(struct query *query, uint32_t slot, const struct wait *wait);
/* And what who ended the wait said just before; it may be of another one that it woke meanwhile. */
const char *query_told_waker(struct query *query, const struct wait *wait);
const char *query_told_work(struct query *query, uint32_t slot, const struct tl_interval *in,
			    uint64_t *out_ns);

/* charge_code.c: in which code the thread was then: a stack, or STACK_NONE. */
uint32_t code_of_wait(const struct query *query, uint32_t slot, const struct wait *wait);

/* charge.c: fills roots, chain. */
void charge_window(struct query *query);

/*
 * why_class.c: the spans of the target that are in the classes asked for, in order; free them with
 * free(). Returns how many.
 */
size_t query_class_spans(const struct query *query, struct tl_interval **out_spans);

/* summary.c: fills wib sums, lines, instances, syscalls. */
void summarise_window(struct query *query);

/* causality.c: fills waits; instances are linked to them. */
void explain_waits(struct query *query);

#endif
