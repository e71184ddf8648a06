/*
 * wait_stacks.h - record in which code threads waited, and in which they worked.
 *
 * A BPF program (stack.bpf.c) copies registers and the top of the stack of who waited long, of all
 * threads of the machine but ours; a thread keeps what it tells, and samples of work (work_samples.h)
 * beside it. When the recording is over, the stacks are unwound and named by a child that has given up
 * its rights, and kernel/stacks is written (stack_file.h): what is in it is names, not memory.
 */
#ifndef RECORD_WAIT_STACKS_H
#define RECORD_WAIT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct manifest;
struct wait_stacks;

#define WAIT_STACKS_MIN_NS 1000000u /* default of 'min_ns' */
/* In the environment: stacks are taken as on kernels without task works; "late": as where these come late. */
#define WAIT_STACKS_NO_WORK "HOLDUP_NO_TASK_WORK"

struct wait_stacks_opts {
	/* Waits of at least this are of interest, and one for each 10 ms of shorter ones; 0 = none. */
	uint64_t min_ns;
	bool is_lean; /* no system call is looked at for that: the stacks are those of long waits only */
	bool names_later;    /* frames get no names that can be read later */
	uint32_t sample_hz;  /* samples of work in a second, of each CPU; 0 = none */
	bool samples_all;    /* of all threads of the machine; else of what we start, and: */
	const int32_t *pids; /* these; used up to the return */
	size_t pid_count;
	/* 0 = a recording. Else it is always on: so many bytes of stacks are kept, twice, and all in memory. */
	uint64_t keep_bytes;
};

/*
 * Begin. 'kernel_fd' is the folder of the trace, used until wait_stacks_write(). Returns 0 and sets
 * *out_stacks, or a negative errno with err filled: no failure of a recording. End it with
 * wait_stacks_stop().
 */
int wait_stacks_start(int kernel_fd, const struct wait_stacks_opts *opts,
		      struct wait_stacks **out_stacks, struct err *err);

/* Would stacks of waits work here, and samples of work? */
struct wait_stacks_probed {
	struct err waits, samples; /* "" = they would; else why not */
	const char *no_images; /* why the kernel does not tell what programs map; NULL = it does */
	bool has_work; /* waits at page faults have whole stacks, too: there are task works (Linux 6.18) */
};

void wait_stacks_probe(struct wait_stacks_probed *out_probed);

/* The thread that keeps them. */
int32_t wait_stacks_tid(const struct wait_stacks *stacks);

/*
 * Of one that is always on: no stacks are told of for now, and the programs that look at each switch and each waking
 * are off; or again, of waits that begin from now on or last still. NULL is fine. Returns 0, or a negative errno with
 * err filled: some are told of no more.
 */
int wait_stacks_rest(struct wait_stacks *stacks, bool rests, struct err *err);

/*
 * The recording is over: take the stacks of waits that are still open, from the living threads, and
 * stop. Before anything is ended that was recorded. Calling it again is fine.
 */
void wait_stacks_end(struct wait_stacks *stacks);

/* Give them names and write kernel/stacks; what is missing is noted in the manifest. After the end. */
void wait_stacks_write(struct wait_stacks *stacks, struct manifest *manifest);

/* Always on: what is kept shall reach so far back. NULL is fine, as below. */
void wait_stacks_keep(struct wait_stacks *stacks, uint64_t keep_ns);

/* Always on: the waits that are open now are kept, too. */
void wait_stacks_take_open(struct wait_stacks *stacks);

/*
 * Always on: as wait_stacks_write(), of waits that were not over at 'begin_ns', and it goes on. The file is whole when
 * wait_stacks_named_fd(), where it is not -1, is readable, and wait_stacks_named() has returned, which waits for that.
 */
void wait_stacks_snapshot(struct wait_stacks *stacks, int kernel_fd, uint64_t begin_ns,
			  struct manifest *manifest);

/* Who gives them names; 0 = nobody does now. */
int32_t wait_stacks_naming_pid(const struct wait_stacks *stacks);

int wait_stacks_named_fd(const struct wait_stacks *stacks);
int wait_stacks_named(struct wait_stacks *stacks, struct err *err);

/* Always on: the memory that is used, without bpf_parts_memory(). */
uint64_t wait_stacks_bytes(struct wait_stacks *stacks);

/* Of these, what is in files that have no name. */
uint64_t wait_stacks_file_bytes(struct wait_stacks *stacks);

/* NULL is fine. */
void wait_stacks_stop(struct wait_stacks *stacks);

#endif
