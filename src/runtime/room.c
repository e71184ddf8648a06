/*
 * room.c - the next packet of a CPU, without locks.
 *
 *	oldest -> ... -> current -> ahead -> NULL	segments, in the order of their packets
 *
 * Events go to one packet of 'current'. Whoever finds it full lets the next one begin
 * (put_switch(), one atomic step). Behind the last packet of a segment stands the first of the
 * segment ahead, which is there since 'current' was begun. If it is not (its maker was
 * preempted for that long), everybody may make one: the first to link it wins.
 *
 * Only the keeper takes segments away, from the old end, and only when no thread that is
 * 'inside' can have read the address of one: threads are counted in one of two phases, and what
 * was old when the phase changed is free when all of the phase before have left. Threads that are
 * in a restartable sequence need not be counted: the packets change under them on their own CPU.
 */
#include <string.h>

#include "runtime/probe_int.h"

#define STREAM_URGENT	8 /* packets of a segment that a thread needs at once */
#define LARGE		(LARGE_BYTES / USER_PACKET)
#define FLIGHT_KEEP	4	    /* whole segments behind the current one */
#define FLIGHT_MOST	12	    /* segments, and so many bytes, while old ones cannot be ... */
#define FLIGHT_SPARE	(64u << 20) /* ... taken away: a thread was preempted at the wrong moment */
#define FLIGHT_TURNS	128	    /* so many segments are "long" */
#define RETRY_MS	10
#define FLIGHT_RETRY_MS 1

/* Of the session that the CPU writes to. */
static uint64_t cpu_packet_number(const struct holdup_cpu_ *entry)
{
	return __atomic_load_n(&entry->session, __ATOMIC_ACQUIRE) >> HOLDUP_TURN_;
}

static struct segment *next_of(const struct segment *segment)
{
	/* pairs with link_ahead() */
	return __atomic_load_n(&segment->next, __ATOMIC_ACQUIRE);
}

static bool holds(const struct segment *segment, const struct user_packet *packet)
{
	size_t at = (size_t)((const uint8_t *)packet - segment->base);

	return (const uint8_t *)packet >= segment->base &&
	       at < (size_t)segment->packets * USER_PACKET;
}

static uint32_t place_in(const struct segment *segment, const struct user_packet *packet)
{
	return (uint32_t)(((const uint8_t *)packet - segment->base) / USER_PACKET);
}

static uint64_t segment_size(const struct segment *segment)
{
	return (uint64_t)segment->packets * USER_PACKET;
}

/* Would one of so many bytes to follow 'last' be made faster of large pages? On a disk are none. */
static bool is_large(const struct segment *last, uint64_t bytes)
{
	return last->stays && large_pays(bytes);
}

static bool is_helped(const struct session *session)
{
	return session->mode == HOLDUP_STREAM && helper_runs();
}

/*
 * Twice as many each time; few where a thread waits for it, but as many as are made at the cost
 * of fewer.
 */
static uint32_t stream_packets(const struct session *session, const struct cpu_room *room,
			       const struct segment *last)
{
	uint64_t all = __atomic_load_n(&room->bytes, __ATOMIC_RELAXED) / USER_PACKET;
	uint64_t packets = last->packets * 2;

	if (helper_is_me())
		packets = packets < all ? all : packets;
	else if (is_large(last, LARGE_BYTES))
		packets = packets < LARGE ? packets : LARGE;
	else if (is_helped(session) && packets > STREAM_URGENT)
		packets = STREAM_URGENT;
	if (packets >= probe.stream_most)
		return probe.stream_most;
	return (uint32_t)(packets > LARGE ? packets - packets % LARGE : packets);
}

/* May 'bytes' more be made? Then they are counted. */
static bool claim(const struct session *session, struct cpu_room *room, uint64_t bytes)
{
	uint64_t now = __atomic_load_n(&room->bytes, __ATOMIC_RELAXED);

	do {
		if (session->mode == HOLDUP_STREAM && session->cpu_bytes &&
		    now + bytes > session->cpu_bytes)
			return false;
		if (session->mode == HOLDUP_FLIGHT && now >= FLIGHT_MOST * bytes + FLIGHT_SPARE)
			return false;
	} while (!__atomic_compare_exchange_n(&room->bytes, &now, now + bytes, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

static void unclaim(struct cpu_room *room, uint64_t bytes)
{
	__atomic_sub_fetch(&room->bytes, bytes, __ATOMIC_RELAXED);
}

/* A segment for 'cpu' to follow 'last' (NULL: the first one), linked to nothing yet. */
static struct segment *make_segment(const struct session *session, struct cpu_room *room,
				    uint32_t cpu, const struct segment *last)
{
	uint32_t packets = session->packets, index;
	uint64_t bytes, number = last ? last->first_number + last->packets : 0;
	struct segment *segment;

	if (session->mode == HOLDUP_STREAM && last)
		packets = stream_packets(session, room, last);
	bytes = (uint64_t)packets * USER_PACKET;
	if (!claim(session, room, bytes))
		return NULL;
	index = __atomic_add_fetch(&room->index, 1, __ATOMIC_RELAXED);
	segment = segment_new(session, cpu, packets, index, number);
	if (!segment)
		unclaim(room, bytes);
	return segment;
}

static void unmake_segment(const struct session *session, struct cpu_room *room, uint32_t cpu,
			   struct segment *segment)
{
	unclaim(room, segment_size(segment));
	segment_drop(session, segment, cpu);
}

/* Only without restartable sequences: somebody still writes to it, or died doing so. */
static bool is_quiet(const struct segment *segment)
{
	for (uint32_t i = 0; i < segment->packets; i++) {
		const struct user_packet *packet = segment_packet(segment, i);
		uint64_t reserved = __atomic_load_n(&packet->reserved, __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&packet->committed, __ATOMIC_ACQUIRE) !=
		    (reserved & ~USER_CLOSED))
			return false;
	}
	return true;
}

uint32_t room_enter(struct cpu_room *room)
{
	for (;;) {
		uint32_t phase = __atomic_load_n(&room->phase, __ATOMIC_SEQ_CST);

		__atomic_add_fetch(&room->inside[phase], 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&room->phase, __ATOMIC_SEQ_CST) == phase)
			return phase;
		__atomic_sub_fetch(&room->inside[phase], 1, __ATOMIC_SEQ_CST);
	}
}

void room_leave(struct cpu_room *room, uint32_t phase)
{
	__atomic_sub_fetch(&room->inside[phase], 1, __ATOMIC_SEQ_CST);
}

bool room_is_empty(const struct cpu_room *room)
{
	return !__atomic_load_n(&room->inside[0], __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&room->inside[1], __ATOMIC_SEQ_CST);
}

/* The keeper: see how far segments are free, and change the phase when the one before is over. */
static void advance_safe(struct cpu_room *room)
{
	uint32_t phase = __atomic_load_n(&room->phase, __ATOMIC_SEQ_CST);

	if (__atomic_load_n(&room->inside[!phase], __ATOMIC_SEQ_CST))
		return;
	room->safe = room->marked;
	/* Who comes in from now on finds the current segment or later ones. */
	room->marked = __atomic_load_n(&room->current, __ATOMIC_SEQ_CST);
	__atomic_store_n(&room->phase, !phase, __ATOMIC_SEQ_CST);
}

static struct segment *oldest_of(const struct cpu_room *room)
{
	/* pairs with first_segment(): it may be behind, while a segment is current already */
	return __atomic_load_n(&room->oldest, __ATOMIC_ACQUIRE);
}

/*
 * The keeper: how many segments may be taken from the old end. What of a flight recorder is asked
 * for stays, and what somebody may still hold a pointer to.
 */
static uint32_t count_free(const struct session *session, const struct cpu_room *room)
{
	const struct segment *current = __atomic_load_n(&room->current, __ATOMIC_ACQUIRE);
	uint32_t keep = session->mode == HOLDUP_FLIGHT ? FLIGHT_KEEP : 0, old = 0, safe = 0;
	bool is_safe = room->safe != NULL;

	for (const struct segment *at = oldest_of(room); at && at != current; at = next_of(at)) {
		is_safe &= at != room->safe;
		safe += is_safe;
		old++;
	}
	old -= old < keep ? old : keep;
	return safe < old ? safe : old;
}

/*
 * The keeper: has there been one too many for long, or are there so many that few more could be
 * made? Asked each time that one is wanted; 'free' may be taken.
 */
static bool is_one_spare(struct cpu_room *room, uint32_t free, uint64_t bytes)
{
	bool spare = free > 1 && __atomic_load_n(&room->bytes, __ATOMIC_RELAXED) >
					 FLIGHT_MOST * bytes + FLIGHT_SPARE / 2;

	if (!room->turns || free < room->least_free)
		room->least_free = free;
	if (++room->turns == FLIGHT_TURNS) {
		room->turns = 0;
		spare |= room->least_free > 1;
	}
	return spare;
}

/*
 * Take the oldest segment out of the list. NULL: it is needed, or somebody else is at it. That of
 * a flight recorder has no name any more: a process that is killed must not leave a gap.
 * 'out_spare' (may be NULL): whether the one after it can go as well.
 */
static struct segment *take_old(const struct session *session, struct cpu_room *room,
				bool *out_spare)
{
	struct segment *old = NULL;
	uint32_t free;

	if (out_spare)
		*out_spare = false;
	if (__atomic_exchange_n(&room->keeper, 1, __ATOMIC_ACQUIRE))
		return NULL;
	advance_safe(room);
	free = count_free(session, room);
	if (free && (probe.has_rseq || is_quiet(oldest_of(room)))) {
		old = oldest_of(room);
		__atomic_store_n(&room->oldest, next_of(old), __ATOMIC_RELEASE);
		if (session->mode == HOLDUP_FLIGHT)
			segment_hide(session, old, (uint32_t)(room - session->rooms));
	}
	if (out_spare)
		*out_spare = is_one_spare(room, free, (uint64_t)session->packets * USER_PACKET);
	__atomic_store_n(&room->keeper, 0, __ATOMIC_RELEASE);
	return old;
}

static bool link_ahead(struct segment *last, struct segment *ahead)
{
	struct segment *none = NULL;

	return __atomic_compare_exchange_n(&last->next, &none, ahead, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

#define AHEAD	    2 /* segments that the helper has ready ... */
#define AHEAD_LARGE 4 /* ... and that many cheap ones, where they were too few once */

/* The last segment, and how many there are behind the current one. */
static struct segment *find_last(const struct cpu_room *room, uint32_t *out_count)
{
	struct segment *last = __atomic_load_n(&room->current, __ATOMIC_ACQUIRE);

	*out_count = 0;
	for (struct segment *at = last; at && (at = next_of(at)); last = at)
		(*out_count)++;
	return last;
}

/*
 * Let 'ahead' be the last. A thread that was in need may be faster, with one of its own: then
 * it gets the numbers behind those. 'named': it has a name. False: it is gone.
 */
static bool link_last(struct session *session, struct cpu_room *room, uint32_t cpu,
		      struct segment *ahead, bool named)
{
	uint32_t count, index;
	struct segment *last = find_last(room, &count);

	if (!named)
		ahead->warm |= ahead->stays; /* it was full */
	while (!named || ahead->first_number != last->first_number + last->packets ||
	       !link_ahead(last, ahead)) {
		if (named)
			segment_hide(session, ahead, cpu);
		last = find_last(room, &count);
		index = __atomic_add_fetch(&room->index, 1, __ATOMIC_RELAXED);
		if (!segment_reuse(session, ahead, cpu, index, last->first_number + last->packets))
			return false;
		named = true;
	}
	return true;
}

/* Let a new segment follow 'last', if none does. */
static void add_ahead(struct session *session, struct cpu_room *room, uint32_t cpu,
		      struct segment *last)
{
	struct segment *ahead;

	if (next_of(last))
		return;
	__atomic_store_n(&room->late, is_helped(session), __ATOMIC_RELAXED);
	ahead = make_segment(session, room, cpu, last);
	if (!ahead)
		return;
	segment_warm(ahead, 0);
	/* In a stream what others have made meanwhile comes before it: all will be used soon. */
	if (session->mode == HOLDUP_STREAM ? !link_last(session, room, cpu, ahead, true)
					   : !link_ahead(last, ahead))
		unmake_segment(session, room, cpu, ahead);
}

/*
 * A flight recorder's oldest segment is the next one. Those that were made while it could not be
 * taken, because a thread was preempted inside, stay for the next time: where threads are more
 * than CPUs it comes often. They go, one by one, when there was one too many for long.
 */
static void turn_round(struct session *session, struct cpu_room *room, uint32_t cpu)
{
	bool is_spare;
	struct segment *old = take_old(session, room, &is_spare);

	if (old && !link_last(session, room, cpu, old, false))
		unmake_segment(session, room, cpu, old);
	old = is_spare ? take_old(session, room, NULL) : NULL;
	if (old)
		unmake_segment(session, room, cpu, old);
}

/* Full files of a stream are the trace. */
static void let_go(const struct session *session, struct cpu_room *room)
{
	struct segment *old;

	while ((old = take_old(session, room, NULL)))
		segment_free(old);
}

/* A new segment has begun: prepare the one after it, clear up behind it. */
static void keep_up(struct session *session, struct cpu_room *room, uint32_t cpu)
{
	struct segment *current = __atomic_load_n(&room->current, __ATOMIC_ACQUIRE);

	/* Where there is a helper, only it clears up: it alone has the descriptors. */
	if (is_helped(session))
		helper_wake();
	else if (session->mode == HOLDUP_STREAM)
		let_go(session, room);
	else if (!next_of(current))
		turn_round(session, room, cpu);
	add_ahead(session, room, cpu, __atomic_load_n(&room->current, __ATOMIC_ACQUIRE));
}

/*
 * Copy an old segment out and write to its memory again, behind all others. Not while new memory
 * costs less than a copy.
 */
static bool recycle(struct session *session, struct cpu_room *room, uint32_t cpu,
		    struct segment *old)
{
	uint64_t bytes = segment_size(old);

	if (is_large(old, bytes) || !claim(session, room, bytes))
		return false;
	if (segment_copy_out(session, old, cpu) && link_last(session, room, cpu, old, false))
		return true;
	unclaim(room, bytes);
	return false;
}

static bool add_new(struct session *session, struct cpu_room *room, uint32_t cpu,
		    const struct segment *last)
{
	struct segment *ahead = make_segment(session, room, cpu, last);

	if (!ahead)
		return false;
	for (uint32_t i = 0; i < ahead->packets; i++)
		segment_warm(ahead, i);
	ahead->warm = true;
	if (link_last(session, room, cpu, ahead, true))
		return true;
	unmake_segment(session, room, cpu, ahead);
	return false;
}

static uint32_t ahead_of(const struct cpu_room *room, const struct segment *last)
{
	bool late = __atomic_load_n(&room->late, __ATOMIC_RELAXED);

	return late && is_large(last, LARGE_BYTES) ? AHEAD_LARGE : AHEAD;
}

/* Use again what is old, or let it go; make what is missing then. True: did so. */
static bool tend_once(struct session *session, struct cpu_room *room, uint32_t cpu)
{
	struct segment *old;
	const struct segment *last;
	uint32_t count;

	old = take_old(session, room, NULL);
	if (old) {
		if (!recycle(session, room, cpu, old))
			segment_free(old); /* its file is the trace */
		return true;
	}
	last = find_last(room, &count);
	return count < ahead_of(room, last) && add_new(session, room, cpu, last);
}

static bool tend(struct session *session, struct cpu_room *room, uint32_t cpu)
{
	uint32_t phase;
	bool did = false;

	if (!__atomic_load_n(&room->current, __ATOMIC_ACQUIRE))
		return false;
	phase = room_enter(room);
	if (!__atomic_load_n(&session->closed, __ATOMIC_SEQ_CST) &&
	    __atomic_load_n(&room->current, __ATOMIC_ACQUIRE))
		did = tend_once(session, room, cpu);
	room_leave(room, phase);
	return did;
}

void room_tend_all(struct session *session)
{
	/* Twice for nothing: what is old is free when all who were inside have left, we as well. */
	for (int idle = 0; idle < 2 && !__atomic_load_n(&probe.ended, __ATOMIC_ACQUIRE); idle++) {
		for (uint32_t cpu = 0; cpu < probe.cpu_count; cpu++) {
			if (tend(session, &session->rooms[cpu], cpu))
				idle = -1;
		}
	}
}

/* The segment that holds 'packet'; current moves there. NULL: it is an older one, or none of these. */
static struct segment *find_current(struct cpu_room *room, const struct user_packet *packet)
{
	struct segment *from = __atomic_load_n(&room->current, __ATOMIC_ACQUIRE), *at = from;

	while (at && !holds(at, packet))
		at = next_of(at);
	if (at && at != from)
		(void)__atomic_compare_exchange_n(&room->current, &from, at, false,
						  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return at;
}

static void raise_lost(struct user_packet *packet, uint64_t lost)
{
	uint64_t now = __atomic_load_n(&packet->lost, __ATOMIC_RELAXED);

	while (now < lost && !__atomic_compare_exchange_n(&packet->lost, &now, lost, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/*
 * Let 'packet' have what was lost so far, while the CPU writes to 'now': a late thread's number
 * is that of packets behind it.
 */
static void carry_lost(const struct cpu_room *room, uint32_t cpu, const struct user_packet *now,
		       struct user_packet *packet)
{
	uint64_t lost = __atomic_load_n(&room->lost, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&probe.cpus[cpu].packet, __ATOMIC_ACQUIRE) == (const uint8_t *)now)
		raise_lost(packet, lost);
}

void room_lose(struct session *session, uint32_t cpu)
{
	struct cpu_room *room;
	struct user_packet *packet;
	uint32_t phase;
	uint64_t lost;

	if (!session || !session->good || cpu >= probe.cpu_count) {
		__atomic_add_fetch(&probe.lost, 1, __ATOMIC_RELAXED);
		return;
	}
	room = &session->rooms[cpu];
	phase = room_enter(room);
	lost = __atomic_add_fetch(&room->lost, 1, __ATOMIC_ACQ_REL);
	packet = (struct user_packet *)(void *)__atomic_load_n(&probe.cpus[cpu].packet,
							       __ATOMIC_ACQUIRE);
	/* Else its first packet will say so, if it ever has one. */
	if (cpu_packet_number(&probe.cpus[cpu]) == session->number)
		raise_lost(packet, lost);
	room_leave(room, phase);
}

/* Nobody tries again for a while: asking for space that is not there is expensive. */
static bool room_give_up(const struct session *session, struct cpu_room *room)
{
	/* A flight recorder waits for a thread that is preempted. */
	uint64_t ms = session->mode == HOLDUP_FLIGHT ? FLIGHT_RETRY_MS : RETRY_MS;

	__atomic_store_n(&room->retry_at,
			 probe_clock_now(probe.is_counter) + ms * probe.ticks_per_ms,
			 __ATOMIC_RELAXED);
	return false;
}

static bool is_too_early(struct cpu_room *room)
{
	uint64_t at = __atomic_load_n(&room->retry_at, __ATOMIC_RELAXED);

	return at && probe_clock_now(probe.is_counter) < at;
}

static void begin_packet(struct session *session, struct cpu_room *room, uint32_t cpu,
			 struct segment *segment, uint32_t place)
{
	struct user_packet *packet = segment_packet(segment, place);

	__atomic_store_n(&room->retry_at, 0, __ATOMIC_RELAXED);
	carry_lost(room, cpu, packet, packet);
	if (place + 1 < segment->packets)
		segment_warm(segment, place + 1);
	else if (next_of(segment))
		segment_warm(next_of(segment), 0);
	if (place == 0)
		keep_up(session, room, cpu);
}

/* Times have 48 bits: the upper ones are those of the packet's beginning. */
static void set_last(struct holdup_cpu_ *entry)
{
	const struct user_packet *packet = (const struct user_packet *)(void *)__atomic_load_n(
		&entry->packet, __ATOMIC_ACQUIRE);
	uint64_t begin = __atomic_load_n(&packet->begin, __ATOMIC_RELAXED);

	__atomic_store_n(&entry->last, begin | ((UINT64_C(1) << 48) - 1), __ATOMIC_RELAXED);
}

/* The first segment of a CPU in a session, made by whoever is first. */
static struct segment *first_segment(struct session *session, struct cpu_room *room, uint32_t cpu)
{
	struct segment *first = __atomic_load_n(&room->current, __ATOMIC_ACQUIRE), *none = NULL;

	if (first)
		return first;
	first = make_segment(session, room, cpu, NULL);
	if (first && !__atomic_compare_exchange_n(&room->current, &none, first, false,
						  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		unmake_segment(session, room, cpu, first);
		first = none;
	} else if (first) {
		__atomic_store_n(&room->oldest, first, __ATOMIC_RELEASE); /* for the keeper */
		segment_warm(first, 0);
	}
	return first;
}

/*
 * May session 'number' have the CPU? Not once a later one has asked for it: threads may be late
 * by several.
 */
static bool ask_for_cpu(struct holdup_cpu_ *entry, uint64_t number)
{
	uint64_t asked = __atomic_load_n(&entry->asked, __ATOMIC_SEQ_CST);

	while (asked < number && !__atomic_compare_exchange_n(&entry->asked, &asked, number, false,
							      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	return asked <= number;
}

/*
 * Let the CPU write to this session, from its first packet on. The packet is read between two
 * looks at what has been asked for: so it is not a later session's, and replaced only while it is
 * what it was.
 */
static bool make_first(struct session *session, uint64_t word, struct cpu_room *room, uint32_t cpu)
{
	struct holdup_cpu_ *entry = &probe.cpus[cpu];
	struct segment *first = first_segment(session, room, cpu);
	struct user_packet *old;
	bool begun;

	if (!first)
		return room_give_up(session, room);
	if (!ask_for_cpu(entry, session->number))
		return true;
	old = (struct user_packet *)(void *)__atomic_load_n(&entry->packet, __ATOMIC_SEQ_CST);
	if (!ask_for_cpu(entry, session->number) || cpu_packet_number(entry) >= session->number)
		return true;
	begun = find_current(room, old) != NULL; /* by another thread */
	if (!begun && !put_switch(cpu, old, segment_packet(first, 0)))
		return true;
	set_last(entry);
	/* pairs with the sequences' and with this file's reading */
	__atomic_store_n(&entry->session, word, __ATOMIC_RELEASE);
	if (!begun)
		begin_packet(session, room, cpu, first, 0);
	return true;
}

static bool has_room(const struct user_packet *packet, size_t bytes)
{
	uint64_t at = __atomic_load_n(&packet->content_bits, __ATOMIC_RELAXED) / 8;
	uint64_t now = probe_clock_now(probe.is_counter);

	if (!probe.has_rseq) {
		at = __atomic_load_n(&packet->reserved, __ATOMIC_RELAXED);
		if (at & USER_CLOSED)
			return false;
	}
	return (at + USER_EVENT_HEAD + bytes) * 8 <= HOLDUP_LIMIT_ &&
	       !((now ^ __atomic_load_n(&packet->begin, __ATOMIC_RELAXED)) >> 48);
}

static bool make_next(struct session *session, struct cpu_room *room, uint32_t cpu, size_t bytes)
{
	struct holdup_cpu_ *entry = &probe.cpus[cpu];
	struct user_packet *old =
		(struct user_packet *)(void *)__atomic_load_n(&entry->packet, __ATOMIC_ACQUIRE);
	struct segment *segment = find_current(room, old), *after;
	uint32_t place;

	if (!segment || has_room(old, bytes)) {
		set_last(entry);
		return true; /* somebody was faster: look again */
	}
	place = place_in(segment, old) + 1;
	after = segment;
	if (place == segment->packets) {
		place = 0;
		after = next_of(segment);
		if (!after) {
			if (is_too_early(room))
				return false;
			keep_up(session, room, cpu);
			after = next_of(segment);
		}
		if (!after)
			return room_give_up(session, room);
	}
	carry_lost(room, cpu, old, segment_packet(after, place));
	if (!put_switch(cpu, old, segment_packet(after, place)))
		return true;
	set_last(entry);
	(void)find_current(room, segment_packet(after, place));
	begin_packet(session, room, cpu, after, place);
	return true;
}

bool room_make(struct session *session, uint64_t word, uint32_t cpu, size_t bytes)
{
	struct cpu_room *room = &session->rooms[cpu];
	struct holdup_cpu_ *entry = &probe.cpus[cpu];
	bool made = true;
	sigset_t before;
	uint32_t phase;

	if (cpu_packet_number(entry) != session->number && is_too_early(room))
		return false;
	signals_block(&before); /* a handler that jumps away would leave it entered */
	phase = room_enter(room);
	if (__atomic_load_n(&session->closed, __ATOMIC_SEQ_CST))
		; /* there is a new one: look again */
	else if (cpu_packet_number(entry) != session->number)
		made = make_first(session, word, room, cpu);
	else if (__atomic_load_n(&entry->session, __ATOMIC_RELAXED) != word)
		__atomic_store_n(&entry->session, word, __ATOMIC_RELEASE); /* new rules */
	else
		made = make_next(session, room, cpu, bytes);
	room_leave(room, phase);
	signals_restore(&before);
	return made;
}

/* ------------------------------------------------------------ after a session */

/* Segments of sessions that are over; ->index is the CPU. */
static struct segment *left;

static bool is_written(const struct segment *segment, uint32_t cpu)
{
	const uint8_t *packet = __atomic_load_n(&probe.cpus[cpu].packet, __ATOMIC_SEQ_CST);

	return packet && holds(segment, (const struct user_packet *)(const void *)packet);
}

void room_retire(struct session *session, uint32_t cpu)
{
	struct cpu_room *room = &session->rooms[cpu];
	struct segment *at = room->oldest;

	room->oldest = NULL;
	__atomic_store_n(&room->current, NULL, __ATOMIC_RELEASE);
	while (at) {
		struct segment *next = next_of(at);

		at->index = cpu;
		at->next = left;
		left = at;
		at = next;
	}
}

void room_free_retired(void)
{
	struct segment *at = left;

	left = NULL;
	while (at) {
		struct segment *next = at->next;

		if (is_written(at, at->index)) {
			at->next = left;
			left = at;
		} else {
			segment_free(at);
		}
		at = next;
	}
}

void room_forget_retired(void)
{
	left = NULL;
}
