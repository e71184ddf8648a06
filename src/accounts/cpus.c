/* cpus.c - lists of CPUs. */
#include "accounts/cpus.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "accounts/proc.h"

#define POSSIBLE "/sys/devices/system/cpu/possible"

void delays_cpus_fini(struct delays_cpus *cpus)
{
	free(cpus->cpus);
	*cpus = (struct delays_cpus){ 0 };
}

static bool cpus_parse_number(const char **at, uint32_t *out_number)
{
	uint32_t number = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	while (isdigit((unsigned char)**at) && number < DELAYS_CPU_MAX)
		number = number * 10 + (uint32_t)(*(*at)++ - '0');
	*out_number = number;
	return number < DELAYS_CPU_MAX;
}

/* "3" or "3-7", and the comma or the end behind it. */
static bool cpus_parse_range(const char **at, bool *is_there)
{
	uint32_t first, last;

	if (!cpus_parse_number(at, &first))
		return false;
	last = first;
	if (**at == '-') {
		(*at)++;
		if (!cpus_parse_number(at, &last) || last < first)
			return false;
	}
	for (uint32_t cpu = first; cpu <= last; cpu++)
		is_there[cpu] = true;
	if (**at == ',')
		return *++*at != '\0' && **at != '\n';
	return **at == '\0' || (**at == '\n' && (*at)[1] == '\0');
}

int delays_cpus_parse(const char *text, struct delays_cpus *out_cpus, struct err *err)
{
	AUTO_FREE bool *is_there = xcalloc(DELAYS_CPU_MAX, sizeof(*is_there));
	struct delays_cpus cpus = { 0 };
	const char *at = text;

	do {
		if (!cpus_parse_range(&at, is_there))
			return err_set(err, -EINVAL, "\"%s\" is not a list of CPUs such as 0-3,8",
				       text);
	} while (*at && *at != '\n');
	cpus.cpus = xcalloc(DELAYS_CPU_MAX, sizeof(*cpus.cpus));
	for (uint32_t cpu = 0; cpu < DELAYS_CPU_MAX; cpu++) {
		if (is_there[cpu])
			cpus.cpus[cpus.count++] = cpu;
	}
	*out_cpus = cpus;
	return 0;
}

int delays_cpus_possible(struct delays_cpus *out_cpus, struct err *err)
{
	char text[4096];
	int got = delays_proc_read(POSSIBLE, text, sizeof(text));

	if (got < 0)
		return err_set(err, got, "cannot read %s: %s", POSSIBLE, strerror(-got));
	return delays_cpus_parse(text, out_cpus, err);
}

char *delays_cpus_text(const struct delays_cpus *cpus, size_t first, size_t count)
{
	char *text = xstrdup("");

	for (size_t i = first; i < first + count;) {
		AUTO_FREE char *before = text;
		size_t last = i;

		while (last + 1 < first + count && cpus->cpus[last + 1] == cpus->cpus[last] + 1)
			last++;
		text = last > i ? xasprintf("%s%s%u-%u", before, *before ? "," : "", cpus->cpus[i],
					    cpus->cpus[last])
				: xasprintf("%s%s%u", before, *before ? "," : "", cpus->cpus[i]);
		i = last + 1;
	}
	return text;
}
