/*
 * sleepers.h - what those wait for who sleep in a call that has not told it yet, and may never return.
 *
 * A part of holdup.bpf.c, of the look at all threads: it costs calls nothing.
 *
 *	futex()    whose lock: the kernel's own word of FUTEX_LOCK_PI; glibc keeps the owner of a mutex,
 *		   and the writer of a rwlock, beside it
 *	connect()  where to
 *	open()     which path: a FIFO of which nobody has the other end
 *	epoll_wait()  which descriptors are watched only until there is room for what is to be written
 */
#ifndef RECORD_BPF_SLEEPERS_H
#define RECORD_BPF_SLEEPERS_H

#ifdef __bpf__

#define FUTEX_CMD_MASK	  0x7f
#define FUTEX_PRIVATE	  0x80
#define FUTEX_WAIT	  0
#define FUTEX_LOCK_PI	  6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2	  13
#define FUTEX_TID_MASK	  0x3fffffff
#define MUTEX_CONTENDED \
	2	      /* glibc, nptl/lowlevellock.h: the word is 2 while somebody waits for it */
#define MUTEX_OWNER 2 /* sysdeps/nptl/bits/struct_mutex.h: __lock, __count, __owner */
#define MUTEX_WORDS 3
#define PAGE_BYTES  4096

/*
 * sysdeps/nptl/bits/struct_rwlock.h: __readers, __writers, __wrphase_futex, __writers_futex, two
 * pads, __cur_writer, __shared; __flags at 48. Who waits does so at the third word or the fourth,
 * for a value that says that somebody waits: 2, or 3 (nptl/pthread_rwlock_common.c).
 */
#define RWLOCK_USED   2
#define RWLOCK_BEFORE 3 /* words before the fourth */
#define RWLOCK_WORDS  17

/* Not static: see emit_of(). */
int emit_owner(__u64 address, __u32 owner, unsigned char inferred);

__attribute__((noinline)) int emit_owner(__u64 address, __u32 owner, unsigned char inferred)
{
	struct raw_name *raw = empty_record(1);

	/* In a namespace of its own it has other numbers for itself. */
	if (!raw || BPF_CORE_READ((struct task_struct *)address, thread_pid, level))
		return 0;
	begin_record(raw, (struct task_struct *)address, -1, RAW_CALL_FUTEX);
	raw->kind = RAW_KIND_OWNER;
	raw->pid = owner & FUTEX_TID_MASK;
	raw->flags = inferred ? RAW_INFERRED : 0;
	raw->text_bytes = 0;
	RING_SEND(raw);
	return 0;
}

static int is_wait(__u32 command)
{
	return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

static int waits_for_lock(struct pt_regs *regs)
{
	__u32 command = CALL_ARG2(regs) & FUTEX_CMD_MASK;

	return command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2 ||
	       (is_wait(command) && ((__u32)CALL_ARG3(regs) | 1) == (RWLOCK_USED | 1));
}

/* The writer that a rwlock has, 0 where it is none. */
static __u32 writer_of(const __u32 *lock, int is_private)
{
	int fits = lock[2] <= 3 && lock[3] <= 3 && (lock[0] & 3) && lock[7] == !is_private &&
		   lock[12] <= 2;

	return fits ? lock[6] : 0;
}

static __u32 rwlock_owner(struct task_struct *task, struct pt_regs *regs)
{
	int is_private = CALL_ARG2(regs) & FUTEX_PRIVATE;
	__u32 words[RWLOCK_WORDS] = { 0 }, writer;
	void *from = (__u32 *)CALL_ARG1(regs) - RWLOCK_BEFORE;

	if (bpf_copy_from_user_task(words, sizeof(words), from, task, 0) ||
	    words[RWLOCK_BEFORE] != (__u32)CALL_ARG3(regs))
		return 0;
	writer = writer_of(words + 1, is_private);
	return writer ? writer : writer_of(words, is_private);
}

static __u32 mutex_owner(struct task_struct *task, struct pt_regs *regs)
{
	__u32 words[MUTEX_WORDS] = { 0 };

	if ((__u32)CALL_ARG3(regs) != MUTEX_CONTENDED ||
	    bpf_copy_from_user_task(words, sizeof(words), (void *)CALL_ARG1(regs), task, 0))
		return 0;
	return words[0] == MUTEX_CONTENDED ? words[MUTEX_OWNER] : 0;
}

static void look_at_futex(struct task_struct *task, __u64 address, struct pt_regs *regs)
{
	__u8 inferred = is_wait(CALL_ARG2(regs) & FUTEX_CMD_MASK);
	__u32 owner = 0;

	if (inferred) {
		owner = mutex_owner(task, regs);
		owner = owner & FUTEX_TID_MASK ? owner : rwlock_owner(task, regs);
	} else if (bpf_copy_from_user_task(&owner, sizeof(owner), (void *)CALL_ARG1(regs), task,
					   0)) {
		return;
	}
	if (owner & FUTEX_TID_MASK)
		emit_owner(address, owner, inferred);
}

#define TREE_STEPS 192 /* between nodes: a tree of a third of that is seen whole */

/* Not static: see emit_of(). 'node' is in the tree of what an epoll descriptor watches. */
int emit_item(__u64 address, __u64 node);

__attribute__((noinline)) int emit_item(__u64 address, __u64 node)
{
	struct epitem *item = (void *)(node - bpf_core_field_offset(struct epitem, rbn));
	__u32 events = BPF_CORE_READ(item, event.events);

	if (events & POLL_WRITES && !(events & POLL_READS))
		emit_of(address, BPF_CORE_READ(item, ffd.fd), RAW_CALL_WATCHED,
			(__u64)RAW_FOR_ROOM << 32);
	return 0;
}

/* Through the tree, from node to node: down the left side, then down the right one, then up. */
static void look_at_epoll(struct task_struct *task, __u64 address, struct pt_regs *regs)
{
	struct file *file = file_of(task, (__s32)CALL_ARG1(regs));
	struct eventpoll *epoll = file ? BPF_CORE_READ(file, private_data) : NULL;
	struct rb_node *node, *next, *from = NULL;

	if (!epoll || BPF_CORE_READ(epoll, file) != file)
		return;
	node = BPF_CORE_READ(epoll, rbr.rb_root.rb_node);
#pragma clang loop unroll(disable)
	for (int i = 0; i < TREE_STEPS && node; i++) {
		struct rb_node *up = (void *)(BPF_CORE_READ(node, __rb_parent_color) & ~3ul);
		struct rb_node *left = BPF_CORE_READ(node, rb_left);
		struct rb_node *right = BPF_CORE_READ(node, rb_right);

		if (from == up)
			emit_item(address, (__u64)node);
		if (from == up && left)
			next = left;
		else if (from != right && right)
			next = right;
		else
			next = up;
		from = node;
		node = next;
	}
}

/* The text of a user's is copied behind what is kept of the record, and moved to its place then. */
#define COPY_AT	   1024
#define COPY_BYTES 256

/* Up to the end of the page it is there, if not all of it. */
static int copy_text(struct task_struct *task, struct raw_name *raw, __u64 from)
{
	__u32 page = PAGE_BYTES - (from & (PAGE_BYTES - 1));

	if (!bpf_copy_from_user_task(raw->text + COPY_AT, COPY_BYTES - 1, (void *)from, task, 0))
		return 1;
	asm volatile("" : "+r"(page));
	page &= COPY_BYTES - 1;
	return page && !bpf_copy_from_user_task(raw->text + COPY_AT, page, (void *)from, task, 0);
}

/* Not static: see emit_of(). */
int emit_copied(__u64 address, int dir, unsigned char call);

__attribute__((noinline)) int emit_copied(__u64 address, int dir, unsigned char call)
{
	struct raw_name *raw = empty_record(1);
	int is_path = call != RAW_CALL_CONNECT;
	long len;

	if (!raw)
		return 0;
	begin_record(raw, (struct task_struct *)address, 0, call);
	raw->kind = is_path ? RAW_KIND_ASKED : RAW_KIND_ASKED_PEER;
	raw->family = is_path ? 0 : FAMILY_UNIX;
	len = bpf_probe_read_kernel_str(raw->text, RAW_NAME_MAX, raw->text + COPY_AT);
	if (len <= 1)
		return 0;
	raw->text_bytes = len & (2 * RAW_NAME_MAX - 1);
	if (is_path)
		walk_folder(raw, 1, (struct task_struct *)address, dir);
	RING_SEND(raw);
	return 0;
}

static void look_at_text(struct task_struct *task, __u64 address, __u64 from, int dir, __u8 call)
{
	struct raw_name *raw = empty_record(1);

	if (!raw)
		return;
	raw->text[COPY_AT + COPY_BYTES - 1] = 0;
	if (copy_text(task, raw, from))
		emit_copied(address, dir, call);
}

static void look_at_connect(struct task_struct *task, __u64 address, struct pt_regs *regs)
{
	__u16 family = 0;

	if (bpf_copy_from_user_task(&family, sizeof(family), (void *)CALL_ARG2(regs), task, 0))
		return;
	if (family == FAMILY_UNIX)
		look_at_text(task, address, CALL_ARG2(regs) + sizeof(family), -1, RAW_CALL_CONNECT);
	else
		emit_of(address, CALL_ARG1(regs), RAW_CALL_CONNECT, 1ull << 63);
}

#endif /* __bpf__ */

#endif
