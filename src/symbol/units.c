/* units.c - see units.h. */
#include "symbol/units.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/sorting.h"

#define UNITS_MAX  400000u  /* that are looked at in a file */
#define RANGES_MAX 4000000u /* of code, in all */

/* A part of a unit's code; addresses as the debug information has them. */
struct unit_range {
	uint64_t begin, end;
	Dwarf_Off unit; /* where its outermost entry is */
};

struct units {
	Dwfl_Module *module; /* a view */
	Dwarf *dwarf;	     /* a view; NULL = there is none, or nobody has asked yet */
	Dwarf_Addr bias;
	bool is_read;
	struct unit_range *ranges; /* owned; by 'begin' */
	size_t count, cap;
	Dwarf_Die found;
};

struct units *units_new(Dwfl_Module *module)
{
	struct units *units = xcalloc(1, sizeof(*units));

	units->module = module;
	return units;
}

void units_free(struct units *units)
{
	if (!units)
		return;
	free(units->ranges);
	free(units);
}

static void units_add(struct units *units, Dwarf_Die *die)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t next = 0;

	while (units->count < RANGES_MAX &&
	       (next = dwarf_ranges(die, next, &base, &begin, &end)) > 0) {
		if (begin >= end)
			continue;
		units->ranges =
			vec_room(units->ranges, units->count, &units->cap, sizeof(*units->ranges));
		units->ranges[units->count++] =
			(struct unit_range){ begin, end, dwarf_dieoffset(die) };
	}
}

ORDER_FUNCTION(compare_ranges, struct unit_range, ORDER_UP(begin), ORDER_UP(end), ORDER_UP(unit));

static void units_read(struct units *units)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	units->is_read = true;
	units->dwarf = dwfl_module_getdwarf(units->module, &units->bias);
	for (size_t i = 0; units->dwarf && i < UNITS_MAX; i++) {
		if (dwarf_get_units(units->dwarf, unit, &unit, NULL, NULL, &die, NULL) != 0)
			break;
		units_add(units, &die);
	}
	if (units->count)
		qsort(units->ranges, units->count, sizeof(*units->ranges), compare_ranges);
}

Dwarf_Die *units_find(struct units *units, uint64_t pc, Dwarf_Addr *out_bias)
{
	Dwarf_Die *die = dwfl_module_addrdie(units->module, pc, out_bias);
	size_t after;

	if (die)
		return die;
	if (!units->is_read)
		units_read(units);
	*out_bias = units->bias;
	pc -= units->bias;
	after = SEARCH_ITEM(units->ranges, units->count, range, range->begin <= pc);
	if (!after || pc >= units->ranges[after - 1].end)
		return NULL;
	return dwarf_offdie(units->dwarf, units->ranges[after - 1].unit, &units->found);
}
