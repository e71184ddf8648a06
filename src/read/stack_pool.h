/*
 * stack_pool.h - frames and stacks of others' recordings, each once.
 */
#ifndef READ_STACK_POOL_H
#define READ_STACK_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct stack_frame;
struct stacks;

struct stack_pool {
	struct stacks *to; /* not owned */
	struct map frames; /* hash of a place: number of the frame */
	struct map stacks; /* hash of frames: number of the stack */
};

/* The number of the frame; the same for the same place in the same file, or for the same function without one. */
uint32_t stack_pool_frame(struct stack_pool *pool, const struct stack_frame *frame);

/* The number of the stack of these frames. */
uint32_t stack_pool_stack(struct stack_pool *pool, const uint32_t *frames, size_t count,
			  const char *end);

void stack_pool_fini(struct stack_pool *pool); /* zeroed is fine */

#endif
