/*
 * asked.h - what is asked for in vain: file locks that others have, paths that are not there, or are.
 *
 * A part of holdup.bpf.c. It costs something only for calls that fail, for those that change names of
 * files while somebody asks again and again, and, by the look at all threads, for those who sleep.
 */
#ifndef RECORD_BPF_ASKED_H
#define RECORD_BPF_ASKED_H

#ifdef __bpf__

/* ------------------------------------------------------------------- file locks */

/* A lock that somebody has. */
struct held {
	__u64 owner;
	__s64 start, end;
	__s32 pid;
	__u8 writes;
};

/* What a call asks for. */
struct wanted {
	__u64 owner; /* the locks of that are its own */
	__s64 start, end;
	struct held held; /* the one that is looked at */
	__s64 found;	  /* see find_holder() */
	__u8 writes;
	__u8 posix; /* else flock() */
};

/* Not on the stack, of which the verifier would follow each value on each way. The second one as in 'scratch'. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct wanted);
} all_wanted SEC(".maps");

/* include/uapi/asm-generic/fcntl.h */
struct user_flock {
	short type;
	short whence;
	long start;
	long len;
};

static int is_refused(__s64 ret)
{
	return ret == -ERROR_AGAIN || ret == -ERROR_ACCESS;
}

/* Or a signal broke it off, as that of a time-out: who waits in short slices is seen asleep seldom. */
static int is_in_vain(__s64 ret)
{
	return is_refused(ret) || ret == -CALL_INTERRUPTED || ret == -CALL_RESTART;
}

static int is_lock_command(__u32 command)
{
	return command == COMMAND_SETLK || command == COMMAND_SETLKW ||
	       command == COMMAND_OFD_SETLK || command == COMMAND_OFD_SETLKW;
}

static void read_held(__u64 at, struct held *out)
{
	struct file_lock___old *old = (void *)at;
	struct file_lock *lock = (void *)at;

	if (bpf_core_field_exists(old->fl_list)) {
		out->owner = (__u64)BPF_CORE_READ(old, fl_owner);
		out->pid = BPF_CORE_READ(old, fl_pid);
		out->writes = BPF_CORE_READ(old, fl_type) == TYPE_WRITE;
		out->start = BPF_CORE_READ(old, fl_start);
		out->end = BPF_CORE_READ(old, fl_end);
	} else {
		out->owner = (__u64)BPF_CORE_READ(lock, c.flc_owner);
		out->pid = BPF_CORE_READ(lock, c.flc_pid);
		out->writes = BPF_CORE_READ(lock, c.flc_type) == TYPE_WRITE;
		out->start = BPF_CORE_READ(lock, fl_start);
		out->end = BPF_CORE_READ(lock, fl_end);
	}
}

static __u64 link_offset(void)
{
	struct file_lock___old *old = NULL;

	if (bpf_core_field_exists(old->fl_list))
		return bpf_core_field_offset(struct file_lock___old, fl_list);
	return bpf_core_field_offset(struct file_lock, c.flc_list);
}

static int is_in_the_way(const struct wanted *wanted, const struct held *held)
{
	return held->owner != wanted->owner && (held->writes || wanted->writes) &&
	       (!wanted->posix || (held->start <= wanted->end && wanted->start <= held->end));
}

/* Not static: see emit_of(). */
__s64 find_holder(__u64 file, __u32 which);

/* Who has what is wanted: the process, and RAW_SEVERAL << 32 if there are others; -1 = nobody. */
__attribute__((noinline)) __s64 find_holder(__u64 file, __u32 which)
{
	struct wanted *wanted = bpf_map_lookup_elem(&all_wanted, &which);
	struct file_lock_context *context = BPF_CORE_READ((struct file *)file, f_inode, i_flctx);
	__u64 head = (__u64)context, at = 0;

	if (!wanted || !context)
		return -1;
	head += wanted->posix ? bpf_core_field_offset(struct file_lock_context, flc_posix)
			      : bpf_core_field_offset(struct file_lock_context, flc_flock);
	wanted->found = -1;
	if (bpf_probe_read_kernel(&at, sizeof(at), (void *)head))
		return -1;
#pragma clang loop unroll(disable)
	for (int i = 0; i < LOCKS_MAX && at && at != head; i++) {
		read_held(at - link_offset(), &wanted->held);
		if (is_in_the_way(wanted, &wanted->held)) {
			if (wanted->found < 0)
				wanted->found = (__u32)wanted->held.pid;
			else if ((__u32)wanted->found != (__u32)wanted->held.pid)
				return wanted->found | (__s64)RAW_SEVERAL << 32;
		}
		if (bpf_probe_read_kernel(&at, sizeof(at), (void *)at))
			break;
	}
	return wanted->found;
}

static void want(struct wanted *wanted, const struct user_flock *lock)
{
	wanted->writes = lock->type == TYPE_WRITE;
	wanted->end = 0x7fffffffffffffff;
	if (lock->whence)
		return; /* from where it is: all of the file */
	wanted->start = lock->start;
	if (lock->len > 0)
		wanted->end = lock->start + lock->len - 1;
}

/* -1: it asks for none that anybody has. */
static __s64 who_has_wanted(struct task_struct *task, struct pt_regs *regs, struct file *file,
			    __u32 which, const struct user_flock *lock)
{
	struct wanted *wanted = bpf_map_lookup_elem(&all_wanted, &which);
	__u32 command = CALL_ARG2(regs);

	if (!wanted)
		return -1;
	__builtin_memset(wanted, 0, sizeof(*wanted));
	wanted->owner = (__u64)file;
	wanted->posix = lock != NULL;
	if (!lock)
		wanted->writes = !(command & FLOCK_SHARED);
	else
		want(wanted, lock);
	if (lock && (command == COMMAND_SETLK || command == COMMAND_SETLKW))
		wanted->owner = (__u64)BPF_CORE_READ(task, files);
	return find_holder((__u64)file, which);
}

/* The call that returns now was in vain. */
static void lock_asked(struct pt_regs *regs, __u8 posix)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct file *file = file_of(task, CALL_ARG1(regs));
	struct user_flock lock = { 0 };
	__s64 holder;

	if (!file || (posix && bpf_probe_read_user(&lock, sizeof(lock), (void *)CALL_ARG3(regs))))
		return;
	holder = who_has_wanted(task, regs, file, 0, posix ? &lock : NULL);
	if (holder >= 0)
		emit_of((__u64)task, CALL_ARG1(regs), RAW_CALL_HELD, holder);
}

/* It sleeps in such a call. */
static void look_at_lock(struct task_struct *task, __u64 address, struct pt_regs *regs, __u8 posix)
{
	struct file *file = file_of(task, CALL_ARG1(regs));
	struct user_flock lock = { 0 };
	__s64 holder;

	if (!file || (posix && !is_lock_command(CALL_ARG2(regs))))
		return;
	if (posix && bpf_copy_from_user_task(&lock, sizeof(lock), (void *)CALL_ARG3(regs), task, 0))
		return;
	holder = who_has_wanted(task, regs, file, 1, posix ? &lock : NULL);
	if (holder >= 0) /* the highest bit: out of the look at threads */
		emit_of(address, CALL_ARG1(regs), RAW_CALL_HELD, (__u64)holder | 1ull << 63);
}

/* ------------------------------------------------------------------------ paths */

/* Of each thread that asked in vain. */
struct asker {
	__u64 slept; /* how often it had slept when it asked last */
	__u32 told;  /* since then */
	__u32 looks; /* the same of what programs look for as they begin: files that are not there */
	__u32 found; /* and of files that are */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ASKERS);
	__type(key, __u32);
	__type(value, struct asker);
} askers SEC(".maps");

enum look {
	LOOK_NONE,  /* it asked in vain */
	LOOK_GONE,  /* it looked for a file that is not there, */
	LOOK_FOUND, /* or is, */
	LOOK_OPENS, /* and it opens that: the file is told otherwise */
};

/* Whether what it asked for shall be told: a few times between two sleeps. */
static int shall_tell(struct task_struct *task, enum look look)
{
	__u64 slept = BPF_CORE_READ(task, nvcsw);
	__u32 tid = BPF_CORE_READ(task, pid);
	struct asker *asker = bpf_map_lookup_elem(&askers, &tid);
	struct asker first = { .slept = slept,
			       .told = look == LOOK_NONE,
			       .looks = look == LOOK_GONE,
			       .found = look == LOOK_FOUND };

	if (!asker) {
		bpf_map_update_elem(&askers, &tid, &first, BPF_ANY);
		return 1;
	}
	if (asker->slept != slept) {
		*asker = first;
		control.asked_ns = bpf_ktime_get_ns();
		return 1;
	}
	if (look == LOOK_OPENS)
		return 0;
	if (look == LOOK_FOUND)
		return asker->found++ < ASKED_EACH;
	return (look == LOOK_GONE ? asker->looks++ : asker->told++) < ASKED_EACH;
}

/* What it looked for to find its program does not count. */
static void forget_asker(struct task_struct *task)
{
	__u32 tid = BPF_CORE_READ(task, pid);

	bpf_map_delete_elem(&askers, &tid);
}

/* Somebody asks for something again and again: who changes names may answer. */
static int somebody_asks(void)
{
	return control.asked_ns && bpf_ktime_get_ns() - control.asked_ns < ASKED_NS;
}

/* A path that does not begin at the root begins in directory 'dir', or where the task is. */
static void walk_folder(struct raw_name *raw, __u32 which, struct task_struct *task, int dir)
{
	struct file *file = file_of(task, dir);
	struct dentry *leaf;
	struct vfsmount *mnt;

	if (raw->text[0] == '/')
		return;
	leaf = file ? BPF_CORE_READ(file, f_path.dentry) : BPF_CORE_READ(task, fs, pwd.dentry);
	mnt = file ? BPF_CORE_READ(file, f_path.mnt) : BPF_CORE_READ(task, fs, pwd.mnt);
	walk_path(which, (__u64)leaf, (__u64)mnt);
}

/* Not static: see emit_of(). The path at 'user_path', from directory 'dir' on, or from where the task is. */
int emit_path(__u64 user_path, int dir, int error, unsigned char call);

__attribute__((noinline)) int emit_path(__u64 user_path, int dir, int error, unsigned char call)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct raw_name *raw = empty_record(0);
	long len;

	if (!raw)
		return 0;
	begin_record(raw, task, error, call);
	raw->kind = RAW_KIND_ASKED;
	len = bpf_probe_read_user_str(raw->text, RAW_NAME_MAX, (void *)user_path);
	if (len <= 1)
		return 0;
	raw->text_bytes = len & (2 * RAW_NAME_MAX - 1);
	walk_folder(raw, 0, task, dir);
	RING_SEND(raw);
	return 0;
}

static int is_worth_telling(__s64 ret, enum look look)
{
	if (ret < 0)
		return ret > -CALL_RESTART && ret != -CALL_INTERRUPTED &&
		       shall_tell((struct task_struct *)bpf_get_current_task(), look);
	if (look == LOOK_FOUND)
		return shall_tell((struct task_struct *)bpf_get_current_task(), look);
	return somebody_asks();
}

static enum look look_of(__s64 ret, __u8 call)
{
	if (ret >= 0)
		return call >= RAW_CALL_LOOK ? LOOK_FOUND : LOOK_NONE;
	return ret == -ERROR_NO_ENTRY && (call < RAW_CALL_PATH || call >= RAW_CALL_LOOK)
		       ? LOOK_GONE
		       : LOOK_NONE;
}

/* What is found by an empty path is a descriptor. */
static int has_path(struct pt_regs *regs, __u8 call)
{
	char first = 0;

	if (bpf_probe_read_user(&first, 1,
				(void *)(call == RAW_CALL_LOOK_AT ? CALL_ARG2(regs)
								  : CALL_ARG1(regs))))
		return 0;
	return first;
}

/* What a rename fails for with that error is the new name. */
static int is_of_target(int error)
{
	return error == ERROR_EXISTS || error == ERROR_NOT_EMPTY;
}

/* A call by path failed, or changed a name, or found a file. */
static void path_asked(struct pt_regs *regs, __s64 ret, __u8 call)
{
	int error = ret < 0 ? -ret : 0;

	if ((call >= RAW_CALL_LOOK && !has_path(regs, call)) ||
	    !is_worth_telling(ret, look_of(ret, call)))
		return;
	switch (call) {
	case RAW_CALL_OPEN_PATH:
	case RAW_CALL_PATH:
	case RAW_CALL_LOOK:
		emit_path(CALL_ARG1(regs), -1, error, call);
		return;
	case RAW_CALL_OPEN_AT:
	case RAW_CALL_AT:
	case RAW_CALL_LOOK_AT:
		emit_path(CALL_ARG2(regs), CALL_ARG1(regs), error, call);
		return;
	case RAW_CALL_LINK:
		emit_path(CALL_ARG2(regs), -1, error, call);
		return;
	case RAW_CALL_SYMLINK_AT:
		emit_path(CALL_ARG3(regs), CALL_ARG2(regs), error, call);
		return;
	case RAW_CALL_LINK_AT:
		emit_path(CALL_ARG4(regs), CALL_ARG3(regs), error, call);
		return;
	case RAW_CALL_RENAME:
		if (!is_of_target(error))
			emit_path(CALL_ARG1(regs), -1, error, call);
		if (!error || is_of_target(error))
			emit_path(CALL_ARG2(regs), -1, error, call);
		return;
	case RAW_CALL_RENAME_AT:
		if (!is_of_target(error))
			emit_path(CALL_ARG2(regs), CALL_ARG1(regs), error, call);
		if (!error || is_of_target(error))
			emit_path(CALL_ARG4(regs), CALL_ARG3(regs), error, call);
		return;
	}
}

/* What struct sockaddr_in and sockaddr_in6 begin with. */
struct user_address {
	__u16 family;
	__u16 port;
};

/* connect() failed. */
static void peer_asked(struct pt_regs *regs, __s64 ret)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct raw_name *raw = empty_record(0);
	struct user_address address = { 0 };
	long len = 0;

	if (!raw || !is_worth_telling(ret, LOOK_NONE) ||
	    bpf_probe_read_user(&address, sizeof(address), (void *)CALL_ARG2(regs)))
		return;
	begin_record(raw, task, -ret, RAW_CALL_CONNECT);
	raw->kind = RAW_KIND_ASKED_PEER;
	raw->family = address.family;
	raw->remote_port = __builtin_bswap16(address.port);
	if (address.family == FAMILY_UNIX)
		len = bpf_probe_read_user_str(raw->text, RAW_UNIX_SLOT,
					      (char *)CALL_ARG2(regs) + 2);
	else if (address.family == FAMILY_INET)
		bpf_probe_read_user(raw->remote, 4, (char *)CALL_ARG2(regs) + 4);
	else if (address.family == FAMILY_INET6)
		bpf_probe_read_user(raw->remote, 16, (char *)CALL_ARG2(regs) + 8);
	else
		return;
	raw->text_bytes = len > 0 ? len & (2 * RAW_UNIX_SLOT - 1) : 0;
	RING_SEND(raw);
}

/*
 * A connection that was under way was refused, or made: getsockopt(SO_ERROR) says so. It is the
 * address of connect() that is told, as where that fails at once.
 */
static void socket_error_asked(struct pt_regs *regs)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct file *file = file_of(task, (__s32)CALL_ARG1(regs));
	struct raw_name *raw;
	struct socket *socket;
	struct sock *sk;
	int error = 0;

	if ((__u32)CALL_ARG2(regs) != SOCKET_LEVEL || (__u32)CALL_ARG3(regs) != SOCKET_ERROR ||
	    bpf_probe_read_user(&error, sizeof(error), (void *)CALL_ARG4(regs)) ||
	    (error && error != ERROR_REFUSED) || !file ||
	    BPF_CORE_READ(file, f_inode, i_sb, s_magic) != MAGIC_SOCK ||
	    !is_worth_telling(-error, LOOK_NONE))
		return;
	raw = empty_record(0);
	if (!raw)
		return;
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	begin_record(raw, task, error, RAW_CALL_CONNECT);
	raw->kind = RAW_KIND_ASKED_PEER;
	raw->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (raw->family != FAMILY_INET && raw->family != FAMILY_INET6)
		return;
	read_inet(raw, sk);
	RING_SEND(raw);
}

/* ------------------------------------------------------------------------ programs */

/* The program that the task runs now, by its arguments. */
static void emit_args(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	unsigned long start = BPF_CORE_READ(task, mm, arg_start);
	unsigned long bytes = BPF_CORE_READ(task, mm, arg_end) - start;
	struct raw_name *raw = empty_record(0);

	if (!raw || !bytes)
		return;
	if (bytes > RAW_ARGS_MAX)
		raw->flags |= RAW_CUT;
	begin_record(raw, task, -1, RAW_CALL_EXEC);
	raw->kind = RAW_KIND_ARGS;
	bytes = bytes > RAW_ARGS_MAX ? RAW_ARGS_MAX : bytes;
	asm volatile("" : "+r"(bytes));
	bytes &= 2 * RAW_ARGS_MAX - 1;
	if (bytes > RAW_ARGS_MAX || bpf_probe_read_user(raw->text, bytes, (void *)start))
		return;
	raw->text_bytes = bytes;
	RING_SEND(raw);
}

#endif /* __bpf__ */

#endif
