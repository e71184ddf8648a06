/*
 * python_frames.h - the frames of a Python program's thread, by the BPF program that copies its stack.
 *
 * Whatever stands in the process's memory may be anything: each loop has a bound, each read may fail,
 * and what does not prove to be a code object is not told. See raw_python.h.
 */
#ifndef RECORD_BPF_PYTHON_FRAMES_H
#define RECORD_BPF_PYTHON_FRAMES_H

#ifdef __bpf__

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>

#include "bpf/kernel_stack.h"
#include "bpf/raw_python.h"
#include "bpf/raw_stack.h"
#include "bpf/ring.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RAW_PYTHON_PROCESSES);
	__type(key, __u32);
	__type(value, struct raw_python);
} pythons SEC(".maps");

/* Keys of code objects that were told. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RAW_PYTHON_CODES);
	__type(key, __u64);
	__type(value, __u8);
} python_codes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct raw_python_code);
} python_scratch SEC(".maps");

/* The walk that is under way. How many frames there are is in 'raw': of a number in here the verifier would look at each value. */
struct python_walk {
	const struct raw_python *python;
	void *ring;
	__u32 wake_bytes;
	__u64 *lost;
	__u64 seed; /* of the process */
	struct raw_stack *raw;
	__u64 frame; /* the next one */
	__u32 flags; /* of 'raw' */
};

static __always_inline int python_read(void *to, __u32 bytes, __u64 from)
{
	return bpf_probe_read_user(to, bytes, (const void *)from) == 0;
}

/* 0 where there is nothing. */
static __always_inline __u64 python_word(__u64 from)
{
	__u64 word = 0;

	(void)python_read(&word, sizeof(word), from);
	return word;
}

/* The number of the thread as itself sees it. */
static __always_inline __u64 python_own_number(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = pid ? BPF_CORE_READ(pid, level) : 0;
	struct upid *numbers = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	__u32 size = bpf_core_type_size(struct upid);
	int number = 0;

	if (!pid || level > 32)
		return 0;
	numbers = (void *)numbers + level * size;
	bpf_probe_read_kernel(&number, sizeof(number),
			      (void *)numbers + bpf_core_field_offset(struct upid, nr));
	return number;
}

/* The search for a thread that is under way. */
struct python_search {
	const struct raw_python *python;
	__u64 number;
	__u64 interpreter, thread;
	__u64 found;
};

static int python_search_step(__u32 i, struct python_search *search)
{
	const struct raw_python_layout *at = &search->python->at;

	(void)i;
	if (!search->thread) {
		search->interpreter = python_word(search->interpreter + at->interpreter_next);
		if (!search->interpreter)
			return 1;
		search->thread = python_word(search->interpreter + at->interpreter_threads);
	} else if (python_word(search->thread + at->thread_number) == search->number) {
		search->found = search->thread;
		return 1;
	} else {
		search->thread = python_word(search->thread + at->thread_next);
	}
	return 0;
}

/* The interpreter's own structure of the thread; 0 = it has none. */
static __always_inline __u64 python_thread(const struct raw_python *python, __u64 number)
{
	struct python_search search = { .python = python, .number = number };

	search.interpreter = python_word(python->head);
	if (!search.interpreter || !number)
		return 0;
	search.thread = python_word(search.interpreter + python->at.interpreter_threads);
	bpf_loop(RAW_PYTHON_THREADS, python_search_step, &search, 0);
	return search.found;
}

/* Into 'to', which has 'room' bytes, a power of two, and two more of itself behind it. */
static __always_inline void python_text(const struct raw_python *python, __u64 text, __u8 *to,
					const __u32 room, struct raw_python_text *out_text)
{
	__u64 length = python_word(text + RAW_PYTHON_SIZE), bytes, type;
	__u32 state = 0, width;

	out_text->bytes = 0;
	type = python_word(text + RAW_PYTHON_TYPE);
	if (!text || type != python->text_type ||
	    !python_read(&state, sizeof(state), text + RAW_PYTHON_TEXT_STATE))
		return;
	width = raw_python_width(state);
	if (!width || !length || length >= room)
		return;
	bytes = length * width;
	if (bytes >= room)
		return;
	text += raw_python_is_ascii(state) ? python->at.text_ascii : python->at.text_wide;
	asm volatile("" : "+r"(bytes)); /* the verifier shall see the mask */
	bytes &= room - 1;
	if (!python_read(to, bytes, text))
		return;
	out_text->bytes = bytes;
	out_text->width = width;
}

static __always_inline __u32 python_table(__u64 table, __u8 *to)
{
	__u64 bytes = python_word(table + RAW_PYTHON_SIZE);

	if (bytes >= RAW_PYTHON_TABLE)
		bytes = RAW_PYTHON_TABLE - 1;
	asm volatile("" : "+r"(bytes)); /* the verifier shall see the mask */
	bytes &= RAW_PYTHON_TABLE - 1;
	return python_read(to, bytes, table + RAW_PYTHON_BYTES_START) ? bytes : 0;
}

/* Told once; again when it found no room. */
static __noinline int python_tell_code(const struct python_walk *walk, __u64 key,
				       const struct raw_python_object *object)
{
	__u32 zero = 0;
	struct raw_python_code *raw = bpf_map_lookup_elem(&python_scratch, &zero);
	const __u8 one = 1;

	if (!raw)
		return 0;
	raw->kind = RAW_PYTHON_CODE;
	raw->key = key;
	raw->line = object->line;
	python_text(walk->python, object->name, raw->name_text, RAW_PYTHON_NAME, &raw->name);
	python_text(walk->python, object->file, raw->file_text, RAW_PYTHON_FILE, &raw->file);
	raw->table_bytes = python_table(object->table, raw->table);
	if (!raw->name.bytes)
		return 0;
	if (!ring_send(walk->ring, raw,
		       offsetof(struct raw_python_code, table) + (__u64)raw->table_bytes,
		       sizeof(*raw), walk->wake_bytes, walk->lost))
		return 0;
	bpf_map_update_elem(&python_codes, &key, &one, BPF_ANY);
	return 0;
}

/* Fills 'out_frame' but for its flags; 0 = it is no frame. */
static __noinline int python_frame(const struct python_walk *walk, __u64 frame,
				   struct raw_python_frame *out_frame)
{
	const struct raw_python_layout *at = &walk->python->at;
	__u64 code = raw_python_referred(python_word(frame + at->frame_code));
	__u64 instruction = python_word(frame + at->frame_instruction);
	struct raw_python_object object = { .type = python_word(code + RAW_PYTHON_TYPE) };

	if (!code || object.type != walk->python->code_type)
		return 0;
	object.size = python_word(code + RAW_PYTHON_SIZE);
	object.name = python_word(code + at->code_name);
	object.file = python_word(code + at->code_file);
	object.table = python_word(code + at->code_table);
	if (!python_read(&object.line, sizeof(object.line), code + at->code_line) ||
	    !raw_python_unit(instruction, code + at->code_start, object.size, &out_frame->unit))
		return 0;
	out_frame->code = raw_python_key(walk->seed, code, &object);
	if (!bpf_map_lookup_elem(&python_codes, &out_frame->code))
		python_tell_code(walk, out_frame->code, &object);
	return 1;
}

/* Was it called from C? */
static __always_inline int python_is_entry(const struct raw_python_layout *at, __u64 frame)
{
	__u8 is_entry = 0;

	if (at->frame_is_entry)
		(void)python_read(&is_entry, sizeof(is_entry), frame + at->frame_is_entry);
	return is_entry;
}

static __always_inline int python_is_shim(const struct raw_python_layout *at, __u64 frame)
{
	__u8 owner = 0;

	return !at->frame_is_entry && python_read(&owner, sizeof(owner), frame + at->frame_owner) &&
	       owner >= RAW_PYTHON_SHIM;
}

/* The frame of C is the first one that follows. */
static __always_inline void python_end_call(struct python_walk *walk, __u32 count)
{
	__u32 last = (count - 1) & (RAW_PYTHON_FRAMES - 1);

	if (count && !walk->raw->python[last].flags)
		walk->raw->python[last].flags =
			raw_python_entry(walk->frame, walk->raw->regs[RAW_STACK_SP]);
}

/* One frame; 1 = that was the last one. */
static int python_step(__u32 i, struct python_walk *walk)
{
	const struct raw_python_layout *at = &walk->python->at;
	struct raw_python_frame told = { 0 };
	__u32 count = walk->raw->python_count;

	(void)i;
	if (!walk->frame) {
		walk->flags = 0;
		return 1;
	}
	if (python_is_shim(at, walk->frame)) {
		python_end_call(walk, count);
	} else {
		if (count >= RAW_PYTHON_FRAMES || !python_frame(walk, walk->frame, &told))
			return 1;
		told.flags = python_is_entry(at, walk->frame) ? RAW_PYTHON_ENTRY : 0;
		walk->raw->python[count & (RAW_PYTHON_FRAMES - 1)] = told;
		walk->raw->python_count = count + 1;
	}
	walk->frame = python_word(walk->frame + at->frame_previous);
	return 0;
}

/* Of the thread that runs now; nothing where its process is not known to run Python. */
static __always_inline void put_python(struct raw_stack *raw, struct task_struct *task, void *ring,
				       __u32 wake_bytes, __u64 *lost)
{
	__u32 tgid = task->tgid;
	struct raw_python *python = bpf_map_lookup_elem(&pythons, &tgid);
	struct python_walk walk = { .python = python,
				    .ring = ring,
				    .wake_bytes = wake_bytes,
				    .lost = lost,
				    .raw = raw,
				    .flags = RAW_STACK_PYTHON_CUT };
	__u64 thread, holder;

	/* Before Linux 5.17 the loops would be too long for the verifier. */
	if (!python || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		return;
	walk.seed = raw_python_mix(BPF_CORE_READ(task, group_leader, start_time), tgid);
	walk.seed = raw_python_mix(walk.seed, BPF_CORE_READ(task, self_exec_id));
	thread = python_thread(python, python_own_number(task));
	if (!thread)
		return;
	holder = python->at.thread_cframe ? python_word(thread + python->at.thread_cframe) : thread;
	if (!holder)
		return;
	walk.frame = python_word(holder + python->at.current_frame);
	bpf_loop(RAW_PYTHON_STEPS, python_step, &walk, 0);
	raw->flags |= walk.flags;
}

/* Is it a Python that is being executed, by the name of its file? */
static __always_inline int python_begins(struct linux_binprm *bprm)
{
	const unsigned char *name = BPF_CORE_READ(bprm, file, f_path.dentry, d_name.name);
	char start[6] = "";

	(void)bpf_probe_read_kernel(start, sizeof(start), name);
	return start[0] == 'p' && start[1] == 'y' && start[2] == 't' && start[3] == 'h' &&
	       start[4] == 'o' && start[5] == 'n';
}

/* What it forks has the same memory. */
static __always_inline void python_fork(__u32 from, __u32 to)
{
	struct raw_python *python = bpf_map_lookup_elem(&pythons, &from);

	if (python)
		bpf_map_update_elem(&pythons, &to, python, BPF_ANY);
}

#endif /* __bpf__ */

#endif
