/* asked.h - the processes that a look is asked about. */
#ifndef STUCK_ASKED_H
#define STUCK_ASKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct stuck_select;

struct asked {
	int32_t *tgids; /* owned; ascending */
	size_t count;
	size_t cap;
};

/* Returns 0, or a negative errno with err filled: -ESRCH = nobody is there. */
int asked_find(struct asked *targets, int proc_fd, const struct stuck_select *select,
	       struct err *err);

bool asked_has(const struct asked *targets, int32_t tgid);

void asked_fini(struct asked *targets);

#endif
