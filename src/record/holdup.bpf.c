/*
 * holdup.bpf.c - tell what a new file descriptor names.
 *
 * Runs at the return of the system calls that make a descriptor or give one a
 * meaning. It finds the file behind the number in the calling process's table,
 * copies the few fields that make its name, and hands them to user space through a
 * ring buffer. It holds no lock and follows pointers with checked reads: a name that
 * changes under it comes out wrong, never worse.
 *
 * There are two ways in, of which one is loaded: the exit tracepoints of the single
 * calls, or, where the kernel lacks those, the exit of all calls.
 *
 * With lean events there is neither: see blocks.h.
 *
 * Beside that the recorder has all threads looked at, now and then: what those watch that
 * sleep in poll or select. That costs calls nothing.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>

#include "bpf/kernel.h"
#include "bpf/raw.h"
#include "bpf/ring.h"

#define S_IFMT	0170000
#define S_IFIFO 0010000
#define S_IFCHR 0020000

#define DEVICE_MASTER (5 << 20 | 2) /* /dev/ptmx */

/* Numbers of linux/magic.h; PIPEFS and ANON_INODE_FS have kept theirs for ever. */
#define MAGIC_PIPE  0x50495045
#define MAGIC_ANON  0x09041934
#define MAGIC_SOCK  0x534f434b
#define MAGIC_PIDFD 0x50494446
#define MAGIC_NS    0x6e736673

#define FAMILY_UNIX  1
#define FAMILY_INET  2
#define FAMILY_INET6 10

#define CALL_INTERRUPTED 4 /* EINTR */
#define CALL_INPROGRESS	 115
#define CALL_RESTART	 512 /* ERESTARTSYS */

#define TASK_SLEEPS 3 /* interruptibly or not */
#define PARENTS	    16
#define NAPPED	    2 /* times it has slept at least, that it may do so again and again */
#define SLEEPERS    8192
#define AGAIN_NS    400000000ull
#define LEVELS	    16	   /* cgroups above each other */
#define PID_LEVELS  32	   /* MAX_PID_NS_LEVEL */
#define POLL_READS  0x00c3 /* POLLIN, POLLPRI, POLLRDNORM, POLLRDBAND */
#define POLL_WRITES 0x0304 /* POLLOUT, POLLWRNORM, POLLWRBAND */
#define WATCHED_MAX 64	   /* told of one poll */
#define POLL_PIECE  8	   /* of them, read at once */
#define SELECT_MAX  256	   /* numbers looked at */

#define COMMAND_DUPFD	      0
#define COMMAND_DUPFD_CLOEXEC 1030
#define COMMAND_SETLK	      6
#define COMMAND_SETLKW	      7
#define COMMAND_OFD_SETLK     37
#define COMMAND_OFD_SETLKW    38

#define ERROR_NO_ENTRY	2
#define ERROR_AGAIN	11
#define ERROR_ACCESS	13
#define ERROR_EXISTS	17
#define ERROR_NOT_EMPTY 39
#define ERROR_REFUSED	111 /* ECONNREFUSED */
#define SOCKET_LEVEL	1   /* SOL_SOCKET */
#define SOCKET_ERROR	4   /* SO_ERROR */
#define TYPE_WRITE	1   /* F_WRLCK */
#define FLOCK_SHARED	1   /* LOCK_SH */
#define LOCKS_MAX	32  /* of one file, looked at */
#define ASKERS		4096
#define ASKED_EACH	4	      /* paths told of one thread between two sleeps */
#define ASKED_NS	4000000000ull /* so long after somebody asked twice, what may answer is told */

#define PRIO_FIRST_FAIR 100

char LICENSE[] SEC("license") = "Dual MIT/GPL";

RING_MAP(ring, 1 << 20);

/*
 * A record is too large for the stack. The second one is of the look at threads, which may be
 * interrupted, the third of threads that leave their CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, struct raw_name);
} scratch SEC(".maps");

/* What was told of a sleep, and when: once more after ever longer, for what it waits for may be another's by then. */
struct sleeper {
	__u64 slept; /* how often the thread had slept then */
	__u64 told_ns;
	__u64 gap_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SLEEPERS);
	__type(key, __u32);
	__type(value, struct sleeper);
} sleepers SEC(".maps");

struct raw_control control;

static struct file *file_of(struct task_struct *task, __s64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **slots;
	struct file *file = NULL;

	if (fd < 0 || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	slots = BPF_CORE_READ(table, fd);
	if (bpf_probe_read_kernel(&file, sizeof(file), slots + fd))
		return NULL;
	return file;
}

/* Whether exec closes it. */
static int closes(struct task_struct *task, int fd)
{
	unsigned long *bits = BPF_CORE_READ(task, files, fdt, close_on_exec);
	unsigned long word = 0;

	if (bpf_probe_read_kernel(&word, sizeof(word), bits + ((__u32)fd / 64)))
		return 0;
	return word >> ((__u32)fd % 64) & 1;
}

/* Append the name of 'dentry' to the text. */
static void put_component(struct raw_name *raw, struct dentry *dentry)
{
	const unsigned char *name = BPF_CORE_READ(dentry, d_name.name);
	__u32 at = raw->text_bytes & (RAW_TEXT_MAX - 1);
	long len = bpf_probe_read_kernel_str(raw->text + at, RAW_NAME_MAX, name);

	if (len > 0)
		raw->text_bytes = at + (len & (2 * RAW_NAME_MAX - 1));
}

struct walk {
	struct raw_name *raw;
	struct dentry *dentry;
	struct mount *mount;
};

/* One step from a file towards the root. 1 = arrived. */
static int walk_up(struct walk *walk)
{
	struct dentry *dentry = walk->dentry;
	struct mount *mount = walk->mount, *above;
	struct vfsmount *mnt = (void *)mount + bpf_core_field_offset(struct mount, mnt);
	struct dentry *parent;

	if ((__u64)dentry == control.root_dentry && (__u64)mnt == control.root_mount)
		return 1;
	if (dentry == BPF_CORE_READ(mnt, mnt_root)) {
		above = BPF_CORE_READ(mount, mnt_parent);
		if (above == mount)
			return 1;
		walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		walk->mount = above;
		return 0;
	}
	if (walk->raw->text_bytes >= RAW_TEXT_MAX - RAW_NAME_MAX) {
		walk->raw->flags |= RAW_CUT;
		return 1;
	}
	put_component(walk->raw, dentry);
	parent = BPF_CORE_READ(dentry, d_parent);
	walk->dentry = parent;
	return parent == dentry; /* a file in no directory: memfd */
}

/* Not static, so that the verifier looks at it once and not at each of its calls. */
int walk_path(__u32 which, __u64 leaf, __u64 mnt);

/* The path of 'leaf' is appended to the text of that record. */
__attribute__((noinline)) int walk_path(__u32 which, __u64 leaf, __u64 mnt)
{
	struct walk walk = {
		.raw = bpf_map_lookup_elem(&scratch, &which),
		.dentry = (void *)leaf,
		.mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt),
	};
	int i;

	if (!walk.raw)
		return 0;
	for (i = 0; i < RAW_STEP_MAX; i++) {
		if (walk_up(&walk))
			return 0;
	}
	walk.raw->flags |= RAW_CUT;
	return 0;
}

static void read_path(struct raw_name *raw, __u32 which, struct file *file)
{
	struct dentry *leaf = BPF_CORE_READ(file, f_path.dentry);

	raw->kind = RAW_KIND_PATH;
	walk_path(which, (__u64)leaf, (__u64)BPF_CORE_READ(file, f_path.mnt));
	if (raw->text_bytes && !BPF_CORE_READ(leaf, d_hash.pprev))
		raw->flags |= RAW_DELETED;
}

static void read_pidfd(struct raw_name *raw, struct pid *pid)
{
	raw->kind = RAW_KIND_PIDFD;
	raw->pid = BPF_CORE_READ(pid, numbers[0].nr);
}

static void read_anon(struct raw_name *raw, struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);

	raw->kind = RAW_KIND_ANON;
	put_component(raw, dentry);
	/* Before they had a file system of their own (see MAGIC_PIDFD). */
	if (raw->text[1] == 'p' && raw->text[2] == 'i' && raw->text[3] == 'd')
		read_pidfd(raw, BPF_CORE_READ(file, private_data));
}

static void read_ns(struct raw_name *raw, struct inode *inode)
{
	struct ns_common *ns = BPF_CORE_READ(inode, i_private);
	const char *name = BPF_CORE_READ(ns, ops, name);
	long len = bpf_probe_read_kernel_str(raw->text, RAW_NAME_MAX, name);

	raw->kind = RAW_KIND_NS;
	raw->text_bytes = len > 0 ? len & (2 * RAW_NAME_MAX - 1) : 0;
}

/*
 * Bytes of sun_path behind the family; copied to 'to'. The mask tells the verifier
 * what the comparison told the compiler, which would otherwise remove it.
 */
static __u16 read_unix_address(char *to, struct unix_sock *sock)
{
	struct unix_address *address = BPF_CORE_READ(sock, addr);
	__u64 len;

	if (!address)
		return 0;
	len = (__u32)BPF_CORE_READ(address, len) - sizeof(__u16);
	if (len >= RAW_UNIX_SLOT)
		return 0;
	asm volatile("" : "+r"(len));
	len &= RAW_UNIX_SLOT - 1;
	if (bpf_probe_read_kernel(to, len,
				  (char *)address +
					  bpf_core_field_offset(struct unix_address, name) +
					  sizeof(__u16)))
		return 0;
	return len;
}

static __u64 inode_of(struct sock *sk)
{
	void *socket = BPF_CORE_READ(sk, sk_socket);
	struct inode *inode = socket - bpf_core_field_offset(struct socket_alloc, socket) +
			      bpf_core_field_offset(struct socket_alloc, vfs_inode);

	return socket ? BPF_CORE_READ(inode, i_ino) : 0;
}

static void read_unix(struct raw_name *raw, struct sock *sk)
{
	struct unix_sock *sock = (struct unix_sock *)sk;
	struct pid *pid = BPF_CORE_READ(sk, sk_peer_pid);
	struct unix_sock *peer;

	raw->kind = RAW_KIND_UNIX;
	raw->text_bytes = 2 * RAW_UNIX_SLOT;
	if (!bpf_core_field_exists(sock->peer))
		return; /* af_unix is a module without type information */
	raw->local_bytes = read_unix_address(raw->text, sock);
	peer = (struct unix_sock *)BPF_CORE_READ(sock, peer);
	if (!peer)
		return;
	raw->flags |= RAW_CONNECTED;
	raw->peer_inode = inode_of((struct sock *)peer);
	raw->remote_bytes = read_unix_address(raw->text + RAW_UNIX_SLOT, peer);
	if (pid)
		raw->pid = BPF_CORE_READ(pid, numbers[0].nr);
}

static void read_inet(struct raw_name *raw, struct sock *sk)
{
	struct sock_common *common = &sk->__sk_common;
	__u32 word;

	raw->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	raw->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (raw->family == FAMILY_INET) {
		word = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		__builtin_memcpy(raw->local, &word, sizeof(word));
		word = BPF_CORE_READ(sk, __sk_common.skc_daddr);
		__builtin_memcpy(raw->remote, &word, sizeof(word));
	} else if (bpf_core_field_exists(common->skc_v6_daddr)) {
		bpf_probe_read_kernel(raw->local, 16,
				      (void *)sk + bpf_core_field_offset(struct sock, __sk_common) +
					      bpf_core_field_offset(struct sock_common,
								    skc_v6_rcv_saddr));
		bpf_probe_read_kernel(raw->remote, 16,
				      (void *)sk + bpf_core_field_offset(struct sock, __sk_common) +
					      bpf_core_field_offset(struct sock_common,
								    skc_v6_daddr));
	}
}

static void read_socket(struct raw_name *raw, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	raw->kind = RAW_KIND_SOCKET;
	raw->type = BPF_CORE_READ(socket, type);
	raw->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	raw->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	raw->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (raw->family == FAMILY_UNIX)
		read_unix(raw, sk);
	else if (raw->family == FAMILY_INET || raw->family == FAMILY_INET6)
		read_inet(raw, sk);
}

/* The number of its other end is the terminal's own. */
static void read_master(struct raw_name *raw, struct file *file)
{
	struct tty_file_private *private = BPF_CORE_READ(file, private_data);

	if (bpf_core_type_exists(struct tty_file_private))
		raw->pts = BPF_CORE_READ(private, tty, index) + 1;
}

static void raw_name_read_file(struct raw_name *raw, __u32 which, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	raw->inode = BPF_CORE_READ(inode, i_ino);
	raw->mode = BPF_CORE_READ(inode, i_mode);
	raw->rdev = BPF_CORE_READ(inode, i_rdev);
	switch (BPF_CORE_READ(inode, i_sb, s_magic)) {
	case MAGIC_PIPE:
		raw->kind = RAW_KIND_PIPE;
		break;
	case MAGIC_SOCK:
		read_socket(raw, file);
		break;
	case MAGIC_PIDFD:
		read_pidfd(raw, BPF_CORE_READ(inode, i_private));
		break;
	case MAGIC_NS:
		read_ns(raw, inode);
		break;
	case MAGIC_ANON:
		read_anon(raw, file);
		break;
	default:
		read_path(raw, which, file);
		if (raw->rdev == DEVICE_MASTER && (raw->mode & S_IFMT) == S_IFCHR)
			read_master(raw, file);
	}
}

/* Any call of the recorder tells where its root is; otherwise its calls are noise. */
static void learn_root(struct task_struct *task)
{
	if (control.root_dentry)
		return;
	control.root_mount = (__u64)BPF_CORE_READ(task, fs, root.mnt);
	control.root_dentry = (__u64)BPF_CORE_READ(task, fs, root.dentry);
}

static struct raw_name *empty_record(__u32 which)
{
	struct raw_name *raw = bpf_map_lookup_elem(&scratch, &which);

	if (raw)
		__builtin_memset(raw, 0, offsetof(struct raw_name, text));
	return raw;
}

static void begin_record(struct raw_name *raw, struct task_struct *task, int fd, __u8 call)
{
	raw->mono_ns = bpf_ktime_get_ns();
	raw->tgid = BPF_CORE_READ(task, tgid);
	raw->tid = BPF_CORE_READ(task, pid);
	raw->fd = fd;
	raw->call = call;
}

/*
 * Not static, so that the verifier looks at it once and not at each of its calls. 'holder' is of
 * RAW_CALL_HELD: the process, and RAW_SEVERAL above it; of RAW_CALL_WATCHED: RAW_FOR_ROOM there. Its
 * highest bits choose the record.
 */
int emit_of(__u64 address, int fd, unsigned char call, __u64 holder);

__attribute__((noinline)) int emit_of(__u64 address, int fd, unsigned char call, __u64 holder)
{
	struct task_struct *task = (struct task_struct *)address;
	__u32 which = holder >> 62 & 1 ? 2 : call == RAW_CALL_WATCHED || holder >> 63;
	struct raw_name *raw = empty_record(which);
	struct file *file = file_of(task, fd);

	if (!file || !raw)
		return 0;
	begin_record(raw, task, fd, call);
	raw->flags = closes(task, fd) ? RAW_CLOSES : 0;
	raw_name_read_file(raw, which, file);
	if (call == RAW_CALL_HELD) {
		raw->pid = (__u32)holder;
		raw->flags |= holder >> 32 & RAW_SEVERAL;
	} else {
		raw->flags |= holder >> 32 & RAW_FOR_ROOM;
	}
	RING_SEND(raw);
	return 0;
}

static void emit(__s64 fd, __u8 call)
{
	emit_of((__u64)bpf_get_current_task(), fd, call, 0);
}

static void emit_pair(unsigned long user_fds, __u8 call)
{
	int fds[2];

	if (bpf_probe_read_user(fds, sizeof(fds), (void *)user_fds))
		return;
	emit(fds[0], call);
	emit(fds[1], call);
}

#include "bpf/asked.h"
#include "bpf/blocks.h"
#include "bpf/sleepers.h"

/* A connection may still be under way: its peer is known all the same. */
static int connects(__s64 ret)
{
	return !ret || ret == -CALL_INPROGRESS || ret == -CALL_INTERRUPTED || ret == -CALL_RESTART;
}

static int duplicates(struct pt_regs *regs)
{
	__u32 command = CALL_ARG2(regs);

	return command == COMMAND_DUPFD || command == COMMAND_DUPFD_CLOEXEC;
}

static void call_done(struct pt_regs *regs, __s64 ret, __u8 call)
{
	switch (call) {
	case RAW_CALL_CONNECT:
		if (connects(ret))
			emit(CALL_ARG1(regs), call);
		else
			peer_asked(regs, ret);
		return;
	case RAW_CALL_LISTEN:
	case RAW_CALL_BIND:
		if (!ret)
			emit(CALL_ARG1(regs), call);
		return;
	case RAW_CALL_PIPE:
		if (!ret)
			emit_pair(CALL_ARG1(regs), call);
		return;
	case RAW_CALL_SOCKETPAIR:
		if (!ret)
			emit_pair(CALL_ARG4(regs), call);
		return;
	case RAW_CALL_FCNTL:
		if (is_in_vain(ret) && is_lock_command(CALL_ARG2(regs)))
			lock_asked(regs, 1);
		if (!duplicates(regs))
			return;
		break;
	case RAW_CALL_FLOCK:
		if (is_in_vain(ret))
			lock_asked(regs, 0);
		return;
	case RAW_CALL_SOCKET_OPTION:
		if (!ret)
			socket_error_asked(regs);
		return;
	case RAW_CALL_EXEC:
		if (!ret) {
			forget_asker((struct task_struct *)bpf_get_current_task());
			emit_args();
		}
		return;
	default:
		if (call >= RAW_CALL_OPEN_PATH && (ret < 0 || call >= RAW_CALL_PATH)) {
			path_asked(regs, ret, call);
			return;
		}
		/* Who opens it each time that it has slept may look for what is in there. */
		if (control.naps && (call == RAW_CALL_OPEN_PATH || call == RAW_CALL_OPEN_AT))
			shall_tell((struct task_struct *)bpf_get_current_task(), LOOK_OPENS);
	}
	if (ret >= 0)
		emit(ret, call);
}

static void handle(struct pt_regs *regs, __u64 nr, __s64 ret)
{
	struct task_struct *task;
	__u8 call;

	if (nr >= RAW_NR_MAX)
		return;
	call = control.calls[nr];
	if (call == RAW_CALL_NONE || call >= RAW_CALL_POLL || control.ended)
		return;
	task = (struct task_struct *)bpf_get_current_task();
	if (CALL_IS_COMPAT(task))
		return;
	if (bpf_get_current_pid_tgid() >> 32 == control.recorder_tgid)
		learn_root(task);
	else
		call_done(regs, ret, call);
}

/* The record of syscalls:sys_exit_*. */
struct exit_record {
	__u64 common;
	__s32 nr;
	__s64 ret;
};

SEC("tracepoint")
int on_one_exit(struct exit_record *record)
{
	struct task_struct *task;

	if (control.ended) /* attached for a while after recording */
		return 0;
	task = bpf_get_current_task_btf();
	handle((struct pt_regs *)bpf_task_pt_regs(task), (__u32)record->nr, record->ret);
	return 0;
}

SEC("tp_btf/sys_exit")
int on_any_exit(__u64 *args)
{
	struct pt_regs *regs = (struct pt_regs *)args[0];

	handle(regs, CALL_NR(regs), (__s64)args[1]);
	return 0;
}

/* What user space is told of a thread that has a number of its own in its pid namespace. */
static void emit_vtid(struct task_struct *task, struct pid *pid, __u32 level)
{
	char room[__builtin_offsetof(struct raw_name, text)] __attribute__((aligned(8))) = { 0 };
	struct upid *numbers = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	struct upid *number = (void *)numbers + level * bpf_core_type_size(struct upid);
	struct raw_name *raw = (void *)room;

	raw->mono_ns = bpf_ktime_get_ns();
	raw->tgid = BPF_CORE_READ(task, tgid);
	raw->tid = BPF_CORE_READ(task, pid);
	raw->fd = -1;
	raw->kind = RAW_KIND_VTID;
	raw->pid = BPF_CORE_READ(number, nr);
	raw->inode = BPF_CORE_READ(number, ns, ns.inum);
	ring_send(&ring, room, sizeof(room), sizeof(room), control.wake_bytes, &control.lost);
}

/* Only those who log events themselves, from within a container, are known by such numbers. */
SEC("tp_btf/task_newtask")
int on_new_task(__u64 *args)
{
	struct task_struct *task = (struct task_struct *)args[0];
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);

	if (level && level <= PID_LEVELS && !control.ended)
		emit_vtid(task, pid, level);
	return 0;
}

/* ------------------------------------------------------------- who sleeps in poll */

struct one_polled {
	int fd;
	short events;
	short revents;
};

/* For emit_of(). */
static __u64 for_room(short events)
{
	return events & POLL_WRITES && !(events & POLL_READS) ? (__u64)RAW_FOR_ROOM << 32 : 0;
}

static void look_at_poll(struct task_struct *task, __u64 address, __u64 at, __u64 count)
{
	struct one_polled piece[POLL_PIECE] = { 0 };

#pragma clang loop unroll(disable)
	for (__u32 from = 0; from < WATCHED_MAX && from < count; from += POLL_PIECE) {
		__u64 left = count - from < POLL_PIECE ? count - from : POLL_PIECE;

		if (bpf_copy_from_user_task(piece, left * sizeof(piece[0]),
					    (void *)(at + from * sizeof(piece[0])), task, 0))
			return;
#pragma clang loop unroll(disable)
		for (__u32 i = 0; i < POLL_PIECE && i < left; i++)
			emit_of(address, piece[i].fd, RAW_CALL_WATCHED, for_room(piece[i].events));
	}
}

static __u64 set_word(struct task_struct *task, __u64 set, __u32 nr)
{
	__u64 word = 0;

	if (set && bpf_copy_from_user_task(&word, sizeof(word), (void *)(set + nr * sizeof(word)),
					   task, 0))
		return 0;
	return word;
}

/* How many bits of the word are set, without a branch for the verifier to follow. */
static int ones_of(__u64 word)
{
	word -= word >> 1 & 0x5555555555555555;
	word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return word * 0x0101010101010101 >> 56;
}

/* Not static: see above. 64 bits of the sets of select(), from descriptor 'from' on; 'reads': of others than the second. */
int look_at_word(__u64 task, __u64 word, __u64 reads, int from);

__attribute__((noinline)) int look_at_word(__u64 task, __u64 word, __u64 reads, int from)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < WATCHED_MAX && word; i++, word &= word - 1)
		emit_of(task, from + ones_of((word & -word) - 1), RAW_CALL_WATCHED,
			for_room(word & -word & reads ? POLL_READS : POLL_WRITES));
	return 0;
}

/* What the sets hold before the call returns is what it watches. */
static void look_at_select(struct task_struct *task, __u64 address, struct pt_regs *regs)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SELECT_MAX / 64 && i * 64 < CALL_ARG1(regs); i++) {
		__u64 reads =
			set_word(task, CALL_ARG2(regs), i) | set_word(task, CALL_ARG4(regs), i);

		look_at_word(address, reads | set_word(task, CALL_ARG3(regs), i), reads, i * 64);
	}
}

/*
 * It sleeps, and was not told of since it began to, or not for long. What was told before the
 * recording began is of threads that nobody knows yet.
 */
static int sleeps_anew(struct task_struct *task)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 tid = BPF_CORE_READ(task, pid);
	struct sleeper fresh = { BPF_CORE_READ(task, nvcsw), now, AGAIN_NS };
	struct sleeper *then = bpf_map_lookup_elem(&sleepers, &tid);

	if (!(BPF_CORE_READ(task, __state) & TASK_INTERRUPTIBLE))
		return 0;
	if (then && then->slept == fresh.slept && then->told_ns >= control.begun_ns) {
		if (now - then->told_ns < then->gap_ns)
			return 0;
		fresh.gap_ns = 2 * then->gap_ns;
	}
	bpf_map_update_elem(&sleepers, &tid, &fresh, BPF_ANY);
	return 1;
}

/* Of the command, or what it started. */
static int is_below_recorder(struct task_struct *task)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < PARENTS && task; i++) {
		if ((__u32)BPF_CORE_READ(task, tgid) == control.recorder_tgid)
			return 1;
		task = BPF_CORE_READ(task, real_parent);
	}
	return 0;
}

/* It sleeps until a time, in a call that may be a sleep. Those that only sleep may be made by a new child each time. */
static int naps(struct task_struct *task, struct pt_regs *regs, __u8 call)
{
	if (!(BPF_CORE_READ(task, __state) & TASK_INTERRUPTIBLE))
		return 0;
	switch (call) {
	case RAW_CALL_NAP:
	case RAW_CALL_FUTEX:
		return 1;
	case RAW_CALL_POLL:
		return (__s32)CALL_ARG3(regs) > 0 && BPF_CORE_READ(task, nvcsw) > NAPPED;
	case RAW_CALL_TIMED: /* the time, or where it stands, is the fourth argument */
		return (CALL_ARG4(regs) & 0xffffffff) - 1 < 0xfffffffe &&
		       BPF_CORE_READ(task, nvcsw) > NAPPED;
	default:
		return call == RAW_CALL_SELECT && BPF_CORE_READ(task, nvcsw) > NAPPED;
	}
}

static int is_poll(__u8 call)
{
	return call == RAW_CALL_POLL || call == RAW_CALL_SELECT;
}

static int may_sleep(struct pt_regs *regs, __u8 call)
{
	return is_poll(call) || call == RAW_CALL_TIMED || call == RAW_CALL_FCNTL ||
	       call == RAW_CALL_FLOCK || call == RAW_CALL_CONNECT || call == RAW_CALL_OPEN_PATH ||
	       call == RAW_CALL_OPEN_AT || (call == RAW_CALL_FUTEX && waits_for_lock(regs));
}

static void look_at_sleeper(struct task_struct *task, __u64 address, struct pt_regs *regs,
			    __u8 call)
{
	switch (call) {
	case RAW_CALL_POLL:
		look_at_poll(task, address, CALL_ARG1(regs), CALL_ARG2(regs));
		return;
	case RAW_CALL_SELECT:
		look_at_select(task, address, regs);
		return;
	case RAW_CALL_TIMED:
		look_at_epoll(task, address, regs);
		return;
	case RAW_CALL_FUTEX:
		look_at_futex(task, address, regs);
		return;
	case RAW_CALL_CONNECT:
		look_at_connect(task, address, regs);
		return;
	case RAW_CALL_OPEN_PATH:
		look_at_text(task, address, CALL_ARG1(regs), -1, call);
		return;
	case RAW_CALL_OPEN_AT:
		look_at_text(task, address, CALL_ARG2(regs), CALL_ARG1(regs), call);
		return;
	default:
		look_at_lock(task, address, regs, call == RAW_CALL_FCNTL);
	}
}

/* Does a cgroup of the thread, or one above it, have a CPU quota? */
static int has_quota(struct task_struct *task)
{
	struct task_group *group = NULL;

	if (!bpf_core_field_exists(task->sched_task_group) ||
	    !bpf_core_field_exists(group->cfs_bandwidth))
		return 0;
	group = BPF_CORE_READ(task, sched_task_group);
	for (int i = 0; i < LEVELS && group; i++) {
		if (BPF_CORE_READ(group, cfs_bandwidth.quota) != ~0ull)
			return 1;
		group = BPF_CORE_READ(group, parent);
	}
	return 0;
}

/* A limit of such threads may hold it back. */
static int is_real_time(struct task_struct *task)
{
	return BPF_CORE_READ(task, prio) < PRIO_FIRST_FAIR;
}

static __always_inline int each_task(struct bpf_iter__task *iter, int tells_sleepers)
{
	struct task_struct *task = iter->task;
	struct pt_regs *regs;
	__u64 nr, address; /* of the task, as a number: see emit_of() */

	if (!task || !BPF_CORE_READ(task, mm) || CALL_IS_COMPAT(task) ||
	    (__u32)BPF_CORE_READ(task, tgid) == control.recorder_tgid)
		return 0;
	if (!control.quotas && (is_real_time(task) || has_quota(task)))
		control.quotas++;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	nr = CALL_NR(regs);
	if (nr < RAW_NR_MAX && naps(task, regs, control.calls[nr]) && is_below_recorder(task))
		control.naps++;
	if (nr >= RAW_NR_MAX ||
	    bpf_probe_read_kernel(&address, sizeof(address),
				  (void *)iter +
					  bpf_core_field_offset(struct bpf_iter__task, task)))
		return 0;
	if (tells_sleepers && control.tells_sleepers && BPF_CORE_READ(task, __state) & TASK_SLEEPS)
		tell_sleeper(task, address, regs, nr);
	if (may_sleep(regs, control.calls[nr]) && sleeps_anew(task))
		look_at_sleeper(task, address, regs, control.calls[nr]);
	return 0;
}

/* The recorder reads the file of this, and it is called for each thread of the machine. */
SEC("iter.s/task")
int on_each_task(struct bpf_iter__task *iter)
{
	return each_task(iter, 0);
}

/* The same where calls that block are told of: it needs their ring. */
SEC("iter.s/task")
int on_each_task_lean(struct bpf_iter__task *iter)
{
	return each_task(iter, 1);
}
