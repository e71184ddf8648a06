/*
 * stack.bpf.c - tell in which code threads waited, of waits that lasted.
 *
 * While a thread waits, its stack does not change: it is taken when the wait is over and its length
 * is known. That costs short waits next to nothing.
 *
 *	sched_switch    it goes to sleep: the time is noted
 *	sched_waking    it is woken: the kernel's stack, if that was long; of a page fault all there is
 *	sys_exit        back in its own context: registers, and the top of its stack
 *
 * With lean events no system call is looked at: who is woken is told of without its stack. That is fetched while it
 * sleeps, of those that sleep for long.
 *
 * A thread that waited at a page fault goes on with other code before anything can be copied: of
 * it only the registers are told. Storage of a thread is made at the end of a system call, or at its birth, and
 * never by the scheduler, which may hold locks that making it needs.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>

#include "bpf/futex_place.h"
#include "bpf/kernel_stack.h"
#include "bpf/python_frames.h"
#include "bpf/raw_stack.h"
#include "bpf/ring.h"
#include "bpf/stack_copy.h"

#define SHORT_NS    10000000ull /* so much of short waits makes one stack */
#define SECOND_BITS 30		/* of ns: a second, nearly */
#define STACK_LEAST 2048
#define SETTLED	    (1u << 16)

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct sleeper {
	__u64 out_ns;	 /* asleep since; 0 = it is not */
	__u64 begin_ns;	 /* of the first sleep in this call; 0 = none */
	__u64 end_ns;	 /* of the last one */
	__u64 slept_ns;	 /* in this call */
	__u64 short_ns;	 /* of short waits that no stack was told of */
	__u64 looked_ns; /* lean: its stack was asked for while it slept; 0 = it was not */
	__u64 kernel[RAW_STACK_KERNEL];
	__u32 kernel_count;
	__u32 flags; /* RAW_STACK_NO_BEGIN */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sleeper);
} sleepers SEC(".maps");

/*
 * Threads, by the low bits of their ids, that have storage and have not slept since their last system call: at the end of
 * the next one there is nothing to do for them, and most calls are such. Only the thread itself writes its id.
 */
__u32 settled[SETTLED];

RING_MAP(ring, 1 << 22);

/* All but the user's stack: of wakings, and of the look at all threads. */
struct stack_head {
	__u8 bytes[offsetof(struct raw_stack, stack)] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct stack_head);
} scratch SEC(".maps");

struct raw_stack_control control;

/* Without room for a stack. */
static struct raw_stack *empty_head(__u32 which)
{
	struct raw_stack *raw = bpf_map_lookup_elem(&scratch, &which);

	if (raw)
		__builtin_memset(raw, 0, offsetof(struct raw_stack, python));
	return raw;
}

static void send_head(struct raw_stack *raw)
{
	ring_send(&ring, raw, sizeof(struct stack_head), sizeof(struct stack_head),
		  control.wake_bytes, &control.lost);
}

static void send(struct raw_stack *raw)
{
	__u64 bytes = offsetof(struct raw_stack, stack) + (__u64)raw->bytes;

	ring_send(&ring, raw, bytes, sizeof(*raw), control.wake_bytes, &control.lost);
}

static int task_is_ours(struct task_struct *task)
{
	return (__u32)task->tgid == control.recorder_tgid;
}

/* ------------------------------------------------------------------ stacks */

/*
 * How much of a stack may be copied now; 0 = the budget of this second is used up. Half of it is for
 * the command alone.
 */
static __u32 allowance(struct task_struct *task, __u64 now_ns)
{
	int in_tree = is_in_tree(task, control.recorder_tgid);
	__u64 budget = in_tree ? control.budget : control.budget / 2, used;

	if (control.second != now_ns >> SECOND_BITS) {
		control.second = now_ns >> SECOND_BITS;
		control.used = 0;
	}
	used = control.used;
	if (used + STACK_LEAST > budget)
		return 0;
	if (used + RAW_STACK_MAX <= budget / 2)
		return RAW_STACK_MAX;
	if (used + RAW_STACK_USUAL <= (in_tree ? budget : budget / 4 * 3))
		return RAW_STACK_USUAL;
	return STACK_LEAST;
}

static long stack_note_end(struct task_struct *task, struct vm_area_struct *vma, __u64 *end)
{
	(void)task;
	*end = vma->vm_end;
	return 0;
}

/* Behind the mapping of the stack there may be another one at once. */
static __u32 stack_in_map(struct task_struct *task, __u64 from, __u32 want)
{
	__u64 end = 0;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma) &&
	    !bpf_find_vma(task, from, stack_note_end, &end, 0) && end - from < want)
		want = end - from;
	return want;
}

static void put_kernel(struct raw_stack *raw, struct sleeper *sleeper)
{
	raw->kernel_count = sleeper->kernel_count;
	__builtin_memcpy(raw->kernel, sleeper->kernel, sizeof(raw->kernel));
}

static __u32 kernel_stack(struct task_struct *task, __u64 *to)
{
	long bytes = bpf_get_task_stack(task, to, RAW_STACK_KERNEL * sizeof(*to), 0);

	return bytes > 0 ? bytes / sizeof(*to) : 0;
}

static void stack_put_thread(struct raw_stack *raw, struct task_struct *task,
			     struct sleeper *sleeper)
{
	raw->tid = task->pid;
	raw->tgid = task->tgid;
	raw->begin_ns = sleeper->begin_ns;
	raw->end_ns = sleeper->end_ns;
	raw->slept_ns = sleeper->slept_ns;
	raw->flags |= sleeper->flags;
}

static __u32 *settled_place(struct task_struct *task)
{
	return &settled[(__u32)task->pid & (SETTLED - 1)];
}

static void settled_forget(struct task_struct *task)
{
	__u32 *place = settled_place(task);

	if (*place == (__u32)task->pid)
		*place = 0;
}

static void sleeper_forget(struct sleeper *sleeper)
{
	sleeper->out_ns = 0;
	sleeper->begin_ns = 0;
	sleeper->slept_ns = 0;
	sleeper->kernel_count = 0;
	sleeper->flags = 0;
	sleeper->looked_ns = 0;
}

/* ------------------------------------------------------------------ asleep, awake */

SEC("tp_btf/sched_switch")
int on_sleep(__u64 *args)
{
	struct task_struct *prev = (void *)args[1];
	struct sleeper *sleeper;

	if (!(prev->__state & TASK_ASLEEP) || control.ended)
		return 0;
	sleeper = bpf_task_storage_get(&sleepers, prev, 0, 0);
	if (!sleeper)
		return 0;
	sleeper->out_ns = bpf_ktime_get_ns();
	if (!sleeper->begin_ns)
		sleeper->begin_ns = sleeper->out_ns;
	settled_forget(prev);
	return 0;
}

/* The thread may go on with anything before it is seen again: what is known is told now. */
static void tell_fault(struct task_struct *task, struct sleeper *sleeper, struct pt_regs *regs)
{
	struct raw_stack *raw = sleeper->slept_ns >= control.min_ns ? empty_head(0) : NULL;

	if (!raw)
		return;
	raw->flags = RAW_STACK_FAULT;
	stack_put_thread(raw, task, sleeper);
	put_kernel(raw, sleeper);
	(void)put_regs(raw, regs);
	send_head(raw);
}

/* Many short ones make one that lasts. */
static void sum_short(struct sleeper *sleeper)
{
	if (sleeper->slept_ns >= control.min_ns)
		return;
	sleeper->short_ns += sleeper->slept_ns;
	if (sleeper->short_ns >= SHORT_NS) {
		sleeper->slept_ns = sleeper->short_ns;
		sleeper->flags |= RAW_STACK_SHORT;
		sleeper->short_ns = 0;
	}
}

/* With lean events the end of no call is seen: what can be told by who wakes it is. */
static void tell_lean(struct task_struct *task, struct sleeper *sleeper, struct pt_regs *regs)
{
	struct raw_stack *raw;

	if (sleeper->slept_ns < control.min_ns || task_is_ours(task) || !task->mm)
		return;
	raw = empty_head(0);
	if (!raw)
		return;
	stack_put_thread(raw, task, sleeper);
	raw->flags |= RAW_STACK_LEAN | (sleeper->looked_ns ? RAW_STACK_LOOKED : 0);
	put_kernel(raw, sleeper);
	(void)put_regs(raw, regs);
	if (in_call(regs)) {
		put_futex(raw, regs);
		put_futex_place(raw, task);
	} else {
		raw->flags |= RAW_STACK_FAULT;
	}
	send_head(raw);
}

SEC("tp_btf/sched_waking")
int on_waking(__u64 *args)
{
	struct task_struct *task = (void *)args[0];
	struct sleeper *sleeper = bpf_task_storage_get(&sleepers, task, 0, 0);
	struct pt_regs *regs;
	__u64 now_ns, slept_ns;

	if (!sleeper || !sleeper->out_ns || control.ended)
		return 0;
	now_ns = bpf_ktime_get_ns();
	slept_ns = now_ns - sleeper->out_ns;
	sleeper->out_ns = 0;
	sleeper->end_ns = now_ns;
	sleeper->slept_ns += slept_ns;
	if (slept_ns >= control.min_ns)
		sleeper->kernel_count = kernel_stack(task, sleeper->kernel);
	regs = (void *)bpf_task_pt_regs(task);
	if (control.is_lean)
		tell_lean(task, sleeper, regs);
	else if (in_call(regs))
		return 0;
	else
		tell_fault(task, sleeper, regs);
	sleeper_forget(sleeper);
	return 0;
}

static void stack_tell(struct task_struct *task, struct sleeper *sleeper, struct pt_regs *regs)
{
	__u64 now_ns = bpf_ktime_get_ns(), from;
	__u32 want = allowance(task, now_ns);
	struct raw_stack *raw;

	if (!want) {
		__sync_fetch_and_add(&control.over, 1);
		__sync_fetch_and_add(&control.over_ns, sleeper->slept_ns);
		return;
	}
	raw = stack_record();
	if (!raw)
		return;
	stack_put_thread(raw, task, sleeper);
	put_kernel(raw, sleeper);
	from = put_regs(raw, regs);
	put_futex(raw, regs);
	put_futex_place(raw, task);
	if (!(raw->flags & RAW_STACK_COMPAT))
		copy_stack(raw, from, stack_in_use(task, from, stack_in_map(task, from, want)));
	put_python(raw, task, &ring, control.wake_bytes, &control.lost);
	__sync_fetch_and_add(&control.used, raw->bytes);
	send(raw);
}

static void stack_tell_call(struct task_struct *task, struct sleeper *sleeper, struct pt_regs *regs)
{
	sum_short(sleeper);
	if (sleeper->slept_ns >= control.min_ns && !control.ended && !task_is_ours(task))
		stack_tell(task, sleeper, regs);
	sleeper_forget(sleeper);
}

SEC("tp_btf/sys_exit")
int on_exit(__u64 *args)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 *place = settled_place(task);
	struct sleeper *sleeper;

	if (*place == (__u32)task->pid)
		return 0;
	sleeper = bpf_task_storage_get(&sleepers, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!sleeper)
		return 0;
	if (sleeper->begin_ns)
		stack_tell_call(task, sleeper, (struct pt_regs *)args[0]);
	*place = (__u32)task->pid;
	return 0;
}

SEC("tp_btf/sched_process_fork")
int on_fork(__u64 *args)
{
	struct task_struct *parent = (void *)args[0], *child = (void *)args[1];

	settled_forget(child); /* of an earlier thread with this id */
	if (child->tgid != parent->tgid)
		python_fork(parent->tgid, child->tgid);
	/* Its first sleep may be the long one. */
	if (control.is_lean)
		(void)bpf_task_storage_get(&sleepers, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

/* User space looks now and then; a program that ends soon would be over by then. */
SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *args)
{
	__u64 begins = RAW_PYTHON_BEGINS;

	if (!control.ended && python_begins((void *)args[2]))
		(void)bpf_ringbuf_output(&ring, &begins, sizeof(begins), BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* ------------------------------------------------------------------ waits that are open */

/* At the start: that it sleeps already. */
static void note_asleep(struct task_struct *task, __u64 now_ns)
{
	struct sleeper *sleeper =
		bpf_task_storage_get(&sleepers, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!sleeper || sleeper->begin_ns || !(task->__state & TASK_ASLEEP))
		return;
	sleeper->flags = RAW_STACK_NO_BEGIN;
	sleeper->begin_ns = now_ns;
	sleeper->out_ns = now_ns;
}

static void tell_open(struct task_struct *task, struct sleeper *sleeper, __u64 now_ns, __u32 flags)
{
	struct raw_stack *raw = empty_head(1);
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

	if (!raw)
		return;
	stack_put_thread(raw, task, sleeper);
	raw->flags |= flags | RAW_STACK_OPEN;
	raw->flags |= in_call(regs) ? 0 : RAW_STACK_FAULT;
	raw->end_ns = now_ns;
	raw->slept_ns += now_ns - sleeper->out_ns;
	raw->switches = task->nvcsw + task->nivcsw;
	raw->kernel_count = kernel_stack(task, raw->kernel);
	(void)put_regs(raw, regs);
	if (!(raw->flags & RAW_STACK_FAULT))
		put_futex(raw, regs);
	send_head(raw);
}

/* It sleeps since before the last look but one, and was not told of. Each costs user space to fetch its stack. */
static void tell_long(struct task_struct *task, struct sleeper *sleeper, __u64 now_ns)
{
	if (sleeper->looked_ns || now_ns - sleeper->out_ns < control.long_ns ||
	    !control.long_left || !in_call((void *)bpf_task_pt_regs(task)))
		return;
	control.long_left--;
	sleeper->looked_ns = now_ns;
	tell_open(task, sleeper, now_ns, RAW_STACK_LOOKED);
}

SEC("iter/task")
int on_each_thread(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u64 now_ns = bpf_ktime_get_ns();
	struct sleeper *sleeper;

	if (!task || !task->mm || task_is_ours(task))
		return 0;
	if (control.looks == RAW_LOOKS_FIRST && (control.is_lean || task->__state & TASK_ASLEEP))
		note_asleep(task, now_ns);
	if (control.looks == RAW_LOOKS_FIRST || !(task->__state & TASK_ASLEEP))
		return 0;
	sleeper = bpf_task_storage_get(&sleepers, task, 0, 0);
	if (!sleeper || !sleeper->out_ns)
		return 0;
	if (control.looks == RAW_LOOKS_LAST && now_ns - sleeper->out_ns >= control.min_ns)
		tell_open(task, sleeper, now_ns, sleeper->looked_ns ? RAW_STACK_KNOWN : 0);
	if (control.looks == RAW_LOOKS_LONG)
		tell_long(task, sleeper, now_ns);
	return 0;
}
