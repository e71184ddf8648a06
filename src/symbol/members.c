/*
 * members.c - see members.h.
 *
 * Variables with a fixed address are gathered once from all units; descending into what has code costs the most,
 * and is where static variables of functions are.
 */
#include "symbol/members.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"

#define DIES_MAX	4000000u /* that are looked at in a file */
#define SCOPES_MAX	24	 /* one in the other */
#define TYPES_MAX	24	 /* on the way from a variable to its member */
#define NAMED_MAX	16	 /* a type's names, and const and the like */
#define DIMS_MAX	8
#define MEMBER_PATH_MAX 256

struct member_variable {
	uint64_t address; /* in the file */
	Dwarf_Die die;
};

struct members {
	Dwfl_Module *module; /* a view */
	bool is_read;
	unsigned int dies_left;
	uint64_t bias; /* of the unit that is being read: from its addresses to those in the file */
	struct member_variable *variables; /* owned; by address, then as they stand in the file */
	size_t count, cap;
	char path[MEMBER_PATH_MAX];
};

struct members *members_new(Dwfl_Module *module)
{
	struct members *members = xcalloc(1, sizeof(*members));

	members->module = module;
	members->dies_left = DIES_MAX;
	return members;
}

void members_free(struct members *members)
{
	if (!members)
		return;
	free(members->variables);
	free(members);
}

/* ------------------------------------------------------------------ variables of the file */

/* False for what is in a register, of a thread, or has moved in a way that is not looked into. */
static bool variable_address(Dwarf_Die *die, uint64_t *out_address)
{
	Dwarf_Attribute location, address;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr(die, DW_AT_location, &location) ||
	    dwarf_getlocation(&location, &ops, &count) != 0 || count != 1)
		return false;
	if (ops[0].atom == DW_OP_addr) {
		*out_address = ops[0].number;
		return true;
	}
	return (ops[0].atom == DW_OP_addrx || ops[0].atom == DW_OP_GNU_addr_index) &&
	       dwarf_getlocation_attr(&location, &ops[0], &address) == 0 &&
	       dwarf_formaddr(&address, out_address) == 0;
}

static void members_add(struct members *members, Dwarf_Die *die)
{
	uint64_t address;

	if (!variable_address(die, &address))
		return;
	members->variables = vec_room(members->variables, members->count, &members->cap,
				      sizeof(*members->variables));
	members->variables[members->count++] =
		(struct member_variable){ .address = address + members->bias, .die = *die };
}

static bool has_variables(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_subprogram || tag == DW_TAG_module ||
	       tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine;
}

/* All below it, without recursion: siblings, and the way back. */
static void members_read_unit(struct members *members, Dwarf_Die *unit)
{
	Dwarf_Die scopes[SCOPES_MAX];
	size_t depth = 0;

	if (dwarf_child(unit, &scopes[0]) != 0)
		return;
	for (;;) {
		Dwarf_Die *die = &scopes[depth];
		int tag;

		if (!members->dies_left)
			return;
		members->dies_left--;
		tag = dwarf_tag(die);
		if (tag == DW_TAG_variable)
			members_add(members, die);
		if (has_variables(tag) && depth + 1 < SCOPES_MAX &&
		    dwarf_child(die, &scopes[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (dwarf_siblingof(&scopes[depth], &scopes[depth]) != 0) {
			if (depth-- == 0)
				return;
		}
	}
}

ORDER_FUNCTION(compare_members, struct member_variable, ORDER_UP(address), ORDER_UP(die.addr));

static void members_read(struct members *members)
{
	GElf_Addr elf_bias = 0, bias;
	Dwarf_Die *unit = NULL;

	members->is_read = true;
	if (!dwfl_module_getelf(members->module, &elf_bias))
		return;
	while (members->dies_left && (unit = dwfl_module_nextcu(members->module, unit, &bias))) {
		members->dies_left--;
		members->bias = bias - elf_bias;
		members_read_unit(members, unit);
	}
	members->dies_left = DIES_MAX; /* for all searches */
	if (members->count)
		qsort(members->variables, members->count, sizeof(*members->variables),
		      compare_members);
}

static const struct member_variable *members_variable(const struct members *members,
						      uint64_t address)
{
	size_t low = SEARCH_FROM(members->variables, members->count, address, address);

	return low < members->count && members->variables[low].address == address
		       ? &members->variables[low]
		       : NULL;
}

/* ------------------------------------------------------------------ types */

/* What is one thing for who uses it: of C, and of Rust. */
static bool is_lock(const char *name)
{
	static const char *const locks[] = { "sem_t",	"mtx_t",     "cnd_t",
					     "Condvar", "AtomicU32", "AtomicI32" };
	static const char *const kinds[] = { "pthread_", "Mutex<", "RwLock<", "OnceLock<" };

	for (size_t i = 0; name && i < ARRAY_LEN(locks); i++) {
		if (strcmp(name, locks[i]) == 0)
			return true;
	}
	for (size_t i = 0; name && i < ARRAY_LEN(kinds); i++) {
		if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
			return true;
	}
	return false;
}

/* Members of the classes of libstdc++ and libc++, with which no program calls its own. */
static bool is_inner(const char *name)
{
	return strncmp(name, "_M_", 3) == 0 || strncmp(name, "__m_", 4) == 0;
}

struct member_type {
	Dwarf_Die die; /* no other name of a type, const or the like */
	bool is_lock;
};

static bool type_of(Dwarf_Die *die, Dwarf_Die *out_type)
{
	Dwarf_Attribute type;

	return dwarf_attr_integrate(die, DW_AT_type, &type) && dwarf_formref_die(&type, out_type);
}

static bool member_type_of(Dwarf_Die *die, struct member_type *out_type)
{
	out_type->is_lock = false;
	if (!type_of(die, &out_type->die))
		return false;
	for (int i = 0; i < NAMED_MAX; i++) {
		switch (dwarf_tag(&out_type->die)) {
		case DW_TAG_typedef:
			out_type->is_lock |= is_lock(dwarf_diename(&out_type->die));
			break;
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		default:
			out_type->is_lock |= is_lock(dwarf_diename(&out_type->die));
			return true;
		}
		if (!type_of(&out_type->die, &out_type->die))
			return false;
	}
	return false;
}

static bool die_number(Dwarf_Die *die, unsigned int attribute, uint64_t *out_number)
{
	Dwarf_Attribute found;
	Dwarf_Word number;

	if (!dwarf_attr_integrate(die, attribute, &found) || dwarf_formudata(&found, &number) != 0)
		return false;
	*out_number = number;
	return true;
}

/* How many elements there are in each dimension; 0 = it is not known. */
static size_t array_counts(Dwarf_Die *array, uint64_t out_counts[DIMS_MAX])
{
	Dwarf_Die child;
	size_t dims = 0, seen = 0;

	for (int rc = dwarf_child(array, &child); rc == 0; rc = dwarf_siblingof(&child, &child)) {
		uint64_t bound, lower = 0;

		if (seen++ >= DIMS_MAX)
			return 0;
		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		(void)die_number(&child, DW_AT_lower_bound, &lower); /* C has none */
		if (lower)
			return 0;
		if (die_number(&child, DW_AT_count, &bound))
			out_counts[dims++] = bound;
		else if (die_number(&child, DW_AT_upper_bound, &bound) && bound < UINT64_MAX)
			out_counts[dims++] = bound + 1;
		else
			return 0;
	}
	return dims;
}

/* 0 = it is not known, or too large. */
static uint64_t type_bytes(struct member_type type)
{
	uint64_t bytes, times = 1, counts[DIMS_MAX];

	for (int i = 0; i < TYPES_MAX; i++) {
		size_t dims;

		if (die_number(&type.die, DW_AT_byte_size, &bytes))
			return __builtin_mul_overflow(bytes, times, &bytes) ? 0 : bytes;
		if (dwarf_tag(&type.die) != DW_TAG_array_type)
			return 0;
		dims = array_counts(&type.die, counts);
		for (size_t k = 0; k < dims; k++) {
			if (__builtin_mul_overflow(times, counts[k], &times))
				return 0;
		}
		if (!dims || !member_type_of(&type.die, &type))
			return 0;
	}
	return 0;
}

/* ------------------------------------------------------------------ the way to a member */

struct member_way {
	struct member_type type;
	uint64_t offset;	 /* into it */
	char *path;		 /* up to it */
	size_t bytes;		 /* of the path */
	struct members *members; /* a view */
};

/* False, and nothing added, when there is no room. */
static bool way_add(struct member_way *way, const char *text)
{
	size_t bytes = strlen(text);

	if (bytes >= MEMBER_PATH_MAX - way->bytes)
		return false;
	memcpy(way->path + way->bytes, text, bytes + 1);
	way->bytes += bytes;
	return true;
}

static bool way_into_array(struct member_way *way)
{
	struct member_type element;
	uint64_t counts[DIMS_MAX], bytes, index;
	size_t dims = array_counts(&way->type.die, counts);
	char text[DIMS_MAX * 24] = "";
	size_t used = sizeof(text) - 1;

	if (!dims || !member_type_of(&way->type.die, &element))
		return false;
	bytes = type_bytes(element);
	if (!bytes)
		return false;
	index = way->offset / bytes;
	/* From the last one, which moves the fastest. */
	for (size_t i = dims; i-- > 0; index /= counts[i]) {
		char part[24];
		int length;

		if (!counts[i])
			return false;
		length = snprintf(part, sizeof(part), "[%" PRIu64 "]", index % counts[i]);
		used -= (size_t)length;
		memcpy(text + used, part, (size_t)length);
	}
	if (index || !way_add(way, text + used))
		return false;
	way->offset %= bytes;
	way->type = element;
	return true;
}

static bool member_begins(Dwarf_Die *member, uint64_t *out_offset)
{
	Dwarf_Attribute location;
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_hasattr(member, DW_AT_declaration) || dwarf_hasattr(member, DW_AT_external) ||
	    dwarf_hasattr(member, DW_AT_bit_size))
		return false;
	if (die_number(member, DW_AT_data_member_location, out_offset))
		return true;
	if (!dwarf_attr(member, DW_AT_data_member_location, &location) ||
	    dwarf_getlocation(&location, &ops, &count) != 0 || count != 1 ||
	    ops[0].atom != DW_OP_plus_uconst)
		return false;
	*out_offset = ops[0].number;
	return true;
}

/* One that covers the offset; what follows in 'out_type', and where it begins. */
static bool member_covers(Dwarf_Die *member, uint64_t offset, struct member_type *out_type,
			  uint64_t *out_begins)
{
	int tag = dwarf_tag(member);

	return (tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
	       member_begins(member, out_begins) && *out_begins <= offset &&
	       member_type_of(member, out_type) && offset - *out_begins < type_bytes(*out_type);
}

static bool way_into_structure(struct member_way *way)
{
	struct member_type type;
	Dwarf_Die member, found;
	uint64_t begins;
	int count = 0;

	for (int rc = dwarf_child(&way->type.die, &member); rc == 0;
	     rc = dwarf_siblingof(&member, &member)) {
		if (!way->members->dies_left)
			return false;
		way->members->dies_left--;
		if (!member_covers(&member, way->offset, &type, &begins))
			continue;
		found = member;
		count++;
	}
	/* Nobody: it is padding. Several: it lies. */
	if (count != 1 || !member_covers(&found, way->offset, &type, &begins))
		return false;
	if (dwarf_tag(&found) == DW_TAG_member && dwarf_diename(&found)) {
		const char *name = dwarf_diename(&found);

		if (is_inner(name)) {
			way->offset = 0;
			return false;
		}
		if (way->bytes + 1 + strlen(name) >= MEMBER_PATH_MAX)
			return false;
		(void)(way_add(way, ".") && way_add(way, name));
	}
	way->offset -= begins;
	way->type = type;
	return true;
}

/* False: it goes no further. */
static bool way_go(struct member_way *way)
{
	if (way->type.is_lock) {
		way->offset = 0;
		return false;
	}
	switch (dwarf_tag(&way->type.die)) {
	case DW_TAG_array_type:
		return way_into_array(way);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return way_into_structure(way);
	default:
		return false;
	}
}

bool members_find(struct members *members, uint64_t address, uint64_t offset,
		  struct member *out_member)
{
	struct member_way way = { .offset = offset, .path = members->path, .members = members };
	const struct member_variable *variable;
	Dwarf_Die die;

	if (!members->is_read)
		members_read(members);
	variable = members_variable(members, address);
	if (!variable)
		return false;
	die = variable->die;
	members->path[0] = '\0';
	if (!member_type_of(&die, &way.type) || offset >= type_bytes(way.type))
		return false;
	for (int i = 0; i < TYPES_MAX && way_go(&way); i++)
		;
	*out_member = (struct member){ .path = members->path, .offset = way.offset };
	return true;
}
