/* extents.c - see extents.h. */
#include "symbol/extents.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/search.h"
#include "base/sorting.h"

#define EXTENTS_MAX ((size_t)4 << 20)

struct extent {
	uint64_t start, end;
};

struct extents {
	struct extent *at; /* owned; by start */
	size_t count, cap;
};

/* The table while it is read. */
struct extents_table {
	const unsigned char *ident; /* of the ELF file */
	Elf_Data *data;
	uint64_t address; /* of the first byte */
	bool is_32;
	Dwarf_Off cie; /* whose encoding that is; -1 = none was read */
	uint8_t encoding;
};

ORDER_FUNCTION(by_start, struct extent, ORDER_UP(start), ORDER_UP(end));

static size_t encoded_bytes(const struct extents_table *table, uint8_t encoding)
{
	switch (encoding & 0x07) {
	case DW_EH_PE_absptr:
		return table->is_32 ? 4 : 8;
	case DW_EH_PE_udata2:
		return 2;
	case DW_EH_PE_udata4:
		return 4;
	case DW_EH_PE_udata8:
		return 8;
	default:
		return 0; /* of no set size: no linker makes it here */
	}
}

/* How the entries that point here encode addresses; DW_EH_PE_omit = that is not known. */
static uint8_t cie_encoding(const struct extents_table *table, const Dwarf_CIE *cie)
{
	const uint8_t *data = cie->augmentation_data;
	size_t left = cie->augmentation_data_size;

	if (cie->augmentation[0] != 'z')
		return cie->augmentation[0] ? DW_EH_PE_omit : DW_EH_PE_absptr;
	for (const char *letter = cie->augmentation + 1; *letter; letter++) {
		size_t bytes = *letter == 'R' || *letter == 'L' || *letter == 'P';

		if (bytes > left)
			return DW_EH_PE_omit;
		if (*letter == 'R')
			return *data;
		if (*letter == 'P' && *data != DW_EH_PE_omit) {
			size_t of_pointer = encoded_bytes(table, *data);

			bytes = of_pointer ? bytes + of_pointer : SIZE_MAX;
		}
		if (bytes > left || (*letter != 'P' && *letter != 'L' && !strchr("SB", *letter)))
			return DW_EH_PE_omit;
		data += bytes;
		left -= bytes;
	}
	return DW_EH_PE_absptr;
}

static uint8_t extents_encoding(struct extents_table *table, Dwarf_Off at)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (table->cie == at)
		return table->encoding;
	table->cie = at;
	table->encoding = DW_EH_PE_omit;
	if (dwarf_next_cfi(table->ident, table->data, true, at, &next, &entry) == 0 &&
	    dwarf_cfi_cie_p(&entry))
		table->encoding = cie_encoding(table, &entry.cie);
	return table->encoding;
}

static bool extents_read(struct extents_table *table, const Dwarf_FDE *fde, struct extent *out)
{
	uint8_t encoding = extents_encoding(table, fde->CIE_pointer);
	const uint8_t *from = fde->start, *data = table->data->d_buf;
	size_t bytes = encoding == DW_EH_PE_omit ? 0 : encoded_bytes(table, encoding);

	if (!bytes || fde->end < from || (size_t)(fde->end - from) < 2 * bytes)
		return false;
	out->start = order_load(from, (uint32_t)bytes, encoding & DW_EH_PE_signed, false);
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		out->start += table->address + (uint64_t)(from - data);
		break;
	default:
		return false;
	}
	if (table->is_32)
		out->start = (uint32_t)out->start;
	out->end = out->start + order_load(from + bytes, (uint32_t)bytes, false, false);
	return out->end > out->start;
}

static bool extents_open(Elf *elf, struct extents_table *out_table)
{
	struct extents_table table = { .cie = (Dwarf_Off)-1 };
	Elf_Scn *section = NULL;
	GElf_Ehdr head;
	size_t names;

	if (!gelf_getehdr(elf, &head) || head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    elf_getshdrstrndx(elf, &names) != 0)
		return false;
	table.ident = (const unsigned char *)elf_getident(elf, NULL);
	table.is_32 = head.e_ident[EI_CLASS] == ELFCLASS32;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (!name || strcmp(name, ".eh_frame") != 0 || header.sh_type == SHT_NOBITS)
			continue;
		table.address = header.sh_addr;
		table.data = elf_rawdata(section, NULL);
		*out_table = table;
		return table.ident && table.data && table.data->d_buf;
	}
	return false;
}

struct extents *extents_new(Elf *elf)
{
	struct extents_table table;
	struct extents *extents;
	Dwarf_Off at = 0, next;

	if (!elf || !extents_open(elf, &table))
		return NULL;
	extents = xcalloc(1, sizeof(*extents));
	for (; extents->count < EXTENTS_MAX; at = next) {
		Dwarf_CFI_Entry entry;
		struct extent extent;
		int rc = dwarf_next_cfi(table.ident, table.data, true, at, &next, &entry);

		if (rc > 0 || next <= at || (rc < 0 && next == (Dwarf_Off)-1))
			break;
		if (rc < 0 || dwarf_cfi_cie_p(&entry) || !extents_read(&table, &entry.fde, &extent))
			continue;
		extents->at =
			vec_room(extents->at, extents->count, &extents->cap, sizeof(*extents->at));
		extents->at[extents->count++] = extent;
	}
	if (extents->count)
		qsort(extents->at, extents->count, sizeof(*extents->at), by_start);
	return extents;
}

bool extents_find(const struct extents *extents, uint64_t address, uint64_t *out_start)
{
	size_t behind = SEARCH_BEHIND(extents->at, extents->count, start, address);

	if (!behind || address >= extents->at[behind - 1].end)
		return false;
	*out_start = extents->at[behind - 1].start;
	return true;
}

void extents_free(struct extents *extents)
{
	if (!extents)
		return;
	free(extents->at);
	free(extents);
}
