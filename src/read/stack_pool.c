/* stack_pool.c - see stack_pool.h. */
#include "read/stack_pool.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "event/stacks.h"

static uint64_t text_hash(const char *text, uint64_t seed)
{
	return text ? hash_bytes(text, strlen(text), seed) : seed;
}

uint32_t stack_pool_frame(struct stack_pool *pool, const struct stack_frame *frame)
{
	uint64_t hash = text_hash(frame->path ? frame->path : "",
				  frame->offset ^ (uint64_t)frame->is_kernel << 63);
	bool is_new;
	uint64_t *number;

	hash = text_hash(frame->build_id, hash);
	if (!frame->offset)
		hash = text_hash(frame->function, text_hash(frame->module, hash));
	number = map_add(&pool->frames, hash, &is_new);
	if (is_new) {
		*number = pool->to->frame_count;
		stacks_add_frame(pool->to, frame);
	}
	return (uint32_t)*number;
}

uint32_t stack_pool_stack(struct stack_pool *pool, const uint32_t *frames, size_t count,
			  const char *end)
{
	uint64_t hash = hash_bytes(frames, count * sizeof(frames[0]), text_hash(end, 0));
	bool is_new;
	uint64_t *number = map_add(&pool->stacks, hash, &is_new);

	if (is_new) {
		*number = pool->to->stack_count;
		(void)stacks_add_stack(pool->to, frames, count, end);
	}
	return (uint32_t)*number;
}

void stack_pool_fini(struct stack_pool *pool)
{
	map_fini(&pool->frames);
	map_fini(&pool->stacks);
}
