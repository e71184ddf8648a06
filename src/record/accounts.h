/*
 * accounts.h - keep the kernel's own accounts of tasks beside the events: kernel/accounts.
 *
 *	begin   what every thread has on its account, and from then on every exit
 *	look    pressure, once a second; less often when the recording takes long
 *	last    what every thread that lives has on it; while events are still recorded
 *	end     the exits that are left; the file is whole
 *
 * Taskstats over netlink, schedstat and pressure. What cannot be had goes to manifest->missing
 * with the reason, and the recording goes on. A thread of its own writes the exits; when nothing
 * exits it sleeps.
 */
#ifndef RECORD_ACCOUNTS_H
#define RECORD_ACCOUNTS_H

#include <stdint.h>

struct accounts;
struct manifest;

/* Make the file in 'kernel_fd' and begin. NULL when nothing can be kept: 'manifest' says why. */
struct accounts *accounts_begin(int kernel_fd, struct manifest *manifest);

/* All four: NULL is fine. */
void accounts_look(struct accounts *accounts);
void accounts_last(struct accounts *accounts);
void accounts_end(struct accounts *accounts, struct manifest *manifest);
void accounts_free(struct accounts *accounts); /* ends it first if need be */

#endif
