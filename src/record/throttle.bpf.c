/*
 * throttle.bpf.c - tell which threads a limit of their cgroup holds back.
 *
 * No event of the kernel tells it of a CPU quota: who is held back leaves its CPU as if it were
 * preempted. The scheduler's own fields do, as it leaves. Of requests that were held back it tells
 * for whom they were, as they are issued at last. Of reclaim it tells for which cgroup it is.
 *
 * It holds no lock, and follows pointers with checked reads.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>

#include "bpf/calls.h"
#include "bpf/kernel_throttle.h"
#include "bpf/raw_throttle.h"
#include "bpf/ring.h"

#define HELD_MAX       16384
#define AFTER_NS       1000 /* the event that this belongs to is recorded by then */
#define POLICIES       6    /* of block devices, that keep something with a cgroup */
#define LIMITS_MAX     8    /* cgroups above each other that are looked at for limits */
#define BATCH	       64   /* pages that are asked for at once */
#define NEARLY_NOTHING 1024 /* pages: a batch of them, or a huge one, did not fit */
#define TELL_AGAIN_NS  100000000ull
#define CLASSES_TOLD   100u
#define BUCKETS_MAX    16 /* of a queue with a single class */
#define WRITES	       1  /* lowest bit of the operations that do */
#define LIMIT_CPU      0  /* RLIMIT_CPU */
#define SECOND_NS      1000000000ull
#define POLICY_IDLE    5 /* SCHED_IDLE */
#define SIGNAL_KILL    9
#define SIGNAL_CPU     24
#define SIGNAL_OF_EXIT 0x7f /* in the code of an exit */
#define FROM_TIMER     (-2) /* SI_TIMER */

/* CHLD, CONT, STOP, TSTP, TTIN, TTOU, URG, WINCH: by default these end nothing. */
#define HARMLESS \
	(1u << 17 | 1u << 18 | 1u << 19 | 1u << 20 | 1u << 21 | 1u << 22 | 1u << 23 | 1u << 28)

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Who is held back: where, and what the scheduler had counted then. */
struct held {
	__u64 since_ns;
	__u64 cfs_rq;
	__u64 counted_ns;
};

/* Programs that may come between each other on a CPU have records of their own. */
enum scratch {
	SCRATCH_SWITCH,
	SCRATCH_REQUEST,
	SCRATCH_RECLAIM,
	SCRATCH_DIRTY,
	SCRATCH_KILLED,
	SCRATCHES
};

RING_MAP(ring, 1 << 18);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
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

static struct raw_throttle *empty_record(enum scratch of)
{
	__u32 which = of;
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
	struct raw_throttle *raw = empty_record(SCRATCH_SWITCH);
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
	struct raw_throttle *raw = held ? empty_record(SCRATCH_SWITCH) : NULL;

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

/* ------------------------------------------------------- real-time threads */

static void put_deadline(struct raw_throttle *raw, struct task_struct *task)
{
	raw->limit[0] = BPF_CORE_READ(task, dl.dl_runtime);
	raw->limit[1] = BPF_CORE_READ(task, dl.dl_period);
}

/* The innermost cgroup whose real-time threads have used up what they may; NULL = none. */
static struct task_group *real_time_group(struct task_struct *task)
{
	struct sched_rt_entity *at = &task->rt;
	struct rt_rq *rt_rq = NULL;

	if (!bpf_core_field_exists(rt_rq->tg) || !bpf_core_field_exists(at->parent))
		return NULL;
	for (int i = 0; i < RAW_LEVEL_MAX && at; i++) {
		rt_rq = BPF_CORE_READ(at, rt_rq);
		if (BPF_CORE_READ(rt_rq, rt_throttled))
			return BPF_CORE_READ(rt_rq, tg);
		at = BPF_CORE_READ(at, parent);
	}
	return NULL;
}

/* Of the CPU that it is on; NULL = not known. Without groups of real-time threads only the fair class notes it. */
static struct rq *run_queue(struct task_struct *task)
{
	struct rt_rq *rt_rq = NULL;

	if (bpf_core_field_exists(task->rt.rt_rq) && bpf_core_field_exists(rt_rq->rq))
		return BPF_CORE_READ(task, rt.rt_rq, rq);
	if (bpf_core_field_exists(task->se.cfs_rq))
		return BPF_CORE_READ(task, se.cfs_rq, rq);
	return NULL;
}

static int is_used_up_by_all(struct rq *rq)
{
	return rq && !bpf_core_field_exists(rq->rt.tg) &&
	       bpf_core_field_exists(rq->rt.rt_throttled) && BPF_CORE_READ(rq, rt.rt_throttled);
}

static void put_real_time(struct raw_throttle *raw, struct task_struct *task)
{
	struct task_group *group = real_time_group(task);
	struct rq *rq = run_queue(task);

	if (group) {
		raw->sector = RAW_REAL_TIME_GROUP;
		raw->limit[0] = BPF_CORE_READ(group, rt_bandwidth.rt_runtime);
		raw->limit[1] = BPF_CORE_READ(group, rt_bandwidth.rt_period);
		put_cgroup(raw, BPF_CORE_READ(group, css.cgroup));
	} else if (is_used_up_by_all(rq)) {
		raw->sector = RAW_REAL_TIME_MACHINE;
	} else if (rq && bpf_core_field_exists(rq->fair_server)) {
		raw->sector = RAW_REAL_TIME_SERVER;
		raw->limit[0] = BPF_CORE_READ(rq, fair_server.dl_runtime);
		raw->limit[1] = BPF_CORE_READ(rq, fair_server.dl_period);
	} else {
		raw->sector = RAW_REAL_TIME_OTHER;
	}
}

/* It may run, and has a right before others: one that has none runs instead. */
static void real_time(struct task_struct *task, struct task_struct *next)
{
	int is_deadline = task->prio == PRIO_DEADLINE;
	struct raw_throttle *raw;

	if (is_deadline ? !BPF_CORE_READ_BITFIELD_PROBED(task, dl.dl_throttled) ||
				  BPF_CORE_READ_BITFIELD_PROBED(task, dl.dl_yielded)
			: task->prio <= PRIO_HIGHEST || next->prio < PRIO_FIRST_FAIR)
		return;
	raw = empty_record(SCRATCH_SWITCH);
	if (!raw)
		return;
	raw->mono_ns = bpf_ktime_get_ns() + AFTER_NS;
	raw->kind = RAW_THROTTLE_REAL_TIME;
	raw->tid = task->pid;
	raw->tgid = task->tgid;
	if (is_deadline)
		put_deadline(raw, task);
	else
		put_real_time(raw, task);
	RING_SEND(raw);
}

static void send_now(struct raw_throttle *raw)
{
	if (bpf_ringbuf_output(&ring, raw, offsetof(struct raw_throttle, text),
			       BPF_RB_FORCE_WAKEUP))
		__sync_fetch_and_add(&control.lost, 1);
}

/* A thread sets how it is scheduled itself, as most do: it may soon be held back. */
static void set_policy(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct raw_throttle *raw;

	if (control.ended || !(raw = empty_record(SCRATCH_REQUEST)))
		return;
	raw->mono_ns = bpf_ktime_get_ns();
	raw->kind = task->prio >= PRIO_FIRST_FAIR ? RAW_THROTTLE_IDLE : RAW_THROTTLE_SET;
	raw->tid = task->pid;
	raw->tgid = task->tgid;
	raw->limit[0] = task->prio >= PRIO_FIRST_FAIR && task->policy != POLICY_IDLE;
	if (task->prio == PRIO_DEADLINE)
		put_deadline(raw, task);
	send_now(raw);
}

SEC("tracepoint/syscalls/sys_exit_sched_setattr")
int on_setattr(__u64 *unused)
{
	(void)unused;
	set_policy();
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_sched_setscheduler")
int on_setscheduler(__u64 *unused)
{
	(void)unused;
	set_policy();
	return 0;
}

/* Which CPUs a thread may use. Others' numbers are ours only in the first pid namespace. */
SEC("tracepoint/syscalls/sys_exit_sched_setaffinity")
int on_setaffinity(__u64 *unused)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	__u32 tid = (__u32)CALL_ARG1(regs);
	struct raw_throttle *raw;

	(void)unused;
	if (tid && tid != (__u32)task->pid && BPF_CORE_READ(task, thread_pid, level))
		return 0;
	if (control.ended || !(raw = empty_record(SCRATCH_REQUEST)))
		return 0;
	raw->mono_ns = bpf_ktime_get_ns();
	raw->kind = RAW_THROTTLE_ALLOWED;
	raw->tid = tid ? tid : (__u32)task->pid;
	raw->tgid = task->tgid;
	send_now(raw);
	return 0;
}

SEC("tp_btf/sched_switch")
int on_switch(__u64 *args)
{
	struct task_struct *prev = (void *)args[1], *next = (void *)args[2];

	if (control.held > 0)
		end(next);
	if (prev->__state || !prev->pid || control.ended)
		return 0;
	if (prev->prio < PRIO_FIRST_FAIR)
		real_time(prev, next);
	else if (is_held(prev))
		begin(prev);
	return 0;
}

/* -------------------------------------------------------------- requests held back */

/* Is this the work that issues what was held back? */
static int releases(struct task_struct *task)
{
	struct kthread *kthread;
	struct worker *worker;

	if (!control.dispatch || !(task->flags & PF_WORKER) ||
	    !bpf_core_field_exists(task->worker_private))
		return 0;
	kthread = BPF_CORE_READ(task, worker_private);
	worker = BPF_CORE_READ(kthread, data);
	return (__u64)BPF_CORE_READ(worker, current_func) == control.dispatch;
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

static struct raw_throttle *released_record(struct gendisk *disk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct raw_throttle *raw = empty_record(SCRATCH_REQUEST);

	if (!raw)
		return NULL;
	raw->mono_ns = bpf_ktime_get_ns() + AFTER_NS;
	raw->kind = RAW_THROTTLE_IO;
	raw->tid = task->pid;
	raw->tgid = task->tgid;
	raw->dev = BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
	return raw;
}

static int on_request(struct request *request)
{
	struct raw_throttle *raw;

	if (control.ended || !releases(bpf_get_current_task_btf()) ||
	    !(raw = released_record(BPF_CORE_READ(request, q, disk))))
		return 0;
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

/* A flush of the device is not inserted: others issue it later, maybe for several at once. */
SEC("tp_btf/block_getrq")
int on_getrq(__u64 *args)
{
	struct bio *bio = (struct bio *)args[0];
	struct raw_throttle *raw;

	if (control.ended || BPF_CORE_READ(bio, bi_iter.bi_size) ||
	    !releases(bpf_get_current_task_btf()) ||
	    !(raw = released_record(BPF_CORE_READ(bio, bi_bdev, bd_disk))))
		return 0;
	raw->mono_ns -= AFTER_NS;
	raw->write = BPF_CORE_READ(bio, bi_opf) & WRITES;
	put_limit(raw, BPF_CORE_READ(bio, bi_blkg));
	RING_SEND(raw);
	return 0;
}

/* -------------------------------------------------------------- queues of devices */

/* What was told of a queue, and when it was looked at. */
struct queue {
	__u64 looked_ns;
	__u64 limit[2];
	__u64 classes;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct queue);
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

/* Of the only class of such a queue: what it may have at most. Of several, which one it was is not known. */
static void put_class(struct raw_throttle *raw, struct htb_sched *htb)
{
	struct hlist_head *hash = BPF_CORE_READ(htb, clhash.hash);
	__u32 count = BPF_CORE_READ(htb, clhash.hashelems);
	struct hlist_node *node = NULL;

	raw->classes = count < CLASSES_TOLD ? count : CLASSES_TOLD;
	for (__u32 i = 0; i < BUCKETS_MAX && count == 1 && !node; i++) {
		if (i < BPF_CORE_READ(htb, clhash.hashsize) &&
		    bpf_probe_read_kernel(&node, sizeof(node), hash + i))
			return;
	}
	if (node)
		raw->limit[0] = BPF_CORE_READ(
			(struct htb_class *)((void *)node -
					     bpf_core_field_offset(struct htb_class, common.hnode)),
			ceil.rate_bytes_ps);
}

static void put_setting(struct raw_throttle *raw, struct Qdisc *qdisc, __u32 kind)
{
	void *data = (void *)qdisc + bpf_core_field_offset(struct Qdisc, privdata);

	if (is_kind(raw, kind, "tbf") && bpf_core_type_exists(struct tbf_sched_data))
		raw->limit[0] = BPF_CORE_READ((struct tbf_sched_data *)data, rate.rate_bytes_ps);
	if (is_kind(raw, kind, "htb") && bpf_core_type_exists(struct htb_sched))
		put_class(raw, data);
	if (is_kind(raw, kind, "netem") && bpf_core_type_exists(struct netem_sched_data)) {
		raw->limit[0] = BPF_CORE_READ((struct netem_sched_data *)data, rate);
		raw->limit[1] = BPF_CORE_READ((struct netem_sched_data *)data, latency);
	}
}

/* Is that not what was told of it? What it is now is kept. */
static int is_new_setting(__u64 key, const struct raw_throttle *raw)
{
	struct queue queue = { raw->mono_ns, { raw->limit[0], raw->limit[1] }, raw->classes };
	struct queue *told = bpf_map_lookup_elem(&queues, &key);
	int is_new = !told || told->limit[0] != queue.limit[0] ||
		     told->limit[1] != queue.limit[1] || told->classes != queue.classes;

	bpf_map_update_elem(&queues, &key, &queue, BPF_ANY);
	return is_new;
}

/* Of each queue that a packet leaves: what it is, and what that has become, looked at now and then. */
SEC("tp_btf/qdisc_dequeue")
int on_dequeue(__u64 *args)
{
	struct Qdisc *qdisc = (struct Qdisc *)args[0];
	__u64 key = args[0], now = bpf_ktime_get_ns();
	struct queue *told = bpf_map_lookup_elem(&queues, &key);
	struct raw_throttle *raw;

	if (control.ended || !args[3] || (told && now - told->looked_ns < TELL_AGAIN_NS) ||
	    !(raw = empty_record(SCRATCH_REQUEST)))
		return 0;
	raw->mono_ns = now;
	raw->kind = RAW_THROTTLE_QUEUE;
	bpf_probe_read_kernel_str(raw->text, 16,
				  (void *)BPF_CORE_READ(qdisc, dev_queue, dev) +
					  bpf_core_field_offset(struct net_device, name));
	bpf_probe_read_kernel_str(raw->text + 16, 16,
				  (void *)BPF_CORE_READ(qdisc, ops) +
					  bpf_core_field_offset(struct Qdisc_ops, id));
	raw->text_bytes = 32;
	put_setting(raw, qdisc, 16);
	if (is_new_setting(key, raw))
		RING_SEND(raw);
	return 0;
}

/* -------------------------------------------------------------- limits of memory */

/* What was told of a thread last, and when. */
struct told {
	__u64 of;
	__u64 ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64); /* thread, and enum raw_throttle_kind above it */
	__type(value, struct told);
} all_told SEC(".maps");

/* Is it another thing than the last time, or long ago? */
static int is_news(__u32 kind, __u64 of)
{
	struct told told = { of, bpf_ktime_get_ns() }, *last;
	__u64 key = (__u64)kind << 32 | (__u32)bpf_get_current_pid_tgid();

	last = bpf_map_lookup_elem(&all_told, &key);
	if (last && last->of == of && told.ns - last->ns < TELL_AGAIN_NS)
		return 0;
	bpf_map_update_elem(&all_told, &key, &told, BPF_ANY);
	return 1;
}

static struct raw_throttle *current_record(__u8 kind, enum scratch of)
{
	struct raw_throttle *raw = control.ended ? NULL : empty_record(of);
	__u64 id = bpf_get_current_pid_tgid();

	if (!raw)
		return NULL;
	raw->mono_ns = bpf_ktime_get_ns();
	raw->kind = kind;
	raw->tid = id;
	raw->tgid = id >> 32;
	return raw;
}

/* What a thread that reclaims for its cgroup or one above it does that for. */
struct limit {
	struct mem_cgroup *memcg;
	__u64 pages;
	__u64 left; /* until the limit */
	__u8 kind;
	__u8 flags;
	__u8 several; /* another cgroup has next to nothing left, too: it may be that one's */
};

/* Not on the stack, of which the verifier would follow each value on each way. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct limit);
} limits SEC(".maps");

static void try_counter(struct limit *limit, struct mem_cgroup *memcg, struct page_counter *counter,
			__u8 flags)
{
	__u64 max = BPF_CORE_READ(counter, max), usage = BPF_CORE_READ(counter, usage.counter);
	__u64 left = max > usage ? max - usage : 0;

	if (left < NEARLY_NOTHING && limit->memcg && limit->memcg != memcg)
		limit->several = 1;
	if (left >= limit->left)
		return;
	*limit = (struct limit){ memcg, max, left, RAW_THROTTLE_RECLAIM, flags, limit->several };
}

/*
 * The one that has next to nothing left, where it is one alone. At memory.high a thread reclaims with
 * more left than a batch, mostly.
 */
static struct limit *find_limit(struct cgroup_subsys_state *css)
{
	__u32 first = 0, second = 1;
	struct limit *out = bpf_map_lookup_elem(&limits, &first);
	struct limit *over = bpf_map_lookup_elem(&limits, &second);

	if (!out || !over)
		return NULL;
	*out = *over = (struct limit){ .left = NEARLY_NOTHING };
	for (int i = 0; i < LIMITS_MAX && css; i++) {
		struct mem_cgroup *memcg = (void *)css; /* its first member */
		__u64 high = BPF_CORE_READ(memcg, memory.high);

		try_counter(out, memcg, &memcg->memory, 0);
		if (BPF_CORE_READ(css, cgroup, root, hierarchy_id))
			try_counter(out, memcg, &memcg->memsw, RAW_SWAP);
		if (!over->memcg && (__u64)BPF_CORE_READ(memcg, memory.usage.counter) > high)
			*over = (struct limit){ memcg, high, 0, RAW_THROTTLE_HIGH, 0, 0 };
		css = BPF_CORE_READ(css, parent);
	}
	return over->memcg && out->left >= BATCH ? over : out;
}

static struct cgroup_subsys_state *memory_css(struct task_struct *task)
{
	__u32 id = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = NULL;

	(void)bpf_probe_read_kernel(&css, sizeof(css),
				    (void *)set + bpf_core_field_offset(struct css_set, subsys) +
					    id * sizeof(css));
	return css;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int on_reclaim(__u64 *args)
{
	struct limit *limit = find_limit(memory_css(bpf_get_current_task_btf()));
	struct mem_cgroup *memcg;
	struct raw_throttle *raw;

	(void)args;
	if (!limit)
		return 0;
	memcg = limit->several ? NULL : limit->memcg;
	if (!is_news(RAW_THROTTLE_RECLAIM, (__u64)memcg | limit->flags | limit->kind))
		return 0;
	raw = current_record(RAW_THROTTLE_RECLAIM, SCRATCH_RECLAIM);
	if (!raw)
		return 0;
	if (memcg) {
		raw->kind = limit->kind;
		raw->limit[0] = limit->pages;
		raw->flags |= limit->flags;
		put_cgroup(raw, BPF_CORE_READ(memcg, css.cgroup));
	}
	RING_SEND(raw);
	return 0;
}

/* As it begins: the threads of the cgroup are woken right after that. */
static void tell_freezer(struct cgroup *cgroup, enum raw_throttle_kind kind)
{
	struct raw_throttle *raw = current_record(kind, SCRATCH_REQUEST);

	if (!raw)
		return;
	put_cgroup(raw, cgroup);
	RING_SEND(raw);
}

SEC("tp_btf/cgroup_freeze")
int on_freeze(__u64 *args)
{
	tell_freezer((struct cgroup *)args[0], RAW_THROTTLE_FREEZES);
	return 0;
}

SEC("tp_btf/cgroup_unfreeze")
int on_unfreeze(__u64 *args)
{
	tell_freezer((struct cgroup *)args[0], RAW_THROTTLE_THAWS);
	return 0;
}

SEC("tp_btf/balance_dirty_pages")
int on_dirty(__u64 *args)
{
	struct bdi_writeback *writeback = (void *)args[0];
	struct cgroup_subsys_state *css;
	struct raw_throttle *raw;

	if (!is_news(RAW_THROTTLE_DIRTY, args[0]) ||
	    !(raw = current_record(RAW_THROTTLE_DIRTY, SCRATCH_DIRTY)))
		return 0;
	bpf_probe_read_kernel_str(raw->text, RAW_DEVICE_TEXT,
				  (void *)BPF_CORE_READ(writeback, bdi) +
					  bpf_core_field_offset(struct backing_dev_info, dev_name));
	raw->text_bytes = RAW_DEVICE_TEXT;
	css = bpf_core_field_exists(writeback->memcg_css) ? BPF_CORE_READ(writeback, memcg_css)
							  : NULL;
	if (css)
		put_cgroup(raw, BPF_CORE_READ(css, cgroup));
	RING_SEND(raw);
	return 0;
}

/* ------------------------------------------------------------ what ends processes */

struct killed {
	__u64 limit[2];
	__u64 ns;
	__u32 why; /* enum raw_killed */
	__u32 signal;
	char comm[16];
	__u8 told;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* process */
	__type(value, struct killed);
} all_killed SEC(".maps");

/* Whom a thread has just killed for the kernel. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u32);
} victims SEC(".maps");

/* The kernel's own sum, by which it decides; the times are kept while there is such a limit. */
static int is_over(struct signal_struct *process, __u64 seconds)
{
	__u64 ns = BPF_CORE_READ(process, cputimer.cputime_atomic.utime.counter) +
		   BPF_CORE_READ(process, cputimer.cputime_atomic.stime.counter);

	return seconds < ~0ull / SECOND_NS && ns >= seconds * SECOND_NS;
}

/* A signal of the kernel's own: one of the two limits? */
static void put_cpu_limit(struct killed *killed, struct task_struct *task)
{
	struct signal_struct *process = BPF_CORE_READ(task, signal);
	__u32 me = bpf_get_current_pid_tgid() >> 32;

	killed->limit[0] = BPF_CORE_READ(process, rlim[LIMIT_CPU].rlim_cur);
	killed->limit[1] = BPF_CORE_READ(process, rlim[LIMIT_CPU].rlim_max);
	if (me != (__u32)task->tgid)
		return;
	if (killed->signal == SIGNAL_CPU && is_over(process, killed->limit[0]))
		killed->why = RAW_KILLED_SOFT;
	else if (killed->signal == SIGNAL_KILL && is_over(process, killed->limit[1]))
		killed->why = RAW_KILLED_HARD;
}

/* Who is current has sent it, but for signals of timers and of the kernel's own. */
static void put_sender(struct killed *killed, struct task_struct *task, struct kernel_siginfo *info)
{
	__u64 id = bpf_get_current_pid_tgid();
	int code = info ? BPF_CORE_READ(info, si_code) : 0;

	if (code > 0 || code == FROM_TIMER || id >> 32 == (__u32)task->tgid)
		return;
	killed->why = RAW_KILLED_SENT;
	killed->limit[0] = (__u32)id;
	bpf_get_current_comm(killed->comm, sizeof(killed->comm));
}

SEC("tp_btf/signal_generate")
int on_signal(__u64 *args)
{
	struct task_struct *task = (struct task_struct *)args[2];
	struct kernel_siginfo *info = (struct kernel_siginfo *)args[1];
	struct killed killed = { .ns = bpf_ktime_get_ns(),
				 .why = RAW_KILLED_OTHER,
				 .signal = (__u32)args[0] };
	__u32 tgid = task->tgid, me = bpf_get_current_pid_tgid();

	if (control.ended || args[4] || (killed.signal < 32 && HARMLESS >> killed.signal & 1))
		return 0;
	if ((__u64)info != 1) { /* SEND_SIG_PRIV */
		put_sender(&killed, task, info);
	} else {
		put_cpu_limit(&killed, task);
		if (killed.signal == SIGNAL_KILL)
			bpf_map_update_elem(&victims, &me, &tgid, BPF_ANY);
	}
	bpf_map_update_elem(&all_killed, &tgid, &killed, BPF_ANY);
	return 0;
}

static struct raw_throttle *killed_record(struct killed *killed, __u32 tgid)
{
	struct raw_throttle *raw = empty_record(SCRATCH_KILLED);

	if (!raw || killed->told)
		return NULL;
	killed->told = 1;
	raw->mono_ns = killed->ns + AFTER_NS;
	raw->kind = RAW_THROTTLE_KILLED;
	raw->tid = raw->tgid = tgid;
	raw->dev = killed->signal;
	raw->sector = killed->why;
	raw->limit[0] = killed->limit[0];
	raw->limit[1] = killed->limit[1];
	return raw;
}

/* Right after the signal, by who asked for memory. */
SEC("tp_btf/mark_victim")
int on_victim(__u64 *args)
{
	__u32 me = bpf_get_current_pid_tgid(), *tgid = bpf_map_lookup_elem(&victims, &me);
	struct killed *killed = tgid ? bpf_map_lookup_elem(&all_killed, tgid) : NULL;
	struct raw_throttle *raw = killed ? killed_record(killed, *tgid) : NULL;
	struct mem_cgroup *memcg;
	struct limit *limit;

	(void)args;
	if (!raw)
		return 0;
	raw->sector = RAW_KILLED_MEMORY;
	raw->limit[0] = 0;
	raw->limit[1] =
		*tgid == bpf_get_current_pid_tgid() >> 32 ? 0 : bpf_get_current_pid_tgid() >> 32;
	limit = find_limit(memory_css(bpf_get_current_task_btf()));
	memcg = limit && !limit->several && limit->left < BATCH ? limit->memcg : NULL;
	if (memcg && limit->kind == RAW_THROTTLE_RECLAIM) {
		raw->limit[0] = limit->pages;
		raw->flags |= limit->flags;
		put_cgroup(raw, BPF_CORE_READ(memcg, css.cgroup));
	}
	RING_SEND(raw);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *args)
{
	struct task_struct *task = (struct task_struct *)args[0];
	__u32 tgid = task->tgid, signal = task->exit_code & SIGNAL_OF_EXIT;
	struct killed *killed;
	struct raw_throttle *raw;

	if ((__u32)task->pid != tgid || !signal || control.ended)
		return 0;
	killed = bpf_map_lookup_elem(&all_killed, &tgid);
	raw = killed && killed->signal == signal ? killed_record(killed, tgid) : NULL;
	if (!raw)
		return 0;
	if (killed->why == RAW_KILLED_SENT) {
		__builtin_memcpy(raw->text, killed->comm, sizeof(killed->comm));
		raw->text_bytes = sizeof(killed->comm);
	}
	RING_SEND(raw);
	return 0;
}
