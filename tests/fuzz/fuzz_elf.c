/*
 * fuzz_elf.c - any bytes as a program: its symbols, notes and USDT arguments.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/probe_args.h"
#include "symbol/elf_file.h"

/* Every operand of a point is read; what comes out may stand in the kernel's list. */
static void read_operands(const struct elf_file *file, const struct elf_usdt *point)
{
	for (int machine = ELF_MACHINE_X86_64; machine <= ELF_MACHINE_AARCH64; machine++) {
		const struct probe_place place = { file, point->address, 0 };
		const char *text = point->args;
		struct usdt_operand operand;

		while (usdt_next_operand((enum elf_machine)machine, &place, &text, &operand)) {
			assert(!strpbrk(operand.fetch, " \n#"));
			assert(operand.fetch[0] || operand.why);
		}
	}
}

static void walk(const struct elf_file *file)
{
	size_t count;
	uint64_t offset;
	volatile size_t sum = 0;
	const struct elf_symbol *symbols = elf_file_symbols(file, &count);
	const struct elf_usdt *points;
	const char *const *needed;

	for (size_t i = 0; i < count; i++) {
		sum += strlen(symbols[i].name) + (symbols[i].version ? 1 : 0);
		sum += elf_file_offset(file, symbols[i].address, true, &offset);
	}
	points = elf_file_usdt(file, &count);
	for (size_t i = 0; i < count; i++) {
		sum += strlen(points[i].provider) + strlen(points[i].name);
		read_operands(file, &points[i]);
	}
	needed = elf_file_needed(file, &count);
	for (size_t i = 0; i < count; i++)
		sum += strlen(needed[i]);
	(void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int fd = -1;
	struct elf_file *file;
	char path[64];

	if (fd < 0)
		fd = memfd_create("fuzz-elf", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, bytes, 0) != (ssize_t)bytes)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (elf_file_open(path, &file, NULL) < 0)
		return 0;
	walk(file);
	elf_file_close(file);
	return 0;
}
