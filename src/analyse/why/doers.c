/*
 * doers.c - who changed the answer to a call that was made in vain, as far as it can be inferred.
 *
 * Of each question it is known what may change its answer: who makes the file, binds the port, lets go of the lock,
 * ends. It is the only process that did so between the last call in vain and the end of the one that got it.
 * On a busy machine strangers do the like at that moment. Where it is known what they did it to, that
 * counts; else the only relative does: a process that has a parent, or one further up, in common with who asks.
 * Several relatives, or nobody: nothing is said. A stranger counts where no relative did anything that can
 * have changed it, and for what not every process does all the time: of who reads or writes it must be known
 * that it was the same.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/why/asks_int.h"
#include "base/mem.h"
#include "event/facts.h"

#define NO_ERROR 0u
#define FAMILY	 4u  /* generations up to what they have in common */
#define STEPS_UP 64u /* threads, for that */

/* A process that has ended is seen a moment before its last switch is. */
#define DYING_NS 1000000u

/*
 * A call that was under way has done it before it ends: a FIFO is opened at both ends at once. Threads of a process
 * end one after the other.
 */
#define LATE_NS 50000000u

/* Between a time-out and the end of its call, on a machine that is not busy. */
#define MOMENT_NS 3000000u

#define ENTRIES_BEHIND 64u /* of a track, up to where what came is taken */

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
	bool kin;   /* only relatives count: it is shared by them alone, or is done all the time */
	bool channel; /* both are about a pipe, a socket or the like, which may be told of one only */
	bool self;    /* it was done to the process that asks */
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
#define CALLS_KILL  " kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal "

/* For one question the likelier first. */
static const struct reason reasons[] = {
	{ " wait4 waitid waitpid ", "", NO_ERROR, BY_CHILD, true, false, false, false },
	{ " kill tkill tgkill pidfd_send_signal ", "", NO_ERROR, BY_END, true, false, false,
	  false },
	{ CALLS_OPEN CALLS_LOOK " execve chdir ", CALLS_MAKE, ENOENT, BY_CALL, false, true, true,
	  false },
	{ CALLS_OPEN
	  " mkdir mkdirat link linkat symlink symlinkat mknod mknodat rename renameat renameat2 ",
	  CALLS_GO, EEXIST, BY_CALL, false, false, true, false },
	{ CALLS_GO " link linkat truncate chmod utimensat ", CALLS_MAKE, ENOENT, BY_CALL, false,
	  true, true, false },
	{ CALLS_OPEN, CALLS_OPEN, ENXIO, BY_CALL, false, false, true, false },
	{ " connect ", " listen ", ECONNREFUSED, BY_CALL, false, false, true, false },
	{ " connect ", " bind listen ", ENOENT, BY_CALL, false, false, true, false },
	{ " connect ", " accept accept4 close ", EAGAIN, BY_CALL, .kin = true },
	{ " bind ", " close ", EADDRINUSE, BY_CALL, false, false, false, true },
	{ " bind ", "", EADDRINUSE, BY_END, false, false, false, false },
	{ CALLS_LOCK, CALLS_LOCK, EAGAIN, BY_CALL, true, false, false, false },
	{ CALLS_LOCK, " close ", EAGAIN, BY_CALL, true, false, false, true },
	{ CALLS_LOCK, "", EAGAIN, BY_END, false, false, false, false },
	{ " fcntl fcntl64 ", CALLS_LOCK, EACCES, BY_CALL, true, false, false, false },
	{ CALLS_READ, CALLS_WRITE, EAGAIN, BY_CALL, .channel = true },
	{ CALLS_WRITE, CALLS_READ, EAGAIN, BY_CALL, .channel = true },
	{ CALLS_WATCH, CALLS_WRITE " connect kill tgkill rt_sigqueueinfo ", NO_ERROR, BY_CALL,
	  .channel = true },
	/* A pidfd, where nothing is taken out behind it. */
	{ CALLS_WATCH, "", NO_ERROR, BY_CHILD, .channel = true },
	{ " accept accept4 ", " connect ", EAGAIN, BY_CALL, false, false, false, false },
	{ " semop semtimedop ", " semop semtimedop semctl ", EAGAIN, BY_CALL, .channel = true },
	{ " msgrcv ", " msgsnd ", ENOMSG, BY_CALL, .channel = true },
	{ " msgsnd ", " msgrcv ", EAGAIN, BY_CALL, .channel = true },
	{ " mq_timedreceive ", " mq_timedsend ", EAGAIN, BY_CALL, .same = true },
	{ " mq_timedsend ", " mq_timedreceive ", EAGAIN, BY_CALL, .same = true },
	{ " mq_timedreceive ", " mq_timedsend ", ETIMEDOUT, BY_CALL, .same = true },
	{ " mq_timedsend ", " mq_timedreceive ", ETIMEDOUT, BY_CALL, .same = true },
	{ " shmget ", " shmget ", ENOENT, BY_CALL, false, false, false, false },
	{ " semget ", " semget ", ENOENT, BY_CALL, false, false, false, false },
	{ " msgget ", " msgget ", ENOENT, BY_CALL, false, false, false, false },
	{ " mq_open ", " mq_open ", ENOENT, BY_CALL, false, false, false, false },
	{ " getxattr lgetxattr fgetxattr ", " setxattr lsetxattr fsetxattr ", ENODATA, BY_CALL,
	  false, false, false, false },
	{ " rmdir unlinkat rename renameat renameat2 ", CALLS_GO, ENOTEMPTY, BY_CALL, false, false,
	  false, true },
	{ " rt_sigtimedwait ", CALLS_KILL, EAGAIN, BY_CALL, .self = true },
	{ " futex futex_time64 futex_wait futex_waitv ", " futex futex_time64 futex_wake ",
	  ETIMEDOUT, BY_CALL, false, false, true, true },
	{ " memory ", " process_vm_writev ", NO_ERROR, BY_CALL, true, false, false, false },
};

/* The same where it was there each time, until it was not. Only what is known to be about the same counts. */
static const struct reason gone_reasons[] = {
	{ CALLS_OPEN CALLS_LOOK, CALLS_GO, NO_ERROR, BY_CALL, false, false, true, false },
	{ CALLS_OPEN CALLS_LOOK, "", NO_ERROR, BY_END, false, false, true, false },
};

bool asks_is_among(const char *names, const char *name)
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

const char *asks_name(struct query *query, uint32_t call)
{
	return describe_word(query, word_make(WORD_SYSCALL, word_call(call)));
}

bool asks_is_watch(struct query *query, uint32_t call)
{
	return asks_is_among(CALLS_WATCH, asks_name(query, call));
}

bool asks_is_ring(struct query *query, uint32_t call)
{
	return strcmp(asks_name(query, call), "io_uring_enter") == 0;
}

bool asks_is_rename(const char *call)
{
	return strncmp(call, "rename", strlen("rename")) == 0;
}

bool asks_may_go(struct query *query, uint32_t call)
{
	return asks_is_among(CALLS_OPEN CALLS_LOOK, asks_name(query, call));
}

bool asks_has_reason(struct query *query, uint32_t call, uint32_t error)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (reasons[i].error == error &&
		    asks_is_among(reasons[i].asks, asks_name(query, call)))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------- who did it */

enum rank {
	RANK_ANY,
	RANK_KIN,
	RANK_NAMED, /* what it did is known to have been to the path that was asked for */
	RANKS
};

/* The last time that one of that rank did it; slot SLOT_NONE = nobody. */
struct doer {
	struct answer answer;
	bool several;
};

struct doers {
	const struct doing *doing;
	const struct reason *reason;
	struct doer ranks[RANKS];
	uint32_t renames; /* of strangers, whatever they renamed */
};

bool asks_is_recorder(const struct query *query, int32_t tid)
{
	for (size_t i = 0; i < query->facts->recorder_tid_count; i++) {
		if (query->facts->recorder_tids[i] == tid)
			return true;
	}
	return false;
}

/* The processes from that of 'slot' up to FAMILY generations above it. Returns how many. */
static uint32_t family_of(const struct query *query, uint32_t slot, int32_t *out_tgids)
{
	const struct timeline *tl = query->tl;
	uint32_t count = 0;

	for (uint32_t i = 0; i < STEPS_UP && slot < tl->thread_count; i++) {
		const struct tl_thread *thread = tl->threads[slot];

		if (thread->tgid <= 1 || asks_is_recorder(query, thread->tid) ||
		    asks_is_recorder(query, thread->tgid))
			break;
		if (!count || out_tgids[count - 1] != thread->tgid) {
			if (count > FAMILY)
				break;
			out_tgids[count++] = thread->tgid;
		}
		slot = thread->parent;
	}
	return count;
}

bool asks_is_kin(const struct query *query, uint32_t one, uint32_t other)
{
	int32_t ours[FAMILY + 1], theirs[FAMILY + 1];
	uint32_t our_count = family_of(query, one, ours);
	uint32_t their_count = family_of(query, other, theirs);

	for (uint32_t i = 0; i < our_count; i++) {
		for (uint32_t k = 0; k < their_count; k++) {
			if (ours[i] == theirs[k])
				return true;
		}
	}
	return false;
}

/* Threads of the process that asks are told apart, those of others are not. */
static bool is_another(const struct doers *doers, uint32_t one, uint32_t other)
{
	const struct query *query = doers->doing->query;

	return query_is_one_process(query, one, doers->doing->slot)
		       ? one != other
		       : !query_is_one_process(query, one, other);
}

/* Threads of a process whose other threads are looked for: one of these did it, or nobody of them. */
static bool is_own(const struct doing *doing, uint32_t slot)
{
	return doing->others && query_is_one_process(doing->query, slot, doing->slot);
}

/*
 * Every process does that all the time, to one thing or the other; but hardly in the moment in which a time is up, where
 * whose time it was got a CPU at once.
 */
static bool is_common(const struct doing *doing, uint32_t call)
{
	bool at_once = doing->timed_out && doing->to_ns - doing->from_ns <= MOMENT_NS;

	return call && (doing->asked.channel || !at_once) &&
	       asks_is_among(CALLS_READ CALLS_WRITE, asks_name(doing->query, call));
}

static void doers_add(struct doers *doers, uint32_t slot, uint32_t call, uint64_t time_ns,
		      bool named)
{
	struct query *query = doers->doing->query;
	bool kin = asks_is_kin(query, slot, doers->doing->slot);
	enum rank rank = named ? RANK_NAMED : kin ? RANK_KIN : RANK_ANY;
	struct doer *doer = &doers->ranks[rank];

	if (!kin && (doers->reason->kin || (!named && is_common(doers->doing, call))))
		return;
	if (is_own(doers->doing, slot) && !named)
		return;
	if (doer->answer.slot != SLOT_NONE && is_another(doers, doer->answer.slot, slot))
		doer->several = true;
	if (doer->answer.slot != SLOT_NONE && doer->answer.time_ns > time_ns)
		return;
	doer->answer.slot = slot;
	doer->answer.time_ns = time_ns;
	doer->answer.by = call ? asks_name(query, call) : "";
}

/* Where it is known what was asked about, only what is about the same can have changed it. */
static bool is_about(const struct doers *doers, uint32_t about)
{
	const struct doing *doing = doers->doing;
	const struct tl_thread *thread = doing->query->tl->threads[doing->slot];
	uint32_t asked = doing->asked.about;

	if (doers->reason->self)
		return about == word_about((uint64_t)thread->tgid) ||
		       about == word_about((uint64_t)thread->tid);
	return !doers->reason->same || !asked || asked == about;
}

/* Have two pairs, as word_about_both(), one in common? */
static bool share_one(uint32_t both, uint32_t others)
{
	const uint32_t half = WORD_ABOUT_BITS / 2, mask = (1u << half) - 1;
	const uint32_t one = both >> WORD_ABOUT_SHIFT, two = others >> WORD_ABOUT_SHIFT;

	return one >> half == two >> half || one >> half == (two & mask) ||
	       (one & mask) == two >> half || (one & mask) == (two & mask);
}

/* The same of names: of both of a rename. *out_named: it is known to be that name. */
static bool is_named(const struct doers *doers, const char *call, uint32_t about, bool *out_named)
{
	const struct doing *doing = doers->doing;
	uint32_t asked = doing->asked.about;
	bool rename = asks_is_rename(call);

	*out_named = false;
	if (!doers->reason->named || !asked || !about)
		return !doing->exact;
	/* Of two names each few bits are left, if both were told: too few to know it by them. */
	if (!doing->as && asks_is_rename(asks_name(doing->query, doing->asked.call)))
		return asked == about ||
		       (rename ? share_one(asked, about) || word_is_among(asked, about)
			       : word_is_among(about, asked));
	*out_named = rename ? word_is_among(asked, about) : asked == about;
	return *out_named;
}

/* Of a pipe or a socket: where it is told which one, it is not another one, nor a file. *out_named: it is that one. */
static bool is_of_channel(const struct doers *doers, uint32_t word, bool *out_named)
{
	uint32_t asked = doers->doing->asked.channel, channel = word_was_channel(word);

	if (!doers->reason->channel || !asked)
		return true;
	/* Of its own, such as inotify's: nobody writes there. */
	if (asked == WORD_CHANNEL)
		return false;
	*out_named = channel == asked;
	return channel ? channel == asked : !word_was_about(word);
}

/* Is what was asked for the folder of that process in /proc? */
static bool is_its_folder(const struct doers *doers, const struct tl_thread *thread)
{
	char folder[32];

	snprintf(folder, sizeof(folder), "/proc/%d", thread->tgid);
	return word_about_name(folder, true) == doers->doing->asked.about;
}

/* A process has ended when the last of its threads has: the first one is not, as a rule, but it is told for all. */
static uint64_t process_end_ns(const struct timeline *tl, const struct tl_thread *thread)
{
	uint64_t end_ns = thread->death_ns;

	for (uint32_t i = 0; i < tl->thread_count; i++) {
		const struct tl_thread *other = tl->threads[i];

		if (other->tgid == thread->tgid && other->death_ns > end_ns &&
		    other->birth_ns < thread->death_ns)
			end_ns = other->died ? other->death_ns : UINT64_MAX;
	}
	return end_ns;
}

static void look_at_end(struct doers *doers, uint32_t slot)
{
	const struct doing *doing = doers->doing;
	const struct timeline *tl = doing->query->tl;
	const struct tl_thread *thread = tl->threads[slot];
	uint64_t death_ns = thread->death_ns;
	uint32_t parent = thread->parent;

	if (doers->reason->channel && (doing->asked.channel || doing->timed_out))
		return;
	if (doing->until_gone ? !is_its_folder(doers, thread)
			      : !is_about(doers, word_about((uint64_t)thread->tid)))
		return;
	if (!thread->died || thread->tid != thread->tgid || death_ns > doing->to_ns + DYING_NS ||
	    death_ns + LATE_NS <= doing->from_ns)
		return;
	if (death_ns <= doing->from_ns)
		death_ns = process_end_ns(tl, thread);
	if (death_ns <= doing->from_ns || death_ns > doing->to_ns + DYING_NS)
		return;
	if (doers->reason->by == BY_CHILD &&
	    (parent == SLOT_NONE || tl->threads[parent]->tgid != tl->threads[doing->slot]->tgid))
		return;
	doers_add(doers, slot, 0, death_ns < doing->to_ns ? death_ns : doing->to_ns,
		  doing->until_gone);
}

/*
 * Of two names each few bits are left: of one rename in 32 they fit by chance. So it is not known to be that one, and
 * where strangers rename much, as compilers do, it is nobody.
 */
static bool is_strange_rename(struct doers *doers, uint32_t slot, const char *call)
{
	bool is_strange =
		asks_is_rename(call) && !asks_is_kin(doers->doing->query, slot, doers->doing->slot);

	doers->renames += is_strange;
	return is_strange;
}

/* A call that ended as 'word' says, in time to have changed the answer. */
static void look_at_call(struct doers *doers, uint32_t slot, uint32_t call,
			 const struct tl_interval *in)
{
	const struct doing *doing = doers->doing;
	const char *name = asks_name(doing->query, call);
	bool named, is_strange;

	if (word_error(in->word) || in->start_ns <= doing->from_ns ||
	    !asks_is_among(doers->reason->calls, name))
		return;
	is_strange = is_strange_rename(doers, slot, name);
	if (!is_about(doers, word_was_about(in->word)) ||
	    !is_named(doers, name, word_was_about(in->word), &named) ||
	    !is_of_channel(doers, in->word, &named) ||
	    (strcmp(name, "semctl") == 0 && !word_has(in->word, WORD_MADE)))
		return;
	if (doers->reason->makes && asks_is_among(CALLS_OPEN, name) &&
	    !word_has(in->word, WORD_MADE))
		return;
	doers_add(doers, slot, call, in->start_ns < doing->to_ns ? in->start_ns : doing->to_ns,
		  named && !is_strange);
}

static void look_at_calls(struct doers *doers, uint32_t slot)
{
	const struct doing *doing = doers->doing;
	const struct timeline *tl = doing->query->tl;
	const struct tl_thread *thread = tl->threads[slot];
	struct tl_interval in;
	struct tl_iter iter;
	uint32_t call = 0;

	if (thread->death_ns <= doing->from_ns || thread->birth_ns >= doing->to_ns)
		return;
	tl_iter_begin(&iter, tl, &thread->track, doing->from_ns, doing->to_ns + LATE_NS);
	while (tl_iter_entry(&iter, &in) && (call || in.start_ns < doing->to_ns)) {
		enum word_kind kind = word_kind(in.word);

		if (kind == WORD_SYSCALL && in.start_ns < doing->to_ns)
			call = word_plain(in.word);
		else if (kind == WORD_SYSCALL && call != word_plain(in.word))
			break;
		else if (kind == WORD_USER && call) {
			look_at_call(doers, slot, call, &in);
			call = 0;
		}
	}
}

static void doers_begin(struct doers *doers, const struct doing *doing, const struct reason *reason)
{
	*doers = (struct doers){ .doing = doing, .reason = reason };
	for (int i = 0; i < RANKS; i++)
		doers->ranks[i].answer.slot = SLOT_NONE;
}

static bool may_have_done_it(const struct doing *doing, uint32_t slot)
{
	const struct tl_thread *thread = doing->query->tl->threads[slot];

	return slot != doing->slot && slot != doing->asker && thread->tid != 0 && !thread->kernel &&
	       !asks_is_recorder(doing->query, thread->tid);
}

/* False when there were too many to look at. */
static bool look_at_all(struct doers *doers)
{
	struct query *query = doers->doing->query;

	for (uint32_t i = 0; i < query->tl->thread_count && !doers->ranks[RANK_NAMED].several;
	     i++) {
		if (!may_have_done_it(doers->doing, i))
			continue;
		if (asks_runs(query)->looks++ >= ASKS_LOOKS_MAX)
			return false;
		if (doers->reason->by == BY_CALL)
			look_at_calls(doers, i);
		else
			look_at_end(doers, i);
	}
	return true;
}

/* Of the highest rank that did it. NULL = nobody did. */
static const struct doer *doers_best(const struct doers *doers)
{
	for (int i = RANKS - 1; i >= 0; i--) {
		if (doers->ranks[i].answer.slot != SLOT_NONE)
			return &doers->ranks[i];
	}
	return NULL;
}

static bool is_for(const struct doing *doing, const struct reason *reason)
{
	const char *name = doing->as ? doing->as : asks_name(doing->query, doing->asked.call);

	if (!asks_is_among(reason->asks, name))
		return false;
	return doing->timed_out ? !reason->named || reason->kin
				: reason->error == doing->asked.error;
}

bool asks_takes(struct query *query, uint32_t call)
{
	return asks_is_among(CALLS_READ " semop semtimedop msgrcv mq_timedreceive rt_sigtimedwait ",
			     asks_name(query, call));
}

void asks_found(struct query *query, uint32_t slot, uint64_t got_ns, struct question *asked)
{
	struct tl_interval in;
	struct tl_iter iter;
	uint32_t call = 0;

	tl_iter_thread(&iter, query->tl, slot, got_ns, query_known_ns(query, slot));
	for (uint32_t i = 0; i < ENTRIES_BEHIND && tl_iter_entry(&iter, &in); i++) {
		enum word_kind kind = word_kind(in.word);

		if (kind == WORD_BLOCKED || kind == WORD_NONE || kind == WORD_UNCERTAIN)
			return;
		if (kind == WORD_SYSCALL)
			call = word_plain(in.word);
		if (kind != WORD_USER)
			continue;
		if (!asked->about && in.start_ns == got_ns)
			asked->about = word_was_about(in.word);
		asked->channel = word_was_channel(in.word);
		if ((asked->channel && in.start_ns == got_ns) ||
		    (call && asks_is_among(CALLS_READ, asks_name(query, call))))
			return;
		asked->channel = 0;
		call = 0;
	}
}

bool asks_find_doer(const struct doing *doing, struct answer *out_answer)
{
	const struct reason *all = doing->until_gone ? gone_reasons : reasons;
	size_t count = doing->until_gone ? ARRAY_LEN(gone_reasons) : ARRAY_LEN(reasons);
	struct answer stranger = { .slot = SLOT_NONE };
	bool strangers = false; /* several, for a likelier reason */
	struct doers doers;

	for (size_t i = 0; i < count; i++) {
		const struct doer *best;

		if (!is_for(doing, &all[i]))
			continue;
		doers_begin(&doers, doing, &all[i]);
		if (!look_at_all(&doers))
			return false;
		best = doers_best(&doers);
		if (!best)
			continue;
		if (best != &doers.ranks[RANK_ANY]) {
			*out_answer = best->answer;
			return !best->several && !is_own(doing, best->answer.slot);
		}
		strangers |= best->several ||
			     (asks_is_rename(best->answer.by) && doers.renames > ASKS_RENAMES_MOST);
		if (!strangers && stranger.slot == SLOT_NONE)
			stranger = best->answer;
	}
	*out_answer = stranger;
	return stranger.slot != SLOT_NONE;
}

uint64_t asks_let_go_ns(const struct doing *doing, uint32_t holder)
{
	static const struct reason lets_go = { .calls = CALLS_LOCK " close ", .same = true };
	const struct timeline *tl = doing->query->tl;
	uint64_t death_ns = tl->threads[holder]->death_ns;
	const struct doer *best;
	struct doers doers;

	doers_begin(&doers, doing, &lets_go);
	for (uint32_t i = 0; i < tl->thread_count; i++) {
		if (tl->threads[i]->tgid != tl->threads[holder]->tgid)
			continue;
		if (asks_runs(doing->query)->looks++ >= ASKS_LOOKS_MAX)
			break;
		look_at_calls(&doers, i);
	}
	best = doers_best(&doers);
	if (best)
		return best->answer.time_ns;
	return death_ns < doing->to_ns ? death_ns : doing->to_ns;
}
