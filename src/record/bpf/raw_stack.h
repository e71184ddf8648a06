/*
 * raw_stack.h - what the BPF programs tell user space about where threads waited and worked.
 *
 * Raw fields only, as in raw.h. A record is cut behind the used part of 'stack'.
 */
#ifndef RECORD_BPF_RAW_STACK_H
#define RECORD_BPF_RAW_STACK_H

#include <linux/types.h>

#include "raw_futex.h"
#include "raw_python.h"

#define RAW_STACK_MAX	 65536 /* bytes of the user's stack, from its top */
#define RAW_STACK_USUAL	 16384 /* that most stacks have room in */
#define RAW_STACK_PAGE	 4096  /* what is copied at once */
#define RAW_STACK_REGS	 33    /* by their numbers in DWARF: up to the program counter of arm64 */
#define RAW_STACK_KERNEL 32    /* functions of the kernel, innermost first */
#define RAW_STACK_NAPS	 16384 /* places for threads that sleep, at most; a power of two */
#define RAW_STACK_ROOMS	 4     /* task works that copy a stack at once; a power of two */
#define RAW_STACK_COMPAT 1     /* it was in 32-bit code */
#define RAW_STACK_FAULT \
	2 /* no system call: the registers are those of the wait, often without its stack */
#define RAW_STACK_OPEN	     4	 /* it still waits; its stack is to be fetched */
#define RAW_STACK_SHORT	     8	 /* of many short waits: the last one's, for all of them */
#define RAW_STACK_NO_BEGIN   16	 /* it waited before the recording began */
#define RAW_STACK_SAMPLE     32	 /* no wait: it worked, at end_ns */
#define RAW_STACK_NO_USER    64	 /* a thread of the kernel */
#define RAW_STACK_CUT	     128 /* there was no room for the user's stack: registers only */
#define RAW_STACK_PYTHON_CUT 256 /* there are more frames of Python than those that are told */
#define RAW_STACK_VFORK \
	512 /* it was vfork(): a register has what returns, which the child may overwrite */

#define RAW_STACK_LEAN	1024 /* no stack: the end of its call is not seen */
#define RAW_STACK_KNOWN 4096 /* OPEN: such a one was told of before */
#define RAW_STACK_TWO	8192 /* of the registers two only, and not whether it was in 32-bit code */
#define RAW_STACK_EXEC \
	16384 /* SAMPLE: within execve(), where one program takes the place of another */
#define RAW_STACK_LOOKED 2048 /* OPEN: it may go on for long; LEAN: such a one is over */

/* Of the registers: the stack pointer and the program counter. */
#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define RAW_STACK_SP 31
#define RAW_STACK_PC 32
#else
#define RAW_STACK_SP 7
#define RAW_STACK_PC 16
#endif

/* Of those the stack is not read. Of x86 the registers have the numbers of 64-bit code; of others they are of no use. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define RAW_STACK_UNREAD 0
#else
#define RAW_STACK_UNREAD RAW_STACK_COMPAT
#endif

enum raw_looks {
	RAW_LOOKS_FIRST, /* it notes who sleeps */
	RAW_LOOKS_LONG,	 /* it tells of who sleeps for long, once in each sleep */
	RAW_LOOKS_LAST,	 /* it tells of all waits that are open */
};

struct raw_stack {
	__u64 begin_ns; /* CLOCK_MONOTONIC: it went to sleep; the first time, in this call */
	__u64 end_ns;	/* and was woken; the last time. OPEN: when it was looked at */
	__u64 slept_ns; /* in all, between these; SHORT: in all the waits that this stands for */
	__u64 switches; /* OPEN: how often it had left a CPU by then */
	__u64 regs[RAW_STACK_REGS];
	__u64 kernel[RAW_STACK_KERNEL];
	__u32 tid;
	__u32 tgid;
	__u32 kernel_count;
	__u32 flags;	    /* RAW_STACK_... */
	__u32 bytes;	    /* of 'stack' */
	__u32 python_count; /* of 'python' */
	struct raw_futex futex;
	struct raw_python_frame python[RAW_PYTHON_FRAMES];
	__u8 stack[RAW_STACK_MAX + RAW_STACK_PAGE]; /* the page is there for the verifier */
};

/* Shared with user space through the program's own data. */
struct raw_stack_control {
	__u64 min_ns;	/* waits of at least this */
	__u64 since_ns; /* what was noted before counts no more: the program was off meanwhile */
	__u64 second;	/* that 'used' is of */
	__u64 used;	/* bytes of stacks */
	__u64 budget;	/* of these, in a second */
	__u64 lost;	/* records that found no room */
	__u64 over;	/* stacks that the budget dropped */
	__u64 over_ns;	/* the waits that these were of */
	__u64 gone;	/* stacks that could not be taken, as the thread had gone on */
	__u64 told;	/* stacks that were told of */
	__u32 ended;	/* nothing is told any more */
	__u32 looks;	/* enum raw_looks, of the iterator */
	__u32 recorder_tgid;
	__u32 wake_bytes;
	__u32 is_lean;		      /* the end of no system call is seen */
	__u64 long_ns;		      /* lean: a stack is asked for of who sleeps longer, */
	__u32 long_left;	      /* of so many of them */
	__u32 nap_mask;		      /* places for threads that sleep, less one */
	__u64 rooms[RAW_STACK_ROOMS]; /* 1 = taken; of the program alone */
};

#endif
