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
 *	- each of them is ended by its own timer, and all are in the same call, or each is a wait for a
 *	  child that did nothing but sleep, as shells do,
 *	- before each of them the same call fails in the same way, of the same as far as that is told,
 *	  or a child of a shell makes it and fails (mkdir, flock -n),
 *	- in between the thread does little more: no output, work for LOOK_NS and a LOOK_PART of
 *	  the sleep at most.
 *
 * At least LEAST of them, for one may be chance.
 *
 * Where the recorder told who had the file lock that was asked for, that is known, and each sleep is
 * charged to who had it then: also where the lock was given up, or the thread says each time that it waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why_asks_int.h"
#include "base/mem.h"
#include "event/facts.h"

#define LOOK_NS	    300000u
#define LOOK_PART   20u
#define LEAST	    2u
#define BACK	    8u /* waits before a sleep that may lie in the gap before it */
#define NO_ERROR    0u
#define SHELL_NS    5000000u /* instead of LOOK_NS where a child sleeps: it has to be made */
#define CHILD_WAITS 64u	     /* of one that does nothing but sleep: it has to be loaded, too */

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
	bool named; /* both are about a path or an address, which may be told of one only */
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
	{ " wait4 waitid waitpid ", "", NO_ERROR, BY_CHILD, true, false, false },
	{ " kill tkill tgkill pidfd_send_signal ", "", NO_ERROR, BY_END, true, false, false },
	{ CALLS_OPEN CALLS_LOOK " execve chdir ", CALLS_MAKE, ENOENT, BY_CALL, false, true, true },
	{ CALLS_OPEN " mkdir mkdirat link linkat symlink symlinkat mknod mknodat ", CALLS_GO,
	  EEXIST, BY_CALL, false, false, true },
	{ CALLS_OPEN, CALLS_OPEN, ENXIO, BY_CALL, false, false, true },
	{ " connect ", " listen ", ECONNREFUSED, BY_CALL, false, false, true },
	{ " connect ", " bind listen ", ENOENT, BY_CALL, false, false, true },
	{ " bind ", " close ", EADDRINUSE, BY_CALL, false, false, false },
	{ " bind ", "", EADDRINUSE, BY_END, false, false, false },
	{ CALLS_LOCK, CALLS_LOCK, EAGAIN, BY_CALL, true, false, false },
	{ CALLS_LOCK, " close ", EAGAIN, BY_CALL, true, false, false },
	{ CALLS_LOCK, "", EAGAIN, BY_END, false, false, false },
	{ " fcntl fcntl64 ", CALLS_LOCK, EACCES, BY_CALL, true, false, false },
	{ CALLS_READ, CALLS_WRITE, EAGAIN, BY_CALL, false, false, false },
	{ CALLS_WRITE, CALLS_READ, EAGAIN, BY_CALL, false, false, false },
	{ CALLS_WATCH, CALLS_WRITE " connect ", NO_ERROR, BY_CALL, false, false, false },
	{ " accept accept4 ", " connect ", EAGAIN, BY_CALL, false, false, false },
	{ " semop semtimedop ", " semop semtimedop ", EAGAIN, BY_CALL, false, false, false },
	{ " msgrcv ", " msgsnd ", ENOMSG, BY_CALL, false, false, false },
	{ " msgsnd ", " msgrcv ", EAGAIN, BY_CALL, false, false, false },
	{ " mq_timedreceive ", " mq_timedsend ", EAGAIN, BY_CALL, false, false, false },
	{ " mq_timedsend ", " mq_timedreceive ", EAGAIN, BY_CALL, false, false, false },
};

/* Calls in a gap between sleeps that are no output, beside those that fail: files are looked into. */
#define CALLS_QUIET                                                                                     \
	CALLS_OPEN CALLS_LOOK CALLS_READ CALLS_WATCH CALLS_LOCK                                         \
		" close socket bind getdents getdents64 fstat fstat64 lseek ioctl fcntl dup dup2 dup3 " \
		"futex kill tgkill wait4 waitid clock_gettime clock_gettime64 gettimeofday time "       \
		"getpid gettid getppid sched_yield madvise mmap munmap mprotect mremap brk getrusage "  \
		"rt_sigaction rt_sigprocmask rt_sigreturn getrandom setsockopt getsockopt "             \
		"getsockname getpeername restart_syscall nanosleep clock_nanosleep epoll_ctl "          \
		"timerfd_settime timer_settime setitimer alarm statfs fstatfs getcwd umask uprobe uretprobe "

/* Those with which a shell has somebody else sleep. */
#define CALLS_SHELL " clone clone3 fork vfork setpgid pipe pipe2 rt_sigsuspend prlimit64 "

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

bool asks_is_watch(struct query *query, uint32_t call)
{
	return is_among(CALLS_WATCH, name_of(query, call));
}

bool asks_has_reason(struct query *query, uint32_t call, uint32_t error)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (reasons[i].error == error && is_among(reasons[i].asks, name_of(query, call)))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ a question */

enum outcome asks_outcome(struct query *query, uint32_t call, uint32_t word)
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

void asks_runs_free(struct asks_runs *runs)
{
	if (!runs)
		return;
	process_asks_fini(runs);
	map_fini(&runs->by_slot);
	free(runs->runs);
	free(runs);
}

/* Was it there for little more than one sleep? */
static bool only_slept(struct query *query, uint32_t slot)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	uint64_t slept_ns = 0;
	struct wait wait;

	if (!thread->died || !thread->wait_count || thread->wait_count > CHILD_WAITS)
		return false;
	for (uint32_t i = 0; i < thread->wait_count; i++) {
		timeline_wait(query->tl, slot, i, &wait);
		if (wait.woken_ns && wait_sleeps(query, &wait))
			slept_ns += wait.woken_ns - wait.begin_ns;
	}
	return slept_ns > (thread->death_ns - thread->birth_ns) / 2;
}

/* A wait for a child that slept: as a shell sleeps. */
static bool is_nap_of_child(struct query *query, uint32_t slot, const struct wait *wait)
{
	const struct timeline *tl = query->tl;
	uint32_t child = wait->waker.slot;

	return wait->woken_ns && wait->waker.kind == ACTOR_THREAD && child < tl->thread_count &&
	       tl->threads[child]->parent < tl->thread_count &&
	       word_kind(wait->in) == WORD_SYSCALL &&
	       tl->threads[tl->threads[child]->parent]->tgid == tl->threads[slot]->tgid &&
	       tl->threads[child]->tgid != tl->threads[slot]->tgid &&
	       is_among(" wait4 waitid waitpid rt_sigsuspend ", name_of(query, wait->in)) &&
	       only_slept(query, child);
}

/* A thread that sleeps because it asked to, whatever in. */
static bool is_nap(struct query *query, uint32_t slot, const struct wait *wait)
{
	bool by_timer = wait->flags & WAIT_TIMED_OUT || wait->waker.kind == ACTOR_TIMER;

	if (is_nap_of_child(query, slot, wait))
		return true;
	return wait->woken_ns && by_timer && !wait->waker.signal && !(wait->flags & WAIT_SERVER) &&
	       (wait_sleeps(query, wait) || wait_timed_out(query, wait));
}

struct asking {
	struct query *query;
	uint32_t slot;
	struct wait nap;       /* the last one */
	struct wait first;     /* and the first one */
	uint32_t index, naps;  /* of it; how many so far */
	struct question asked; /* before each of them */
	bool in_gap;	       /* and since the last nap */
	bool by_child;	       /* others sleep for it */
	uint32_t call;	       /* word of the call that is under way; 0 = none */
	uint64_t call_ns;      /* when it began */
	uint64_t vain_ns;      /* when the last call in vain began */
	uint64_t
		got_ns; /* when the call that got it had ended; 0 = none did since the last in vain */
	uint64_t worked_ns, elsewhere_ns; /* since the last nap */
	bool known;			  /* who had the lock at each nap */
	uint32_t asker; /* slot: the child that made the call last; SLOT_NONE = it itself did */
};

/* A program that is there to ask: what it is asked of is its last call of these. */
#define CALLS_CHILD                                                                                \
	" mkdir mkdirat link linkat symlink symlinkat connect flock fcntl rename renameat2 rmdir " \
	"unlink unlinkat kill "

/* What a child of a shell asked for, and when: how its last call ended that is there for asking. */
static enum outcome child_asked(struct query *query, uint32_t child, struct question *out_asked,
				struct tl_interval *out_call)
{
	const struct tl_thread *thread = query->tl->threads[child];
	enum outcome outcome = NEITHER;
	uint32_t call = 0;
	uint64_t call_ns = 0;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_begin(&iter, query->tl, &thread->track, thread->birth_ns, thread->death_ns);
	while (tl_iter_entry(&iter, &in)) {
		if (word_kind(in.word) == WORD_SYSCALL && call != word_plain(in.word)) {
			call = word_plain(in.word);
			call_ns = in.start_ns;
		} else if (word_kind(in.word) == WORD_USER && call) {
			enum outcome ended = asks_outcome(query, call, in.word);

			if (is_among(CALLS_CHILD, name_of(query, call)) && ended != NEITHER &&
			    (ended == IN_VAIN || word_was_about(in.word) ||
			     call == out_asked->call)) {
				outcome = ended;
				*out_asked = (struct question){ call, word_error(in.word),
								word_was_about(in.word) };
				*out_call = (struct tl_interval){ call_ns, in.start_ns, call };
			}
			call = 0;
		}
	}
	return outcome;
}

/* A child that ended such a wait, and did more than to sleep; SLOT_NONE = it is none. */
static uint32_t child_of(struct query *query, uint32_t slot, const struct wait *wait)
{
	const struct timeline *tl = query->tl;
	uint32_t child = wait->waker.slot;

	if (!wait->woken_ns || wait->waker.kind != ACTOR_THREAD || child >= tl->thread_count ||
	    tl->threads[child]->parent >= tl->thread_count ||
	    tl->threads[tl->threads[child]->parent]->tgid != tl->threads[slot]->tgid ||
	    tl->threads[child]->tgid == tl->threads[slot]->tgid ||
	    query->asks->looks++ >= ASKS_LOOKS_MAX)
		return SLOT_NONE;
	return child;
}

enum next {
	NEXT_ON,
	NEXT_OVER,
	NEXT_ANSWERED
};

static enum next bound(const struct asking *asking, uint64_t ns)
{
	uint64_t nap_ns = asking->nap.woken_ns - asking->nap.begin_ns;

	return ns <= (asking->by_child ? SHELL_NS : LOOK_NS) + nap_ns / LOOK_PART ? NEXT_ON
										  : NEXT_OVER;
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

/* The next nap: it belongs to the others if the question came before it, in vain again. */
static enum next take_nap(struct asking *asking, uint32_t index, const struct wait *wait)
{
	if (asking->got_ns || wait->in != asking->nap.in || !same_object(wait, &asking->nap) ||
	    !asking->in_gap || asking->known != knows_holder(asking->query, wait))
		return NEXT_OVER;
	asking->nap = *wait;
	asking->index = index;
	asking->naps++;
	asking->in_gap = false;
	asking->worked_ns = asking->elsewhere_ns = 0;
	asking->call = 0;
	return NEXT_ON;
}

/* A child asked in its stead. */
static enum next take_child(struct asking *asking, uint32_t child)
{
	struct question asked = { .call = asking->asked.call };
	struct tl_interval call = { 0 };
	enum outcome outcome = child_asked(asking->query, child, &asked, &call);

	if (outcome == NEITHER || asked.call != asking->asked.call)
		return NEXT_ON;
	asking->asker = child;
	if (outcome == GOT_IT) {
		asking->got_ns = asking->got_ns ? asking->got_ns : call.end_ns;
		return NEXT_ON;
	}
	if (asked.error != asking->asked.error ||
	    (asked.about && asking->asked.about && asked.about != asking->asked.about))
		return NEXT_OVER;
	if (asked.about)
		asking->asked.about = asked.about;
	asking->in_gap = true;
	asking->vain_ns = call.start_ns;
	asking->got_ns = 0;
	return NEXT_ON;
}

static enum next take_wait(struct asking *asking, const struct tl_interval *in)
{
	uint32_t index = word_arg(in->word);
	struct wait wait;

	if (index == asking->index)
		return NEXT_ON;
	timeline_wait(asking->query->tl, asking->slot, index, &wait);
	if (is_nap(asking->query, asking->slot, &wait))
		return take_nap(asking, index, &wait);
	if (asking->by_child && asking->asker != SLOT_NONE &&
	    child_of(asking->query, asking->slot, &wait) != SLOT_NONE)
		return take_child(asking, wait.waker.slot);
	asking->elsewhere_ns += in->end_ns - in->start_ns;
	return bound(asking, asking->elsewhere_ns);
}

/* Between the naps the thread made another call. */
static bool is_quiet(const struct asking *asking, uint32_t call)
{
	const char *name = name_of(asking->query, call);

	return asking->known || is_among(CALLS_QUIET, name) ||
	       (asking->by_child && is_among(CALLS_SHELL, name));
}

/* It was about what is asked for, as far as is told. */
static bool is_question(struct asking *asking, uint32_t word)
{
	uint32_t about = word_was_about(word);

	if (about && asking->asked.about)
		return about == asking->asked.about;
	if (about)
		asking->asked.about = about;
	return true;
}

/* The call that was under way has ended as 'word', from 'end_ns' on, says. */
static enum next take_end(struct asking *asking, uint32_t word, uint64_t end_ns)
{
	uint32_t call = asking->call;
	enum outcome outcome;

	asking->call = 0;
	if (!call || (call == asking->nap.in && call != asking->asked.call))
		return NEXT_ON;
	outcome = asks_outcome(asking->query, call, word);
	if (call != asking->asked.call) {
		return outcome != GOT_IT || is_quiet(asking, call) ? NEXT_ON : NEXT_OVER;
	}
	if (outcome == IN_VAIN && word_error(word) == asking->asked.error) {
		if (!is_question(asking, word))
			return NEXT_ON; /* of something else */
		asking->in_gap = true;
		asking->vain_ns = asking->call_ns;
		asking->got_ns = 0;
	} else if (outcome == IN_VAIN) {
		return asking->asked.about ? NEXT_ON : NEXT_OVER;
	} else if (outcome == GOT_IT && !asking->known && !asking->got_ns) {
		/* Where it goes on to ask in vain it was something else that it got. */
		asking->got_ns = end_ns;
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
		if (!before.woken_ns || is_nap(query, slot, &before))
			break;
	}
	return start_ns;
}

/* The same of the child that a shell waited for in that gap last, if it itself asked nothing. */
static bool find_question_of_child(struct asking *asking)
{
	struct query *query = asking->query;
	struct tl_interval call = { 0 };
	struct wait wait;
	uint32_t child;

	for (uint32_t i = 1; asking->by_child && i <= BACK && i <= asking->index; i++) {
		timeline_wait(query->tl, asking->slot, asking->index - i, &wait);
		if (!wait.woken_ns || is_nap(query, asking->slot, &wait))
			return false;
		child = child_of(query, asking->slot, &wait);
		if (child == SLOT_NONE)
			continue;
		asking->asker = child;
		return child_asked(query, child, &asking->asked, &call) == IN_VAIN;
	}
	return false;
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
			enum outcome outcome = asks_outcome(query, call, in.word);

			if ((call != asking->nap.in || asking->by_child) && outcome == IN_VAIN)
				asking->asked = (struct question){ call, word_error(in.word),
								   word_was_about(in.word) };
			else if (call == asking->asked.call && outcome == GOT_IT && !asking->known)
				asking->asked.call = 0;
			call = 0;
		}
	}
	if (asking->by_child && (!asking->asked.call || !asks_has_reason(query, asking->asked.call,
									 asking->asked.error))) {
		asking->asked = (struct question){ 0 };
		return find_question_of_child(asking);
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
	bool named; /* what they did is known to have been to the path that was asked for */
};

static bool is_recorder(const struct query *query, int32_t tid)
{
	for (size_t i = 0; i < query->facts->recorder_tid_count; i++) {
		if (query->facts->recorder_tids[i] == tid)
			return true;
	}
	return false;
}

static void found(struct doers *doers, uint32_t slot, uint32_t call, uint64_t time_ns, bool named)
{
	struct query *query = doers->asking->query;
	const struct tl_thread *const *threads =
		(const struct tl_thread *const *)query->tl->threads;

	if (named && !doers->named) {
		doers->found.slot = SLOT_NONE;
		doers->several = false;
		doers->named = true;
	} else if (!named && doers->named) {
		return;
	}
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

/* The same of names: of both of a rename. *out_named: it is known to be that name. */
static bool is_named(const struct doers *doers, const char *call, uint32_t about, bool *out_named)
{
	uint32_t asked = doers->asking->asked.about;
	bool rename = strncmp(call, "rename", 6) == 0;

	*out_named = false;
	if (!doers->reason->named || !asked || !about)
		return true;
	*out_named = rename ? word_is_among(asked, about) : asked == about;
	return *out_named;
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
	found(doers, slot, 0, thread->death_ns < doers->to_ns ? thread->death_ns : doers->to_ns,
	      false);
}

/* A call that ended as 'word' says, in time to have changed the answer. */
static void look_at_call(struct doers *doers, uint32_t slot, uint32_t call,
			 const struct tl_interval *in)
{
	const char *name = name_of(doers->asking->query, call);
	bool named;

	if (word_error(in->word) || in->start_ns <= doers->from_ns ||
	    !is_among(doers->reason->calls, name) || !is_about(doers, word_was_about(in->word)) ||
	    !is_named(doers, name, word_was_about(in->word), &named))
		return;
	if (doers->reason->makes && is_among(CALLS_OPEN, name) && !word_has(in->word, WORD_MADE))
		return;
	found(doers, slot, call, in->start_ns < doers->to_ns ? in->start_ns : doers->to_ns, named);
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
	doers->several = doers->named = false;
	for (uint32_t i = 0; i < query->tl->thread_count && !(doers->several && doers->named);
	     i++) {
		const struct tl_thread *thread = query->tl->threads[i];

		if (i == doers->asking->slot || i == doers->asking->asker || thread->tid == 0 ||
		    thread->kernel || is_recorder(query, thread->tid))
			continue;
		if (query->asks->looks++ >= ASKS_LOOKS_MAX)
			return false;
		if (doers->reason->by == BY_CALL)
			look_at_calls(doers, i);
		else
			look_at_end(doers, i);
	}
	return doers->found.slot != SLOT_NONE;
}

static bool is_of(const char *name, uint32_t about)
{
	return word_about_name(name, true) == about || word_about_name(name, false) == about;
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
		if (!*out_answer->about)
			out_answer->about = describe_asked(asking->query, &asking->first);
		/* A shell may have failed at something else since its child asked. */
		if (asking->asker != SLOT_NONE && !is_of(out_answer->about, asking->asked.about))
			out_answer->about = "";
		out_answer->error = asking->asked.error;
		return true;
	}
	return false;
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
				 .asker = SLOT_NONE };

	return find_answer(&asking, out_answer);
}

/* ----------------------------------------------------------------------- a run */

static struct asks_run find_run(struct query *query, uint32_t slot, uint32_t index,
				const struct wait *wait)
{
	struct asking asking = { .query = query,
				 .slot = slot,
				 .nap = *wait,
				 .first = *wait,
				 .index = index,
				 .naps = 1,
				 .known = knows_holder(query, wait),
				 .by_child = is_nap_of_child(query, slot, wait),
				 .asker = SLOT_NONE,
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
	if (asking.got_ns)
		next = NEXT_ANSWERED;
	run.last = asking.index;
	run.asked = asking.asked;
	run.vain_ns = asking.vain_ns;
	run.is_answered =
		next == NEXT_ANSWERED && asking.naps >= LEAST && find_answer(&asking, &run.answer);
	run.answer.naps = asking.naps;
	if (!run.is_answered) {
		run.answer.call = asking.asked.call ? name_of(query, asking.asked.call) : "";
		run.answer.error = asking.asked.error;
		run.answer.by = "";
	}
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
	if (!run->is_answered && !knows_holder(query, wait))
		(void)asks_of_process(query, slot, index, wait, run);
	return run;
}

/* When the holder let go, as the last of what it did with the file says; else with its end. */
static uint64_t let_go_ns(struct query *query, const struct asks_run *run, uint32_t slot,
			  const struct wait *wait)
{
	static const struct reason lets_go = { .calls = CALLS_LOCK " close ", .same = true };
	const struct timeline *tl = query->tl;
	uint64_t death_ns = tl->threads[wait->origin.slot]->death_ns;
	struct asking asking = {
		.query = query, .slot = slot, .asked = run->asked, .asker = SLOT_NONE
	};
	struct doers doers = { .asking = &asking,
			       .reason = &lets_go,
			       .from_ns = run->vain_ns ? run->vain_ns : wait->begin_ns,
			       .to_ns = wait->woken_ns,
			       .found = { .slot = SLOT_NONE } };

	for (uint32_t i = 0; i < tl->thread_count; i++) {
		if (tl->threads[i]->tgid != tl->threads[wait->origin.slot]->tgid)
			continue;
		if (query->asks->looks++ >= ASKS_LOOKS_MAX)
			break;
		look_at_calls(&doers, i);
	}
	if (doers.found.slot != SLOT_NONE)
		return doers.found.time_ns;
	return death_ns < wait->woken_ns ? death_ns : wait->woken_ns;
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

	if (!query->facts->has_syscalls || !is_nap(query, slot, wait))
		return false;
	run = run_of(query, slot, word_arg(word), wait);
	if (knows_holder(query, wait) && run->answer.naps >= LEAST) {
		tell_holder(query, slot, run, word_arg(word), wait, out_answer);
		return true;
	}
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
	struct why_thread who = why_thread(query, answer->slot);
	AUTO_FREE char *by =
		answer->by && *answer->by ? xasprintf("called %s()", answer->by) : xstrdup("ended");

	if (answer->known)
		return why_keep(query->why, xasprintf("%s()%s%s %s: %s[%d] had the lock",
						      answer->call, *answer->about ? " of " : "",
						      answer->about, vain, who.comm, who.tgid));
	return why_keep(query->why,
			xasprintf("%s()%s%s %s until it %s", answer->call,
				  *answer->about ? " of " : "", answer->about, vain, by));
}
