/*
 * fuzz_variables.c - any symbols and segments of a file: a variable that is told covers the address.
 *
 * The input is: address, mapping of data and of code (6 words), three segments (6 words each: flags, offset,
 * address, bytes in the file, in memory, alignment), then symbols of 24 bytes. The file around them is sound.
 */
#include <assert.h>
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/unwind.h"
#include "symbol/variables.h"

#define SEGMENTS 3
#define SYMBOLS	 64
#define TEXTS	 "\0a\0_b\0_ZN3one3twoE\0c.12\0.\0"

struct input {
	uint64_t at[6];
	uint64_t segments[SEGMENTS][6];
	Elf64_Sym symbols[SYMBOLS];
};

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segments[SEGMENTS];
	Elf64_Sym symbols[SYMBOLS + 1];
	char texts[sizeof(TEXTS)];
	Elf64_Shdr sections[4];
};

static void fill_head(struct image *image)
{
	image->head = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct image, segments),
		.e_shoff = offsetof(struct image, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = SEGMENTS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 2,
	};
	image->sections[1] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
					   .sh_offset = offsetof(struct image, symbols),
					   .sh_size = sizeof(image->symbols),
					   .sh_link = 2,
					   .sh_info = 1,
					   .sh_addralign = 8,
					   .sh_entsize = sizeof(Elf64_Sym) };
	image->sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					   .sh_offset = offsetof(struct image, texts),
					   .sh_size = sizeof(image->texts),
					   .sh_addralign = 1 };
	/* What symbols are in. */
	image->sections[3] = (Elf64_Shdr){ .sh_type = SHT_NOBITS,
					   .sh_flags = SHF_ALLOC | SHF_WRITE,
					   .sh_addr = 0x1000,
					   .sh_size = 0x10000 };
	memcpy(image->texts, TEXTS, sizeof(image->texts));
}

static void fill_image(const struct input *input, struct image *image)
{
	fill_head(image);
	for (size_t i = 0; i < SEGMENTS; i++)
		image->segments[i] = (Elf64_Phdr){ .p_type = PT_LOAD,
						   .p_flags = (uint32_t)input->segments[i][0] & 7,
						   .p_offset = input->segments[i][1],
						   .p_vaddr = input->segments[i][2],
						   .p_filesz = input->segments[i][3],
						   .p_memsz = input->segments[i][4],
						   .p_align = 0x1000 };
	for (size_t i = 0; i < SYMBOLS; i++) {
		image->symbols[i + 1] = input->symbols[i];
		image->symbols[i + 1].st_name %= sizeof(TEXTS);
		image->symbols[i + 1].st_shndx %= 5;
		image->symbols[i + 1].st_info =
			(uint8_t)(image->symbols[i + 1].st_info & 0xf0) | STT_OBJECT;
	}
}

/* Does one of the symbols begin so far before the address, and reach beyond it? */
static bool is_covered(const struct image *image, uint64_t bias, uint64_t address, uint64_t offset)
{
	for (size_t i = 1; i <= SYMBOLS; i++) {
		uint64_t begins = image->symbols[i].st_value + bias;

		if (address - begins == offset && offset < image->symbols[i].st_size)
			return true;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct input input;
	static struct image image;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct unwind_names *names;
	struct variable variable;
	struct variable_at at;

	memset(&input, 0, sizeof(input));
	memset(&image, 0, sizeof(image));
	memcpy(&input, data, bytes < sizeof(input) ? bytes : sizeof(input));
	fill_image(&input, &image);
	assert(write(fd, &image, sizeof(image)) == (ssize_t)sizeof(image));
	at = (struct variable_at){ input.at[0], input.at[1], input.at[2],
				   input.at[3], input.at[4], input.at[5] };
	names = unwind_names_new(fd, "fuzz");
	for (int i = 0; names && i < 8; i++, at.address += 8) {
		if (!variables_find(names, &at, &variable) || !variable.name)
			continue;
		/* The bias is what the mapping of code says; any of the segments may be it. */
		bool is_true = false;

		for (size_t k = 0; k < SEGMENTS; k++)
			is_true |= is_covered(&image,
					      at.code_start - at.code_offset +
						      image.segments[k].p_offset -
						      image.segments[k].p_vaddr,
					      at.address, variable.offset);
		assert(is_true);
	}
	unwind_names_free(names);
	close(fd);
	return 0;
}
