/* stack_keep.c - see stack_keep.h. */
#include "record/stack_keep.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "record/bpf/raw_stack.h"

#define BYTES_MAX	 ((uint64_t)256 << 20) /* of stacks */
#define BYTES_OF_SAMPLES (BYTES_MAX / 4 * 3)   /* from there on they have their registers only */
#define BYTES_OF_DEEP	 (BYTES_MAX / 2)       /* from there on none has more than the usual */
#define WAITS_MAX	 1000000u
#define SAMPLES_MAX	 2000000u
#define FUTEXES_MAX	 100000u

struct stack_keep {
	int fd;
	uint64_t bytes;
	struct kept_stack *stacks; /* owned */
	size_t stack_count, stack_cap;
	struct kept_wait *waits; /* owned */
	size_t wait_count, wait_cap;
	size_t sample_count;	    /* of the waits */
	struct kept_futex *futexes; /* owned */
	size_t futex_count, futex_cap;
	struct map futex_index; /* hash of a futex and its stack -> 1 */
	struct map index;	/* hash of what a stack is -> number */
	uint64_t lost, lost_samples;
};

struct stack_keep *stack_keep_new(int folder_fd)
{
	struct stack_keep *keep;
	int fd = openat(folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) /* a file system without such files: then in memory */
		fd = memfd_create("stacks", MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	keep = xcalloc(1, sizeof(*keep));
	keep->fd = fd;
	return keep;
}

#define REG_RDI 5

/* Registers that calls do not keep say nothing about callers, but for vfork(), and differ each time. */
static void zero_scratch(struct raw_stack *raw)
{
#if defined(__x86_64__)
	static const uint8_t scratch[] = { 0, 1, 2, 4, 5, 8, 9, 10, 11 };

	for (size_t i = 0; i < ARRAY_LEN(scratch); i++) {
		if (scratch[i] != REG_RDI || !(raw->flags & RAW_STACK_VFORK))
			raw->regs[scratch[i]] = 0;
	}
#elif defined(__aarch64__)
	for (size_t i = 0; i < 19; i++)
		raw->regs[i] = 0;
#endif
}

/* Stacks of these differ in how they are read. */
#define KINDS (RAW_STACK_FAULT | RAW_STACK_SAMPLE | RAW_STACK_CUT | RAW_STACK_PYTHON_CUT)

static uint64_t hash_stack(const struct raw_stack *raw)
{
	uint64_t hash = hash_bytes(raw->regs, sizeof(raw->regs), raw->tgid);

	hash = hash_bytes(raw->kernel, sizeof(raw->kernel), hash);
	hash = hash_bytes(raw->python, raw->python_count * sizeof(raw->python[0]), hash);
	return hash_bytes(raw->stack, raw->bytes, hash ^ (raw->flags & KINDS));
}

/* The number of the stack, which may be new; UINT32_MAX = there is no room. */
static uint32_t keep_stack(struct stack_keep *keep, const struct raw_stack *raw, size_t bytes)
{
	uint64_t hash = hash_stack(raw), *found = map_find(&keep->index, hash);

	if (found)
		return (uint32_t)*found;
	if (bytes > BYTES_MAX - keep->bytes ||
	    pwrite(keep->fd, raw, bytes, (off_t)keep->bytes) != (ssize_t)bytes)
		return UINT32_MAX;
	keep->stacks =
		vec_room(keep->stacks, keep->stack_count, &keep->stack_cap, sizeof(*keep->stacks));
	keep->stacks[keep->stack_count] = (struct kept_stack){
		.at = keep->bytes,
		.time_ns = raw->end_ns,
		.bytes = (uint32_t)bytes,
		.tgid = (int32_t)raw->tgid,
	};
	keep->bytes += bytes;
	map_put(&keep->index, hash, keep->stack_count);
	return (uint32_t)keep->stack_count++;
}

/* Without the stack many are the same. */
static size_t cut_stack(struct raw_stack *raw)
{
	for (size_t i = 0; i < RAW_STACK_REGS && !(raw->flags & RAW_STACK_COMPAT); i++)
		raw->regs[i] = i == RAW_STACK_PC ? raw->regs[i] : 0;
	raw->flags |= RAW_STACK_CUT;
	raw->bytes = 0;
	return offsetof(struct raw_stack, stack);
}

/* One more word of a stack that is kept. Where there is no room, it has no name. */
static void keep_futex(struct stack_keep *keep, const struct raw_stack *raw, uint32_t stack)
{
	uint64_t hash = hash_bytes(&raw->futex, sizeof(raw->futex), stack);
	bool is_new;

	if (!raw->futex.address || keep->futex_count >= FUTEXES_MAX)
		return;
	(void)map_add(&keep->futex_index, hash, &is_new);
	if (!is_new)
		return;
	keep->futexes = vec_room(keep->futexes, keep->futex_count, &keep->futex_cap,
				 sizeof(*keep->futexes));
	keep->futexes[keep->futex_count++] = (struct kept_futex){
		.raw = raw->futex,
		.time_ns = raw->end_ns,
		.next = keep->stacks[stack].futex,
	};
	keep->stacks[stack].futex = (uint32_t)keep->futex_count;
}

static bool has_room(const struct stack_keep *keep, bool is_sample)
{
	return is_sample ? keep->sample_count < SAMPLES_MAX
			 : keep->wait_count - keep->sample_count < WAITS_MAX;
}

void stack_keep_add(struct stack_keep *keep, struct raw_stack *raw, size_t bytes)
{
	bool is_sample = raw->flags & RAW_STACK_SAMPLE;
	uint32_t stack = UINT32_MAX;

	zero_scratch(raw);
	if (is_sample && raw->bytes && keep->bytes + bytes > BYTES_OF_SAMPLES)
		bytes = cut_stack(raw);
	if (raw->bytes > RAW_STACK_USUAL && keep->bytes > BYTES_OF_DEEP) {
		raw->bytes = RAW_STACK_USUAL;
		bytes = offsetof(struct raw_stack, stack) + raw->bytes;
	}
	if (has_room(keep, is_sample))
		stack = keep_stack(keep, raw, bytes);
	if (stack == UINT32_MAX) {
		keep->lost += !is_sample;
		keep->lost_samples += is_sample;
		return;
	}
	keep->sample_count += is_sample;
	keep->stacks[stack].slept_ns += raw->slept_ns;
	keep_futex(keep, raw, stack);
	keep->waits =
		vec_room(keep->waits, keep->wait_count, &keep->wait_cap, sizeof(*keep->waits));
	keep->waits[keep->wait_count++] = (struct kept_wait){
		.begin_ns = raw->flags & RAW_STACK_NO_BEGIN ? 0 : raw->begin_ns,
		.end_ns = raw->end_ns,
		.slept_ns = raw->slept_ns,
		.tid = (int32_t)raw->tid,
		.flags = raw->flags,
		.stack = stack,
	};
}

struct kept_stack *stack_keep_stacks(const struct stack_keep *keep, size_t *out_count)
{
	*out_count = keep->stack_count;
	return keep->stacks;
}

const struct kept_wait *stack_keep_waits(const struct stack_keep *keep, size_t *out_count)
{
	*out_count = keep->wait_count;
	return keep->waits;
}

const struct kept_futex *stack_keep_futexes(const struct stack_keep *keep, size_t *out_count)
{
	*out_count = keep->futex_count;
	return keep->futexes;
}

size_t stack_keep_read(const struct stack_keep *keep, const struct kept_stack *stack,
		       struct raw_stack *out_raw)
{
	if (stack->bytes > sizeof(*out_raw) ||
	    file_read_at(keep->fd, stack->at, out_raw, stack->bytes) != stack->bytes)
		return 0;
	return stack->bytes;
}

uint64_t stack_keep_lost(const struct stack_keep *keep)
{
	return keep->lost;
}

uint64_t stack_keep_lost_samples(const struct stack_keep *keep)
{
	return keep->lost_samples;
}

void stack_keep_free(struct stack_keep *keep)
{
	if (!keep)
		return;
	mem_close_fd(&keep->fd);
	free(keep->stacks);
	free(keep->waits);
	map_fini(&keep->index);
	map_fini(&keep->futex_index);
	free(keep->futexes);
	free(keep);
}
