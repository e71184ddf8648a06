/* fuzz_stack_file.c - kernel/stacks: whatever is in it, what was read can be asked. */
#include <assert.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/stacks.h"
#include "fuzz_dir.h"
#include "store/stack_file.h"

static void ask_futexes(const struct stacks *stacks)
{
	for (size_t i = 0; i < stacks->futex_count; i++) {
		const struct stack_futex *futex = &stacks->futexes[i];
		AUTO_FREE char *text = stack_futex_text(stacks, futex, "futex");

		assert(text[0]);
		futex = stacks_find_futex(stacks, futex->tgid, futex->address, futex->from_ns);
		assert(!futex || futex->stack < stacks->stack_count);
	}
}

static void ask(const struct stacks *stacks)
{
	for (uint32_t i = 0; i < stacks->stack_count; i++) {
		const struct stack *stack = &stacks->stacks[i];

		assert(stack->place == FRAME_NONE || stack->place < stack->count);
		assert(stack->caller == FRAME_NONE || stack->caller < stack->count);
		assert(stack->alike <= i);
		for (uint32_t k = 0; k < stack->count; k++)
			assert(stacks_frame(stacks, i, k) < stacks->frames + stacks->frame_count);
	}
	for (size_t i = 0; i < stacks->wait_count; i++) {
		const struct stack_wait *wait = &stacks->waits[i];
		uint32_t found = stacks_find(stacks, wait->tid, wait->begin_ns, wait->end_ns);

		assert(wait->stack < stacks->stack_count);
		assert(found == STACK_NONE || found < stacks->stack_count);
	}
	ask_futexes(stacks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	AUTO_FREE char *path = xasprintf("%s/stacks", fuzz_dir_path());
	struct stacks stacks = { 0 };
	struct err err = { 0 };
	size_t bad;

	fuzz_file("stacks", data, bytes);
	if (stack_file_read(path, &stacks, &bad, &err) < 0)
		assert(err.text[0]);
	else
		stacks_finish(&stacks);
	ask(&stacks);
	stacks_fini(&stacks);
	return 0;
}
