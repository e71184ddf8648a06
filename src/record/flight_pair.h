/*
 * flight_pair.h - two events of one thread that are too long apart, as a trigger.
 *
 *	second comes too late    a BPF program (pair.bpf.c) at both events keeps when each thread passed the first one, and tells
 *	does not come            those that are too late are looked for; a look is due when the next one may be. Half of the limit more
 *	                         is waited, 0.5 s at most: a second one that comes by then says what held the thread up
 *	thread ends between      too late, it is told as the first ones are; before, it is forgotten: it was in time until then
 *
 * Each thread between two events fires once. After the program has told it rests until it is armed again; who is between the
 * events is kept all the time. The events cost some hundred ns each.
 */
#ifndef RECORD_FLIGHT_PAIR_H
#define RECORD_FLIGHT_PAIR_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct flight_pair;

/*
 * 'first', 'second': "system/event", or a point in a program: "usdt:PROGRAM:PROVIDER:NAME", "probe:PROGRAM:FUNCTION".
 * Call it before threads are started. It is armed. Returns 0 and *out_pair, to be freed with
 * flight_pair_close(), or a negative errno with err filled: -ENOENT there is no such event, -ENOTSUP it was
 * built without BPF programs.
 */
int flight_pair_open(const char *first, const char *second, uint64_t limit_ns,
		     struct flight_pair **out_pair, struct err *err);

/* Ready for POLLIN when a second event came too late, or a thread ended. */
int flight_pair_fd(const struct flight_pair *pair);

/*
 * "thread 7 (name), 245 ms": who it was; to be freed. NULL: it has not happened, or was told by flight_pair_look(). The name
 * is anybody's text.
 */
char *flight_pair_take(struct flight_pair *pair);

/*
 * Look for threads whose second event has not come and is late. Returns the first of those that were not told yet, as above
 * with "and not over"; *out_count: how many these are. NULL: none. It is not due before flight_pair_next_ns().
 */
char *flight_pair_look(struct flight_pair *pair, uint64_t *out_count);

/* CLOCK_MONOTONIC; UINT64_MAX = never. NULL is fine. */
uint64_t flight_pair_next_ns(const struct flight_pair *pair);

/*
 * Whose the one was that was taken or looked up last, and when it passed the two, CLOCK_MONOTONIC; 0 = none was, or the second
 * one has not come.
 */
int32_t flight_pair_tid(const struct flight_pair *pair, uint64_t *out_first_ns,
			uint64_t *out_second_ns);

/* Second events tell again, or not for now. NULL is fine. */
void flight_pair_arm(struct flight_pair *pair, bool is_armed);

/* NULL is fine. */
void flight_pair_close(struct flight_pair *pair);

#endif
