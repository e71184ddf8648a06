/* fuzz_python_walk.c - the memory of a Python program: one byte for the kind of its layout, then what lies at 0x1000. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "record/bpf/raw_stack.h"
#include "record/python_codes.h"
#include "record/python_walk.h"

#define BASE	  0x1000u
#define READS_MAX 5000u

static const struct raw_python_layout with_entries = {
	.interpreter_threads = 8,
	.thread_number = 8,
	.thread_cframe = 16,
	.frame_previous = 8,
	.frame_instruction = 16,
	.frame_owner = 24,
	.frame_is_entry = 25,
	.code_file = 24,
	.code_name = 32,
	.code_table = 40,
	.code_line = 48,
	.code_start = 56,
	.text_ascii = 40,
	.text_wide = 56,
};

struct memory {
	const uint8_t *data;
	size_t bytes, reads;
};

static bool memory_read(void *context, uint64_t address, void *to, size_t bytes)
{
	struct memory *memory = context;

	memory->reads++;
	if (address < BASE || address - BASE > memory->bytes ||
	    memory->bytes - (address - BASE) < bytes)
		return false;
	memcpy(to, memory->data + (address - BASE), bytes);
	return true;
}

static void check(const struct python_codes *codes, const struct raw_stack *raw)
{
	struct python_place place;

	assert(raw->python_count <= RAW_PYTHON_FRAMES);
	for (uint32_t i = 0; i < raw->python_count; i++) {
		if (!python_codes_find(codes, &raw->python[i], &place))
			continue;
		assert(place.function && strlen(place.function) < (size_t)5 * RAW_PYTHON_NAME);
		assert(!place.file || strlen(place.file) < (size_t)5 * RAW_PYTHON_FILE);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct raw_stack raw;
	struct raw_python python = { BASE, BASE, BASE + 1, with_entries };
	struct memory memory = { data + 1, bytes ? bytes - 1 : 0, 0 };
	struct python_codes *codes = python_codes_new();

	if (bytes && data[0] & 1)
		python.at.frame_is_entry = 0;
	if (bytes && data[0] & 2)
		python.at.thread_cframe = 0;
	raw.tid = raw.tgid = 1;
	raw.flags = 0;
	python_walk(&python, &(struct python_memory){ memory_read, &memory }, 1, codes, &raw);
	assert(memory.reads < READS_MAX);
	check(codes, &raw);
	python_codes_free(codes);
	return 0;
}
