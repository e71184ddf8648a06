/*
 * pair.bpf.c - tell of a thread that passed a second event too long after a first one.
 *
 * Both programs run at whatever event of the kernel they are attached to, in the thread that the event
 * happens in. A number of a thread that was given out again is not the same one: its start tells. A third
 * one runs where threads end: who ends between the two is told when that is too late, and else forgotten.
 * Those that have not passed the second one yet are found by user space, which reads 'firsts'.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/raw_pair.h"

#define THREADS_MAX 65536 /* whose first event is the longest ago is forgotten then */

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct task_struct {
	__u64 start_time;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, THREADS_MAX);
	__type(key, __u32);
	__type(value, struct raw_pair_first);
} firsts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct raw_pair_control control;

static __u64 own_start(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, start_time);
}

static void first_passed(void)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)pid_tgid;
	struct raw_pair_first first = { .at_ns = bpf_ktime_get_ns(), .tgid = pid_tgid >> 32 };

	if (!tid)
		return;
	first.start_ns = own_start();
	bpf_map_update_elem(&firsts, &tid, &first, BPF_ANY);
}

static void tell(__u64 at_ns, __u64 apart_ns, __u32 has_ended)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct raw_pair raw = { .at_ns = at_ns,
				.apart_ns = apart_ns,
				.tid = (__u32)pid_tgid,
				.tgid = pid_tgid >> 32,
				.has_ended = has_ended };

	bpf_get_current_comm(raw.comm, sizeof(raw.comm));
	if (bpf_ringbuf_output(&ring, &raw, sizeof(raw), BPF_RB_FORCE_WAKEUP) == 0)
		control.is_armed = 0;
}

/* It is not between the two any more. While the recorder rests, that is all. */
static void thread_passed(__u32 has_ended)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct raw_pair_first *first = tid ? bpf_map_lookup_elem(&firsts, &tid) : NULL;
	__u64 now_ns, apart_ns;

	if (!first)
		return;
	now_ns = bpf_ktime_get_ns();
	apart_ns = now_ns - first->at_ns;
	if (control.is_armed && apart_ns > control.limit_ns && first->start_ns == own_start())
		tell(now_ns, apart_ns, has_ended);
	bpf_map_delete_elem(&firsts, &tid);
}

/* Events of the kernel, and points in programs: the kernel has a type of program for each. */
SEC("tp")
int on_first(void *context)
{
	(void)context;
	first_passed();
	return 0;
}

SEC("tp")
int on_second(void *context)
{
	(void)context;
	thread_passed(0);
	return 0;
}

SEC("kprobe")
int on_first_point(void *context)
{
	(void)context;
	first_passed();
	return 0;
}

SEC("kprobe")
int on_second_point(void *context)
{
	(void)context;
	thread_passed(0);
	return 0;
}

SEC("tp")
int on_exit(void *context)
{
	(void)context;
	thread_passed(1);
	return 0;
}
