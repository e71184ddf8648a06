/*
 * probe_group.h - the kernel's list of points in user programs (uprobe_events), which
 * all recorders share: our part of it.
 *
 * Points belong to a group named after the instance of their recorder, with '_' for
 * '-': holdup_PID_STARTTIME. So whose they are is known as it is for instances.
 */
#ifndef RECORD_PROBE_GROUP_H
#define RECORD_PROBE_GROUP_H

#include <stdbool.h>

struct err;

/* The group of an instance, to be freed. */
char *probe_group_name(const char *instance_path);

/*
 * Add a line to the list: "p:GROUP/EVENT PATH:OFFSET ARGS". Never empties the list of
 * others. Returns 0, or a negative errno with err filled; -ENOTSUP when this kernel has
 * no such list.
 */
int probe_group_add(int tracing_fd, const char *line, struct err *err);

/*
 * Remove all points of an instance that has been removed itself. What the kernel still
 * uses stays; so does what is not ours. Returns how many events were removed.
 */
int probe_group_remove(const char *instance_path);

/* Remove the points of recorders that are dead; after their instances. */
int probe_group_remove_stale(const char *tracing_dir);

/* "p:GROUP/EVENT ...": the group and the event, copied. Returns whether they were there and fit. */
#define PROBE_GROUP_NAME_MAX 64 /* of the kernel, with the terminator */
bool probe_group_parse(const char *line, char out_group[PROBE_GROUP_NAME_MAX],
		       char out_event[PROBE_GROUP_NAME_MAX]);

#endif
