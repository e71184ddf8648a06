/*
 * stuck_fold.h - threads of a process that wait alike and for nobody who is there: for work, a time, input.
 */
#ifndef REPORT_STUCK_FOLD_H
#define REPORT_STUCK_FOLD_H

#include <stdbool.h>
#include <stddef.h>

struct stuck;
struct stuck_thread;

#define STUCK_FOLD_MIN 3 /* threads from which on they are one line */

/* Indices into stuck->threads, alike ones next to each other. */
struct stuck_fold {
	size_t *indices; /* owned */
	char **keys;	 /* owned; of each index; equal where they wait alike */
	size_t count;
};

/* Of all idle threads; those 'apart', by their index, come first, each alone. End it with stuck_fold_fini(). */
void stuck_fold_make(const struct stuck *stuck, const bool *apart, struct stuck_fold *out_fold);
void stuck_fold_fini(struct stuck_fold *fold);

/* How many from 'from' on wait alike: 1 when those are not to be one line. */
size_t stuck_fold_length(const struct stuck_fold *fold, size_t from);

/* What a wait is for, without addresses and variables of locks. Free it with free(). */
char *stuck_fold_object(const struct stuck_thread *thread);

/* Whether it waits for nobody that is there. */
bool stuck_is_idle(const struct stuck_thread *thread);

#endif
