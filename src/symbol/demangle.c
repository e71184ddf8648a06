/* demangle.c - see demangle.h. */
#include "symbol/demangle.h"

#include <stdlib.h>
#include <string.h>

/* The header declares one of another kind, which the two functions below do not use. */
#define xrealloc libiberty_xrealloc
#include <libiberty/demangle.h>
#undef xrealloc

#include "base/clones.h"
#include "base/mem.h"

#define SYMBOL_MAX 4096u /* longer ones stay as they are */

/* Without ".constprop.0", ".part.0.cold" and their like, and without "@@VERSION". */
static char *without_clones(const char *symbol)
{
	char *name = xstrndup(symbol, strcspn(symbol, "@"));

	name[clones_plain_bytes(name)] = '\0';
	return name;
}

/* Old names of Rust end in "::h" and 16 hexadecimal digits, where that was not recognised. */
static void cut_hash(char *name)
{
	size_t bytes = strlen(name);
	char *tail = bytes > 19 ? name + bytes - 19 : NULL;

	if (tail && strncmp(tail, "::h", 3) == 0 && strspn(tail + 3, "0123456789abcdef") == 16)
		*tail = '\0';
}

/* NULL = it is no name of theirs. */
static char *demangled_name(const char *symbol, int options)
{
	char *name = strlen(symbol) > SYMBOL_MAX ? NULL : rust_demangle(symbol, options);

	if (!name && strlen(symbol) <= SYMBOL_MAX)
		name = cplus_demangle_v3(symbol, options);
	return name;
}

void demangle(const char *symbol, struct demangled *demangled)
{
	char *name = without_clones(symbol), *made;

	demangled_fini(demangled);
	/* Without DMGL_RET_DROP, which drops those of types in templates, too: "function<void (int)>". */
	made = demangled_name(name, DMGL_ANSI);
	demangled->function = made ? made : name;
	if (made)
		free(name);
	cut_hash(demangled->function);
	made = demangled_name(symbol, DMGL_ANSI | DMGL_PARAMS);
	demangled->signature = made ? made : xstrndup(symbol, strcspn(symbol, "@"));
}

void demangled_fini(struct demangled *demangled)
{
	free(demangled->function);
	free(demangled->signature);
	*demangled = (struct demangled){ 0 };
}
