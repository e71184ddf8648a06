/*
 * code.h - the time of threads by the code it went to: what pprof and folded --code share.
 *
 * Work is that of holdup hot, waits those of holdup hot --waits, to the ns; where no stack is known
 * the part says so. Work, waits and the rest of a thread add up to its life.
 */
#ifndef EXPORT_CODE_H
#define EXPORT_CODE_H

#include <stdint.h>

struct err;
struct export_job;

/* Kinds of time. */
#define CODE_WORK  (1u << 0)
#define CODE_WAITS (1u << 1)
#define CODE_REST  (1u << 2) /* without a CPU, interrupted, uncertain: no stack is of it */

struct code_part {
	uint32_t kind; /* CODE_... */
	uint32_t slot;
	uint32_t stack; /* of the facts' stacks; STACK_NONE = not known, or there is none */
	uint64_t ns;
	uint64_t count;	   /* samples, or waits with a stack */
	const char *state; /* "user", "kernel", "working", "blocked", "interrupted", "uncertain" */
	const char
		*cause; /* "read: /src/a.c", "preempted"; "" = of work; lives until the next part */
};

typedef void code_fn(void *context, const struct code_part *part);

/*
 * Give all of these kinds to 'each', in the order of threads for each kind. Of work and of waits
 * what the trace does not have is left out; -ENODATA with err filled when it has none of them.
 */
int code_run(const struct export_job *job, uint32_t kinds, code_fn *each, void *context,
	     struct err *err);

/* "inflate_fast", "libz.so.1+0x1234", "[kernel]": a frame in one word; to be freed. */
struct stack_frame;
char *code_frame_text(const struct stack_frame *frame);

#endif
