/*
 * flight_memory.h - all that an always-on recorder keeps, within one bound.
 *
 * Counted are the rings of all CPUs, with the sub-buffer that a reader holds of each; the kernel's memory for BPF
 * programs and their maps; what they tell, in our memory; and our own, which nobody else has. Not counted is what
 * comes and goes: reading the kernel's types at the start, and a snapshot until it is written.
 */
#ifndef RECORD_FLIGHT_MEMORY_H
#define RECORD_FLIGHT_MEMORY_H

#include <stdint.h>

struct flight_memory {
	uint64_t most_bytes; /* the bound */
	uint64_t own_bytes;  /* of our process, when nothing is kept */
	uint64_t bpf_bytes;
	uint64_t kept_bytes; /* of what BPF programs tell, at most */
	uint64_t page_bytes; /* of a sub-buffer */
	uint64_t cpus;
};

/* Memory of this process that it shares with nobody. */
uint64_t flight_memory_own(void);

/*
 * How large each CPU's ring can be, at most 'wish_bytes'. 0: there is no room for the smallest one, and
 * *out_least_bytes is the smallest bound.
 */
uint64_t flight_memory_ring(const struct flight_memory *memory, uint64_t wish_bytes,
			    uint64_t *out_least_bytes);

/* With rings of that size. */
uint64_t flight_memory_all(const struct flight_memory *memory, uint64_t ring_bytes);

#endif
