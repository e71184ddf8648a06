/*
 * kernel_throttle.h - the fields of the scheduler, of cgroups and of requests that
 * throttle.bpf.c reads; see kernel.h.
 */
#ifndef RECORD_BPF_KERNEL_THROTTLE_H
#define RECORD_BPF_KERNEL_THROTTLE_H

#ifdef __bpf__

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	struct kernfs_node *parent;
	const char *name;
};

struct kernfs_node___new { /* since 6.15 */
	struct kernfs_node *__parent;
};

struct cgroup_root {
	int hierarchy_id; /* 0 = version 2 */
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

enum cgroup_subsys_id {
	memory_cgrp_id = 1, /* the kernel's own number is asked for */
};

struct css_set {
	struct cgroup_subsys_state *subsys[1]; /* read by address */
};

struct page_counter {
	struct {
		long counter;
	} usage; /* pages */
	unsigned long high;
	unsigned long max;
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
	struct page_counter memsw;
};

struct backing_dev_info {
	char dev_name[64];
};

struct bdi_writeback {
	struct backing_dev_info *bdi;
	struct cgroup_subsys_state *memcg_css;
};

struct cfs_bandwidth {
	__u64 quota;
	__s64 period;
};

struct rt_bandwidth {
	__s64 rt_period;
	__u64 rt_runtime;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_bandwidth cfs_bandwidth;
	struct rt_bandwidth rt_bandwidth; /* where groups of real-time threads have limits */
};

struct sched_dl_entity {
	__u64 dl_runtime;
	__u64 dl_period;
	unsigned int dl_throttled : 1;
	unsigned int dl_yielded : 1;
};

struct rt_rq {
	int rt_throttled;
	struct task_group *tg; /* where groups have limits */
	struct rq *rq;	       /* this too */
};

struct rq {
	__u64 clock;
	struct rt_rq rt;
	struct sched_dl_entity fair_server; /* since 6.12: other threads have some of the time */
};

struct sched_rt_entity {
	struct sched_rt_entity *parent; /* this too */
	struct rt_rq *rt_rq;
};

struct cfs_rq {
	struct rq *rq;
	struct task_group *tg;
	int throttled;
	int throttle_count; /* of it, and of those above */
	__u64 throttled_clock_self;
	__u64 throttled_clock_self_time;
};

struct sched_entity {
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq;
};

struct kernel_siginfo {
	int si_code;
};

struct rlimit {
	unsigned long rlim_cur;
	unsigned long rlim_max;
};

struct cpu_time { /* ns */
	long counter;
};

struct task_cputime_atomic {
	struct cpu_time utime;
	struct cpu_time stime;
};

struct thread_group_cputimer {
	struct task_cputime_atomic cputime_atomic;
};

struct signal_struct {
	struct thread_group_cputimer cputimer;
	struct rlimit rlim[16];
};

struct pid {
	unsigned int level; /* of its namespace: 0 is the first */
};

struct task_struct {
	struct pid *thread_pid;
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	int prio;
	unsigned int policy;
	int exit_code;
	char comm[16];
	struct signal_struct *signal;
	struct sched_entity se;
	struct sched_rt_entity rt;
	struct sched_dl_entity dl;
	void *worker_private;
	struct css_set *cgroups;
	unsigned int memcg_nr_pages_over_high;
};

struct task_struct___per_task { /* since 6.18: each thread of the group is held back by itself */
	_Bool throttled;
};

#define PF_WORKER	0x20
#define PRIO_DEADLINE	(-1)
#define PRIO_HIGHEST	0 /* also of the kernel's threads that stop all others on a CPU */
#define PRIO_FIRST_FAIR 100

struct kthread {
	void *data;
};

struct worker {
	void *current_func;
};

struct throtl_data;

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg_gq *parent;
	struct blkcg *blkcg;
	struct request_queue *q;
	void *pd[6];
};

struct throtl_grp {
	struct throtl_data *td;
	__u64 bps[2];
	unsigned int iops[2];
};

struct Qdisc_ops {
	char id[16];
};

struct net_device {
	char name[16];
};

struct netdev_queue {
	struct net_device *dev;
};

struct Qdisc {
	const struct Qdisc_ops *ops;
	struct netdev_queue *dev_queue;
	long privdata[1]; /* read by address */
};

struct psched_ratecfg {
	__u64 rate_bytes_ps;
};

struct tbf_sched_data {
	struct psched_ratecfg rate;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct Qdisc_class_common {
	struct hlist_node hnode;
};

struct Qdisc_class_hash {
	struct hlist_head *hash;
	unsigned int hashsize;
	unsigned int hashelems;
};

struct htb_class {
	struct Qdisc_class_common common;
	struct psched_ratecfg ceil;
};

struct htb_sched {
	struct Qdisc_class_hash clhash;
};

struct netem_sched_data {
	__s64 latency;
	__u64 rate;
};

struct gendisk {
	int major;
	int first_minor;
};

struct block_device {
	struct gendisk *bd_disk;
};

struct bio {
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct {
		unsigned int bi_size;
	} bi_iter;
	struct blkcg_gq *bi_blkg;
};

struct request_queue {
	struct throtl_data *td;
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	__u64 __sector;
	struct bio *bio;
};

#pragma clang attribute pop

#endif /* __bpf__ */

#endif
