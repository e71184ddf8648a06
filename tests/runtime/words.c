/*
 * words.c - the restartable sequences alone, byte by byte, on a CPU that is ours.
 *
 * Stands for the library: the thread's struct rseq is one of our own, which no kernel looks at. So
 * this runs where no kernel could restart anything, as under qemu-user; that they restart is what
 * brute.py is for. Prints TAP.
 */
#include <holdup/trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/user.h"

HOLDUP_EVENT(w, none)
HOLDUP_EVENT(w, one, (u8, a))
HOLDUP_EVENT(w, two, (u64, a), (u16, b))
HOLDUP_EVENT(w, three, (u64, a), (u64, b), (u32, c))
HOLDUP_EVENT(w, four, (u64, a), (u64, b), (u64, c), (u64, d))

#define CPU	3
#define SESSION UINT64_C(0x70001)
#define TID	4711

struct holdup_state_ holdup_state_;
__thread int32_t holdup_tid_ __attribute__((tls_model("initial-exec"))) = TID;

static __thread struct {
	uint32_t cpu_id_start, cpu_id;
	uint64_t rseq_cs;
	uint64_t more[2];
} own_rseq __attribute__((aligned(32)));

static struct holdup_cpu_ entries[16], *cpus = entries + 8;
static uint8_t memory[2][USER_PACKET] __attribute__((aligned(64)));
static unsigned slow, tests, failed;

void holdup_put_slow_(uint32_t id, const void *payload, size_t bytes)
{
	(void)id;
	(void)payload;
	(void)bytes;
	slow++;
}

void holdup_put_pieces_(uint32_t id, const struct holdup_piece_ *pieces, size_t count)
{
	(void)id;
	(void)pieces;
	(void)count;
}

uint32_t holdup_news_(const struct holdup_event_ *event)
{
	return event->id;
}

void holdup_register_(struct holdup_event_ *const *from, struct holdup_event_ *const *to)
{
	for (uint32_t number = 1; from < to; from++, number++)
		(*from)->id = (*from)->number = number << 6;
	holdup_state_.control.mask = 1;
}

void holdup_unregister_(struct holdup_event_ *const *from, struct holdup_event_ *const *to)
{
	(void)from;
	(void)to;
}

static void ok(bool good, const char *what)
{
	printf("%s %u - %s\n", good ? "ok" : "not ok", ++tests, what);
	failed += !good;
}

#ifndef HOLDUP_NO_RSEQ_
static struct user_packet *packet(int which)
{
	return (struct user_packet *)(void *)memory[which];
}

static void begin(void)
{
	memset(memory, 0xee, sizeof(memory));
	packet(0)->content_bits = packet(1)->content_bits = USER_HEAD * 8;
	packet(1)->begin = USER_NOT_BEGUN;
	own_rseq.cpu_id_start = own_rseq.cpu_id = CPU;
	cpus[CPU] =
		(struct holdup_cpu_){ .session = SESSION, .packet = memory[0], .last = UINT64_MAX };
	holdup_state_.cpus = cpus;
	holdup_state_.rseq_offset = (char *)&own_rseq - (char *)__builtin_thread_pointer();
	holdup_state_.control.session = SESSION;
	slow = 0;
}

/* The one event that is there, and nothing else. */
static bool is_there(uint32_t id, const void *payload, size_t bytes)
{
	const uint8_t *at = memory[0] + USER_HEAD;
	int32_t tid;
	uint16_t number;

	memcpy(&number, at, 2);
	memcpy(&tid, at + 8, 4);
	return slow == 0 && packet(0)->content_bits == (USER_HEAD + USER_EVENT_HEAD + bytes) * 8 &&
	       number == id && tid == TID && memcmp(at + USER_EVENT_HEAD, payload, bytes) == 0;
}

static bool is_nowhere(void)
{
	return packet(0)->content_bits == USER_HEAD * 8;
}

static void words(void)
{
	const uint64_t four[] = { UINT64_C(0x1122334455667788), 2, UINT64_MAX - 3, 4 };
	const uint8_t one = 0xa5;
	static const uint8_t tail[] = { 0x78, 0x56, 0x34, 0x12 };
	uint8_t bytes[20];

	begin();
	holdup_w_none();
	ok(is_there(holdup_event_w_none_.id, "", 0), "an event without fields");
	begin();
	holdup_w_one(one);
	ok(is_there(holdup_event_w_one_.id, &one, 1), "a byte");
	begin();
	memcpy(bytes, four, 8);
	memcpy(bytes + 8, tail, 2);
	holdup_w_two(four[0], 0x5678);
	ok(is_there(holdup_event_w_two_.id, bytes, 10), "ten bytes");
	begin();
	memcpy(bytes, four, 16);
	memcpy(bytes + 16, tail, 4);
	holdup_w_three(four[0], four[1], 0x12345678);
	ok(is_there(holdup_event_w_three_.id, bytes, 20), "twenty bytes");
	begin();
	holdup_w_four(four[0], four[1], four[2], four[3]);
	ok(is_there(holdup_event_w_four_.id, four, 32), "four words");
}

static void long_ones(void)
{
	static uint64_t payload[100];
	const struct holdup_piece_ pieces[] = {
		{ payload, 11 }, { "te\0t", 4 | HOLDUP_PIECE_TEXT_ }, { "", 0 }, { "", 1 }
	};
	uint8_t expected[16];

	for (size_t i = 0; i < 100; i++)
		payload[i] = i * UINT64_C(0x0102030405060708) + 1;
	begin();
	ok(holdup_put_long_(77, payload, 797) && is_there(77, payload, 797), "a long payload");
	begin();
	ok(holdup_put_long_(77, payload, 0) && is_there(77, payload, 0), "none");
	begin();
	memcpy(expected, payload, 11);
	memcpy(expected + 11, "te?t", 5);
	ok(holdup_put_bulk_(78, pieces, 4, 16) && is_there(78, expected, 16),
	   "pieces, and no 0 in text");
}

static void refused(void)
{
	begin();
	holdup_state_.control.session++;
	holdup_w_four(1, 2, 3, 4);
	ok(slow == 1 && is_nowhere(), "nothing is written for another session");
	begin();
	cpus[CPU].last = 1;
	holdup_w_one(1);
	ok(slow == 1 && is_nowhere(), "nor after the packet's time");
	begin();
	packet(0)->content_bits = HOLDUP_LIMIT_ - 8 * (USER_EVENT_HEAD + 8) + 8;
	holdup_w_two(1, 2);
	ok(slow == 1, "nor without room");
	begin();
	own_rseq.cpu_id = (uint32_t)-1;
	holdup_w_one(1);
	ok(slow == 1 && is_nowhere(), "nor on no CPU");
}

static void switches(void)
{
	begin();
	ok(!holdup_switch_(CPU + 1, memory[0], memory[1]) && cpus[CPU].packet == memory[0],
	   "no packet is changed from another CPU");
	ok(!holdup_switch_(CPU, memory[1], memory[0]) && cpus[CPU].packet == memory[0],
	   "nor when it is another one");
	ok(holdup_switch_(CPU, memory[0], memory[1]) && cpus[CPU].packet == memory[1] &&
		   packet(1)->begin < USER_NOT_BEGUN,
	   "else it is, and has begun");
}

int main(void)
{
	words();
	long_ones();
	refused();
	switches();
	printf("1..%u\n", tests);
	return failed != 0;
}
#else
int main(void)
{
	ok(true, "there are no sequences here # SKIP");
	printf("1..%u\n", tests);
	return failed != 0;
}
#endif
