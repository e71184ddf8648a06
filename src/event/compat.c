/* compat.c - the numbers that only one of the two kinds of programs can have. */
#include "event/compat.h"

#include <stddef.h>
#include <string.h>

static bool is_x86_64(const char *arch)
{
	return arch && strcmp(arch, "x86_64") == 0;
}

bool compat_by_exec(const char *arch, int64_t nr)
{
	return is_x86_64(arch) && nr == 11;
}

bool compat_by_first_call(const char *arch, int64_t nr, uint64_t arg0)
{
	return is_x86_64(arch) && ((nr == 45 && arg0 == 0) || nr == 122 || nr == 243);
}
