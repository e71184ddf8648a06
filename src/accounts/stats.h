/*
 * stats.h - what the kernel's accounting says of one task: struct taskstats, decoded.
 *
 * The layout comes from the version that stands in the record, not from the header of the
 * machine that built this: a kernel older or newer than the build is read as well. What a
 * version does not have is marked as not there, so that it is never taken for zero.
 *
 * Which of these numbers may overlap: a thread that waits for a disk to bring back a page
 * is in DELAYS_DISK and, at the same time, in DELAYS_SWAPIN or DELAYS_THRASHING. Reclaim,
 * compaction and copy-on-write are spans of wall time in which the thread mostly runs, and
 * are in run_ns, too. Run time, DELAYS_CPU and DELAYS_DISK never overlap.
 */
#ifndef ACCOUNTS_STATS_H
#define ACCOUNTS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum delays_class {
	DELAYS_CPU,	   /* runnable, but another task had the CPU */
	DELAYS_DISK,	   /* blocked for synchronous block I/O, until woken */
	DELAYS_SWAPIN,	   /* bringing back swapped-out pages */
	DELAYS_RECLAIM,	   /* freeing memory for itself (direct reclaim) */
	DELAYS_THRASHING,  /* waiting for pages that had been evicted a moment ago */
	DELAYS_COMPACTION, /* moving pages together for a large allocation */
	DELAYS_COW,	   /* copying a shared page at its first write */
	DELAYS_IRQ,	   /* interrupts took the CPU while it ran */
	DELAYS_CLASSES,
};

/* What of struct delays_stats is there. */
enum delays_has {
	DELAYS_HAS_BASIC = 1 << 0,  /* name, ids, times, faults */
	DELAYS_HAS_MEMORY = 1 << 1, /* peaks */
	DELAYS_HAS_CALLS = 1 << 2,  /* characters and calls */
	DELAYS_HAS_IO = 1 << 3,	    /* bytes of storage */
	DELAYS_HAS_SWITCHES = 1 << 4,
	DELAYS_HAS_TGID = 1 << 5,
	DELAYS_HAS_RUN = 1 << 6,
	DELAYS_HAS_REAL = 1 << 7,
};

#define DELAYS_NAME_BYTES   32
#define DELAYS_FLAG_LAST    0x20u /* of 'flags': the last thread of its process (version 12) */
#define DELAYS_IO_STEP	    1024u /* the kernel rounds I/O numbers down to multiples, calls too */
#define DELAYS_VERSION_LAST 17	  /* newer ones are read as this one: they only add fields */

struct delays_delay {
	uint64_t count;
	uint64_t total_ns;
	uint64_t max_ns; /* with the bit in 'ranges' */
	uint64_t min_ns; /* likewise; 0 when count is 0 */
};

struct delays_stats {
	uint32_t version;
	uint32_t classes;    /* a bit for each class that is there */
	uint32_t ranges;     /* a bit for each class with max_ns and min_ns */
	uint32_t has;	     /* enum delays_has */
	uint32_t impossible; /* a bit for each class that delays_stats_check() took out */
	struct delays_delay delay[DELAYS_CLASSES];
	uint64_t run_ns;      /* time on a CPU, exact ("virtual") */
	uint64_t run_real_ns; /* user and system time, as the clock tick sees it ("real") */

	char name[DELAYS_NAME_BYTES]; /* always terminated; foreign bytes */
	uint32_t exit_status;	      /* as wait() tells it; 0 while it lives */
	uint32_t flags;		      /* ac_flag of linux/acct.h */
	int32_t nice;
	uint32_t policy;
	uint32_t uid;
	int32_t tid;
	int32_t tgid;	  /* DELAYS_HAS_TGID */
	int32_t ppid;	  /* process that is its parent now */
	uint64_t birth_s; /* since 1970 */
	uint64_t life_us; /* since its start; for a process the sum of its living threads */
	uint64_t user_us;
	uint64_t system_us;
	uint64_t minor_faults;
	uint64_t major_faults;

	uint64_t peak_rss_kb;
	uint64_t peak_vm_kb;

	uint64_t read_chars; /* bytes of read() and the like, from caches, too */
	uint64_t write_chars;
	uint64_t read_calls;
	uint64_t write_calls;
	uint64_t read_bytes; /* from storage */
	uint64_t write_bytes;
	uint64_t cancelled_bytes; /* of the written: dropped again before they got there */

	uint64_t voluntary;   /* switches: it went to sleep */
	uint64_t involuntary; /* switches: it was preempted */
};

/*
 * Decode a struct taskstats of 'bytes' bytes. Returns 0, or -EBADMSG with err filled when
 * it is shorter than its version says, or of version 0.
 */
int delays_stats_decode(const void *record, size_t bytes, struct delays_stats *out_stats,
			struct err *err);

/* "cpu", "disk", "swapin", "reclaim", "thrashing", "compaction", "cow", "irq" */
const char *delays_class_name(enum delays_class class);

/* "waiting for a CPU", "waiting for disk" ... */
const char *delays_class_words(enum delays_class class);

/*
 * Some kernels give tasks a wait for disk that is longer than they lived. What is
 * longer than the life of its task, 'life_ns', cannot be: such a class is taken out of 'classes' and
 * noted in 'impossible'. 'is_sum': of several threads, whose total may well be longer than that.
 */
void delays_stats_check(struct delays_stats *stats, uint64_t life_ns, bool is_sum);

/* Add what was counted: delays, times, calls, bytes; peaks, max and min as such. Not the rest. */
void delays_stats_add(struct delays_stats *sum, const struct delays_stats *more);

/*
 * after - before of the same task; what counted backwards is 0. Max and min have no
 * difference: out->ranges is 0.
 */
void delays_stats_since(const struct delays_stats *before, const struct delays_stats *after,
			struct delays_stats *out);

static inline bool delays_has_class(const struct delays_stats *stats, enum delays_class class)
{
	return (stats->classes & (1u << class)) != 0;
}

/* Anything counted but the time without a CPU, which every kernel counts. */
bool delays_stats_counted(const struct delays_stats *stats);

#endif
