/*
 * raw_pair.h - what the BPF program tells user space of two events of a thread that were too long apart.
 */
#ifndef RECORD_BPF_RAW_PAIR_H
#define RECORD_BPF_RAW_PAIR_H

#include <linux/types.h>

#define RAW_PAIR_COMM 16

struct raw_pair {
	__u64 at_ns; /* of the second one, or of its end, CLOCK_MONOTONIC */
	__u64 apart_ns;
	__u32 tid, tgid;
	__u32 has_ended, pad; /* the thread, and the second one has not come */
	char comm[RAW_PAIR_COMM];
};

/* A thread that is between the two; the key is its number. */
struct raw_pair_first {
	__u64 at_ns;	/* CLOCK_MONOTONIC */
	__u64 start_ns; /* of the thread */
	__u32 tgid, pad;
};

/* Shared with user space, which writes the first two. */
struct raw_pair_control {
	__u64 limit_ns;
	__u32 is_armed; /* else nothing is told; the program sets it to 0 as it tells */
	__u32 pad;
};

#endif
