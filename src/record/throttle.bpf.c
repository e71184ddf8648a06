/*
 * throttle.bpf.c - tell which threads a limit of their cgroup holds back.
 *
 * No event of the kernel tells it of a CPU quota: who is held back leaves its CPU as if it were
 * preempted. The scheduler's own fields do, as it leaves. Of requests that were held back it tells
 * for whom they were, as they are issued at last.
 *
 * It holds no lock, and follows pointers with checked reads.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>

#include "bpf/kernel_throttle.h"
#include "bpf/raw_throttle.h"
#include "bpf/ring.h"

#define HELD_MAX   16384
#define AFTER_NS   1000 /* the event that this belongs to is recorded by then */
#define POLICIES   6	/* of block devices, that keep something with a cgroup */
#define LIMITS_MAX 8	/* cgroups above each other that are looked at for limits */
#define WRITES	   1	/* lowest bit of the operations that do */

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Who is held back: where, and what the scheduler had counted then. */
struct held {
	__u64 since_ns;
	__u64 cfs_rq;
	__u64 counted_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2); /* of switches, and of requests: an interrupt may come between */
	__type(key, __u32);
	__type(value, struct raw_throttle);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HELD_MAX);
	__type(key, __u32);
	__type(value, struct held);
} all_held SEC(".maps");

struct raw_throttle_control control;

extern const void blk_throtl_dispatch_work_fn __ksym __weak;

static struct raw_throttle *empty_record(__u32 which)
{
	struct raw_throttle *raw = bpf_map_lookup_elem(&scratch, &which);

	if (raw)
		__builtin_memset(raw, 0, offsetof(struct raw_throttle, text));
	return raw;
}

static struct kernfs_node *node_above(struct kernfs_node *node)
{
	struct kernfs_node___new *new = (void *)node;

	if (bpf_core_field_exists(new->__parent))
		return BPF_CORE_READ(new, __parent);
	return BPF_CORE_READ(node, parent);
}

/* The names of the cgroup and of those above it; the root has none. */
static void put_cgroup(struct raw_throttle *raw, struct cgroup *cgroup)
{
	struct kernfs_node *node = BPF_CORE_READ(cgroup, kn);

	if (BPF_CORE_READ(cgroup, root, hierarchy_id))
		raw->flags |= RAW_FIRST_KIND;
	for (int i = 0; i < RAW_LEVEL_MAX && node; i++) {
		__u32 at = raw->text_bytes & (RAW_PATH_MAX - 1);
		long len = bpf_probe_read_kernel_str(raw->text + at, RAW_LEVEL_TEXT,
						     BPF_CORE_READ(node, name));

		node = node_above(node);
		if (len > 1 && at + RAW_LEVEL_TEXT <= RAW_PATH_MAX)
			raw->text_bytes = at + (len & (2 * RAW_LEVEL_TEXT - 1));
	}
}

/* ------------------------------------------------------------------ CPU quotas */

static int is_held(struct task_struct *task)
{
	struct task_struct___per_task *new = (void *)task;

	if (bpf_core_field_exists(new->throttled))
		return BPF_CORE_READ(new, throttled);
	return task->prio >= PRIO_FIRST_FAIR && BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

/* It is a bit beside others in new kernels. */
static int is_used_up(struct cfs_rq *cfs_rq)
{
	return BPF_CORE_READ_BITFIELD_PROBED(cfs_rq, throttled) &&
	       BPF_CORE_READ(cfs_rq, tg, cfs_bandwidth.quota) != ~0ull;
}

/* The innermost cgroup that has used up what it may. */
static struct cfs_rq *who_holds(struct task_struct *task)
{
	struct cfs_rq *cfs_rq = BPF_CORE_READ(task, se.cfs_rq), *first = cfs_rq;
	struct sched_entity *above = BPF_CORE_READ(task, se.parent);

	for (int i = 0; i < RAW_LEVEL_MAX && !is_used_up(cfs_rq); i++) {
		if (!above)
			return first;
		cfs_rq = BPF_CORE_READ(above, cfs_rq);
		above = BPF_CORE_READ(above, parent);
	}
	return cfs_rq;
}

/* What is counted of it up to now, what goes on included. */
static __u64 counted_ns(struct cfs_rq *cfs_rq, int goes_on)
{
	__u64 since, now;

	if (!bpf_core_field_exists(cfs_rq->throttled_clock_self_time))
		return 0;
	since = BPF_CORE_READ(cfs_rq, throttled_clock_self);
	now = BPF_CORE_READ(cfs_rq, rq, clock);
	return BPF_CORE_READ(cfs_rq, throttled_clock_self_time) +
	       (goes_on && since && now > since ? now - since : 0);
}

static void begin(struct task_struct *task)
{
	struct raw_throttle *raw = empty_record(0);
	struct cfs_rq *cfs_rq = who_holds(task);
	struct cfs_rq *own = BPF_CORE_READ(task, se.cfs_rq);
	struct held held = { .since_ns = bpf_ktime_get_ns(), .cfs_rq = (__u64)own };
	__u32 tid = task->pid;

	if (!raw)
		return;
	held.counted_ns = counted_ns(own, 1);
	if (bpf_map_update_elem(&all_held, &tid, &held, BPF_NOEXIST) == 0)
		__sync_fetch_and_add(&control.held, 1);
	raw->mono_ns = held.since_ns + AFTER_NS;
	raw->kind = RAW_THROTTLE_BEGIN;
	raw->tid = tid;
	raw->tgid = task->tgid;
	raw->limit[0] = BPF_CORE_READ(cfs_rq, tg, cfs_bandwidth.quota);
	raw->limit[1] = BPF_CORE_READ(cfs_rq, tg, cfs_bandwidth.period);
	put_cgroup(raw, BPF_CORE_READ(cfs_rq, tg, css.cgroup));
	RING_SEND(raw);
}

/* When it could run again, as the scheduler counts; where it does not: when it does. */
static __u64 end_of(const struct held *held)
{
	struct cfs_rq *cfs_rq = (struct cfs_rq *)held->cfs_rq;
	__u64 until = bpf_ktime_get_ns() - AFTER_NS; /* before it comes onto its CPU */
	__u64 counted = counted_ns(cfs_rq, 0);

	if (bpf_core_field_exists(cfs_rq->throttled_clock_self_time) &&
	    counted >= held->counted_ns && until > held->since_ns + counted - held->counted_ns)
		until = held->since_ns + counted - held->counted_ns;
	return until > held->since_ns + AFTER_NS ? until : held->since_ns + AFTER_NS;
}

static void end(struct task_struct *task)
{
	__u32 tid = task->pid;
	struct held *held = bpf_map_lookup_elem(&all_held, &tid);
	struct raw_throttle *raw = held ? empty_record(0) : NULL;

	if (!held || !raw)
		return;
	raw->mono_ns = end_of(held);
	raw->kind = RAW_THROTTLE_END;
	raw->tid = tid;
	raw->tgid = task->tgid;
	if (bpf_map_delete_elem(&all_held, &tid) == 0)
		__sync_fetch_and_add(&control.held, -1);
	RING_SEND(raw);
}

SEC("tp_btf/sched_switch")
int on_switch(__u64 *args)
{
	struct task_struct *prev = (void *)args[1], *next = (void *)args[2];

	if (control.held > 0)
		end(next);
	if (!prev->__state && prev->pid && !control.ended && is_held(prev))
		begin(prev);
	return 0;
}

/* -------------------------------------------------------------- requests held back */

/* Is this the work that issues what was held back? */
static int releases(struct task_struct *task)
{
	const void *work = &blk_throtl_dispatch_work_fn;
	struct kthread *kthread;
	struct worker *worker;

	if (!work || !(task->flags & PF_WORKER) || !bpf_core_field_exists(task->worker_private))
		return 0;
	kthread = BPF_CORE_READ(task, worker_private);
	worker = BPF_CORE_READ(kthread, data);
	return BPF_CORE_READ(worker, current_func) == work;
}

/* What the policy of limits keeps with the group; NULL = nothing. */
static struct throtl_grp *limits_of(struct blkcg_gq *group)
{
	struct throtl_data *all = BPF_CORE_READ(group, q, td);
	struct throtl_grp *limits = NULL;

	for (int i = 0; i < POLICIES && all; i++) {
		if (bpf_probe_read_kernel(&limits, sizeof(limits),
					  (void *)group +
						  bpf_core_field_offset(struct blkcg_gq, pd) +
						  i * sizeof(limits)))
			return NULL;
		if (limits && BPF_CORE_READ(limits, td) == all)
			return limits;
	}
	return NULL;
}

/* Limits of the group in one direction; false = it has none. */
static int read_limits(struct blkcg_gq *group, int write, __u64 limit[2])
{
	struct throtl_grp *limits = limits_of(group);
	__u64 bytes = ~0ull;
	__u32 requests = ~0u;
	/* Before 6.10 there were two of each: low, and max. */
	int many = bpf_core_field_size(limits->bps) > 2 * sizeof(bytes);
	int which = many ? 2 * write + 1 : write;

	if (!limits ||
	    bpf_probe_read_kernel(&bytes, sizeof(bytes),
				  (void *)limits + bpf_core_field_offset(struct throtl_grp, bps) +
					  which * sizeof(bytes)) ||
	    bpf_probe_read_kernel(&requests, sizeof(requests),
				  (void *)limits + bpf_core_field_offset(struct throtl_grp, iops) +
					  which * sizeof(requests)))
		return 0;
	limit[0] = bytes;
	limit[1] = requests == ~0u ? ~0ull : requests;
	return limit[0] != ~0ull || limit[1] != ~0ull;
}

static void put_limit(struct raw_throttle *raw, struct blkcg_gq *group)
{
	struct blkcg_gq *whose = NULL;
	__u64 limit[2];

	raw->limit[0] = raw->limit[1] = ~0ull;
	if (!bpf_core_type_exists(struct throtl_grp))
		return;
	for (int i = 0; i < LIMITS_MAX && group; i++) {
		if (read_limits(group, raw->write, limit)) {
			if (whose) {
				raw->flags |= RAW_ABOVE;
				break;
			}
			whose = group;
			raw->limit[0] = limit[0];
			raw->limit[1] = limit[1];
		}
		group = BPF_CORE_READ(group, parent);
	}
	if (whose)
		put_cgroup(raw, BPF_CORE_READ(whose, blkcg, css.cgroup));
}

static int on_request(struct request *request)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct raw_throttle *raw;
	struct gendisk *disk;

	if (control.ended || !releases(task) || !(raw = empty_record(1)))
		return 0;
	disk = BPF_CORE_READ(request, q, disk);
	raw->mono_ns = bpf_ktime_get_ns() + AFTER_NS;
	raw->kind = RAW_THROTTLE_IO;
	raw->tid = task->pid;
	raw->tgid = task->tgid;
	raw->dev = BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
	raw->sector = BPF_CORE_READ(request, __sector);
	raw->write = BPF_CORE_READ(request, cmd_flags) & WRITES;
	put_limit(raw, BPF_CORE_READ(request, bio, bi_blkg));
	RING_SEND(raw);
	return 0;
}

/* One of them comes first, and the other one may come later, in another thread. */
SEC("tp_btf/block_rq_insert")
int on_insert(__u64 *args)
{
	return on_request((struct request *)args[0]);
}

SEC("tp_btf/block_rq_issue")
int on_issue(__u64 *args)
{
	return on_request((struct request *)args[0]);
}

/* -------------------------------------------------------------- queues of devices */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u8);
} queues SEC(".maps");

static int is_kind(const struct raw_throttle *raw, __u32 at, const char *kind)
{
	for (int i = 0; i < 6; i++) {
		if (raw->text[at + i] != kind[i])
			return 0;
		if (!kind[i])
			break;
	}
	return 1;
}

static void put_setting(struct raw_throttle *raw, struct Qdisc *qdisc, __u32 kind)
{
	void *data = (void *)qdisc + bpf_core_field_offset(struct Qdisc, privdata);

	if (is_kind(raw, kind, "tbf") && bpf_core_type_exists(struct tbf_sched_data))
		raw->limit[0] = BPF_CORE_READ((struct tbf_sched_data *)data, rate.rate_bytes_ps);
	if (is_kind(raw, kind, "netem") && bpf_core_type_exists(struct netem_sched_data)) {
		raw->limit[0] = BPF_CORE_READ((struct netem_sched_data *)data, rate);
		raw->limit[1] = BPF_CORE_READ((struct netem_sched_data *)data, latency);
	}
}

/* Of each queue that a packet leaves, once: what it is. */
SEC("tp_btf/qdisc_dequeue")
int on_dequeue(__u64 *args)
{
	struct Qdisc *qdisc = (struct Qdisc *)args[0];
	__u64 key = args[0];
	__u8 one = 1;
	struct raw_throttle *raw;

	if (control.ended || !args[3] || bpf_map_lookup_elem(&queues, &key) ||
	    !(raw = empty_record(1)))
		return 0;
	bpf_map_update_elem(&queues, &key, &one, BPF_ANY);
	raw->mono_ns = bpf_ktime_get_ns();
	raw->kind = RAW_THROTTLE_QUEUE;
	bpf_probe_read_kernel_str(raw->text, 16,
				  (void *)BPF_CORE_READ(qdisc, dev_queue, dev) +
					  bpf_core_field_offset(struct net_device, name));
	bpf_probe_read_kernel_str(raw->text + 16, 16,
				  (void *)BPF_CORE_READ(qdisc, ops) +
					  bpf_core_field_offset(struct Qdisc_ops, id));
	raw->text_bytes = 32;
	put_setting(raw, qdisc, 16);
	RING_SEND(raw);
	return 0;
}
