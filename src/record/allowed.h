/* allowed.h - which CPUs a thread may use, where that is not all of them: taskset, cpusets of cgroups. */
#ifndef RECORD_ALLOWED_H
#define RECORD_ALLOWED_H

#include <stddef.h>
#include <stdint.h>

/* "CPU 0", "CPUs 0-2,5"; "" = all that are online, or not known. */
void allowed_cpus(int32_t tid, char *out, size_t bytes);

#endif
