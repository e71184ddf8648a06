/*
 * queue.c - packets that a queue of a device (tc) lets go later.
 *
 *	handed to the device by a thread            net_dev_queue
 *	   ... the queue's timer goes off            qdisc_watchdog
 *	let go, in the softirq NET_TX or by another  netif_rx, of a device of this machine alone
 *
 * Such a packet was in the queue from the first to the last. Who handed it over and lets it go itself may
 * just have been slow, unless it is known that the device has a queue. A queue may cut packets into new ones,
 * which were not handed to it: of those it is known that it did not let go of anything since its
 * timer was set, time after time.
 */
#include "state/state_int.h"

#include <stdio.h>

#define WATCHDOG   "qdisc_watchdog"
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
	if (ev->time_ns - state->queue_passed_ns > GOES_ON_NS && !state->queue_waits)
		state->queue_since_ns = ev->time_ns;
	state->queue_waits = true;
}

/* As the recorder told of it; 0 = it did not. */
static uint32_t told_queue(struct state *state, const char *device)
{
	uint32_t id = names_add(&state->tl->names, device, DEVICE_BYTES);
	const uint64_t *known = state->queues.count ? map_find(&state->queues, id) : NULL;

	return known ? (uint32_t)*known : 0;
}

static uint32_t queue_of(struct state *state, const char *device)
{
	uint32_t told = told_queue(state, device);
	char text[64];

	if (told)
		return told;
	snprintf(text, sizeof(text), "queue of %.*s", DEVICE_BYTES, device);
	return names_add(&state->tl->names, text, sizeof(text));
}

/* Was it in a queue since 'sender' handed it over? */
static bool is_held(struct state *state, const struct event *ev, const struct actor *sender,
		    const struct thread *by, bool in_softirq_tx)
{
	if (!sender->time_ns || ev->time_ns - sender->time_ns <= HELD_NS)
		return false;
	return in_softirq_tx || !by || by->slot != sender->slot ||
	       (ev->net.dev && told_queue(state, ev->net.dev));
}

bool queue_passes(struct state *state, const struct event *ev, const struct thread *by,
		  bool in_softirq_tx)
{
	struct actor sender = { .slot = SLOT_NONE, .kind = ACTOR_NETWORK };
	bool known = pending_take(&state->packets, ev->net.skb, &sender);
	bool held = known && is_held(state, ev, &sender, by, in_softirq_tx);

	if (!state->queue_waits && ev->time_ns - state->queue_passed_ns > GOES_ON_NS)
		state->queue_since_ns = 0;
	if (in_softirq_tx) {
		if (!known && state->queue_since_ns) {
			sender.time_ns = state->queue_since_ns;
			held = true;
		}
		state->queue_passed_ns = ev->time_ns;
		state->queue_waits = false;
	}
	if (held && ev->net.dev)
		sender.below = word_make(WORD_WORK, queue_of(state, ev->net.dev));
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
