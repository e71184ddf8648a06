/*
 * futex_place.h - which word a thread waits for in futex(2), and in which mapping that lies, by the BPF
 * program that copies its stack.
 */
#ifndef RECORD_BPF_FUTEX_PLACE_H
#define RECORD_BPF_FUTEX_PLACE_H

#ifdef __bpf__

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_stack.h"
#include "bpf/raw_futex.h"
#include "bpf/raw_stack.h"

#define VM_SHARED 8

#if defined(__TARGET_ARCH_x86)
#define FUTEX_NR	 202
#define FUTEX_CALL(regs) ((long)BPF_CORE_READ(regs, orig_ax))
#define FUTEX_WORD(regs) BPF_CORE_READ(regs, di)
#define FUTEX_OP(regs)	 BPF_CORE_READ(regs, si)
#elif defined(__TARGET_ARCH_arm64)
#define FUTEX_NR	 98
#define FUTEX_CALL(regs) ((long)BPF_CORE_READ(regs, syscallno))
#define FUTEX_WORD(regs) BPF_CORE_READ(regs, orig_x0)
#define FUTEX_OP(regs)	 BPF_CORE_READ(regs, regs[1])
#else /* the registers of this machine are not known */
#define FUTEX_NR	 0
#define FUTEX_CALL(regs) ((void)(regs), -1l)
#define FUTEX_WORD(regs) 0
#define FUTEX_OP(regs)	 0
#endif

#if defined(__TARGET_ARCH_x86)

#define FUTEX_NR_32	   240
#define FUTEX_TIME64_NR_32 422

/* Of a 32-bit program, whose calls have their own numbers and registers. */
static __always_inline void put_futex_32(struct raw_stack *raw, struct pt_regs *regs)
{
	long nr = FUTEX_CALL(regs);

	if ((nr == FUTEX_NR_32 || nr == FUTEX_TIME64_NR_32) &&
	    raw_futex_waits((__u32)BPF_CORE_READ(regs, cx)))
		raw->futex.address = (__u32)BPF_CORE_READ(regs, bx);
}

#else
#define put_futex_32(raw, regs) ((void)0)
#endif

/* The word that the thread waits for; put_regs() was called before. */
static __always_inline void put_futex(struct raw_stack *raw, struct pt_regs *regs)
{
	if (raw->flags & RAW_STACK_COMPAT)
		put_futex_32(raw, regs);
	if (!(raw->flags & RAW_STACK_COMPAT) && FUTEX_CALL(regs) == FUTEX_NR &&
	    raw_futex_waits(FUTEX_OP(regs)))
		raw->futex.address = FUTEX_WORD(regs);
}

/* What is found at an address. */
struct futex_look {
	__u64 start, page;
	__u32 is_file, is_shared;
	char name[RAW_FUTEX_NAME]; /* of a file that is shared */
};

static long futex_note_map(struct task_struct *task, struct vm_area_struct *vma,
			   struct futex_look *look)
{
	(void)task;
	look->start = vma->vm_start;
	look->page = vma->vm_pgoff;
	look->is_file = vma->vm_file != NULL;
	look->is_shared = (vma->vm_flags & VM_SHARED) != 0;
	if (look->is_shared && look->is_file) {
		const unsigned char *name = BPF_CORE_READ(vma, vm_file, f_path.dentry, d_name.name);

		/* One that may be cut is another name. */
		if (bpf_probe_read_kernel_str(look->name, sizeof(look->name), name) >=
		    RAW_FUTEX_NAME)
			look->name[0] = 0;
	}
	return 0;
}

/* Where it lies, of the thread that runs now. Linux 5.17 and later can tell; and not while a mapping changes. */
static __always_inline void put_futex_place(struct raw_stack *raw, struct task_struct *task)
{
	struct futex_look look = { 0 };

	if (!raw->futex.address ||
	    !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma) ||
	    bpf_find_vma(task, raw->futex.address, futex_note_map, &look, 0))
		return;
	raw->futex.kind = RAW_FUTEX_OTHER;
	if (look.is_shared && look.is_file) {
		raw->futex.kind = RAW_FUTEX_SHARED;
		raw->futex.start = look.start;
		raw->futex.page = look.page;
		__builtin_memcpy(raw->futex.path, look.name, sizeof(look.name));
	}
	if (look.is_shared)
		return;
	if (!look.is_file) {
		__u64 before = look.start - 1;

		if (bpf_find_vma(task, before, futex_note_map, &look, 0))
			return;
	}
	if (!look.is_file || look.is_shared)
		return;
	raw->futex.kind = RAW_FUTEX_FILE;
	raw->futex.start = look.start;
	raw->futex.page = look.page;
}

#endif /* __bpf__ */

#endif
