/*
 * slices.c - one wait in slices: a wait with a limit, taken up again each time the limit ran out.
 *
 *	futex ──timer── futex ──timer── futex ──timer── futex ──W wakes──
 *	                look            look            look
 *	|<-------------------- one wait, ended by W ------------------->|
 *
 * Locks of Java and Python, conditions, event loops and databases wait like that. Nobody asked for
 * the time-outs, so all of the wait is what the last slice waited for. Two waits that follow each other
 * are slices of one where
 *
 *	- the first one was ended by its own time-out, and it was no sleep, or, among others that it
 *	  watched, by its own timerfd,
 *	- the second one is in the same call and on the same object: see same.c,
 *	- between them the thread only looked: calls that change nothing or that failed, and work for
 *	  LOOK_NS and a LOOK_PART of the slice at most; it may have waited that long for something else,
 *	  and for locks and pages of memory as long as it takes: the lock of a condition, Python's GIL.
 *	  One look may take LOOK_ONCE_NS if the one before and the one after it do not, or LOOK_RARE_NS if all looks
 *	  up to then are short all the same, taken together: a machine that is itself a guest is held up like
 *	  that, which looks like work, and runtimes tidy up now and then; a loop works each time.
 *
 * A wait that a signal broke off is a slice, too, where the same call waits for the same again: bash reads on from a
 * pipe when a job that has nothing to do with it ends. In between it may ask for children that ended.
 *
 * Who waits for several things by turns, for each with a limit, and only looks in between, waits for whichever comes
 * first: where all of them timed out for TURNS_LEAST rounds at least, the last slice may be of any of them.
 *
 *	mq A ──timer── mq B ──timer── mq A ──timer── mq B ──W sends──
 *
 * Threads with which a runtime serves itself wait for what it asks of them, and do its housework between two
 * slices: whatever they do then, the next wait for the same belongs to it.
 *
 * The last slice is the first one that was not ended by its own time-out; also one in which a signal ended the
 * thread, or asked it to end. Where the recording or the thread ends between two slices, as by SIGKILL, it would have
 * gone on for what it waited for. Without one, the thread has
 * given up, and its time-outs were what they are, unless why_missed.c knows better, or the last call
 * found something all the same: it came when the time was up already, before the thread had a CPU. Nothing behind the
 * end of the window counts, so that a cut of the window tells the same.
 *
 * Sleeps are never joined to what ended the last one. Where nothing lies between them that could have looked at
 * anything but memory, they go together only to ask why_missed.c who changed that.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/asks_int.h"
#include "analyse/why/process.h"
#include "base/map.h"
#include "base/mem.h"

#define LOOK_NS	     200000u
#define LOOK_PART    50u
#define LOOK_ONCE_NS 4000000u
#define LOOK_RARE_NS 20000000u
#define LOOKS_MAX    200000000u /* at threads of the trace: a bound on time, not on meaning */
#define BACK	     4u		/* waits before a slice, where the one before it is looked for */
#define EVEN_NS	     5000000u /* longer by no more, nor by an EVEN_PART: it came onto a CPU late */
#define EVEN_PART    4u
#define EVEN_MOST \
	8u /* one in so many may be: the timers of a machine that is itself a guest are late now and then */
#define TURNS_MOST  3u /* things beside the first one */
#define TURNS_LEAST 2u
#define TURN_PART   4u /* of the slice before: a limit is as long as the other ones, more or less */
#define TURN_NS	    10000000u /* at a futex: to take Python's GIL times out, too, and sooner */

/* All waits of a thread from 'first' to 'last' on one object are slices of one, or none of them is. */
struct slice_run {
	uint32_t first, last;
	bool is_joined;	  /* by 'last' */
	bool is_cut;	  /* joined, as 'last' would not have been the last one */
	bool is_reported; /* it wrote to its output in between, so that it is inferred */
	struct wait wait; /* one of them */
	bool is_missed;	  /* what came wakes nobody: 'answer' */
	struct answer answer;
};

/* A thread waits for several things by turns: for a condition, and for its lock. */
#define RUNS_KEPT 4u

/* What was found out last of a thread. */
struct slots_runs {
	struct slice_run kept[RUNS_KEPT];
	uint32_t count;
	uint32_t turns_until; /* index: before that one it waits for nothing by turns */
};

struct slice_runs {
	struct map by_slot; /* index into runs */
	struct slots_runs *runs;
	size_t count, cap;
	uint64_t looks; /* at threads, for what was missed */
};

void slice_runs_free(struct slice_runs *runs)
{
	if (!runs)
		return;
	map_fini(&runs->by_slot);
	free(runs->runs);
	free(runs);
}

static struct slots_runs *runs_of(struct query *query, uint32_t slot)
{
	struct slice_runs *runs = query->slices;
	uint64_t *found;

	if (!runs)
		runs = query->slices = xcalloc(1, sizeof(*runs));
	found = map_find(&runs->by_slot, slot);
	if (found)
		return &runs->runs[*found];
	runs->runs = vec_room(runs->runs, runs->count, &runs->cap, sizeof(*runs->runs));
	map_put(&runs->by_slot, slot, runs->count);
	runs->runs[runs->count] = (struct slots_runs){ 0 };
	return &runs->runs[runs->count++];
}

/* ------------------------------------------------------------------- a look */

bool query_is_on_the_way(struct query *query, const struct wait *wait)
{
	return word_kind(wait->in) != WORD_SYSCALL ||
	       strncmp(describe_word(query, word_make(WORD_SYSCALL, word_call(wait->in))), "futex",
		       strlen("futex")) == 0;
}

/*
 * It waits for any signal, and its own timer sent one: as a limit, where it waits on behind that. What the timer's
 * handler does are calls, or work.
 */
static bool is_tick(struct query *query, const struct wait *wait)
{
	return wait->waker.kind == ACTOR_TIMER && wait->waker.signal &&
	       word_kind(wait->in) == WORD_SYSCALL &&
	       asks_is_among(" pause rt_sigsuspend sigsuspend ", describe_in(query, wait));
}

static bool is_timed(struct query *query, const struct wait *wait)
{
	return wait->woken_ns &&
	       (wait_timed_out(query, wait) || query_is_nap(query, wait) || is_tick(query, wait) ||
		(wait->flags & WAIT_MANY && wait_ticks(query, wait)));
}

bool query_broken_off(struct query *query, const struct wait *wait)
{
	static const char for_signals[] =
		" wait4 waitid waitpid rt_sigsuspend rt_sigtimedwait sigsuspend pause ";

	return wait->woken_ns && wait->waker.kind == ACTOR_THREAD && wait->waker.signal &&
	       !(wait->flags & WAIT_MANY) && word_kind(wait->in) == WORD_SYSCALL &&
	       !query_sleeps(query, wait) &&
	       strncmp(timeline_name(query->tl, wait->object), "signalfd", 8) != 0 &&
	       !asks_is_among(for_signals, describe_in(query, wait));
}

/* One that a signal ended together with its thread is the last: what was awaited never came. */
static bool is_slice(struct query *query, uint32_t slot, uint32_t index, const struct wait *wait)
{
	return (is_timed(query, wait) || query_broken_off(query, wait)) &&
	       !query_ended_in(query, slot, index, wait);
}

/* What the handler of the signal calls, and how it returns. */
static bool is_of_handler(struct query *query, const struct wait *wait, const char *call)
{
	return (query_broken_off(query, wait) || is_tick(query, wait)) &&
	       asks_is_among(" wait4 waitid waitpid rt_sigreturn ", call);
}

/* What it waits for by turns with what the slices are of. */
struct turns {
	struct wait of[TURNS_MOST];
	uint32_t count;
	uint32_t next;	 /* of them */
	uint32_t rounds; /* in which each of them had timed out once, in the same order */
	uint32_t call;	 /* word of the call of the last one, while it is under way; 0 = none */
	bool is_off;	 /* they are not looked for */
};

/* How a thread goes on behind a slice. */
struct looking {
	struct query *query;
	uint32_t slot;
	struct wait slice;  /* the last one */
	uint32_t index;	    /* of that wait */
	uint64_t before_ns; /* when the one before it began; 0 = there was none */
	uint64_t ended_ns;  /* and when it ended; the same */
	bool is_long;	    /* this look takes long; 'was_long': the one before did */
	bool was_long;
	uint32_t sure;			/* index of the last slice before that one */
	uint32_t count;			/* of slices */
	uint64_t first_ns;		/* when the first one began */
	uint32_t uneven;		/* of these, longer than the one before, or shorter */
	uint64_t begins_ns[NAPS_LEAST]; /* of the last ones, by turns */
	uint64_t
		found_ns; /* when the call of that slice, or the next one, had found something; 0 = not */
	bool by_next;	     /* the next one did */
	uint32_t what;	     /* that the call of that slice was about; 0 = not known */
	bool took;	     /* and has taken it */
	uint64_t went_on_ns; /* when it was known that it does something else */
	uint64_t
		looked_ns; /* it ran first behind that slice, and had all locks that it needs to look */
	struct wait
		lock; /* that it needs to look: waited for between two slices; begin_ns 0 = none */
	struct wait asked;    /* the last lock since that slice; the same */
	struct let_go let_go; /* of that lock, since that slice, last */
	bool has_looked;      /* it waits for something else, behind that slice */
	uint32_t call;	      /* word of the call that is under way; 0 = none */
	uint64_t call_ns;     /* when it went on in that last */
	bool is_own;	      /* that of the slice */
	bool signalled;	      /* it sent a signal to its own process since that slice */
	uint32_t opened;      /* files, to read, since that slice, that are open still */
	bool has_no_set; /* it has closed one since that slice, and not made another one: see is_set_of_look() */
	bool has_opened;      /* there were some, behind any of the slices */
	bool has_reported;    /* it wrote to its output, the same, */
	uint32_t reports;     /* behind so many of them, */
	uint64_t reported_ns; /* and behind the last one, by then; 0 = not */
	uint32_t
		sent; /* channel that it put something into since, for itself to take out; 0 = none */
	uint64_t sent_ns; /* when that call began */
	bool serves;	  /* it is a thread with which a runtime serves itself */
	struct turns turns;
	uint32_t
		turns_until; /* index of a wait: before that one it waits for nothing by turns; 0 = not known */
	uint64_t worked_ns;	/* since that slice */
	uint64_t worked_all_ns; /* up to that slice, since the first one */
	uint64_t sliced_ns;	/* all of them together */
	uint64_t elsewhere_ns;	/* waited for something else since then, or not known what it did */
	bool is_cut;		/* it looked, and had found nothing, as it or the recording ended */
};

enum look {
	LOOK_ON,     /* nothing that is not a look */
	LOOK_OVER,   /* it does something else */
	LOOK_JOINED, /* 'index' is the last slice */
};

static enum look look_bound(const struct looking *looking, uint64_t ns)
{
	uint64_t slice_ns = looking->slice.woken_ns - looking->slice.begin_ns;

	return ns <= LOOK_NS + slice_ns / LOOK_PART ? LOOK_ON : LOOK_OVER;
}

/* Up to now all its looks together are as short as looks are: this one is by chance longer than most. */
static bool is_short_as_a_rule(const struct looking *looking)
{
	return looking->worked_all_ns + looking->worked_ns <=
	       looking->count * (uint64_t)LOOK_NS + looking->sliced_ns / LOOK_PART;
}

/* It has worked, all in all, since the slice. */
static enum look look_worked(struct looking *looking)
{
	if (look_bound(looking, looking->worked_ns) == LOOK_ON ||
	    (looking->worked_ns <= LOOK_RARE_NS && is_short_as_a_rule(looking)))
		return LOOK_ON;
	looking->is_long = true;
	return looking->was_long || looking->worked_ns > LOOK_ONCE_NS ? LOOK_OVER : LOOK_ON;
}

static bool is_uneven(uint64_t ns, uint64_t before_ns)
{
	return (ns > before_ns ? ns - before_ns : before_ns - ns) > EVEN_NS + before_ns / EVEN_PART;
}

/*
 * Is it longer than the last slice, or shorter? Not where all end as far from each other: who sleeps until a point in
 * time sleeps for less where it had no CPU before.
 */
static bool is_another_length(const struct looking *looking, const struct wait *wait)
{
	const struct wait *slice = &looking->slice;

	return is_uneven(wait->woken_ns - wait->begin_ns, slice->woken_ns - slice->begin_ns) &&
	       (!looking->ended_ns ||
		is_uneven(wait->woken_ns - slice->woken_ns, slice->woken_ns - looking->ended_ns));
}

/* One slice more. */
static void look_count(struct looking *looking, const struct wait *wait)
{
	looking->uneven += is_another_length(looking, wait);
	looking->first_ns = looking->count ? looking->first_ns : wait->begin_ns;
	looking->worked_all_ns += looking->worked_ns;
	looking->sliced_ns += wait->woken_ns - wait->begin_ns;
	looking->begins_ns[looking->count++ % NAPS_LEAST] = wait->begin_ns;
}

/* Is that a wait with a limit as the slice before it is, for something else? */
static bool is_turn(const struct looking *looking, const struct wait *wait)
{
	struct query *query = looking->query;
	uint64_t ns = wait->woken_ns - wait->begin_ns;
	uint64_t slice_ns = looking->slice.woken_ns - looking->slice.begin_ns;
	uint64_t address;

	if (!is_timed(query, wait) || query_sleeps(query, wait) ||
	    query_sleeps(query, &looking->slice) || wait->flags & WAIT_SERVER)
		return false;
	return ns >= slice_ns / TURN_PART && slice_ns >= ns / TURN_PART &&
	       (ns >= TURN_NS || !query_futex(query, wait, &address));
}

/* It waits for the next thing by turns. LOOK_OVER: it does not. */
static enum look look_at_turn(struct looking *looking, uint32_t index, const struct wait *wait)
{
	struct turns *turns = &looking->turns;
	bool is_known = turns->next < turns->count;

	if (turns->is_off || (is_known && !query_is_same(looking->query, looking->slot,
							 &turns->of[turns->next], wait)))
		return LOOK_OVER;
	if (is_turn(looking, wait)) {
		if (!is_known && (turns->rounds || turns->count == TURNS_MOST))
			return LOOK_OVER;
		if (!is_known)
			turns->of[turns->count++] = *wait;
		turns->next++;
		turns->call = wait->in;
		looking->worked_all_ns += looking->worked_ns;
		looking->sliced_ns += wait->woken_ns - wait->begin_ns;
		looking->worked_ns = 0;
		return LOOK_ON;
	}
	if (!is_known || turns->rounds < TURNS_LEAST ||
	    is_slice(looking->query, looking->slot, index, wait) || !wait->woken_ns ||
	    looking->is_long)
		return LOOK_OVER;
	looking->index = index;
	return LOOK_JOINED;
}

/* It comes back to the first thing: too early, or at last, and too rarely before? */
static bool is_out_of_turn(const struct turns *turns, bool goes_on)
{
	return turns->next < turns->count ||
	       (turns->count && !goes_on && turns->rounds + 1 < TURNS_LEAST);
}

/* It waits on for the same. */
static enum look look_at_slice(struct looking *looking, uint32_t index, const struct wait *wait)
{
	bool goes_on = is_slice(looking->query, looking->slot, index, wait);

	if ((looking->is_long && !goes_on) || looking->took || looking->sent || looking->opened ||
	    looking->has_no_set || is_out_of_turn(&looking->turns, goes_on))
		return LOOK_OVER;
	/* Another loop: sleeps of one are alike. */
	if (goes_on && query_sleeps(looking->query, wait) && is_another_length(looking, wait))
		return LOOK_OVER;
	if (!looking->is_long)
		looking->sure = index;
	looking->was_long = looking->is_long;
	looking->is_long = false;
	looking->index = index;
	if (!goes_on)
		return LOOK_JOINED;
	look_count(looking, wait);
	looking->turns.rounds += looking->turns.count > 0;
	looking->turns.next = 0;
	if (looking->asked.begin_ns)
		looking->lock = looking->asked;
	looking->before_ns = looking->slice.begin_ns;
	looking->ended_ns = looking->slice.woken_ns;
	looking->slice = *wait;
	looking->worked_ns = looking->elsewhere_ns = looking->found_ns = 0;
	looking->looked_ns = looking->asked.begin_ns = 0;
	looking->let_go.slot = SLOT_NONE;
	looking->has_looked = false;
	looking->what = 0;
	looking->by_next = looking->signalled = false;
	looking->reported_ns = 0;
	looking->call = looking->slice.in;
	looking->is_own = true;
	return LOOK_ON;
}

/* What it takes each time before it can look, such as Python's GIL: it has not looked yet. */
static void look_takes_lock(struct looking *looking, const struct wait *wait)
{
	looking->asked = *wait;
	if (!looking->lock.begin_ns ||
	    !query_is_same(looking->query, looking->slot, &looking->lock, wait))
		looking->has_looked |= word_kind(wait->in) == WORD_SYSCALL;
	if (looking->has_looked)
		return;
	looking->looked_ns = 0;
	if (wait->waker.kind == ACTOR_THREAD)
		looking->let_go = (struct let_go){ wait->waker.slot, wait->woken_ns };
}

static enum look look_at_wait(struct looking *looking, uint32_t index, uint64_t start_ns)
{
	struct wait wait;

	if (index == looking->index)
		return LOOK_ON;
	timeline_wait(looking->query->tl, looking->slot, index, &wait);
	if (!query_is_same(looking->query, looking->slot, &looking->slice, &wait)) {
		uint64_t until_ns = wait.woken_ns ? wait.woken_ns : looking->query->tl->end_ns;

		enum look look;

		if (looking->serves)
			return LOOK_ON;
		look = look_at_turn(looking, index, &wait);
		if (look != LOOK_OVER)
			return look;
		if (query_is_on_the_way(looking->query, &wait)) {
			look_takes_lock(looking, &wait);
			return LOOK_ON;
		}
		looking->elsewhere_ns += until_ns > start_ns ? until_ns - start_ns : 0;
		return look_bound(looking, looking->elsewhere_ns);
	}
	return look_at_slice(looking, index, &wait);
}

/* Shells redirect for each look: what they close is open still. */
static bool is_copy_closed(const struct looking *looking, uint32_t call, uint32_t word)
{
	return word_has(word, WORD_MADE) && strcmp(asks_name(looking->query, call), "close") == 0;
}

/* A server looks into /proc now and then: it opens a file, and neither makes nor empties it, reads it, and closes it. */
static bool is_file_read(struct looking *looking, uint32_t call, uint32_t word)
{
	const char *name = asks_name(looking->query, call);

	if (asks_is_among(" open openat openat2 ", name)) {
		bool reads = !word_has(word, WORD_MADE) && !word_emptied(word);

		looking->opened += reads;
		looking->has_opened |= reads;
		return reads;
	}
	if (!looking->opened || strcmp(name, "close") != 0)
		return false;
	looking->opened--;
	return true;
}

/* Who has an epoll set for each look makes one for each that it has closed. */
static bool is_set_of_look(struct looking *looking, uint32_t call)
{
	const char *name = asks_name(looking->query, call);

	if (!asks_is_among(" epoll_wait epoll_pwait epoll_pwait2 ",
			   asks_name(looking->query, looking->slice.in)))
		return false;
	if (looking->has_no_set ? !asks_is_among(" epoll_create epoll_create1 ", name)
				: strcmp(name, "close") != 0)
		return false;
	looking->has_no_set = !looking->has_no_set;
	return true;
}

/*
 * Who says how far it is, again and again, waits on for the same descriptors. Of other waits, now and then: who has
 * something to say each time has them to keep time.
 */
static bool is_report(struct looking *looking, uint32_t call, uint32_t word, uint64_t end_ns)
{
	if (!asks_is_report(looking->query, call, word, false))
		return false;
	looking->has_reported = true;
	if (!looking->reported_ns) {
		looking->reports++;
		looking->reported_ns = end_ns;
	}
	return asks_is_watch(looking->query, looking->slice.in) ||
	       asks_reports_seldom(looking->reports, looking->count);
}

/* The next call need not sleep: what it finds came since the last slice. A futex call may have woken somebody. */
static bool is_next(const struct looking *looking, uint32_t call, uint32_t word)
{
	if (call != looking->slice.in)
		return false;
	if (asks_is_watch(looking->query, call))
		return true;
	return asks_takes(looking->query, call) && word_was_what(word) == looking->what &&
	       (looking->what || looking->slice.fd < 0);
}

#define CALLS_SIGNAL " kill tgkill tkill "

/*
 * A handler of signals wakes the loop of its own thread by a signal that a signalfd takes, or by a byte in a pipe:
 * what the loop finds then is what the thread sent itself.
 */
static bool sends_to_itself(struct looking *looking, uint32_t call, uint32_t word)
{
	const struct tl_thread *thread = looking->query->tl->threads[looking->slot];
	const char *name = asks_name(looking->query, call);
	uint32_t channel = word_was_channel(word);

	if (asks_is_among(CALLS_SIGNAL, name)) {
		looking->signalled |=
			word_was_about(word) == word_about((uint64_t)thread_process(thread)) &&
			!word_found_nothing(word);
		return false; /* a look, or not, by itself */
	}
	if (!channel)
		return false;
	if (!looking->sent && asks_is_among(" write send sendto ", name)) {
		looking->sent = channel;
		looking->sent_ns = looking->call_ns;
		return true;
	}
	if (channel != looking->sent || !asks_takes(looking->query, call))
		return false;
	looking->sent = 0;
	return true;
}

/* The call that was under way has ended as 'word', from 'end_ns' on, says. */
static enum look look_at_end(struct looking *looking, uint32_t word, uint64_t end_ns)
{
	uint32_t call = looking->call;
	bool is_own = looking->is_own;

	looking->call = 0;
	looking->is_own = false;
	if (call && call == looking->turns.call) {
		looking->turns.call = 0;
		return word_error(word) || word_found_nothing(word) ? LOOK_ON : LOOK_OVER;
	}
	if (query_sleeps(looking->query, &looking->slice))
		return !call || is_own || call_is(looking->query, call, CALL_MUTE) ||
				       is_report(looking, call, word, end_ns)
			       ? LOOK_ON
			       : LOOK_OVER;
	if (is_own)
		looking->what = word_was_what(word);
	if (!call || word_error(word))
		return LOOK_ON;
	/* As timeout(1) ends its child when its time is up. */
	if (!is_own && is_tick(looking->query, &looking->slice) &&
	    asks_is_among(CALLS_SIGNAL, asks_name(looking->query, call)))
		return LOOK_OVER;
	if (!is_own &&
	    (is_report(looking, call, word, end_ns) || sends_to_itself(looking, call, word)))
		return LOOK_ON;
	if (is_own || is_next(looking, call, word)) {
		if (!word_found_nothing(word) && !wait_ticks(looking->query, &looking->slice) &&
		    !asks_is_ring(looking->query, call) && !looking->signalled && !looking->sent) {
			looking->found_ns = end_ns;
			looking->by_next = !is_own;
			looking->took = asks_takes(looking->query, call);
		}
		return LOOK_ON;
	}
	looking->took |= looking->found_ns && asks_takes(looking->query, call);
	return call_is(looking->query, call, CALL_LOOKS) || is_copy_closed(looking, call, word) ||
			       is_file_read(looking, call, word) || is_set_of_look(looking, call) ||
			       is_of_handler(looking->query, &looking->slice,
					     asks_name(looking->query, call))
		       ? LOOK_ON
		       : LOOK_OVER;
}

static enum look look_at(struct looking *looking, const struct tl_interval *in)
{
	enum look look = LOOK_ON;

	if (!looking->looked_ns && word_wib(in->word) == WIB_WORKING)
		looking->looked_ns = in->start_ns;
	if (looking->serves && word_kind(in->word) != WORD_BLOCKED)
		return word_kind(in->word) == WORD_NONE ? LOOK_OVER : LOOK_ON;
	switch (word_kind(in->word)) {
	case WORD_NONE:
		return LOOK_OVER;
	case WORD_UNCERTAIN: /* too short to do much, or of no length */
		looking->elsewhere_ns += in->end_ns - in->start_ns;
		return look_bound(looking, looking->elsewhere_ns);
	case WORD_BLOCKED:
		return look_at_wait(looking, word_arg(in->word), in->start_ns);
	case WORD_USER:
		look = look_at_end(looking, in->word, in->start_ns);
		break;
	case WORD_SYSCALL:
		if (looking->call && looking->call != word_plain(in->word))
			look = look_at_end(looking, word_make(WORD_USER, 0), in->start_ns);
		looking->call = word_plain(in->word);
		looking->call_ns = in->start_ns;
		break;
	default:
		if (word_wib(in->word) != WIB_WORKING)
			return LOOK_ON;
		break;
	}
	/* In the call that waits it may spin first, or look at many descriptors: that belongs to the wait. */
	if (word_kind(in->word) != WORD_SYSCALL || looking->call != word_plain(looking->slice.in))
		looking->worked_ns += in->end_ns - in->start_ns;
	return look == LOOK_ON ? look_worked(looking) : look;
}

/* ----------------------------------------------------------------- a run */

/* It waits no more, for it ends. Who is killed does not go on. */
static bool ends_itself(const struct looking *looking)
{
	const struct query *query = looking->query;

	return query->tl->threads[looking->slot]->died &&
	       query->tl->threads[looking->slot]->death_ns <= query->end_ns &&
	       (query_sleeps(looking->query, &looking->slice) ||
		(looking->call && !looking->is_own &&
		 asks_is_among(" exit exit_group ", asks_name(looking->query, looking->call))));
}

/* It does not take out what it put in, for longer than a look takes, or ends: that was no signal of its own. */
static bool is_output(const struct looking *looking)
{
	const struct query *query = looking->query;
	const struct tl_thread *thread = query->tl->threads[looking->slot];
	uint64_t known_ns = query_known_ns(query, looking->slot);

	return looking->sent && ((thread->died && thread->death_ns <= query->end_ns) ||
				 look_bound(looking, known_ns - looking->sent_ns) == LOOK_OVER);
}

/* It said something, and waited no more: it went on by then. */
static bool says_so_at_last(const struct looking *looking)
{
	return looking->reported_ns && !asks_is_watch(looking->query, looking->slice.in) &&
	       (!looking->went_on_ns || looking->reported_ns < looking->went_on_ns);
}

/* Somebody asked it to end in the last slice, and it waited no more: what was awaited never came. */
static bool is_asked_to_end(const struct looking *looking)
{
	return looking->count > 1 && signal_asks_to_end(looking->slice.waker.signal) &&
	       query_broken_off(looking->query, &looking->slice);
}

/* Of signals, those that a thread's own code brings about, as a rule. */
#define OWN_SIGNALS " SIGABRT SIGBUS SIGFPE SIGILL SIGSEGV SIGSYS SIGTRAP "

/*
 * It made no other call as it ended, such as kill() or exit(), and not by a fault of its own: somebody else ended it.
 * Lean events have no such calls: there a signal is known to have ended it, or it ended itself.
 */
static bool is_ended_by_others(const struct looking *looking)
{
	const struct timeline *tl = looking->query->tl;
	const struct tl_thread *thread = tl->threads[looking->slot];
	uint32_t main = timeline_find_thread(tl, thread->tgid, thread->death_ns);
	const char *by = main == SLOT_NONE ? "" : timeline_name(tl, tl->threads[main]->killed_by);
	AUTO_FREE char *signal = xstrndup(by, strcspn(by, " :"));

	return thread->death_ns <= looking->query->end_ns && !looking->signalled &&
	       (!looking->call || looking->is_own ||
		looking->call == word_plain(looking->slice.in)) &&
	       (*signal || !looking->query->facts->is_lean) && !asks_is_among(OWN_SIGNALS, signal);
}

/* Time-outs up to the end of the recording, or of the thread, which did not end itself: it would have gone on. */
static bool is_cut_off(const struct looking *looking)
{
	const struct query *query = looking->query;
	const struct tl_thread *thread = query->tl->threads[looking->slot];

	return looking->count > 1 && !looking->went_on_ns && !looking->found_ns &&
	       !looking->was_long && !looking->is_long && !looking->sent && !looking->opened &&
	       !looking->turns.count && is_timed(looking->query, &looking->slice) &&
	       !query_sleeps(looking->query, &looking->slice) &&
	       (thread->died ? is_ended_by_others(looking) : query->end_ns >= query->tl->end_ns);
}

/* When it went on. Of sleeps, who else ends when it does has changed nothing. */
static uint64_t end_ns(const struct looking *looking)
{
	return query_sleeps(looking->query, &looking->slice) ? looking->slice.woken_ns
							     : looking->call_ns;
}

static bool look_through(struct looking *looking)
{
	struct query *query = looking->query;
	enum look look = LOOK_ON;
	struct tl_interval in;
	struct tl_iter iter;

	looking->sure = looking->index;
	looking->call = looking->slice.in;
	looking->is_own = true;
	looking->went_on_ns = looking->found_ns = looking->looked_ns = 0;
	looking->lock.begin_ns = looking->asked.begin_ns = 0;
	looking->let_go.slot = SLOT_NONE;
	looking->has_looked = false;
	looking->what = 0;
	looking->by_next = looking->took = looking->signalled = false;
	looking->has_opened = looking->has_reported = looking->has_no_set = false;
	looking->reported_ns = 0;
	looking->reports = 0;
	looking->serves = why_serves_runtime(
		timeline_name(query->tl, query->tl->threads[looking->slot]->comm));
	looking->sent = looking->opened = 0;
	looking->count = 0;
	looking->worked_ns = looking->worked_all_ns = looking->sliced_ns = 0;
	looking->ended_ns = 0;
	look_count(looking, &looking->slice);
	tl_iter_thread(&iter, query->tl, looking->slot, looking->slice.woken_ns,
		       query_known_ns(query, looking->slot));
	while (look == LOOK_ON && tl_iter_entry(&iter, &in))
		look = look_at(looking, &in);
	if (look == LOOK_OVER)
		looking->went_on_ns = in.end_ns;
	else if (look == LOOK_ON && is_output(looking))
		looking->went_on_ns = looking->sent_ns;
	else if (look == LOOK_ON && ends_itself(looking))
		looking->went_on_ns = end_ns(looking);
	if (look != LOOK_JOINED && says_so_at_last(looking))
		looking->went_on_ns = looking->reported_ns;
	/* Nothing behind a long look tells that it was one. */
	if (look != LOOK_JOINED && looking->was_long && looking->index != looking->sure) {
		looking->index = looking->sure;
		looking->went_on_ns = looking->found_ns = 0;
	}
	looking->is_cut = look == LOOK_ON && is_cut_off(looking);
	return look == LOOK_JOINED || looking->is_cut || is_asked_to_end(looking);
}

/* Go on from that slice. Returns whether the last one was ended by what it waited for. */
static bool look_on(struct looking *looking)
{
	struct looking all = *looking;
	bool is_joined = look_through(&all);

	if (is_joined || !all.turns.count) {
		*looking = all;
		return is_joined;
	}
	/* By turns it waited for nothing. */
	looking->turns.is_off = true;
	looking->turns_until = all.index;
	return look_through(looking);
}

/* When the slice before the only one that 'looking' has seen began; 0 = there is none. */
static uint64_t before_ns(const struct looking *looking)
{
	struct looking earlier = { .query = looking->query,
				   .slot = looking->slot,
				   .turns = { .is_off = true } };

	for (uint32_t i = 1; i <= BACK && i <= looking->index; i++) {
		earlier.index = looking->index - i;
		timeline_wait(looking->query->tl, looking->slot, earlier.index, &earlier.slice);
		if (!is_timed(looking->query, &earlier.slice) ||
		    !query_is_same(looking->query, looking->slot, &earlier.slice, &looking->slice))
			continue;
		(void)look_on(&earlier);
		return earlier.index >= looking->index ? earlier.before_ns : 0;
	}
	return 0;
}

/* Whom it woke behind the last slice had done nothing before: it had looked by then. */
static uint64_t first_wake_ns(const struct looking *looking, uint64_t until_ns)
{
	struct tl_edge_iter iter;
	struct tl_edge edge;

	tl_edges_begin(&iter, looking->query->tl, looking->slot, looking->slice.woken_ns, until_ns);
	return tl_edges_next(&iter, &edge) ? edge.time_ns : until_ns;
}

static struct missed missed_of(const struct looking *looking)
{
	const struct tl_thread *thread = looking->query->tl->threads[looking->slot];
	struct missed missed = { .slot = looking->slot,
				 .last = looking->slice,
				 .went_on_ns = looking->went_on_ns,
				 .found_ns = looking->found_ns,
				 .by_next = looking->by_next,
				 .first_ns = looking->first_ns,
				 .count = looking->count,
				 .is_even = looking->uneven * EVEN_MOST <= looking->count };
	struct wait next;

	if (looking->count >= NAPS_LEAST)
		missed.since_ns = looking->begins_ns[looking->count % NAPS_LEAST];
	missed.before_ns = looking->before_ns ? looking->before_ns : before_ns(looking);
	if (looking->index + 1 < thread->wait_count) {
		timeline_wait(looking->query->tl, looking->slot, looking->index + 1, &next);
		if (next.begin_ns < missed.went_on_ns)
			missed.went_on_ns = next.begin_ns;
	}
	if (missed.went_on_ns)
		missed.went_on_ns = first_wake_ns(looking, missed.went_on_ns);
	missed.let_go = looking->let_go;
	missed.looked_ns = looking->looked_ns ? looking->looked_ns : missed.went_on_ns;
	return missed;
}

/* It reads files, or says something too often, so that the time-outs may be for that. */
static bool does_more(const struct looking *looking)
{
	return looking->has_opened || !asks_reports_seldom(looking->reports, looking->count);
}

/* The last of some time-outs, behind which it went on. */
static bool is_missed(const struct looking *looking, struct answer *out_answer)
{
	struct missed missed;

	if ((!looking->went_on_ns && !looking->found_ns) ||
	    (does_more(looking) && !looking->found_ns) || looking->query->slices->looks > LOOKS_MAX)
		return false;
	looking->query->slices->looks += looking->query->tl->thread_count;
	missed = missed_of(looking);
	return query_missed(looking->query, looking->slot, &missed, out_answer);
}

static struct slice_run find_run(struct query *query, uint32_t slot, uint32_t index,
				 const struct wait *wait, uint32_t *turns_until)
{
	struct looking looking = { .query = query,
				   .slot = slot,
				   .slice = *wait,
				   .index = index,
				   .turns = { .is_off = index < *turns_until } };
	struct slice_run run = { .first = index, .wait = *wait };

	run.is_joined = look_on(&looking);
	if (looking.turns_until)
		*turns_until = looking.turns_until;
	run.is_cut = looking.is_cut;
	run.is_reported = looking.has_reported;
	run.last = looking.index;
	run.is_missed = !run.is_joined && is_timed(query, &looking.slice) &&
			is_missed(&looking, &run.answer);
	return run;
}

/* The one that is over first: short waits for a lock, between long ones for something else, are over soon. */
static struct slice_run *run_to_replace(struct slots_runs *runs)
{
	struct slice_run *first = &runs->kept[0];

	if (runs->count < RUNS_KEPT)
		return &runs->kept[runs->count++];
	for (uint32_t i = 1; i < RUNS_KEPT; i++) {
		if (runs->kept[i].last < first->last)
			first = &runs->kept[i];
	}
	return first;
}

static const struct slice_run *run_of(struct query *query, uint32_t slot, uint32_t index,
				      const struct wait *wait)
{
	struct slots_runs *runs = runs_of(query, slot);
	struct slice_run *run, found;

	for (uint32_t i = 0; i < runs->count; i++) {
		run = &runs->kept[i];
		if (index >= run->first && index <= run->last &&
		    query_is_same(query, slot, &run->wait, wait))
			return run;
	}
	found = find_run(query, slot, index, wait, &runs->turns_until);
	run = run_to_replace(runs);
	*run = found;
	return run;
}

/* Was the wait ended by another thread of the same process? */
static bool is_helper(const struct query *query, uint32_t slot, const struct wait *wait)
{
	uint32_t by = wait->waker.slot;

	return wait->waker.kind == ACTOR_THREAD && by < query->tl->thread_count && by != slot &&
	       query_is_one_process(query, by, slot);
}

bool query_slice(struct query *query, uint32_t slot, uint32_t word, const struct wait *wait,
		 struct last_slice *out_last)
{
	uint32_t index = word_arg(word);
	const struct slice_run *run;
	bool is_cut;

	if (!is_slice(query, slot, index, wait) || query_sleeps(query, wait))
		return false;
	run = run_of(query, slot, index, wait);
	*out_last = (struct last_slice){ .slot = slot };
	if (run->is_joined && run->is_reported)
		out_last->inferred = why_reason_keep(
			query->why, &(struct why_reason){ .kind = WHY_REASON_REPORTED,
							  .call = describe_in(query, wait) });
	is_cut = run->is_joined && run->is_cut;
	/* Another thread of the process may go on for it, which cuts nothing off. */
	if (is_timed(query, wait) && (is_cut || !run->is_joined) &&
	    query_turn(query, slot, wait, &out_last->slot, &index))
		is_cut = false;
	else if (run->is_joined)
		index = run->last;
	else
		return false;
	timeline_wait(query->tl, out_last->slot, index, &out_last->wait);
	out_last->word = word_make(WORD_BLOCKED, index);
	if (is_cut)
		wait_cut_off(&out_last->wait);
	/* Its own helper asked meanwhile, and told it of that: the answer says more; so does any to what is cut off. */
	return (!is_cut && !is_helper(query, slot, &out_last->wait)) ||
	       !query_answer(query, slot, word, wait, &(struct answer){ 0 });
}

bool query_gone_on(struct query *query, uint32_t slot, uint32_t word, const struct wait *wait,
		   struct answer *out_answer)
{
	const struct slice_run *run;

	if (!is_timed(query, wait))
		return false;
	run = run_of(query, slot, word_arg(word), wait);
	if (run->is_missed)
		*out_answer = run->answer;
	return run->is_missed;
}
