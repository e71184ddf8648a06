/* stack_rewrite.c - see stack_rewrite.h. */
#include "store/stack_rewrite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/stacks.h"
#include "store/stack_file.h"

/* ------------------------------------------------------------------ groups */

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* As the reader leaves a line that is damaged. */
static bool is_nothing(const struct stack_frame *frame)
{
	return !frame->function && !frame->module && !frame->path && !frame->build_id &&
	       !frame->offset;
}

static bool is_same_address(const struct stack_frame *a, const struct stack_frame *b)
{
	return !is_nothing(b) && a->offset == b->offset && a->is_kernel == b->is_kernel &&
	       a->is_script == b->is_script && is_same(a->path, b->path) &&
	       is_same(a->build_id, b->build_id);
}

/* How many frames the group is that begins here: where no function holds what was inlined, each is one. */
static uint32_t stack_group_count(const struct stacks *stacks, size_t first)
{
	const struct stack_frame *frames = stacks->frames;
	size_t at = first;

	while (frames[at].is_inlined && at + 1 < stacks->frame_count &&
	       is_same_address(&frames[at], &frames[at + 1]))
		at++;
	return frames[at].is_inlined ? 1 : (uint32_t)(at - first + 1);
}

/* Of a damaged line, or inlined into nothing. */
static bool is_no_address(const struct stack_frame *holder)
{
	return holder->is_inlined || is_nothing(holder);
}

/* Those of which this stack has a part. */
static void find_broken(const struct stacks *stacks, const struct stack *stack,
			struct stack_groups *groups)
{
	const uint32_t *ids = stacks->frame_ids + stack->first;

	for (uint32_t i = 0, whole; i < stack->count; i += whole) {
		struct stack_group *group = &groups->items[groups->of_frame[ids[i]]];

		for (whole = 0; whole < group->count && i + whole < stack->count &&
				ids[i + whole] == group->first + whole;)
			whole++;
		if (whole < group->count) {
			group->is_broken = true;
			whole = 1;
		}
	}
}

void stack_groups_find(const struct stacks *stacks, struct stack_groups *out_groups)
{
	struct stack_groups groups = {
		.items = xcalloc(stacks->frame_count + 1, sizeof(*groups.items)),
		.of_frame = xcalloc(stacks->frame_count + 1, sizeof(*groups.of_frame)),
	};

	for (size_t at = 0; at < stacks->frame_count;) {
		struct stack_group *group = &groups.items[groups.count];

		group->first = (uint32_t)at;
		group->count = stack_group_count(stacks, at);
		group->is_broken = is_no_address(&stacks->frames[at + group->count - 1]);
		for (uint32_t i = 0; i < group->count; i++)
			groups.of_frame[at + i] = (uint32_t)groups.count;
		at += group->count;
		groups.count++;
	}
	for (size_t i = 0; i < stacks->stack_count; i++)
		find_broken(stacks, &stacks->stacks[i], &groups);
	*out_groups = groups;
}

void stack_groups_fini(struct stack_groups *groups)
{
	free(groups->items);
	free(groups->of_frame);
	*groups = (struct stack_groups){ 0 };
}

/* ------------------------------------------------------------------ lines */

struct rewriter {
	const struct stack_rewriting *from;
	FILE *out;
	uint32_t *first;      /* owned; the new number of the first frame of each group */
	size_t frame, stack;  /* that come next in the old file */
	uint32_t frame_count; /* in the new one */
	uint64_t in_stacks;   /* frames of all its stacks */
};

static uint32_t renamed_count(const struct stack_rewriting *from, size_t group)
{
	return from->groups->items[group].is_broken ? 0 : from->renamed[group].count;
}

static void rewrite_frame(struct rewriter *to, const char *line, size_t bytes)
{
	const struct stack_rewriting *from = to->from;
	uint32_t frame = (uint32_t)to->frame++, number = from->groups->of_frame[frame];
	const struct stack_group *group = &from->groups->items[number];
	const struct stack_renamed *renamed = &from->renamed[number];
	struct stack_frame settled = from->stacks->frames[frame];
	uint32_t count = renamed_count(from, number);

	if (frame == group->first)
		to->first[number] = to->frame_count;
	if (!count) {
		to->frame_count++;
		if (!settled.is_unnamed || !renamed->is_settled) {
			fwrite(line, 1, bytes, to->out);
			return;
		}
		settled.is_unnamed = false;
		stack_file_frame(to->out, &settled);
		return;
	}
	if (frame != group->first)
		return; /* the new ones stand in the place of the first */
	for (uint32_t i = 0; i < count; i++)
		stack_file_frame(to->out, &from->names->frames[renamed->first + i]);
	to->frame_count += count;
}

/*
 * The frames that a stack has now. Where they would be more than a stack can have, functions that were inlined are
 * left out, from the outermost on: each function that was there stays.
 */
static size_t rewritten_frames(const struct rewriter *to, const struct stack *stack,
			       uint32_t out_frames[STACK_FILE_FRAMES_MAX])
{
	const struct stack_rewriting *from = to->from;
	const uint32_t *ids = from->stacks->frame_ids + stack->first;
	size_t put = 0;

	for (uint32_t i = 0; i < stack->count;) {
		uint32_t number = from->groups->of_frame[ids[i]];
		const struct stack_group *group = &from->groups->items[number];
		uint32_t count = renamed_count(from, number), first = to->first[number];

		if (!count) {
			out_frames[put++] = first + (ids[i++] - group->first);
			continue;
		}
		i += group->count;
		if (put + count + (stack->count - i) > STACK_FILE_FRAMES_MAX) {
			first += count - 1;
			count = 1;
		}
		while (count--)
			out_frames[put++] = first++;
	}
	return put;
}

static void rewrite_stack(struct rewriter *to, const char *line, size_t bytes)
{
	const struct stack *stack = &to->from->stacks->stacks[to->stack++];
	uint32_t frames[STACK_FILE_FRAMES_MAX];
	const char *tab = memchr(line, '\t', bytes);
	size_t count;

	if (stack->count) {
		count = rewritten_frames(to, stack, frames);
		to->in_stacks += count;
		stack_file_stack(to->out, frames, count, stack->end);
	} else if (tab && memchr(tab + 1, '\t', bytes - (size_t)(tab + 1 - line))) {
		/* Damaged: with other numbers it could become a stack that it was not. */
		fputs("S\n", to->out);
	} else {
		fwrite(line, 1, bytes, to->out);
	}
}

static void rewrite_lines(struct rewriter *to, const char *text)
{
	for (const char *line = text, *next; *line; line = next) {
		const char *end = strchrnul(line, '\n');
		char kind = line == text ? 0 : stack_file_numbered(line, (size_t)(end - line));

		next = *end ? end + 1 : end;
		if (line == text)
			stack_file_begin(to->out);
		else if (kind == 'F')
			rewrite_frame(to, line, (size_t)(next - line));
		else if (kind == 'S')
			rewrite_stack(to, line, (size_t)(next - line));
		else
			fwrite(line, 1, (size_t)(next - line), to->out);
	}
}

int stack_rewrite(const char *text, const struct stack_rewriting *rewriting, FILE *out,
		  struct err *err)
{
	struct rewriter to = { .from = rewriting, .out = out };
	off_t bytes;

	to.first = xcalloc(rewriting->groups->count + 1, sizeof(*to.first));
	rewrite_lines(&to, text);
	free(to.first);
	if (fflush(out) != 0 || ferror(out))
		return err_set(err, errno ? -errno : -EIO, "kernel/stacks: %s",
			       strerror(errno ? errno : EIO));
	bytes = ftello(out);
	if (to.frame_count > STACK_FILE_ITEMS_MAX || to.in_stacks > STACK_FILE_ITEMS_MAX * 4ul ||
	    (bytes > 0 && (size_t)bytes > STACK_FILE_BYTES_MAX))
		return err_set(err, -E2BIG,
			       "kernel/stacks: with these names it would be too large");
	return 0;
}
