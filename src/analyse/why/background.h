/*
 * background.h - of a process: threads that wait amid what they do, and those that wait for something to do.
 *
 * A stack tells, without any name: who waits deep in its own code was at something. Who waits at a condition, for a signal or at
 * descriptors of its own process, in the outermost code of its thread, has that for its loop: as inferred, it
 * waits for work, or for its next turn.
 */
#ifndef ANALYSE_WHY_BACKGROUND_H
#define ANALYSE_WHY_BACKGROUND_H

#include <stdbool.h>
#include <stddef.h>

struct stacks;
struct why;

/* Did the thread wait in vain, or sleep, deep in its own code, for most of its window? */
bool why_is_amid_work(const struct why *part, const struct stacks *stacks);

/*
 * The answers of the threads of one process, each 'of_process': what those of them that seem to wait for work waited in vain, or until their
 * own time-outs, becomes idle, with that reason; in roots and sums. Whom another one of them waits for does not.
 */
void why_mark_background(struct why *parts, size_t count, const struct stacks *stacks);

#endif
