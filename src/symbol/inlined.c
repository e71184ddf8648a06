/* inlined.c - see inlined.h. */
#include "symbol/inlined.h"

#include <dwarf.h>
#include <stdbool.h>

#define DIES_MAX   4000000u /* that are looked at for one address */
#define SCOPES_MAX 256u	    /* one in the other */

struct inlined_search {
	Dwarf_Addr address;
	Dwarf_Die *out;
	size_t count;
	uint32_t dies_left, scopes_left;
};

/* May code of the address be in it, whose own addresses say nothing of that? */
static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type;
}

static bool is_code(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Below 'die'. Returns whether the code is there. */
static bool inlined_search_in(struct inlined_search *search, Dwarf_Die *die)
{
	Dwarf_Die child;
	bool is_found = false;

	if (!search->scopes_left || dwarf_child(die, &child) != 0)
		return false;
	search->scopes_left--;
	do {
		int tag = dwarf_tag(&child);

		if (!search->dies_left)
			break;
		search->dies_left--;
		if (holds_functions(tag)) {
			is_found = inlined_search_in(search, &child);
		} else if (is_code(tag) && dwarf_haspc(&child, search->address) > 0) {
			if (tag == DW_TAG_inlined_subroutine && search->count < INLINED_MAX)
				search->out[search->count++] = child;
			(void)inlined_search_in(search, &child);
			is_found = true;
		}
	} while (!is_found && dwarf_siblingof(&child, &child) == 0);
	search->scopes_left++;
	return is_found;
}

size_t inlined_find(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die out_inlined[INLINED_MAX])
{
	struct inlined_search search = { .address = address,
					 .out = out_inlined,
					 .dies_left = DIES_MAX,
					 .scopes_left = SCOPES_MAX };

	(void)inlined_search_in(&search, unit);
	return search.count;
}

struct inlined_call inlined_call_of(Dwarf_Die *unit, Dwarf_Die *inlined)
{
	struct inlined_call call = { 0 };
	Dwarf_Attribute attribute;
	Dwarf_Word file = 0, line = 0;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0 ||
	    dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count)
		return call;
	call.file = dwarf_filesrc(files, file, NULL, NULL);
	call.line = call.file && line <= UINT32_MAX ? (uint32_t)line : 0;
	return call;
}
