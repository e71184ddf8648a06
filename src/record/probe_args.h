/*
 * probe_args.h - where the values of arguments are, in the kernel's words.
 *
 * The kernel's language for that ("fetch arguments") is in its
 * Documentation/trace/uprobetracer.rst: %di is a register, +8(%sp) memory at a
 * register, @+64 memory of the program, \5 a constant. Register names are the
 * kernel's own: %di for rdi.
 */
#ifndef RECORD_PROBE_ARGS_H
#define RECORD_PROBE_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf_file.h"

/* Where the argument 'index' (from 0) of a function is at its start; "" = not known for this machine. */
struct probe_fetch {
	char text[192];
};
struct probe_fetch probe_abi_arg(enum elf_machine machine, size_t index);

/* What is needed to place operands such as sym(%rip). */
struct probe_place {
	const struct elf_file *file;
	uint64_t address; /* of the point */
	uint64_t offset;  /* of the point in the file */
};

/* One argument of a USDT point. */
struct usdt_operand {
	char fetch[192];  /* "" = cannot be recorded, then: */
	const char *why;  /* in words */
	const char *type; /* of the kernel: "s32" */
};

/*
 * Read the next argument from a point's argument text at *text and move it behind.
 * Returns false at the end.
 */
bool usdt_next_operand(enum elf_machine machine, const struct probe_place *place, const char **text,
		       struct usdt_operand *out_operand);

/* "name=fetch:type" for the kernel; to be freed. A string is what the value points to. */
char *probe_arg_text(const char *name, const char *fetch, const char *type);

#endif
