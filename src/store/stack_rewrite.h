/*
 * stack_rewrite.h - frames of kernel/stacks get names later: their lines are replaced, and all others stay as they are.
 *
 * An address of code is a frame, or a group of them: functions that were inlined there, the innermost one first, and
 * the function that holds them. What is learned of an address replaces its whole group, so that the numbers of the
 * frames behind it change, and stacks with them. Stacks keep their numbers. Damaged lines stay what they are.
 */
#ifndef STORE_STACK_REWRITE_H
#define STORE_STACK_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct stacks;

struct stack_group {
	uint32_t first, count; /* frames of the stacks */
	bool is_broken; /* a stack has only a part of it, or it is no function's: it cannot be replaced */
};

struct stack_groups {
	struct stack_group *items; /* owned; in order of their frames, each of which is in one */
	size_t count;
	uint32_t *of_frame; /* owned; the group of each frame */
};

void stack_groups_find(const struct stacks *stacks, struct stack_groups *out_groups);
void stack_groups_fini(struct stack_groups *groups);

/* What becomes of a group. */
struct stack_renamed {
	uint32_t first, count; /* frames of 'names' that take its place; 0 = it stays */
	bool is_settled; /* it stays, and its names are no longer left to later: its file has none */
};

struct stack_rewriting {
	const struct stacks
		*stacks; /* as stack_file_parse() made them; not finished, which sorts */
	const struct stack_groups *groups;
	const struct stacks *names;
	const struct stack_renamed *renamed; /* of each group; one that is broken stays */
};

/*
 * Write the file again; 'text' is what the stacks were parsed from. Returns 0; -E2BIG when it would be more than a
 * reader takes; or what writing reports, with err filled.
 */
int stack_rewrite(const char *text, const struct stack_rewriting *rewriting, FILE *out,
		  struct err *err);

#endif
