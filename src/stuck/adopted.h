/*
 * adopted.h - whether a child that is not waited for could end a wait of a deadlock.
 *
 * The signal that a child has ended may end any call, where it has a handler. And a wait for any child could be ended
 * by one that is no child yet.
 *
 * A process whose parent ends gets another one: number 1 of its PID namespace, or one above it that asked for that
 * by prctl(PR_SET_CHILD_SUBREAPER), which nothing tells. So whoever is below a child may begin a process, and end.
 */
#ifndef STUCK_ADOPTED_H
#define STUCK_ADOPTED_H

#include <stdbool.h>

struct look;
struct stuck;

/*
 * Of those that graph_run() found stuck, mark as not complete who waits for any child while somebody below its
 * children is not stuck, and who handles SIGCHLD while a child is not stuck. Returns whether there is one: then the
 * graph is to be worked out again.
 */
bool adopted_find(struct stuck *stuck, struct look *look);

#endif
