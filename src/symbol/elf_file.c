/*
 * elf_file.c - what a program or library file says of itself, by libelf.
 *
 * libelf checks that what it hands out lies within the file; what the bytes mean is
 * checked here.
 */
#include "symbol/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "symbol/debug_file.h"

#define SYMBOLS_MAX    (4u << 20)
#define SEGMENTS_MAX   256
#define USDT_MAX       65536
#define NEEDED_MAX     256
#define VERSIONS_MAX   1024
#define BUILD_ID_MAX   64
#define NOTE_USDT      3
#define VERSION_HIDDEN 0x8000
#define VERSION_INDEX  0x7fff

struct segment {
	uint64_t address, offset, bytes;
	bool is_code;
};

/* An open file of libelf. */
struct image {
	int fd;
	Elf *elf;
};

struct elf_file {
	struct image main, debug;
	enum elf_machine machine;
	uint32_t address_bytes;
	bool is_foreign_order;
	bool has_symtab;
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_bytes;
	uint64_t usdt_base; /* address of .stapsdt.base; 0 = none */
	struct segment segments[SEGMENTS_MAX];
	size_t segment_count;
	struct elf_symbol *symbols; /* owned */
	size_t symbol_count, symbol_cap;
	struct elf_usdt *usdt; /* owned */
	size_t usdt_count, usdt_cap;
	const char **needed; /* owned */
	size_t needed_count, needed_cap;
	const char *versions[VERSIONS_MAX];
};

static void image_close(struct image *image)
{
	if (image->elf)
		elf_end(image->elf);
	mem_close_fd(&image->fd);
	*image = (struct image){ .fd = -1 };
}

/* Takes the descriptor. */
static int image_take(int fd, const char *path, struct image *out_image, struct err *err)
{
	struct image image = { .fd = fd };
	char start[2] = "";
	struct stat st;

	if (image.fd < 0 || fstat(image.fd, &st) < 0) {
		int code = -errno;

		mem_close_fd(&image.fd);
		return err_set(err, code, "cannot open %s: %s", path, strerror(-code));
	}
	if (!S_ISREG(st.st_mode)) {
		image_close(&image);
		return err_set(err, -ENOEXEC, "%s is not a file", path);
	}
	if (pread(image.fd, start, 2, 0) == 2 && !memcmp(start, "#!", 2)) {
		image_close(&image);
		return err_set(err, -ENOEXEC, "%s is a script: name the program that runs it",
			       path);
	}
	(void)elf_version(EV_CURRENT);
	image.elf = elf_begin(image.fd, ELF_C_READ, NULL);
	if (!image.elf || elf_kind(image.elf) != ELF_K_ELF) {
		image_close(&image);
		return err_set(err, -ENOEXEC, "%s is no program or library (no ELF file)", path);
	}
	*out_image = image;
	return 0;
}

static int read_header(struct elf_file *file, const char *path, struct err *err)
{
	int order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	GElf_Ehdr header;

	if (!gelf_getehdr(file->main.elf, &header) ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN))
		return err_set(err, -ENOEXEC, "%s is no program or library that can run", path);
	file->address_bytes = gelf_getclass(file->main.elf) == ELFCLASS64 ? 8 : 4;
	file->is_foreign_order = header.e_ident[EI_DATA] != order;
	if (file->address_bytes == 8 && header.e_machine == EM_X86_64)
		file->machine = ELF_MACHINE_X86_64;
	else if (file->address_bytes == 8 && header.e_machine == EM_AARCH64)
		file->machine = ELF_MACHINE_AARCH64;
	if (file->is_foreign_order)
		file->machine = ELF_MACHINE_OTHER;
	return 0;
}

static void read_segments(struct elf_file *file)
{
	size_t count;
	GElf_Phdr header;

	if (elf_getphdrnum(file->main.elf, &count) < 0)
		return;
	for (size_t i = 0; i < count && i < INT32_MAX && file->segment_count < SEGMENTS_MAX; i++) {
		if (!gelf_getphdr(file->main.elf, (int)i, &header))
			return;
		if (header.p_type != PT_LOAD)
			continue;
		file->segments[file->segment_count++] = (struct segment){
			.address = header.p_vaddr,
			.offset = header.p_offset,
			.bytes = header.p_filesz,
			.is_code = header.p_flags & PF_X,
		};
	}
}

/* The bytes of a section that has any. */
static Elf_Data *section_data(Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);

	return data && data->d_buf && data->d_size ? data : NULL;
}

/* A terminated text that lies within data; NULL when it does not. */
static const char *text_at(const Elf_Data *data, size_t offset, size_t end)
{
	const char *text = (const char *)data->d_buf + offset;

	if (end > data->d_size || offset >= end || !memchr(text, '\0', end - offset))
		return NULL;
	return text;
}

/* -------------------------------------------------------------------- symbols */

static void read_version(struct elf_file *file, Elf *elf, Elf_Data *data, size_t strings,
			 size_t offset, const GElf_Verdef *def)
{
	GElf_Verdaux aux;
	size_t index = def->vd_ndx & VERSION_INDEX;

	if (index < VERSIONS_MAX && offset + def->vd_aux <= INT32_MAX &&
	    gelf_getverdaux(data, (int)(offset + def->vd_aux), &aux))
		file->versions[index] = elf_strptr(elf, strings, aux.vda_name);
}

/* The names of versions that the file defines. */
static void read_versions(struct elf_file *file, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		size_t offset = 0;
		Elf_Data *data;
		GElf_Verdef def;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_GNU_verdef)
			continue;
		data = section_data(section);
		for (size_t i = 0; data && i < VERSIONS_MAX && offset <= INT32_MAX; i++) {
			if (!gelf_getverdef(data, (int)offset, &def))
				break;
			read_version(file, elf, data, header.sh_link, offset, &def);
			if (!def.vd_next)
				break;
			offset += def.vd_next;
		}
	}
}

static Elf_Data *find_versym(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_GNU_versym)
			return section_data(section);
	}
	return NULL;
}

static bool symbol_kind(const GElf_Sym *symbol, enum elf_symbol_kind *out_kind)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
		*out_kind = ELF_SYMBOL_FUNCTION;
		return true;
	case STT_GNU_IFUNC:
		*out_kind = ELF_SYMBOL_INDIRECT;
		return true;
	case STT_NOTYPE:
		*out_kind = ELF_SYMBOL_LABEL;
		return true;
	case STT_OBJECT:
		*out_kind = ELF_SYMBOL_DATA;
		return true;
	default:
		return false;
	}
}

static void add_symbol(struct elf_file *file, const struct elf_symbol *symbol)
{
	file->symbols = vec_room(file->symbols, file->symbol_count, &file->symbol_cap,
				 sizeof(*file->symbols));
	file->symbols[file->symbol_count++] = *symbol;
}

static void set_version(const struct elf_file *file, Elf_Data *versym, size_t index,
			struct elf_symbol *symbol)
{
	GElf_Versym version;

	symbol->is_default = true;
	if (!versym || index > INT32_MAX || !gelf_getversym(versym, (int)index, &version))
		return;
	symbol->is_default = !(version & VERSION_HIDDEN);
	version &= VERSION_INDEX;
	/* 0 and 1 mean local and global, without a version; imports have numbers of their own. */
	if (version > 1 && version < VERSIONS_MAX && !symbol->is_imported)
		symbol->version = file->versions[version];
}

static void read_symbol_table(struct elf_file *file, Elf *elf, Elf_Scn *section,
			      const GElf_Shdr *header)
{
	Elf_Data *data = section_data(section);
	Elf_Data *versym = header->sh_type == SHT_DYNSYM ? find_versym(elf) : NULL;
	size_t each = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	size_t count = data && each ? data->d_size / each : 0;
	GElf_Sym entry;

	for (size_t i = 1; i < count && i < INT32_MAX && file->symbol_count < SYMBOLS_MAX; i++) {
		struct elf_symbol symbol = { 0 };

		if (!gelf_getsym(data, (int)i, &entry) || !symbol_kind(&entry, &symbol.kind))
			continue;
		symbol.name = elf_strptr(elf, header->sh_link, entry.st_name);
		if (!symbol.name || !symbol.name[0])
			continue;
		symbol.address = entry.st_value;
		symbol.bytes = entry.st_size;
		symbol.is_imported = entry.st_shndx == SHN_UNDEF;
		set_version(file, versym, i, &symbol);
		add_symbol(file, &symbol);
	}
}

/* .dynsym comes first as it knows versions; 'wanted' is the type of section. */
static void read_symbols(struct elf_file *file, Elf *elf, uint32_t wanted)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		size_t before = file->symbol_count;

		if (!gelf_getshdr(section, &header) || header.sh_type != wanted)
			continue;
		read_symbol_table(file, elf, section, &header);
		if (wanted == SHT_SYMTAB && file->symbol_count > before)
			file->has_symtab = true;
	}
}

/* ---------------------------------------------------------------------- notes */

static uint64_t address_in(const struct elf_file *file, const uint8_t *at)
{
	uint64_t wide;
	uint32_t narrow;

	if (file->address_bytes == 8) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

/* pc, base and semaphore, then provider, name and arguments, each with a zero. */
static void add_usdt(struct elf_file *file, const Elf_Data *data, size_t desc, size_t end)
{
	size_t head = 3u * file->address_bytes;
	const uint8_t *at = (const uint8_t *)data->d_buf + desc;
	struct elf_usdt point = { 0 };
	uint64_t base, moved;

	if (end > data->d_size || desc > end || end - desc < head || file->usdt_count >= USDT_MAX ||
	    file->is_foreign_order)
		return;
	point.address = address_in(file, at);
	base = address_in(file, at + file->address_bytes);
	point.semaphore = address_in(file, at + 2u * file->address_bytes);
	moved = file->usdt_base ? file->usdt_base - base : 0;
	point.address += moved;
	point.semaphore += point.semaphore ? moved : 0;
	desc += head;
	point.provider = text_at(data, desc, end);
	if (!point.provider)
		return;
	desc += strlen(point.provider) + 1;
	point.name = text_at(data, desc, end);
	if (!point.name)
		return;
	desc += strlen(point.name) + 1;
	point.args = text_at(data, desc, end);
	point.args = point.args ? point.args : "";
	file->usdt = vec_room(file->usdt, file->usdt_count, &file->usdt_cap, sizeof(*file->usdt));
	file->usdt[file->usdt_count++] = point;
}

static void take_note(struct elf_file *file, const Elf_Data *data, const GElf_Nhdr *note,
		      size_t name, size_t desc)
{
	const char *text = text_at(data, name, name + note->n_namesz);

	if (!text || desc > data->d_size || note->n_descsz > data->d_size - desc)
		return;
	if (!strcmp(text, "stapsdt") && note->n_type == NOTE_USDT) {
		add_usdt(file, data, desc, desc + note->n_descsz);
	} else if (!strcmp(text, "GNU") && note->n_type == NT_GNU_BUILD_ID &&
		   note->n_descsz <= BUILD_ID_MAX) {
		memcpy(file->build_id, (const uint8_t *)data->d_buf + desc, note->n_descsz);
		file->build_id_bytes = note->n_descsz;
	}
}

static void read_notes(struct elf_file *file)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(file->main.elf, section))) {
		size_t offset = 0, next, name, desc;
		Elf_Data *data;
		GElf_Nhdr note;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		data = section_data(section);
		while (data && (next = gelf_getnote(data, offset, &note, &name, &desc)) > offset) {
			take_note(file, data, &note, name, desc);
			offset = next;
		}
	}
}

/* ------------------------------------------------------------------- sections */

static void read_needed(struct elf_file *file, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = section_data(section);
	size_t each = gelf_fsize(file->main.elf, ELF_T_DYN, 1, EV_CURRENT);
	size_t count = data && each ? data->d_size / each : 0;
	GElf_Dyn entry;

	for (size_t i = 0; i < count && i < INT32_MAX && file->needed_count < NEEDED_MAX; i++) {
		const char *name;

		if (!gelf_getdyn(data, (int)i, &entry) || entry.d_tag == DT_NULL)
			return;
		if (entry.d_tag != DT_NEEDED)
			continue;
		name = elf_strptr(file->main.elf, header->sh_link, entry.d_un.d_val);
		if (!name || !name[0])
			continue;
		file->needed = vec_room(file->needed, file->needed_count, &file->needed_cap,
					sizeof(*file->needed));
		file->needed[file->needed_count++] = name;
	}
}

static void read_sections(struct elf_file *file)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(file->main.elf, &names) < 0)
		return;
	while ((section = elf_nextscn(file->main.elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(file->main.elf, names, header.sh_name);
		if (name && !strcmp(name, ".stapsdt.base"))
			file->usdt_base = header.sh_addr;
		if (header.sh_type == SHT_DYNAMIC)
			read_needed(file, section, &header);
	}
}

int elf_file_take(int fd, const char *path, struct elf_file **out_file, struct err *err)
{
	struct elf_file *file = xcalloc(1, sizeof(*file));
	int rc;

	file->main.fd = file->debug.fd = -1;
	rc = image_take(fd, path, &file->main, err);
	if (rc == 0)
		rc = read_header(file, path, err);
	if (rc < 0) {
		elf_file_close(file);
		return rc;
	}
	read_segments(file);
	read_sections(file);
	read_notes(file);
	read_versions(file, file->main.elf);
	read_symbols(file, file->main.elf, SHT_DYNSYM);
	read_symbols(file, file->main.elf, SHT_SYMTAB);
	*out_file = file;
	return 0;
}

int elf_file_open(const char *path, struct elf_file **out_file, struct err *err)
{
	return elf_file_take(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), path,
			     out_file, err);
}

int elf_file_fd(const struct elf_file *file)
{
	return file->main.fd;
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	image_close(&file->main);
	image_close(&file->debug);
	free(file->symbols);
	free(file->usdt);
	free(file->needed);
	free(file);
}

void elf_file_add_debug(struct elf_file *file, const char *debug_root)
{
	const struct debug_wanted wanted = {
		.root = debug_root,
		.path = "", /* beside the file root opens nothing */
		.id = file->build_id,
		.id_bytes = file->build_id_bytes,
	};
	AUTO_FREE char *path = NULL;
	int fd = file->has_symtab || file->debug.elf ? -1 : debug_file_open(&wanted, &path);

	if (fd >= 0 && image_take(fd, path, &file->debug, NULL) == 0)
		read_symbols(file, file->debug.elf, SHT_SYMTAB);
}

enum elf_machine elf_file_machine(const struct elf_file *file)
{
	return file->machine;
}

const struct elf_symbol *elf_file_symbols(const struct elf_file *file, size_t *out_count)
{
	*out_count = file->symbol_count;
	return file->symbols;
}

bool elf_file_has_symtab(const struct elf_file *file)
{
	return file->has_symtab;
}

const struct elf_usdt *elf_file_usdt(const struct elf_file *file, size_t *out_count)
{
	*out_count = file->usdt_count;
	return file->usdt;
}

const char *const *elf_file_needed(const struct elf_file *file, size_t *out_count)
{
	*out_count = file->needed_count;
	return file->needed;
}

bool elf_file_offset(const struct elf_file *file, uint64_t address, bool code, uint64_t *out_offset)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct segment *segment = &file->segments[i];

		if (address < segment->address || address - segment->address >= segment->bytes ||
		    (code && !segment->is_code))
			continue;
		*out_offset = address - segment->address + segment->offset;
		return true;
	}
	return false;
}

bool elf_file_find(const struct elf_file *file, const char *name, uint64_t *out_address)
{
	for (size_t i = 0; i < file->symbol_count; i++) {
		if (file->symbols[i].is_imported || strcmp(file->symbols[i].name, name) != 0)
			continue;
		*out_address = file->symbols[i].address;
		return true;
	}
	return false;
}
