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
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long r10;
	unsigned long orig_ax;
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
#elif defined(__TARGET_ARCH_arm64)
#define CALL_NR(regs)	     ((__u64)(regs)->syscallno)
#define CALL_ARG1(regs)	     ((regs)->orig_x0)
#define CALL_ARG2(regs)	     ((regs)->regs[1])
#define CALL_ARG3(regs)	     ((regs)->regs[2])
#define CALL_ARG4(regs)	     ((regs)->regs[3])
#define CALL_IS_COMPAT(task) (BPF_CORE_READ(task, thread_info.flags) >> 22 & 1) /* TIF_32BIT */
#elif defined(__TARGET_ARCH_riscv)
#define CALL_NR(regs)	     ((regs)->a7)
#define CALL_ARG1(regs)	     ((regs)->orig_a0)
#define CALL_ARG2(regs)	     ((regs)->a1)
#define CALL_ARG3(regs)	     ((regs)->a2)
#define CALL_ARG4(regs)	     ((regs)->a3)
#define CALL_IS_COMPAT(task) 0
#else
#error "name the registers of a system call of this architecture"
#endif

#endif /* __bpf__ */

#endif
