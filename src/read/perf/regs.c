/*
 * regs.c - see regs.h.
 *
 * A sample has those of attr.sample_regs_user, in the order of its bits (asm/perf_regs.h of the machine). DWARF counts otherwise
 * (System V ABI of each).
 */
#include "read/perf/regs.h"

#include <string.h>

#include "base/mem.h"
#include "read/perf/attr.h"
#include "read/stack_walk.h"

#define BITS_MAX 64

/* Index: number in DWARF, the program counter last; the kernel's bit. */
static const uint8_t bits_of_x86_64[] = {
	0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8
};
static const uint8_t bits_of_i386[] = { 0, 2, 3, 1, 7, 6, 4, 5, 8 };
/* The first 32 have the same numbers, and the program counter is behind them. */
static const uint8_t bits_of_aarch64[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					   11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					   22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };

struct machine {
	enum walk_machine machine;
	const char *archs[4];
	enum perf_regs_abi abi;
	const uint8_t *bits;
	uint32_t count;
	uint32_t sp; /* number in DWARF */
};

static const struct machine machines[] = {
	{ WALK_X86_64, { "x86_64" }, PERF_REGS_64, bits_of_x86_64, ARRAY_LEN(bits_of_x86_64), 7 },
	{ WALK_I386,
	  { "x86_64", "i686", "i586", "i386" },
	  PERF_REGS_32,
	  bits_of_i386,
	  ARRAY_LEN(bits_of_i386),
	  4 },
	{ WALK_AARCH64,
	  { "aarch64" },
	  PERF_REGS_64,
	  bits_of_aarch64,
	  ARRAY_LEN(bits_of_aarch64),
	  31 },
};

static const struct machine *machine_of(const char *arch, enum perf_regs_abi abi)
{
	for (size_t i = 0; arch && i < ARRAY_LEN(machines); i++) {
		for (size_t k = 0; machines[i].abi == abi && k < ARRAY_LEN(machines[i].archs);
		     k++) {
			if (machines[i].archs[k] && strcmp(machines[i].archs[k], arch) == 0)
				return &machines[i];
		}
	}
	return NULL;
}

bool perf_regs_take(const struct perf_attr *attr, const struct perf_rest *rest, const char *arch,
		    bool swap, struct walk_dump *out_dump)
{
	const struct machine *machine = machine_of(arch, rest->abi);
	uint64_t values[BITS_MAX];
	uint32_t count = 0;

	*out_dump = (struct walk_dump){ .machine = WALK_OTHER };
	if (!machine || !rest->regs)
		return false;
	for (uint32_t bit = 0; bit < BITS_MAX; bit++) {
		if (attr->regs_user >> bit & 1)
			values[bit] = perf_u64(rest->regs + (size_t)8 * count++, swap);
	}
	out_dump->machine = machine->machine;
	out_dump->reg_count = machine->count;
	for (uint32_t i = 0; i < machine->count; i++) {
		if (attr->regs_user >> machine->bits[i] & 1)
			out_dump->regs[i] = machine->abi == PERF_REGS_32
						    ? (uint32_t)values[machine->bits[i]]
						    : values[machine->bits[i]];
		else
			out_dump->absent |= UINT64_C(1) << i;
	}
	out_dump->stack = rest->stack;
	out_dump->stack_at = out_dump->regs[machine->sp];
	out_dump->stack_bytes = rest->stack_bytes;
	return !(out_dump->absent >> machine->sp & 1) &&
	       !(out_dump->absent >> (machine->count - 1) & 1);
}
