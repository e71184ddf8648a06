/*
 * graph.h - of who could end whose wait: who can go on, who waits in a circle, what chains end in.
 *
 * A thread can go on when it runs, when a time limit or somebody from outside can end its wait, when not
 * all who could are known, or when one of those who could can go on; where all of them must end it together, when
 * all can. All others are stuck for good: the circles among them are the deadlocks, the rest are their victims.
 */
#ifndef STUCK_GRAPH_H
#define STUCK_GRAPH_H

#include "stuck/stuck.h"

/* Fill in the cycles, the convoys and the roots of all threads. */
void graph_run(struct stuck *stuck);

/* Take that back. */
void graph_undo(struct stuck *stuck);

#endif
