/*
 * timer_signal.c - see timer_signal.h.
 *
 *	timer_create()          /proc/PID/timers has its signal, and whom it is sent to; not whether it is set
 *	alarm(), setitimer()    nothing of the process tells; /proc/timer_list, for root, whether there is any at all
 */
#include "stuck/timer_signal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "stuck/look.h"
#include "stuck/stuck.h"

#define TIMERS_BYTES 16384
#define LIST_BYTES   65536
#define LIST_MOST    512 /* parts of the list that are read */
#define NAME_BYTES   32	 /* of a function, that may be in two parts */

#define SIGNAL_BIT(number) (1ull << ((number)-1))
#define REALTIME_SIGNALS \
	(~0ull << (34 - 1)) /* but for those that C libraries keep for themselves */

struct alarms {
	bool is_read;
	bool is_any; /* some process has set one, or it is not known */
};

bool timer_signal_is_alarm(const char *timer_list)
{
	return strstr(timer_list, ", it_real_fn,") != NULL;
}

bool timer_signal_in(const char *timers, bool is_cut, uint64_t signals, int32_t tid)
{
	const char *at = timers;
	int number, whom;
	char kind[4];

	while ((at = strstr(at, "signal: "))) {
		if (sscanf(at, "signal: %d/%*s notify: signal/%3[a-z].%d", &number, kind, &whom) ==
			    3 &&
		    number >= 1 && number <= 64 && (signals & SIGNAL_BIT(number)) &&
		    (strcmp(kind, "tid") != 0 || whom == tid))
			return true;
		at += strlen("signal: ");
	}
	return is_cut && signals;
}

/* Part by part, with the end of the one before, where a name may have begun. */
static bool read_alarms(int proc_fd)
{
	AUTO_CLOSE int fd = openat(proc_fd, "timer_list", O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = xmalloc(NAME_BYTES + LIST_BYTES + 1);
	size_t kept = 0;
	bool has_names = false;

	for (int parts = 0; fd >= 0 && parts < LIST_MOST; parts++) {
		ssize_t got = read(fd, text + kept, LIST_BYTES);
		size_t length;

		if (got < 0)
			return true;
		length = kept + (size_t)got;
		text[length] = '\0';
		has_names |= strstr(text, ", hrtimer_wakeup,") != NULL;
		if (timer_signal_is_alarm(text))
			return true;
		if (!got)
			return !has_names;
		kept = length < NAME_BYTES ? length : NAME_BYTES;
		memmove(text, text + length - kept, kept);
	}
	return true;
}

static bool is_any_alarm(struct alarms *alarms, const struct look *look)
{
	if (!alarms->is_read)
		*alarms = (struct alarms){ true, read_alarms(look->proc_fd) };
	return alarms->is_any;
}

static uint64_t signals_of(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? strtoull(at + strlen(key), NULL, 16) : 0;
}

/* Of a lock the wait begins again behind the handler. */
static bool is_ended_by_signals(const struct stuck_thread *thread)
{
	if (thread->state != 'S' || thread->has_outside)
		return false;
	for (size_t i = 0; i < thread->edge_count; i++) {
		enum stuck_how how = thread->edges[i].how;

		if (how >= STUCK_HOW_READS_PIPE || how == STUCK_HOW_CHILD || how == STUCK_HOW_PIDFD)
			return true;
	}
	return false;
}

uint64_t timer_signal_handled(struct look *look, const struct stuck_thread *thread)
{
	struct process process = { .tgid = thread->tgid, .via = thread->tid };
	char status[4096];

	if (!is_ended_by_signals(thread) ||
	    look_file(look, &process, "status", status, sizeof(status)) <= 0)
		return 0;
	return signals_of(status, "\nSigCgt:") & ~signals_of(status, "\nSigBlk:");
}

static bool has_timer(struct look *look, const struct stuck_thread *thread, struct alarms *alarms)
{
	struct process process = { .tgid = thread->tgid, .via = thread->tid };
	AUTO_FREE char *text = NULL;
	uint64_t signals = timer_signal_handled(look, thread);
	int got;

	if (!signals)
		return false;
	if ((signals & SIGNAL_BIT(SIGALRM)) && is_any_alarm(alarms, look))
		return true;
	text = xmalloc(TIMERS_BYTES);
	got = look_file(look, &process, "timers", text, TIMERS_BYTES);
	if (got < 0) /* the kernel does not tell: by the signals that are usual */
		return signals & (SIGNAL_BIT(SIGALRM) | REALTIME_SIGNALS);
	return timer_signal_in(text, got >= TIMERS_BYTES - 1, signals, thread->tid);
}

bool timer_signal_find(struct stuck *stuck, struct look *look)
{
	struct alarms alarms = { 0 };
	bool is_found = false;

	for (size_t i = 0; i < stuck->count; i++) {
		struct stuck_thread *thread = &stuck->threads[i];

		if ((thread->root != STUCK_ROOT_DEADLOCK && thread->root != STUCK_ROOT_VICTIM) ||
		    !has_timer(look, thread, &alarms))
			continue;
		thread->has_outside = true;
		thread->is_complete = thread->needs_all = false;
		is_found = true;
	}
	return is_found;
}
