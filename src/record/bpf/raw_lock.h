/*
 * raw_lock.h - what the BPF program tells user space about a kernel lock that was waited for.
 *
 * Raw fields only, as in raw.h. A record is cut behind the used part of 'text'.
 */
#ifndef RECORD_BPF_RAW_LOCK_H
#define RECORD_BPF_RAW_LOCK_H

#include <linux/types.h>

#define RAW_LOCK_STEPS	64   /* path components walked at most */
#define RAW_LOCK_NAME	256  /* one component with its terminator */
#define RAW_LOCK_TEXT	2048 /* all components */
#define RAW_LOCK_FRAMES 16
#define RAW_LOCK_LABEL	32

/* Whose lock it is: proven by what lies around it, never by where it was met alone. */
enum raw_lock_class {
	RAW_LOCK_UNKNOWN,    /* text: its symbol, "rtnl_mutex+0x0/0x20", or its address */
	RAW_LOCK_MMAP,	     /* label: command; pid */
	RAW_LOCK_INODE,	     /* from here on: text, a path in its file system */
	RAW_LOCK_INVALIDATE, /* of the page cache, against truncation */
	RAW_LOCK_RMAP,	     /* i_mmap_rwsem: who has the file mapped */
	RAW_LOCK_POSITION,
	RAW_LOCK_BLOCKS, /* ext4: where the data is */
	RAW_LOCK_XATTR,	 /* ext4 */
	RAW_LOCK_XFS,
	RAW_LOCK_SEQ,	 /* reading a file that the kernel makes up */
	RAW_LOCK_KERNFS, /* of one open file of sysfs or cgroupfs */
	RAW_LOCK_PIPE,
	RAW_LOCK_UMOUNT, /* from here on: label, a file system, and 'fs' its type */
	RAW_LOCK_RENAME,
	RAW_LOCK_FREEZE,
	RAW_LOCK_JOURNAL,
	RAW_LOCK_CHECKPOINT,
	RAW_LOCK_DISK_OPEN, /* label: a disk */
	RAW_LOCK_EXEC,	    /* label: command; pid */
	RAW_LOCK_CRED,
	RAW_LOCK_THREADS, /* against moves between cgroups */
	RAW_LOCK_ANON,
	RAW_LOCK_EPOLL,
	RAW_LOCK_URING,
	RAW_LOCK_UNIX_READ,
	RAW_LOCK_UNIX_BIND,
	RAW_LOCK_KERNFS_TREE,
	RAW_LOCK_SEM_TABLE,
	RAW_LOCK_MSG_TABLE,
	RAW_LOCK_SHM_TABLE,
	RAW_LOCK_TTY_WRITE, /* label: a terminal */
	RAW_LOCK_TTY,
	RAW_LOCK_DEVICE, /* label: a device */
	RAW_LOCK_CLASS_COUNT
};

#define RAW_LOCK_DELETED 1 /* the file has no name any more */
#define RAW_LOCK_CUT	 2 /* the path is longer than what fits */
#define RAW_LOCK_FOLDER	 4

struct raw_lock {
	__u64 begin_ns;
	__u64 lock;
	__u64 inode; /* of the pipe or file */
	__u64 frames[RAW_LOCK_FRAMES];
	__u32 tid;
	__u32 tgid;
	__u32 owner; /* tid; 0 = the lock does not tell */
	__s32 pid;
	__u32 dev;   /* dev_t of the file system; 0 = none */
	__u32 flags; /* RAW_LOCK_DELETED ... */
	__u32 frame_bytes;
	__u32 text_bytes;
	__u32 class; /* enum raw_lock_class */
	char label[RAW_LOCK_LABEL];
	char fs[16];
	char text[RAW_LOCK_TEXT + RAW_LOCK_NAME];
};

/* Shared with user space through the program's own data. */
struct raw_lock_control {
	__u32 recorder_tgid; /* its own waits are not told */
	__u32 wake_bytes;    /* wake the reader when so much waits */
	__u32 ended;	     /* nothing is recorded any more */
	__u32 is_first;	     /* who waits already is looked for */
	__u32 is_last;	     /* all waits are told of, however short they are yet */
	__u64 begun_ns;	     /* what is told is of waits from then on; 0 = not yet */
	__u64 lost;	     /* records that found no room */
};

#endif
