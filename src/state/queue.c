/*
 * queue.c - packets that a queue of a device (tc) lets go later.
 *
 *	handed to the device by a thread            net_dev_queue
 *	   ... the queue's timer goes off            qdisc_watchdog
 *	let go, in the softirq NET_TX or by another  netif_rx, of a device of this machine alone
 *
 * Such a packet was in the queue from the first to the last. Who handed it over and lets it go itself may
 * just have been slow, unless it is known that the device has a queue. Whoever hands over a packet may let go
 * of others that are due: those are not its own. A queue may cut packets into new ones,
 * which were not handed to it: of those it is known that it did not let go of anything since its
 * timer was set, time after time. It may set the timer for the next packet before it lets go of one.
 *
 * A pair of devices (veth) has the queue at the one end, and the packet arrives at the other: which ends belong
 * together is learnt from packets that just pass.
 */
#include "state/state_int.h"

#include <stdio.h>

#define WATCHDOG   "qdisc_watchdog"
#define PACING	   "tcp_pace_kick"
#define HELD_NS	   100000u /* it was not just passed on */
#define GOES_ON_NS 200000u /* from a packet let go to the timer for the next one */

static bool is_watchdog(struct state *state, uint64_t function)
{
	uint64_t *other = &state->no_watchdogs[function >> 4 & (NO_WATCHDOGS - 1)];

	if (!function || *other == function)
		return false;
	if (state->watchdog == function)
		return true;
	if (strcmp(names_text(&state->tl->names, state_symbol(state, function)), WATCHDOG) != 0) {
		*other = function;
		return false;
	}
	state->watchdog = function;
	return true;
}

void queue_timer_set(struct state *state, const struct event *ev)
{
	if (!is_watchdog(state, ev->timer.function))
		return;
	state->queue_set_ns = ev->time_ns;
	if (ev->time_ns - state->queue_passed_ns > GOES_ON_NS && !state->queue_waits)
		state->queue_since_ns = ev->time_ns;
	state->queue_waits = true;
}

void queue_timer_ends(struct state *state, const struct event *ev)
{
	if (state->watchdog && ev->timer.function == state->watchdog)
		state->queue_expired_ns = ev->time_ns;
}

/* Name id of the device that the packet was handed to, as far as it is known: else of where it arrived. */
static uint32_t queue_device(struct state *state, const struct event *ev,
			     const struct actor *sender)
{
	uint32_t arrived = names_add(&state->tl->names, ev->net.dev, DEVICE_BYTES);
	const uint64_t *pair =
		state->device_pairs.count ? map_find(&state->device_pairs, arrived) : NULL;

	if ((sender->kind == ACTOR_THREAD || sender->kind == ACTOR_NETWORK) && sender->name)
		return sender->name;
	return pair ? (uint32_t)*pair : arrived;
}

/* As the recorder told of it; 0 = it did not. */
static uint32_t told_queue(struct state *state, uint32_t device)
{
	const uint64_t *known = state->queues.count ? map_find(&state->queues, device) : NULL;

	return known ? (uint32_t)*known : 0;
}

static uint32_t queue_of(struct state *state, const struct event *ev, const struct actor *sender)
{
	uint32_t device = queue_device(state, ev, sender);
	uint32_t told = told_queue(state, device);
	const char *name = names_text(&state->tl->names, device);
	bool known = strcmp(name, "lo") == 0 || strncmp(name, ev->net.dev, DEVICE_BYTES) != 0;
	char text[64];

	if (told)
		return told;
	snprintf(text, sizeof(text), known ? "queue of %.*s" : "queue before %.*s", DEVICE_BYTES,
		 name);
	return names_add(&state->tl->names, text, sizeof(text));
}

void queue_handed(struct state *state, const struct event *ev)
{
	state->handed_skb = ev->net.skb;
	memcpy(state->handed_to, ev->net.dev ? ev->net.dev : "",
	       ev->net.dev ? strnlen(ev->net.dev, DEVICE_BYTES - 1) + 1 : 1);
	state->handed_to[DEVICE_BYTES - 1] = '\0';
}

/* The packet was handed to a device just before, and arrives at another one. */
static void learn_pair(struct state *state, const struct event *ev)
{
	struct names *names = &state->tl->names;

	if (state->handed_skb != ev->net.skb || !ev->net.dev || !state->handed_to[0] ||
	    strncmp(state->handed_to, ev->net.dev, DEVICE_BYTES) == 0)
		return;
	map_put(&state->device_pairs, names_add(names, ev->net.dev, DEVICE_BYTES),
		names_add(names, state->handed_to, DEVICE_BYTES));
}

void queue_handed_by_none(struct state *state, const struct event *ev)
{
	*pending_place(&state->packets, ev->net.skb) = (struct actor){
		.time_ns = ev->time_ns,
		.slot = SLOT_NONE,
		.name = ev->net.dev ? names_add(&state->tl->names, ev->net.dev, DEVICE_BYTES) : 0,
		.kind = ACTOR_NETWORK,
	};
}

/* Does what was handed to that device arrive at this one? An address is used again. */
static bool leads_to(struct state *state, uint32_t handed_to, const char *dev)
{
	uint32_t arrived = dev ? names_add(&state->tl->names, dev, DEVICE_BYTES) : 0;
	const uint64_t *pair =
		state->device_pairs.count ? map_find(&state->device_pairs, arrived) : NULL;

	return arrived && (arrived == handed_to || (pair && *pair == handed_to));
}

/* Sent as another packet came in: since when that one's sender went on is known, not when this one was handed over. */
static bool is_of_packet(const struct actor *sender)
{
	return sender->kind == ACTOR_THREAD && word_kind(sender->word) == WORD_SOFTIRQ;
}

/* Was it in a queue since 'sender' handed it over? */
static bool is_held(struct state *state, const struct event *ev, const struct actor *sender,
		    const struct thread *by, bool in_softirq_tx)
{
	if (is_of_packet(sender))
		return in_softirq_tx;
	if (!sender->time_ns || ev->time_ns - sender->time_ns <= HELD_NS)
		return false;
	if (sender->kind == ACTOR_NETWORK && !leads_to(state, sender->name, ev->net.dev))
		return false;
	return in_softirq_tx || !by || by->slot != sender->slot ||
	       (ev->net.dev && told_queue(state, queue_device(state, ev, sender)));
}

/*
 * Is the packet one of a row that had to wait since the queue's timer was set first? What a thread sent was
 * not there before that sent it, and what a timer sent was not, unless TCP only spreads out what it may send.
 */
static bool is_backlog(struct state *state, const struct event *ev, const struct actor *sender,
		       bool known, bool held, bool in_softirq_tx)
{
	bool is_paced = sender->kind == ACTOR_TIMER &&
			strcmp(names_text(&state->tl->names, sender->name), PACING) == 0;

	if (!state->queue_since_ns)
		return false;
	if (known)
		return held && (is_paced || sender->kind == ACTOR_NETWORK) &&
		       sender->slot == SLOT_NONE && state->queue_since_ns < sender->time_ns;
	return in_softirq_tx || (ev->net.dev && told_queue(state, queue_device(state, ev, sender)));
}

bool queue_passes(struct state *state, const struct event *ev, const struct thread *by,
		  bool in_softirq_tx)
{
	struct actor sender = { .slot = SLOT_NONE, .kind = ACTOR_NETWORK };
	bool known = pending_take(&state->packets, ev->net.skb, &sender);
	bool held = known && is_held(state, ev, &sender, by, in_softirq_tx);

	learn_pair(state, ev);
	if (!state->queue_waits && ev->time_ns - state->queue_passed_ns > GOES_ON_NS)
		state->queue_since_ns = 0;
	if (is_backlog(state, ev, &sender, known, held, in_softirq_tx)) {
		sender.time_ns = state->queue_since_ns;
		held = true;
	}
	if (held && is_of_packet(&sender) && sender.time_ns < state->queue_since_ns)
		sender.time_ns = state->queue_since_ns;
	if (in_softirq_tx) {
		state->queue_passed_ns = ev->time_ns;
		state->queue_waits =
			state->queue_expired_ns && state->queue_set_ns > state->queue_expired_ns;
	}
	if (held && ev->net.dev)
		sender.below = word_make(WORD_WORK, queue_of(state, ev, &sender));
	if (known || held)
		*pending_place(&state->packets, ev->net.skb) = sender;
	return held;
}

uint32_t queue_of_packet(const struct actor *sender)
{
	return word_kind(sender->below) == WORD_WORK ? word_arg(sender->below) : 0;
}

void queue_at_wake(const struct cpu *cpu, struct wait *wait)
{
	if (wait->waker.kind != ACTOR_NETWORK || !cpu->packet_dev || !cpu->packet_queue)
		return;
	wait->flags |= WAIT_THROTTLED;
	wait->origin = (struct actor){ .time_ns = cpu->packet_ns,
				       .slot = cpu->packet_slot,
				       .name = cpu->packet_queue,
				       .kind = ACTOR_NETWORK };
}

void queue_told(struct state *state, const char *text)
{
	static const char lead[] = "queue of ";
	size_t len = sizeof(lead) - 1;
	char device[DEVICE_BYTES] = "";
	size_t device_len;

	if (strncmp(text, lead, len) != 0)
		return;
	device_len = strcspn(text + len, ":");
	if (device_len >= sizeof(device))
		return;
	memcpy(device, text + len, device_len);
	map_put(&state->queues, names_add(&state->tl->names, device, sizeof(device)),
		names_add(&state->tl->names, text, 256));
}
