/*
 * raw_futex.h - the word that a thread waited for in futex(2), and where in a file's mapping it lies.
 *
 * A program's variables lie in the mapping of its file, and those that begin as 0 in memory right behind
 * that. Both are told as how far the word lies behind the start of the file's mapping. Of a shared mapping the
 * file is told, too, as nothing else is recorded of it.
 */
#ifndef RECORD_BPF_RAW_FUTEX_H
#define RECORD_BPF_RAW_FUTEX_H

#include <linux/types.h>

enum raw_futex_kind {
	RAW_FUTEX_UNKNOWN, /* nobody looked, or it could not be told */
	RAW_FUTEX_FILE, /* in a private mapping of a file, or right behind one in anonymous memory */
	RAW_FUTEX_OTHER,  /* elsewhere: heap, stack */
	RAW_FUTEX_SHARED, /* in a shared mapping of a file */
};

#define RAW_FUTEX_PATH 128
#define RAW_FUTEX_NAME 64 /* what the program tells of it */

struct raw_futex {
	__u64 address; /* 0 = it was no such wait; then all is 0 */
	__u64 start;   /* FILE, SHARED: of the file's mapping */
	__u64 page;    /* FILE, SHARED: which of the file's pages that begins with */
	__u32 kind;    /* enum raw_futex_kind */
	__u32 padding;
	char path[RAW_FUTEX_PATH]; /* SHARED: of the file, or its last part; "" = it is not known */
};

/* linux/futex.h; commands with which a thread waits for a word. */
#define RAW_FUTEX_COMMAND(op) ((op) & ~(128u | 256u))

static inline int raw_futex_waits(__u32 op)
{
	switch (RAW_FUTEX_COMMAND(op)) {
	case 0:	 /* FUTEX_WAIT */
	case 6:	 /* FUTEX_LOCK_PI */
	case 9:	 /* FUTEX_WAIT_BITSET */
	case 11: /* FUTEX_WAIT_REQUEUE_PI */
	case 13: /* FUTEX_LOCK_PI2 */
		return 1;
	default:
		return 0;
	}
}

#endif
