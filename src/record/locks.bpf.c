/*
 * locks.bpf.c - tell which kernel lock a thread waited for, and who had it.
 *
 * The event of a wait has the lock's address alone. What lies around that address tells what it
 * is: an inode points at itself, an address space has an owner whose address space it is. So a
 * guess is proven before it is told. Mutexes, and read-write locks that a writer has, name their
 * owner; of a per-CPU one, a writer that waits for the last readers is known.
 *
 * Spinning costs a comparison here; who sleeps is kept until the wait is over, and told of when it
 * was long, or was not told of lately. Who waits on is found by a look at all threads, now and
 * then. No lock is held, and pointers are followed with checked reads.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>

#include "bpf/kernel_locks.h"
#include "bpf/raw_lock.h"
#include "bpf/ring.h"

#define FLAG_SPIN   1u /* include/trace/events/lock.h: LCB_F_* */
#define FLAG_READ   2u
#define FLAG_WRITE  4u
#define FLAG_RT	    8u
#define FLAG_PERCPU 16u
#define FLAG_MUTEX  32u

#define OWNER_READS 1ul /* RWSEM_READER_OWNED: the owner is the last reader, who may be gone */
#define OWNER_FLAGS 7ul

#define TYPE_MASK   0170000u /* include/uapi/linux/stat.h: S_IF* */
#define TYPE_SOCKET 0140000u
#define TYPE_FOLDER 0040000u
#define TYPE_FIFO   0010000u

#define LONG_NS	  100000ull   /* a wait that is told of in any case */
#define SHORT_NS  10000ull    /* none that is shorter */
#define AGAIN_NS  10000000ull /* in between: when the lock was not told of for that long */
#define OPEN_NS	  50000000ull /* a wait that goes on */
#define WAITERS	  8192
#define TOLD	  4096
#define IPC_KINDS 3
#define FREEZES	  3
#define QUEUE	  32 /* waiters of a lock that are looked at */

char LICENSE[] SEC("license") = "Dual MIT/GPL";

RING_MAP(ring, 1 << 19);

/* The second one is of the look at threads, which may be interrupted. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct raw_lock);
} scratch SEC(".maps");

struct waiting {
	__u64 begin_ns;
	__u64 lock;
	__u32 flags;
	__u32 owner;
	__u8 is_told;
	__u8 was_before; /* when the recording began: since when is not known */
};

/* By thread: who sleeps for a kernel lock. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAITERS);
	__type(key, __u32);
	__type(value, struct waiting);
} waiters SEC(".maps");

/* By lock: when it was told of last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TOLD);
	__type(key, __u64);
	__type(value, __u64);
} told SEC(".maps");

struct raw_lock_control control;

/* ------------------------------------------------------------------- who has it */

static __u64 owner_word(__u64 lock, __u32 flags)
{
	struct percpu_rw_semaphore *percpu = (void *)lock;
	struct rw_semaphore *rwsem = (void *)lock;
	struct rt_mutex_base *rt = (void *)lock;
	struct mutex *mutex = (void *)lock;

	/* A writer that has it already waits for nobody, and does not stand there. */
	if (flags & FLAG_PERCPU)
		return bpf_core_field_exists(percpu->writer)
			       ? (__u64)BPF_CORE_READ(percpu, writer.task)
			       : 0;
	if (flags & FLAG_MUTEX)
		return bpf_core_field_exists(mutex->owner) ? BPF_CORE_READ(mutex, owner.counter)
							   : 0;
	if (flags & FLAG_RT)
		return bpf_core_field_exists(rt->owner) ? (__u64)BPF_CORE_READ(rt, owner) : 0;
	if (flags & (FLAG_READ | FLAG_WRITE) && bpf_core_field_exists(rwsem->owner)) {
		__u64 word = BPF_CORE_READ(rwsem, owner.counter);

		return word & OWNER_READS ? 0 : word;
	}
	return 0;
}

static __u32 owner_of(__u64 lock, __u32 flags)
{
	struct task_struct *task = (void *)(owner_word(lock, flags) & ~OWNER_FLAGS);

	return task ? BPF_CORE_READ(task, pid) : 0;
}

/* -------------------------------------------------------------------- what it is */

/* Where a structure begins that has the lock as its 'member'. */
#define AROUND(lock, type, member) ((type *)((lock)-bpf_core_field_offset(type, member)))

static void put_component(struct raw_lock *raw, struct dentry *dentry)
{
	const unsigned char *name = BPF_CORE_READ(dentry, d_name.name);
	__u32 at = raw->text_bytes & (RAW_LOCK_TEXT - 1);
	long len = bpf_probe_read_kernel_str(raw->text + at, RAW_LOCK_NAME, name);

	if (len > 0)
		raw->text_bytes = at + (len & (2 * RAW_LOCK_NAME - 1));
}

struct climb {
	struct raw_lock *raw;
	struct dentry *dentry;
	int arrived;
};

/* One step from a file to the root of its file system; 1 = there is no other. */
static long climb_step(__u32 i, struct climb *climb)
{
	struct dentry *dentry = climb->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
	struct raw_lock *raw = climb->raw;

	climb->arrived = parent == dentry;
	if (climb->arrived && (i || raw->flags & RAW_LOCK_FOLDER))
		return 1;
	if (!climb->arrived && raw->text_bytes >= RAW_LOCK_TEXT - RAW_LOCK_NAME)
		return 1;
	put_component(raw, dentry); /* the parent of a file in no directory is itself: memfd */
	climb->dentry = parent;
	return climb->arrived;
}

/*
 * Up to the root of its file system: where that is mounted is found out in user space. Kernels with
 * the events of locks have loops of their own, which the verifier looks at once.
 */
static void put_path(struct raw_lock *raw, struct dentry *dentry)
{
	struct climb climb = { raw, dentry, 0 };

	if (BPF_CORE_READ(dentry, d_hash.pprev) == NULL &&
	    BPF_CORE_READ(dentry, d_parent) != dentry)
		raw->flags |= RAW_LOCK_DELETED;
	bpf_loop(RAW_LOCK_STEPS, climb_step, &climb, 0);
	if (!climb.arrived)
		raw->flags |= RAW_LOCK_CUT;
}

static void put_system(struct raw_lock *raw, struct super_block *sb)
{
	raw->dev = BPF_CORE_READ(sb, s_dev);
	BPF_CORE_READ_STR_INTO(&raw->label, sb, s_id);
	bpf_probe_read_kernel_str(raw->fs, sizeof(raw->fs), BPF_CORE_READ(sb, s_type, name));
}

static void put_inode(struct raw_lock *raw, struct inode *inode, struct dentry *dentry)
{
	struct hlist_node *first;

	raw->inode = BPF_CORE_READ(inode, i_ino);
	if ((BPF_CORE_READ(inode, i_mode) & TYPE_MASK) == TYPE_FOLDER)
		raw->flags |= RAW_LOCK_FOLDER;
	put_system(raw, BPF_CORE_READ(inode, i_sb));
	first = BPF_CORE_READ(inode, i_dentry.first);
	if (!dentry && first)
		dentry = (void *)first - bpf_core_field_offset(struct dentry, d_u.d_alias);
	if (dentry)
		put_path(raw, dentry);
}

static void put_process(struct raw_lock *raw, struct task_struct *task)
{
	raw->pid = BPF_CORE_READ(task, tgid);
	BPF_CORE_READ_STR_INTO(&raw->label, task, group_leader, comm);
}

static int is_inode(struct inode *inode)
{
	return BPF_CORE_READ(inode, i_data.host) == inode;
}

/* A file that the call is about, by its first argument. */
static struct file *first_file(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	__u64 fd = CALL_ARG1(regs);
	struct file **slots, *file = NULL;

	if (CALL_NR(regs) >= 1024 || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	slots = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), slots + fd);
	return file;
}

/* Its name as the call knows it, where the call has a descriptor of it. */
static struct dentry *dentry_of_file(struct file *file, struct inode *inode)
{
	return file && BPF_CORE_READ(file, f_inode) == inode ? BPF_CORE_READ(file, f_path.dentry)
							     : NULL;
}

static int of_mm(struct raw_lock *raw, __u64 lock, struct task_struct *task)
{
	struct mm_struct *mm = AROUND(lock, struct mm_struct, mmap_lock);
	struct task_struct *owner = task;

	if ((void *)BPF_CORE_READ(task, mm) != mm) {
		if (!bpf_core_field_exists(mm->owner))
			return 0;
		owner = BPF_CORE_READ(mm, owner);
		if (!owner || (void *)BPF_CORE_READ(owner, mm) != mm)
			return 0;
	}
	put_process(raw, owner);
	return RAW_LOCK_MMAP;
}

static int of_mapping(struct raw_lock *raw, struct address_space *mapping, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(mapping, host);

	if (!inode ||
	    (void *)inode + bpf_core_field_offset(struct inode, i_data) != (void *)mapping)
		return 0;
	put_inode(raw, inode, dentry_of_file(file, inode));
	return 1;
}

static int of_inode(struct raw_lock *raw, __u64 lock, struct file *file)
{
	struct inode *inode = AROUND(lock, struct inode, i_rwsem);

	if (is_inode(inode)) {
		put_inode(raw, inode, dentry_of_file(file, inode));
		return RAW_LOCK_INODE;
	}
	if (bpf_core_field_exists(struct address_space, invalidate_lock) &&
	    of_mapping(raw, AROUND(lock, struct address_space, invalidate_lock), file))
		return RAW_LOCK_INVALIDATE;
	if (of_mapping(raw, AROUND(lock, struct address_space, i_mmap_rwsem), file))
		return RAW_LOCK_RMAP;
	return 0;
}

/* Locks that file systems keep beside their inodes. */
static int of_file_system(struct raw_lock *raw, __u64 lock, struct file *file)
{
	struct inode *inode;

	if (bpf_core_field_exists(struct ext4_inode_info, i_data_sem)) {
		__u64 at = bpf_core_field_offset(struct ext4_inode_info, vfs_inode);

		inode = (void *)AROUND(lock, struct ext4_inode_info, i_data_sem) + at;
		if (is_inode(inode)) {
			put_inode(raw, inode, dentry_of_file(file, inode));
			return RAW_LOCK_BLOCKS;
		}
		inode = (void *)AROUND(lock, struct ext4_inode_info, xattr_sem) + at;
		if (is_inode(inode)) {
			put_inode(raw, inode, dentry_of_file(file, inode));
			return RAW_LOCK_XATTR;
		}
	}
	if (bpf_core_field_exists(struct xfs_inode, i_lock)) {
		inode = (void *)AROUND(lock, struct xfs_inode, i_lock) +
			bpf_core_field_offset(struct xfs_inode, i_vnode);
		if (is_inode(inode)) {
			put_inode(raw, inode, dentry_of_file(file, inode));
			return RAW_LOCK_XFS;
		}
	}
	return 0;
}

static int is_system(struct super_block *sb)
{
	struct dentry *root = BPF_CORE_READ(sb, s_root);

	return root && BPF_CORE_READ(root, d_sb) == sb;
}

static int of_system(struct raw_lock *raw, __u64 lock)
{
	struct super_block *sb = AROUND(lock, struct super_block, s_umount);
	__u64 each = bpf_core_type_size(struct percpu_rw_semaphore);
	int class = 0;

	if (is_system(sb))
		class = RAW_LOCK_UMOUNT;
	if (!class) {
		sb = AROUND(lock, struct super_block, s_vfs_rename_mutex);
		class = is_system(sb) ? RAW_LOCK_RENAME : 0;
	}
	for (int i = 0; i < FREEZES && !class; i++) {
		sb = AROUND(lock - i * each, struct super_block, s_writers.rw_sem);
		class = is_system(sb) ? RAW_LOCK_FREEZE : 0;
	}
	if (class)
		put_system(raw, sb);
	return class;
}

/* Its thread is named for it: "jbd2/vda-8". */
static int is_journal(struct journal_s *journal)
{
	char comm[6] = "";

	BPF_CORE_READ_STR_INTO(&comm, journal, j_task, comm);
	return comm[0] == 'j' && comm[1] == 'b' && comm[2] == 'd' && comm[3] == '2';
}

static int of_journal(struct raw_lock *raw, __u64 lock)
{
	struct journal_s *journal;
	int class = RAW_LOCK_CHECKPOINT;

	if (!bpf_core_field_exists(struct journal_s, j_checkpoint_mutex))
		return 0;
	journal = AROUND(lock, struct journal_s, j_checkpoint_mutex);
	if (!is_journal(journal)) {
		journal = AROUND(lock, struct journal_s, j_barrier);
		class = is_journal(journal) ? RAW_LOCK_JOURNAL : 0;
	}
	if (class)
		BPF_CORE_READ_STR_INTO(&raw->label, journal, j_devname);
	return class;
}

static int is_signals(struct signal_struct *signal)
{
	struct task_struct *task = BPF_CORE_READ(signal, curr_target);

	return task && BPF_CORE_READ(task, signal) == signal;
}

static int of_signals(struct raw_lock *raw, __u64 lock)
{
	struct signal_struct *signal = AROUND(lock, struct signal_struct, cred_guard_mutex);
	int class = is_signals(signal) ? RAW_LOCK_CRED : 0;

	if (!class && bpf_core_field_exists(signal->exec_update_lock)) {
		signal = AROUND(lock, struct signal_struct, exec_update_lock);
		class = is_signals(signal) ? RAW_LOCK_EXEC : 0;
	}
	if (!class && bpf_core_field_exists(signal->cgroup_threadgroup_rwsem)) {
		signal = AROUND(lock, struct signal_struct, cgroup_threadgroup_rwsem);
		class = is_signals(signal) ? RAW_LOCK_THREADS : 0;
	}
	if (class)
		put_process(raw, BPF_CORE_READ(signal, curr_target));
	return class;
}

static int of_ipc(__u64 lock, struct task_struct *task)
{
	struct ipc_namespace *ns = BPF_CORE_READ(task, nsproxy, ipc_ns);
	__u64 each = bpf_core_type_size(struct ipc_ids);
	__u64 at = (__u64)ns + bpf_core_field_offset(struct ipc_namespace, ids) +
		   bpf_core_field_offset(struct ipc_ids, rwsem);

	for (int i = 0; ns && i < IPC_KINDS; i++) {
		if (lock == at + i * each)
			return RAW_LOCK_SEM_TABLE + i;
	}
	return 0;
}

static int of_disk(struct raw_lock *raw, __u64 lock)
{
	struct gendisk *disk = AROUND(lock, struct gendisk, open_mutex);
	struct device *device;

	if (bpf_core_field_exists(disk->open_mutex) &&
	    BPF_CORE_READ(disk, part0, bd_disk) == disk) {
		BPF_CORE_READ_STR_INTO(&raw->label, disk, disk_name);
		return RAW_LOCK_DISK_OPEN;
	}
	device = AROUND(lock, struct device, mutex);
	if (bpf_core_field_exists(struct device_private, device) &&
	    BPF_CORE_READ(device, p, device) == device) {
		bpf_probe_read_kernel_str(raw->label, sizeof(raw->label),
					  BPF_CORE_READ(device, kobj.name));
		return RAW_LOCK_DEVICE;
	}
	return 0;
}

static int of_memory_tree(__u64 lock)
{
	struct anon_vma *anon = AROUND(lock, struct anon_vma, rwsem);
	struct kernfs_root *root = AROUND(lock, struct kernfs_root, kernfs_rwsem);
	struct kernfs_node *node;

	if (BPF_CORE_READ(anon, root) == anon)
		return RAW_LOCK_ANON;
	if (!bpf_core_field_exists(root->kernfs_rwsem))
		return 0;
	node = BPF_CORE_READ(root, kn);
	return node && BPF_CORE_READ(node, dir.root) == root ? RAW_LOCK_KERNFS_TREE : 0;
}

static int of_tty(struct raw_lock *raw, __u64 lock, struct file *file, void *private)
{
	struct tty_file_private *side = private;
	struct tty_struct *tty = BPF_CORE_READ(side, tty);
	int class = 0;

	if (!tty || BPF_CORE_READ(side, file) != file)
		return 0;
	if (AROUND(lock, struct tty_struct, atomic_write_lock) == tty)
		class = RAW_LOCK_TTY_WRITE;
	else if (AROUND(lock, struct tty_struct, legacy_mutex) == tty ||
		 AROUND(lock, struct tty_struct, termios_rwsem) == tty)
		class = RAW_LOCK_TTY;
	if (class)
		BPF_CORE_READ_STR_INTO(&raw->label, tty, name);
	return class;
}

/* Its file is named for it: "[io_uring]". */
static int is_ring(struct file *file)
{
	char name[5] = "";

	bpf_probe_read_kernel_str(name, sizeof(name),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return name[0] == '[' && name[1] == 'i' && name[2] == 'o' && name[3] == '_';
}

static int of_unix(__u64 lock, struct socket *socket)
{
	struct unix_sock *sock = (void *)BPF_CORE_READ(socket, sk);

	if (!bpf_core_field_exists(sock->iolock))
		return 0;
	if (AROUND(lock, struct unix_sock, iolock) == sock)
		return RAW_LOCK_UNIX_READ;
	return AROUND(lock, struct unix_sock, bindlock) == sock ? RAW_LOCK_UNIX_BIND : 0;
}

/* Of the structures that know their file: many kinds of files have a lock at such a place of theirs. */
static int of_known_file(struct raw_lock *raw, __u64 lock, struct file *file, void *private)
{
	struct eventpoll *epoll = AROUND(lock, struct eventpoll, mtx);
	struct seq_file *seq = AROUND(lock, struct seq_file, lock);

	if (seq == private && BPF_CORE_READ(seq, file) == file) {
		put_inode(raw, BPF_CORE_READ(file, f_inode), BPF_CORE_READ(file, f_path.dentry));
		return RAW_LOCK_SEQ;
	}
	if (epoll == private && BPF_CORE_READ(epoll, file) == file)
		return RAW_LOCK_EPOLL;
	if (bpf_core_field_exists(struct io_ring_ctx, uring_lock) &&
	    AROUND(lock, struct io_ring_ctx, uring_lock) == private && is_ring(file))
		return RAW_LOCK_URING;
	return of_tty(raw, lock, file, private);
}

/* What belongs to the file that the call is about. */
static int of_file(struct raw_lock *raw, __u64 lock, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	void *private = BPF_CORE_READ(file, private_data);
	__u32 type = BPF_CORE_READ(inode, i_mode) & TYPE_MASK;
	int class = 0;

	if ((void *)lock == (void *)file + bpf_core_field_offset(struct file, f_pos_lock))
		class = RAW_LOCK_POSITION;
	else if (type == TYPE_FIFO && AROUND(lock, struct pipe_inode_info, mutex) == private)
		class = RAW_LOCK_PIPE;
	if (class) {
		put_inode(raw, inode, BPF_CORE_READ(file, f_path.dentry));
		return class;
	}
	if (!private || type == TYPE_FIFO)
		return 0;
	return type == TYPE_SOCKET ? of_unix(lock, private)
				   : of_known_file(raw, lock, file, private);
}

static int of_kernfs_file(struct raw_lock *raw, __u64 lock)
{
	struct kernfs_open_file *open = AROUND(lock, struct kernfs_open_file, mutex);
	struct file *file = BPF_CORE_READ(open, file);
	void *seq = BPF_CORE_READ(open, seq_file);

	if (!file || !seq || BPF_CORE_READ(file, private_data) != seq)
		return 0;
	put_inode(raw, BPF_CORE_READ(file, f_inode), BPF_CORE_READ(file, f_path.dentry));
	return RAW_LOCK_KERNFS;
}

/* Of the kernel's own variables, where it knows the names of those; else a number. */
static void put_symbol(struct raw_lock *raw, __u64 lock)
{
	static const char format[] = "%pS";
	__u64 args[] = { lock };
	long len = bpf_snprintf(raw->text, RAW_LOCK_NAME, format, args, sizeof(args));

	if (len > 0)
		raw->text_bytes = len & (2 * RAW_LOCK_NAME - 1);
}

/* By how often they are contended for. Any of them is proven, so that the order decides nothing. */
static int class_of(struct raw_lock *raw, __u64 lock, __u32 flags, struct task_struct *task)
{
	struct file *file = first_file(task);
	int class = 0;

	if (!(flags & FLAG_MUTEX)) {
		class = of_mm(raw, lock, task);
		class = class ? class : of_inode(raw, lock, file);
		class = class ? class : of_memory_tree(lock);
		class = class ? class : of_file_system(raw, lock, file);
		class = class ? class : of_ipc(lock, task);
	}
	if (!class && file)
		class = of_file(raw, lock, file);
	class = class ? class : of_system(raw, lock);
	class = class ? class : of_signals(raw, lock);
	if (flags & FLAG_MUTEX) {
		class = class ? class : of_journal(raw, lock);
		class = class ? class : of_disk(raw, lock);
		class = class ? class : of_kernfs_file(raw, lock);
	}
	if (!class)
		put_symbol(raw, lock);
	return class;
}

/* -------------------------------------------------------------------- telling */

static struct raw_lock *empty_record(__u32 which, const struct waiting *wait)
{
	struct raw_lock *raw = bpf_map_lookup_elem(&scratch, &which);

	if (!raw)
		return NULL;
	__builtin_memset(raw, 0, offsetof(struct raw_lock, text));
	/* Of one that began earlier the recording knows the rest. */
	raw->begin_ns = wait->begin_ns < control.begun_ns ? control.begun_ns : wait->begin_ns;
	raw->lock = wait->lock;
	raw->owner = wait->owner;
	return raw;
}

SEC("tp_btf/contention_begin")
int on_lock_begin(__u64 *args)
{
	__u32 flags = (__u32)args[1], tid;
	struct waiting wait = { 0 }, *known;
	__u64 ids;

	if (flags & FLAG_SPIN || control.ended)
		return 0;
	ids = bpf_get_current_pid_tgid();
	tid = (__u32)ids;
	if (!tid || ids >> 32 == control.recorder_tgid)
		return 0;
	wait.lock = args[0];
	known = bpf_map_lookup_elem(&waiters, &tid);
	if (known && known->lock == wait.lock)
		return 0; /* it woke up, and somebody else was faster */
	wait.begin_ns = bpf_ktime_get_ns();
	wait.flags = flags;
	wait.owner = owner_of(wait.lock, flags);
	bpf_map_update_elem(&waiters, &tid, &wait, BPF_ANY);
	return 0;
}

/* Was it long enough to be told of? */
static int is_worth(const struct waiting *wait, __u64 now)
{
	__u64 ns = now - wait->begin_ns, lock = wait->lock;
	__u64 *last;

	if (wait->is_told || ns < SHORT_NS)
		return 0;
	if (ns < LONG_NS) {
		last = bpf_map_lookup_elem(&told, &lock);
		if (last && now - *last < AGAIN_NS)
			return 0;
	}
	bpf_map_update_elem(&told, &lock, &now, BPF_ANY);
	return 1;
}

SEC("tp_btf/contention_end")
int on_lock_end(__u64 *args)
{
	__u64 ids = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)ids;
	struct waiting *known = bpf_map_lookup_elem(&waiters, &tid), wait;
	struct task_struct *task;
	struct raw_lock *raw;
	long bytes;

	if (!known || known->lock != args[0])
		return 0;
	wait = *known;
	bpf_map_delete_elem(&waiters, &tid);
	if (control.ended || !control.begun_ns || !is_worth(&wait, bpf_ktime_get_ns()))
		return 0;
	raw = empty_record(0, &wait);
	if (!raw)
		return 0;
	task = bpf_get_current_task_btf();
	raw->tid = tid;
	raw->tgid = ids >> 32;
	raw->class = class_of(raw, wait.lock, wait.flags, task);
	bytes = bpf_get_stack(args, raw->frames, sizeof(raw->frames), 0);
	raw->frame_bytes = bytes > 0 ? bytes : 0;
	RING_SEND(raw);
	return 0;
}

/* ------------------------------------------------------- who waits since before */

/* Does the thread stand in that queue? Its entry has the task at 'task_at'. */
static int is_queued(struct list_head *queue, __u64 task_at, struct task_struct *task)
{
	struct list_head *entry = BPF_CORE_READ(queue, next);

	for (int i = 0; i < QUEUE && entry && entry != queue; i++) {
		struct task_struct *waiter = NULL;

		bpf_probe_read_kernel(&waiter, sizeof(waiter), (void *)entry + task_at);
		if (waiter == task)
			return 1;
		entry = BPF_CORE_READ(entry, next);
	}
	return 0;
}

static int waits_for_rwsem(struct rw_semaphore *rwsem, struct task_struct *task)
{
	struct list_head *queue =
		(void *)rwsem + bpf_core_field_offset(struct rw_semaphore, wait_list);

	return bpf_core_type_exists(struct rwsem_waiter) &&
	       is_queued(queue, bpf_core_field_offset(struct rwsem_waiter, task), task);
}

static int waits_for_mutex(struct mutex *mutex, struct task_struct *task)
{
	struct list_head *queue = (void *)mutex + bpf_core_field_offset(struct mutex, wait_list);

	return bpf_core_type_exists(struct mutex_waiter) &&
	       is_queued(queue, bpf_core_field_offset(struct mutex_waiter, task), task);
}

#define MEMBER(base, type, member) ((void *)(base) + bpf_core_field_offset(type, member))

/* Of the locks that it may wait for in such a call, those are asked that wait longest. */
static __u64 find_lock(struct task_struct *task, __u32 *flags)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct file *file = mm ? first_file(task) : NULL;
	void *lock;

	*flags = FLAG_MUTEX;
	if (bpf_core_field_exists(task->blocked_on)) {
		lock = BPF_CORE_READ(task, blocked_on);
		if (lock && waits_for_mutex(lock, task))
			return (__u64)lock;
	}
	if (file) {
		lock = MEMBER(file, struct file, f_pos_lock);
		if (waits_for_mutex(lock, task))
			return (__u64)lock;
	}
	*flags = FLAG_WRITE;
	lock = MEMBER(mm, struct mm_struct, mmap_lock);
	if (mm && waits_for_rwsem(lock, task))
		return (__u64)lock;
	if (file) {
		lock = MEMBER(BPF_CORE_READ(file, f_inode), struct inode, i_rwsem);
		if (waits_for_rwsem(lock, task))
			return (__u64)lock;
	}
	return 0;
}

static void note_sleeper(struct task_struct *task)
{
	struct waiting wait = { .begin_ns = bpf_ktime_get_ns(), .was_before = 1 };
	__u32 tid = task->pid;

	if ((__u32)task->tgid == control.recorder_tgid)
		return;
	wait.lock = find_lock(task, &wait.flags);
	if (!wait.lock)
		return;
	wait.owner = owner_of(wait.lock, wait.flags);
	bpf_map_update_elem(&waiters, &tid, &wait, BPF_NOEXIST);
}

/* Its end may have been missed, as its beginning was. */
static int still_waits(struct waiting *wait, struct task_struct *task)
{
	__u32 flags;

	if (!wait->was_before || wait->is_told)
		return 1;
	wait->begin_ns = bpf_ktime_get_ns();
	return find_lock(task, &flags) == wait->lock;
}

/* The recorder reads the file of this: the waits that go on, with who has the lock now. */
SEC("iter/task")
int on_each_waiter(struct bpf_iter__task *iter)
{
	struct task_struct *task = iter->task;
	struct waiting *wait;
	struct raw_lock *raw;
	__u32 tid, owner;
	long bytes;

	if (!task)
		return 0;
	if (control.is_first) {
		note_sleeper(task);
		return 0;
	}
	tid = task->pid;
	wait = bpf_map_lookup_elem(&waiters, &tid);
	if (!wait || !control.begun_ns ||
	    (bpf_ktime_get_ns() - wait->begin_ns < OPEN_NS && !control.is_last))
		return 0;
	owner = owner_of(wait->lock, wait->flags);
	if (wait->is_told && owner == wait->owner)
		return 0;
	if (!still_waits(wait, task)) {
		bpf_map_delete_elem(&waiters, &tid);
		return 0;
	}
	wait->owner = owner;
	wait->is_told = 1;
	raw = empty_record(1, wait);
	if (!raw)
		return 0;
	raw->tid = tid;
	raw->tgid = task->tgid;
	raw->class = class_of(raw, wait->lock, wait->flags, task);
	bytes = bpf_get_task_stack(task, raw->frames, sizeof(raw->frames), 0);
	raw->frame_bytes = bytes > 0 ? bytes : 0;
	RING_SEND(raw);
	return 0;
}
