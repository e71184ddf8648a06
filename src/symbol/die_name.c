/* die_name.c - see die_name.h. */
#include "symbol/die_name.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define ORIGINS_MAX 8  /* from one entry to the next that describes it */
#define SCOPES_MAX  32 /* one in the other */

/* Where it is described: a copy refers to the function, and that to what its class declares. */
static Dwarf_Die die_origin(const Dwarf_Die *die)
{
	static const unsigned int refers[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Die origin = *die, next;
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < ORIGINS_MAX; i++) {
		bool has = false;

		for (size_t k = 0; !has && k < ARRAY_LEN(refers); k++)
			has = dwarf_formref_die(dwarf_attr(&origin, refers[k], &attribute),
						&next) != NULL;
		if (!has)
			break;
		origin = next;
	}
	return origin;
}

/* Of what names are in, or NULL for what they are not in. */
static const char *scope_name(Dwarf_Die *scope)
{
	const char *name = dwarf_diename(scope);

	switch (dwarf_tag(scope)) {
	case DW_TAG_namespace:
		return name ? name : "(anonymous namespace)";
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return name ? name : "(unnamed type)";
	case DW_TAG_subprogram:
		return name;
	default:
		return NULL;
	}
}

static char *die_scoped_name(Dwarf_Die *die, const char *name)
{
	Dwarf_Die origin = die_origin(die), *scopes = NULL;
	int count = dwarf_getscopes_die(&origin, &scopes);
	AUTO_FREE char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out) {
		free(scopes);
		return xstrdup(name);
	}
	for (int i = count < SCOPES_MAX ? count - 1 : SCOPES_MAX - 1; i > 0; i--) {
		const char *scope = scope_name(&scopes[i]);

		if (scope)
			fprintf(out, "%s::", scope);
	}
	fputs(name, out);
	free(scopes);
	return fclose(out) == 0 ? xstrdup(text) : xstrdup(name);
}

char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *linked = NULL, *name;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))
		linked = dwarf_formstring(&attribute);
	if (linked)
		return xstrdup(linked);
	name = dwarf_diename(die);
	return name ? die_scoped_name(die, name) : NULL;
}
