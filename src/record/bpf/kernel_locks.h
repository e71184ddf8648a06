/*
 * kernel_locks.h - the fields of kernel structures that tell what a lock belongs to.
 *
 * As kernel.h: names and rough types alone matter.
 */
#ifndef RECORD_BPF_KERNEL_LOCKS_H
#define RECORD_BPF_KERNEL_LOCKS_H

#ifdef __bpf__ /* as kernel.h, which is not used beside it */

#include <linux/types.h>

#include "bpf/calls.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	long counter;
} klock_word;

struct list_head {
	struct list_head *next;
};

struct mutex {
	klock_word owner;
	struct list_head wait_list;
};

struct rw_semaphore {
	klock_word owner;
	struct list_head wait_list;
};

struct mutex_waiter {
	struct list_head list;
	struct task_struct *task;
};

struct rwsem_waiter {
	struct list_head list;
	struct task_struct *task;
};

struct rt_mutex_base {
	struct task_struct *owner;
};

struct rcuwait {
	struct task_struct *task;
};

struct percpu_rw_semaphore {
	struct rcuwait writer;
};

struct task_struct;
struct inode;
struct dentry;

struct address_space {
	struct inode *host;
	struct rw_semaphore invalidate_lock;
	struct rw_semaphore i_mmap_rwsem;
};

struct file_system_type {
	const char *name;
};

struct sb_writers {
	struct percpu_rw_semaphore rw_sem[3];
};

struct super_block {
	__u32 s_dev;
	struct file_system_type *s_type;
	struct dentry *s_root;
	struct rw_semaphore s_umount;
	struct sb_writers s_writers;
	char s_id[32];
	struct mutex s_vfs_rename_mutex;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	struct rw_semaphore i_rwsem;
	struct hlist_head i_dentry;
	struct address_space i_data;
};

struct qstr {
	const unsigned char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct super_block *d_sb;
	union {
		struct hlist_node d_alias;
	} d_u;
};

struct path {
	struct dentry *dentry;
};

struct file {
	void *private_data;
	struct inode *f_inode;
	struct path f_path;
	struct mutex f_pos_lock;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct signal_struct;
struct nsproxy;

struct task_struct {
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	char comm[16];
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct mutex *blocked_on;
};

struct bpf_iter__task {
	struct task_struct *task;
};

struct sock;

struct socket {
	struct sock *sk;
};

struct unix_sock {
	struct mutex iolock;
	struct mutex bindlock;
};

struct mm_struct {
	struct rw_semaphore mmap_lock;
	struct task_struct *owner;
};

struct ext4_inode_info {
	struct rw_semaphore i_data_sem;
	struct rw_semaphore xattr_sem;
	struct inode vfs_inode;
};

struct xfs_inode {
	struct rw_semaphore i_lock;
	struct inode i_vnode;
};

struct journal_s {
	struct mutex j_barrier;
	struct mutex j_checkpoint_mutex;
	struct task_struct *j_task;
	char j_devname[56];
};

struct signal_struct {
	struct task_struct *curr_target;
	struct mutex cred_guard_mutex;
	struct rw_semaphore exec_update_lock;
	struct rw_semaphore cgroup_threadgroup_rwsem;
};

struct ipc_ids {
	struct rw_semaphore rwsem;
};

struct ipc_namespace {
	struct ipc_ids ids[3];
};

struct nsproxy {
	struct ipc_namespace *ipc_ns;
};

struct gendisk;

struct block_device {
	struct gendisk *bd_disk;
};

struct gendisk {
	char disk_name[32];
	struct block_device *part0;
	struct mutex open_mutex;
};

struct kobject {
	const char *name;
};

struct device;

struct device_private {
	struct device *device;
};

struct device {
	struct kobject kobj;
	struct device_private *p;
	struct mutex mutex;
};

struct anon_vma {
	struct anon_vma *root;
	struct rw_semaphore rwsem;
};

struct kernfs_root;

struct kernfs_elem_dir {
	struct kernfs_root *root;
};

struct kernfs_node {
	struct kernfs_elem_dir dir;
};

struct kernfs_root {
	struct kernfs_node *kn;
	struct rw_semaphore kernfs_rwsem;
};

struct kernfs_open_file {
	struct file *file;
	void *seq_file;
	struct mutex mutex;
};

struct pipe_inode_info {
	struct mutex mutex;
};

struct seq_file {
	struct mutex lock;
	struct file *file;
};

struct eventpoll {
	struct mutex mtx;
	struct file *file;
};

struct io_ring_ctx {
	struct mutex uring_lock;
};

struct tty_struct {
	struct mutex atomic_write_lock;
	struct mutex legacy_mutex;
	struct rw_semaphore termios_rwsem;
	char name[64];
};

struct tty_file_private {
	struct tty_struct *tty;
	struct file *file;
};

#pragma clang attribute pop

#endif /* __bpf__ */

#endif
