/*
 * flight_pair.h - two events of one thread that are too long apart, as a trigger.
 *
 * A BPF program (pair.bpf.c) at both events keeps when each thread passed the first one. So nothing
 * is told before a thread passes the second one, and the events cost some hundred ns each. After it has
 * told, it rests until it is armed again.
 */
#ifndef RECORD_FLIGHT_PAIR_H
#define RECORD_FLIGHT_PAIR_H

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

/* Ready for POLLIN when it has happened. */
int flight_pair_fd(const struct flight_pair *pair);

/* "thread 7 (name), 245 ms": who it was; to be freed. NULL: it has not happened. The name is anybody's text. */
char *flight_pair_take(struct flight_pair *pair);

/* Whose the one was that was taken last, and when it passed the two, CLOCK_MONOTONIC; 0 = none was. */
int32_t flight_pair_tid(const struct flight_pair *pair, uint64_t *out_first_ns,
			uint64_t *out_second_ns);

/* Wait for the next one; what began before does not count. NULL and an armed one are fine. */
void flight_pair_arm(struct flight_pair *pair);

/* NULL is fine. */
void flight_pair_close(struct flight_pair *pair);

#endif
