/* remote.c - see remote.h. Symbols: System V ABI, "Dynamic Section"; DT_GNU_HASH as glibc's elf/dl-lookup.c reads it. */
#include "stuck/remote.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stuck/look.h"

#define PAGES_MAX    8192u
#define HEADERS_MAX  64u
#define DYNAMIC_MAX  256u
#define NOTES_MAX    64u
#define NOTES_WITHIN 65536u
#define CHAIN_MAX    4096u

void remote_fini(struct remote *remote)
{
	map_fini(&remote->pages);
	free(remote->bytes);
	*remote = (struct remote){ 0 };
}

static const uint8_t *page_at(struct remote *remote, uint64_t page)
{
	uint64_t *index = map_find(&remote->pages, page);

	if (index)
		return remote->bytes[*index];
	if (remote->count == PAGES_MAX)
		return NULL;
	remote->bytes =
		vec_room(remote->bytes, remote->count, &remote->cap, sizeof(*remote->bytes));
	if (!look_memory(remote->look, remote->process, page, remote->bytes[remote->count],
			 REMOTE_PAGE))
		return NULL;
	map_put(&remote->pages, page, remote->count);
	return remote->bytes[remote->count++];
}

bool remote_read(struct remote *remote, uint64_t address, void *buffer, size_t bytes)
{
	uint8_t *to = buffer;

	while (bytes) {
		size_t offset = address % REMOTE_PAGE;
		size_t part = bytes < REMOTE_PAGE - offset ? bytes : REMOTE_PAGE - offset;
		const uint8_t *page = page_at(remote, address - offset);

		if (!page)
			return false;
		memcpy(to, page + offset, part);
		to += part;
		address += part;
		bytes -= part;
	}
	return true;
}

uint64_t remote_u64(struct remote *remote, uint64_t address)
{
	uint64_t value = 0;

	return remote_read(remote, address, &value, sizeof(value)) ? value : 0;
}

uint32_t remote_u32(struct remote *remote, uint64_t address)
{
	uint32_t value = 0;

	return remote_read(remote, address, &value, sizeof(value)) ? value : 0;
}

bool remote_is_text(struct remote *remote, uint64_t address, const char *text)
{
	char byte;

	do {
		if (!address || !remote_read(remote, address++, &byte, 1) || byte != *text)
			return false;
	} while (*text++);
	return true;
}

/* Of a library that is loaded: where its tables are. */
struct dynamic {
	uint64_t symbols, strings, hash;
	uint64_t bias;
};

/* The program header 'i' of what is loaded at 'base'; false = there is none. */
static bool read_header(struct remote *remote, uint64_t base, uint32_t i, Elf64_Phdr *out_part)
{
	Elf64_Ehdr head;

	return remote_read(remote, base, &head, sizeof(head)) &&
	       memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	       head.e_phentsize == sizeof(*out_part) && head.e_phnum <= HEADERS_MAX &&
	       i < head.e_phnum &&
	       remote_read(remote, base + head.e_phoff + i * sizeof(*out_part), out_part,
			   sizeof(*out_part));
}

static uint64_t find_dynamic(struct remote *remote, uint64_t base, struct dynamic *dynamic)
{
	Elf64_Phdr part;
	uint64_t at = 0;
	bool is_based = false;

	for (uint32_t i = 0; read_header(remote, base, i, &part); i++) {
		if (part.p_type == PT_LOAD && !is_based) {
			dynamic->bias = base - (part.p_vaddr & ~(uint64_t)(REMOTE_PAGE - 1));
			is_based = true;
		} else if (part.p_type == PT_DYNAMIC)
			at = part.p_vaddr;
	}
	return is_based && at ? at + dynamic->bias : 0;
}

/* In one segment of notes: a head, the owner's name and a text, each filled up to 4 bytes; some count that. */
static bool has_note(struct remote *remote, uint64_t at, uint64_t bytes, const char *owner,
		     uint32_t type)
{
	Elf64_Nhdr note;

	for (uint32_t i = 0; i < NOTES_MAX && bytes >= sizeof(note); i++) {
		uint64_t step;

		if (!remote_read(remote, at, &note, sizeof(note)))
			return false;
		if (note.n_type == type && note.n_namesz > strlen(owner) &&
		    remote_is_text(remote, at + sizeof(note), owner))
			return true;
		step = sizeof(note) + (((uint64_t)note.n_namesz + 3) & ~(uint64_t)3) +
		       (((uint64_t)note.n_descsz + 3) & ~(uint64_t)3);
		if (step > bytes)
			return false;
		at += step;
		bytes -= step;
	}
	return false;
}

/* Notes lie in the first bytes of the file: where those are loaded. */
bool remote_has_note(struct remote *remote, uint64_t base, const char *owner, uint32_t type)
{
	Elf64_Phdr part;

	for (uint32_t i = 0; read_header(remote, base, i, &part); i++) {
		if (part.p_type == PT_NOTE && part.p_offset < NOTES_WITHIN &&
		    has_note(remote, base + part.p_offset, part.p_filesz, owner, type))
			return true;
	}
	return false;
}

/* glibc adds the bias to the pointers there, musl does not. */
static bool read_dynamic(struct remote *remote, uint64_t base, struct dynamic *dynamic)
{
	uint64_t at = find_dynamic(remote, base, dynamic);
	Elf64_Dyn entry;

	for (uint32_t i = 0; at && i < DYNAMIC_MAX; i++, at += sizeof(entry)) {
		uint64_t value;

		if (!remote_read(remote, at, &entry, sizeof(entry)) || entry.d_tag == DT_NULL)
			break;
		value = entry.d_un.d_ptr;
		if (value < dynamic->bias)
			value += dynamic->bias;
		if (entry.d_tag == DT_SYMTAB)
			dynamic->symbols = value;
		else if (entry.d_tag == DT_STRTAB)
			dynamic->strings = value;
		else if (entry.d_tag == DT_GNU_HASH)
			dynamic->hash = value;
	}
	return dynamic->symbols && dynamic->strings && dynamic->hash;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (uint8_t)*name++;
	return hash;
}

uint64_t remote_symbol(struct remote *remote, uint64_t base, const char *name)
{
	struct dynamic dynamic = { 0 };
	uint32_t wanted = gnu_hash(name), head[4], index;
	uint64_t buckets, chains;
	Elf64_Sym symbol;

	/* Count of buckets, first symbol, words of the filter, its shift. */
	if (!read_dynamic(remote, base, &dynamic) ||
	    !remote_read(remote, dynamic.hash, head, sizeof(head)) || !head[0])
		return 0;
	buckets = dynamic.hash + sizeof(head) + (uint64_t)head[2] * sizeof(uint64_t);
	chains = buckets + (uint64_t)head[0] * sizeof(uint32_t);
	index = remote_u32(remote, buckets + (uint64_t)(wanted % head[0]) * sizeof(uint32_t));
	for (uint32_t i = 0; index >= head[1] && i < CHAIN_MAX; i++, index++) {
		uint32_t hash =
			remote_u32(remote, chains + (uint64_t)(index - head[1]) * sizeof(uint32_t));

		if ((hash | 1) == (wanted | 1) &&
		    remote_read(remote, dynamic.symbols + (uint64_t)index * sizeof(symbol), &symbol,
				sizeof(symbol)) &&
		    remote_is_text(remote, dynamic.strings + symbol.st_name, name))
			return dynamic.bias + symbol.st_value;
		if (hash & 1)
			break;
	}
	return 0;
}
