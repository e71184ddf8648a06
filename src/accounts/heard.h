/*
 * heard.h - what came out of listening for exits: for those who print or keep it.
 */
#ifndef ACCOUNTS_HEARD_H
#define ACCOUNTS_HEARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/account.h"
#include "accounts/listen.h"
#include "accounts/tree.h"

struct delays_heard {
	const char *command; /* what was run; NULL = everything was listened to */
	const char *cpus;    /* a part of the machine was listened to: "0-3"; NULL = all of it */
	uint64_t wall_ns;
	uint32_t cpu_count;
	struct delays_account account;
	const struct delays_groups *groups; /* a view */
	struct delays_group sum;
	uint64_t living; /* threads that ran on at the end; they are in the sums up to then */
	uint64_t exits;	 /* records, of all programs */
	const struct delays_loss *losses; /* a view */
	size_t loss_count;
	uint64_t lost;	  /* records: the sums are too small by these */
	uint64_t damaged; /* datagrams that made no sense */
};

#endif
