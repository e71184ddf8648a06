/*
 * flight_user.h - the buffers of programs that log with libholdup, in snapshots of the flight recorder.
 *
 *	flight_user_start(&user)             before rights are given up
 *	flight_user_begin(&user, fd, part)   the rings are being switched off: it is copied from now on
 *	...                                  the rings are copied and on again
 *	flight_user_end(&user, &copied)      all is there
 *
 * The helper knows programs that keep their last events before they end (known.h), so that a snapshot has those of one that has just
 * crashed. Files of programs belong to their users, who may mean ill: names are looked up with the users' rights, which the
 * recorder gives up. So a helper process keeps these, and nothing else of ours. For each snapshot it makes a child, which
 * copies, and is ended when it takes too long.
 */
#ifndef RECORD_FLIGHT_USER_H
#define RECORD_FLIGHT_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/flights.h"

struct flight_user {
	pid_t pid; /* 0 = there is no helper */
	int fd;	   /* to it */
	bool is_asked;
};

#define FLIGHT_USER_NONE ((struct flight_user){ .fd = -1 })

struct flight_user_copied {
	struct user_flights flights;
	pid_t worker;	/* who copied; 0 = nobody */
	bool is_cut;	/* it took too long: some are not there */
	bool is_failed; /* it could not begin, or the helper is gone */
};

/* Best effort; without a helper, what follows does nothing and says so. */
void flight_user_start(struct flight_user *user);

/* Copy into the open folder. Returns at once. */
void flight_user_begin(struct flight_user *user, int folder_fd, const struct user_part *part);

/* Wait for it, not long. */
void flight_user_end(struct flight_user *user, struct flight_user_copied *out_copied);

void flight_user_stop(struct flight_user *user);

#endif
