/*
 * throttles.h - learn which limits of cgroups hold threads back while recording.
 *
 * A BPF program (throttle.bpf.c) tells of threads whose cgroup has used up its CPU quota, and of
 * requests to disks that were held back. What it tells becomes records of kernel/names
 * (FD_THROTTLED): names.c has it asked, and writes them.
 */
#ifndef RECORD_THROTTLES_H
#define RECORD_THROTTLES_H

#include <stdbool.h>
#include <stdint.h>

struct wire_name;
struct throttles;

/* Called for each record; the name is its text, and the magic and the length are not set yet. */
typedef void throttles_take_fn(void *context, struct wire_name wire, const char *name);

/*
 * NULL where the kernel does not take the program: nobody tells then. Each switch between threads is
 * looked at from the first quota, or real-time thread, on, as that costs all: 'quota' says whether there is one.
 * 'dispatch' as in names_start(), 'keep_bytes' as in names_keep(): the maps are smaller; 0 = a recording.
 * End it with throttles_stop().
 */
struct throttles *throttles_start(throttles_take_fn *take, void *context, bool quota,
				  uint64_t dispatch, uint64_t keep_bytes);

/* Readable when much waits. */
int throttles_fd(const struct throttles *throttles);

/* Hand on what there is. 'quota': a cgroup has a CPU quota, at the latest now. By one thread. */
void throttles_look(struct throttles *throttles, bool quota);

/* Nothing is told from now on. Any thread; what waits is still handed on. */
void throttles_end(struct throttles *throttles);

/* Records that found no room. Any thread. */
uint64_t throttles_lost(const struct throttles *throttles);

/* NULL is fine. */
void throttles_stop(struct throttles *throttles);

#endif
