/*
 * irq.c - interrupts, softirqs, and what they carry: timers, packets, disk
 * requests, work. All of it serves one question: who acts right now?
 *
 * A wake-up out of an interrupt is not the doing of the thread that happened to
 * be current. actor_now() names what is behind it, as far as events allow:
 *
 *	hard interrupt   the timer callback that runs, the disk request that just
 *	                 completed, the IPI, else the handler
 *	softirq          the packet being received and who sent it, the timer, the
 *	                 request, else the action
 *	else             the current thread
 *
 * Events say themselves whether they were recorded inside a hard interrupt or a
 * softirq (common_flags); that counts more than entries and exits seen.
 */
#include "state/state_int.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/facts.h"

/* kernel/softirq.c: the actions, in the order of their numbers. */
enum softirq {
	SOFTIRQ_HI,
	SOFTIRQ_TIMER,
	SOFTIRQ_NET_TX,
	SOFTIRQ_NET_RX,
	SOFTIRQ_BLOCK,
	SOFTIRQ_IRQ_POLL,
	SOFTIRQ_TASKLET,
	SOFTIRQ_SCHED,
	SOFTIRQ_HRTIMER,
	SOFTIRQ_RCU,
};

#define NO_SOFTIRQ UINT32_MAX

/* ---------------------------------------------------------- pending actors */

/* Where the actor under 'key' is kept, to be written. */
struct actor *pending_place(struct pending *pending, uint64_t key)
{
	bool new;
	uint64_t *at = map_add(&pending->index, key, &new);

	if (!new)
		return &pending->actors[*at];
	if (pending->free_count) {
		*at = pending->free_list[--pending->free_count];
	} else {
		pending->actors = vec_room(pending->actors, pending->count, &pending->cap,
					   sizeof(*pending->actors));
		*at = pending->count++;
	}
	return &pending->actors[*at];
}

bool pending_take(struct pending *pending, uint64_t key, struct actor *out_actor)
{
	uint64_t *known = map_find(&pending->index, key);

	if (!known)
		return false;
	*out_actor = pending->actors[*known];
	pending->free_list = vec_room(pending->free_list, pending->free_count, &pending->free_cap,
				      sizeof(*pending->free_list));
	pending->free_list[pending->free_count++] = (uint32_t)*known;
	map_remove(&pending->index, key);
	return true;
}

void pending_fini(struct pending *pending)
{
	map_fini(&pending->index);
	free(pending->actors);
	free(pending->free_list);
}

/* ------------------------------------------------------------- who acts now */

static bool in_hardirq(const struct thread *current, const struct event *ev)
{
	enum word_kind top;

	if (ev->context & EV_CTX_KNOWN)
		return ev->context & EV_CTX_HARDIRQ;
	top = current ? word_kind(flow_top(current)) : WORD_NONE;
	return top == WORD_IRQ || top == WORD_VECTOR;
}

static bool in_softirq(const struct thread *current, const struct event *ev)
{
	if (ev->context & EV_CTX_KNOWN)
		return ev->context & EV_CTX_SOFTIRQ;
	return current && word_kind(flow_top(current)) == WORD_SOFTIRQ;
}

/* The softirq action that runs, or NO_SOFTIRQ when its entry was not seen. */
static uint32_t softirq_of(const struct thread *current)
{
	for (uint8_t i = current ? current->depth : 0; i > 1; i--) {
		if (word_kind(current->frames[i - 1]) == WORD_SOFTIRQ)
			return word_arg(current->frames[i - 1]);
	}
	return NO_SOFTIRQ;
}

/* Interrupt names that block drivers use; only asked when no request was recorded. */
static bool irq_is_disk(const char *name)
{
	static const char *const parts[] = { "nvme",  "ahci", "-req.",	 "ata_", "mmc",
					     "sdhci", "mpt",  "megasas", "xvd",	 "scsi" };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (strstr(name, parts[i]))
			return true;
	}
	return false;
}

static void name_timer(struct state *state, const struct cpu *cpu, struct actor *actor)
{
	const uint64_t *setter = cpu->timer_fn ? map_find(&state->timer_setters, cpu->timer) : NULL;

	actor->kind = ACTOR_TIMER;
	actor->name = cpu->timer_fn ? state_symbol(state, cpu->timer_fn) : 0;
	actor->slot = setter ? (uint32_t)*setter : SLOT_NONE;
}

static void name_disk(const struct cpu *cpu, struct actor *actor)
{
	actor->kind = ACTOR_DISK;
	actor->name = cpu->disk_name;
	actor->slot = cpu->disk_name ? cpu->disk_slot : SLOT_NONE;
}

static void name_hardirq(struct state *state, const struct cpu *cpu, struct actor *actor)
{
	enum word_kind kind = word_kind(actor->word);

	if (cpu->timer_fn && !cpu->timer_below) {
		name_timer(state, cpu, actor);
	} else if (cpu->disk_name) {
		name_disk(cpu, actor);
	} else if (kind == WORD_VECTOR && word_arg(actor->word) == VECTOR_LOCAL_TIMER) {
		actor->kind = ACTOR_TIMER; /* which one was not recorded */
	} else if (kind == WORD_VECTOR && word_arg(actor->word) <= VECTOR_CALL_FUNCTION_SINGLE) {
		actor->kind = ACTOR_IPI;
	} else if (kind == WORD_IRQ) {
		actor->name = word_arg(actor->word);
		actor->kind = irq_is_disk(names_text(&state->tl->names, actor->name)) ? ACTOR_DISK
										      : ACTOR_IRQ;
	} else {
		actor->kind = ACTOR_IRQ;
	}
}

static void name_network(const struct cpu *cpu, const struct thread *current, struct actor *actor)
{
	actor->kind = ACTOR_NETWORK;
	actor->name = cpu->packet_dev;
	actor->slot = cpu->packet_dev ? cpu->packet_slot : SLOT_NONE;
	/* No packet was recorded, but a system call raised this softirq and runs it itself. */
	if (!cpu->packet_dev && !cpu->irq_before_softirq && current && !current->idle &&
	    word_kind(actor->below) == WORD_SYSCALL)
		actor->slot = current->slot;
}

static void name_softirq(struct state *state, const struct cpu *cpu, const struct thread *current,
			 struct actor *actor)
{
	switch (softirq_of(current)) {
	case SOFTIRQ_NET_RX:
	case SOFTIRQ_NET_TX:
		name_network(cpu, current, actor);
		break;
	case SOFTIRQ_TIMER:
	case SOFTIRQ_HRTIMER:
		name_timer(state, cpu, actor);
		break;
	case SOFTIRQ_BLOCK:
		name_disk(cpu, actor);
		break;
	default:
		actor->kind = cpu->timer_fn	? ACTOR_TIMER
			      : cpu->disk_name	? ACTOR_DISK
			      : cpu->packet_dev ? ACTOR_NETWORK
						: ACTOR_SOFTIRQ;
		if (actor->kind == ACTOR_TIMER)
			name_timer(state, cpu, actor);
		else if (actor->kind == ACTOR_DISK)
			name_disk(cpu, actor);
		else if (actor->kind == ACTOR_NETWORK)
			name_network(cpu, current, actor);
		break;
	}
}

/* A timer's callback runs: what tells so where neither contexts nor all interrupts are recorded. */
static bool timer_acts(const struct state *state, const struct cpu *cpu, const struct event *ev)
{
	return cpu->timer_fn && state->timers_end && !(ev->context & EV_CTX_KNOWN);
}

/* No interrupt and no softirq acts, but the thread itself. */
static bool thread_acts(const struct state *state, const struct cpu *cpu,
			const struct thread *current, const struct event *ev)
{
	if (!current || current->idle || in_hardirq(current, ev) || in_softirq(current, ev) ||
	    timer_acts(state, cpu, ev))
		return false;
	/* Completions also run in the thread of a threaded interrupt handler. */
	return !cpu->disk_name || !current->tl->kernel || strncmp(current->comm, "irq/", 4) != 0;
}

/*
 * A handler that leaves the work to a thread says so as it ends, and only then that thread is woken:
 * still in the interrupt, also where its exit was recorded already. Threads of interrupts are
 * called "irq/NUMBER-...", and the interrupt here has its number before its name.
 */
static bool irq_acts(const struct state *state, const struct cpu *cpu, const struct event *ev)
{
	const char *irq = names_text(&state->tl->names, cpu->irq_wakes);
	size_t digits = strcspn(irq, " ");

	return cpu->irq_wakes && (ev->type == EV_SCHED_WAKING || ev->type == EV_SCHED_WAKEUP) &&
	       ev->wake.comm && strncmp(ev->wake.comm, "irq/", 4) == 0 &&
	       strncmp(ev->wake.comm + 4, irq, digits) == 0 && ev->wake.comm[4 + digits] == '-';
}

/* Written where it stays: to copy what was just written in pieces stalls the machine. */
void actor_now(struct state *state, struct cpu *cpu, const struct event *ev, struct actor *out)
{
	struct thread *current = state_current(state, cpu);

	*out = (struct actor){
		.time_ns = ev->time_ns,
		.slot = SLOT_NONE,
		.word = current ? flow_top(current) : 0,
		.below = current && current->depth > 1 ? current->frames[current->depth - 2] : 0,
	};
	if (cpu->irq_wakes && irq_acts(state, cpu, ev)) {
		out->below = out->word;
		out->word = word_make(WORD_IRQ, cpu->irq_wakes);
		out->kind = ACTOR_IRQ;
		out->name = cpu->irq_wakes;
	} else if (thread_acts(state, cpu, current, ev)) {
		out->kind = ACTOR_THREAD;
		out->slot = current->slot;
	} else if (in_hardirq(current, ev)) {
		state->no_irqs |= current && !cpu->doubt && !word_is_irq(out->word);
		name_hardirq(state, cpu, out);
	} else if (in_softirq(current, ev)) {
		name_softirq(state, cpu, current, out);
	} else if (timer_acts(state, cpu, ev)) {
		name_timer(state, cpu, out);
	} else if (current && !current->idle) {
		name_disk(cpu, out);
	} else {
		out->kind = current ? ACTOR_IRQ : ACTOR_NONE;
	}
}

/*
 * A thread of the kernel that completed a request (of a loop device, of a network's disk, late work of
 * a driver) and now wakes who slept uninterruptibly is the disk. Where no interrupts are recorded, the
 * request may have been completed by one that came meanwhile.
 */
void actor_completes(const struct state *state, const struct cpu *cpu, struct actor *actor)
{
	const struct thread *waker = state->threads[actor->slot];

	if (cpu->disk_name && waker->tl->kernel && !state->no_irqs)
		name_disk(cpu, actor);
}

/* ------------------------------------------------ entries and exits of frames */

static void push(struct state *state, struct cpu *cpu, const struct event *ev, uint32_t word)
{
	struct thread *current = state_current(state, cpu);

	if (current)
		flow_push(state, current, ev->time_ns, word);
}

static void pop(struct state *state, struct cpu *cpu, const struct event *ev, enum word_kind kind)
{
	struct thread *current = state_current(state, cpu);

	if (current)
		flow_pop(state, current, ev->time_ns, kind);
}

/*
 * Callbacks of timers in hard interrupts do not go on beyond the handler of a device, which none
 * of them interrupts: also where their ends are not recorded.
 */
static void forget_timer(struct state *state, struct cpu *cpu, const struct event *ev)
{
	const struct thread *current = state_current(state, cpu);

	if (!in_softirq(current, ev) && softirq_of(current) == NO_SOFTIRQ)
		cpu->timer_fn = 0;
}

static void on_irq_entry(struct state *state, struct cpu *cpu, const struct event *ev)
{
	char name[64];

	/* A view of 16..40 bytes; the number tells apart handlers of one name. */
	snprintf(name, sizeof(name), "%d %.48s", ev->irq.nr, ev->irq.name ? ev->irq.name : "");
	cpu->disk_name = 0;
	cpu->irq_wakes = 0;
	cpu->irq_before_softirq = true;
	forget_timer(state, cpu, ev);
	push(state, cpu, ev, word_make(WORD_IRQ, names_add(&state->tl->names, name, sizeof(name))));
}

/* The interrupt that is left, when it may wake its thread next: texts only say "handled". */
static uint32_t irq_that_wakes(const struct thread *current, const struct event *ev)
{
	if (!ev->irq.ret || !current || word_kind(flow_top(current)) != WORD_IRQ)
		return 0;
	return word_arg(flow_top(current));
}

static void on_irq_exit(struct state *state, struct cpu *cpu, const struct event *ev)
{
	cpu->irq_wakes = irq_that_wakes(state_current(state, cpu), ev);
	cpu->disk_name = 0;
	cpu->woken = SLOT_NONE;
	forget_timer(state, cpu, ev);
	pop(state, cpu, ev, WORD_IRQ);
}

static void on_vector_entry(struct state *state, struct cpu *cpu, const struct event *ev)
{
	cpu->irq_wakes = 0;
	cpu->irq_before_softirq = true;
	push(state, cpu, ev, word_make(WORD_VECTOR, (uint32_t)ev->irq.nr));
}

static void on_vector_exit(struct state *state, struct cpu *cpu, const struct event *ev)
{
	cpu->timer_fn = 0;
	cpu->woken = SLOT_NONE;
	pop(state, cpu, ev, WORD_VECTOR);
}

static void on_softirq_entry(struct state *state, struct cpu *cpu, const struct event *ev)
{
	cpu->irq_wakes = 0;
	cpu->disk_name = 0;
	cpu->packet_dev = 0;
	cpu->packet_timer = 0;
	push(state, cpu, ev, word_make(WORD_SOFTIRQ, (uint32_t)ev->irq.nr));
}

static void on_softirq_exit(struct state *state, struct cpu *cpu, const struct event *ev)
{
	cpu->disk_name = 0;
	cpu->packet_dev = 0;
	cpu->packet_timer = 0;
	cpu->timer_fn = 0;
	cpu->woken = SLOT_NONE;
	pop(state, cpu, ev, WORD_SOFTIRQ);
}

/* ------------------------------------------------------------------- timers */

static void on_timer_expire(struct state *state, struct cpu *cpu, const struct event *ev)
{
	const struct thread *current = state_current(state, cpu);

	queue_timer_ends(state, ev);
	cpu->timer = ev->timer.timer;
	cpu->timer_below = in_softirq(current, ev) && !in_hardirq(current, ev);
	/* A callback that was not recorded still is one. */
	cpu->timer_fn = ev->timer.function ? ev->timer.function : UINT64_MAX;
}

static void on_timer_done(struct state *state, struct cpu *cpu, const struct event *ev)
{
	(void)ev;
	state->timers_end = true;
	cpu->timer_fn = 0;
	cpu->woken = SLOT_NONE;
}

/* Restarts by the callback itself do not change who asked for the timer. */
static void on_timer_start(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *current = state_current(state, cpu);

	queue_timer_set(state, ev);
	if (!current || current->idle || in_hardirq(current, ev) || in_softirq(current, ev))
		return;
	map_put(&state->timer_setters, ev->timer.timer, current->slot);
}

/* --------------------------------------------------------------------- disks */

/* From a request of the disk below to that of the one on top. */
#define DONE_NS	   50000u
#define LAST_FLUSH ((UINT64_C(1) << 40) - 2) /* no device has such a sector */

static uint64_t request_key(const struct event *ev)
{
	return throttle_request(ev->block.dev, ev->block.sector);
}

static uint32_t request_name(struct state *state, const struct ev_block *block, uint32_t dev)
{
	const char *device = facts_device(state->facts, dev);
	const char *rwbs = block->rwbs ? block->rwbs : "";
	const char *verb = strchr(rwbs, 'R')   ? "read"
			   : strchr(rwbs, 'D') ? "discard"
			   : strchr(rwbs, 'W') ? "write"
			   : strchr(rwbs, 'F') ? "flush"
					       : "request";
	char text[1200];

	if (device)
		snprintf(text, sizeof(text), "%s %s", device, verb);
	else
		snprintf(text, sizeof(text), "%u:%u %s", dev >> 20, dev & 0xfffffu, verb);
	return names_add(&state->tl->names, text, sizeof(text));
}

/* A flush is issued by a worker; if what a limit held back has just queued that, for the limit. */
static void issued_for_limit(const struct state *state, const struct cpu *cpu,
			     const struct event *ev, struct actor *actor)
{
	const struct thread *current = state_current(state, cpu);

	if (ev->block.rwbs && strcmp(ev->block.rwbs, "FF") == 0 && current &&
	    current->work.time_ns && throttle_releases(state, &current->work))
		actor->word = current->work.word;
	if (throttle_releases(state, actor))
		actor->below = 0;
}

static void on_block_issue(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct actor actor, before;

	actor_now(state, cpu, ev, &actor);
	served_issued(cpu, ev, &actor);
	/* Inserted by one, issued by a kworker for it: the first one asked. */
	if (ev->type == EV_BLOCK_ISSUE &&
	    pending_take(&state->requests, request_key(ev), &before) && before.slot != SLOT_NONE)
		actor = before;
	else
		issued_for_limit(state, cpu, ev, &actor);
	actor.name = request_name(state, &ev->block, served_top(state, ev));
	*pending_place(&state->requests, request_key(ev)) = actor;
}

/*
 * Who issued it. A request that flushes the device is complete with its last flush, at a time when
 * nothing of its own is under way; one flush may be of several.
 */
static void take_issuer(struct state *state, const struct event *ev, struct actor *out)
{
	uint64_t flush = throttle_request(ev->block.dev, LAST_FLUSH);
	bool known = pending_take(&state->requests, request_key(ev), out);

	if (ev->block.sectors)
		return;
	if (known && ev->block.sector == UINT64_MAX)
		*pending_place(&state->requests, flush) = *out;
	else if (!known && pending_take(&state->requests, flush, out))
		*pending_place(&state->requests, flush) = *out;
}

/*
 * A disk that another one stands behind is done with its request as that one is: right behind it, on the same CPU. So
 * what held that one back did for both, as is inferred.
 */
static void limit_from_below(struct cpu *cpu, const struct actor *issuer, const struct actor *below)
{
	if (cpu->disk_limit || !cpu->disk_server || !below->name ||
	    below->time_ns < issuer->time_ns)
		return;
	cpu->disk_limit = below->name;
	cpu->disk_limit_by = LIMIT_BELOW;
	cpu->disk_ns = below->time_ns;
}

static void on_block_complete(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct actor issuer = { .slot = SLOT_NONE };
	struct actor below = { .time_ns = cpu->disk_ns,
			       .name = ev->time_ns - cpu->disk_done_ns < DONE_NS ? cpu->disk_limit
										 : 0 };
	uint32_t dev = served_top(state, ev);

	take_issuer(state, ev, &issuer);
	cpu->disk_name = issuer.name ? issuer.name : request_name(state, &ev->block, dev);
	cpu->disk_slot = issuer.slot;
	cpu->disk_ns = issuer.time_ns;
	cpu->disk_flushed = !ev->block.sectors;
	served_completed(state, cpu, ev);
	served_disk_done(state, cpu, ev);
	cpu->disk_done_ns = ev->time_ns;
	cpu->disk_limit = throttle_of_request(state, &issuer);
	cpu->disk_limit_by = LIMIT_TOLD;
	limit_from_below(cpu, &issuer, &below);
	throttle_completed(state, cpu, ev);
}

static void on_block_remap(struct state *state, struct cpu *cpu, const struct event *ev)
{
	(void)cpu;
	served_remapped(state, ev);
}

/* ------------------------------------------------------------------- packets */

/*
 * A protocol's timer sends again what got lost, or acknowledges late; what the other side then sends
 * in the same softirq, which it held back until that came, is of the timer, too.
 */
static bool sent_by_timer(const struct cpu *cpu, struct actor *actor)
{
	if (actor->kind == ACTOR_NETWORK && cpu->packet_timer)
		actor->name = cpu->packet_timer;
	else if (actor->kind != ACTOR_TIMER || !actor->name)
		return false;
	actor->kind = ACTOR_TIMER;
	actor->slot = SLOT_NONE;
	return true;
}

/*
 * What goes out as a packet comes in is its doing: the acknowledgement, and what the peer had held back until that
 * came. So whoever sent that packet sent this one, then; and what held that one up held this one up.
 */
static bool sent_by_packet(const struct cpu *cpu, struct actor *actor)
{
	if (actor->kind != ACTOR_NETWORK || !cpu->packet_dev || cpu->packet_slot == SLOT_NONE)
		return false;
	*actor =
		(struct actor){ .time_ns = cpu->packet_ns,
				.slot = cpu->packet_slot,
				.word = word_make(WORD_SOFTIRQ, SOFTIRQ_NET_RX),
				.below = cpu->packet_queue ? word_make(WORD_WORK, cpu->packet_queue)
							   : 0,
				.kind = ACTOR_THREAD };
	return true;
}

/* Name id of a network device; mostly the same one as before. */
static uint32_t device_name(struct state *state, const char *dev)
{
	size_t i = 0;

	while (i < DEVICE_BYTES && dev[i] == state->device[i]) {
		if (dev[i++] == '\0')
			return state->device_name;
	}
	state->device_name = names_add(&state->tl->names, dev, DEVICE_BYTES);
	memset(state->device, 0, sizeof(state->device));
	memcpy(state->device, dev, strnlen(dev, DEVICE_BYTES));
	return state->device_name;
}

static void on_packet_sent(struct state *state, struct cpu *cpu, const struct event *ev)
{
	const struct thread *current = state_current(state, cpu);
	struct actor other;

	if (ev->type == EV_NET_RX &&
	    queue_passes(state, ev, current, softirq_of(current) == SOFTIRQ_NET_TX))
		return;
	if (ev->type == EV_NET_QUEUE)
		queue_handed(state, ev);
	if (thread_acts(state, cpu, current, ev)) {
		struct actor *by = pending_place(&state->packets, ev->net.skb);

		actor_now(state, cpu, ev, by);
		by->name = ev->net.dev ? device_name(state, ev->net.dev) : 0;
		return;
	}
	actor_now(state, cpu, ev, &other); /* may show that interrupts are not recorded */
	if (sent_by_timer(cpu, &other) || sent_by_packet(cpu, &other)) {
		if (other.kind == ACTOR_THREAD && ev->net.dev)
			other.name = device_name(state, ev->net.dev);
		*pending_place(&state->packets, ev->net.skb) = other;
		return;
	}
	/* An address is used again; netif_rx in a softirq keeps the sender of veth chains. */
	if (ev->type == EV_NET_QUEUE && cpu->packet_slot == SLOT_NONE)
		queue_handed_by_none(state, ev);
}

static void on_packet_received(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct actor sender = { .slot = SLOT_NONE };

	(void)pending_take(&state->packets, ev->net.skb, &sender);
	cpu->packet_dev = device_name(state, ev->net.dev ? ev->net.dev : "network");
	cpu->packet_slot = sender.slot;
	cpu->packet_timer = sender.kind == ACTOR_TIMER ? sender.name : 0;
	cpu->packet_queue = queue_of_packet(&sender);
	cpu->packet_ns = sender.time_ns;
}

/* ---------------------------------------------------------------------- work */

static void on_work_queue(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct actor *by = pending_place(&state->works, ev->work.work);

	actor_now(state, cpu, ev, by);
	throttle_queued(state, cpu, ev, by);
	served_queued(state, cpu, ev);
}

static void on_work_start(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *current = state_current(state, cpu);

	if (!current || current->idle)
		return;
	current->work = (struct actor){ .time_ns = ev->time_ns, .slot = SLOT_NONE };
	(void)pending_take(&state->works, ev->work.work, &current->work);
	throttle_started(state, current, ev);
	served_started(state, current, ev);
	flow_push(state, current, ev->time_ns,
		  word_make(WORD_WORK, state_symbol(state, ev->work.function)));
}

static void on_work_end(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *current = state_current(state, cpu);

	if (!current)
		return;
	current->work.time_ns = 0;
	flow_pop(state, current, ev->time_ns, WORD_WORK);
}

/* -------------------------------------------------------------------- signals */

static void tell_signal(struct state *state, struct thread *thread, const struct event *ev)
{
	struct wait *wait = tl_wait(thread->tl, thread->wait);

	wait->waker.signal = (uint8_t)ev->signal.signal;
	wait->flags &= ~(uint32_t)WAIT_TIMED_OUT;
	thread->poll_open = false;
	expect_at_signal(state, thread, wait);
}

/* Has 'by' just ended a wait of the thread, in the call that it is in? */
static bool was_just_woken(const struct thread *thread, const struct thread *by)
{
	const struct wait *wait;

	if (thread->sched == SCHED_DEAD || thread->wait >= thread->tl->wait_count ||
	    thread->wait < thread->tl->wait_base)
		return false;
	wait = tl_wait(thread->tl, thread->wait);
	return wait->woken_ns && wait->woken_ns >= by->call_ns &&
	       wait->waker.kind == ACTOR_THREAD && wait->waker.slot == by->slot &&
	       !wait->waker.signal;
}

/* What ends a process is sent to one of its threads, and wakes all. */
static void tell_all(struct state *state, const struct thread *by, const struct thread *receiver,
		     const struct event *ev)
{
	if (!by || !by->in_call || !by->call_ns || !receiver->process ||
	    receiver->process->refs < 2 || !signal_asks_to_end((uint8_t)ev->signal.signal))
		return;
	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		struct thread *other = state->threads[i];

		if (other->process == receiver->process && was_just_woken(other, by))
			tell_signal(state, other, ev);
	}
}

/* What is stopped goes on by these alone. A frozen thread wakes for a moment by others, too. */
static bool can_end(const struct wait *wait, int32_t signal)
{
	return !(wait->flags & WAIT_STOPPED) || wait->object || signal == SIGCONT ||
	       signal == SIGKILL;
}

/*
 * The kernel wakes the receiver first and records the signal right after it, in
 * the same context: the wait that just ended, ended by this signal.
 */
static void on_signal_generate(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = cpu->woken == SLOT_NONE ? NULL : state->threads[cpu->woken];
	struct thread *receiver = state_living(state, ev->signal.tid);

	cpu->woken = SLOT_NONE;
	if (!thread || !receiver || ev->signal.signal <= 0 || ev->signal.signal >= 128 ||
	    receiver->tl->tgid != thread->tl->tgid || !thread->tl->wait_count ||
	    !can_end(tl_wait(thread->tl, thread->wait), ev->signal.signal))
		return;
	tell_signal(state, thread, ev);
	tell_all(state, state_current(state, cpu), receiver, ev);
}

const struct state_handler irq_handlers[] = {
	{ EV_IRQ_ENTRY, on_irq_entry },
	{ EV_IRQ_EXIT, on_irq_exit },
	{ EV_VECTOR_ENTRY, on_vector_entry },
	{ EV_VECTOR_EXIT, on_vector_exit },
	{ EV_SOFTIRQ_ENTRY, on_softirq_entry },
	{ EV_SOFTIRQ_EXIT, on_softirq_exit },
	{ EV_HRTIMER_START, on_timer_start },
	{ EV_HRTIMER_EXPIRE, on_timer_expire },
	{ EV_HRTIMER_DONE, on_timer_done },
	{ EV_TIMER_EXPIRE, on_timer_expire },
	{ EV_TIMER_DONE, on_timer_done },
	{ EV_BLOCK_INSERT, on_block_issue },
	{ EV_BLOCK_ISSUE, on_block_issue },
	{ EV_BLOCK_COMPLETE, on_block_complete },
	{ EV_BLOCK_REMAP, on_block_remap },
	{ EV_NET_QUEUE, on_packet_sent },
	{ EV_NET_RX, on_packet_sent },
	{ EV_NET_RECEIVE, on_packet_received },
	{ EV_WORK_QUEUE, on_work_queue },
	{ EV_WORK_START, on_work_start },
	{ EV_WORK_END, on_work_end },
	{ EV_SIGNAL_GENERATE, on_signal_generate },
	{ EV_NONE, NULL },
};
