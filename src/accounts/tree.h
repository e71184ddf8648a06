/*
 * tree.h - exits added up: of everything, or of the tree below one process.
 *
 * As the kernel does for CPU time of waited-for children, but with all of the account: what a
 * process had in its account, and what its children left to it, goes to its parent when it
 * exits. So memory is needed for what lives, not for what has ended, and at the end the
 * account of the root's parent holds the tree. When that parent is a child subreaper
 * (prctl(2)), whoever loses its parent comes to it, daemons that forked twice included. What is missed: work that
 * others do on request (systemd-run, docker, cron), since it is nobody's child.
 *
 * Exits arrive from several CPUs, so a child may come after its parent that ended just then:
 * its account then goes where the parent's went.
 */
#ifndef ACCOUNTS_TREE_H
#define ACCOUNTS_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "accounts/message.h"

struct delays_tree;

/* Accounts of one command name. */
struct delays_group {
	char name[DELAYS_NAME_BYTES];
	uint64_t processes;	   /* that ended */
	uint64_t threads;	   /* that ended */
	uint64_t impossible;	   /* accounts with a class that cannot be: left out of the sum */
	struct delays_stats stats; /* life_us: the sum of the lives of the threads */
};

struct delays_groups {
	struct delays_group *groups; /* owned */
	size_t count;
	size_t cap;
};

/* 'root': add up for this process; 0 = everything, whoever its parent was. */
struct delays_tree *delays_tree_new(int32_t root);
void delays_tree_free(struct delays_tree *tree); /* NULL is fine */

/* The exit of a thread, at 'time_ns'; times do not go back. */
void delays_tree_feed(struct delays_tree *tree, const struct delays_message *exit,
		      uint64_t time_ns);

/* A process 'tgid' that lives: what its children left to it so far goes to the root. */
void delays_tree_add_living(struct delays_tree *tree, int32_t tgid);

/* What the root holds. A view, valid until the next call. By name, in order of their first exit. */
const struct delays_groups *delays_tree_groups(struct delays_tree *tree);

/* For an account of a task that lives, or whatever else belongs to the root. */
void delays_tree_add(struct delays_tree *tree, const struct delays_stats *stats);

/* The sum of all groups. */
void delays_groups_sum(const struct delays_groups *groups, struct delays_group *out_sum);

#endif
