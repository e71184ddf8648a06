/*
 * steps.h - where a recording changed what it records, as events of each CPU.
 *
 * A change is a hole of no length: what was pending in a reader ends there. The end of a time without
 * any events is a hole of that length.
 */
#ifndef READ_KERNEL_STEPS_H
#define READ_KERNEL_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct facts;
struct lane;

/*
 * A lane of the changes in 'facts', on each of 'cpu_count' CPUs that 'present' has. Both must live as long.
 * NULL: there are none.
 */
struct lane *steps_open(const struct facts *facts, const bool *present, uint32_t cpu_count);

#endif
