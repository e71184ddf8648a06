/*
 * kernel.h - the few fields of kernel structures that the BPF program reads.
 *
 * Only names and rough types matter: the loader looks every field up in the
 * running kernel's own type information (BTF) and patches the real offset in. A
 * structure here lists what is read and nothing else; order and size mean nothing.
 */
#ifndef RECORD_BPF_KERNEL_H
#define RECORD_BPF_KERNEL_H

#ifdef __bpf__ /* clang's BPF target; nothing in here is for the program itself */

#include <linux/types.h>

#include "bpf/calls.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr {
	const unsigned char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct super_block {
	unsigned long s_magic;
};

struct list_head {
	struct list_head *next;
};

struct file_lock_context {
	struct list_head flc_flock;
	struct list_head flc_posix;
};

struct file_lock_core {
	struct list_head flc_list;
	void *flc_owner;
	unsigned char flc_type;
	int flc_pid;
	struct file *flc_file;
};

struct file_lock {
	struct file_lock_core c;
	long long fl_start;
	long long fl_end;
};

struct file_lock___old { /* before 6.9 */
	struct list_head fl_list;
	void *fl_owner;
	unsigned char fl_type;
	unsigned int fl_pid;
	struct file *fl_file;
	long long fl_start;
	long long fl_end;
};

struct inode {
	struct file_lock_context *i_flctx;
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_rdev;
	void *i_private;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	void *private_data;
	struct inode *f_inode;
	struct path f_path;
};

struct rb_node {
	unsigned long __rb_parent_color;
	struct rb_node *rb_right;
	struct rb_node *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct eventpoll {
	struct rb_root_cached rbr;
	struct file *file;
};

struct epoll_filefd {
	int fd;
};

struct epoll_event {
	unsigned int events;
};

struct epitem {
	struct rb_node rbn;
	struct epoll_filefd ffd;
	struct epoll_event event;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
	unsigned long *close_on_exec; /* a bit for each descriptor */
};

struct files_struct {
	struct fdtable *fdt;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

struct mm_struct {
	unsigned long arg_start;
	unsigned long arg_end;
};

struct proc_ns_operations {
	const char *name;
};

struct ns_common {
	const struct proc_ns_operations *ops;
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level; /* of its namespace: 0 is the first */
	struct upid numbers[1];
};

struct tty_struct {
	int index;
};

struct tty_file_private {
	struct tty_struct *tty;
};

struct thread_info {
	unsigned long flags;
	__u32 status;
};

struct cfs_bandwidth {
	__u64 quota; /* ~0 = none */
};

struct task_group {
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};

struct task_struct {
	struct task_group *sched_task_group;
	struct thread_info thread_info;
	struct fs_struct *fs;
	struct files_struct *files;
	struct mm_struct *mm;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	int prio;
	unsigned long nvcsw; /* how often it went to sleep */
};

#define TASK_INTERRUPTIBLE 1
#define TASK_DEAD	   0x80
#define PF_IO_WORKER	   0x00000010
#define PF_USER_WORKER	   0x00004000 /* since 6.4; before 5.18 of the few that probe devices */
#define PF_KTHREAD	   0x00200000

struct bpf_iter__task {
	struct task_struct *task;
};

struct in6_addr {
	unsigned char s6_addr[16]; /* read by address, never by field */
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
	struct pid *sk_peer_pid;
	struct socket *sk_socket;
};

struct socket {
	short type;
	struct sock *sk;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108]; /* read by address, never by field */
};

struct unix_address {
	int len;
	struct sockaddr_un name[];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

#pragma clang attribute pop

#endif /* __bpf__ */

#endif
