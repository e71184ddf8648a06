/*
 * stack.bpf.c - tell in which code threads waited, of waits that lasted.
 *
 * While a thread waits, its stack does not change: it is taken when the wait is over and its length
 * is known. That costs short waits next to nothing.
 *
 *	sched_switch    it goes to sleep: the time is noted
 *	sched_waking    it is woken: the kernel's stack, if that was long
 *	then            back in its own context: registers, and the top of its stack
 *
 * The last step is a task work where the kernel has them (Linux 6.18): it is asked for when a wait was long, and
 * runs when the thread leaves the kernel, from a system call or from a page fault. The kernel adds it from an interrupt of
 * the CPU that wakes: where threads are seen to be faster than that, user space attaches the end of system calls, too.
 * Elsewhere it is the end of each system call; a thread that waited at a page fault goes on with other code before anything can be copied: of it only
 * the registers are told, by who wakes it. With lean events no system call is looked at: who is woken is told of
 * without its stack. That is fetched while it sleeps, of those that sleep for long.
 *
 * Short waits end in a table without a call of the kernel. Storage of a thread is made at its birth, at the first look
 * at all threads, or at the end of a system call, and never by the scheduler, which may hold locks that making it needs.
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
#define NAP_OLD_NS  10000000000ull /* nothing was heard of it: its thread may have ended */
#define NAP_KERNEL  (1u << 30)	   /* its storage has the kernel's stack */
#define NAP_WORK    (1u << 31)	   /* a task work was asked for, and has not run */
#define PART_OF_MIN 4	 /* a wait this part as long as is told may be a part of one that is */
#define WORKS	    1024 /* task works that have not run */
#define WORK_TRIES  4
#define ROOMS	    RAW_STACK_ROOMS
#define TO_NO_USER  (PF_KTHREAD | PF_USER_WORKER | PF_EXITING)

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* What a thread slept in a system call, or at a page fault. */
struct nap {
	__u64 out_ns;	 /* asleep since; 0 = it is not */
	__u64 begin_ns;	 /* of the first sleep; 0 = none */
	__u64 end_ns;	 /* of the last one */
	__u64 slept_ns;	 /* in all */
	__u64 short_ns;	 /* of short waits before, that no stack was told of */
	__u64 looked_ns; /* lean: its stack was asked for while it slept; 0 = it was not */
	__u32 pid;
	__u32 flags; /* RAW_STACK_NO_BEGIN, RAW_STACK_SHORT, NAP_... */
	__u64 pad;   /* a line of the cache */
};

/*
 * By the low bits of the ids of threads. Who finds its place taken has its nap in its storage, which takes longer. At the
 * end of a system call without sleep there is nothing to do but to compare, and most calls are such.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags,
	       BPF_F_MMAPABLE); /* it begins with a page, each nap is a line of the cache */
	__uint(max_entries, RAW_STACK_NAPS);
	__type(key, __u32);
	__type(value, struct nap);
} naps SEC(".maps");

struct sleeper {
	struct nap nap;
	__u64 kernel[RAW_STACK_KERNEL];
	__u32 kernel_count;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sleeper);
} sleepers SEC(".maps");

RING_MAP(ring, 1 << 22);

/* All but the user's stack: of wakings, and of the look at all threads. */
struct stack_head {
	__u8 bytes[__builtin_offsetof(struct raw_stack, stack)] __attribute__((aligned(8)));
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
 * the command alone, and with lean events half of what is left for waits that lasted.
 */
static __u32 allowance(struct task_struct *task, __u64 slept_ns, __u64 now_ns)
{
	int in_tree = is_in_tree(task, control.recorder_tgid);
	__u64 budget = in_tree ? control.budget : control.budget / 2, used;

	if (control.is_lean && slept_ns < control.long_ns)
		budget /= 2;
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

static __u32 kernel_stack(struct task_struct *task, __u64 *to)
{
	long bytes = bpf_get_task_stack(task, to, RAW_STACK_KERNEL * sizeof(*to), 0);

	return bytes > 0 ? bytes / sizeof(*to) : 0;
}

/* ------------------------------------------------------------------ naps */

/* Its place, which may be another thread's. */
static struct nap *nap_place(struct task_struct *task)
{
	__u32 at = (__u32)task->pid & control.nap_mask;

	return bpf_map_lookup_elem(&naps, &at);
}

static int nap_is_free(const struct nap *nap, __u64 now_ns)
{
	if (nap->end_ns + NAP_OLD_NS < now_ns)
		return !nap->out_ns;
	return !nap->out_ns && !nap->begin_ns && !nap->short_ns;
}

static void nap_take(struct nap *nap, struct task_struct *task)
{
	__builtin_memset(nap, 0, sizeof(*nap));
	nap->pid = task->pid;
}

/* That of a thread; NULL = it has none. */
static struct nap *nap_find(struct task_struct *task)
{
	struct nap *nap = nap_place(task);
	struct sleeper *sleeper;

	if (nap && nap->pid == (__u32)task->pid)
		return nap;
	sleeper = bpf_task_storage_get(&sleepers, task, 0, 0);
	return sleeper ? &sleeper->nap : NULL;
}

/* The same where a new one may begin. */
static struct nap *nap_make(struct task_struct *task, __u64 now_ns)
{
	struct nap *nap = nap_place(task);
	struct sleeper *sleeper;

	if (nap && nap->pid == (__u32)task->pid)
		return nap;
	sleeper = bpf_task_storage_get(&sleepers, task, 0, 0);
	if (sleeper && sleeper->nap.begin_ns)
		return &sleeper->nap;
	if (!nap || !nap_is_free(nap, now_ns))
		return sleeper ? &sleeper->nap : NULL;
	nap_take(nap, task);
	return nap;
}

static void nap_forget(struct nap *nap)
{
	nap->out_ns = 0;
	nap->begin_ns = 0;
	nap->slept_ns = 0;
	nap->looked_ns = 0;
	nap->flags = 0;
}

/* It is woken: how long it slept just now; 0 = that is not known. */
static __u64 nap_end(struct nap *nap)
{
	__u64 now_ns, slept_ns;

	if (!nap || !nap->out_ns || control.ended)
		return 0;
	if (nap->out_ns < control.since_ns) {
		nap_forget(nap);
		return 0;
	}
	now_ns = bpf_ktime_get_ns();
	slept_ns = now_ns - nap->out_ns;
	nap->out_ns = 0;
	nap->end_ns = now_ns;
	nap->slept_ns += slept_ns;
	return slept_ns;
}

static void nap_note_kernel(struct nap *nap, struct task_struct *task)
{
	struct sleeper *sleeper = bpf_task_storage_get(&sleepers, task, 0, 0);

	if (!sleeper)
		return;
	sleeper->kernel_count = kernel_stack(task, sleeper->kernel);
	nap->flags |= NAP_KERNEL;
}

static void put_nap(struct raw_stack *raw, struct task_struct *task, const struct nap *nap)
{
	struct sleeper *sleeper =
		nap->flags & NAP_KERNEL ? bpf_task_storage_get(&sleepers, task, 0, 0) : NULL;

	raw->tid = task->pid;
	raw->tgid = task->tgid;
	raw->begin_ns = nap->begin_ns;
	raw->end_ns = nap->end_ns;
	raw->slept_ns = nap->slept_ns;
	raw->flags |= nap->flags & (RAW_STACK_NO_BEGIN | RAW_STACK_SHORT);
	if (!sleeper)
		return;
	raw->kernel_count = sleeper->kernel_count;
	__builtin_memcpy(raw->kernel, sleeper->kernel, sizeof(raw->kernel));
}

/* Many short ones make one that lasts. */
static void sum_short(struct nap *nap)
{
	if (nap->slept_ns >= control.min_ns)
		return;
	nap->short_ns += nap->slept_ns;
	if (nap->short_ns >= SHORT_NS) {
		nap->slept_ns = nap->short_ns;
		nap->flags |= RAW_STACK_SHORT;
		nap->short_ns = 0;
	}
}

/* ------------------------------------------------------------------ asleep, awake */

SEC("tp_btf/sched_switch")
int on_sleep(__u64 *args)
{
	struct task_struct *prev = (void *)args[1];
	struct nap *nap;
	__u64 now_ns;

	if (!(prev->__state & TASK_ASLEEP) || !prev->mm || control.ended)
		return 0;
	now_ns = bpf_ktime_get_ns();
	nap = nap_make(prev, now_ns);
	if (!nap)
		return 0;
	if (nap->begin_ns < control.since_ns)
		nap_forget(nap);
	nap->out_ns = now_ns;
	if (!nap->begin_ns)
		nap->begin_ns = now_ns;
	return 0;
}

static void drop_stack(const struct nap *nap)
{
	__sync_fetch_and_add(&control.over, 1);
	__sync_fetch_and_add(&control.over_ns, nap->slept_ns);
}

/* All there is, in the thread's own context. */
static void put_stack(struct raw_stack *raw, struct task_struct *task, struct pt_regs *regs,
		      __u32 want)
{
	__u64 from = put_regs(raw, regs);

	raw->bytes = want; /* the verifier shall not look at each of its values */
	want = *(volatile __u32 *)&raw->bytes;
	raw->bytes = 0;
	if (!(raw->flags & RAW_STACK_FAULT)) {
		put_futex(raw, regs);
		put_futex_place(raw, task);
	}
	if (!want)
		raw->flags |= RAW_STACK_CUT;
	else if (!(raw->flags & RAW_STACK_UNREAD))
		copy_stack(raw, from, stack_in_use(task, from, stack_in_map(task, from, want)));
	put_python(raw, task, &ring, control.wake_bytes, &control.lost);
	__sync_fetch_and_add(&control.used, raw->bytes);
}

static void stack_tell(struct raw_stack *raw, struct task_struct *task, struct nap *nap,
		       struct pt_regs *regs, __u32 want)
{
	__sync_fetch_and_add(&control.told, 1);
	raw->flags = in_call(regs) ? 0 : RAW_STACK_FAULT;
	put_nap(raw, task, nap);
	put_stack(raw, task, regs, want);
	send(raw);
}

static int is_told(struct task_struct *task, struct nap *nap)
{
	sum_short(nap);
	return nap->slept_ns >= control.min_ns && !control.ended && !task_is_ours(task);
}

#ifdef STACK_BY_WORK

/* ------------------------------------------------------------------ with task works */

/* Asked for, by who woke the thread. */
struct work {
	struct bpf_task_work task_work;
	__u64 at_ns; /* 0 = it is free */
	__u64 pc;    /* of the wait */
	__u64 sp;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WORKS);
	__type(key, __u32);
	__type(value, struct work);
} works SEC(".maps");

typedef int work_function(struct bpf_map *map, void *key, void *work);

/* Linux 6.18 and later; elsewhere the other program is loaded. */
extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work,
					      void *map, work_function *function,
					      void *aux) __ksym __weak;

/* A task work may lose its CPU to another one: each takes a room. Returns its number; ROOMS = none is free. */
static __u32 room_take(void)
{
	__u32 at = bpf_get_smp_processor_id();

	for (__u32 i = 0; i < ROOMS; i++, at++) {
		if (!__sync_val_compare_and_swap(&control.rooms[at & (ROOMS - 1)], 0, 1))
			return at & (ROOMS - 1);
	}
	return ROOMS;
}

/* Lean events are for always: where the budget is used up, the place of a wait is told still. */
static void tell_at_work(struct task_struct *task, struct nap *nap, struct pt_regs *regs)
{
	__u32 want = allowance(task, nap->slept_ns, bpf_ktime_get_ns());
	__u32 room = want || control.is_lean ? room_take() : ROOMS;
	struct raw_stack *raw;

	if (room >= ROOMS) {
		drop_stack(nap);
		return;
	}
	raw = stack_record(room);
	if (raw)
		stack_tell(raw, task, nap, regs, want);
	control.rooms[room & (ROOMS - 1)] = 0;
}

/* The thread leaves the kernel. Are its registers those that it waited with? It may begin another program. */
static int on_work(struct bpf_map *map, void *key, void *value)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct nap *nap = nap_find(task);
	struct work *work = value;

	(void)map;
	(void)key;
	if (nap && nap->flags & NAP_WORK) {
		if (is_told(task, nap)) {
			if (is_at(regs, work->pc, work->sp))
				tell_at_work(task, nap, regs);
			else
				__sync_fetch_and_add(&control.gone, 1);
		}
		nap_forget(nap);
	}
	work->at_ns = 0;
	return 0;
}

/* Returns whether the work is asked for. One that was asked for of a thread that has ended never runs. */
static int work_ask(__u32 at, struct task_struct *task, __u64 now_ns)
{
	struct work *work = bpf_map_lookup_elem(&works, &at);
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	__u64 was_ns;

	if (!work)
		return 0;
	was_ns = work->at_ns;
	if (was_ns && was_ns + NAP_OLD_NS > now_ns)
		return 0;
	if (__sync_val_compare_and_swap(&work->at_ns, was_ns, now_ns) != was_ns)
		return 0;
	put_place(regs, &work->pc, &work->sp);
	if (!bpf_task_work_schedule_resume_impl(task, &work->task_work, &works, on_work, NULL))
		return 1;
	work->at_ns = was_ns;
	return 0;
}

static int work_begin(struct task_struct *task, __u64 now_ns)
{
	for (__u32 i = 0; i < WORK_TRIES; i++) {
		if (work_ask(((__u32)task->pid + i) & (WORKS - 1), task, now_ns))
			return 1;
	}
	return 0;
}

/* A part of a wait as long as is told, or the last one of many short ones? */
static int nap_counts(struct nap *nap, __u64 slept_ns)
{
	return slept_ns >= control.min_ns / PART_OF_MIN || nap->short_ns + slept_ns >= SHORT_NS;
}

SEC("tp_btf/sched_waking")
int on_waking(__u64 *args)
{
	struct task_struct *task = (void *)args[0];
	struct nap *nap = nap_find(task);
	__u64 slept_ns = nap_end(nap);

	if (!nap || !slept_ns)
		return 0;
	if (nap->flags & NAP_WORK) {
		if (slept_ns >= control.min_ns)
			nap_note_kernel(nap, task);
		return 0;
	}
	if (!nap_counts(nap, slept_ns)) {
		nap->short_ns += slept_ns;
		nap_forget(nap);
		return 0;
	}
	if (task->flags & TO_NO_USER || task_is_ours(task)) {
		nap_forget(nap);
		return 0;
	}
	if (slept_ns >= control.min_ns)
		nap_note_kernel(nap, task);
	nap->flags |= NAP_WORK;
	if (!work_begin(task, nap->end_ns)) {
		if (is_told(task, nap))
			drop_stack(nap);
		nap_forget(nap);
	}
	return 0;
}

/* Attached where works come late: before the thread leaves the kernel. The work finds nothing to do then. */
SEC("tp_btf/sys_exit")
int on_exit(__u64 *args)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct nap *nap = nap_find(task);

	if (!nap || !(nap->flags & NAP_WORK))
		return 0;
	if (is_told(task, nap))
		tell_at_work(task, nap, (struct pt_regs *)args[0]);
	nap_forget(nap);
	return 0;
}

#else

/* ------------------------------------------------------------------ without */

/* The thread may go on with anything before it is seen again: what is known is told now. */
static void tell_fault(struct task_struct *task, struct nap *nap, struct pt_regs *regs)
{
	struct raw_stack *raw = empty_head(0);

	if (!raw)
		return;
	raw->flags = RAW_STACK_FAULT;
	put_nap(raw, task, nap);
	(void)put_regs(raw, regs);
	send_head(raw);
}

/* With lean events the end of no call is seen: what can be told by who wakes it is. */
static void tell_lean(struct task_struct *task, struct nap *nap, struct pt_regs *regs)
{
	struct raw_stack *raw;

	if (task_is_ours(task))
		return;
	raw = empty_head(0);
	if (!raw)
		return;
	raw->flags |= RAW_STACK_LEAN | (nap->looked_ns ? RAW_STACK_LOOKED : 0);
	put_nap(raw, task, nap);
	(void)put_regs(raw, regs);
	if (in_call(regs)) {
		put_futex(raw, regs);
		put_futex_place(raw, task);
	} else {
		raw->flags |= RAW_STACK_FAULT;
	}
	send_head(raw);
}

/* Of a system call more is told at its end. */
SEC("tp_btf/sched_waking")
int on_waking(__u64 *args)
{
	struct task_struct *task = (void *)args[0];
	struct nap *nap = nap_find(task);
	__u64 slept_ns = nap_end(nap);
	struct pt_regs *regs;
	int is_call;

	if (!nap || !slept_ns)
		return 0;
	regs = (void *)bpf_task_pt_regs(task);
	is_call = !control.is_lean && in_call(regs);
	if (slept_ns >= control.min_ns) {
		nap_note_kernel(nap, task);
		if (control.is_lean)
			tell_lean(task, nap, regs);
		else if (!is_call)
			tell_fault(task, nap, regs);
	}
	if (!is_call)
		nap_forget(nap);
	return 0;
}

static void tell_at_exit(struct task_struct *task, struct nap *nap, struct pt_regs *regs)
{
	__u32 want = allowance(task, nap->slept_ns, bpf_ktime_get_ns());
	struct raw_stack *raw = want ? stack_record(bpf_get_smp_processor_id()) : NULL;

	if (raw)
		stack_tell(raw, task, nap, regs, want);
	else
		drop_stack(nap);
}

SEC("tp_btf/sys_exit")
int on_exit(__u64 *args)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct nap *nap = nap_place(task);

	if (!nap || nap->pid != (__u32)task->pid)
		nap = nap_make(task, bpf_ktime_get_ns());
	if (!nap || !nap->begin_ns)
		return 0;
	if (nap->begin_ns >= control.since_ns && is_told(task, nap))
		tell_at_exit(task, nap, (struct pt_regs *)args[0]);
	nap_forget(nap);
	return 0;
}

#endif

/* ------------------------------------------------------------------ births */

SEC("tp_btf/sched_process_fork")
int on_fork(__u64 *args)
{
	struct task_struct *parent = (void *)args[0], *child = (void *)args[1];
	struct nap *nap = nap_place(child);

	if (nap && nap->pid == (__u32)child->pid)
		nap_take(nap, child); /* of an earlier thread with this id */
	if (child->tgid != parent->tgid)
		python_fork(parent->tgid, child->tgid);
	(void)bpf_task_storage_get(&sleepers, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

/* The program that waited is gone. User space looks for Python now and then; one that ends soon would be over by then. */
SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *args)
{
	struct nap *nap = nap_find((void *)args[0]);
	__u64 begins = RAW_PYTHON_BEGINS;

	if (nap)
		nap_forget(nap);
	if (!control.ended && python_begins((void *)args[2]))
		(void)bpf_ringbuf_output(&ring, &begins, sizeof(begins), BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* ------------------------------------------------------------------ waits that are open */

/* At the start, and when the program is on again: that it sleeps already. */
static void note_asleep(struct task_struct *task, __u64 now_ns)
{
	struct sleeper *sleeper =
		bpf_task_storage_get(&sleepers, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct nap *nap = nap_find(task);

	if (nap && nap->begin_ns < control.since_ns)
		nap_forget(nap);
	if (!sleeper || !nap || nap->begin_ns || !(task->__state & TASK_ASLEEP))
		return;
	nap->flags = RAW_STACK_NO_BEGIN;
	nap->begin_ns = now_ns;
	nap->out_ns = now_ns;
}

static void tell_open(struct task_struct *task, struct nap *nap, __u64 now_ns, __u32 flags)
{
	struct raw_stack *raw = empty_head(1);
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

	if (!raw)
		return;
	put_nap(raw, task, nap);
	raw->flags |= flags | RAW_STACK_OPEN;
	raw->flags |= in_call(regs) ? 0 : RAW_STACK_FAULT;
	raw->end_ns = now_ns;
	raw->slept_ns += now_ns - nap->out_ns;
	raw->switches = task->nvcsw + task->nivcsw;
	raw->kernel_count = kernel_stack(task, raw->kernel);
	(void)put_regs(raw, regs);
	if (!(raw->flags & RAW_STACK_FAULT))
		put_futex(raw, regs);
	send_head(raw);
}

/* It sleeps since before the last look but one, and was not told of. Each costs user space to fetch its stack. */
static void tell_long(struct task_struct *task, struct nap *nap, __u64 now_ns)
{
	if (nap->looked_ns || now_ns - nap->out_ns < control.long_ns || !control.long_left ||
	    !in_call((void *)bpf_task_pt_regs(task)))
		return;
	control.long_left--;
	nap->looked_ns = now_ns;
	tell_open(task, nap, now_ns, RAW_STACK_LOOKED);
}

SEC("iter/task")
int on_each_thread(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u64 now_ns = bpf_ktime_get_ns();
	struct nap *nap;

	if (!task || !task->mm || task_is_ours(task))
		return 0;
	if (control.looks == RAW_LOOKS_FIRST)
		note_asleep(task, now_ns);
	if (control.looks == RAW_LOOKS_FIRST || !(task->__state & TASK_ASLEEP))
		return 0;
	nap = nap_find(task);
	if (!nap || !nap->out_ns || nap->out_ns < control.since_ns)
		return 0;
	if (control.looks == RAW_LOOKS_LAST && now_ns - nap->out_ns >= control.min_ns)
		tell_open(task, nap, now_ns, nap->looked_ns ? RAW_STACK_KNOWN : 0);
	if (control.looks == RAW_LOOKS_LONG)
		tell_long(task, nap, now_ns);
	return 0;
}
