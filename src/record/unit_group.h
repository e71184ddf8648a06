/*
 * unit_group.h - which processes a unit of systemd has, by its cgroup, until it has failed.
 *
 * systemd removes the cgroup as it tells of the failure. So it is read while the unit is being stopped, which systemd
 * tells, too: those that are there then do not end, or end late. What was read last is kept, unless nobody was there.
 */
#ifndef RECORD_UNIT_GROUP_H
#define RECORD_UNIT_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/unit_failures.h"

#define UNIT_GROUP_PIDS 16u
#define UNIT_GROUPS	32u

struct unit_group {
	int32_t pids[UNIT_GROUP_PIDS]; /* of those that were there */
	uint32_t count;
	uint32_t more; /* for which there was no room */
	uint64_t
		oom_kills; /* the kernel killed so many for want of memory, since the unit was started */
};

/* Those of units that are being stopped. Zeroed: none. */
struct unit_groups {
	struct {
		char name[UNIT_NAME_BYTES]; /* "" = none */
		struct unit_group group;
	} items[UNIT_GROUPS];
	size_t next; /* takes the place of this one, if there is no other */
};

/*
 * Read the cgroup 'path', as systemd names it ("/system.slice/nginx.service"), and those in it. 'roots': where hierarchies
 * are mounted, the first that has it counts; ends with NULL. False: there is none, or this is no path of one.
 */
bool unit_group_read(const char *const *roots, const char *path, struct unit_group *out_group);

void unit_groups_note(struct unit_groups *groups, const char *name, const struct unit_group *group);

/* What was noted of it, once; empty = nothing. */
struct unit_group unit_groups_take(struct unit_groups *groups, const char *name);

/* The process is none of the others. */
void unit_group_leave_out(struct unit_group *group, int32_t pid);

#endif
