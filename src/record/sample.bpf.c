/*
 * sample.bpf.c - tell in which code threads worked: a look at each CPU, many times a second.
 *
 * Called for a timer of each CPU (perf's cpu-clock). What ran is told with its registers, the top of
 * its stack, and the kernel's stack where it was in the kernel. Of the threads of the machine those
 * are meant that what is in 'roots' started, or all.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>

#include "bpf/kernel_stack.h"
#include "bpf/python_frames.h"
#include "bpf/raw_sample.h"
#include "bpf/raw_stack.h"
#include "bpf/ring.h"
#include "bpf/stack_copy.h"

#define SECOND_BITS 30 /* of ns: a second, nearly */

char LICENSE[] SEC("license") = "Dual MIT/GPL";

RING_MAP(ring, 1 << 22);

/* Processes that are meant, and what was seen of what they started: it stays so without its parent. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RAW_SAMPLE_PROCESSES);
	__type(key, __u32);
	__type(value, __u8);
} roots SEC(".maps");

struct raw_sample_control control;

static int is_meant(struct task_struct *task)
{
	__u32 tgid = task->tgid;
	const __u8 one = 1;

	if (tgid == control.recorder_tgid)
		return 0;
	if (control.takes_all || bpf_map_lookup_elem(&roots, &tgid))
		return 1;
	for (int i = 0; i < PARENTS; i++) {
		__u32 above;

		task = BPF_CORE_READ(task, real_parent);
		if (!task)
			return 0;
		above = BPF_CORE_READ(task, tgid);
		if (!bpf_map_lookup_elem(&roots, &above))
			continue;
		bpf_map_update_elem(&roots, &tgid, &one, BPF_ANY);
		return 1;
	}
	return 0;
}

/* Is there no more of the budget of this second? */
static int is_over(__u64 now_ns)
{
	if (control.second != now_ns >> SECOND_BITS) {
		control.second = now_ns >> SECOND_BITS;
		control.used = 0;
	}
	return control.used >= control.budget;
}

static void put_kernel(struct raw_stack *raw, void *ctx)
{
	long bytes = bpf_get_stack(ctx, raw->kernel, sizeof(raw->kernel), 0);

	raw->kernel_count = bytes > 0 ? bytes / sizeof(raw->kernel[0]) : 0;
}

static void put_user(struct raw_stack *raw, struct task_struct *task)
{
	__u64 from = put_regs(raw, (struct pt_regs *)bpf_task_pt_regs(task));
	__u32 want = control.used < control.budget / 2 ? RAW_STACK_MAX : control.stack_bytes;

	if (want > RAW_STACK_MAX)
		want = RAW_STACK_MAX;
	if (!(raw->flags & RAW_STACK_UNREAD))
		copy_stack(raw, from, stack_in_use(task, from, want));
	put_python(raw, task, &ring, control.wake_bytes, &control.lost);
}

/* What it starts is meant, too, whether or not it is looked at before its parent ends. */
SEC("tp_btf/sched_process_fork")
int on_fork(__u64 *args)
{
	struct task_struct *parent = (void *)args[0], *child = (void *)args[1];
	__u32 from = parent->tgid, tgid = child->tgid;
	const __u8 one = 1;

	if (tgid != from)
		python_fork(from, tgid);
	if (tgid != from && bpf_map_lookup_elem(&roots, &from))
		bpf_map_update_elem(&roots, &tgid, &one, BPF_ANY);
	return 0;
}

/* Its number may be given to another process. */
SEC("tp_btf/sched_process_exit")
int on_end(__u64 *args)
{
	struct task_struct *task = (void *)args[0];
	__u32 tgid = task->tgid;

	if (!task->signal->live.counter)
		bpf_map_delete_elem(&roots, &tgid);
	return 0;
}

SEC("perf_event")
int on_tick(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 now_ns = bpf_ktime_get_ns();
	struct raw_stack *raw;

	if (!task->pid || control.ended || !is_meant(task))
		return 0;
	if (is_over(now_ns)) {
		__sync_fetch_and_add(&control.over, 1);
		return 0;
	}
	raw = stack_record(bpf_get_smp_processor_id());
	if (!raw)
		return 0;
	raw->tid = task->pid;
	raw->tgid = task->tgid;
	raw->begin_ns = now_ns;
	raw->end_ns = now_ns;
	raw->flags = RAW_STACK_SAMPLE;
	if (BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
		raw->flags |= RAW_STACK_EXEC;
	put_kernel(raw, ctx);
	if (task->mm)
		put_user(raw, task);
	else
		raw->flags |= RAW_STACK_NO_USER;
	__sync_fetch_and_add(&control.used, raw->bytes);
	ring_send(&ring, raw, offsetof(struct raw_stack, stack) + (__u64)raw->bytes, sizeof(*raw),
		  control.wake_bytes, &control.lost);
	return 0;
}
