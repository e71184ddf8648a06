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

#define RECENT 4096 /* descriptors; a power of two */

/* Of sleepers. It wakes the reader, too, by a record that is none. */
RING_MAP(blocks, 1 << 22);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* as many as CPUs */
	__type(key, __u32);
	__type(value, struct raw_lane);
} lanes SEC(".maps");

/* Those of the first CPU, of the second one ... */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* control.lane_chunks for each CPU */
	__type(key, __u32);
	__type(value, struct raw_chunk);
} chunks SEC(".maps");

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
 * Before that is looked up: by process and descriptor, the last one that was told, as one number, which is written and
 * read at once.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECENT);
	__type(key, __u32);
	__type(value, __u64);
} recent SEC(".maps");

#ifdef BLOCKS_BY_CAST

/* Linux 6.2 and later; elsewhere the other program is loaded. */
extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;

#define CAST(type, address) \
	((struct type *)bpf_rdonly_cast(address, bpf_core_type_id_kernel(struct type)))

/* One of the kernel's that begins with a number: what is loaded as that is no pointer to the verifier. */
struct timespec64 {
	__s64 tv_sec;
} __attribute__((preserve_access_index));

/*
 * Addresses of files are used again at once, numbers of sockets and pipes are not. A checked read is a call, and this
 * runs at each switch: so all is loaded directly.
 */
static __u64 identity_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = task->files ? task->files->fdt : NULL;
	struct inode *inode;
	struct file *file;
	__u64 address;

	if (!table || fd >= table->max_fds)
		return 0;
	address = CAST(timespec64, table->fd + fd)->tv_sec;
	file = CAST(file, (void *)address);
	if (!address)
		return 0;
	inode = file->f_inode;
	return address ^ inode->i_ino << 16;
}

#else

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

#endif

/* It is told, and no other one since. */
static __u64 recent_check(__u64 key, __u64 identity)
{
	return (key * 0x9e3779b97f4a7c15 ^ identity) * 0xc2b2ae3d27d4eb4f ^ control.begun_ns;
}

static __u64 *recent_place(__u64 key)
{
	__u32 at = (key >> 32) * 61 + key & (RECENT - 1);

	return bpf_map_lookup_elem(&recent, &at);
}

/* 'place' is where that can be seen without a search; NULL = nowhere. */
static int is_named(__u64 key, const struct named_file *fresh, __u64 check, __u64 *place)
{
	struct named_file *told;

	if (place && *(volatile __u64 *)place == check)
		return 1;
	told = bpf_map_lookup_elem(&named, &key);
	if (!told || told->identity != fresh->identity || told->told_ns < control.begun_ns)
		return 0;
	if (place)
		*(volatile __u64 *)place = check;
	return 1;
}

static void name_blocked(struct task_struct *task, __u32 nr, __u32 fd)
{
	struct named_file fresh = { .identity = identity_of(task, fd) };
	__u64 key = (__u64)(__u32)task->tgid << 32 | fd;
	int connects = control.calls[nr] == RAW_CALL_CONNECT;
	__u64 *place = recent_place(key);
	__u64 check = recent_check(key, fresh.identity);

	if (!fresh.identity || (!connects && is_named(key, &fresh, check, place)))
		return;
	emit_of((__u64)bpf_get_current_task(), (__s32)fd,
		connects ? RAW_CALL_CONNECT : RAW_CALL_BLOCKED, IN_BLOCK);
	/* Its other end is known when it is connected: then it is told once more. */
	if (connects)
		fresh.identity = 0;
	fresh.told_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&named, &key, &fresh, BPF_ANY);
	if (place)
		*(volatile __u64 *)place = connects ? 0 : check;
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
	block->mono_ns = bpf_ktime_get_ns();
	block->tid = task->pid;
	block->nr = RAW_BLOCK_NONE;
	block->flags = 0;
	fill_call(block, task, regs);
}

static void wake_reader(void)
{
	__u64 none = 0;

	(void)bpf_ringbuf_output(&blocks, &none, sizeof(none), BPF_RB_FORCE_WAKEUP);
}

static struct raw_block *lane_place(__u32 cpu, __u64 nr)
{
	__u32 at = cpu * control.lane_chunks + (nr / RAW_CHUNK & (control.lane_chunks - 1));
	struct raw_chunk *chunk = bpf_map_lookup_elem(&chunks, &at);

	return chunk ? &chunk->blocks[nr & (RAW_CHUNK - 1)] : NULL;
}

/* Interrupts are off: nobody else writes to the lane of this CPU. */
static void tell_block(struct task_struct *task, struct pt_regs *regs)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct raw_lane *lane = bpf_map_lookup_elem(&lanes, &cpu);
	__u64 nr = lane ? lane->head : 0;
	struct raw_block *block = lane ? lane_place(cpu, nr) : NULL;

	if (!block ||
	    nr - *(volatile __u64 *)&lane->tail >= (__u64)control.lane_chunks * RAW_CHUNK) {
		__sync_fetch_and_add(&control.lost_blocks, 1);
		if (lane)
			lane->misses = 1;
		return;
	}
	fill_block(block, task, regs);
	if (lane->misses) {
		lane->misses = 0;
		block->flags |= RAW_BLOCK_LOSS;
	}
	/* What was written is seen before that: the returned value makes it a barrier. */
	nr = __sync_fetch_and_add(&lane->head, 1) + 1;
	if (!(nr & (control.lane_wake - 1)))
		wake_reader();
}

/* Out of the look at all threads: it sleeps since before anybody looked. 'address' as of emit_of(). */
static void tell_sleeper(struct task_struct *task, __u64 address, struct pt_regs *regs, __u64 nr)
{
	struct raw_slept *slept = bpf_ringbuf_reserve(&blocks, sizeof(*slept), 0);

	if (!slept)
		return;
	slept->block.mono_ns = bpf_ktime_get_ns();
	slept->block.tid = BPF_CORE_READ(task, pid);
	slept->block.nr = nr;
	slept->block.flags = 0;
	slept->cpu = bpf_get_smp_processor_id();
	slept->zero = 0;
	fill_args(&slept->block, regs);
	bpf_ringbuf_submit(slept, BPF_RB_NO_WAKEUP);
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
