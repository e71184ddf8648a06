/*
 * why_slices.c - one wait in slices: a wait with a limit, taken up again each time the limit ran out.
 *
 *	futex ──timer── futex ──timer── futex ──timer── futex ──W wakes──
 *	                look            look            look
 *	|<-------------------- one wait, ended by W ------------------->|
 *
 * Locks of Java and Python, conditions, event loops and databases wait like that. Nobody asked for
 * the time-outs, so all of the wait is what the last slice waited for. Two waits that follow each other
 * are slices of one where
 *
 *	- the first one was ended by its own time-out, and it was no sleep,
 *	- the second one is in the same call and on the same object,
 *	- between them the thread only looked: calls that change nothing or that failed, and work for
 *	  LOOK_NS and a LOOK_PART of the slice at most; it may have waited that long for something else,
 *	  and for locks and pages of memory as long as it takes: the lock of a condition, Python's GIL.
 *
 * The last slice is the first one that was not ended by its own time-out. Without one, the thread has
 * given up: its time-outs were what they are, and are told as such. Nothing behind the end of the window
 * counts, so that a cut of the window tells the same.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why_int.h"
#include "base/map.h"
#include "base/mem.h"

#define LOOK_NS	  200000u
#define LOOK_PART 50u
/* Words of one condition of glibc lie that close, and those of both of HotSpot's for a thread. */
#define FUTEX_NEAR 256u

/* All waits of a thread from 'first' to 'last' on one object are slices of one, or none of them is. */
struct slice_run {
	uint32_t first, last;
	bool is_joined;	  /* by 'last' */
	struct wait wait; /* one of them */
};

/* A thread waits for several things by turns: for a condition, and for its lock. */
#define RUNS_KEPT 4u

/* What was found out last of a thread. */
struct slots_runs {
	struct slice_run kept[RUNS_KEPT];
	uint32_t count, oldest;
};

struct slice_runs {
	struct map by_slot; /* index into runs */
	struct slots_runs *runs;
	size_t count, cap;
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

/* Calls that change nothing that others could see, but for memory, clocks and signals of one's own. */
static const char *const looks[] = {
	/* sorted */
	"_llseek",
	"_newselect",
	"access",
	"alarm",
	"brk",
	"capget",
	"clock_getres",
	"clock_gettime",
	"clock_gettime64",
	"epoll_ctl",
	"epoll_pwait",
	"epoll_pwait2",
	"epoll_wait",
	"faccessat",
	"faccessat2",
	"fcntl",
	"fcntl64",
	"fstat",
	"fstat64",
	"fstatat64",
	"fstatfs",
	"futex",
	"futex_time64",
	"futex_wait",
	"futex_waitv",
	"futex_wake",
	"getcpu",
	"getcwd",
	"getegid",
	"geteuid",
	"getgid",
	"getitimer",
	"getpeername",
	"getpgid",
	"getpgrp",
	"getpid",
	"getppid",
	"getpriority",
	"getrandom",
	"getrlimit",
	"getrusage",
	"getsid",
	"getsockname",
	"getsockopt",
	"gettid",
	"gettimeofday",
	"getuid",
	"kill",
	"lseek",
	"lstat",
	"lstat64",
	"madvise",
	"membarrier",
	"mincore",
	"mmap",
	"mprotect",
	"mremap",
	"munmap",
	"newfstatat",
	"poll",
	"ppoll",
	"ppoll_time64",
	"pread64",
	"pselect6",
	"pselect6_time64",
	"read",
	"readlink",
	"readlinkat",
	"recvfrom",
	"recvmmsg",
	"recvmsg",
	"restart_syscall",
	"rt_sigaction",
	"rt_sigpending",
	"rt_sigprocmask",
	"rt_sigreturn",
	"rt_sigtimedwait",
	"sched_getaffinity",
	"sched_getparam",
	"sched_getscheduler",
	"sched_yield",
	"select",
	"setitimer",
	"sigaltstack",
	"sigprocmask",
	"sigreturn",
	"stat",
	"stat64",
	"statfs",
	"statx",
	"sysinfo",
	"tgkill",
	"time",
	"timer_getoverrun",
	"timer_gettime",
	"timer_settime",
	"timerfd_gettime",
	"timerfd_settime",
	"times",
	"uname",
	"wait4",
	"waitid",
};

static int by_name(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strcmp(*a, *b);
}

bool call_only_looks(struct query *query, uint32_t call)
{
	const char *name = describe_word(query, word_make(WORD_SYSCALL, word_call(call)));

	return bsearch(&name, looks, ARRAY_LEN(looks), sizeof(looks[0]), by_name) != NULL;
}

static bool futex_address(const char *object, uint64_t *out_address)
{
	char *end;

	if (strncmp(object, "futex 0x", 8) != 0)
		return false;
	*out_address = strtoull(object + 8, &end, 16);
	return *end == '\0';
}

static bool is_same(struct query *query, const struct wait *one, const struct wait *other)
{
	uint64_t a, b;

	if (one->in != other->in)
		return false;
	/* Which of several descriptors it was about is known, at best, of the wait that one of them ended. */
	if (one->flags & other->flags & WAIT_MANY)
		return wait_set(one) == wait_set(other);
	if (one->fd != other->fd)
		return false;
	if (one->object == other->object)
		return true;
	return futex_address(timeline_name(query->tl, one->object), &a) &&
	       futex_address(timeline_name(query->tl, other->object), &b) &&
	       (a < b ? b - a : a - b) < FUTEX_NEAR;
}

/* A lock taken or a page brought in is no act of the thread's. */
static bool is_on_the_way(struct query *query, const struct wait *wait)
{
	return word_kind(wait->in) != WORD_SYSCALL ||
	       strncmp(describe_word(query, word_make(WORD_SYSCALL, word_call(wait->in))), "futex",
		       strlen("futex")) == 0;
}

static bool is_slice(struct query *query, const struct wait *wait)
{
	return wait->woken_ns && wait_timed_out(query, wait);
}

/* How a thread goes on behind a slice. */
struct looking {
	struct query *query;
	uint32_t slot;
	struct wait slice;     /* the last one */
	uint32_t index;	       /* of that wait */
	uint32_t call;	       /* word of the call that is under way; 0 = none */
	uint64_t worked_ns;    /* since that slice */
	uint64_t elsewhere_ns; /* waited for something else since then, or not known what it did */
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

static enum look look_at_wait(struct looking *looking, uint32_t index, uint64_t start_ns)
{
	struct wait wait;

	if (index == looking->index)
		return LOOK_ON;
	timeline_wait(looking->query->tl, looking->slot, index, &wait);
	if (!is_same(looking->query, &looking->slice, &wait)) {
		uint64_t until_ns = wait.woken_ns ? wait.woken_ns : looking->query->tl->end_ns;

		if (is_on_the_way(looking->query, &wait))
			return LOOK_ON;
		looking->elsewhere_ns += until_ns > start_ns ? until_ns - start_ns : 0;
		return look_bound(looking, looking->elsewhere_ns);
	}
	looking->index = index;
	if (!is_slice(looking->query, &wait))
		return LOOK_JOINED;
	looking->slice = wait;
	looking->worked_ns = looking->elsewhere_ns = 0;
	looking->call = 0;
	return LOOK_ON;
}

/* The call that was under way has ended as 'word' says. */
static enum look look_at_end(struct looking *looking, uint32_t word)
{
	uint32_t call = looking->call;

	looking->call = 0;
	return !call || word_error(word) || call_only_looks(looking->query, call) ? LOOK_ON : LOOK_OVER;
}

static enum look look_at(struct looking *looking, const struct tl_interval *in)
{
	enum look look = LOOK_ON;

	switch (word_kind(in->word)) {
	case WORD_NONE:
		return LOOK_OVER;
	case WORD_UNCERTAIN: /* too short to do much, or of no length */
		looking->elsewhere_ns += in->end_ns - in->start_ns;
		return look_bound(looking, looking->elsewhere_ns);
	case WORD_BLOCKED:
		return look_at_wait(looking, word_arg(in->word), in->start_ns);
	case WORD_USER:
		look = look_at_end(looking, in->word);
		break;
	case WORD_SYSCALL:
		if (looking->call && looking->call != word_plain(in->word))
			look = look_at_end(looking, word_make(WORD_USER, 0));
		looking->call = word_plain(in->word);
		break;
	default:
		if (word_wib(in->word) != WIB_WORKING)
			return LOOK_ON;
		break;
	}
	looking->worked_ns += in->end_ns - in->start_ns;
	return look == LOOK_ON ? look_bound(looking, looking->worked_ns) : look;
}

/* ----------------------------------------------------------------- a run */

static struct slice_run find_run(struct query *query, uint32_t slot, uint32_t index,
				 const struct wait *wait)
{
	struct looking looking = {
		.query = query, .slot = slot, .slice = *wait, .index = index, .call = wait->in
	};
	enum look look = LOOK_ON;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_begin(&iter, query->tl, &query->tl->threads[slot]->track, wait->woken_ns,
		      query_known_ns(query, slot));
	while (look == LOOK_ON && tl_iter_entry(&iter, &in))
		look = look_at(&looking, &in);
	return (struct slice_run){ index, looking.index, look == LOOK_JOINED, *wait };
}

static const struct slice_run *run_of(struct query *query, uint32_t slot, uint32_t index,
				      const struct wait *wait)
{
	struct slots_runs *runs = runs_of(query, slot);
	struct slice_run *run;

	for (uint32_t i = 0; i < runs->count; i++) {
		run = &runs->kept[i];
		if (index >= run->first && index <= run->last && is_same(query, &run->wait, wait))
			return run;
	}
	run = &runs->kept[runs->count < RUNS_KEPT ? runs->count++ : runs->oldest++ % RUNS_KEPT];
	*run = find_run(query, slot, index, wait);
	return run;
}

bool query_slice(struct query *query, uint32_t slot, uint32_t word, const struct wait *wait,
		 struct last_slice *out_last)
{
	uint32_t index = word_arg(word);
	const struct slice_run *run;

	if (!is_slice(query, wait))
		return false;
	run = run_of(query, slot, index, wait);
	*out_last = (struct last_slice){ .slot = slot };
	if (run->is_joined)
		index = run->last;
	else if (!query_turn(query, slot, wait, &out_last->slot, &index))
		return false;
	timeline_wait(query->tl, out_last->slot, index, &out_last->wait);
	out_last->word = word_make(WORD_BLOCKED, index);
	return true;
}
