/* allowed.c - see allowed.h. */
#include "record/allowed.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "0-2,5"; what finds no room is "...". */
static void put_list(const cpu_set_t *set, char *out, size_t bytes)
{
	static const char more[] = ",...";
	size_t used = 0;

	for (int first = 0, last; first < CPU_SETSIZE; first = last + 1) {
		char range[32];

		last = first;
		if (!CPU_ISSET(first, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		(void)snprintf(range, sizeof(range), last > first ? "%s%d-%d" : "%s%d",
			       used ? "," : "", first, last);
		if (used + strlen(range) + sizeof(more) > bytes) {
			(void)snprintf(out + used, bytes - used, "%s", more);
			return;
		}
		used += (size_t)snprintf(out + used, bytes - used, "%s", range);
	}
}

void allowed_cpus(int32_t tid, char *out, size_t bytes)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;
	int count;
	size_t used;

	out[0] = '\0';
	/* Of those that are there: see sched_getaffinity(2). */
	if (sched_getaffinity(tid, sizeof(set), &set) < 0)
		return;
	count = CPU_COUNT(&set);
	if (count == 0 || count >= online)
		return;
	used = (size_t)snprintf(out, bytes, count > 1 ? "CPUs " : "CPU ");
	put_list(&set, out + used, bytes - used);
}
