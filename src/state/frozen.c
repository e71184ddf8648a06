/*
 * frozen.c - threads that the freezer of their cgroup keeps asleep, and by whom it does.
 *
 *	read ──W freezes── on its way out, frozen ──W thaws── read ──data──
 *
 * Who freezes a cgroup wakes its threads, for them to go to sleep on their way out of the kernel: what they slept in
 * before was broken off. The recorder tells who freezes and thaws cgroups of version 2; of version 1, and where it does
 * not, the file that is written to does. Some sleeps go on frozen (version 1, since Linux 6.1): who wakes these by
 * writing there thaws them.
 */
#include <string.h>

#include "base/mem.h"
#include "state/state_int.h"

#define FREEZES_NS 10000000u /* all threads of a cgroup are woken by then */

static uint32_t with_cgroup(struct state *state, const char *path)
{
	AUTO_FREE char *text = xasprintf("with its cgroup%s%s", *path ? " " : "", path);

	return names_add(&state->tl->names, text, 4096);
}

static uint32_t dumped_cgroup(struct state *state, const struct thread *thread)
{
	const struct facts *facts = state->facts;

	for (size_t i = 0; i < facts->thread_count; i++) {
		const struct fact_thread *fact = &facts->threads[i];

		if (fact->tid == thread->tl->tid && fact->frozen && fact->frozen[0])
			return with_cgroup(state, fact->frozen);
	}
	return with_cgroup(state, "");
}

void frozen_dumped(struct state *state, const struct thread *thread, struct wait *wait)
{
	if (thread->frozen && !wait->object)
		wait->object = dumped_cgroup(state, thread);
}

void frozen_told(struct state *state, struct thread *thread, const struct event *ev)
{
	thread->freezes_ns = ev->time_ns;
	thread->thaws = ev->fd_name.fd == THROTTLE_THAWS;
	thread->freezes = with_cgroup(state, ev->fd_name.name ? ev->fd_name.name : "");
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The file that freezes or thaws a cgroup, which it writes to; 0 = it does not. */
static uint32_t written_file(const struct state *state, const struct thread *waker)
{
	const struct object *object;
	const char *name;

	if (!waker->in_call || call_of(state, waker)->kind != CALL_FD ||
	    strcmp(call_of(state, waker)->name, "write") != 0)
		return 0;
	object = fds_find(state, waker, (int32_t)waker->call_args[0]);
	name = object ? names_text(&state->tl->names, object->name) : "";
	return ends_with(name, "/cgroup.freeze") || ends_with(name, "/freezer.state") ? object->name
										      : 0;
}

static void freeze(struct wait *wait, uint32_t with)
{
	wait->in = word_make(WORD_USER, 0);
	wait->flags |= WAIT_STOPPED;
	wait->object = with;
	wait->fd = -1;
}

/* What comes next tells whether that was it. */
static void may_freeze(struct thread *thread, const struct wait *wait, uint32_t with)
{
	thread->freezing = with;
	thread->unfrozen_in = wait->in;
	thread->unfrozen_object = wait->object;
	thread->unfrozen_fd = wait->fd;
}

void frozen_at_wake(const struct state *state, const struct thread *waker, struct thread *thread,
		    struct wait *wait)
{
	enum word_kind in = word_kind(wait->in);
	bool is_told = waker->freezes_ns && wait->woken_ns >= waker->freezes_ns &&
		       wait->woken_ns - waker->freezes_ns < FREEZES_NS;
	uint32_t file;

	if (in != WORD_USER && in != WORD_TRAP && in != WORD_SYSCALL)
		return;
	file = written_file(state, waker);
	if (is_told && !waker->thaws && in == WORD_SYSCALL)
		may_freeze(thread, wait, file ? file : waker->freezes);
	else if (is_told && waker->thaws && in != WORD_SYSCALL)
		freeze(wait, file ? file : waker->freezes);
	else if (file && in == WORD_SYSCALL)
		may_freeze(thread, wait, file);
	if (file && !(is_told && !waker->thaws))
		freeze(wait, file);
}

void frozen_at_sleep(struct thread *thread, struct wait *wait)
{
	uint32_t with = thread->freezing, last = thread->wait - 1;
	struct wait *before;

	thread->freezing = 0;
	if (word_kind(wait->in) != WORD_USER || wait->flags & WAIT_STOPPED || thread->wait == 0 ||
	    last < thread->tl->wait_base)
		return;
	freeze(wait, with);
	before = tl_wait(thread->tl, last);
	before->waker.signal = SIGNAL_FREEZER;
	if (before->flags & WAIT_STOPPED && word_kind(before->in) == WORD_USER) {
		before->flags &= ~(uint32_t)WAIT_STOPPED;
		before->in = thread->unfrozen_in;
		before->object = thread->unfrozen_object;
		before->fd = thread->unfrozen_fd;
	}
}
