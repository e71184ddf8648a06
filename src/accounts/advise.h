/*
 * advise.h - which knob the delays of a process point to, and what it could gain at most.
 *
 * What is found to hold the process back (a limit that was hit, a nice value, a narrow affinity)
 * is told before what could merely favour it over others. A gain is never more than the delay
 * itself, and whoever else waits for the same thing pays for it.
 */
#ifndef ACCOUNTS_ADVISE_H
#define ACCOUNTS_ADVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/knobs.h"
#include "accounts/rank.h"

enum delays_topic {
	DELAYS_TOPIC_CPU,
	DELAYS_TOPIC_DISK,
	DELAYS_TOPIC_MEMORY, /* swap-in, reclaim, thrashing, compaction: the longest of them */
	DELAYS_TOPICS,
};

enum delays_advice_kind {
	DELAYS_ADVICE_CPU_MAX,
	DELAYS_ADVICE_AFFINITY,
	DELAYS_ADVICE_FEWER_THREADS, /* its own threads keep all its CPUs busy */
	DELAYS_ADVICE_NICE,
	DELAYS_ADVICE_CPU_WEIGHT,
	DELAYS_ADVICE_FAVOUR_CPU, /* nothing holds it back: nice or cpu.weight against others */
	DELAYS_ADVICE_IO_MAX,
	DELAYS_ADVICE_IO_PRIORITY,
	DELAYS_ADVICE_IO_WEIGHT,
	DELAYS_ADVICE_FAVOUR_IO, /* likewise: ionice or io.weight */
	DELAYS_ADVICE_MEMORY_HIGH,
	DELAYS_ADVICE_MEMORY_MAX,
	DELAYS_ADVICE_FAVOUR_MEMORY, /* likewise: memory.low */
	DELAYS_ADVICE_KINDS,
};

struct delays_advice {
	enum delays_advice_kind kind;
	enum delays_topic topic;
	bool held_back;			      /* it was seen that this holds it back */
	uint64_t at_most_ns;		      /* by so much the delay can shrink: all of it */
	uint64_t count;			      /* of waits */
	const struct delays_setting *setting; /* a view into the knobs; NULL = it is no cgroup's */
};

/* A delay of less than this share of the time, or shorter, is not worth it. */
#define DELAYS_WORTH_SHARE 100u
#define DELAYS_WORTH_NS	   10000000u

/*
 * Fill 'out_advice', which has room for DELAYS_ADVICE_KINDS. Returns how many; 0 = nothing is
 * worth it, or it is a thread of the kernel. By topic, the longest delay first.
 */
size_t delays_advise(const struct delays_row *row, const struct delays_knobs *knobs,
		     struct delays_advice *out_advice);

#endif
