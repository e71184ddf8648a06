/*
 * regs.h - the registers of a program in a sample.
 */
#ifndef READ_PERF_REGS_H
#define READ_PERF_REGS_H

#include <stdbool.h>
#include <stdint.h>

struct perf_attr;
struct perf_rest;
struct walk_dump;

/*
 * By their numbers in DWARF: machine, registers and stack of *out_dump. 'arch': uname -m of the machine; NULL = not known. False: where it was,
 * or its stack pointer, is not there.
 */
bool perf_regs_take(const struct perf_attr *attr, const struct perf_rest *rest, const char *arch,
		    bool swap, struct walk_dump *out_dump);

#endif
