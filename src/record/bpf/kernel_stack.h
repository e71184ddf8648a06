/*
 * kernel_stack.h - the fields of threads and their registers that stack.bpf.c reads; see kernel.h.
 */
#ifndef RECORD_BPF_KERNEL_STACK_H
#define RECORD_BPF_KERNEL_STACK_H

#ifdef __bpf__

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct signal_struct {
	struct {
		int counter;
	} live; /* threads of the process that have not ended */
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct mm_struct {
	unsigned long
		start_stack; /* where the first thread began: arguments and environment are above */
};

struct thread_struct {
	unsigned long fsbase; /* x86-64: what a thread knows of itself */
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct mm_struct *mm; /* NULL = a thread of the kernel */
	unsigned long nvcsw;
	unsigned long nivcsw;
	struct signal_struct *signal;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	__u64 start_time;
	__u64 self_exec_id;
	unsigned int in_execve : 1;
	struct thread_struct thread;
};

#define TASK_ASLEEP    3 /* TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE */
#define PF_EXITING     0x4
#define PF_USER_WORKER 0x4000 /* of io_uring and vhost: never in user space */
#define PF_KTHREAD     0x200000

struct bpf_map {
	unsigned int id;
};

/* Known to the kernel by its name; see linux/bpf.h of 6.18. */
struct bpf_task_work {
	__u64 opaque;
} __attribute__((aligned(8)));

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_pgoff; /* in the file, in pages */
	unsigned long vm_flags;
	struct file *vm_file; /* NULL = anonymous memory */
};

struct linux_binprm {
	struct file *file; /* what is executed, of a script its interpreter */
};

struct bpf_iter__task {
	struct task_struct *task;
};

#if defined(__TARGET_ARCH_x86)

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax; /* -1 = not in a system call */
	unsigned long ip;
	unsigned long cs;
	unsigned long sp;
};

#define CODE_64 0x33 /* cs of 64-bit programs */

#elif defined(__TARGET_ARCH_arm64)

struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
	__u64 orig_x0;
	__s32 syscallno; /* -1 = not in a system call */
};

#define PSTATE_32 0x10

#endif

#pragma clang attribute pop

#endif /* __bpf__ */

#endif
