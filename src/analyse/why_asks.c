/*
 * why_asks.c - sleeps between questions: a call that fails, or finds nothing, until it succeeds.
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
 *	- each of them is ended by its own timer, and all are in the same call,
 *	- before each of them the same call fails in the same way, and as often,
 *	- in between the thread does little more: no output, work for LOOK_NS and a LOOK_PART of
 *	  the sleep at most.
 *
 * At least LEAST of them, for one may be chance.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why_int.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/facts.h"

#define LOOK_NS	  300000u
#define LOOK_PART 20u
#define LEAST	  2u
#define BACK	  8u /* waits before a sleep that may lie in the gap before it */
#define NO_ERROR  0u

/* Threads looked at for one answer after the other: a bound on time, not on meaning. */
#define LOOKS_MAX 2000000u
/* A process that has ended is seen a moment before its last switch is. */
#define DYING_NS 1000000u

/* ---------------------------------------------------------- what can have changed the answer */

enum by_what {
	BY_CALL,  /* one of 'calls' */
	BY_CHILD, /* the end of a child */
	BY_END,	  /* the end of a process */
};

/* Asked in vain by one of 'asks', which failed with 'error': what may have changed that. */
struct reason {
	const char *asks, *calls; /* names between blanks */
	uint32_t error;		  /* NO_ERROR = it found nothing */
	enum by_what by;
	bool same;  /* what is told of both in words was about the same file or process */
	bool makes; /* of calls that open files, only those that may have made one */
};

#define CALLS_OPEN " open openat openat2 creat "
#define CALLS_LOOK \
	" stat lstat newfstatat fstatat64 stat64 lstat64 statx access faccessat faccessat2 readlink readlinkat "
#define CALLS_MAKE \
	" open openat creat mkdir mkdirat rename renameat renameat2 link linkat symlink symlinkat mknod mknodat "
#define CALLS_GO    " unlink unlinkat rmdir rename renameat renameat2 "
#define CALLS_READ  " read readv pread64 preadv recvfrom recvmsg recvmmsg recv splice "
#define CALLS_WRITE " write writev sendto sendmsg sendmmsg send sendfile splice "
#define CALLS_WATCH " poll ppoll select _newselect pselect6 epoll_wait epoll_pwait epoll_pwait2 "
#define CALLS_LOCK  " flock fcntl fcntl64 "

/* For one question the likelier first. */
static const struct reason reasons[] = {
	{ " wait4 waitid waitpid ", "", NO_ERROR, BY_CHILD, true, false },
	{ " kill tkill tgkill pidfd_send_signal ", "", NO_ERROR, BY_END, true, false },
	{ CALLS_OPEN CALLS_LOOK " execve chdir ", CALLS_MAKE, ENOENT, BY_CALL, false, true },
	{ CALLS_OPEN " mkdir mkdirat link linkat symlink symlinkat mknod mknodat ", CALLS_GO,
	  EEXIST, BY_CALL, false, false },
	{ CALLS_OPEN, CALLS_OPEN, ENXIO, BY_CALL, false, false },
	{ " connect ", " listen ", ECONNREFUSED, BY_CALL, false, false },
	{ " connect ", " bind listen ", ENOENT, BY_CALL, false, false },
	{ " bind ", " close ", EADDRINUSE, BY_CALL, false, false },
	{ " bind ", "", EADDRINUSE, BY_END, false, false },
	{ CALLS_LOCK, CALLS_LOCK, EAGAIN, BY_CALL, true, false },
	{ CALLS_LOCK, " close ", EAGAIN, BY_CALL, true, false },
	{ CALLS_LOCK, "", EAGAIN, BY_END, false, false },
	{ " fcntl fcntl64 ", CALLS_LOCK, EACCES, BY_CALL, true, false },
	{ CALLS_READ, CALLS_WRITE, EAGAIN, BY_CALL, false, false },
	{ CALLS_WRITE, CALLS_READ, EAGAIN, BY_CALL, false, false },
	{ CALLS_WATCH, CALLS_WRITE " connect ", NO_ERROR, BY_CALL, false, false },
	{ " accept accept4 ", " connect ", EAGAIN, BY_CALL, false, false },
	{ " semop semtimedop ", " semop semtimedop ", EAGAIN, BY_CALL, false, false },
	{ " msgrcv ", " msgsnd ", ENOMSG, BY_CALL, false, false },
	{ " msgsnd ", " msgrcv ", EAGAIN, BY_CALL, false, false },
	{ " mq_timedreceive ", " mq_timedsend ", EAGAIN, BY_CALL, false, false },
	{ " mq_timedsend ", " mq_timedreceive ", EAGAIN, BY_CALL, false, false },
};

/* Calls in a gap between sleeps that are no output, beside those that fail: files are looked into. */
#define CALLS_QUIET                                                                                     \
	CALLS_OPEN CALLS_LOOK CALLS_READ CALLS_WATCH CALLS_LOCK                                         \
		" close socket bind getdents getdents64 fstat fstat64 lseek ioctl fcntl dup dup2 dup3 " \
		"futex kill tgkill wait4 waitid clock_gettime clock_gettime64 gettimeofday time "       \
		"getpid gettid getppid sched_yield madvise mmap munmap mprotect mremap brk getrusage "  \
		"rt_sigaction rt_sigprocmask rt_sigreturn getrandom setsockopt getsockopt "             \
		"getsockname getpeername restart_syscall nanosleep clock_nanosleep epoll_ctl "          \
		"timerfd_settime timer_settime setitimer alarm statfs fstatfs getcwd umask "

static bool is_among(const char *names, const char *name)
{
	size_t length = strlen(name);

	if (!length || strchr(name, ' '))
		return false;
	for (const char *at = names; (at = strstr(at, name)); at += length) {
		if (at > names && at[-1] == ' ' && at[length] == ' ')
			return true;
	}
	return false;
}

static const char *name_of(struct query *query, uint32_t call)
{
	return describe_word(query, word_make(WORD_SYSCALL, word_call(call)));
}

/* ------------------------------------------------------------------ a question */

struct question {
	uint32_t call;	/* word; 0 = none */
	uint32_t error; /* NO_ERROR = it found nothing */
	uint32_t about; /* as word_was_about() */
};

enum outcome {
	IN_VAIN,
	GOT_IT,
	NEITHER,
};

/* How 'call' ended, of which 'word' is the end. */
static enum outcome outcome_of(struct query *query, uint32_t call, uint32_t word)
{
	if (word_has(word, WORD_VAIN))
		return IN_VAIN;
	if (!word_error(word))
		return GOT_IT;
	/* Whom to signal is there, or it is no more. */
	if (strstr(name_of(query, call), "kill"))
		return word_error(word) == ESRCH ? GOT_IT : NEITHER;
	return word_error(word) == EINTR || word_error(word) == EINPROGRESS ? NEITHER : IN_VAIN;
}

/* All sleeps of a thread from 'first' to 'last' are for one answer, or none of them is. */
struct asks_run {
	uint32_t first, last;
	bool is_answered;
	struct answer answer;
};

struct asks_runs {
	struct map by_slot; /* index into runs */
	struct asks_run *runs;
	size_t count, cap;
	uint32_t looks;
};

void asks_runs_free(struct asks_runs *runs)
{
	if (!runs)
		return;
	map_fini(&runs->by_slot);
	free(runs->runs);
	free(runs);
}

/* A thread that sleeps because it asked to, whatever in. */
static bool is_nap(struct query *query, const struct wait *wait)
{
	bool by_timer = wait->flags & WAIT_TIMED_OUT || wait->waker.kind == ACTOR_TIMER;

	return wait->woken_ns && by_timer && !wait->waker.signal && !(wait->flags & WAIT_SERVER) &&
	       (wait_sleeps(query, wait) || wait_timed_out(query, wait));
}

struct asking {
	struct query *query;
	uint32_t slot;
	struct wait nap;		  /* the last one */
	uint32_t index, naps;		  /* of it; how many so far */
	struct question asked;		  /* before each of them */
	uint32_t in_gap;		  /* how often so far, since the last nap */
	uint32_t each_gap;		  /* how often between naps; 0 = not known yet */
	uint32_t call;			  /* word of the call that is under way; 0 = none */
	uint64_t call_ns;		  /* when it began */
	uint64_t vain_ns;		  /* when the last call in vain began */
	uint64_t got_ns;		  /* when the call that got it had ended */
	uint64_t worked_ns, elsewhere_ns; /* since the last nap */
};

enum next {
	NEXT_ON,
	NEXT_OVER,
	NEXT_ANSWERED
};

static enum next bound(const struct asking *asking, uint64_t ns)
{
	uint64_t nap_ns = asking->nap.woken_ns - asking->nap.begin_ns;

	return ns <= LOOK_NS + nap_ns / LOOK_PART ? NEXT_ON : NEXT_OVER;
}

/* The next nap: it belongs to the others if the question came before it, as often as before them. */
static enum next take_nap(struct asking *asking, uint32_t index, const struct wait *wait)
{
	if (wait->in != asking->nap.in || wait->object != asking->nap.object || !asking->in_gap ||
	    (asking->each_gap && asking->in_gap != asking->each_gap))
		return NEXT_OVER;
	asking->each_gap = asking->in_gap;
	asking->nap = *wait;
	asking->index = index;
	asking->naps++;
	asking->in_gap = 0;
	asking->worked_ns = asking->elsewhere_ns = 0;
	asking->call = 0;
	return NEXT_ON;
}

static enum next take_wait(struct asking *asking, const struct tl_interval *in)
{
	uint32_t index = word_arg(in->word);
	struct wait wait;

	if (index == asking->index)
		return NEXT_ON;
	timeline_wait(asking->query->tl, asking->slot, index, &wait);
	if (is_nap(asking->query, &wait))
		return take_nap(asking, index, &wait);
	asking->elsewhere_ns += in->end_ns - in->start_ns;
	return bound(asking, asking->elsewhere_ns);
}

/* The call that was under way has ended as 'word', from 'end_ns' on, says. */
static enum next take_end(struct asking *asking, uint32_t word, uint64_t end_ns)
{
	uint32_t call = asking->call;
	enum outcome outcome;

	asking->call = 0;
	if (!call || call == asking->nap.in)
		return NEXT_ON;
	outcome = outcome_of(asking->query, call, word);
	if (call != asking->asked.call)
		return outcome != GOT_IT || is_among(CALLS_QUIET, name_of(asking->query, call))
			       ? NEXT_ON
			       : NEXT_OVER;
	if (outcome == IN_VAIN) {
		if (word_error(word) != asking->asked.error ||
		    word_was_about(word) != asking->asked.about)
			return NEXT_OVER;
		asking->in_gap++;
		asking->vain_ns = asking->call_ns;
	} else if (outcome == GOT_IT) {
		asking->got_ns = end_ns;
		return asking->in_gap < asking->each_gap ? NEXT_ANSWERED : NEXT_OVER;
	}
	return NEXT_ON;
}

static enum next take(struct asking *asking, const struct tl_interval *in)
{
	enum next next = NEXT_ON;

	switch (word_kind(in->word)) {
	case WORD_NONE:
		return NEXT_OVER;
	case WORD_UNCERTAIN: /* what was lost may have been an answer */
		return in->end_ns > in->start_ns ? NEXT_OVER : NEXT_ON;
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
	return next == NEXT_ON ? bound(asking, asking->worked_ns) : next;
}

/* Where the gap before nap 'index' begins: with the end of the nap before it, if that is near and known. */
static uint64_t gap_start_ns(struct query *query, uint32_t slot, uint32_t index)
{
	uint64_t start_ns = query->tl->threads[slot]->birth_ns;
	struct wait before;

	for (uint32_t i = 1; i <= BACK && i <= index; i++) {
		timeline_wait(query->tl, slot, index - i, &before);
		start_ns = before.woken_ns ? before.woken_ns : UINT64_MAX;
		if (!before.woken_ns || is_nap(query, &before))
			break;
	}
	return start_ns;
}

/* The last call before the nap that was in vain. */
static bool find_question(struct asking *asking)
{
	struct query *query = asking->query;
	uint64_t start_ns = gap_start_ns(query, asking->slot, asking->index);
	struct tl_interval in;
	struct tl_iter iter;
	uint32_t call = 0;

	if (start_ns >= asking->nap.begin_ns)
		return false;
	tl_iter_begin(&iter, query->tl, &query->tl->threads[asking->slot]->track, start_ns,
		      asking->nap.begin_ns);
	while (tl_iter_entry(&iter, &in)) {
		enum word_kind kind = word_kind(in.word);

		if (kind == WORD_UNCERTAIN) {
			asking->asked.call = call = 0;
		} else if (kind == WORD_SYSCALL) {
			call = word_plain(in.word);
		} else if (kind == WORD_USER && call) {
			enum outcome outcome = outcome_of(query, call, in.word);

			if (call != asking->nap.in && outcome == IN_VAIN)
				asking->asked = (struct question){ call, word_error(in.word),
								   word_was_about(in.word) };
			else if (call == asking->asked.call && outcome == GOT_IT)
				asking->asked.call = 0;
			call = 0;
		}
	}
	return asking->asked.call != 0;
}

/* ------------------------------------------------------------------- who did it */

struct doers {
	const struct asking *asking;
	const struct reason *reason;
	uint64_t from_ns, to_ns;
	struct answer
		found; /* the last one of the only process that did it; slot SLOT_NONE = nobody */
	bool several;
};

static bool is_recorder(const struct query *query, int32_t tid)
{
	for (size_t i = 0; i < query->facts->recorder_tid_count; i++) {
		if (query->facts->recorder_tids[i] == tid)
			return true;
	}
	return false;
}

static void found(struct doers *doers, uint32_t slot, uint32_t call, uint64_t time_ns)
{
	struct query *query = doers->asking->query;
	const struct tl_thread *const *threads =
		(const struct tl_thread *const *)query->tl->threads;

	if (doers->found.slot != SLOT_NONE &&
	    threads[doers->found.slot]->tgid != threads[slot]->tgid)
		doers->several = true;
	if (doers->found.slot != SLOT_NONE && doers->found.time_ns > time_ns)
		return;
	doers->found.slot = slot;
	doers->found.time_ns = time_ns;
	doers->found.by = call ? name_of(query, call) : "";
}

/* Where it is known what was asked about, only what is about the same can have changed it. */
static bool is_about(const struct doers *doers, uint32_t about)
{
	uint32_t asked = doers->asking->asked.about;

	return !doers->reason->same || !asked || asked == about;
}

static void look_at_end(struct doers *doers, uint32_t slot)
{
	const struct timeline *tl = doers->asking->query->tl;
	const struct tl_thread *thread = tl->threads[slot];
	uint32_t parent = thread->parent;

	if (!is_about(doers, word_about((uint64_t)thread->tid)))
		return;
	if (!thread->died || thread->tid != thread->tgid || thread->death_ns <= doers->from_ns ||
	    thread->death_ns > doers->to_ns + DYING_NS)
		return;
	if (doers->reason->by == BY_CHILD &&
	    (parent == SLOT_NONE ||
	     tl->threads[parent]->tgid != tl->threads[doers->asking->slot]->tgid))
		return;
	found(doers, slot, 0, thread->death_ns < doers->to_ns ? thread->death_ns : doers->to_ns);
}

/* A call that ended as 'word' says, in time to have changed the answer. */
static void look_at_call(struct doers *doers, uint32_t slot, uint32_t call,
			 const struct tl_interval *in)
{
	const char *name = name_of(doers->asking->query, call);

	if (word_error(in->word) || in->start_ns <= doers->from_ns ||
	    !is_among(doers->reason->calls, name) || !is_about(doers, word_was_about(in->word)))
		return;
	if (doers->reason->makes && is_among(CALLS_OPEN, name) && !word_has(in->word, WORD_MADE))
		return;
	found(doers, slot, call, in->start_ns < doers->to_ns ? in->start_ns : doers->to_ns);
}

static void look_at_calls(struct doers *doers, uint32_t slot)
{
	const struct timeline *tl = doers->asking->query->tl;
	const struct tl_thread *thread = tl->threads[slot];
	struct tl_interval in;
	struct tl_iter iter;
	uint32_t call = 0;

	if (thread->death_ns <= doers->from_ns || thread->birth_ns >= doers->to_ns)
		return;
	tl_iter_begin(&iter, tl, &thread->track, doers->from_ns, doers->to_ns + DYING_NS);
	while (tl_iter_entry(&iter, &in)) {
		enum word_kind kind = word_kind(in.word);

		if (kind == WORD_SYSCALL && in.start_ns < doers->to_ns)
			call = call == word_plain(in.word) ? call : word_plain(in.word);
		else if (kind == WORD_SYSCALL)
			break;
		else if (kind == WORD_USER && call) {
			look_at_call(doers, slot, call, &in);
			call = 0;
		}
	}
}

static bool find_doer(struct doers *doers)
{
	struct query *query = doers->asking->query;

	doers->found = (struct answer){ .slot = SLOT_NONE };
	doers->several = false;
	for (uint32_t i = 0; i < query->tl->thread_count && !doers->several; i++) {
		const struct tl_thread *thread = query->tl->threads[i];

		if (i == doers->asking->slot || thread->tid == 0 || thread->kernel ||
		    is_recorder(query, thread->tid))
			continue;
		if (query->asks->looks++ >= LOOKS_MAX)
			return false;
		if (doers->reason->by == BY_CALL)
			look_at_calls(doers, i);
		else
			look_at_end(doers, i);
	}
	return doers->found.slot != SLOT_NONE;
}

static bool find_answer(const struct asking *asking, struct answer *out_answer)
{
	const char *name = name_of(asking->query, asking->asked.call);
	struct doers doers = { .asking = asking,
			       .from_ns = asking->vain_ns,
			       .to_ns = asking->got_ns };

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		doers.reason = &reasons[i];
		if (doers.reason->error != asking->asked.error ||
		    !is_among(doers.reason->asks, name) || !find_doer(&doers))
			continue;
		if (doers.several)
			return false;
		*out_answer = doers.found;
		out_answer->call = name;
		out_answer->about = describe_asked(asking->query, &asking->nap);
		out_answer->error = asking->asked.error;
		return true;
	}
	return false;
}

/* ----------------------------------------------------------------------- a run */

static struct asks_run find_run(struct query *query, uint32_t slot, uint32_t index,
				const struct wait *wait)
{
	struct asking asking = { .query = query,
				 .slot = slot,
				 .nap = *wait,
				 .index = index,
				 .naps = 1,
				 .call = wait->in };
	struct asks_run run = { .first = index };
	enum next next = NEXT_ON;
	struct tl_interval in;
	struct tl_iter iter;

	if (find_question(&asking)) {
		tl_iter_begin(&iter, query->tl, &query->tl->threads[slot]->track, wait->woken_ns,
			      query_known_ns(query, slot));
		while (next == NEXT_ON && tl_iter_entry(&iter, &in))
			next = take(&asking, &in);
	}
	run.last = asking.index;
	run.is_answered =
		next == NEXT_ANSWERED && asking.naps >= LEAST && find_answer(&asking, &run.answer);
	run.answer.naps = asking.naps;
	return run;
}

static const struct asks_run *run_of(struct query *query, uint32_t slot, uint32_t index,
				     const struct wait *wait)
{
	struct asks_runs *runs = query->asks;
	uint64_t *known;
	struct asks_run *run;

	if (!runs)
		runs = query->asks = xcalloc(1, sizeof(*runs));
	known = map_find(&runs->by_slot, slot);
	if (!known) {
		runs->runs = vec_room(runs->runs, runs->count, &runs->cap, sizeof(*runs->runs));
		map_put(&runs->by_slot, slot, runs->count);
		run = &runs->runs[runs->count++];
	} else {
		run = &runs->runs[*known];
		if (index >= run->first && index <= run->last)
			return run;
	}
	*run = find_run(query, slot, index, wait);
	return run;
}

bool query_answer(struct query *query, uint32_t slot, uint32_t word, const struct wait *wait,
		  struct answer *out_answer)
{
	const struct asks_run *run;

	if (!query->facts->has_syscalls || !is_nap(query, wait))
		return false;
	run = run_of(query, slot, word_arg(word), wait);
	if (!run->is_answered)
		return query_gone_on(query, slot, word, wait, out_answer);
	*out_answer = run->answer;
	return true;
}

const char *answer_words(struct query *query, const struct answer *answer)
{
	if (answer->words)
		return answer->words;

	AUTO_FREE char *vain =
		answer->error
			? xasprintf("failed with %s", describe_error(query->why, answer->error))
			: xasprintf(strstr(answer->call, "kill") ? "found it alive"
								 : "found nothing");
	AUTO_FREE char *by = *answer->by ? xasprintf("called %s()", answer->by) : xstrdup("ended");

	return why_keep(query->why,
			xasprintf("%s()%s%s %s until it %s", answer->call,
				  *answer->about ? " of " : "", answer->about, vain, by));
}
