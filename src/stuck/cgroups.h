/*
 * cgroups.h - what the cgroup of a process keeps it from: running at all, more than its quota of CPU time, or of I/O.
 */
#ifndef STUCK_CGROUPS_H
#define STUCK_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>

struct look;
struct process;

/* Whether its cgroup, or one above, is frozen. False also when that is not known. */
bool cgroup_is_frozen(struct look *look, struct process *process);

/*
 * The quota of its cgroup, or of the nearest above, that was used up before: "CPU quota of cgroup /a, used up in 3 of
 * 5 periods". False = there is none, or it is not known.
 */
bool cgroup_quota(struct look *look, struct process *process, char *text, size_t bytes);

enum cgroup_io {
	CGROUP_READS,
	CGROUP_WRITES,
	CGROUP_FLUSHES, /* it waits for what the kernel writes that was written before: fsync() */
};

/*
 * The limit of its cgroup, or of the nearest above that counts, on reading from, or writing to, the disk "254:0":
 * "I/O limit of cgroup /a (io.max rbps=4096)". False = there is none, or it is not known.
 * 'disk' NULL: is there any, of whatever disk? Then there is no text.
 */
bool cgroup_io_limit(struct look *look, struct process *process, const char *disk,
		     enum cgroup_io io, char *text, size_t bytes);

#endif
