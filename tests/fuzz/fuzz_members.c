/*
 * fuzz_members.c - any debug information: a member that is told is inside of what was asked for.
 *
 * The input is: address of a variable, offset into it (8 bytes each), lengths of .debug_abbrev and .debug_info
 * (4 bytes each), then these two, and .debug_str. The file around them is sound.
 */
#include <assert.h>
#include <elf.h>
#include <elfutils/libdwfl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/members.h"

#define NAMES	"\0.shstrtab\0.debug_abbrev\0.debug_info\0.debug_str\0"
#define SECTION 5
#define BYTES	(64 << 10)

struct input {
	uint64_t address, offset;
	uint32_t abbrev_bytes, info_bytes;
};

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	Elf64_Shdr sections[SECTION];
	char names[sizeof(NAMES)];
	uint8_t debug[BYTES];
};

static Elf64_Shdr section(uint32_t name, size_t offset, size_t bytes)
{
	return (Elf64_Shdr){ .sh_name = name,
			     .sh_type = name == 1 ? SHT_STRTAB : SHT_PROGBITS,
			     .sh_offset = offset,
			     .sh_size = bytes,
			     .sh_addralign = 1 };
}

static void image_fill(struct image *image, const struct input *input, const uint8_t *debug,
		       size_t bytes)
{
	size_t abbrev = input->abbrev_bytes < bytes ? input->abbrev_bytes : bytes,
	       info = input->info_bytes < bytes - abbrev ? input->info_bytes : bytes - abbrev,
	       at = offsetof(struct image, debug);

	image->head = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct image, segment),
		.e_shoff = offsetof(struct image, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTION,
		.e_shstrndx = 1,
	};
	image->segment = (Elf64_Phdr){ .p_type = PT_LOAD,
				       .p_flags = PF_R | PF_X,
				       .p_filesz = sizeof(*image),
				       .p_memsz = sizeof(*image),
				       .p_align = 0x1000 };
	memcpy(image->names, NAMES, sizeof(NAMES));
	memcpy(image->debug, debug, bytes);
	image->sections[1] = section(1, offsetof(struct image, names), sizeof(NAMES));
	image->sections[2] = section(11, at, abbrev);
	image->sections[3] = section(25, at + abbrev, info);
	image->sections[4] = section(37, at + abbrev + info, bytes - abbrev - info);
}

static int no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		  char **file_name, Elf **elf)
{
	(void)module;
	(void)data;
	(void)name;
	(void)base;
	(void)file_name;
	(void)elf;
	return -1;
}

static int no_debug(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		    const char *file_name, const char *link, GElf_Word checksum,
		    char **out_file_name)
{
	(void)link;
	(void)checksum;
	(void)out_file_name;
	return no_elf(module, data, name, base, (char **)&file_name, NULL);
}

static void look(int fd, const struct input *input)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = no_elf, .find_debuginfo = no_debug };
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module;
	struct members *members;
	struct member member;

	dwfl_report_begin(dwfl);
	module = dwfl_report_elf(dwfl, "fuzz", "fuzz", fd, 0x100000, true);
	(void)dwfl_report_end(dwfl, NULL, NULL);
	assert(module);
	members = members_new(module);
	for (uint64_t i = 0; i < 64; i += 4) {
		if (!members_find(members, input->address, input->offset + i, &member))
			continue;
		assert(strlen(member.path) < 256);
		assert(member.offset <= input->offset + i);
	}
	members_free(members);
	dwfl_end(dwfl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct image image;
	struct input input;
	int fd;

	if (bytes < sizeof(input))
		return 0;
	memcpy(&input, data, sizeof(input));
	bytes -= sizeof(input);
	bytes = bytes < BYTES ? bytes : BYTES;
	memset(&image, 0, sizeof(image));
	image_fill(&image, &input, data + sizeof(input), bytes);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	assert(fd >= 0 && write(fd, &image, sizeof(image)) == (ssize_t)sizeof(image));
	look(fd, &input);
	return 0;
}
