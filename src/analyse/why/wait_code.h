/*
 * wait_code.h - in which code a single wait was, and what who ended it was doing meanwhile.
 */
#ifndef ANALYSE_WHY_WAIT_CODE_H
#define ANALYSE_WHY_WAIT_CODE_H

struct stacks;
struct why_codes;
struct why_wait;

/* The place of the wait, for all of its time; none where its stack is not known. 'stacks' may be NULL. */
void wait_code(const struct stacks *stacks, const struct why_wait *wait,
	       struct why_codes *out_codes);

/* The samples of the thread that ended it, from its beginning to its end: most first, as many as are kept. */
void wait_waker_code(const struct stacks *stacks, const struct why_wait *wait,
		     struct why_codes *out_codes);

#endif
