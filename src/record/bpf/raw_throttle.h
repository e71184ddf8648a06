/*
 * raw_throttle.h - what the BPF program tells user space about limits that hold threads back.
 *
 * Raw fields only, as in raw.h. A record is cut behind the used part of 'text'.
 */
#ifndef RECORD_BPF_RAW_THROTTLE_H
#define RECORD_BPF_RAW_THROTTLE_H

#include <linux/types.h>

#define RAW_LEVEL_MAX  16  /* cgroups above each other that are looked at */
#define RAW_LEVEL_TEXT 256 /* a name of one with its terminator */
#define RAW_PATH_MAX   2048

enum raw_throttle_kind {
	RAW_THROTTLE_BEGIN,   /* a thread left its CPU, for its cgroup has used up its quota */
	RAW_THROTTLE_END,     /* it is back, or could have been for a while */
	RAW_THROTTLE_IO,      /* a request is issued that was held back */
	RAW_THROTTLE_QUEUE,   /* a device has a queue of such a kind; text: device, kind */
	RAW_THROTTLE_RECLAIM, /* a thread begins to free memory for its cgroup */
	RAW_THROTTLE_HIGH,    /* the same, for that is over its memory.high */
	RAW_THROTTLE_DIRTY,   /* a writer is about to pause; text: device, then the cgroup */
	RAW_THROTTLE_KILLED,  /* a signal ended the process; see enum raw_killed */
	RAW_THROTTLE_REAL_TIME, /* a thread left its CPU, for its real-time CPU time is used up; see enum raw_real_time */
	RAW_THROTTLE_IDLE, /* the thread is of SCHED_IDLE from now on; limit: 1 = of another policy */
	RAW_THROTTLE_ALLOWED, /* which CPUs the thread may use is another set now */
	RAW_THROTTLE_FREEZES, /* the thread freezes a cgroup of version 2 */
	RAW_THROTTLE_THAWS,   /* and thaws it */
	RAW_THROTTLE_SET, /* the thread is a real-time one from now on; limit: runtime, period, of SCHED_DEADLINE */
};

/* KILLED, in 'sector': why the signal came. Its number is in 'dev'. */
enum raw_killed {
	RAW_KILLED_SENT,   /* another process sent it; limit: its thread; text: the name of that */
	RAW_KILLED_OTHER,  /* the kernel, or the process itself */
	RAW_KILLED_SOFT,   /* the soft limit of CPU time, of 'limit' seconds: soft, hard */
	RAW_KILLED_HARD,   /* the hard one */
	RAW_KILLED_MEMORY, /* no memory was left; limit: pages, another process that asked for some or 0; text: the cgroup that has that limit, if one has */
};

/* REAL_TIME, in 'sector': by which limit. In 'limit': runtime and period, ns; 0 = not known. */
enum raw_real_time {
	RAW_REAL_TIME_DEADLINE, /* its own one */
	RAW_REAL_TIME_GROUP,	/* that of a cgroup */
	RAW_REAL_TIME_MACHINE,	/* that of all real-time threads of a CPU */
	RAW_REAL_TIME_SERVER,	/* what other threads have on each CPU in any case */
	RAW_REAL_TIME_OTHER,	/* not known: no limit that is looked at is reached */
};

#define RAW_FIRST_KIND 1 /* a cgroup of version 1 */
#define RAW_ABOVE      2 /* cgroups above this one have such limits, too */
#define RAW_SWAP       4 /* the limit is that of memory and swap together */

#define RAW_DEVICE_TEXT 64 /* DIRTY: the first part of 'text' */

struct raw_throttle {
	__u64 mono_ns; /* END: when it could have run again, as the scheduler counts */
	__u64 limit
		[2]; /* CPU: quota and period, ns; I/O: bytes and requests a second; UINT64_MAX = none; queue: bytes a second, ns of delay; 0 = not known; RECLAIM, HIGH: pages; KILLED: see there */
	__u64 sector; /* I/O */
	__u32 dev;
	__u32 tid;
	__u32 tgid;
	__u8 kind;    /* enum raw_throttle_kind */
	__u8 flags;   /* RAW_FIRST_KIND ... */
	__u8 write;   /* I/O */
	__u8 classes; /* queue: so many, each with limits of its own; 0 = it has none, or not known */
	__u32 text_bytes;
	char text[RAW_PATH_MAX +
		  RAW_LEVEL_TEXT]; /* the cgroup's name and those above, each terminated */
};

/* Shared with user space through the program's own data. */
struct raw_throttle_control {
	__u32 ended;
	__u32 wake_bytes;
	__s32 held; /* threads that are held back now */
	__u32 zero;
	__u64 lost;	/* records that found no room */
	__u64 dispatch; /* the kernel's function that issues what was held back; 0 = not known */
};

#endif
