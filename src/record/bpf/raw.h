/*
 * raw.h - what the BPF program tells user space about a new descriptor.
 *
 * Raw fields only: text is made in user space, by the same code that names the
 * descriptors of the state dump. A record is cut behind the used part of 'text'.
 */
#ifndef RECORD_BPF_RAW_H
#define RECORD_BPF_RAW_H

#include <linux/types.h>

#define RAW_STEP_MAX  96   /* path components and mounts walked at most */
#define RAW_NAME_MAX  256  /* one component with its terminator */
#define RAW_TEXT_MAX  4096 /* all components */
#define RAW_ARGS_MAX  256  /* of arguments */
#define RAW_UNIX_SLOT 128  /* room for sun_path, a power of two */

#define RAW_NR_MAX 512 /* system call numbers looked at */

/* How the descriptor came about: what each system call of interest does with it. */
enum raw_call {
	RAW_CALL_NONE, /* nothing */
	RAW_CALL_OPEN, /* returns a descriptor, and is not one of those below */
	RAW_CALL_ACCEPT,
	RAW_CALL_DUP,
	RAW_CALL_FCNTL,	  /* returns a descriptor when its second argument says so */
	RAW_CALL_CONNECT, /* gives its first argument a meaning */
	RAW_CALL_LISTEN,
	RAW_CALL_BIND,
	RAW_CALL_OPEN_PATH, /* as OPEN, of a path in its first argument */
	RAW_CALL_OPEN_AT,   /* ... in its second argument, from the directory in its first one on */
	RAW_CALL_PIPE,	    /* writes two descriptors to where its first argument points */
	RAW_CALL_SOCKETPAIR, /* to where its fourth argument points */
	/* From here on it makes none. What it changes, by path: */
	RAW_CALL_PATH,	     /* in its first argument */
	RAW_CALL_AT,	     /* in its second, from the directory in its first one on */
	RAW_CALL_LINK,	     /* in its second */
	RAW_CALL_SYMLINK_AT, /* in its third, from the directory in its second one on */
	RAW_CALL_LINK_AT,    /* in its fourth, from the directory in its third one on */
	RAW_CALL_RENAME,     /* in its first and second */
	RAW_CALL_RENAME_AT,  /* in its second and fourth, from those in its first and third on */
	RAW_CALL_FLOCK,
	RAW_CALL_SOCKET_OPTION, /* may say how a connection ended that was under way */
	RAW_CALL_EXEC,
	/* It changes nothing: of interest is when it fails. */
	RAW_CALL_LOOK,	  /* at a path in its first argument */
	RAW_CALL_LOOK_AT, /* ... in its second, from the directory in its first one on */
	RAW_CALL_POLL,	  /* waits for several: who sleeps in it is looked at now and then */
	RAW_CALL_SELECT,
	RAW_CALL_NAP,	  /* sleeps */
	RAW_CALL_FUTEX,	  /* the same, or waits for a lock */
	RAW_CALL_TIMED,	  /* waits, maybe until a time */
	RAW_CALL_WATCHED, /* no call: one that such a call waits for */
	RAW_CALL_HELD,	  /* nor this: a file that is asked to be locked, and another one has */
	RAW_CALL_BLOCKED, /* any call: of the descriptor that a thread blocks on */
};

enum raw_kind {
	RAW_KIND_PATH, /* text: components from the leaf up, each terminated */
	RAW_KIND_ANON, /* text: the name of an anonymous inode: "[eventfd]" */
	RAW_KIND_PIPE,
	RAW_KIND_SOCKET,
	RAW_KIND_UNIX, /* text: own address, then the peer's, RAW_UNIX_SLOT bytes each */
	RAW_KIND_PIDFD,
	RAW_KIND_NS, /* text: "net", "mnt" ... */
	/*
	 * No descriptor: a call by path that failed with the error 'fd', or, where that is 0, did what it
	 * should. text: the path as it was given, and components from its directory up.
	 */
	RAW_KIND_ASKED,
	RAW_KIND_ASKED_PEER, /* the same of connect(): to 'remote', or to a unix socket at the path 'text' */
	RAW_KIND_OWNER, /* nor this: thread 'pid' has the mutex that is waited for */
	RAW_KIND_VTID,	/* nor this: a new thread, whose number in pid namespace 'inode' is 'pid' */
	RAW_KIND_ARGS,	/* what the process runs from now on: arguments, each terminated */
};

#define RAW_DELETED   1	 /* the file has no name any more */
#define RAW_CUT	      2	 /* the path is longer than what fits */
#define RAW_CONNECTED 4	 /* unix: has a peer */
#define RAW_CLOSES    8	 /* when another program is run */
#define RAW_SEVERAL   16 /* a lock: others have it, too, besides 'pid' */
#define RAW_INFERRED  32 /* a mutex: that is where glibc keeps the owner of one */
#define RAW_FOR_ROOM  64 /* watched: only until there is room for what is to be written */

struct raw_name {
	__u64 mono_ns;
	__u64 inode;
	__u64 peer_inode; /* unix: of the other end; 0 = unknown */
	__u32 tgid;
	__u32 tid;
	__s32 fd;
	__u32 rdev;
	__s32 pts; /* of the master of a pseudo-terminal: the number of that, and 1; 0 = unknown */
	__u16 mode;
	__u8 call;  /* enum raw_call */
	__u8 kind;  /* enum raw_kind */
	__u8 flags; /* RAW_DELETED ... */
	__u8 state; /* sockets: TCP_LISTEN ... */
	__u16 family;
	__u16 type; /* SOCK_STREAM ... */
	__u16 protocol;
	__u16 local_port; /* host byte order */
	__u16 remote_port;
	__u8 local[16]; /* network byte order; the first 4 bytes for AF_INET */
	__u8 remote[16];
	__s32 pid;	   /* unix: the peer; pidfd: the process; a lock: who has it; 0 = unknown */
	__u16 local_bytes; /* unix: length of each address */
	__u16 remote_bytes;
	__u32 text_bytes;
	char text[RAW_TEXT_MAX + RAW_NAME_MAX];
};

/* Shared with user space through the program's own data. */
struct raw_control {
	__u32 recorder_tgid; /* its own calls are not recorded */
	__u32 wake_bytes;    /* wake the reader when so much waits */
	__u32 ended;	     /* nothing is recorded any more */
	__u64 root_mount;    /* where the recorder's own "/" is: paths end there */
	__u64 root_dentry;
	__u64 lost;   /* records that found no room */
	__u64 naps;   /* looks at which a thread below the recorder slept for a time */
	__u64 quotas; /* looks at which a thread was a real-time one, or its cgroup had a CPU quota */
	__u64 asked_ns; /* when somebody asked last for a path in vain, slept, and asked again */
	__u64 begun_ns; /* CLOCK_MONOTONIC: the recording begins; 0 = not yet */
	__u8 calls[RAW_NR_MAX]; /* enum raw_call of each system call number */
	/* Of blocks.h: */
	__u64 lost_blocks;	   /* records that found no room */
	__u32 lane_chunks;	   /* of each CPU; a power of two */
	__u32 lane_wake;	   /* wake the reader after so many of a CPU; a power of two */
	__u8 takes_fd[RAW_NR_MAX]; /* whether its first argument is a descriptor */
	__u8 rests;		   /* RAW_RESTS_...: what of calls that block is not told */
	__u8 tells_sleepers;	   /* the look at all threads tells of those that sleep already */
};

#define RAW_RESTS_CALLS 1 /* the calls; but what their descriptors name */
#define RAW_RESTS_ALL	2

#define RAW_BLOCK_COMPAT 1 /* the number is of the 32-bit table */
#define RAW_BLOCK_ENDED	 2 /* the call has returned: the thread is on its way out of the kernel */
#define RAW_BLOCK_LOSS	 4 /* before this one some of this CPU were lost */
#define RAW_BLOCK_NONE	 0xffff

/* A thread leaves its CPU to sleep: a struct wire_call. */
struct raw_block {
	__u64 mono_ns;
	__u32 tid;
	__u16 nr;    /* RAW_BLOCK_NONE = in no system call: in a page fault, mostly */
	__u16 flags; /* RAW_BLOCK_... */
	__u64 args[6];
};

/* The same of one that sleeps already, by the look at all threads. */
struct raw_slept {
	struct raw_block block;
	__u32 cpu; /* that looked */
	__u32 zero;
};

/*
 * Where a CPU puts those that leave it: a ring of its own, which nobody else writes to, and so without a lock. Its
 * chunks are one after the other.
 */
struct raw_lane {
	__u64 head;   /* so many were written so far */
	__u64 tail;   /* and taken out, by user space */
	__u32 misses; /* whether the last one found no room */
	__u32 zero;
	__u64 line[5];
};

#define RAW_CHUNK 1024 /* records of one; a power of two */

struct raw_chunk {
	struct raw_block blocks[RAW_CHUNK];
};

#endif
