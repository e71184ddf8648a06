/* stack_keep.c - see stack_keep.h. */
#include "record/stack_keep.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "record/bpf/raw_stack.h"

#define BYTES_MAX (UINT64_C(256) << 20) /* of stacks */
/* Of what there is room for: */
#define OF_SAMPLES(bytes) ((bytes) / 4 * 3) /* from there on they have their registers only */
#define OF_DEEP(bytes)	  ((bytes) / 2)	    /* from there on none has more than the usual */
#define WAITS_MAX	  1000000u
#define SAMPLES_MAX	  2000000u
#define FUTEXES_MAX	  100000u
#define PACKED_ROOM	  ZSTD_COMPRESSBOUND(sizeof(struct raw_stack))

struct stack_keep {
	int fd;
	uint64_t bytes, most_bytes;
	void *packed; /* owned; room for one that is compressed; NULL = they are kept as they are */
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

struct stack_keep *stack_keep_new(int folder_fd, uint64_t most_bytes)
{
	struct stack_keep *keep;
	int fd = folder_fd < 0 ? -1 : openat(folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) /* a file system without such files: then in memory */
		fd = memfd_create("stacks", MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	keep = xcalloc(1, sizeof(*keep));
	keep->fd = fd;
	keep->most_bytes = most_bytes ? most_bytes : BYTES_MAX;
	if (most_bytes)
		keep->packed = xmalloc(PACKED_ROOM);
	return keep;
}

uint64_t stack_keep_file_bytes(const struct stack_keep *keep)
{
	return keep->bytes;
}

uint64_t stack_keep_bytes(const struct stack_keep *keep)
{
	return keep->bytes + keep->stack_cap * sizeof(*keep->stacks) +
	       keep->wait_cap * sizeof(*keep->waits) + keep->futex_cap * sizeof(*keep->futexes) +
	       (keep->index.cap + keep->futex_index.cap) * (sizeof(struct map_slot) + 1);
}

#define REG_RCX 2
#define REG_RSI 4
#define REG_RDI 5

#if defined(__x86_64__)
/* Those that calls keep in 32-bit code, too, and the one that has what vfork() returns to. */
static bool is_kept_reg(uint32_t flags, size_t reg)
{
	if (flags & RAW_STACK_COMPAT && (reg == REG_RSI || reg == REG_RDI))
		return true;
	return flags & RAW_STACK_VFORK && reg == (flags & RAW_STACK_COMPAT ? REG_RCX : REG_RDI);
}
#endif

/* Registers that calls do not keep say nothing about callers, but for vfork(), and differ each time. */
static void zero_scratch(struct raw_stack *raw)
{
#if defined(__x86_64__)
	static const uint8_t scratch[] = { 0, 1, 2, 4, 5, 8, 9, 10, 11 };

	for (size_t i = 0; i < ARRAY_LEN(scratch); i++) {
		if (!is_kept_reg(raw->flags, scratch[i]))
			raw->regs[scratch[i]] = 0;
	}
#elif defined(__aarch64__)
	for (size_t i = 0; i < 19; i++)
		raw->regs[i] = 0;
#endif
}

/* Stacks of these differ in how they are read. */
#define KINDS                                                                        \
	(RAW_STACK_FAULT | RAW_STACK_SAMPLE | RAW_STACK_CUT | RAW_STACK_PYTHON_CUT | \
	 RAW_STACK_LEAN | RAW_STACK_COMPAT)

static uint64_t hash_stack(const struct raw_stack *raw)
{
	uint64_t hash = hash_bytes(raw->regs, sizeof(raw->regs), raw->tgid);

	hash = hash_bytes(raw->kernel, sizeof(raw->kernel), hash);
	hash = hash_bytes(raw->python, raw->python_count * sizeof(raw->python[0]), hash);
	return hash_bytes(raw->stack, raw->bytes, hash ^ (raw->flags & KINDS));
}

/* What is written: compressed, where that is smaller. */
static const void *pack_stack(struct stack_keep *keep, const struct raw_stack *raw, size_t bytes,
			      size_t *out_packed)
{
	size_t packed = ZSTD_compress(keep->packed, PACKED_ROOM, raw, bytes, 1);

	if (ZSTD_isError(packed) || packed >= bytes)
		return raw;
	*out_packed = packed;
	return keep->packed;
}

/* The number of the stack, which may be new; UINT32_MAX = there is no room. */
static uint32_t keep_stack(struct stack_keep *keep, const struct raw_stack *raw, size_t bytes)
{
	uint64_t hash = hash_stack(raw), *found = map_find(&keep->index, hash);
	const void *what;
	size_t packed = bytes;

	if (found)
		return (uint32_t)*found;
	what = keep->packed ? pack_stack(keep, raw, bytes, &packed) : raw;
	if (packed > keep->most_bytes - keep->bytes ||
	    pwrite(keep->fd, what, packed, (off_t)keep->bytes) != (ssize_t)packed)
		return UINT32_MAX;
	keep->stacks =
		vec_room(keep->stacks, keep->stack_count, &keep->stack_cap, sizeof(*keep->stacks));
	keep->stacks[keep->stack_count] = (struct kept_stack){
		.at = keep->bytes,
		.time_ns = raw->end_ns,
		.bytes = (uint32_t)bytes,
		.packed = (uint32_t)packed,
		.tgid = (int32_t)raw->tgid,
	};
	keep->bytes += packed;
	map_put(&keep->index, hash, keep->stack_count);
	return (uint32_t)keep->stack_count++;
}

/* Without the stack many are the same. */
static size_t cut_stack(struct raw_stack *raw)
{
	for (size_t i = 0; i < RAW_STACK_REGS; i++)
		raw->regs[i] = i == RAW_STACK_PC ? raw->regs[i] : 0;
	for (size_t i = 0; i < raw->python_count && i < RAW_PYTHON_FRAMES; i++)
		raw->python[i].flags &= RAW_PYTHON_ENTRY;
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
	/* Where there is room for few stacks, there is for few waits. */
	size_t most = keep->most_bytes / 256 < WAITS_MAX ? keep->most_bytes / 256 : WAITS_MAX;

	return is_sample ? keep->sample_count < SAMPLES_MAX
			 : keep->wait_count - keep->sample_count < most;
}

static void put_wait(struct stack_keep *keep, const struct raw_stack *raw, uint32_t stack)
{
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

/* What is kept of it, at most. */
static size_t fit_stack(const struct stack_keep *keep, struct raw_stack *raw, size_t bytes)
{
	zero_scratch(raw);
	if (raw->flags & (RAW_STACK_LEAN | RAW_STACK_CUT) ||
	    (raw->flags & RAW_STACK_SAMPLE && raw->bytes &&
	     keep->bytes + bytes > OF_SAMPLES(keep->most_bytes)))
		bytes = cut_stack(raw);
	if (raw->bytes > RAW_STACK_USUAL && keep->bytes > OF_DEEP(keep->most_bytes)) {
		raw->bytes = RAW_STACK_USUAL;
		bytes = offsetof(struct raw_stack, stack) + raw->bytes;
	}
	return bytes;
}

uint32_t stack_keep_put(struct stack_keep *keep, struct raw_stack *raw, size_t bytes)
{
	return keep_stack(keep, raw, fit_stack(keep, raw, bytes));
}

bool stack_keep_wait(struct stack_keep *keep, const struct raw_stack *raw, uint32_t stack)
{
	if (stack >= keep->stack_count || !has_room(keep, false))
		return false;
	if (!keep->stacks[stack].slept_ns) /* its first wait, which is over now */
		keep->stacks[stack].time_ns = raw->end_ns;
	put_wait(keep, raw, stack);
	return true;
}

void stack_keep_add(struct stack_keep *keep, struct raw_stack *raw, size_t bytes)
{
	bool is_sample = raw->flags & RAW_STACK_SAMPLE;
	uint32_t stack = UINT32_MAX;

	bytes = fit_stack(keep, raw, bytes);
	if (has_room(keep, is_sample))
		stack = keep_stack(keep, raw, bytes);
	if (stack == UINT32_MAX) {
		keep->lost += !is_sample;
		keep->lost_samples += is_sample;
		return;
	}
	keep->sample_count += is_sample;
	put_wait(keep, raw, stack);
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
	if (stack->bytes > sizeof(*out_raw))
		return 0;
	if (stack->packed == stack->bytes)
		return file_read_at(keep->fd, stack->at, out_raw, stack->bytes) == stack->bytes
			       ? stack->bytes
			       : 0;
	if (!keep->packed || stack->packed > PACKED_ROOM ||
	    file_read_at(keep->fd, stack->at, keep->packed, stack->packed) != stack->packed ||
	    ZSTD_decompress(out_raw, sizeof(*out_raw), keep->packed, stack->packed) != stack->bytes)
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
	free(keep->packed);
	free(keep->stacks);
	free(keep->waits);
	map_fini(&keep->index);
	map_fini(&keep->futex_index);
	free(keep->futexes);
	free(keep);
}
