/*
 * guests.h - connections, so that nobody keeps others waiting: who asks too slowly, takes an answer
 * too slowly, or is one too many, is shut.
 */
#ifndef VIEW_GUESTS_H
#define VIEW_GUESTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define GUESTS_MAX  128u /* connections at once */
#define GUESTS_FULL 96u	 /* from here on the oldest that asks nothing goes when one comes */
#define GUEST_ASK_NS \
	UINT64_C(10000000000) /* from the connection, or an answer, to a whole request */
#define GUEST_ANSWER_NS UINT64_C(60000000000) /* to take an answer */

struct guest {
	int fd;
	uint64_t since_ns; /* CLOCK_MONOTONIC: the begin of what it does now */
	bool is_asking;	   /* or it waits for an answer, or takes it */
	bool is_waiting;   /* for an answer that is being made: no limit is its own */
	struct guest *next;
};

/* Zeroed with a lock that is ready. All functions lock. */
struct guests {
	pthread_mutex_t lock;
	struct guest *first; /* newest first */
	uint32_t count;
};

struct guest *guests_add(struct guests *guests, int fd);
void guests_remove(struct guests *guests, struct guest *guest);
void guests_note(struct guests *guests, struct guest *guest, bool is_asking, bool is_waiting);
/* Shut those whose time is over. */
void guests_check(struct guests *guests);

#endif
