/* python_walk.c - see python_walk.h. */
#include "record/python_walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "record/bpf/raw_stack.h"
#include "record/python_codes.h"

struct walk {
	const struct raw_python *python;
	const struct python_memory *memory;
	struct python_codes *codes;
	struct raw_python_code *scratch; /* owned */
	uint64_t seed;
};

static bool walk_read(const struct walk *walk, uint64_t address, void *to, size_t bytes)
{
	return walk->memory->read(walk->memory->context, address, to, bytes);
}

/* 0 where there is nothing. */
static uint64_t walk_word(const struct walk *walk, uint64_t address)
{
	uint64_t word = 0;

	return walk_read(walk, address, &word, sizeof(word)) ? word : 0;
}

static uint64_t walk_thread(const struct walk *walk, uint64_t number)
{
	const struct raw_python_layout *at = &walk->python->at;
	uint64_t interpreter = walk_word(walk, walk->python->head), thread = 0;

	if (!number)
		return 0;
	if (interpreter)
		thread = walk_word(walk, interpreter + at->interpreter_threads);
	for (int i = 0; i < RAW_PYTHON_THREADS && interpreter; i++) {
		if (!thread) {
			interpreter = walk_word(walk, interpreter + at->interpreter_next);
			thread = interpreter
					 ? walk_word(walk, interpreter + at->interpreter_threads)
					 : 0;
		} else if (walk_word(walk, thread + at->thread_number) == number) {
			return thread;
		} else {
			thread = walk_word(walk, thread + at->thread_next);
		}
	}
	return 0;
}

static struct raw_python_text walk_text(const struct walk *walk, uint64_t text, uint8_t *to,
					size_t room)
{
	struct raw_python_text told = { 0 };
	uint64_t length = walk_word(walk, text + RAW_PYTHON_SIZE);
	uint32_t state = 0, width;

	if (!text || walk_word(walk, text + RAW_PYTHON_TYPE) != walk->python->text_type ||
	    !walk_read(walk, text + RAW_PYTHON_TEXT_STATE, &state, sizeof(state)))
		return told;
	width = raw_python_width(state);
	if (!width || !length || length >= room || length * width >= room)
		return told;
	text += raw_python_is_ascii(state) ? walk->python->at.text_ascii
					   : walk->python->at.text_wide;
	if (walk_read(walk, text, to, length * width)) {
		told.bytes = (uint16_t)(length * width);
		told.width = (uint8_t)width;
	}
	return told;
}

static void walk_code(const struct walk *walk, uint64_t key, const struct raw_python_object *object)
{
	struct raw_python_code *raw = walk->scratch;
	uint64_t bytes = walk_word(walk, object->table + RAW_PYTHON_SIZE);

	raw->kind = RAW_PYTHON_CODE;
	raw->key = key;
	raw->line = object->line;
	raw->name = walk_text(walk, object->name, raw->name_text, sizeof(raw->name_text));
	raw->file = walk_text(walk, object->file, raw->file_text, sizeof(raw->file_text));
	if (bytes > RAW_PYTHON_TABLE)
		bytes = RAW_PYTHON_TABLE;
	if (!walk_read(walk, object->table + RAW_PYTHON_BYTES_START, raw->table, bytes))
		bytes = 0;
	raw->table_bytes = (uint32_t)bytes;
	python_codes_add(walk->codes, raw, sizeof(*raw));
}

/* All but its flags. False = it is no frame. */
static bool walk_frame(const struct walk *walk, uint64_t frame, struct raw_python_frame *out_frame)
{
	const struct raw_python_layout *at = &walk->python->at;
	uint64_t code = raw_python_referred(walk_word(walk, frame + at->frame_code));
	uint64_t instruction = walk_word(walk, frame + at->frame_instruction);
	struct raw_python_object object = { .type = walk_word(walk, code + RAW_PYTHON_TYPE) };

	if (!code || object.type != walk->python->code_type)
		return false;
	object.size = walk_word(walk, code + RAW_PYTHON_SIZE);
	object.name = walk_word(walk, code + at->code_name);
	object.file = walk_word(walk, code + at->code_file);
	object.table = walk_word(walk, code + at->code_table);
	if (!walk_read(walk, code + at->code_line, &object.line, sizeof(object.line)) ||
	    !raw_python_unit(instruction, code + at->code_start, object.size, &out_frame->unit))
		return false;
	out_frame->code = raw_python_key(walk->seed, code, &object);
	walk_code(walk, out_frame->code, &object);
	return true;
}

static bool is_shim(const struct walk *walk, uint64_t frame)
{
	const struct raw_python_layout *at = &walk->python->at;
	uint8_t owner = 0;

	return !at->frame_is_entry &&
	       walk_read(walk, frame + at->frame_owner, &owner, sizeof(owner)) &&
	       owner >= RAW_PYTHON_SHIM;
}

static bool is_entry(const struct walk *walk, uint64_t frame)
{
	const struct raw_python_layout *at = &walk->python->at;
	uint8_t is_one = 0;

	return at->frame_is_entry &&
	       walk_read(walk, frame + at->frame_is_entry, &is_one, sizeof(is_one)) && is_one;
}

/* The frame of C is the first one that follows. */
static void end_call(struct raw_stack *raw, uint64_t frame)
{
	struct raw_python_frame *end = raw->python + raw->python_count;

	if (raw->python_count && !end[-1].flags)
		end[-1].flags = raw_python_entry(frame, raw->regs[RAW_STACK_SP]);
}

static void walk_chain(const struct walk *walk, uint64_t frame, struct raw_stack *raw)
{
	raw->flags |= RAW_STACK_PYTHON_CUT;
	for (int i = 0; i < RAW_PYTHON_STEPS && frame; i++) {
		struct raw_python_frame told = { 0 };

		if (is_shim(walk, frame)) {
			end_call(raw, frame);
		} else {
			if (raw->python_count >= RAW_PYTHON_FRAMES ||
			    !walk_frame(walk, frame, &told))
				return;
			told.flags = is_entry(walk, frame) ? RAW_PYTHON_ENTRY : 0;
			raw->python[raw->python_count++] = told;
		}
		frame = walk_word(walk, frame + walk->python->at.frame_previous);
	}
	if (!frame)
		raw->flags &= ~(uint32_t)RAW_STACK_PYTHON_CUT;
}

void python_walk(const struct raw_python *python, const struct python_memory *memory,
		 uint64_t number, struct python_codes *codes, struct raw_stack *raw)
{
	const struct raw_python_layout *at = &python->at;
	struct walk walk = { .python = python, .memory = memory, .codes = codes };
	uint64_t thread, holder;

	raw->python_count = 0;
	walk.seed = raw_python_mix(raw->tgid, 1); /* not those of the BPF programs */
	thread = walk_thread(&walk, number);
	holder =
		thread && at->thread_cframe ? walk_word(&walk, thread + at->thread_cframe) : thread;
	if (!holder)
		return;
	walk.scratch = xcalloc(1, sizeof(*walk.scratch));
	walk_chain(&walk, walk_word(&walk, holder + at->current_frame), raw);
	free(walk.scratch);
}

/* ------------------------------------------------------------------ of a process */

/* Its number in the innermost namespace of numbers; 0 = it is gone. */
static uint64_t own_number(const struct raw_stack *raw)
{
	char path[64], status[4096];
	int32_t inner;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", raw->tgid, raw->tid);
	if (proc_read(AT_FDCWD, path, status, sizeof(status)) <= 0)
		return 0;
	inner = proc_parse_vtid(status);
	return inner ? (uint64_t)inner : raw->tid;
}

static bool process_read(void *context, uint64_t address, void *to, size_t bytes)
{
	const pid_t *pid = context;
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)address, bytes };

	return !bytes || process_vm_readv(*pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

void python_fetch(const struct raw_python *python, struct python_codes *codes,
		  struct raw_stack *raw)
{
	pid_t pid = (pid_t)raw->tid;
	const struct python_memory memory = { process_read, &pid };

	python_walk(python, &memory, own_number(raw), codes, raw);
}
