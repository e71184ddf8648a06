/*
 * regs_386.h - registers of 32-bit code on x86-64, which DWARF counts otherwise there.
 */
#ifndef RECORD_REGS_386_H
#define RECORD_REGS_386_H

#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "symbol/unwind.h"

/* From the numbers that x86-64 has: ax, cx, dx, bx, sp, bp, si, di, and the program counter. */
static inline void regs_386(const __u64 *regs, uint64_t out_regs[UNWIND_REGS_32])
{
	static const uint8_t numbers[UNWIND_REGS_32] = { 0, 2, 1, 3, 7, 6, 4, 5, 16 };

	for (size_t i = 0; i < UNWIND_REGS_32; i++)
		out_regs[i] = (uint32_t)regs[numbers[i]];
}

#endif
