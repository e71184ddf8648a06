/* flight_start.c - what a flight recorder makes at its start, within its bound of memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/bpf_parts.h"
#include "record/buffer.h"
#include "record/dump.h"
#include "record/flight_int.h"
#include "record/names.h"
#include "record/wait_stacks.h"
#include "store/manifest.h"

#define STACK_MIN_NS   UINT64_C(10000000) /* stacks of waits that long */
#define LEAN_PERCENT   40 /* of the memory: for the calls that threads block in, names, and stacks */
#define FULL_PERCENT   20 /* for names and stacks */
#define STACKS_PART    5  /* of that, for stacks: twice, a ring, and what tells of mapped files */
#define STACKS_PERCENT 60 /* of it, with what is known of each stack */
#define MEMORY_MIN \
	65536u /* too little for anything; parts of less are nothing, and that is no bound */
#define LEAST_SPARE \
	6u /* the least that is told has a part in so many to spare: own memory varies */

/* What names, and the calls that threads block in, may take of all memory. */
static unsigned int beside_percent(const char *events)
{
	if (strcmp(events, "core") == 0)
		return 0;
	return strstr(events, "lean") ? LEAN_PERCENT : FULL_PERCENT;
}

struct flight *flight_new(const struct flight_opts *opts, const char *events)
{
	struct flight *flight = xcalloc(1, sizeof(*flight));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t memory_bytes = opts->memory_bytes > MEMORY_MIN ? opts->memory_bytes : MEMORY_MIN;

	flight->cpus = cpus > 0 ? cpus : 1;
	flight->rings = xcalloc((size_t)flight->cpus, sizeof(*flight->rings));
	flight->session = SESSION_NONE;
	flight->looking = WAITING_SNAPSHOT_NONE;
	flight->user = FLIGHT_USER_NONE;
	flight->count = BPF_COUNT_NONE;
	flight->user_dir_fd = -1;
	flight->user_bytes = opts->user_bytes;
	flight->session.opts = &flight->opts;
	flight->events = xstrdup(events);
	flight->opts.events = flight->events;
	flight->beside_bytes = memory_bytes / 100 * beside_percent(events);
	flight->opts.buffer_bytes = (memory_bytes - flight->beside_bytes) / (uint64_t)flight->cpus;
	flight->opts.as_root = true;
	flight->opts.budget_ppm = opts->budget_ppm;
	flight->run_fd = opts->run_fd;
	flight->sync_every_ns = SYNC_FIRST_NS;
	return flight;
}

/* With full events. */
static const char *unnamed_of(const struct flight *flight)
{
	bool of_waits = names_of_waits(flight->session.names);

	if (!flight->early_ns)
		return of_waits ? "names of files and sockets that were open, and nobody waited for"
				: "names of files and sockets that were open";
	return of_waits
		       ? "names of files and sockets that were open before the flight recorder, were "
			 "closed, and nobody waited for"
		       : "names of files and sockets that were open before the flight recorder, and "
			 "were closed";
}

void flight_note_missing(struct flight *flight)
{
	struct manifest *manifest = flight->session.manifest;

	if (!flight->session.names)
		manifest_add_missing(manifest, "names of files and sockets",
				     manifest->has_syscalls
					     ? "there is no BPF program for it"
					     : "the flight recorder does not keep them");
	else if (!manifest->is_lean)
		manifest_add_missing(manifest, unnamed_of(flight),
				     "the flight recorder does not keep them");
	manifest_add_missing(manifest, "the kernel's accounts, and CPU quotas that held back",
			     "the flight recorder does not keep them");
	flight->missing_count = manifest->missing_count;
	flight->tid_count = manifest->recorder_tid_count;
}

/* Without it lean events are those of "core": that is not what was asked for. */
static int start_names(struct flight *flight, struct err *err)
{
	const struct manifest *manifest = flight->session.manifest;
	struct err why = { 0 };
	int rc;

	if (!manifest->is_lean && !manifest->has_syscalls)
		return 0;
	rc = names_keep(flight->beside_bytes / 2, session_names_of(&flight->session),
			&flight->session.names, &why);
	if (rc >= 0) {
		session_note_names(&flight->session);
		names_begin(flight->session.names);
		return 0;
	}
	flight->session.names = NULL;
	return manifest->is_lean ? err_set(err, rc, "lean events need a BPF program: %s", why.text)
				 : 0;
}

static void start_stacks(struct flight *flight)
{
	struct manifest *manifest = flight->session.manifest;
	const struct wait_stacks_opts opts = {
		.min_ns = STACK_MIN_NS,
		.is_lean = manifest->is_lean,
		.keep_bytes = flight->beside_bytes / STACKS_PART,
	};
	struct err why = { 0 };

	if (!manifest->is_lean && !manifest->has_syscalls)
		return;
	/* To see the end of each call is what the budget would have to do without. */
	if (!manifest->is_lean && flight->opts.budget_ppm) {
		manifest_add_missing(manifest, "in which code threads waited", "the budget");
		return;
	}
	if (wait_stacks_start(-1, &opts, &flight->stacks, &why) < 0) {
		flight->stacks = NULL;
		manifest_add_missing(manifest, "in which code threads waited", why.text);
		return;
	}
	flight->session.kept_stacks = flight->stacks;
	manifest_add_recorder_tid(manifest, wait_stacks_tid(flight->stacks));
}

/* Of lean events the programs tell what who waits has open. */
static void note_open(struct flight *flight)
{
	struct manifest unused = { 0 };
	struct err ignored = { 0 };
	struct dump *dump;

	if (!flight->session.names || flight->session.manifest->is_lean)
		return;
	if (dump_late_read(UINT64_MAX, &unused, &dump, &ignored) == 0) {
		dump_late_note(dump, &flight->early);
		dump_late_free(dump);
		flight->early_ns = clock_read_ns(CLOCK_BOOTTIME);
		mem_keep_freed(0);
	}
	manifest_fini(&unused);
}

int flight_start_programs(struct flight *flight, struct err *err)
{
	int rc;

	mem_keep_freed(KERNEL_TYPES_BYTES);
	rc = start_names(flight, err);
	if (rc == 0)
		start_stacks(flight);
	mem_keep_freed(0);
	if (rc == 0)
		note_open(flight);
	return rc;
}

/* What BPF programs tell, at most, beside what is kept of stacks. */
static uint64_t kept_least(const struct flight *flight)
{
	return names_most_bytes(flight->session.names) + wait_stacks_bytes(flight->stacks);
}

/* With stacks. Where there are no programs, nothing. */
static uint64_t kept_most(const struct flight *flight)
{
	bool is_told = flight->session.names || flight->stacks;
	uint64_t most = kept_least(flight), beside = is_told ? flight->beside_bytes : 0;

	if (flight->stacks)
		most += flight->beside_bytes * STACKS_PERCENT / 100;
	return beside > flight->memory.bpf_bytes + most ? beside - flight->memory.bpf_bytes : most;
}

/* From which bound on there is room for the smallest rings, as what is kept beside them is a part of the bound. */
static uint64_t least_memory(const struct flight *flight, uint64_t least_bytes)
{
	const struct flight_memory *memory = &flight->memory;
	uint64_t percent = memory->bpf_bytes ? beside_percent(flight->events) : 0;
	uint64_t rest = least_bytes - memory->kept_bytes;
	uint64_t by_share = (rest - memory->bpf_bytes) * 100 / (100 - percent);
	uint64_t by_stacks =
		(rest + kept_least(flight)) * 10000 / (10000 - percent * STACKS_PERCENT);
	uint64_t least = by_share > by_stacks ? by_share : by_stacks;

	return least + least / LEAST_SPARE;
}

int flight_fit_memory(struct flight *flight, uint64_t most_bytes, struct err *err)
{
	struct manifest *manifest = flight->session.manifest;
	struct flight_memory *memory = &flight->memory;
	uint64_t ring_bytes, least_bytes;

	*memory = (struct flight_memory){
		.most_bytes = most_bytes,
		.own_bytes = flight_memory_own(),
		.bpf_bytes = bpf_parts_memory(),
		.page_bytes = manifest->page_bytes,
		.cpus = (uint64_t)flight->cpus,
	};
	memory->kept_bytes = kept_most(flight);
	ring_bytes = flight_memory_ring(memory, manifest->buffer_bytes, &least_bytes);
	if (!ring_bytes)
		return err_set(err, -ENOBUFS,
			       "--memory %s is too little for %s events: at least %" PRIu64
			       "K are needed%s",
			       text_size(most_bytes).s, flight->events,
			       least_memory(flight, least_bytes) / 1024 + 1,
			       memory->bpf_bytes ? "; -e core needs less" : "");
	return buffer_shrink(flight->session.instance.dir_fd, ring_bytes, manifest, err);
}
