/*
 * calls.h - the registers of a system call, by architecture.
 */
#ifndef RECORD_BPF_CALLS_H
#define RECORD_BPF_CALLS_H

#ifdef __bpf__

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bp;
	unsigned long bx;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax; /* -1 = not in a system call */
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 orig_x0;
	__s32 syscallno;
};
#elif defined(__TARGET_ARCH_riscv)
struct pt_regs {
	unsigned long orig_a0;
	unsigned long a1;
	unsigned long a2;
	unsigned long a3;
	unsigned long a7;
};
#endif

#pragma clang attribute pop

/*
 * CALL_IS_KNOWN: of a thread that has just left its CPU the registers tell the call it is in, all its
 * arguments, and, nearly always, whether that has ended already, so that the thread is on its way out.
 */

/*
 * The number, and the first four arguments, of the system call that is
 * about to return; and whether it is one of a 32-bit task, with numbers of its own.
 */
#if defined(__TARGET_ARCH_x86)
#define CALL_NR(regs)	     ((regs)->orig_ax)
#define CALL_ARG1(regs)	     ((regs)->di)
#define CALL_ARG2(regs)	     ((regs)->si)
#define CALL_ARG3(regs)	     ((regs)->dx)
#define CALL_ARG4(regs)	     ((regs)->r10)
#define CALL_IS_COMPAT(task) (BPF_CORE_READ(task, thread_info.status) & 2) /* TS_COMPAT */
#define CALL_IS_COMPAT_NOW(task) \
	((task)->thread_info.status & 2) /* of a task that may be looked at directly */
#define CALL_IS_KNOWN 1
#define CALL_HAS_ENDED(regs) \
	((long)(regs)->ax != -38) /* ENOSYS: what it would return as it begins */
#define CALL_ARGS(regs)                                                                 \
	{                                                                               \
		(regs)->di, (regs)->si, (regs)->dx, (regs)->r10, (regs)->r8, (regs)->r9 \
	}
#define CALL_ARGS_32(regs)                                                             \
	{                                                                              \
		(regs)->bx, (regs)->cx, (regs)->dx, (regs)->si, (regs)->di, (regs)->bp \
	}
#elif defined(__TARGET_ARCH_arm64)
#define CALL_NR(regs)		 ((__u64)(regs)->syscallno)
#define CALL_ARG1(regs)		 ((regs)->orig_x0)
#define CALL_ARG2(regs)		 ((regs)->regs[1])
#define CALL_ARG3(regs)		 ((regs)->regs[2])
#define CALL_ARG4(regs)		 ((regs)->regs[3])
#define CALL_IS_COMPAT(task)	 (BPF_CORE_READ(task, thread_info.flags) >> 22 & 1) /* TIF_32BIT */
#define CALL_IS_COMPAT_NOW(task) ((task)->thread_info.flags >> 22 & 1)
#define CALL_IS_KNOWN		 1
#define CALL_HAS_ENDED(regs)	 ((regs)->regs[0] != (regs)->orig_x0)
#define CALL_ARGS(regs)                                                             \
	{                                                                           \
		(regs)->orig_x0, (regs)->regs[1], (regs)->regs[2], (regs)->regs[3], \
			(regs)->regs[4], (regs)->regs[5]                            \
	}
#define CALL_ARGS_32(regs) CALL_ARGS(regs)
#elif defined(__TARGET_ARCH_riscv)
#define CALL_NR(regs)		 ((regs)->a7)
#define CALL_ARG1(regs)		 ((regs)->orig_a0)
#define CALL_ARG2(regs)		 ((regs)->a1)
#define CALL_ARG3(regs)		 ((regs)->a2)
#define CALL_ARG4(regs)		 ((regs)->a3)
#define CALL_IS_COMPAT(task)	 0
#define CALL_IS_COMPAT_NOW(task) ((void)(task), 0)
#define CALL_IS_KNOWN		 0
#else
#error "name the registers of a system call of this architecture"
#endif

#endif /* __bpf__ */

#endif
