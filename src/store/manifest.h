/*
 * manifest.h - trace.json: what a trace directory holds and how it was recorded.
 *
 *	run.holdup/
 *	  trace.json        this; written whole (temporary name, fsync, rename) at the
 *	                    start with complete = false and again at the end
 *	  kernel/cpuN.ring  sub-buffers of the kernel's ring buffer, byte for byte
 *	  kernel/cpuN.packed  the same, compressed
 *	  kernel/formats    event format texts, see formats.h
 *	  kernel/sync       clock triples, one text line each: "RAW MONO_NS REAL_NS\n",
 *	                    appended while recording, so that a killed recorder's trace
 *	                    still has a clock
 *	  kernel/dump.jsonl the state dump, one JSON object a line, see dump.h
 *	  kernel/names      what descriptors named, from the BPF program, see wire/wire.h
 *	  kernel/kallsyms   "ADDRESS NAME\n" of kernel text, sorted by address
 *
 * docs/FORMAT.md describes every key.
 */
#ifndef STORE_MANIFEST_H
#define STORE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/facts.h"

struct err;

#define MANIFEST_VERSION 3 /* the newest that is read */
#define MANIFEST_PLAIN \
	1 /* of a recording that kept all kinds of events on: older readers read it */
#define MANIFEST_STEPPED   2 /* of one that took steps: a reader must know them */
#define MANIFEST_PACKED	   3 /* of one with kernel/cpuN.packed, with or without steps */
#define MANIFEST_FILE	   "trace.json"
#define MANIFEST_MAX_CPUS  8192
#define MANIFEST_MAX_BYTES (16u << 20) /* a larger trace.json is refused */

struct manifest_cpu {
	uint32_t cpu;
	uint64_t events;  /* recorded, by the kernel's count; 0 = unknown */
	uint64_t lost;	  /* overwritten before they were read, by the kernel's count */
	uint64_t dropped; /* not recorded because the buffer was full */
	uint64_t bytes;	  /* of the ring file, before it was packed */
};

struct manifest_missing {
	char *what;
	char *why;
};

/* The CPU quota of a cgroup held its tasks back while the recording went on. */
struct manifest_throttle {
	char *cgroup;	   /* path in its hierarchy */
	uint64_t quota_ns; /* of CPU time, in each ... */
	uint64_t period_ns;
	uint64_t periods; /* in which its tasks ran, or would have */
	uint64_t times;	  /* of these it was held back in */
	uint64_t ns;	  /* so long, on all CPUs together */
};

/* From then on, until the next one, so many kinds of events are recorded. */
struct manifest_step {
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	uint32_t step;	   /* enum record_step of event/steps.h */
	uint32_t cost_ppm; /* what recording cost just before, of the time of all CPUs */
};

/* What was there when the recorder came to its end: parts.h. */
struct manifest_file {
	char *name; /* path below the directory */
	uint64_t bytes;
};

struct manifest {
	uint32_t version;
	bool complete; /* the recorder finished and all counts are final */
	char *host;
	char *kernel; /* uname -r */
	char *arch;   /* uname -m */
	char *boot_id;
	char *recorder;	       /* command line of the recorder */
	char *clock;	       /* trace_clock of the kernel buffers: "x86-tsc", "mono" ... */
	uint32_t page_bytes;   /* size of one sub-buffer in the ring files */
	uint32_t long_bytes;   /* sizeof(long) of the kernel */
	uint64_t buffer_bytes; /* ring buffer per CPU */
	uint64_t begin_ns;     /* CLOCK_MONOTONIC when recording was on */
	uint64_t end_ns;       /* CLOCK_MONOTONIC when it was off; 0 = not known */
	bool omits_idle_switches;
	bool has_syscalls;
	bool has_lean_steps; /* the same, once the budget's first step was taken */
	bool is_lean;	     /* only the call that a thread blocks in: kernel/cpuN.calls */

	struct fact_cost cost; /* of the recording */

	int32_t target_tid; /* the command; 0 = none */
	char *target_cmdline;
	uint64_t target_start_ns;
	uint64_t target_end_ns;
	int32_t target_status; /* wait status; -1 = unknown */

	char *apps; /* what known points of known programs mean: event/app_table.h; NULL = none */

	char **events; /* "sched:sched_switch" ..., as enabled */
	size_t event_count;
	size_t event_cap;
	struct manifest_cpu *cpus;
	size_t cpu_count;
	size_t cpu_cap;
	int32_t *recorder_tids;
	size_t recorder_tid_count;
	size_t recorder_tid_cap;
	struct manifest_missing *missing;
	size_t missing_count;
	size_t missing_cap;
	struct manifest_throttle *throttles; /* longest first */
	size_t throttle_count;
	size_t throttle_cap;
	struct manifest_step *steps; /* in order of time */
	size_t step_count;
	size_t step_cap;
	struct manifest_file *files;
	size_t file_count;
	size_t file_cap;
};

/* Free what the manifest owns. A zeroed or half-filled one is fine. */
void manifest_fini(struct manifest *manifest);

/* Add a copy; CPUs are kept in order of their numbers, others in the order that they come. */
void manifest_add_event(struct manifest *manifest, const char *event);
void manifest_add_missing(struct manifest *manifest, const char *what, const char *why);
void manifest_add_throttle(struct manifest *manifest, const struct manifest_throttle *throttle);
void manifest_add_step(struct manifest *manifest, const struct manifest_step *step);
void manifest_add_cpu(struct manifest *manifest, const struct manifest_cpu *cpu);
void manifest_add_recorder_tid(struct manifest *manifest, int32_t tid);
void manifest_add_file(struct manifest *manifest, const char *name, uint64_t bytes);
void manifest_forget_files(struct manifest *manifest);

/*
 * Write DIR/trace.json so that a crash leaves the old one or the new one, never
 * half of it. Returns 0 or a negative errno with err filled (-ENOSPC ...).
 */
int manifest_write(const struct manifest *manifest, const char *dir, struct err *err);

/*
 * Read DIR/trace.json. Everything in it is checked. Returns 0 and fills
 * *out_manifest (free with manifest_fini()), or
 *   -ENOENT    there is none: not a trace directory,
 *   -ENOTSUP   written by a newer version,
 *   -EBADMSG   damaged; err says where.
 */
int manifest_read(const char *dir, struct manifest *out_manifest, struct err *err);

#endif
