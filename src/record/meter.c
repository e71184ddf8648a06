/* meter.c - see meter.h. */
#include "record/meter.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "proc/proc.h"
#include "record/bpf_count.h"
#include "record/clock.h"
#include "store/manifest.h"

#define EVENTS_LEAST 1000u /* fewer say nothing */
#define WINDOW_NS    UINT64_C(1000000000)
#define AGAIN_NS     UINT64_C(15000000000) /* where it goes on: after so long it is counted again */
#define FIND_NS	     UINT64_C(16000000000) /* the same: programs that came later are found */
#define RATE_TIMES   2			   /* as many events, or as few, are other work */

/*
 * Time and runs of the BPF program behind a descriptor of ours; nothing is added where it is another thing.
 * Returns whether it is one.
 */
static bool add_program(struct meter_bpf *bpf, int number)
{
	char path[64], text[1024], *line, *rest = text;
	uint64_t value;
	bool is_program = false;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", number);
	if (proc_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "run_time_ns: %" SCNu64, &value) == 1) {
			bpf->ns += value;
			is_program = true;
		} else if (sscanf(line, "run_cnt: %" SCNu64, &value) == 1) {
			bpf->runs += value;
		}
	}
	return is_program;
}

/* Among all descriptors, of which there may be hundreds. */
static struct meter_bpf find_programs(struct meter *meter, uint64_t now_ns)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	struct meter_bpf bpf = { 0 };
	struct dirent *entry;

	meter->program_count = 0;
	meter->found_ns = now_ns;
	while (dir && (entry = readdir(dir))) {
		int number = atoi(entry->d_name);

		if (entry->d_name[0] == '.' || !add_program(&bpf, number))
			continue;
		meter->program_fds = vec_room(meter->program_fds, meter->program_count,
					      &meter->program_cap, sizeof(*meter->program_fds));
		meter->program_fds[meter->program_count++] = number;
	}
	if (dir)
		closedir(dir);
	return bpf;
}

static struct meter_bpf read_programs(struct meter *meter, uint64_t now_ns)
{
	struct meter_bpf bpf = { 0 };

	if (!meter->found_ns || now_ns - meter->found_ns >= FIND_NS)
		return find_programs(meter, now_ns);
	for (size_t i = 0; i < meter->program_count; i++)
		(void)add_program(&bpf, meter->program_fds[i]);
	return bpf;
}

void meter_begin(struct meter *meter, struct bpf_count *always)
{
	const struct event_cost cost = meter->cost;

	meter_fini(meter);
	meter->cost = cost;
	meter->always = always;
	meter->stats_fd = bpf_count_on();
	meter->cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	meter->begin_ns = meter->window_at_ns = clock_mono_ns();
	meter->at_window = read_programs(meter, meter->begin_ns);
}

static uint64_t count_events(const struct meter *meter)
{
	return meter->sum.others + meter->sum.calls;
}

/* Since the last window, as in it: for each event, which are of the same switches and wakings; or by the time. */
static uint64_t bpf_since_ns(const struct meter *meter, uint64_t until_ns)
{
	if (!meter->last_ns || until_ns < meter->window_at_ns)
		return 0;
	if (meter->last_events >= EVENTS_LEAST)
		return (uint64_t)((__uint128_t)meter->last.ns *
				  (count_events(meter) - meter->events_at_window) /
				  meter->last_events);
	return (uint64_t)((__uint128_t)meter->last.ns * (until_ns - meter->window_at_ns) /
			  meter->last_ns);
}

/* A program that was dropped meanwhile takes its counts with it. */
static struct meter_bpf counted_since(const struct meter_bpf *from, const struct meter_bpf *to)
{
	if (to->ns < from->ns || to->runs < from->runs)
		return *to;
	return (struct meter_bpf){ to->ns - from->ns, to->runs - from->runs };
}

static void end_window(struct meter *meter, uint64_t now_ns, bool goes_on)
{
	struct meter_bpf now;

	if (meter->stats_fd < 0)
		return;
	now = read_programs(meter, now_ns);
	if (!goes_on || !now.runs) {
		mem_close_fd(&meter->stats_fd);
		meter->stats_fd = -1;
	}
	if (!now.runs && !meter->bpf.runs) /* there are none */
		return;
	meter->last = counted_since(&meter->at_window, &now);
	meter->last_events = count_events(meter) - meter->events_at_window;
	meter->events_at_window += meter->last_events;
	meter->last_ns = now_ns - meter->window_at_ns;
	meter->bpf.ns += meter->last.ns;
	meter->bpf.runs += meter->last.runs;
	meter->bpf_window_ns += meter->last_ns;
	meter->at_window = now;
	meter->window_at_ns = now_ns;
}

/* What was not counted until now counts as much as before. */
static bool count_again(struct meter *meter, uint64_t now_ns)
{
	int fd = meter->always ? bpf_count_ask(meter->always) : bpf_count_on();

	if (fd < 0)
		return false;
	meter->bpf.ns += bpf_since_ns(meter, now_ns);
	meter->bpf_window_ns += now_ns - meter->window_at_ns;
	meter->stats_fd = fd;
	meter->window_at_ns = now_ns;
	meter->events_at_window = count_events(meter);
	meter->at_window = read_programs(meter, now_ns);
	return true;
}

/* The mix of events is another one, for there are many more, or fewer. */
static bool is_other_work(const struct meter *meter, uint64_t now_ns)
{
	uint64_t events = count_events(meter) - meter->events_at_window;
	double now = (double)events / (double)(now_ns - meter->window_at_ns);
	double then = (double)meter->last_events / (double)meter->last_ns;

	return (events >= EVENTS_LEAST || meter->last_events >= EVENTS_LEAST) &&
	       (now > RATE_TIMES * then || then > RATE_TIMES * now);
}

/* Always on: for a second now and then, and without rights to begin again all the time. */
static void look_always(struct meter *meter, uint64_t now_ns)
{
	if (meter->stats_fd >= 0)
		end_window(meter, now_ns, !meter->always->pid);
	else if (meter->last_ns &&
		 (now_ns - meter->window_at_ns >= AGAIN_NS || is_other_work(meter, now_ns)))
		(void)count_again(meter, now_ns);
}

void meter_look(struct meter *meter)
{
	uint64_t now_ns = clock_mono_ns();

	if (!meter->begin_ns || meter->bpf_end_ns || now_ns - meter->window_at_ns < WINDOW_NS)
		return;
	if (meter->always)
		look_always(meter, now_ns);
	else
		end_window(meter, now_ns, false);
}

void meter_bpf_changed(struct meter *meter)
{
	uint64_t now_ns = clock_mono_ns();

	if (!meter->begin_ns || meter->bpf_end_ns)
		return;
	if (meter->stats_fd >= 0)
		end_window(meter, now_ns, true);
	else if (!meter->last_ns || !count_again(meter, now_ns))
		return;
	meter->last = (struct meter_bpf){ 0 };
	meter->last_ns = 0;
}

void meter_note_beside(struct meter *meter, uint64_t cpu_ns)
{
	if (cpu_ns > meter->beside_ns)
		meter->beside_ns = cpu_ns;
}

void meter_bpf_ends(struct meter *meter)
{
	if (!meter->begin_ns || meter->bpf_end_ns)
		return;
	end_window(meter, clock_mono_ns(), false);
	meter->bpf_end_ns = clock_mono_ns();
}

static struct meter_cpu *cpu_of(struct meter *meter, uint32_t cpu)
{
	if (cpu >= meter->cpu_count) {
		meter->cpus = xrealloc(meter->cpus, (size_t)cpu + 1, sizeof(*meter->cpus));
		while (meter->cpu_count <= cpu)
			meter->cpus[meter->cpu_count++] =
				(struct meter_cpu){ .at_ns = meter->begin_ns };
	}
	return &meter->cpus[cpu];
}

void meter_count(struct meter *meter, uint32_t cpu, uint64_t events, bool has_calls)
{
	uint64_t now_ns = clock_mono_ns();
	struct meter_cpu *last;

	if (!meter->begin_ns || cpu >= MANIFEST_MAX_CPUS)
		return;
	last = cpu_of(meter, cpu);
	if (events < last->events)
		last->events = 0;
	event_cost_count(&meter->cost, events - last->events, now_ns - last->at_ns, has_calls,
			 &meter->sum);
	*last = (struct meter_cpu){ events, now_ns };
}

uint64_t meter_events_ns(const struct meter *meter)
{
	return meter->sum.others_ns + meter->sum.calls_ns;
}

/* Until then they were attached. */
static uint64_t bpf_until_ns(const struct meter *meter)
{
	return meter->bpf_end_ns ? meter->bpf_end_ns : clock_mono_ns();
}

static uint64_t own_cpu_ns(const struct meter *meter)
{
	uint64_t used_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);

	return (used_ns > meter->cpu_ns ? used_ns - meter->cpu_ns : 0) + meter->beside_ns;
}

uint64_t meter_spent_ns(const struct meter *meter)
{
	return own_cpu_ns(meter) + meter_events_ns(meter) + meter->bpf.ns +
	       bpf_since_ns(meter, bpf_until_ns(meter));
}

/* Of one event; before there are any, of one that comes alone. */
static uint64_t mean_ns(uint64_t ns, uint64_t count, const struct event_cost_curve *curve)
{
	return count ? ns / count : event_cost_at(curve, UINT64_MAX);
}

void meter_tell(const struct meter *meter, struct manifest *manifest)
{
	struct fact_cost *cost = &manifest->cost;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!meter->begin_ns)
		return;
	cost->cpu_ns = own_cpu_ns(meter);
	cost->bpf_ns = meter->bpf.ns;
	cost->bpf_runs = meter->bpf.runs;
	cost->bpf_window_ns = meter->bpf_window_ns;
	if (meter->always && meter->bpf_window_ns) {
		cost->bpf_ns += bpf_since_ns(meter, bpf_until_ns(meter));
		cost->bpf_window_ns += bpf_until_ns(meter) - meter->window_at_ns;
	}
	cost->bpf_on_ns = meter->bpf_window_ns ? bpf_until_ns(meter) - meter->begin_ns : 0;
	cost->event_ns = mean_ns(meter->sum.others_ns, meter->sum.others, &meter->cost.others);
	cost->call_event_ns = mean_ns(meter->sum.calls_ns, meter->sum.calls, &meter->cost.calls);
	cost->events_ns = meter_events_ns(meter);
	cost->cpus = cpus > 0 && cpus <= MANIFEST_MAX_CPUS ? (uint32_t)cpus : 0;
}

void meter_end(struct meter *meter, struct manifest *manifest)
{
	if (!meter->begin_ns)
		return;
	meter_bpf_ends(meter);
	meter_tell(meter, manifest);
	meter->begin_ns = 0;
}

void meter_fini(struct meter *meter)
{
	mem_close_fd(&meter->stats_fd);
	free(meter->program_fds);
	free(meter->cpus);
	*meter = METER_NONE;
}
