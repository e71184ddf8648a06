/*
 * account.h - does the kernel count delays at all, and since when?
 *
 * A task gets room for its delays when it is born, if kernel.task_delayacct is on then. So
 * turning it on later does nothing for tasks that live already: of them the kernel counts
 * the time without a CPU only, for ever. Nothing in the kernel tells when it was turned on; the
 * oldest task that has counted anything bounds it.
 */
#ifndef ACCOUNTS_ACCOUNT_H
#define ACCOUNTS_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

struct delays_socket;
struct err;

enum delays_account_state {
	DELAYS_ACCOUNT_NONE, /* the kernel was built without */
	DELAYS_ACCOUNT_OFF,
	DELAYS_ACCOUNT_ON,
};

struct delays_account {
	enum delays_account_state state;
	bool since_boot;   /* by the kernel's command line, or a kernel before 5.14 */
	bool has_since;	   /* some task has counted something */
	uint64_t since_ns; /* it was on at this time, or before; ns since boot (CLOCK_BOOTTIME) */
};

/* Look at the switch and the kernel's command line; has_since only with since_boot. */
void delays_account_read(struct delays_account *out_account);

/* Look at all processes for the oldest that has counted anything. */
int delays_account_find_since(struct delays_account *account, struct delays_socket *socket,
			      struct err *err);

/*
 * Turn kernel.task_delayacct on or off. Returns 0, or a negative errno with err filled: -EACCES
 * or -EPERM without the right, -ENOENT where there is no such switch.
 */
int delays_account_turn(bool on, struct err *err);

#endif
