/*
 * fuzz_unwind.c - any registers, stack and maps of code, over a real program: the walk comes to an end.
 *
 * The input is: four maps (8 bytes each: where in the file's code, how much, where it is), registers,
 * then the stack. Words of the stack that are small become addresses of code, so that walks go on. A flag of the first map takes
 * a small file of i386 instead, as of a 32-bit program; one of the second leaves two registers, as /proc tells them.
 */
#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbol/unwind.h"

#define MAPS	    4
#define CODE_AT	    UINT64_C(0x555500000000)
#define STACK_AT    UINT64_C(0x7ffd00000000)
#define STACK_BYTES 4096u
#define WORDS	    (STACK_BYTES / 8)
#define CODE_386    0x08048000u
#define STACK_386   0xffff0000u
#define BYTES_386   0x2000u
#define FLAG_386    2
#define FLAG_TWO    4
#define ALL_BUT_TWO 0xff7fu /* of x86-64: the stack pointer, and the program counter */

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

/* ------------------------------------------------------------------ a file of i386 */

struct file_386 {
	Elf32_Ehdr head;
	Elf32_Phdr code;
	uint8_t cie[20], fde[20], end[4];
	char names[32];
	Elf32_Shdr sections[4];
};

static Elf32_Shdr section(uint32_t name, uint32_t type, uint32_t offset, uint32_t bytes)
{
	return (Elf32_Shdr){ .sh_name = name,
			     .sh_type = type,
			     .sh_flags = type == SHT_PROGBITS ? SHF_ALLOC | SHF_EXECINSTR : 0,
			     .sh_addr = type == SHT_PROGBITS ? CODE_386 + offset : 0,
			     .sh_offset = offset,
			     .sh_size = bytes,
			     .sh_addralign = 1 };
}

/* All of its code has frames of one word: what returns. */
static int make_386(void)
{
	struct file_386 file = {
		.head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
				       EV_CURRENT },
			  .e_type = ET_EXEC,
			  .e_machine = EM_386,
			  .e_version = EV_CURRENT,
			  .e_phoff = offsetof(struct file_386, code),
			  .e_shoff = offsetof(struct file_386, sections),
			  .e_ehsize = sizeof(Elf32_Ehdr),
			  .e_phentsize = sizeof(Elf32_Phdr),
			  .e_phnum = 1,
			  .e_shentsize = sizeof(Elf32_Shdr),
			  .e_shnum = 4,
			  .e_shstrndx = 3 },
		.code = { .p_type = PT_LOAD,
			  .p_vaddr = CODE_386,
			  .p_paddr = CODE_386,
			  .p_filesz = BYTES_386,
			  .p_memsz = BYTES_386,
			  .p_flags = PF_R | PF_X,
			  .p_align = 0x1000 },
		/* Version 1, "", code 1, data -4, return in 8; the frame is at esp + 4, what returns at -4. */
		.cie = { 16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x7c, 8, 0x0c, 4, 4, 0x88, 1, 0, 0 },
		.fde = { 16, 0, 0, 0, 24, 0, 0, 0, 0, 0x80, 0x04, 0x08, 0, 0x20 },
		.names = "\0.text\0.eh_frame\0.shstrtab",
	};
	int fd = memfd_create("386", MFD_CLOEXEC);

	file.sections[1] = section(1, SHT_PROGBITS, 0, BYTES_386);
	file.sections[2] = section(7, SHT_PROGBITS, offsetof(struct file_386, cie), 44);
	file.sections[3] =
		section(17, SHT_STRTAB, offsetof(struct file_386, names), sizeof(file.names));
	assert(fd >= 0 && write(fd, &file, sizeof(file)) == sizeof(file));
	assert(ftruncate(fd, BYTES_386) == 0);
	return fd;
}

static uint32_t word_386(uint32_t word)
{
	if (word >> 24 == 8)
		return CODE_386 + word % BYTES_386;
	return word >> 28 == 15 ? STACK_386 + (word & (STACK_BYTES - 1)) : word;
}

/* ------------------------------------------------------------------ any */

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

static void make_maps(const struct map_input *inputs, int fd, uint64_t code_at,
		      struct unwind_map *maps)
{
	for (size_t i = 0; i < MAPS; i++)
		maps[i] = (struct unwind_map){
			.start = code_at + ((uint64_t)inputs[i].at << 12),
			.bytes = ((uint64_t)inputs[i].pages + 1) << 12,
			.offset = (uint64_t)inputs[i].offset << 12,
			.fd = inputs[i].flags & 1 ? -1 : fd,
			.path = "/proc/self/exe",
		};
}

static void walk(const struct unwind_map *maps, struct unwind_start *start)
{
	struct unwinder *unwinder = unwinder_new(maps, MAPS);
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	const char *end;
	size_t count;

	if (!unwinder)
		return;
	unwinder_knows(unwinder, is_known, NULL);
	start->reg_count = unwinder_reg_count(unwinder);
	count = unwinder_walk(unwinder, start, frames, UNWIND_FRAMES_MAX, &end);
	assert(count <= UNWIND_FRAMES_MAX);
	for (size_t i = 0; i < count; i++)
		assert(frames[i].map == UNWIND_NO_MAP || frames[i].map < MAPS);
	unwinder_free(unwinder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int own_fd = -1, fd_386 = -1;
	struct map_input inputs[MAPS] = { 0 };
	struct unwind_map maps[MAPS];
	uint64_t regs[33] = { 0 }, stack[WORDS] = { 0 };
	struct unwind_start start = { .regs = regs,
				      .stack = (const uint8_t *)stack,
				      .stack_at = STACK_AT };
	bool is_386;

	if (own_fd < 0) {
		own_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		fd_386 = make_386();
	}
	(void)take(&data, &bytes, inputs, sizeof(inputs));
	(void)take(&data, &bytes, regs, unwind_reg_count() * sizeof(regs[0]));
	start.stack_bytes = take(&data, &bytes, stack, sizeof(stack));
	is_386 = inputs[0].flags & FLAG_386;
	if (is_386)
		start.stack_at = STACK_386;
	for (size_t i = 0; i < ARRAY_LEN(regs); i++)
		regs[i] = is_386 ? word_386((uint32_t)regs[i]) : word_of(regs[i]);
	for (size_t i = 0; i < WORDS; i++)
		stack[i] = is_386 ? word_386((uint32_t)stack[i]) |
					    (uint64_t)word_386((uint32_t)(stack[i] >> 32)) << 32
				  : word_of(stack[i]);
	start.absent = inputs[1].flags & FLAG_TWO && !is_386 ? ALL_BUT_TWO : 0;
	make_maps(inputs, is_386 ? fd_386 : own_fd, is_386 ? CODE_386 : CODE_AT, maps);
	walk(maps, &start);
	return 0;
}
