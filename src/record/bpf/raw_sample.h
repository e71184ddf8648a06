/*
 * raw_sample.h - what sample.bpf.c shares with user space through its own data. Its records are those of raw_stack.h.
 */
#ifndef RECORD_BPF_RAW_SAMPLE_H
#define RECORD_BPF_RAW_SAMPLE_H

#include <linux/types.h>

#define RAW_SAMPLE_PROCESSES 16384

struct raw_sample_control {
	__u64 second;	   /* that 'used' is of */
	__u64 used;	   /* bytes of stacks */
	__u64 budget;	   /* of these, in a second */
	__u64 lost;	   /* samples that found no room */
	__u64 over;	   /* that the budget dropped */
	__u32 stack_bytes; /* of the user's stack, at most */
	__u32 takes_all;   /* all threads of the machine are meant */
	__u32 ended;	   /* nothing is told any more */
	__u32 recorder_tgid;
	__u32 wake_bytes;
	__u32 zero;
};

#endif
