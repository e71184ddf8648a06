/* describe.c - words, waits and actors as text, the same for every report. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_int.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/stacks.h"

const char *why_keep(struct why *why, char *text)
{
	uint32_t id = names_add(&why->texts, text, 8192);

	free(text);
	return names_text(&why->texts, id);
}

struct why_thread why_thread(struct query *query, uint32_t slot)
{
	const struct tl_thread *thread;

	if (slot >= query->tl->thread_count)
		return (struct why_thread){ .comm = "" };
	thread = query->tl->threads[slot];
	return (struct why_thread){
		.tid = thread->tid,
		.tgid = thread->tgid,
		.comm = why_keep(query->why, xstrdup(timeline_comm(query->tl, slot))),
	};
}

static const char *syscall_name(struct query *query, uint32_t word)
{
	uint32_t arg = word_arg(word);
	const char *name = facts_syscall(query->facts, arg & 0xffff, arg & WORD_COMPAT);

	return name ? name : why_keep(query->why, xasprintf("system call %u", arg & 0xffff));
}

const char *why_unsure_name(uint32_t unsure)
{
	switch ((enum unsure)unsure) {
	case UNSURE_LOST:
		return "events were lost";
	case UNSURE_START:
		return "no event was recorded yet";
	case UNSURE_SWITCH:
		return "a switch was not recorded";
	case UNSURE_ORDER:
		return "events contradict each other";
	case UNSURE_DAMAGED:
		return "the timeline is damaged there";
	case UNSURE_WAKING:
		return "its wake-up is missing";
	}
	return "not known";
}

const char *describe_word(struct query *query, uint32_t word)
{
	uint32_t arg = word_arg(word);

	switch (word_kind(word)) {
	case WORD_USER:
		return "own code";
	case WORD_RUN:
		return "running";
	case WORD_KERNEL:
		return arg == KERNEL_POLLS ? "requests of io_uring, or polling for them"
					   : "kernel thread";
	case WORD_SYSCALL:
		return syscall_name(query, word);
	case WORD_TRAP:
		return "page fault";
	case WORD_WORK:
		return why_keep(query->why, xasprintf("work %s", timeline_name(query->tl, arg)));
	case WORD_IRQ:
		return why_keep(query->why, xasprintf("irq %s", timeline_name(query->tl, arg)));
	case WORD_VECTOR:
		return why_keep(query->why,
				xasprintf("%s interrupt",
					  event_vector_name(arg) ? event_vector_name(arg) : "?"));
	case WORD_SOFTIRQ:
		return why_keep(query->why,
				event_softirq_name(arg)
					? xasprintf("softirq %s", event_softirq_name(arg))
					: xasprintf("softirq %u", arg));
	case WORD_IDLE:
		return "idle";
	case WORD_PREEMPTED:
		return "preempted";
	case WORD_WAIT_CPU:
		return "waiting for a CPU";
	case WORD_UNCERTAIN:
		return why_unsure_name(arg);
	case WORD_BLOCKED:
		return "blocked";
	default:
		return "not there";
	}
}

bool wait_frozen(const struct wait *wait)
{
	return wait->flags & WAIT_STOPPED && !(wait->flags & WAIT_EXPECTS) &&
	       word_kind(wait->in) == WORD_USER && wait->object;
}

bool wait_halted(const struct wait *wait)
{
	switch (word_kind(wait->in)) {
	case WORD_RUN:
		return wait->flags & WAIT_STOPPED;
	case WORD_USER:
		return wait->flags & (WAIT_STOPPED | WAIT_THROTTLED);
	default:
		return false;
	}
}

const char *describe_in(struct query *query, const struct wait *wait)
{
	switch (word_kind(wait->in)) {
	case WORD_NONE:
		return "a wait that began unseen";
	case WORD_RUN:
		if (wait->flags & WAIT_STOPPED)
			return wait->flags & WAIT_EXPECTS ? "stopped by its tracer" : "stopped";
		return wait->flags & WAIT_DISK_SLEEP ? "uninterruptible sleep" : "sleep";
	case WORD_USER:
		if (wait->flags & WAIT_THROTTLED)
			return "throttled";
		if (!(wait->flags & WAIT_STOPPED))
			return "return to user mode";
		if (wait->flags & WAIT_EXPECTS)
			return "stopped by its tracer";
		return wait_frozen(wait) ? "frozen" : "stopped";
	default:
		return describe_word(query, wait->in);
	}
}

/* The kernel has who connects to a unix socket sleep for nothing else (unix_wait_for_peer()). */
static bool is_queue_full(struct query *query, const struct wait *wait, const char *name)
{
	return strncmp(name, "unix", 4) == 0 && !(wait->flags & WAIT_DISK_SLEEP) &&
	       word_kind(wait->in) == WORD_SYSCALL &&
	       strcmp(syscall_name(query, wait->in), "connect") == 0;
}

static const char *named_object(struct query *query, const struct wait *wait)
{
	const char *name = timeline_name(query->tl, wait->object);
	const char *more =
		is_queue_full(query, wait, name) ? "; its queue of connections was full" : "";

	if (wait->fd >= 0 && *name)
		return why_keep(query->why, xasprintf("fd %d = %s%s", wait->fd, name, more));
	if (wait->fd >= 0)
		return why_keep(query->why, xasprintf("fd %d", wait->fd));
	return *name ? why_keep(query->why, xstrdup(name)) : "";
}

const struct stack_futex *wait_named_futex(const struct query *query, uint32_t slot,
					   const struct wait *wait)
{
	const struct stacks *stacks = query->facts ? query->facts->stacks : NULL;

	if (!stacks || slot >= query->tl->thread_count)
		return NULL;
	return stacks_named_futex(stacks, query->tl->threads[slot]->tgid,
				  timeline_name(query->tl, wait->object), wait->begin_ns);
}

/* "futex 0x7f00, Java monitor 0x7c00": what it stands for, which has an address of its own; NULL = nothing else. */
static const char *beyond_futex(const char *object)
{
	const char *kind = strncmp(object, "futex 0x", 8) == 0 ? strstr(object, ", ") : NULL;

	return kind && strstr(kind, " 0x") ? kind + 2 : NULL;
}

const char *describe_object(struct query *query, uint32_t slot, const struct wait *wait)
{
	const char *beyond = beyond_futex(timeline_name(query->tl, wait->object));
	const struct stack_futex *futex;

	if (wait->flags & WAIT_ASKED)
		return "";
	if (beyond)
		return why_keep(query->why, xstrdup(beyond));
	futex = wait_named_futex(query, slot, wait);
	if (futex) {
		AUTO_FREE char *name = stack_futex_text(query->facts->stacks, futex, "futex");
		const char *kind = strchr(timeline_name(query->tl, wait->object), ',');

		return why_keep(query->why, xasprintf("%s%s", name, kind ? kind : ""));
	}
	return named_object(query, wait);
}

const char *describe_asked(struct query *query, const struct wait *wait)
{
	if (wait->flags & WAIT_ASKED)
		return named_object(query, wait);
	return why_keep(query->why, xstrdup(timeline_name(query->tl, wait_asked(wait))));
}

static char *named(const char *what, const char *name)
{
	return *name ? xasprintf("%s %s", what, name) : xstrdup(what);
}

/* The end of a child sends SIGCHLD: what it was in says more. */
static bool is_told_by_signal(const struct actor *actor)
{
	return actor->signal && !(actor->signal == SIGCHLD && actor->kind == ACTOR_THREAD);
}

const char *describe_actor(struct query *query, const struct actor *actor)
{
	const char *name = timeline_name(query->tl, actor->name);

	if (is_told_by_signal(actor)) {
		const char *abbrev = sigabbrev_np(actor->signal);
		const char *by = actor->kind == ACTOR_TIMER ? " by a timer" : "";

		if (actor->signal == SIGNAL_FREEZER)
			return "the freezer of its cgroup";
		return why_keep(query->why, abbrev ? xasprintf("SIG%s%s", abbrev, by)
						   : xasprintf("signal %u%s", actor->signal, by));
	}
	switch ((enum actor_kind)actor->kind) {
	case ACTOR_THREAD:
		return describe_word(query, actor->word);
	case ACTOR_TIMER:
		return why_keep(query->why, named("timer", name));
	case ACTOR_DISK:
		return *name ? why_keep(query->why, xstrdup(name)) : "disk interrupt";
	case ACTOR_NETWORK:
		return why_keep(query->why, named("packet on", *name ? name : "an interface"));
	case ACTOR_IPI:
		return describe_word(query, actor->word);
	case ACTOR_IRQ:
		return *name ? why_keep(query->why, named("irq", name)) : "an interrupt";
	case ACTOR_SOFTIRQ:
		return word_kind(actor->word) == WORD_SOFTIRQ ? describe_word(query, actor->word)
							      : "a softirq";
	case ACTOR_NONE:
		break;
	}
	return "";
}

/* That time is lost in the protocol. */
static enum why_tcp tcp_timer(const char *timer, bool *out_gives_up)
{
	static const struct {
		const char *timer;
		enum why_tcp means;
		bool gives_up; /* it may wake who waits for the connection */
	} known[] = {
		{ "tcp_delack_timer", WHY_TCP_DELAYED_ACK, false },
		{ "tcp_write_timer", WHY_TCP_SENT_AGAIN, true },
		{ "reqsk_timer_handler", WHY_TCP_SENT_AGAIN, false },
		{ "tcp_keepalive_timer", WHY_TCP_KEEP_ALIVE, true },
	};

	*out_gives_up = false;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(timer, known[i].timer) == 0) {
			*out_gives_up = known[i].gives_up;
			return known[i].means;
		}
	}
	return WHY_TCP_NONE;
}

const struct why_reason *query_packet(struct query *query, const struct wait *wait)
{
	const struct actor *timer = wait->waker.kind == ACTOR_TIMER ? &wait->waker : &wait->origin;
	const char *name = timeline_name(query->tl, timer->name);
	struct why_reason reason = { .kind = WHY_REASON_PACKET };
	bool gives_up;

	if (timer->kind != ACTOR_TIMER || (timer == &wait->waker && wait->flags & WAIT_TIMED_OUT))
		return NULL;
	reason.number = tcp_timer(name, &gives_up);
	if (timer == &wait->waker) {
		reason.kind = WHY_REASON_TCP_GAVE_UP;
	} else {
		gives_up = wait->waker.kind == ACTOR_NETWORK;
		reason.name = describe_actor(query, &wait->waker);
		reason.object = name;
	}
	return gives_up ? why_reason_keep(query->why, &reason) : NULL;
}

const char *describe_packet(struct query *query, const struct wait *wait)
{
	return query_packet(query, wait) ? "" : describe_actor(query, &wait->waker);
}

const char *describe_stack(struct query *query, const struct actor *actor)
{
	if (word_kind(actor->word) == WORD_NONE)
		return "";
	if (word_kind(actor->below) == WORD_NONE)
		return describe_word(query, actor->word);
	return why_keep(query->why, xasprintf("%s < %s", describe_word(query, actor->word),
					      describe_word(query, actor->below)));
}

static bool is_innermost(const struct actor *actor)
{
	return word_kind(actor->below) == WORD_NONE || word_kind(actor->below) == WORD_USER;
}

const char *describe_innermost(struct query *query, const struct actor *actor)
{
	return word_kind(actor->word) != WORD_NONE && is_innermost(actor)
		       ? describe_word(query, actor->word)
		       : describe_stack(query, actor);
}

bool word_is_call(const struct query *query, uint32_t word)
{
	uint32_t arg = word_arg(word);

	return word_kind(word) == WORD_SYSCALL &&
	       facts_syscall(query->facts, arg & 0xffff, arg & WORD_COMPAT);
}

bool actor_is_call(const struct query *query, const struct actor *actor)
{
	return actor->kind == ACTOR_THREAD && !is_told_by_signal(actor) &&
	       word_is_call(query, actor->word);
}

bool actor_in_call(const struct query *query, const struct actor *actor)
{
	return is_innermost(actor) && word_is_call(query, actor->word);
}

bool wait_has_no_name(const struct query *query, uint32_t slot, const struct wait *wait)
{
	return wait->fd >= 0 && !(wait->flags & WAIT_ASKED) &&
	       !*timeline_name(query->tl, wait->object) && !wait_named_futex(query, slot, wait);
}

bool wait_sleeps(struct query *query, const struct wait *wait)
{
	static const char *const polls[] = { "poll", "ppoll", "select", "_newselect", "pselect6" };
	const char *name;

	if (word_kind(wait->in) != WORD_SYSCALL)
		return false;
	name = syscall_name(query, wait->in);
	for (size_t i = 0; i < ARRAY_LEN(polls) && !(wait->flags & WAIT_MANY); i++) {
		if (strcmp(name, polls[i]) == 0)
			return true; /* of no descriptor */
	}
	return strcmp(name, "nanosleep") == 0 || strcmp(name, "clock_nanosleep") == 0;
}

static bool own_timer_ended(const struct wait *wait)
{
	if (!wait->woken_ns)
		return false;
	/* Timers send signals only to the process that set them. */
	return wait->flags & WAIT_TIMED_OUT ||
	       (wait->waker.kind == ACTOR_TIMER && wait->waker.signal);
}

/* It watched a timerfd, or the timer of one, of several things, ended it. */
static bool is_of_timerfd(struct query *query, const struct wait *wait)
{
	uint32_t name = wait->waker.kind == ACTOR_TIMER ? wait->waker.name : 0;

	return strncmp(timeline_name(query->tl, wait->object), "timerfd", strlen("timerfd")) == 0 ||
	       strncmp(timeline_name(query->tl, name), "timerfd_", strlen("timerfd_")) == 0;
}

bool wait_ticks(struct query *query, const struct wait *wait)
{
	return own_timer_ended(wait) && word_kind(wait->in) == WORD_SYSCALL &&
	       is_of_timerfd(query, wait);
}

bool wait_timed_out(struct query *query, const struct wait *wait)
{
	const char *object = timeline_name(query->tl, wait->object);

	return own_timer_ended(wait) && word_kind(wait->in) == WORD_SYSCALL &&
	       !wait_sleeps(query, wait) && !is_of_timerfd(query, wait) &&
	       !(wait->waker.signal && strcmp(object, "a signal") == 0);
}

/* A signal took it out of the call, and it is known who was awaited. */
static bool is_taken_out(const struct wait *wait)
{
	return wait->waker.signal && wait->flags & WAIT_EXPECTS && !(wait->flags & WAIT_ASKED);
}

bool wait_gave_up(const struct wait *wait)
{
	return (wait->flags & WAIT_LOCK && is_taken_out(wait)) || wait_kernel_gave_up(wait);
}

bool wait_kernel_gave_up(const struct wait *wait)
{
	return wait->waker.kind == ACTOR_TIMER && !wait->waker.signal && wait->woken_ns &&
	       (wait->flags & (WAIT_EXPECTS | WAIT_TIMED_OUT | WAIT_ASKED)) == WAIT_EXPECTS;
}

enum why_class wait_class(struct query *query, uint32_t slot, const struct wait *wait)
{
	if (wait->flags & WAIT_SERVER || wait_idle(query, slot, wait))
		return WHY_IDLE;
	if (own_timer_ended(wait) && !is_taken_out(wait))
		return WHY_ASKED;
	if (wait_sleeps(query, wait) || (!wait->woken_ns && wait_sleeps_there(query, slot, wait)))
		return WHY_ASKED;
	return WHY_HELD_UP;
}

bool wait_lasts(const struct query *query, uint32_t slot, uint32_t word, const struct wait *wait)
{
	const struct timeline *tl = query->tl;

	return !wait->woken_ns && !(wait->flags & WAIT_LOST) && tl->end_ns &&
	       !tl->threads[slot]->died &&
	       (wait_is_cut_off(wait) || timeline_state_at(tl, slot, tl->end_ns - 1) == word);
}

enum why_waker wait_waker(const struct query *query, uint32_t slot, uint32_t word,
			  const struct wait *wait)
{
	static const uint8_t waker_of[] = {
		[ACTOR_NONE] = WHY_WAKER_UNKNOWN,    [ACTOR_THREAD] = WHY_WAKER_THREAD,
		[ACTOR_TIMER] = WHY_WAKER_TIMER,     [ACTOR_DISK] = WHY_WAKER_DISK,
		[ACTOR_NETWORK] = WHY_WAKER_NETWORK, [ACTOR_IPI] = WHY_WAKER_IPI,
		[ACTOR_IRQ] = WHY_WAKER_IRQ,	     [ACTOR_SOFTIRQ] = WHY_WAKER_SOFTIRQ,
	};

	if (wait->woken_ns == 0)
		return wait_lasts(query, slot, word, wait) ? WHY_WAKER_NONE : WHY_WAKER_UNKNOWN;
	if (wait->waker.kind == ACTOR_THREAD && wait->origin.time_ns)
		return WHY_WAKER_WORK;
	/* A child's end wakes its parent by SIGCHLD too: that is the thread's doing. */
	if (wait->waker.signal && wait->waker.signal != SIGCHLD)
		return WHY_WAKER_SIGNAL;
	return (enum why_waker)waker_of[wait->waker.kind];
}

/* Calls that were interrupted return codes that only the kernel's own headers name. */
const char *describe_error(struct why *why, uint32_t error)
{
	static const struct {
		uint32_t code;
		const char *name;
	} internal[] = {
		{ 512, "ERESTARTSYS" }, { 513, "ERESTARTNOINTR" },	  { 514, "ERESTARTNOHAND" },
		{ 515, "ENOIOCTLCMD" }, { 516, "ERESTART_RESTARTBLOCK" },
	};
	const char *name = strerrorname_np((int)error);

	for (size_t i = 0; i < ARRAY_LEN(internal) && !name; i++) {
		if (internal[i].code == error)
			name = internal[i].name;
	}
	return name ? name : why_keep(why, xasprintf("errno %u", error));
}
