/*
 * fuzz_stack_file.c - kernel/stacks: whatever is in it, what was read can be asked, and with other names of frames it says
 * the same as before.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/stacks.h"
#include "fuzz_dir.h"
#include "store/stack_file.h"
#include "store/stack_rewrite.h"

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

/* Every other group becomes 'count' frames. */
static void name_some(const struct stack_groups *groups, uint32_t count, struct stacks *names,
		      struct stack_renamed *renamed)
{
	for (size_t i = 0; i < groups->count; i++) {
		renamed[i].is_settled = i % 3 == 0;
		if (i % 2)
			continue;
		renamed[i].first = (uint32_t)names->frame_count;
		renamed[i].count = count;
		for (uint32_t k = 0; k < count; k++)
			stacks_add_frame(names,
					 &(struct stack_frame){ .function = "f\tg",
								.is_inlined = k + 1 < count });
	}
}

/* Each stack begins and ends in the groups that it did. */
static void compare(const struct stacks *old, const struct stacks *new,
		    const struct stack_rewriting *by)
{
	assert(new->stack_count == old->stack_count &&new->wait_count == old->wait_count);
	assert(new->sample_count == old->sample_count &&new->futex_count == old->futex_count);
	for (size_t i = 0; i < old->stack_count; i++) {
		const struct stack *was = &old->stacks[i], *is = &new->stacks[i];
		uint32_t group;

		assert((was->count > 0) == (is->count > 0));
		if (!was->count)
			continue;
		group = by->groups->of_frame[old->frame_ids[was->first + was->count - 1]];
		if (by->groups->items[group].is_broken || !by->renamed[group].count)
			assert(stacks_frame(new, (uint32_t)i, is->count - 1)->offset ==
			       stacks_frame(old, (uint32_t)i, was->count - 1)->offset);
		else
			assert(!stacks_frame(new, (uint32_t)i, is->count - 1)->is_inlined);
	}
}

static void rewrite(const char *text, uint32_t count)
{
	AUTO_FREE char *copy = xstrdup(text), *written = NULL;
	struct stack_renamed *renamed;
	struct stacks old = { 0 }, new = { 0 }, names = { 0 };
	struct stack_groups groups = { 0 };
	struct err err = { 0 };
	size_t bad, bad_after, bytes;
	FILE *out;

	if (stack_file_parse(copy, &old, &bad) == 0 && bad < STACK_FILE_BAD_MAX) {
		stack_groups_find(&old, &groups);
		renamed = xcalloc(groups.count + 1, sizeof(*renamed));
		name_some(&groups, count, &names, renamed);
		out = open_memstream(&written, &bytes);
		assert(stack_rewrite(text,
				     &(struct stack_rewriting){ &old, &groups, &names, renamed },
				     out, &err) == 0);
		fclose(out);
		assert(stack_file_parse(written, &new, &bad_after) == 0 && bad_after == bad);
		compare(&old, &new, &(struct stack_rewriting){ &old, &groups, &names, renamed });
		free(renamed);
	}
	stack_groups_fini(&groups);
	stacks_fini(&old);
	stacks_fini(&new);
	stacks_fini(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	AUTO_FREE char *path = xasprintf("%s/stacks", fuzz_dir_path());
	AUTO_FREE char *text = NULL;
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
	text = xmalloc(bytes + 1);
	if (bytes)
		memcpy(text, data, bytes);
	text[bytes] = '\0';
	for (uint32_t count = 1; count < 4; count++)
		rewrite(text, count);
	return 0;
}
