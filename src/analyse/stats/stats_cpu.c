/* stats_cpu.c - what each CPU did, and how many events there were of each type. */
#include <stdlib.h>
#include <string.h>

#include "analyse/stats/stats_int.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/event.h"
#include "event/source.h"

static void add_ticks(struct ps_cpu *sum, const struct ps_cpu *ticks)
{
	sum->user += ticks->user;
	sum->system += ticks->system;
	sum->either += ticks->either;
	sum->idle += ticks->idle;
	sum->unknown += ticks->unknown;
}

/* What nobody claims is not known. */
static void close_cpu(struct stats_cpu *cpu, uint64_t window_ns)
{
	uint64_t known = 0;

	for (size_t mode = 0; mode < MODE_COUNT; mode++)
		known += cpu->mode_ns[mode];
	cpu->unknown_ns = known < window_ns ? window_ns - known : 0;
}

void stats_fill_cpus(struct stats_query *query, const struct totals *all,
		     const struct ps_cpu *ticks)
{
	struct stats *stats = query->stats;

	stats->cpu_count = query->tl->cpu_count;
	stats->cpus = xcalloc(stats->cpu_count + 1, sizeof(*stats->cpus));
	for (uint32_t i = 0; i < all->count; i++) {
		const struct total *row = &all->rows[i];
		uint32_t cpu = total_a(row->key), mode = total_b(row->key);

		if (total_kind(row->key) == TOTAL_CPU && cpu < stats->cpu_count &&
		    mode < MODE_COUNT)
			stats->cpus[cpu].mode_ns[mode] += row->ns;
	}
	for (size_t i = 0; i < stats->cpu_count; i++) {
		struct stats_cpu *cpu = &stats->cpus[i];

		close_cpu(cpu, stats->end_ns - stats->start_ns);
		if (ticks)
			cpu->ticks = ticks[i];
		for (size_t mode = 0; mode < MODE_COUNT; mode++)
			stats->cpu_sum.mode_ns[mode] += cpu->mode_ns[mode];
		stats->cpu_sum.unknown_ns += cpu->unknown_ns;
		add_ticks(&stats->cpu_sum.ticks, &cpu->ticks);
	}
}

/* ------------------------------------------------------------------- events */

static const char *const vector_events[VECTOR_COUNT] = {
	[VECTOR_LOCAL_TIMER] = "local_timer",
	[VECTOR_RESCHEDULE] = "reschedule",
	[VECTOR_CALL_FUNCTION] = "call_function",
	[VECTOR_CALL_FUNCTION_SINGLE] = "call_function_single",
	[VECTOR_IRQ_WORK] = "irq_work",
	[VECTOR_X86_PLATFORM] = "x86_platform_ipi",
	[VECTOR_ERROR] = "error_apic",
	[VECTOR_SPURIOUS] = "spurious_apic",
	[VECTOR_THERMAL] = "thermal_apic",
	[VECTOR_THRESHOLD] = "threshold_apic",
	[VECTOR_DEFERRED_ERROR] = "deferred_error_apic",
	[VECTOR_OTHER] = "other_vector",
};

/* How many of each type, before they have names. */
struct census {
	uint64_t types[EV_TYPE_COUNT];
	uint64_t entries[VECTOR_COUNT], exits[VECTOR_COUNT];
	struct map others; /* id of a name in the result -> count */
};

static void count_other(struct census *census, struct stats *stats, const struct event *ev)
{
	uint32_t id = names_add(&stats->texts, ev->other.name ? ev->other.name : "other", 256);
	uint64_t *found = map_find(&census->others, id);

	if (found)
		++*found;
	else
		map_put(&census->others, id, 1);
}

static void count_event(struct census *census, struct stats *stats, const struct event *ev)
{
	uint32_t vector = (uint32_t)ev->irq.nr;

	if (ev->type == EV_OTHER)
		count_other(census, stats, ev);
	else if (ev->type == EV_VECTOR_ENTRY && vector < VECTOR_COUNT)
		census->entries[vector]++;
	else if (ev->type == EV_VECTOR_EXIT && vector < VECTOR_COUNT)
		census->exits[vector]++;
	else if (ev->type < EV_TYPE_COUNT)
		census->types[ev->type]++;
}

static void add_type(struct stats *stats, size_t *cap, const char *name, uint64_t count)
{
	if (!count)
		return;
	stats->events = vec_room(stats->events, stats->event_count, cap, sizeof(*stats->events));
	stats->events[stats->event_count++] = (struct stats_event){
		.name = names_text(&stats->texts, names_add(&stats->texts, name, 256)),
		.count = count,
	};
	stats->event_sum += count;
}

ORDER_FUNCTION(compare_events, struct stats_event, ORDER_DOWN(count), ORDER_TEXT(name));

static void name_types(struct census *census, struct stats *stats)
{
	size_t cap = 0;

	for (uint32_t type = 0; type < EV_TYPE_COUNT; type++)
		add_type(stats, &cap, event_type_name((enum event_type)type), census->types[type]);
	for (uint32_t i = 0; i < VECTOR_COUNT; i++) {
		AUTO_FREE char *entry = xasprintf("%s_entry", vector_events[i]);
		AUTO_FREE char *leave = xasprintf("%s_exit", vector_events[i]);

		add_type(stats, &cap, entry, census->entries[i]);
		add_type(stats, &cap, leave, census->exits[i]);
	}
	for (size_t i = 0; i < census->others.cap; i++) {
		const struct map_slot *slot = &census->others.slots[i];

		if (census->others.used[i])
			add_type(stats, &cap, names_text(&stats->texts, (uint32_t)slot->key),
				 slot->value);
	}
	if (stats->event_count)
		qsort(stats->events, stats->event_count, sizeof(*stats->events), compare_events);
}

int stats_count_events(struct stats *stats, struct source *source, struct err *err)
{
	struct census *census = xcalloc(1, sizeof(*census));
	const struct event *ev;
	int rc = source_seek(source, stats->start_ns, err);

	while (rc >= 0 && (rc = source_next(source, &ev, err)) > 0 && ev->time_ns < stats->end_ns) {
		/* A hole is no event, and names of descriptors are the recorder's. */
		if (ev->type != EV_LOST && ev->type != EV_FD_NAME)
			count_event(census, stats, ev);
	}
	name_types(census, stats);
	map_fini(&census->others);
	free(census);
	stats->has_events = rc >= 0;
	return rc < 0 ? err_wrap(err, "counting events") : 0;
}
