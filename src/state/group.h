/*
 * group.h - those who could end a wait, where they are several. Of the room.
 */
#ifndef STATE_GROUP_H
#define STATE_GROUP_H

#include "state/ends.h"

/* The slots of a group, while they are gathered. */
struct group {
	uint32_t slots[GROUP_MAX];
	uint32_t count; /* there are so many; the first GROUP_MAX are above */
};

void group_add(struct group *group, uint32_t slot);

/* As the name of a wait's origin, see WAIT_GROUP; 0 where there are less than two, or more than are kept. */
uint32_t group_name(struct state *state, const struct group *group, const char *what);

/*
 * The same of all of them; where it is not known which thread of one that would be, all of its threads, but for those
 * of children.
 */
uint32_t group_of_others(struct state *state, const struct thread *thread,
			 const struct others *others, const char *what);

/* Beside what was waited for it is told who has, or does, what could end that: once. */
void group_tell(struct state *state, struct wait *wait, const struct others *others,
		const char *what);

#endif
