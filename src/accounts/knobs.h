/*
 * knobs.h - what is set for a process that decides how long it waits: nice value, I/O priority,
 * affinity, and the weights and limits of its cgroups, with how often those held tasks back.
 *
 * Both kinds of cgroups are read. A limit of a cgroup above binds as well, so the whole path is
 * looked at, and the one that bound most often is kept.
 */
#ifndef ACCOUNTS_KNOBS_H
#define ACCOUNTS_KNOBS_H

#include <stdbool.h>
#include <stdint.h>

enum delays_knob {
	DELAYS_KNOB_CPU_MAX,
	DELAYS_KNOB_CPU_WEIGHT,
	DELAYS_KNOB_IO_MAX,
	DELAYS_KNOB_IO_WEIGHT,
	DELAYS_KNOB_MEMORY_HIGH,
	DELAYS_KNOB_MEMORY_MAX,
	DELAYS_KNOBS,
};

/* A file of a cgroup that holds its tasks back. */
struct delays_setting {
	bool binds;	  /* a limit that was hit, or a weight below the default */
	char *folder;	  /* owned; the cgroup; NULL unless it binds */
	const char *file; /* "cpu.max" */
	char value[64];	  /* its first line */
	uint64_t hits;	  /* periods throttled, events; 0 of a weight */
	uint64_t held_ns; /* throttled, of all CPUs and tasks together */
};

struct delays_knobs {
	bool is_kernel; /* a thread of the kernel: nothing here is for users to set */
	bool has_nice;
	int32_t nice;
	uint32_t policy;       /* SCHED_OTHER ...; with has_nice */
	uint32_t cpus_allowed; /* of the main thread; 0 = not known */
	uint32_t cpus_online;  /* 0 = not known */
	bool has_io_priority;
	uint32_t io_class; /* 0 none, 1 real time, 2 best effort, 3 idle */
	uint32_t io_level; /* 0 is the first, 7 the last */
	struct delays_setting settings[DELAYS_KNOBS];
};

/*
 * Read what can be read of process 'tgid'; what cannot is not known. 'root' stands before /proc and
 * /sys: "" but in tests. End it with delays_knobs_fini().
 */
void delays_knobs_read(const char *root, int32_t tgid, struct delays_knobs *out_knobs);

void delays_knobs_fini(struct delays_knobs *knobs);

#endif
