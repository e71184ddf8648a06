/*
 * fuzz_unwind.c - any registers, stack and maps of code, over a real program: the walk comes to an end.
 *
 * The input is: four maps (8 bytes each: where in the file's code, how much, where it is), registers,
 * then the stack. Words of the stack that are small become addresses of code, so that walks go on.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/unwind.h"

#define MAPS	    4
#define CODE_AT	    UINT64_C(0x555500000000)
#define STACK_AT    UINT64_C(0x7ffd00000000)
#define STACK_BYTES 4096u
#define WORDS	    (STACK_BYTES / 8)

struct map_input {
	uint16_t offset, pages, at, flags;
};

/* Small words are code, others as they are, or a place in the stack. */
static uint64_t word_of(uint64_t word)
{
	if (word >> 48 == 0x5555)
		return CODE_AT + (word & 0xffffff);
	return word >> 56 == 0x7f ? STACK_AT + (word & (STACK_BYTES - 1)) : word;
}

static bool is_known(void *context, uint64_t pc)
{
	(void)context;
	return pc & 1;
}

static size_t take(const uint8_t **data, size_t *left, void *to, size_t bytes)
{
	size_t part = *left < bytes ? *left : bytes;

	memcpy(to, *data, part);
	*data += part;
	*left -= part;
	return part;
}

static void make_maps(const struct map_input *inputs, int fd, struct unwind_map *maps)
{
	for (size_t i = 0; i < MAPS; i++)
		maps[i] = (struct unwind_map){
			.start = CODE_AT + ((uint64_t)inputs[i].at << 12),
			.bytes = ((uint64_t)inputs[i].pages + 1) << 12,
			.offset = (uint64_t)inputs[i].offset << 12,
			.fd = inputs[i].flags & 1 ? -1 : fd,
			.path = "/proc/self/exe",
		};
}

static void walk(const struct unwind_map *maps, const struct unwind_start *start)
{
	struct unwinder *unwinder = unwinder_new(maps, MAPS);
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	const char *end;
	size_t count;

	if (!unwinder)
		return;
	unwinder_knows(unwinder, is_known, NULL);
	count = unwinder_walk(unwinder, start, frames, UNWIND_FRAMES_MAX, &end);
	assert(count <= UNWIND_FRAMES_MAX);
	for (size_t i = 0; i < count; i++)
		assert(frames[i].map == UNWIND_NO_MAP || frames[i].map < MAPS);
	unwinder_free(unwinder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int fd = -1;
	struct map_input inputs[MAPS] = { 0 };
	struct unwind_map maps[MAPS];
	uint64_t regs[33] = { 0 }, stack[WORDS] = { 0 };
	struct unwind_start start = { .regs = regs,
				      .reg_count = unwind_reg_count(),
				      .stack = (const uint8_t *)stack,
				      .stack_at = STACK_AT };

	if (fd < 0)
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	(void)take(&data, &bytes, inputs, sizeof(inputs));
	(void)take(&data, &bytes, regs, start.reg_count * sizeof(regs[0]));
	start.stack_bytes = take(&data, &bytes, stack, sizeof(stack));
	for (size_t i = 0; i < start.reg_count; i++)
		regs[i] = word_of(regs[i]);
	for (size_t i = 0; i < WORDS; i++)
		stack[i] = word_of(stack[i]);
	make_maps(inputs, fd, maps);
	walk(maps, &start);
	return 0;
}
