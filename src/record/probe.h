/*
 * probe.h - what this kernel leaves out of a trace.
 */
#ifndef RECORD_PROBE_H
#define RECORD_PROBE_H

#include <stdbool.h>

/*
 * Does this kernel leave out sched_switch records out of the idle task? Sleeps a
 * few times on some CPUs, with the events recorded in the instance, which must be
 * fresh and is left empty and switched off. Where it cannot tell (no CPU was idle)
 * it says yes, which costs one more event and loses nothing. Under 100 ms.
 */
bool probe_omits_idle_switches(int instance_fd);

/*
 * In the text of 'trace', count how often 'tid' gave way to the idle task, and how
 * often it gave way twice with no return in between: a return was left out.
 */
void probe_count(const char *trace, int tid, unsigned int *out_to_idle, unsigned int *out_omitted);

#endif
