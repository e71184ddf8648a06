/*
 * asks.c - sleeps between questions: a call that fails, or finds nothing, until it succeeds.
 *
 *	flock EAGAIN ──sleep── flock EAGAIN ──sleep── flock EAGAIN ──sleep── flock 0
 *	                                      |<--- W: flock --->|
 *	|<-------------------- held up by W, as we infer ----------------------->|
 *
 * Nothing wakes who asks, so who had it wait is inferred, and told as such: the one process that did
 * what can have changed the answer, between the last call that got the old one and the call that got
 * the new one. Where several did, or nobody, nothing is said, and the sleeps are what they are.
 *
 * Sleeps that follow each other belong together where
 *
 *	- each of them is ended by its own timer, and all are in the same call, or each is a wait for a
 *	  child that did nothing but sleep, as shells do,
 *	- before each of them the same call fails in the same way, of the same as far as that is told,
 *	  or a child makes it and fails (mkdir, flock -n), whether the thread sleeps itself or by a child,
 *	- in between the thread does little more: output behind every second look at most, by which it says
 *	  how long it has waited, and work for LOOK_NS and a LOOK_PART of the sleep at most; for LOOK_ONCE_NS
 *	  where it did not before and does not behind it, for a machine that is itself a guest is held
 *	  up like that, which looks like work; for LOOK_RARE_NS if all its work between them is as little as that,
 *	  taken together. It waits for locks, as Python's GIL, as long as it takes.
 *
 * At least LEAST of them, for one may be chance. That it fails in another way, as it did not before, is an
 * answer, too: a socket is bound, and does not listen yet. The same where a file is looked at that is there each time,
 * until it is not (ENOENT), if it is told which one it was, and who took it away.
 *
 * Where the recorder told who had the file lock that was asked for, that is known, and each sleep is
 * charged to who had it then: also where the lock was given up, or the thread says each time that it waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/asks_int.h"
#include "base/mem.h"
#include "event/facts.h"

#define LOOK_NS	      300000u
#define LOOK_PART     20u
#define LOOK_ONCE_NS  4000000u
#define LOOK_RARE_NS  20000000u
#define LEAST	      2u
#define BACK	      8u       /* waits before a sleep that may lie in the gap before it, */
#define BACK_ALL      64u      /* with those for locks */
#define SHELL_NS      5000000u /* instead of LOOK_NS where a child sleeps: it has to be made */
#define SHELL_ONCE_NS 20000000u
#define CALLS_WAIT    " wait4 waitid waitpid "

/* ------------------------------------------------------------------ a question */

struct asks_runs *asks_runs(struct query *query)
{
	if (!query->asks)
		query->asks = xcalloc(1, sizeof(*query->asks));
	return query->asks;
}

void asks_runs_free(struct asks_runs *runs)
{
	if (!runs)
		return;
	process_asks_fini(runs);
	process_looks_fini(runs);
	free(runs->children);
	map_fini(&runs->by_slot);
	free(runs->runs);
	free(runs);
}

bool asks_hides_calls(const struct tl_interval *unsure)
{
	uint32_t why = word_arg(unsure->word);

	return why != UNSURE_SWITCH && why != UNSURE_WAKING && unsure->end_ns > unsure->start_ns;
}

bool asks_is_nap_of_child(struct query *query, uint32_t slot, const struct wait *wait)
{
	const struct timeline *tl = query->tl;
	uint32_t child = wait->waker.slot;

	return wait->woken_ns && wait->waker.kind == ACTOR_THREAD && child < tl->thread_count &&
	       tl->threads[child]->parent < tl->thread_count &&
	       word_kind(wait->in) == WORD_SYSCALL &&
	       tl->threads[tl->threads[child]->parent]->tgid == tl->threads[slot]->tgid &&
	       tl->threads[child]->tgid != tl->threads[slot]->tgid &&
	       asks_is_among(" wait4 waitid waitpid rt_sigsuspend ", asks_name(query, wait->in)) &&
	       asks_only_slept(query, child);
}

/* It waits for signals, of which its own timer sends one each time. */
static bool is_alarm(struct query *query, const struct wait *wait)
{
	return wait->woken_ns && wait->waker.kind == ACTOR_TIMER && wait->waker.signal &&
	       word_kind(wait->in) == WORD_SYSCALL &&
	       asks_is_among(" pause rt_sigsuspend rt_sigtimedwait ", asks_name(query, wait->in));
}

bool asks_is_nap(struct query *query, uint32_t slot, const struct wait *wait)
{
	bool by_timer = wait->flags & WAIT_TIMED_OUT || wait->waker.kind == ACTOR_TIMER;

	if (asks_is_nap_of_child(query, slot, wait) || is_alarm(query, wait))
		return true;
	return wait->woken_ns && by_timer && !wait->waker.signal && !(wait->flags & WAIT_SERVER) &&
	       (wait_sleeps(query, wait) || wait_timed_out(query, wait) || wait_ticks(query, wait));
}

struct asking {
	struct query *query;
	uint32_t slot;
	struct wait nap;      /* the last one */
	struct wait first;    /* and the first one */
	uint32_t index, naps; /* of it; how many so far */
	uint32_t reports;     /* of the gaps between them, with output; and this one has some */
	bool has_reported;
	struct question asked; /* before each of them */
	bool in_gap;	       /* and since the last nap */
	bool by_child;	       /* others sleep for it */
	uint32_t call;	       /* word of the call that is under way; 0 = none */
	uint64_t call_ns;      /* when it began */
	uint64_t vain_ns;      /* when the last call in vain began */
	uint64_t
		got_ns; /* when the call that got it had ended; 0 = none did since the last in vain */
	uint64_t
		again_ns; /* when it asked in vain behind that: for the same only if it sleeps on; 0 = not */
	uint64_t worked_ns, elsewhere_ns; /* since the last nap */
	uint64_t worked_all_ns,
		napped_ns;	/* since the first nap: up to the last one, and all of them */
	uint64_t looked_ns;	/* worked since the last nap, until it got it */
	bool is_long, was_long; /* it worked longer than it takes to ask; and so before that nap */
	bool is_rare;		/* it may, if all of them together are short */
	bool until_gone;	/* what was asked for was there each time */
	bool only_gone;		/* the other questions had no answer */
	bool is_process;	/* threads of a process ask, and sleep, for each other */
	bool is_borrowed; /* the question, of the nap behind it: what this one says is of another */
	bool known;	  /* who had the lock at each nap */
	bool is_open;	  /* it was ended in the last nap, or that was not over */
	uint64_t asked_ns; /* when the last child that was looked at was born */
	uint32_t asker;	   /* slot: the child that made the call last; SLOT_NONE = it itself did */
	uint32_t usual;	   /* another error of the same, as often as it asks */
	bool by_program;   /* it sleeps itself, and programs that it runs ask */
	bool nap_over;	   /* the call that the last nap was in has ended */
};

enum next {
	NEXT_ON,
	NEXT_OVER,
	NEXT_ANSWERED
};

static bool is_bound(const struct asking *asking, uint64_t ns)
{
	uint64_t nap_ns = asking->nap.woken_ns - asking->nap.begin_ns;

	return ns <= (asking->by_child ? SHELL_NS : LOOK_NS) + nap_ns / LOOK_PART;
}

static enum next bound(const struct asking *asking, uint64_t ns)
{
	return is_bound(asking, ns) ? NEXT_ON : NEXT_OVER;
}

/* All that it worked between its naps is as little as it takes to ask that often. */
static bool is_short_as_a_rule(const struct asking *asking)
{
	return asking->worked_all_ns + asking->looked_ns <=
	       asking->naps * (uint64_t)(asking->by_child ? SHELL_NS : LOOK_NS) +
		       asking->napped_ns / LOOK_PART;
}

/* It has worked, all in all, since the nap. */
static enum next bound_work(struct asking *asking)
{
	asking->looked_ns = asking->got_ns ? asking->looked_ns : asking->worked_ns;
	if (is_bound(asking, asking->worked_ns) ||
	    (asking->is_rare && !asking->got_ns && asking->worked_ns <= LOOK_RARE_NS))
		return NEXT_ON;
	asking->is_long = true;
	return asking->was_long ||
			       asking->worked_ns > (asking->by_child ? SHELL_ONCE_NS : LOOK_ONCE_NS)
		       ? NEXT_OVER
		       : NEXT_ON;
}

/* A sleep after a file lock was refused, and it is known who had it. */
static bool knows_holder(const struct query *query, const struct wait *wait)
{
	const uint32_t flags = WAIT_ASKED | WAIT_EXPECTS;

	return ((wait->flags & flags) == flags ||
		(wait_asked(wait) && wait->origin.kind == ACTOR_THREAD)) &&
	       wait->origin.slot < query->tl->thread_count;
}

/* The same, or one that was not told. Of other waits the object is not what was asked for. */
static bool same_object(const struct wait *one, const struct wait *other)
{
	if (!(one->flags & other->flags & WAIT_ASKED))
		return true;
	return one->object == other->object || (!one->object && one->fd < 0) ||
	       (!other->object && other->fd < 0);
}

/* A shell asks whether a child has ended: it learns that with the end of any other one, too. */
static bool is_child_question(const struct asking *asking)
{
	return asking->by_child && asking->asker == SLOT_NONE && asking->asked.call &&
	       asks_is_among(CALLS_WAIT, asks_name(asking->query, asking->asked.call));
}

/* Such a loop that runs programs, too, or goes on behind the answer, was not for that. */
static bool runs_program(struct query *query, uint32_t slot)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_begin(&iter, query->tl, &thread->track, thread->birth_ns, thread->death_ns);
	while (tl_iter_entry(&iter, &in)) {
		if (word_kind(in.word) == WORD_SYSCALL &&
		    asks_is_among(" execve execveat ", asks_name(query, word_plain(in.word))))
			return true;
	}
	return false;
}

/* Another child that slept, and was there before the question, ended the last one: this is the rest of it. */
static bool is_rest_of_nap(const struct asking *asking, const struct wait *wait)
{
	const struct timeline *tl = asking->query->tl;
	uint32_t child = asking->nap.waker.slot;

	return asking->by_child && !asking->in_gap &&
	       (!asking->got_ns || is_child_question(asking)) && wait->in == asking->nap.in &&
	       asking->nap.waker.kind == ACTOR_THREAD && child < tl->thread_count &&
	       tl->threads[child]->birth_ns < asking->vain_ns;
}

/* A child that was there before that does not sleep for it. */
static bool is_made_since(const struct asking *asking, const struct wait *wait, uint64_t time_ns)
{
	const struct timeline *tl = asking->query->tl;
	uint32_t child = wait->waker.slot;

	return !asking->by_child || wait->waker.kind != ACTOR_THREAD || child >= tl->thread_count ||
	       tl->threads[child]->birth_ns > time_ns;
}

/* The next nap: it belongs to the others if the question came before it, in vain again. */
static enum next take_nap(struct asking *asking, uint32_t index, const struct wait *wait)
{
	if (asking->again_ns && is_made_since(asking, wait, asking->again_ns)) {
		asking->vain_ns = asking->again_ns;
		asking->again_ns = asking->got_ns = 0;
		asking->in_gap = true;
	}
	if (is_rest_of_nap(asking, wait)) {
		asking->nap = *wait;
		asking->index = index;
		asking->call = 0;
		return NEXT_ON;
	}
	if (asking->got_ns && is_child_question(asking))
		asking->got_ns = 0;
	if (asking->got_ns || wait->in != asking->nap.in ||
	    !(asking->is_borrowed || same_object(wait, &asking->nap)) || !asking->in_gap ||
	    asking->known != knows_holder(asking->query, wait))
		return NEXT_OVER;
	asking->worked_all_ns += asking->worked_ns;
	asking->napped_ns += wait->woken_ns - wait->begin_ns;
	asking->nap = *wait;
	asking->index = index;
	asking->is_borrowed = false;
	asking->naps++;
	asking->has_reported = false;
	asking->was_long = asking->is_long;
	asking->is_long = false;
	asking->in_gap = asking->nap_over = false;
	asking->worked_ns = asking->elsewhere_ns = 0;
	asking->call = 0;
	return NEXT_ON;
}

/* A child asked in its stead. */
static enum next take_child(struct asking *asking, uint32_t child)
{
	struct question asked = { .call = asking->asked.call };
	struct tl_interval call = { 0 };
	uint64_t birth_ns = asking->query->tl->threads[child]->birth_ns;
	enum outcome outcome;
	bool is_other;

	if (birth_ns <= asking->asked_ns)
		return NEXT_ON;
	asking->asked_ns = birth_ns;
	outcome = asks_asked_by_child(asking->query, child, &asked, &call);
	if (outcome == NEITHER || asked.call != asking->asked.call)
		return NEXT_ON;
	if (asking->got_ns)
		return NEXT_OVER; /* the loop has ended: this is another one's */
	is_other = asked.about && asking->asked.about && asked.about != asking->asked.about;
	if (outcome == GOT_IT) {
		asking->got_ns = is_other ? 0 : call.end_ns;
		asking->asker = is_other ? asking->asker : child;
		return NEXT_ON;
	}
	asking->asker = child;
	if (asked.error != asking->asked.error || is_other)
		return NEXT_OVER;
	if (asked.about)
		asking->asked.about = asked.about;
	asking->in_gap = true;
	asking->vain_ns = call.start_ns;
	asking->got_ns = 0;
	return NEXT_ON;
}

/* Children have ended before the shell waited for them: it had no CPU meanwhile. */
static enum next take_reaped(struct asking *asking, uint64_t end_ns)
{
	struct query *query = asking->query;
	enum next next = NEXT_ON;

	for (uint32_t i = 0; i < BACK && next == NEXT_ON; i++) {
		uint64_t after_ns = asking->asked_ns > asking->nap.woken_ns ? asking->asked_ns
									    : asking->nap.woken_ns;
		uint32_t child = asks_next_child(query, asking->slot, after_ns);

		if (child == SLOT_NONE || !query->tl->threads[child]->died ||
		    query->tl->threads[child]->death_ns > end_ns ||
		    query->asks->looks++ >= ASKS_LOOKS_MAX)
			break;
		next = take_child(asking, child);
	}
	return next;
}

bool asks_is_split_nap(struct query *query, uint32_t slot, const struct wait *nap,
		       const struct wait *wait)
{
	uint32_t child = wait->in == nap->in ? asks_child_of(query, slot, wait) : SLOT_NONE;

	return child != SLOT_NONE && query->tl->threads[child]->birth_ns < nap->woken_ns;
}

/* For how long it waited for something else. That a child had no CPU is not what it does. */
static uint64_t elsewhere_ns(const struct asking *asking, const struct wait *wait,
			     const struct tl_interval *in)
{
	struct query *query = asking->query;
	uint32_t child = asking->by_child ? asks_child_of(query, asking->slot, wait) : SLOT_NONE;
	uint64_t ns = in->end_ns - in->start_ns;

	return child == SLOT_NONE
		       ? ns
		       : ns - asks_without_cpu_ns(query, child, in->start_ns, in->end_ns);
}

bool asks_is_on_the_way(struct query *query, const struct wait *nap, const struct wait *wait)
{
	return wait->in != nap->in && query_is_on_the_way(query, wait);
}

static enum next take_wait(struct asking *asking, const struct tl_interval *in)
{
	uint32_t index = word_arg(in->word);
	struct wait wait;

	if (index == asking->index)
		return NEXT_ON;
	timeline_wait(asking->query->tl, asking->slot, index, &wait);
	if (asks_is_on_the_way(asking->query, &asking->nap, &wait))
		return NEXT_ON;
	asking->is_open =
		wait.in == asking->nap.in && asking->in_gap &&
		(!wait.woken_ns || query_ended_in(asking->query, asking->slot, index, &wait));
	if (asking->is_open || !wait.woken_ns)
		return asking->is_open ? NEXT_ON : NEXT_OVER;
	if (asks_is_nap(asking->query, asking->slot, &wait))
		return take_nap(asking, index, &wait);
	if (asking->by_child && asking->asker != SLOT_NONE &&
	    asks_child_of(asking->query, asking->slot, &wait) != SLOT_NONE)
		return take_child(asking, wait.waker.slot);
	if (asking->by_child && asks_is_split_nap(asking->query, asking->slot, &asking->nap, &wait))
		return NEXT_ON;
	if (is_child_question(asking)) {
		uint32_t child = asks_child_of(asking->query, asking->slot, &wait);

		if (child != SLOT_NONE && runs_program(asking->query, child)) {
			asking->got_ns = 0;
			return NEXT_OVER;
		}
	}
	asking->elsewhere_ns += elsewhere_ns(asking, &wait, in);
	return bound(asking, asking->elsewhere_ns);
}

/* Between the naps the thread made another call. */
static bool is_quiet(const struct asking *asking, uint32_t call)
{
	return asking->known || call_is(asking->query, call, CALL_QUIET) ||
	       (asking->by_child && call_is(asking->query, call, CALL_SHELL));
}

/* Now and then it says how long it has waited. */
static bool is_report(struct asking *asking, uint32_t call, uint32_t word)
{
	if (asking->got_ns || !asks_is_report(asking->query, call, word, true))
		return false;
	asking->reports += !asking->has_reported;
	asking->has_reported = true;
	return asks_reports_seldom(asking->reports, asking->naps);
}

/* That one child has ended says nothing of the others. */
static bool is_answered(const struct asking *asking)
{
	return asking->got_ns && !is_child_question(asking);
}

/* It was about what is asked for, as far as is told. */
static bool is_question(struct asking *asking, uint32_t word)
{
	uint32_t about = word_was_about(word);

	if (about && asking->asked.about)
		return about == asking->asked.about;
	if (about && !is_answered(asking))
		asking->asked.about = about;
	return true;
}

/* It was there again, or is no more: known only where it is told what it was. */
static enum next take_gone(struct asking *asking, uint32_t word, uint64_t end_ns)
{
	if (!word_error(word)) {
		asking->in_gap = true;
		asking->vain_ns = asking->call_ns;
	} else if (word_error(word) == ENOENT && word_was_about(word)) {
		asking->asked.about = word_was_about(word);
		asking->got_ns = end_ns;
	}
	return NEXT_ON;
}

/* The end of the nap itself: to read its timer may be the call that asks, too. */
static bool ends_nap(struct asking *asking, uint32_t call)
{
	bool ends = call == asking->nap.in && !asking->nap_over;

	asking->nap_over |= ends;
	return ends;
}

/*
 * It failed in another way: an answer as well, such as that of a socket which is there by now, but listens not
 * yet. Not where it does so each time.
 */
static enum next take_other_error(struct asking *asking, uint32_t word, uint64_t end_ns)
{
	uint32_t about = word_was_about(word);

	if (!asking->asked.about)
		return NEXT_OVER;
	if (about == asking->asked.about && !asking->known && !asking->got_ns &&
	    word_error(word) != asking->usual &&
	    asks_has_reason(asking->query, asking->asked.call, word_error(word))) {
		asking->usual = word_error(word);
		asking->got_ns = end_ns;
	}
	return NEXT_ON;
}

/* The call that was under way has ended as 'word', from 'end_ns' on, says. */
static enum next take_end(struct asking *asking, uint32_t word, uint64_t end_ns)
{
	uint32_t call = asking->call;
	enum outcome outcome;

	asking->call = 0;
	if (call && asking->by_child && asking->asker != SLOT_NONE && !word_error(word) &&
	    !word_found_nothing(word) &&
	    asks_is_among(CALLS_WAIT, asks_name(asking->query, call))) {
		enum next next = take_reaped(asking, end_ns);

		if (next != NEXT_ON)
			return next;
	}
	if (!call || (ends_nap(asking, call) && !asking->by_child) ||
	    (call == asking->nap.in && call != asking->asked.call))
		return NEXT_ON;
	outcome = asks_outcome(asking->query, call, word);
	if (call != asking->asked.call) {
		return outcome != GOT_IT || is_quiet(asking, call) || is_report(asking, call, word)
			       ? NEXT_ON
			       : NEXT_OVER;
	}
	/* There is no child any more; the loop may go on all the same. */
	if (word_error(word) == ECHILD && is_child_question(asking)) {
		asking->got_ns = asking->got_ns ? asking->got_ns : end_ns;
		return NEXT_ON;
	}
	if (asking->until_gone)
		return asking->got_ns ? NEXT_ON : take_gone(asking, word, end_ns);
	if (outcome == IN_VAIN && word_error(word) == asking->asked.error) {
		if (!is_question(asking, word))
			return NEXT_ON; /* of something else */
		/* What follows the loop asks for other things. */
		if (is_answered(asking)) {
			asking->again_ns = asking->call_ns;
			return NEXT_ON;
		}
		asking->in_gap = true;
		asking->vain_ns = asking->call_ns;
		asking->got_ns = 0;
	} else if (outcome == IN_VAIN) {
		return take_other_error(asking, word, end_ns);
	} else if (outcome == GOT_IT && !asking->known && !asking->got_ns) {
		/* Where it goes on to ask in vain it was something else that it got. */
		asking->got_ns = end_ns;
	}
	return NEXT_ON;
}

/* What was lost may have been an answer. Where only a switch is missing no call is. */
static enum next take_unsure(struct asking *asking, const struct tl_interval *in)
{
	if (asks_hides_calls(in))
		return NEXT_OVER;
	asking->elsewhere_ns += in->end_ns - in->start_ns;
	return bound(asking, asking->elsewhere_ns);
}

static enum next take(struct asking *asking, const struct tl_interval *in)
{
	enum next next = NEXT_ON;

	switch (word_kind(in->word)) {
	case WORD_NONE:
		return NEXT_OVER;
	case WORD_UNCERTAIN:
		return take_unsure(asking, in);
	case WORD_BLOCKED:
		return take_wait(asking, in);
	case WORD_USER:
		next = take_end(asking, in->word, in->start_ns);
		break;
	case WORD_SYSCALL:
		if (asking->call != word_plain(in->word)) {
			asking->call = word_plain(in->word);
			asking->call_ns = in->start_ns;
		}
		break;
	default:
		if (word_wib(in->word) != WIB_WORKING)
			return NEXT_ON;
		break;
	}
	asking->worked_ns += in->end_ns - in->start_ns;
	return next == NEXT_ON ? bound_work(asking) : next;
}

uint64_t asks_gap_start_ns(struct query *query, uint32_t slot, uint32_t index)
{
	struct wait before, nap;
	bool is_other;

	timeline_wait(query->tl, slot, index, &nap);
	for (uint32_t i = 1, others = 0; i <= index; i++) {
		timeline_wait(query->tl, slot, index - i, &before);
		if (!before.woken_ns)
			return UINT64_MAX;
		is_other = !asks_is_on_the_way(query, &nap, &before);
		others += is_other;
		if (others == BACK || i == BACK_ALL ||
		    (is_other && asks_is_nap(query, slot, &before)))
			return before.woken_ns;
	}
	return query->tl->threads[slot]->birth_ns;
}

/* The last child that lived in that gap: a shell that had no CPU meanwhile did not wait for it. */
static bool find_question_of_reaped(struct asking *asking)
{
	struct query *query = asking->query;
	uint64_t at_ns = asks_gap_start_ns(query, asking->slot, asking->index);
	struct tl_interval call = { 0 };
	struct question asked;
	enum outcome outcome;

	for (uint32_t i = 0; i < BACK && at_ns < asking->nap.begin_ns; i++) {
		uint32_t child = asks_next_child(query, asking->slot, at_ns);
		const struct tl_thread *thread;

		if (child == SLOT_NONE || query->asks->looks++ >= ASKS_LOOKS_MAX)
			break;
		thread = query->tl->threads[child];
		at_ns = thread->birth_ns;
		if (!thread->died || thread->death_ns > asking->nap.begin_ns)
			continue;
		outcome = asks_asked_by_child(query, child, &asked, &call);
		if (outcome == NEITHER)
			continue;
		asking->asker = outcome == IN_VAIN ? child : SLOT_NONE;
		asking->asked = asked;
	}
	return asking->asker != SLOT_NONE;
}

/* The same of the child that a shell waited for in that gap last, if it itself asked nothing. */
static bool find_question_of_child(struct asking *asking)
{
	struct query *query = asking->query;
	struct tl_interval call = { 0 };
	struct wait wait;
	uint32_t child;

	if (asking->by_child && find_question_of_reaped(asking))
		return true;
	for (uint32_t i = 1; asking->by_child && i <= BACK && i <= asking->index; i++) {
		timeline_wait(query->tl, asking->slot, asking->index - i, &wait);
		if (!wait.woken_ns || asks_is_nap(query, asking->slot, &wait))
			return false;
		child = asks_child_of(query, asking->slot, &wait);
		if (child == SLOT_NONE)
			continue;
		asking->asker = child;
		return asks_asked_by_child(query, child, &asking->asked, &call) == IN_VAIN;
	}
	return false;
}

/* What it sleeps in is no question, but for a read that fails: of a timer it does not. */
static bool may_ask(const struct asking *asking, uint32_t call, uint32_t word)
{
	return call != asking->nap.in || asking->by_child ||
	       (word_error(word) && wait_ticks(asking->query, &asking->nap));
}

/* The last call before the nap that was in vain. */
static bool find_question(struct asking *asking)
{
	struct query *query = asking->query;
	uint64_t start_ns = asks_gap_start_ns(query, asking->slot, asking->index);
	struct tl_interval in;
	struct tl_iter iter;
	uint32_t call = 0, there = 0; /* the last call that found what it asked for */
	struct question own;
	bool is_own;

	if (start_ns >= asking->nap.begin_ns)
		return false;
	tl_iter_thread(&iter, query->tl, asking->slot, start_ns, asking->nap.begin_ns);
	while (tl_iter_entry(&iter, &in)) {
		enum word_kind kind = word_kind(in.word);

		if (kind == WORD_UNCERTAIN && asks_hides_calls(&in)) {
			asking->asked.call = call = 0;
		} else if (kind == WORD_SYSCALL) {
			call = word_plain(in.word);
		} else if (kind == WORD_USER && call) {
			enum outcome outcome = asks_outcome(query, call, in.word);

			if (may_ask(asking, call, in.word) && outcome == IN_VAIN &&
			    !call_is(query, call, CALL_MUTE))
				asking->asked = (struct question){ call, word_error(in.word),
								   word_was_about(in.word) };
			else if (call == asking->asked.call && outcome == GOT_IT && !asking->known)
				asking->asked.call = 0;
			if (outcome == GOT_IT && asks_may_go(query, call))
				there = call;
			call = 0;
		}
	}
	own = asking->asked;
	is_own = own.call && (!asking->by_child || asks_has_reason(query, own.call, own.error));
	/* That no other child has ended is what a shell learns each time that one has. */
	if (asking->only_gone || asking->by_program)
		is_own = false;
	else if (is_own &&
		 !(asking->by_child && asks_is_among(CALLS_WAIT, asks_name(query, own.call))))
		return true;
	asking->asked = (struct question){ 0 };
	if (!asking->only_gone && find_question_of_child(asking))
		return true;
	if (asking->by_program)
		return false;
	if (is_own) {
		asking->asker = SLOT_NONE;
		asking->asked = own;
		return true;
	}
	asking->until_gone = there;
	asking->asked = (struct question){ .call = there };
	return there;
}

/* Was that asked in vain, by itself, before the nap? Of many names in one go not all are told. */
static bool asked_before(const struct asking *asking, const struct question *what)
{
	struct query *query = asking->query;
	uint64_t start_ns = asks_gap_start_ns(query, asking->slot, asking->index);
	struct tl_interval in;
	struct tl_iter iter;
	uint32_t call = 0;

	if (start_ns >= asking->nap.begin_ns)
		return false;
	tl_iter_thread(&iter, query->tl, asking->slot, start_ns, asking->nap.begin_ns);
	while (tl_iter_entry(&iter, &in)) {
		if (word_kind(in.word) == WORD_SYSCALL)
			call = word_plain(in.word);
		if (word_kind(in.word) != WORD_USER || !call)
			continue;
		if (call == what->call && word_error(in.word) == what->error &&
		    asks_outcome(query, call, in.word) == IN_VAIN &&
		    (!what->about || !word_was_about(in.word) ||
		     word_was_about(in.word) == what->about))
			return true;
		call = 0;
	}
	return false;
}

/*
 * The question before the next nap, if it was asked before this one, too: what is done for the first time in a loop
 * asks for other things, such as files of messages, or a program in PATH, which hides it.
 */
static bool borrow_question(struct asking *asking)
{
	struct query *query = asking->query;
	struct asking next = { .query = query, .slot = asking->slot, .asker = SLOT_NONE };
	uint32_t count = query->tl->threads[asking->slot]->wait_count;

	for (uint32_t i = asking->index + 1; i < count && i <= asking->index + BACK_ALL; i++) {
		timeline_wait(query->tl, asking->slot, i, &next.nap);
		if (next.nap.in != asking->nap.in || !asks_is_nap(query, asking->slot, &next.nap))
			continue;
		next.index = i;
		next.by_child = asking->by_child;
		if (!find_question(&next) || next.until_gone || next.asker != SLOT_NONE ||
		    !asked_before(asking, &next.asked))
			return false;
		if (asking->asked.call && !asking->until_gone &&
		    asked_before(&next, &asking->asked))
			return false;
		asking->asked = next.asked;
		asking->is_borrowed = true;
		asking->until_gone = false;
		asking->asker = SLOT_NONE;
		return true;
	}
	return false;
}

static bool find_first_question(struct asking *asking)
{
	bool found = find_question(asking);

	/* What a shell runs asks for other things, too. */
	if (asking->only_gone || asking->by_program || (found && asking->asker != SLOT_NONE))
		return found;
	return borrow_question(asking) || found;
}

static bool find_answer(const struct asking *asking, struct answer *out_answer)
{
	struct doing doing = { .query = asking->query,
			       .slot = asking->slot,
			       .asker = asking->asker,
			       .asked = asking->asked,
			       .until_gone = asking->until_gone,
			       .exact = asking->until_gone,
			       .others = asking->is_process,
			       .from_ns = asking->vain_ns,
			       .to_ns = asking->got_ns };

	struct question found = { .about = doing.asked.about };

	if (!asking->is_process && asking->got_ns && !asking->until_gone &&
	    asking->asker == SLOT_NONE) {
		asks_found(asking->query, asking->slot, asking->got_ns, &found);
		doing.asked.channel = found.channel;
	}
	if (!asks_find_doer(&doing, out_answer))
		return false;
	out_answer->call = asks_name(asking->query, asking->asked.call);
	out_answer->about = describe_asked(asking->query, &asking->nap);
	if (!*out_answer->about)
		out_answer->about = describe_asked(asking->query, &asking->first);
	/* A shell may have failed at something else since its child asked. */
	if ((asking->asker != SLOT_NONE || asking->until_gone) &&
	    !asks_is_of(out_answer->about, asking->asked.about))
		out_answer->about = asks_describe(asking->query, asking->slot, asking->index,
						  asking->asked.about);
	out_answer->error = asking->asked.error;
	out_answer->until_gone = asking->until_gone;
	return true;
}

bool asks_find_answer(struct query *query, uint32_t slot, const struct asks_run *run,
		      uint64_t got_ns, const struct wait *nap, struct answer *out_answer)
{
	struct asking asking = { .query = query,
				 .slot = slot,
				 .nap = *nap,
				 .first = *nap,
				 .asked = run->asked,
				 .vain_ns = run->vain_ns,
				 .got_ns = got_ns,
				 .is_process = true,
				 .asker = SLOT_NONE };

	return find_answer(&asking, out_answer);
}

/* ----------------------------------------------------------------------- a run */

/* Which questions count. */
enum whose {
	WHOSE_ANY,
	WHOSE_GONE,    /* a file is there until it is not */
	WHOSE_PROGRAM, /* it sleeps itself, and programs that it runs ask */
};

/* It got no answer, and did not give up either: it was asking still when it was ended, or when all ends. */
static bool is_open(const struct asking *asking)
{
	const struct tl_thread *thread = asking->query->tl->threads[asking->slot];

	if (asking->naps < LEAST || asking->got_ns || asking->until_gone || asking->known ||
	    !asking->asked.call || asking->asker != SLOT_NONE)
		return false;
	return asking->is_open || !thread->died ||
	       thread->death_ns > query_known_ns(asking->query, asking->slot);
}

static struct asks_run find_run_of(struct query *query, uint32_t slot, uint32_t index,
				   const struct wait *wait, enum whose whose, bool is_rare)
{
	struct asking asking = { .query = query,
				 .slot = slot,
				 .nap = *wait,
				 .first = *wait,
				 .index = index,
				 .naps = 1,
				 .napped_ns = wait->woken_ns - wait->begin_ns,
				 .is_rare = is_rare,
				 .known = knows_holder(query, wait),
				 .by_child = whose == WHOSE_PROGRAM ||
					     asks_is_nap_of_child(query, slot, wait),
				 .by_program = whose == WHOSE_PROGRAM,
				 .only_gone = whose == WHOSE_GONE,
				 .asker = SLOT_NONE,
				 .call = wait->in };
	struct asks_run run = { .first = index };
	enum next next = NEXT_ON;
	struct tl_interval in;
	struct tl_iter iter;

	if (find_first_question(&asking)) {
		tl_iter_thread(&iter, query->tl, slot, wait->woken_ns, query_known_ns(query, slot));
		while (next == NEXT_ON && tl_iter_entry(&iter, &in))
			next = take(&asking, &in);
	}
	if (asking.got_ns)
		next = NEXT_ANSWERED;
	if (is_rare && !is_short_as_a_rule(&asking))
		next = NEXT_OVER;
	run.last = asking.index;
	run.asked = asking.asked;
	run.vain_ns = asking.vain_ns;
	run.is_answered =
		next == NEXT_ANSWERED && asking.naps >= LEAST && find_answer(&asking, &run.answer);
	if (next == NEXT_ON && is_open(&asking))
		run.is_answered = asks_still(query, slot, &run, &asking.first, &asking.nap);
	run.answer.naps = asking.naps;
	if (!run.is_answered) {
		run.answer.call = asking.asked.call ? asks_name(query, asking.asked.call) : "";
		run.answer.error = asking.asked.error;
		run.answer.by = "";
	}
	return run;
}

static struct asks_run find_run(struct query *query, uint32_t slot, uint32_t index,
				const struct wait *wait)
{
	struct asks_run run = find_run_of(query, slot, index, wait, WHOSE_ANY, false), other;

	if (run.is_answered)
		return run;
	/* Each time a child of a shell has ended the shell asks for others: that hides what is there. */
	other = find_run_of(query, slot, index, wait,
			    asks_is_nap_of_child(query, slot, wait) ? WHOSE_GONE : WHOSE_PROGRAM,
			    false);
	if (!other.is_answered)
		other = find_run_of(query, slot, index, wait, WHOSE_ANY, true);
	return other.is_answered ? other : run;
}

static const struct asks_run *run_of(struct query *query, uint32_t slot, uint32_t index,
				     const struct wait *wait)
{
	struct asks_runs *runs = asks_runs(query);
	static const struct asks_run none = { .answer.call = "", .answer.by = "" };
	uint64_t *known;
	struct asks_run *run;
	struct wait first;

	known = map_find(&runs->by_slot, slot);
	if (!known) {
		runs->runs = vec_room(runs->runs, runs->count, &runs->cap, sizeof(*runs->runs));
		map_put(&runs->by_slot, slot, runs->count);
		run = &runs->runs[runs->count++];
	} else {
		run = &runs->runs[*known];
		if (index >= run->first && index <= run->last) {
			timeline_wait(query->tl, slot, run->first, &first);
			if (asks_is_on_the_way(query, &first, wait))
				return &none;
			/* What was asked at last may begin in the middle of what was not answered. */
			if (!run->is_answered && index > run->first &&
			    !(knows_holder(query, wait) && run->answer.naps >= LEAST))
				(void)(asks_of_content(query, slot, index, wait, run) ||
				       asks_of_process_looks(query, slot, index, wait, run) ||
				       asks_of_programs(query, slot, index, wait, run));
			return run;
		}
	}
	*run = find_run(query, slot, index, wait);
	if (!run->is_answered && asks_is_nap_of_child(query, slot, wait) &&
	    asks_of_programs(query, slot, index, wait, run))
		return run;
	if (!run->is_answered && !(knows_holder(query, wait) && run->answer.naps >= LEAST))
		(void)(asks_of_process(query, slot, index, wait, run) ||
		       asks_of_content(query, slot, index, wait, run) ||
		       asks_of_process_looks(query, slot, index, wait, run) ||
		       asks_of_programs(query, slot, index, wait, run));
	return run;
}

/* When the holder let go, as the last of what it did with the file says; else with its end. */
static uint64_t let_go_ns(struct query *query, const struct asks_run *run, uint32_t slot,
			  const struct wait *wait)
{
	const struct doing doing = { .query = query,
				     .slot = slot,
				     .asker = SLOT_NONE,
				     .asked = run->asked,
				     .from_ns = run->vain_ns ? run->vain_ns : wait->begin_ns,
				     .to_ns = wait->woken_ns };

	return asks_let_go_ns(&doing, wait->origin.slot);
}

/* Who had the lock when 'wait', one of the naps of a run, began: until it let go, or that ends. */
static void tell_holder(struct query *query, uint32_t slot, const struct asks_run *run,
			uint32_t index, const struct wait *wait, struct answer *out_answer)
{
	*out_answer = run->answer;
	out_answer->time_ns =
		index < run->last ? wait->woken_ns : let_go_ns(query, run, slot, wait);
	out_answer->slot = wait->origin.slot;
	out_answer->known = true;
	out_answer->about = describe_asked(query, wait);
}

bool query_answer(struct query *query, uint32_t slot, uint32_t word, const struct wait *wait,
		  struct answer *out_answer)
{
	const struct asks_run *run;

	if (!query->facts->has_syscalls)
		return false;
	if (query_gave_up(query, slot, wait, out_answer))
		return true;
	if (!asks_is_nap(query, slot, wait))
		return query_gone_on(query, slot, word, wait, out_answer);
	run = run_of(query, slot, word_arg(word), wait);
	if (knows_holder(query, wait) && run->answer.naps >= LEAST) {
		tell_holder(query, slot, run, word_arg(word), wait, out_answer);
		return true;
	}
	/* Where it asked for something each time it is not memory that it looked at. */
	if (!run->is_answered)
		return !(run->asked.call && run->answer.naps >= LEAST &&
			 query_is_nap(query, wait)) &&
		       query_gone_on(query, slot, word, wait, out_answer);
	*out_answer = run->answer;
	return true;
}
