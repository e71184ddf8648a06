/*
 * blocks.h - in which call a thread blocks, read from its saved registers as it leaves its CPU.
 *
 * A part of holdup.bpf.c. System calls cost nothing for that: only those that block are looked at. The
 * name of the descriptor that such a call is about is told when it is not the one that was told last.
 */
#ifndef RECORD_BPF_BLOCKS_H
#define RECORD_BPF_BLOCKS_H

#ifdef __bpf__

#define NAMED_MAX   32768
#define IN_BLOCK    (1ull << 62) /* of emit_of(): use the scratch of this program */
#define NO_OWN_CALL (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)

RING_MAP(blocks, 1 << 24);

/* 1 = a record of this CPU found no room since the last one that did. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} missed SEC(".maps");

struct named_file {
	__u64 identity;
	__u64 told_ns; /* once more when the recording begins anew */
};

/* Process and descriptor, to what it named when that was told. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, NAMED_MAX);
	__type(key, __u64);
	__type(value, struct named_file);
} named SEC(".maps");

/*
 * Addresses of files are used again at once, numbers of sockets and pipes are not. As everything that runs at each
 * switch, it loads directly what can be reached from the task: a checked read is a call.
 */
static __u64 identity_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = task->files ? task->files->fdt : NULL;
	struct inode *inode = NULL;
	struct file *file = NULL;
	__u64 number = 0;

	if (!table || fd >= table->max_fds ||
	    bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd) || !file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	(void)bpf_probe_read_kernel(&number, sizeof(number),
				    (void *)inode + bpf_core_field_offset(struct inode, i_ino));
	return (__u64)file ^ number << 16;
}

static void name_blocked(struct task_struct *task, __u32 nr, __u32 fd)
{
	struct named_file fresh = { .identity = identity_of(task, fd) };
	__u64 key = (__u64)(__u32)task->tgid << 32 | fd;
	int connects = control.calls[nr] == RAW_CALL_CONNECT;
	struct named_file *told;

	if (!fresh.identity)
		return;
	told = bpf_map_lookup_elem(&named, &key);
	if (told && told->identity == fresh.identity && told->told_ns >= control.begun_ns &&
	    !connects)
		return;
	emit_of((__u64)bpf_get_current_task(), (__s32)fd,
		connects ? RAW_CALL_CONNECT : RAW_CALL_BLOCKED, IN_BLOCK);
	/* Its other end is known when it is connected: then it is told once more. */
	if (connects)
		fresh.identity = 0;
	fresh.told_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&named, &key, &fresh, BPF_ANY);
}

#if CALL_IS_KNOWN

static void fill_args(struct raw_block *block, struct pt_regs *regs)
{
	if (block->flags & RAW_BLOCK_COMPAT) {
		const __u64 args[6] = CALL_ARGS_32(regs);

		__builtin_memcpy(block->args, args, sizeof(args));
	} else {
		const __u64 args[6] = CALL_ARGS(regs);

		__builtin_memcpy(block->args, args, sizeof(args));
	}
}

static void fill_call(struct raw_block *block, struct task_struct *task, struct pt_regs *regs)
{
	__u64 nr = CALL_NR(regs);

	if (nr >= RAW_NR_MAX) {
		__builtin_memset(block->args, 0, sizeof(block->args));
		return;
	}
	block->nr = nr;
	block->flags = (CALL_IS_COMPAT_NOW(task) ? RAW_BLOCK_COMPAT : 0) |
		       (CALL_HAS_ENDED(regs) ? RAW_BLOCK_ENDED : 0);
	fill_args(block, regs);
}

#else

static void fill_args(struct raw_block *block, struct pt_regs *regs)
{
	(void)regs;
	__builtin_memset(block->args, 0, sizeof(block->args));
}

static void fill_call(struct raw_block *block, struct task_struct *task, struct pt_regs *regs)
{
	(void)task;
	fill_args(block, regs);
}

#endif

static void fill_block(struct raw_block *block, struct task_struct *task, struct pt_regs *regs)
{
	block->tid = task->pid;
	block->nr = RAW_BLOCK_NONE;
	block->flags = 0;
	block->cpu = bpf_get_smp_processor_id();
	block->zero = 0;
	fill_call(block, task, regs);
}

static void note_missed(__u32 *of_cpu)
{
	__sync_fetch_and_add(&control.lost_blocks, 1);
	if (of_cpu)
		*of_cpu = 1;
}

static void tell_block(struct task_struct *task, struct pt_regs *regs)
{
	struct raw_block *block = bpf_ringbuf_reserve(&blocks, sizeof(*block), 0);
	__u32 zero = 0;
	__u32 *of_cpu = bpf_map_lookup_elem(&missed, &zero);

	if (!block) {
		note_missed(of_cpu);
		return;
	}
	block->mono_ns = bpf_ktime_get_ns();
	fill_block(block, task, regs);
	if (of_cpu && *of_cpu) {
		*of_cpu = 0;
		block->flags |= RAW_BLOCK_LOSS;
	}
	bpf_ringbuf_submit(block,
			   bpf_ringbuf_query(&blocks, BPF_RB_AVAIL_DATA) >= control.wake_block_bytes
				   ? BPF_RB_FORCE_WAKEUP
				   : BPF_RB_NO_WAKEUP);
}

/* Out of the look at all threads: it sleeps since before anybody looked. 'address' as of emit_of(). */
static void tell_sleeper(struct task_struct *task, __u64 address, struct pt_regs *regs, __u64 nr)
{
	struct raw_block *block = bpf_ringbuf_reserve(&blocks, sizeof(*block), 0);

	if (!block)
		return;
	block->mono_ns = bpf_ktime_get_ns();
	block->tid = BPF_CORE_READ(task, pid);
	block->nr = nr;
	block->flags = 0;
	block->cpu = bpf_get_smp_processor_id();
	block->zero = 0;
	fill_args(block, regs);
	bpf_ringbuf_submit(block, BPF_RB_NO_WAKEUP);
	if (control.takes_fd[nr])
		emit_of(address, (__s32)CALL_ARG1(regs), RAW_CALL_BLOCKED, 1ull << 63);
}

/* The thread that leaves its CPU blocks, in a call of its own, and that is told. */
static __always_inline int blocks_in_call(__u64 *args)
{
	int is_preempted = (int)args[0];
	struct task_struct *task = (struct task_struct *)args[1];
	__u32 state = task->__state;

	if (is_preempted || !state || state & TASK_DEAD || control.ended ||
	    control.rests == RAW_RESTS_ALL || task->flags & NO_OWN_CALL)
		return 0;
	if ((__u32)task->tgid != control.recorder_tgid)
		return 1;
	learn_root(task);
	return 0;
}

static __always_inline struct pt_regs *name_what_blocks(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 nr = CALL_NR(regs);

	if (nr < RAW_NR_MAX && control.takes_fd[nr] && !CALL_IS_COMPAT_NOW(task))
		name_blocked(task, nr, CALL_ARG1(regs));
	return regs;
}

SEC("tp_btf/sched_switch")
int on_block(__u64 *args)
{
	struct task_struct *task = (struct task_struct *)args[1];
	struct pt_regs *regs;

	if (!blocks_in_call(args))
		return 0;
	regs = name_what_blocks(task);
	if (control.rests != RAW_RESTS_CALLS)
		tell_block(task, regs);
	return 0;
}

/* The calls are recorded: only what their descriptors name is told. */
SEC("tp_btf/sched_switch")
int on_block_named(__u64 *args)
{
	if (blocks_in_call(args))
		(void)name_what_blocks((struct task_struct *)args[1]);
	return 0;
}

#endif /* __bpf__ */

#endif
