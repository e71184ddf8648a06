/*
 * random_track.h - random tracks of one thread, as a plain list and as a timeline.
 *
 * A plausible track is what a control-flow stack could leave: calls, faults and
 * interrupts nest, a thread that sleeps is woken and queued before it runs, and holes
 * come anywhere. A wild one is any words in any order.
 */
#ifndef RANDOM_TRACK_H
#define RANDOM_TRACK_H

#include "base/err.h"
#include "timeline/index.h"
#include "totals_twin.h"

#define RK_ORIGIN 1000000u
#define RK_FRAMES 6
#define RK_CPUS	  3

enum rk_kind {
	RK_USER,
	RK_KERNEL,
	RK_IDLE,
	RK_WILD,
	RK_KINDS
};

struct rk {
	uint64_t random;
	enum rk_kind kind;
	struct plain *plain; /* end_ns of a span is that of the next one's start */
	uint64_t now;
	uint32_t frames[RK_FRAMES];
	uint32_t depth;
	uint32_t cpu;
	bool off; /* not on a CPU */
	size_t wait_cap;
};

static inline uint32_t rk_random(struct rk *rk, uint32_t below)
{
	rk->random ^= rk->random << 13;
	rk->random ^= rk->random >> 7;
	rk->random ^= rk->random << 17;
	return (uint32_t)((rk->random >> 11) % below);
}

static inline void rk_write(struct rk *rk, uint32_t word)
{
	if (rk->plain->count)
		rk->plain->spans[rk->plain->count - 1].end_ns = rk->now;
	plain_add(rk->plain, rk->now, rk->now, word);
}

static inline uint32_t rk_new_wait(struct rk *rk, uint32_t in)
{
	struct plain *plain = rk->plain;
	static const uint32_t flags[] = { 0,
					  0,
					  0,
					  WAIT_DISK_SLEEP,
					  WAIT_TIMED_OUT,
					  WAIT_SERVER,
					  WAIT_LOCK,
					  WAIT_STOPPED,
					  WAIT_DISK_SLEEP | WAIT_LOCK,
					  WAIT_START_UNKNOWN,
					  WAIT_MANY | WAIT_SERVER | WAIT_TIMED_OUT };

	plain->waits =
		vec_room(plain->waits, plain->wait_count, &rk->wait_cap, sizeof(*plain->waits));
	plain->waits[plain->wait_count] = (struct wait){
		.begin_ns = rk->now,
		.woken_ns = rk_random(rk, 5) ? rk->now : 0,
		.waker = { .slot = SLOT_NONE, .kind = (uint8_t)rk_random(rk, ACTOR_SOFTIRQ + 1) },
		.origin.slot = SLOT_NONE,
		.in = in,
		.fd = -1,
		.flags = flags[rk_random(rk, ARRAY_LEN(flags))],
	};
	return plain->wait_count++;
}

/* -------------------------------------------------------------------- plausible */

static inline uint32_t rk_top(const struct rk *rk)
{
	return rk->frames[rk->depth - 1];
}

static inline void rk_push(struct rk *rk, uint32_t word)
{
	if (rk->depth == RK_FRAMES)
		rk->depth--;
	rk->frames[rk->depth++] = word_plain(word);
	rk_write(rk, word);
}

/* Out of the top frame; a call may leave an error, and a fault that took no time its mark. */
static inline void rk_pop(struct rk *rk)
{
	bool call = word_kind(rk_top(rk)) == WORD_SYSCALL;
	uint32_t word = rk->frames[--rk->depth - 1];
	bool marked = word_kind(word) == WORD_USER || word_kind(word) == WORD_SYSCALL;

	if (marked && rk_random(rk, 6) == 0)
		word |= WORD_FAULT;
	if (call && word_kind(word) == WORD_USER && rk_random(rk, 3) == 0)
		word |= 1 + rk_random(rk, 3);
	rk_write(rk, word);
}

static inline void rk_switch_out(struct rk *rk)
{
	rk->off = true;
	while (rk->depth > 1 && word_kind(rk_top(rk)) >= WORD_IRQ)
		rk->depth--;
	if (rk->kind == RK_IDLE)
		rk_write(rk, word_make(WORD_NONE, 0));
	else if (rk_random(rk, 3) == 0)
		rk_write(rk, word_make(WORD_PREEMPTED, rk->cpu));
	else
		rk_write(rk, word_make(WORD_BLOCKED, rk_new_wait(rk, rk_top(rk))));
}

static inline void rk_step_off(struct rk *rk)
{
	uint32_t word = rk->plain->spans[rk->plain->count - 1].word;
	bool blocked = word_kind(word) == WORD_BLOCKED;

	if (rk->kind == RK_IDLE) {
		rk->off = false;
		rk_write(rk, rk_top(rk));
	} else if (blocked && rk_random(rk, 12)) {
		rk->cpu = rk_random(rk, RK_CPUS);
		rk_write(rk, word_make(WORD_WAIT_CPU, rk->cpu));
	} else if (!blocked && rk_random(rk, 8) == 0) {
		/* It comes onto another CPU than that where it was queued. */
		rk->off = false;
		rk->cpu = rk_random(rk, RK_CPUS);
		rk_write(rk, word_make(WORD_CPU, rk->cpu));
		rk_write(rk, rk_top(rk));
	} else if (!blocked && rk_random(rk, 4) == 0) {
		/* Moved to another queue. */
		rk->cpu = rk_random(rk, RK_CPUS);
		rk_write(rk, word_make(word_kind(word) == WORD_PREEMPTED ? WORD_PREEMPTED
									 : WORD_WAIT_CPU,
				       rk->cpu));
	} else if (!blocked) {
		rk->off = false;
		rk_write(rk, rk_top(rk));
	}
}

/* A hole; behind it the stack may be another. */
static inline void rk_hole(struct rk *rk)
{
	rk_write(rk, word_make(WORD_UNCERTAIN, rk_random(rk, UNSURE_ORDER + 1)));
	rk->now += rk_random(rk, 50);
	if (rk_random(rk, 2))
		rk->depth = 1;
	rk->off = true;
	if (rk->kind == RK_IDLE)
		return;
	rk->cpu = rk_random(rk, RK_CPUS);
	if (rk_random(rk, 4) == 0)
		rk_write(rk, word_make(WORD_BLOCKED, rk_new_wait(rk, rk_top(rk))));
	else
		rk_write(rk, word_make(WORD_WAIT_CPU, rk->cpu));
}

static inline void rk_interrupt(struct rk *rk)
{
	static const uint8_t kinds[] = { WORD_IRQ, WORD_VECTOR, WORD_SOFTIRQ };

	rk_push(rk, word_make((enum word_kind)kinds[rk_random(rk, 3)], rk_random(rk, 4)));
}

static inline void rk_step_base(struct rk *rk)
{
	uint32_t call = rk_random(rk, 5) | (rk_random(rk, 6) ? 0 : WORD_COMPAT);

	if (rk->kind == RK_USER && rk_random(rk, 5))
		rk_push(rk, word_make(WORD_SYSCALL, call) | (rk_random(rk, 9) ? 0 : WORD_FAULT));
	else if (rk->kind == RK_USER)
		rk_push(rk, word_make(WORD_TRAP, TRAP_FAULT_USER));
	else if (rk->kind == RK_KERNEL && rk_random(rk, 2))
		rk_push(rk, word_make(WORD_WORK, rk_random(rk, 3)));
	else
		rk_interrupt(rk);
}

/* Another call, and how the one before ended was not recorded. */
static inline void rk_next_call(struct rk *rk)
{
	rk->depth = 1;
	rk_push(rk, word_make(WORD_SYSCALL, rk_random(rk, 5)));
}

static inline void rk_step_on(struct rk *rk)
{
	uint32_t what = rk_random(rk, 40);

	if (what == 0)
		rk_hole(rk);
	else if (what < 8)
		rk_switch_out(rk);
	else if (what < 14)
		rk_interrupt(rk);
	else if (what == 14 && rk->kind == RK_USER)
		rk_next_call(rk);
	else if (rk->depth == 1)
		rk_step_base(rk);
	else
		rk_pop(rk);
}

/* ------------------------------------------------------------------------ wild */

static inline void rk_step_wild(struct rk *rk)
{
	enum word_kind kind = (enum word_kind)rk_random(rk, WORD_KIND_COUNT);
	uint32_t arg = rk_random(rk, 3);

	if (kind == WORD_BLOCKED)
		arg = rk_new_wait(rk, word_make((enum word_kind)rk_random(rk, WORD_IRQ), arg));
	else if (kind == WORD_SYSCALL && rk_random(rk, 4) == 0)
		arg |= WORD_COMPAT;
	else if (kind == WORD_NONE || kind == WORD_RUN)
		arg = 0;
	if ((kind == WORD_USER || kind == WORD_RUN || kind == WORD_SYSCALL) &&
	    rk_random(rk, 4) == 0)
		arg |= WORD_FAULT;
	rk_write(rk, word_make(kind, arg));
}

/* ------------------------------------------------------------------------ both */

static inline void rk_pass(struct rk *rk)
{
	switch (rk_random(rk, 16)) {
	case 0:
		rk->now += (uint64_t)rk_random(rk, 1000) << 28;
		break;
	case 1:
	case 2:
	case 3:
		break;
	default:
		rk->now += rk_random(rk, 300);
		break;
	}
}

/*
 * The life of a thread, of about 'steps' spans, as 'seed' has it. It begins at the origin, or
 * is born later; at its end it may die. Returns the end of the recording.
 */
static inline uint64_t random_track(uint64_t seed, uint32_t steps, enum rk_kind kind,
				    struct plain *plain)
{
	static const uint8_t bases[] = { WORD_USER, WORD_KERNEL, WORD_IDLE, WORD_USER };
	struct rk rk = { .random = seed * 0x9e3779b97f4a7c15u + 1,
			 .kind = kind,
			 .plain = plain,
			 .now = RK_ORIGIN,
			 .depth = 1,
			 .off = true };

	for (int i = 0; i < 4; i++)
		(void)rk_random(&rk, 2);
	plain->idle = kind == RK_IDLE;
	plain->idle_cpu = 1;
	rk.cpu = plain->idle ? 1 : rk_random(&rk, RK_CPUS);
	rk.frames[0] = word_make((enum word_kind)bases[kind], 0);
	rk_pass(&rk);
	plain->lead = rk.now > RK_ORIGIN;
	if (plain->lead)
		plain_add(plain, RK_ORIGIN, rk.now, word_make(WORD_NONE, 0));
	rk_write(&rk, kind == RK_IDLE || rk_random(&rk, 2)
			      ? word_make(kind == RK_IDLE ? WORD_IDLE : WORD_WAIT_CPU,
					  kind == RK_IDLE ? 0 : rk.cpu)
			      : word_make(WORD_UNCERTAIN, UNSURE_START));
	rk.off = kind != RK_IDLE;
	if (word_kind(plain->spans[plain->count - 1].word) == WORD_UNCERTAIN) {
		rk_pass(&rk);
		rk_write(&rk, word_make(WORD_WAIT_CPU, rk.cpu));
	}
	for (uint32_t i = 0; i < steps; i++) {
		rk_pass(&rk);
		if (kind == RK_WILD)
			rk_step_wild(&rk);
		else if (rk.off)
			rk_step_off(&rk);
		else
			rk_step_on(&rk);
	}
	rk_pass(&rk);
	if (rk_random(&rk, 2))
		rk_write(&rk, word_make(WORD_NONE, 0));
	rk.now += 100;
	plain->spans[plain->count - 1].end_ns = rk.now;
	return rk.now;
}

/* Waits are made as their states come, as the engine does it. */
static inline void rk_append(struct tl_thread *thread, const struct plain *plain, size_t i)
{
	uint32_t word = plain->spans[i].word;

	while (word_kind(word) == WORD_BLOCKED && thread->wait_count <= word_arg(word)) {
		uint32_t index = timeline_add_wait(thread);

		*tl_wait(thread, index) = plain->waits[index];
	}
	track_append(&thread->track, plain->spans[i].start_ns - RK_ORIGIN, word);
}

/*
 * The same as a timeline with one thread, slot 0: in memory, or in the store of 'writer'.
 * Free it.
 */
static inline struct timeline *timeline_of_track(const struct plain *plain, uint64_t end_ns,
						 struct index_writer *writer)
{
	struct timeline *tl = timeline_new(RK_ORIGIN);
	struct tl_thread *thread;
	struct err err = { 0 };

	if (writer)
		index_attach(writer, tl);
	(void)timeline_add_thread(tl, plain->idle ? 0 : 7);
	thread = tl->threads[0];
	thread->idle_cpu = plain->idle_cpu;
	thread->birth_ns = plain->spans[plain->lead].start_ns;
	thread->death_ns = plain->spans[plain->count - 1].start_ns;
	tl->end_ns = end_ns;
	for (size_t i = plain->lead; i < plain->count; i++)
		rk_append(thread, plain, i);
	if (writer && index_commit(writer, tl, &err) < 0)
		fprintf(stderr, "no index: %s\n", err.text), abort();
	return tl;
}

#endif
