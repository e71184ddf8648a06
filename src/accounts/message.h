/*
 * message.h - what came out of a taskstats socket, message by message.
 *
 *	struct delays_message_at at = { bytes, count };
 *	struct delays_message message;
 *
 *	while ((rc = delays_message_next(&at, family, &message, err)) > 0)
 *		...
 *
 * Nothing in the bytes is trusted.
 */
#ifndef ACCOUNTS_MESSAGE_H
#define ACCOUNTS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/stats.h"

struct err;

struct delays_message_at {
	const uint8_t *bytes;
	size_t left;
};

struct delays_message {
	uint32_t sequence;
	int error; /* negative errno of a request that failed; 0 = there are records, or an ack */
	bool has_thread;
	bool has_process;	     /* of an exit: this was the last of several threads */
	int32_t tid;		     /* with has_thread */
	int32_t tgid;		     /* with has_process */
	struct delays_stats thread;  /* with has_thread; else not set */
	struct delays_stats process; /* with has_process: delays, run time and switches only */
};

/*
 * The next message of 'family'; others are left out. Returns 1 with *out_message filled, 0 at
 * the end, -EBADMSG with err filled when the bytes are damaged: then 'at' is at the end.
 */
int delays_message_next(struct delays_message_at *at, uint16_t family,
			struct delays_message *out_message, struct err *err);

/*
 * Write a request for task 'id' (a process when 'is_process') to 'out', which has room for
 * DELAYS_REQUEST_BYTES. Returns its length.
 */
#define DELAYS_REQUEST_BYTES 28
size_t delays_request_write(uint8_t *out, uint16_t family, uint32_t sequence, int32_t id,
			    bool is_process);

#endif
