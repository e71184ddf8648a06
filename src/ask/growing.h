/*
 * growing.h - the timeline of a recording while it is made, for who draws it.
 *
 * Each step opens the directory anew and reads on from where the last one ended, as follow.h does, for
 * a bounded time; what is too old by then is left out, and is a hole.
 */
#ifndef ASK_GROWING_H
#define ASK_GROWING_H

#include <stdint.h>

struct err;
struct facts;
struct growing;
struct others;
struct timeline;

struct growing *growing_new(const char *dir); /* 'dir' must outlive it */
void growing_free(struct growing *growing);   /* NULL is fine */

/* All before 'whole_ns' is in the directory. Returns 0, or negative with err filled. */
int growing_step(struct growing *growing, uint64_t whole_ns, struct err *err);

/* What may be asked until the next step; NULL before the first one. */
const struct timeline *growing_timeline(const struct growing *growing);
/* Locks of the kernel, disks, network devices, points in programs and what programs tell, of the last half minute at least. */
const struct others *growing_others(struct growing *growing);
const struct facts *growing_facts(const struct growing *growing);

#endif
