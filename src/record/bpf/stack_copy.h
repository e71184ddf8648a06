/*
 * stack_copy.h - what the BPF programs that copy stacks share: registers, the top of the user's stack.
 */
#ifndef RECORD_BPF_STACK_COPY_H
#define RECORD_BPF_STACK_COPY_H

#ifdef __bpf__

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_stack.h"
#include "bpf/raw_stack.h"

#define PAGES	17 /* that RAW_STACK_MAX bytes can lie in */
#define PARENTS 16 /* that are followed up */

/* Records, for each CPU or as many as are in use at once: more than an array for each CPU may hold. User space sets how many. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct raw_stack);
} stack_room SEC(".maps");

/* One of them, empty; NULL where there is none. */
static __always_inline struct raw_stack *stack_record(__u32 room)
{
	struct raw_stack *raw = bpf_map_lookup_elem(&stack_room, &room);

	if (raw)
		__builtin_memset(raw, 0, offsetof(struct raw_stack, python));
	return raw;
}

#if defined(__TARGET_ARCH_x86)

#define VFORK_NR    58
#define VFORK_NR_32 190

/* The stack pointer. */
static __always_inline __u64 put_regs(struct raw_stack *raw, struct pt_regs *regs)
{
	raw->regs[0] = BPF_CORE_READ(regs, ax);
	raw->regs[1] = BPF_CORE_READ(regs, dx);
	raw->regs[2] = BPF_CORE_READ(regs, cx);
	raw->regs[3] = BPF_CORE_READ(regs, bx);
	raw->regs[4] = BPF_CORE_READ(regs, si);
	raw->regs[5] = BPF_CORE_READ(regs, di);
	raw->regs[6] = BPF_CORE_READ(regs, bp);
	raw->regs[7] = BPF_CORE_READ(regs, sp);
	raw->regs[8] = BPF_CORE_READ(regs, r8);
	raw->regs[9] = BPF_CORE_READ(regs, r9);
	raw->regs[10] = BPF_CORE_READ(regs, r10);
	raw->regs[11] = BPF_CORE_READ(regs, r11);
	raw->regs[12] = BPF_CORE_READ(regs, r12);
	raw->regs[13] = BPF_CORE_READ(regs, r13);
	raw->regs[14] = BPF_CORE_READ(regs, r14);
	raw->regs[15] = BPF_CORE_READ(regs, r15);
	raw->regs[16] = BPF_CORE_READ(regs, ip);
	if (BPF_CORE_READ(regs, cs) != CODE_64)
		raw->flags |= RAW_STACK_COMPAT;
	if ((int)BPF_CORE_READ(regs, orig_ax) ==
	    (raw->flags & RAW_STACK_COMPAT ? VFORK_NR_32 : VFORK_NR))
		raw->flags |= RAW_STACK_VFORK;
	return raw->regs[7];
}

static __always_inline int in_call(struct pt_regs *regs)
{
	return (long)regs->orig_ax >= 0;
}

static __always_inline void put_place(struct pt_regs *regs, __u64 *out_pc, __u64 *out_sp)
{
	*out_pc = regs->ip;
	*out_sp = regs->sp;
}

#elif defined(__TARGET_ARCH_arm64)

static __always_inline __u64 put_regs(struct raw_stack *raw, struct pt_regs *regs)
{
	bpf_probe_read_kernel(raw->regs, sizeof(regs->regs),
			      (void *)regs + bpf_core_field_offset(struct pt_regs, regs));
	raw->regs[31] = BPF_CORE_READ(regs, sp);
	raw->regs[32] = BPF_CORE_READ(regs, pc);
	if (BPF_CORE_READ(regs, pstate) & PSTATE_32)
		raw->flags |= RAW_STACK_COMPAT;
	return raw->regs[31];
}

static __always_inline int in_call(struct pt_regs *regs)
{
	return regs->syscallno >= 0;
}

static __always_inline void put_place(struct pt_regs *regs, __u64 *out_pc, __u64 *out_sp)
{
	*out_pc = regs->pc;
	*out_sp = regs->sp;
}

#else /* registers of this machine are not known: nothing is told */

struct pt_regs;

static __always_inline __u64 put_regs(struct raw_stack *raw, struct pt_regs *regs)
{
	(void)regs;
	raw->flags |= RAW_STACK_COMPAT;
	return 0;
}

static __always_inline int in_call(struct pt_regs *regs)
{
	(void)regs;
	return 1;
}

static __always_inline void put_place(struct pt_regs *regs, __u64 *out_pc, __u64 *out_sp)
{
	(void)regs;
	*out_pc = *out_sp = 0;
}

#endif

/* Is it where it was? */
static __always_inline int is_at(struct pt_regs *regs, __u64 pc, __u64 sp)
{
	__u64 pc_now, sp_now;

	put_place(regs, &pc_now, &sp_now);
	return pc_now == pc && sp_now == sp;
}

/* Is the task of 'root_tgid', or of what that started? */
static __always_inline int is_in_tree(struct task_struct *task, __u32 root_tgid)
{
	for (int i = 0; i < PARENTS && task; i++) {
		if ((__u32)BPF_CORE_READ(task, tgid) == root_tgid)
			return 1;
		task = BPF_CORE_READ(task, real_parent);
	}
	return 0;
}

#define STACK_MORE 256 /* bytes above where a thread began */

/*
 * How much of 'want' is stack: above where the thread began are its environment, or what the C library knows of
 * it. That lies at the end of the stack of a thread, and begins with its own address.
 */
static __always_inline __u32 stack_in_use(struct task_struct *task, __u64 from, __u32 want)
{
	__u64 above = BPF_CORE_READ(task, mm, start_stack) - from;

	if (above < want - STACK_MORE && want > STACK_MORE)
		want = above + STACK_MORE;
#if defined(__TARGET_ARCH_x86)
	__u64 own = BPF_CORE_READ(task, thread.fsbase), self;

	if (own - from < want && !bpf_probe_read_user(&self, sizeof(self), (void *)own) &&
	    self == own)
		want = own - from;
#endif
	return want;
}

/* Page by page, up to the end of the stack. */
static __always_inline void copy_stack(struct raw_stack *raw, __u64 from, __u32 want)
{
	__u32 done = 0;

	for (int i = 0; i < PAGES; i++) {
		__u32 part = RAW_STACK_PAGE - ((from + done) & (RAW_STACK_PAGE - 1));

		if (part > want - done)
			part = want - done;
		if (!part || done >= RAW_STACK_MAX)
			break;
		asm volatile("" : "+r"(part)); /* the verifier shall see the mask */
		part &= 2 * RAW_STACK_PAGE - 1;
		if (part > RAW_STACK_PAGE ||
		    bpf_probe_read_user(raw->stack + (done & (RAW_STACK_MAX - 1)), part,
					(void *)(from + done)))
			break;
		done += part;
	}
	raw->bytes = done;
}

#endif /* __bpf__ */

#endif
