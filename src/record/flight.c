/*
 * flight.c - rings in a tracefs instance, and snapshots of them.
 */
#include "record/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/buffer.h"
#include "record/clock.h"
#include "record/devices.h"
#include "record/bpf_parts.h"
#include "record/dump.h"
#include "record/flight_int.h"
#include "record/flight_memory.h"
#include "record/flight_state.h"
#include "record/ftrace.h"
#include "record/keeper.h"
#include "record/ladder.h"
#include "record/last_calls.h"
#include "record/names.h"
#include "record/names_log.h"
#include "record/pack.h"
#include "record/reader.h"
#include "record/record.h"
#include "record/session.h"
#include "record/wait_stacks.h"
#include "record/waiting_snapshot.h"
#include "store/manifest.h"
#include "store/parts.h"

#define STATE_FILE "flight.state"
#define STATE_NEW  "flight.state.new"
#define RATE_NS	   UINT64_C(1000000000) /* a rate is of at least so long */
#define RENEW_NS   UINT64_C(1000000000) /* at most so often names are told anew */

/* ---------------------------------------------------------------- the clock */

static void add_sync(struct flight *flight, const struct sync_point *point)
{
	if (flight->sync_count == SYNCS_MOST) {
		for (size_t i = 0; i < SYNCS_MOST / 2; i++)
			flight->syncs[i] = flight->syncs[2 * i];
		flight->sync_count = SYNCS_MOST / 2;
		flight->sync_every_ns *= 2;
	}
	flight->syncs[flight->sync_count++] = *point;
}

static uint64_t to_mono(const struct flight *flight, uint64_t raw)
{
	struct sync_point now;

	if (!flight->session.is_tsc || !flight->sync_count)
		return raw;
	now = clock_take(true);
	return clock_raw_to_mono(&flight->syncs[0], &now, raw);
}

/* ---------------------------------------------- what outlives a killed one */

static void print_state(const struct flight *flight, FILE *out)
{
	const char *path = flight->session.instance.path;

	fprintf(out, "instance %s\nevents %s\nbuffer %" PRIu64 "\non %" PRIu64 "\nomits %d\n",
		text_base_name(path), flight->events, flight->session.manifest->buffer_bytes,
		flight->on_ns, flight->session.manifest->omits_idle_switches);
	for (size_t i = 0; i < flight->session.manifest->step_count; i++) {
		const struct manifest_step *step = &flight->session.manifest->steps[i];

		fprintf(out, "step %" PRIu64 " %" PRIu32 " %" PRIu32 "\n", step->since_ns,
			step->step, step->cost_ppm);
	}
	for (size_t i = 0; i < flight->sync_count; i++)
		fprintf(out, "sync %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", flight->syncs[i].raw,
			flight->syncs[i].mono_ns, flight->syncs[i].real_ns);
}

/* Best effort: without it the rings of a killed one are removed unread. */
static void write_state(const struct flight *flight)
{
	int fd = openat(flight->run_fd, STATE_NEW,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out) {
		mem_close_fd(&fd);
		return;
	}
	print_state(flight, out);
	if (fclose(out) == 0)
		(void)renameat(flight->run_fd, STATE_NEW, flight->run_fd, STATE_FILE);
}

/* ------------------------------------------------------------------- counts */

static uint64_t stats_number(const char *stats, const char *key)
{
	const char *at = strstr(stats, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* A clock in ns is shown in seconds, with microseconds. */
static struct ring_stats read_ring(const struct flight *flight, long cpu)
{
	AUTO_FREE char *path = xasprintf("per_cpu/cpu%ld/stats", cpu);
	AUTO_FREE char *text = ftrace_read(flight->session.instance.dir_fd, path, NULL);
	const char *oldest = text ? strstr(text, "oldest event ts:") : NULL;
	unsigned long long whole = 0, micro = 0;
	int parts;

	if (!oldest) /* the CPU is not there any more */
		return (struct ring_stats){ 0 };
	parts = sscanf(oldest, "oldest event ts: %llu.%6llu", &whole, &micro);
	return (struct ring_stats){
		.entries = stats_number(text, "entries: "),
		.overrun = stats_number(text, "\noverrun: "),
		.bytes = stats_number(text, "\nbytes: "),
		.read = stats_number(text, "\nread events: "),
		.oldest_raw = parts == 2 ? whole * 1000000000 + micro * 1000 : whole,
		.is_there = true,
	};
}

static void read_rings(struct flight *flight)
{
	for (long cpu = 0; cpu < flight->cpus; cpu++)
		flight->rings[cpu] = read_ring(flight, cpu);
}

/* Until now, of all CPUs. Each one's are counted for what they cost. */
static uint64_t count_events(struct flight *flight)
{
	uint64_t events = flight->events_before;

	read_rings(flight);
	for (long cpu = 0; cpu < flight->cpus; cpu++) {
		const struct ring_stats *stats = &flight->rings[cpu];

		if (!stats->is_there)
			continue;
		events += stats->entries + stats->overrun;
		ladder_count(&flight->session, (uint32_t)cpu,
			     stats->entries + stats->overrun + stats->read);
	}
	return events;
}

/* How long one CPU's ring will last when it is full, at the rate since it was empty. */
static uint64_t lasts_ns(const struct flight *flight, const struct ring_stats *stats,
			 uint64_t now_ns)
{
	uint64_t cpu_bytes = flight->session.manifest->buffer_bytes;
	__uint128_t ns = (__uint128_t)cpu_bytes * stats->entries;
	__uint128_t all = (__uint128_t)(stats->entries + stats->overrun) * stats->bytes;

	if (!all)
		return UINT64_MAX;
	ns = ns * (now_ns - flight->on_ns) / all;
	return ns < UINT64_MAX ? (uint64_t)ns : UINT64_MAX;
}

/* How far back the events of all CPUs reach now; 'cpus' that are there, and what is in their rings. */
struct rings_now {
	uint64_t held_ns, lasts_ns, entries, bytes, events, cpus;
};

/* As they were read last. */
static struct rings_now look_at_rings(const struct flight *flight, uint64_t now_ns)
{
	struct rings_now now = { .held_ns = now_ns - flight->on_ns,
				 .lasts_ns = UINT64_MAX,
				 .events = flight->events_before };

	for (long cpu = 0; cpu < flight->cpus; cpu++) {
		const struct ring_stats *stats = &flight->rings[cpu];
		uint64_t oldest_ns, lasts;

		if (!stats->is_there)
			continue;
		now.cpus++;
		now.entries += stats->entries;
		now.bytes += stats->bytes;
		now.events += stats->entries + stats->overrun;
		lasts = lasts_ns(flight, stats, now_ns);
		now.lasts_ns = lasts < now.lasts_ns ? lasts : now.lasts_ns;
		oldest_ns = stats->overrun ? to_mono(flight, stats->oldest_raw) : flight->on_ns;
		if (oldest_ns <= now_ns && now_ns - oldest_ns < now.held_ns)
			now.held_ns = now_ns - oldest_ns;
	}
	return now;
}

/*
 * Four times while the rings last, what threads wait for is told anew: so it is told since a snapshot's begin.
 * What the rings hold no more is forgotten, but what was told last before.
 */
static void keep_names(struct flight *flight, uint64_t now_ns)
{
	uint64_t held_ns = flight->session.names ? look_at_rings(flight, now_ns).held_ns : 0;
	uint64_t every_ns = held_ns / 4 > RENEW_NS ? held_ns / 4 : RENEW_NS, before_ns;

	if (!flight->session.names)
		return;
	before_ns = now_ns - held_ns - every_ns;
	names_forget(flight->session.names, before_ns);
	wait_stacks_keep(flight->stacks, held_ns + every_ns);
	if (now_ns - flight->renewed_ns < every_ns)
		return;
	names_renew(flight->session.names, before_ns);
	flight->renewed_ns = now_ns;
}

uint64_t flight_tick_ns(const struct flight *flight)
{
	return flight->opts.budget_ppm ? BUDGET_LOOK_NS : SYNC_FIRST_NS;
}

/* Of rings that nobody reads. */
static void keep_budget(struct flight *flight)
{
	if (!ladder_judge(&flight->session))
		return;
	flight->steps++;
	write_state(flight);
}

/* Of what comes and goes the heap keeps holes, which are not in the bound. */
static void keep_memory(const struct flight *flight)
{
	if (flight_memory_own() > flight->memory.own_bytes + flight->memory.kept_bytes)
		mem_keep_freed(0);
}

void flight_tick(struct flight *flight)
{
	uint64_t now_ns = clock_now_ns(), events = count_events(flight);
	bool is_due =
		!flight->sync_count ||
		now_ns - flight->syncs[flight->sync_count - 1].mono_ns >= flight->sync_every_ns;

	if (is_due) {
		struct sync_point point = clock_take(flight->session.is_tsc);

		add_sync(flight, &point);
		write_state(flight);
	}
	meter_look(&flight->session.meter);
	keep_budget(flight);
	keep_names(flight, now_ns);
	if (now_ns - flight->rate_at_ns >= RATE_NS) {
		flight->events_per_s = (uint64_t)((__uint128_t)(events - flight->rate_from) *
						  1000000000u / (now_ns - flight->rate_at_ns));
		flight->rate_at_ns = now_ns;
		flight->rate_from = events;
	}
	keep_memory(flight);
}

void flight_note_beside(struct flight *flight, uint64_t cpu_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns - flight->keeper_at_ns >= RATE_NS) {
		flight->keeper_ns = keeper_cpu_ns(flight->user.pid);
		flight->keeper_at_ns = now_ns;
	}
	meter_note_beside(&flight->session.meter, cpu_ns + flight->keeper_ns);
}

/* What is held in memory of our own counts as that; stacks are in a file that only we have. */
static void tell_memory(const struct flight *flight, struct flight_held *held)
{
	const struct flight_memory *memory = &flight->memory;

	held->memory_bytes = flight_memory_all(memory, flight->session.manifest->buffer_bytes);
	held->bpf_bytes = memory->bpf_bytes;
	held->own_bytes = flight_memory_own() + wait_stacks_file_bytes(flight->stacks);
	held->ring_bytes = memory->cpus * memory->page_bytes +
			   flight_memory_all(memory, flight->session.manifest->buffer_bytes) -
			   flight_memory_all(memory, 0);
}

void flight_held(struct flight *flight, struct flight_held *out_held)
{
	uint64_t now_ns = clock_now_ns(), gone_ns = names_gone_ns(flight->session.names);
	uint64_t beside_now =
		names_bytes(flight->session.names) + wait_stacks_bytes(flight->stacks);
	struct manifest told = { 0 };
	struct flight_held held = { .since_ns = flight->on_ns,
				    .events_per_s = flight->events_per_s };
	struct rings_now rings;

	keep_memory(flight);
	read_rings(flight);
	rings = look_at_rings(flight, now_ns);
	held.held_ns = rings.held_ns;
	held.lasts_ns = rings.lasts_ns;
	held.bytes = rings.bytes;
	held.events = rings.events;
	if (gone_ns && now_ns - gone_ns < held.held_ns)
		held.held_ns = now_ns - gone_ns;
	tell_memory(flight, &held);
	if (rings.entries)
		held.bytes_per_s =
			(uint64_t)((__uint128_t)held.events_per_s * held.bytes / rings.entries);
	held.bytes += beside_now;
	meter_tell(&flight->session.meter, &told);
	ladder_tell(&flight->session, &told);
	told.cost.budget_ppm = flight->opts.budget_ppm;
	held.cost = told.cost;
	held.helper_ns = keeper_cpu_ns(flight->user.pid);
	held.step = flight->session.budget.step;
	held.has_lean_steps = flight->session.manifest->has_lean_steps;
	held.steps = flight->steps;
	*out_held = held;
}

/* ---------------------------------------------------------------- snapshots */

/* When the sub-buffer at 'offset' of a ring file began, on CLOCK_MONOTONIC; 0 = there is none. */
static uint64_t page_ns(const struct flight *flight, uint32_t cpu, uint64_t offset)
{
	AUTO_FREE char *name = xasprintf("cpu%" PRIu32 ".ring", cpu);
	AUTO_CLOSE int fd = openat(flight->session.directory.kernel_fd, name,
				   O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t raw;

	if (fd < 0 || file_read_at(fd, offset, &raw, sizeof(raw)) != sizeof(raw))
		return 0;
	return to_mono(flight, raw);
}

/* Rings of a killed one were filled at least until the last sub-buffer of any CPU was begun. */
static void find_old_end(struct flight *flight)
{
	struct manifest *manifest = flight->session.manifest;

	manifest->end_ns = manifest->begin_ns;
	for (size_t i = 0; i < manifest->cpu_count; i++) {
		const struct manifest_cpu *cpu = &manifest->cpus[i];
		uint64_t last_ns =
			cpu->bytes < manifest->page_bytes
				? 0
				: page_ns(flight, cpu->cpu, cpu->bytes - manifest->page_bytes);

		if (last_ns > manifest->end_ns)
			manifest->end_ns = last_ns;
	}
}

/*
 * Cut off the sub-buffers that were over before 'begin_ns': what an idle CPU did while the others' events
 * are gone already. Best effort: not every file system can, and a reader takes the rest for a hole of the
 * others. How many events stay is not counted.
 */
static void cut_before(struct flight *flight, struct manifest_cpu *cpu, uint64_t begin_ns)
{
	uint64_t page_bytes = flight->session.manifest->page_bytes, cut = 0;
	AUTO_FREE char *name = xasprintf("cpu%" PRIu32 ".ring", cpu->cpu);
	AUTO_CLOSE int fd = -1;

	while (cut + 2 * page_bytes <= cpu->bytes) {
		uint64_t next_ns = page_ns(flight, cpu->cpu, cut + page_bytes);

		if (!next_ns || next_ns > begin_ns)
			break;
		cut += page_bytes;
	}
	if (!cut)
		return;
	fd = openat(flight->session.directory.kernel_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, (off_t)cut) < 0)
		return;
	cpu->bytes -= cut;
	cpu->events = cpu->lost = 0;
}

/* From where the events of all CPUs are there; until now it says since when they were recorded. */
static void find_begin(struct flight *flight, struct flight_taken *taken)
{
	struct manifest *manifest = flight->session.manifest;

	for (size_t i = 0; i < manifest->cpu_count; i++) {
		struct manifest_cpu *cpu = &manifest->cpus[i];
		uint64_t first_ns = cpu->lost ? page_ns(flight, cpu->cpu, 0) : 0;

		if (first_ns > manifest->begin_ns && first_ns < manifest->end_ns)
			manifest->begin_ns = first_ns;
		taken->overwritten += cpu->lost;
	}
	if (names_gone_ns(flight->session.names) > manifest->begin_ns)
		manifest->begin_ns = names_gone_ns(flight->session.names);
	if (manifest->begin_ns > manifest->end_ns) /* they were all too few */
		manifest->begin_ns = manifest->end_ns;
	for (size_t i = 0; i < manifest->cpu_count; i++) {
		cut_before(flight, &manifest->cpus[i], manifest->begin_ns);
		taken->bytes += manifest->cpus[i].bytes;
	}
	taken->begin_ns = manifest->begin_ns;
	taken->end_ns = manifest->end_ns;
}

static void note_overwritten(struct flight *flight, const struct flight_taken *taken)
{
	AUTO_FREE char *why = NULL;

	if (!taken->overwritten)
		return;
	why = xasprintf("the rings of all CPUs hold %s; %s older events were overwritten",
			text_duration(taken->end_ns - taken->begin_ns).s,
			text_count(taken->overwritten).s);
	manifest_add_missing(flight->session.manifest, "what happened before", why);
}

/* Who was killed in a snapshot had read events that nobody has now: they are as gone as overwritten ones. */
static uint64_t *read_before(const struct flight *flight)
{
	uint64_t *read = xcalloc((size_t)flight->cpus, sizeof(*read));

	for (long cpu = 0; cpu < flight->cpus && flight->is_old; cpu++)
		read[cpu] = read_ring(flight, cpu).read;
	return read;
}

/* Copy the rings, which are off. Returns 0, or a negative errno with err filled. */
static int copy_rings(struct flight *flight, struct flight_taken *taken, struct err *err)
{
	struct session *session = &flight->session;
	AUTO_FREE uint64_t *gone = read_before(flight);
	int rc = readers_start(session->instance.dir_fd, session->directory.kernel_fd,
			       session->manifest->page_bytes, session->manifest, &session->readers,
			       err);

	if (rc < 0)
		return rc;
	directory_release(&session->directory);
	readers_stop(session->readers, session->manifest);
	rc = readers_failure(session->readers);
	buffer_read_stats(session->instance.dir_fd, session->manifest);
	readers_free(session->readers);
	session->readers = NULL;
	if (rc < 0)
		return err_set(err, rc, "cannot write the rings: %s", strerror(-rc));
	session_sync(session);
	for (size_t i = 0; i < session->manifest->cpu_count; i++) {
		struct manifest_cpu *cpu = &session->manifest->cpus[i];
		uint64_t before = cpu->cpu < flight->cpus ? gone[cpu->cpu] : 0;

		cpu->events -= before < cpu->events ? before : cpu->events;
		cpu->lost += before;
		taken->events += cpu->events;
	}
	if (flight->is_old && !taken->events)
		return err_set(err, -ENODATA,
			       "its rings are empty: it was killed as it took a snapshot");
	return 0;
}

static void find_window(struct flight *flight, struct flight_taken *taken)
{
	if (flight->is_old)
		find_old_end(flight);
	find_begin(flight, taken);
	note_overwritten(flight, taken);
}

static void rings_off(struct flight *flight)
{
	(void)ftrace_write(flight->session.instance.dir_fd, "tracing_on", "0", NULL);
	flight->session.manifest->end_ns = clock_now_ns();
}

/* Steps that were over before the rings were empty last: of them one tells what is recorded since. */
static void drop_old_steps(struct flight *flight)
{
	struct manifest *manifest = flight->session.manifest;
	size_t old = 0;

	while (old + 1 < manifest->step_count && manifest->steps[old + 1].since_ns < flight->on_ns)
		old++;
	if (manifest->step_count - old > FLIGHT_STEPS_MOST)
		old = manifest->step_count - FLIGHT_STEPS_MOST;
	if (!old)
		return;
	manifest->step_count -= old;
	memmove(manifest->steps, manifest->steps + old,
		manifest->step_count * sizeof(*manifest->steps));
}

/* Empty, and on again. */
static void rings_on(struct flight *flight, struct flight_taken *taken)
{
	int fd = flight->session.instance.dir_fd;

	if (flight->is_old)
		return;
	flight->events_before = count_events(flight);
	/* What was read counts as gone. */
	flight->events_before += taken->events;
	(void)ftrace_write(fd, "trace", "", NULL);
	if (flight->session.budget.step != STEP_NONE)
		(void)ftrace_write(fd, "tracing_on", "1", NULL);
	flight->on_ns = clock_now_ns();
	taken->gap_ns = flight->on_ns - flight->session.manifest->end_ns;
	flight->rate_at_ns = flight->on_ns;
	flight->rate_from = flight->events_before;
	write_state(flight);
}

static void note_dump(struct session *session, const struct err *why)
{
	manifest_add_missing(session->manifest, "threads that lived", why->text);
}

/* Who lives; NULL = it could not be read. */
static struct dump *read_living(struct flight *flight)
{
	struct session *session = &flight->session;
	uint64_t born_ns = flight->is_old ? session->manifest->end_ns : UINT64_MAX;
	struct dump *dump = NULL;
	struct err why = { 0 };

	if (dump_late_read(born_ns, session->manifest, &dump, &why) < 0)
		note_dump(session, &why);
	return dump;
}

/* Names, calls, and who lived: what the events do not tell. */
static void write_state_beside(struct flight *flight, struct dump *dump)
{
	struct session *session = &flight->session;
	uint64_t begin_ns = session->manifest->begin_ns;
	struct last_calls last = { 0 };
	struct names_told told = { 0 };
	struct dump_since since = { &flight->early, flight->early_ns, &told.keys, false };
	struct err why = { 0 };

	if (session->names && names_snapshot(session->names, session->directory.kernel_fd, begin_ns,
					     &last, &told, &why) < 0)
		manifest_add_missing(session->manifest, "names, and calls that blocked", why.text);
	since.is_whole = session->names && told.is_whole && !names_lost(session->names);
	if (dump && dump_late_write(dump, session->directory.path, &last,
				    flight->early_ns ? &since : NULL, begin_ns, &why) < 0)
		note_dump(session, &why);
	last_calls_fini(&last);
	map_fini(&told.keys);
	devices_free(devices_begin(session->directory.kernel_fd));
}

/* Best effort: what cannot be packed is a trace as well. Recording goes on meanwhile. */
static void pack_rings(struct session *session)
{
	const struct manifest *manifest = session->manifest;

	session->is_packed = false;
	for (size_t i = 0; i < manifest->cpu_count && manifest->cpu_count <= PACK_CPUS_MAX; i++)
		session->is_packed |=
			pack_ring(session->directory.kernel_fd, manifest->cpus[i].cpu) == 0;
}

void flight_note_helper(struct flight *flight, int32_t pid)
{
	if (pid > 0)
		flight->helpers[flight->helper_count++ % HELPERS_MOST] = pid;
}

/* What they did, and what held them up, is not what is asked for. */
static void add_helpers(struct flight *flight)
{
	for (size_t i = 0; i < flight->helper_count && i < HELPERS_MOST; i++)
		manifest_add_recorder_tid(flight->session.manifest, flight->helpers[i]);
}

static int finish(struct flight *flight, struct err *err)
{
	struct session *session = &flight->session;
	int rc = session_prepare(session, SESSION_TEXTS, err);

	if (rc < 0)
		return rc;
	flight_programs_end(flight);
	add_helpers(flight);
	pack_rings(session);
	waiting_snapshot_end(&flight->looking, session->directory.kernel_fd, session->manifest);
	parts_note(session->manifest, session->directory.dir_fd);
	/* It is written for some time still: it is no part whose length is known. */
	wait_stacks_snapshot(flight->stacks, session->directory.kernel_fd,
			     session->manifest->begin_ns, session->manifest);
	flight_note_helper(flight, wait_stacks_naming_pid(flight->stacks));
	session->manifest->complete = true;
	return session_write(session, err);
}

/* The manifest is that of no snapshot again. */
static void rewind_manifest(struct flight *flight)
{
	struct manifest *manifest = flight->session.manifest;

	while (manifest->missing_count > flight->missing_count) {
		struct manifest_missing *last = &manifest->missing[--manifest->missing_count];

		free(last->what);
		free(last->why);
	}
	manifest->recorder_tid_count = flight->tid_count;
	manifest->cpu_count = 0;
	manifest_forget_files(manifest);
	manifest->complete = false;
	flight->session.is_packed = false;
}

static void leave_directory(struct session *session, bool is_whole)
{
	mem_close_fd(&session->sync_fd);
	session->sync_fd = -1;
	if (!is_whole)
		directory_discard(&session->directory);
	directory_close(&session->directory);
	session->directory = DIRECTORY_NONE;
}

static void begin_look(struct flight *flight)
{
	waiting_snapshot_begin(&flight->looking, flight->session.manifest->end_ns);
	flight_note_helper(flight, flight->looking.pid);
}

int flight_snapshot(struct flight *flight, const char *dir, struct flight_taken *out_taken,
		    struct err *err)
{
	struct session *session = &flight->session;
	struct dump *dump = NULL;
	int rc;

	*out_taken = (struct flight_taken){ 0 };
	flight->opts.dir = dir;
	session->earlier = flight->syncs;
	session->earlier_count = flight->sync_count;
	session->manifest->begin_ns = flight->on_ns;
	rc = session_prepare(session, SESSION_DIRECTORY, err);
	if (rc == 0) {
		if (!flight->is_old)
			dump = read_living(flight);
		wait_stacks_take_open(flight->stacks);
		flight_programs_begin(flight);
		rings_off(flight);
		names_take(session->names);
		rc = copy_rings(flight, out_taken, err);
		rings_on(flight, out_taken);
		if (rc == 0 && !flight->is_old)
			begin_look(flight);
		if (rc == 0)
			find_window(flight, out_taken);
		if (rc == 0 && flight->is_old)
			dump = read_living(flight);
		if (rc == 0)
			write_state_beside(flight, dump);
		dump_late_free(dump);
	}
	if (rc == 0)
		rc = finish(flight, err);
	waiting_snapshot_end(&flight->looking, -1, NULL); /* of a snapshot that was given up */
	flight_programs_end(flight);
	leave_directory(session, rc == 0);
	rewind_manifest(flight);
	mem_keep_freed(0);
	drop_old_steps(flight); /* what is recorded from now on needs them no longer */
	flight->opts.dir = NULL;
	return rc;
}

int flight_named_fd(const struct flight *flight)
{
	return flight ? wait_stacks_named_fd(flight->stacks) : -1;
}

int flight_named(struct flight *flight, struct err *err)
{
	return wait_stacks_named(flight->stacks, err);
}

/* -------------------------------------------------------------------- start */

int flight_open(const struct flight_opts *opts, struct flight **out_flight, struct err *err)
{
	struct flight *flight = flight_new(opts, opts->events);
	int rc;

	flight_user_start(&flight->user); /* while there is little that they would have of ours */
	bpf_count_start(&flight->count);
	rc = session_prepare(&flight->session, SESSION_RINGS, err);
	if (rc == 0)
		rc = flight_start_programs(flight, err);
	if (rc == 0)
		rc = flight_fit_memory(flight, opts->memory_bytes, err);
	if (rc == 0 && flight->user.pid)
		manifest_add_recorder_tid(flight->session.manifest, flight->user.pid);
	if (rc == 0 && flight->count.pid)
		manifest_add_recorder_tid(flight->session.manifest, flight->count.pid);
	if (rc == 0)
		meter_begin(&flight->session.meter, &flight->count);
	if (rc == 0)
		rc = ftrace_write(flight->session.instance.dir_fd, "tracing_on", "1", err);
	if (rc < 0) {
		flight_close(flight);
		return rc;
	}
	flight->on_ns = flight->rate_at_ns = flight->renewed_ns = clock_now_ns();
	instance_outlive(&flight->session.instance);
	flight_note_missing(flight);
	flight_tick(flight);
	*out_flight = flight;
	return 0;
}

static char *read_state(int run_fd)
{
	AUTO_CLOSE int fd = file_open_beneath(run_fd, STATE_FILE, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	return ftrace_read(run_fd, STATE_FILE, NULL);
}

int flight_open_old(const struct flight_opts *opts, struct flight **out_flight, struct err *err)
{
	AUTO_FREE char *text = read_state(opts->run_fd);
	struct flight_state state;
	struct flight *flight;
	int rc;

	if (!text || !flight_parse_state(text, &state))
		return 0;
	flight = flight_new(opts, state.events);
	flight->is_old = true;
	flight->on_ns = state.on_ns;
	flight->opts.buffer_bytes = state.cpu_bytes;
	flight->session.old_rings = state.instance;
	flight->sync_count = flight_parse_syncs(text, flight->syncs, SYNCS_MOST);
	rc = session_prepare(&flight->session, SESSION_OLD_RINGS, err);
	flight->session.old_rings = NULL;
	if (rc < 0 || !flight->sync_count) {
		flight_close(flight);
		return rc == -ENOENT || rc == 0 ? 0 : rc; /* another start has removed them */
	}
	flight->session.manifest->omits_idle_switches = state.omits_idle_switches;
	flight_parse_steps(text, flight->session.manifest);
	flight_note_missing(flight);
	*out_flight = flight;
	return 1;
}

static void flight_free(struct flight *flight)
{
	wait_stacks_stop(flight->stacks);
	flight_user_stop(&flight->user);
	bpf_count_stop(&flight->count);
	session_fini(&flight->session);
	map_fini(&flight->early);
	free(flight->events);
	free(flight->rings);
	free(flight);
}

void flight_close(struct flight *flight)
{
	if (!flight)
		return;
	(void)unlinkat(flight->run_fd, STATE_FILE, 0); /* the next one finds nothing, then */
	flight_free(flight);
}

char *flight_leave(struct flight *flight)
{
	char *path = xstrdup(flight->session.instance.path);

	instance_leave(&flight->session.instance);
	flight_free(flight);
	return path;
}
