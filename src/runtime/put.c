/*
 * put.c - write an event, in two ways.
 *
 * Restartable sequence: thread, CPU and packet belong together until the last store, which
 * publishes (trace_x86.h, trace_arm.h). Nothing is ever half-written.
 *
 * Compare-and-swap, as K42 did it: a thread reserves its bytes, with a time read anew at each
 * try so that times in a packet never go back, writes, and counts what it has written. When all
 * that is reserved is written, everything so far is published at once. A thread that dies in
 * between leaves the packet with reserved != committed: what follows in that one packet is
 * not published.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/probe_int.h"
#include "runtime/registry.h"

#define EVENT_MOST  32768 /* bytes of payload */
#define GATHER_MOST 512	  /* shorter ones are put together first */
#define TRIES	    64

__thread int32_t holdup_tid_ __attribute__((tls_model("initial-exec")));

/* Where the C library has put the thread's struct rseq (glibc 2.35 and later). */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static bool has_barrier;

/* Stands for struct rseq where there is none: on CPU -1, whose entry is always empty. */
static __thread __attribute__((unused)) struct {
	uint32_t cpu_id_start;
	int32_t cpu_id;
	uint64_t rseq_cs;
} no_rseq __attribute__((tls_model("initial-exec"), aligned(32))) = { .cpu_id = -1 };

static size_t length_of(const struct holdup_piece_ *piece)
{
	return piece->bytes & ~HOLDUP_PIECE_TEXT_;
}

static size_t total_of(const struct holdup_piece_ *pieces, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		if (length_of(&pieces[i]) > EVENT_MOST)
			return EVENT_MOST + 1;
		bytes += length_of(&pieces[i]);
	}
	return bytes;
}

/* ------------------------------------------------------ restartable sequences */

#ifndef HOLDUP_NO_RSEQ_
static uint32_t rseq_cpu(void)
{
	const uint8_t *thread = __builtin_thread_pointer();

	return __atomic_load_n(
		(const uint32_t *)(const void *)(thread + holdup_state_.rseq_offset + 4),
		__ATOMIC_RELAXED);
}

static void clear_rseq_cs(void)
{
	uint8_t *thread = __builtin_thread_pointer();

	__atomic_store_n((uint64_t *)(void *)(thread + holdup_state_.rseq_offset + 8), 0,
			 __ATOMIC_RELAXED);
}
#endif

/* ---------------------------------------------------------- compare and swap */

static void publish(struct user_packet *packet, uint64_t bytes)
{
	uint64_t now = __atomic_load_n(&packet->content_bits, __ATOMIC_RELAXED);

	/* release: pairs with whoever reads content_bits, in this process or another */
	while (now < bytes * 8 &&
	       !__atomic_compare_exchange_n(&packet->content_bits, &now, bytes * 8, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* Reserve. 0 when there is no room. */
static uint64_t reserve(struct user_packet *packet, size_t bytes, uint64_t *out_from,
			uint64_t *out_time)
{
	uint64_t from = __atomic_load_n(&packet->reserved, __ATOMIC_RELAXED), to;
	uint64_t begin = __atomic_load_n(&packet->begin, __ATOMIC_RELAXED);

	do {
		if (from & USER_CLOSED)
			return 0;
		to = from + USER_EVENT_HEAD + bytes;
		if (to * 8 > HOLDUP_LIMIT_)
			return 0;
		*out_time = probe_clock_now(probe.is_counter);
		if ((*out_time ^ begin) >> 48)
			return 0;
	} while (!__atomic_compare_exchange_n(&packet->reserved, &from, to, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	*out_from = from;
	return to;
}

/* In text, what another thread has made 0 meanwhile becomes '?'. */
static void scrub(uint8_t *at, size_t left)
{
	uint8_t *zero;

	while (left && (zero = memchr(at, 0, left))) {
		*zero = '?';
		left -= (size_t)(zero - at);
		at = zero;
	}
}

/* A signal handler of a test may stop a thread between any two of these lines. */
static bool cas_write(struct user_packet *packet, uint32_t id, const struct holdup_piece_ *pieces,
		      size_t count, size_t bytes)
{
	uint64_t from, time, done, to = reserve(packet, bytes, &from, &time);
	uint64_t head = time << 16 | id;
	uint8_t *at;

	if (!to)
		return false;
	at = (uint8_t *)packet + from;
	memcpy(at, &head, sizeof(head));
	memcpy(at + 8, &holdup_tid_, 4);
	at += USER_EVENT_HEAD;
	for (size_t i = 0; i < count; i++) {
		size_t length = length_of(&pieces[i]);

		if (length)
			memcpy(at, pieces[i].data, length);
		if (length != pieces[i].bytes)
			scrub(at, length);
		at += length;
	}
	/* acquire: the bytes of those who came before are written, too, when the sums agree */
	done = __atomic_add_fetch(&packet->committed, to - from, __ATOMIC_ACQ_REL);
	if (done == (__atomic_load_n(&packet->reserved, __ATOMIC_ACQUIRE) & ~USER_CLOSED))
		publish(packet, done);
	return true;
}

static bool cas_put(uint32_t cpu, uint64_t word, uint32_t id, const struct holdup_piece_ *pieces,
		    size_t count, size_t bytes)
{
	struct holdup_cpu_ *entry = &probe.cpus[cpu];
	struct session *now = __atomic_load_n(&probe.session, __ATOMIC_ACQUIRE);
	struct user_packet *packet;
	bool written = false;
	uint32_t phase;

	if (!now || now->number != word >> HOLDUP_TURN_ || !now->good)
		return false;
	phase = room_enter(&now->rooms[cpu]);
	if (__atomic_load_n(&entry->session, __ATOMIC_SEQ_CST) == word &&
	    !__atomic_load_n(&now->closed, __ATOMIC_SEQ_CST)) {
		packet = (struct user_packet *)(void *)__atomic_load_n(&entry->packet,
								       __ATOMIC_SEQ_CST);
		written = cas_write(packet, id, pieces, count, bytes);
	}
	room_leave(&now->rooms[cpu], phase);
	return written;
}

static bool cas_switch(uint32_t cpu, struct user_packet *old, struct user_packet *next)
{
	struct holdup_cpu_ *entry = &probe.cpus[cpu];
	uint64_t begin = __atomic_load_n(&next->begin, __ATOMIC_RELAXED);
	uint8_t *expected = (uint8_t *)old;

	if (old) /* nobody reserves any more: later times are in the next one */
		__atomic_fetch_or(&old->reserved, USER_CLOSED, __ATOMIC_ACQ_REL);
	if (begin >= USER_NOT_BEGUN)
		(void)__atomic_compare_exchange_n(&next->begin, &begin,
						  probe_clock_now(probe.is_counter), false,
						  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return __atomic_compare_exchange_n(&entry->packet, &expected, (uint8_t *)next, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* --------------------------------------------------------------------- both */

bool put_switch(uint32_t cpu, struct user_packet *old, struct user_packet *next)
{
#ifndef HOLDUP_NO_RSEQ_
	if (probe.has_rseq)
		return holdup_switch_(cpu, (uint8_t *)old, (uint8_t *)next);
#endif
	return cas_switch(cpu, old, next);
}

uint32_t put_cpu(void)
{
	int cpu;

#ifndef HOLDUP_NO_RSEQ_
	if (probe.has_rseq)
		return rseq_cpu();
#endif
	cpu = sched_getcpu();
	return cpu < 0 ? 0 : (uint32_t)cpu; /* any CPU's place will do, but for speed */
}

static bool has_changed(uint64_t word)
{
	return __atomic_load_n(&holdup_state_.control.session, __ATOMIC_ACQUIRE) != word;
}

/* It is too long, or the CPU was never long enough the thread's. */
static void lose(void)
{
	uint64_t word = __atomic_load_n(&holdup_state_.control.session, __ATOMIC_ACQUIRE);

	room_lose(session_now(word >> HOLDUP_TURN_), put_cpu());
}

/* Write it on the CPU that the thread is on now, if its packet has room. */
static bool try_put(uint32_t cpu, uint64_t word, uint32_t id, const struct holdup_piece_ *pieces,
		    size_t count, size_t bytes)
{
#ifndef HOLDUP_NO_RSEQ_
	if (probe.has_rseq)
		return holdup_put_bulk_(id, pieces, count, bytes);
#endif
	return cas_put(cpu, word, id, pieces, count, bytes);
}

static void pieces_put(uint32_t id, const struct holdup_piece_ *pieces, size_t count, size_t bytes)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t word = __atomic_load_n(&holdup_state_.control.session, __ATOMIC_ACQUIRE);
		struct session *session;
		uint32_t cpu;

		if (probe_look_at_news(word) && !registry_allows(&holdup_state_.control, id))
			return;
		session = session_now(word >> HOLDUP_TURN_);
		cpu = put_cpu();
		if (!session && has_changed(word))
			continue; /* the thread is late: there is a new trace */
		if (!session)
			return;
		if (cpu >= probe.cpu_count || !session->good) {
			room_lose(session, cpu);
			return;
		}
		if (try_put(cpu, word, id, pieces, count, bytes))
			return;
		if (!room_make(session, word, cpu, bytes)) {
			room_lose(session, cpu);
			return;
		}
	}
	lose();
}

static bool has_zero(uint64_t word)
{
	return (word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080);
}

/* Up to 7 bytes. Returns whether there is a 0 among them. */
static bool copy_few(char *to, const char *from, size_t length)
{
	bool zero = false;

	for (size_t i = 0; i < length; i++) {
		char c = __atomic_load_n(from + i, __ATOMIC_RELAXED);

		to[i] = c;
		zero |= !c;
	}
	return zero;
}

/*
 * Copy a text that others may change meanwhile. What was copied nobody changes, so that decides
 * how long it is; to read it back at once is slow, so the words are looked at on their way.
 */
static size_t copy_text(char *to, const char *from, size_t length)
{
	bool zero = false;
	uint64_t word;
	size_t i = 0;

	if (length < sizeof(word)) {
		zero = copy_few(to, from, length);
	} else {
		for (; i + sizeof(word) < length; i += sizeof(word)) {
			memcpy(&word, from + i, sizeof(word));
			__asm__("" : "+r"(word)); /* it is read once */
			memcpy(to + i, &word, sizeof(word));
			zero |= has_zero(word);
		}
		/* The last one overlaps the one before, and may find another text there. */
		memcpy(&word, from + length - sizeof(word), sizeof(word));
		__asm__("" : "+r"(word));
		memcpy(to + length - sizeof(word), &word, sizeof(word));
		zero |= has_zero(word);
	}
	return zero ? strnlen(to, length) : length;
}

static size_t gather(char *to, const struct holdup_piece_ *pieces, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		size_t length = length_of(&pieces[i]);

		if (length != pieces[i].bytes)
			length = copy_text(to + bytes, pieces[i].data, length);
		else if (length)
			memcpy(to + bytes, pieces[i].data, length);
		bytes += length;
	}
	return bytes;
}

void holdup_put_pieces_(uint32_t id, const struct holdup_piece_ *pieces, size_t count)
{
	uint64_t gathered[GATHER_MOST / 8];
	size_t bytes = total_of(pieces, count);
	int error = errno;

	if (bytes > EVENT_MOST) {
		lose();
		errno = error;
		return;
	}
	if (bytes <= sizeof(gathered)) {
		holdup_put_slow_(id, gathered, gather((char *)gathered, pieces, count));
	} else {
		if (probe_after_fork() || !holdup_tid_)
			holdup_tid_ = (int32_t)syscall(SYS_gettid);
		pieces_put(id, pieces, count, bytes);
	}
	errno = error;
}

void holdup_put_slow_(uint32_t id, const void *payload, size_t bytes)
{
	const struct holdup_piece_ piece = { payload, bytes };
	int error = errno;

#ifndef HOLDUP_NO_RSEQ_
	if (holdup_tid_ && holdup_put_long_(id, payload, bytes))
		return;
#endif
	if (probe_after_fork() || !holdup_tid_)
		holdup_tid_ = (int32_t)syscall(SYS_gettid);
	pieces_put(id, &piece, 1, bytes);
	errno = error;
}

void put_wait_for_others(void)
{
	const struct timespec while_all_run = { .tv_nsec = 20000000 };

	if (!probe.has_rseq)
		return;
#ifndef HOLDUP_NO_RSEQ_
	clear_rseq_cs();
#endif
	if (has_barrier &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0)
		return;
	(void)nanosleep(&while_all_run, NULL); /* longer than any thread runs without a tick */
}

void put_init(void)
{
#ifndef HOLDUP_NO_RSEQ_
	if (probe.has_rseq && (!&__rseq_size || !__rseq_size))
		probe.has_rseq = false;
	holdup_state_.rseq_offset = (uint8_t *)&no_rseq - (uint8_t *)__builtin_thread_pointer();
	if (!probe.has_rseq)
		return;
	holdup_state_.rseq_offset = __rseq_offset;
	if ((int32_t)rseq_cpu() < 0)
		probe.has_rseq = false;
	has_barrier =
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0;
#else
	probe.has_rseq = false;
#endif
}
