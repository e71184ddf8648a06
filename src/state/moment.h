/*
 * moment.h - all that the engine knows at a moment, as lines of text, and back.
 *
 * A recording that begins in the middle of another one (a cut) has it beside its state dump, so
 * that its first moments are as certain as they were: the call each thread is in, what it waits
 * for and since when, who runs where, which requests, packets and work are under way.
 *
 *	KIND KEY=VALUE KEY=VALUE ...
 *
 * KIND is thread, cpu, pending, setter, lock or all, and of its end: end, other, ran, hole. What has no key is 0, or nobody. Names have %XX for
 * bytes that are no plain letters. Threads have a number ("id") that other lines know them by. A
 * word is its kind and its argument: "syscall.0", "irq.24%20virtio0". Keys that a reader does not
 * know are ignored.
 */
#ifndef STATE_MOMENT_H
#define STATE_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

struct facts;
struct state;
struct timeline;

/*
 * Append to the list facts->moments. 'is_detailed' says whether the details of a process's thread
 * will follow (NULL: of all): if not, who is on a CPU and what interrupts is all that is told.
 */
struct moment_filter {
	bool (*is_detailed)(void *context, int tid, int tgid);
	void *context;
};

void moment_save(const struct state *state, const struct moment_filter *filter, struct facts *out);

/*
 * What 'tl' of the whole recording knows of that moment: where each thread came onto a CPU last,
 * and those from number 'first' on that were there before 'from_ns', though no event had told of
 * them: what each was in since then, its next event tells.
 */
void moment_save_late(const struct timeline *tl, uint32_t first, uint64_t from_ns,
		      struct facts *out);

/*
 * The same for the end: 'tl' is of a recording that goes on behind 'end_ns', and tells how the waits
 * of then ended. A filter as above; out->target_tid is told of in any
 * case.
 */
void moment_save_end(const struct timeline *tl, uint64_t end_ns, const struct moment_filter *filter,
		     struct facts *out);

/* The start: state_new() has loaded the threads of the dump, nothing else was fed. */
void moment_load(struct state *state);

/* The end: all events were fed, nothing was closed. */
void moment_end(struct state *state);

#endif
