/* delays_class.h - which class of delays/ a state of a thread counts in. */
#ifndef ANALYSE_DELAYS_CLASS_H
#define ANALYSE_DELAYS_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "accounts/stats.h"
#include "timeline/timeline.h"
#include "timeline/totals.h"

/* Bits of enum wait_kind that the kernel counts as waits for disk, where they are uninterruptible. */
#define DELAYS_SYNCED (1u << WAIT_FOR_DISK | 1u << WAIT_FOR_IO)

/* The class that an interval of thread 'slot' is counted in. Returns false for none. */
bool delays_trace_class(const struct timeline *timeline, uint32_t slot,
			const struct tl_interval *in, enum delays_class *out_class);

#endif
