/*
 * hot_tree.h - the same time as a tree: who called whom, from the outermost function down, or from where
 * it was spent up to who called that.
 */
#ifndef ANALYSE_PROFILE_HOT_TREE_H
#define ANALYSE_PROFILE_HOT_TREE_H

#include <stdint.h>

#include "analyse/profile/hot.h"

struct hot_tree;
struct stacks;

/* By function, line or module. */
struct hot_tree *hot_tree_new(const struct stacks *stacks, enum hot_by by, enum hot_tree_kind kind);

/* 'ns' and 'count' of a stack that is spent in its frame 'self'. */
void hot_tree_add(struct hot_tree *tree, uint32_t stack, uint32_t self, uint64_t ns,
		  uint64_t count);

/* Time of which there is no stack. */
void hot_tree_unseen(struct hot_tree *tree, uint64_t ns);

/* Move it into the result, each node before those below it, the most time first; frees the rest. */
void hot_tree_end(struct hot_tree *tree, struct hot *hot);

#endif
