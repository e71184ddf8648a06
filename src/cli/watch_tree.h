/*
 * watch_tree.h - which processes are of the recorded tree, by the kernel's word alone.
 *
 * An event that a program wrote itself names its thread in the program's own words, so nothing
 * may be done to that thread for it. The kernel's events of new threads tell who made whom; a
 * process is of the tree when it is the command, or one of --pid, or was made by one that is,
 * and when it began at the moment that the kernel recorded: so it is not another one that has
 * got its number since.
 *
 *	watch_tree_new     before recording: the processes of --pid are there
 *	watch_tree_feed    each event, in order
 *	watch_tree_open    a process of the tree, held by a descriptor
 */
#ifndef CLI_WATCH_TREE_H
#define CLI_WATCH_TREE_H

#include <stddef.h>
#include <stdint.h>

struct event;
struct watch_tree;

enum watch_tree_kind {
	WATCH_COMMAND, /* the command, named by watch_tree_root(), and whom it makes */
	WATCH_PIDS,    /* these processes, and whom they make */
	WATCH_ALL,     /* whoever the kernel's events are of: no program's own words are recorded */
};

struct watch_tree *watch_tree_new(enum watch_tree_kind kind, const int32_t *pids, size_t count);
void watch_tree_free(struct watch_tree *tree); /* NULL is fine */

/* The command, whose fork is in the recording; 0 = not known yet. */
void watch_tree_root(struct watch_tree *tree, int32_t pid);

/* Events of the kernel count; others are passed over. */
void watch_tree_feed(struct watch_tree *tree, const struct event *event);

/* A thread of the tree, and its process. */
struct watch_proven {
	int pid_fd; /* of the process; -1 = not proven */
	int32_t pid;
	const char
		*why_not; /* "process 12 is not of the recorded tree" without the number; static */
};

/* Is 'tid' of the tree, and was it there at 'time_ns'? Close pid_fd. */
void watch_tree_open(const struct watch_tree *tree, int32_t tid, uint64_t time_ns,
		     struct watch_proven *out_proven);

#endif
