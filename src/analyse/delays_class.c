/* delays_class.c - states to classes, as the kernel counts them. */
#include "analyse/delays_class.h"

bool delays_trace_class(const struct timeline *timeline, uint32_t slot,
			const struct tl_interval *in, enum delays_class *out_class)
{
	struct wait wait;

	switch (word_kind(in->word)) {
	case WORD_PREEMPTED:
	case WORD_WAIT_CPU:
		*out_class = DELAYS_CPU;
		return true;
	case WORD_BLOCKED:
		timeline_wait(timeline, slot, word_arg(in->word), &wait);
		*out_class = DELAYS_DISK;
		return (wait.flags & WAIT_DISK_SLEEP) && (DELAYS_SYNCED & 1u << wait_kind(&wait));
	case WORD_IRQ:
	case WORD_VECTOR:
	case WORD_SOFTIRQ:
		*out_class = DELAYS_IRQ;
		return true;
	default:
		return false;
	}
}
