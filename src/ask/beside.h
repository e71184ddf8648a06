/*
 * beside.h - what a trace has beside the timeline: what programs told of their locks and at known
 * points, and spans of reclaim and compaction.
 *
 *	beside_read         once: all events are read again where a program told anything
 *	beside_read_memory  only where a question is about memory
 *
 * What cannot be read is left out, and the note says so: the kernel's events answer alone then.
 * Used by one thread at a time.
 */
#ifndef ASK_BESIDE_H
#define ASK_BESIDE_H

#include <stdint.h>

#include "analyse/accounts/memory_spans.h"
#include "ask/app_events.h"

struct err;
struct facts;
struct loaded;
struct lock_owners;

/* Zeroed is empty. It stays where it is while it is asked: spans view the table in it. */
struct beside {
	struct lock_owners *locks;  /* owned; NULL = no program told of its locks */
	struct app_events told;	    /* owned; at known points */
	struct memory_spans memory; /* owned; empty until they are asked for */
	char *note; /* owned; a sentence on what was left out, and why; NULL = nothing */
};

/* Of the trace at 'path', which 'facts' are of and must outlive it. */
void beside_read(const char *path, const struct facts *facts, struct beside *out_beside);

/*
 * The spans of 'classes', bits of enum delays_class. The source of the trace stands somewhere
 * afterwards. Returns 0, -ENODATA with err filled when these were not recorded, or another negative
 * errno.
 */
int beside_read_memory(const char *path, const struct loaded *loaded, uint32_t classes,
		       struct beside *beside, struct err *err);

void beside_fini(struct beside *beside);

#endif
