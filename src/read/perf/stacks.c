/* stacks.c - see stacks.h. */
#include "read/perf/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "read/perf/file.h"
#include "read/perf/scan.h"
#include "read/perf/stacks_int.h"
#include "store/formats.h"

#define WORDS_MAX	(UINT64_C(1) << 26)
#define SOFTWARE_CLOCKS 2u /* cpu-clock, task-clock: the first ones */

struct perf_stacks *perf_stacks_new(void)
{
	return xcalloc(1, sizeof(struct perf_stacks));
}

void perf_stacks_free(struct perf_stacks *stacks)
{
	if (!stacks)
		return;
	perf_maps_fini(&stacks->maps);
	free(stacks->chains);
	free(stacks->words);
	free(stacks->moments);
	map_fini(&stacks->by_hash);
	map_fini(&stacks->made);
	stack_pool_fini(&stacks->pool);
	free(stacks);
}

bool perf_stacks_wants(const struct perf_scan *scan)
{
	const struct perf_attrs *attrs = &scan->file->attrs;

	for (size_t i = 0; i < attrs->count; i++) {
		if (attrs->items[i]->sample_type & (PERF_HAS_CALLCHAIN | PERF_HAS_STACK_USER))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ samples */

static int32_t field_of(const struct perf_scan *scan, const char *event, const char *name,
			struct format_field *out_field)
{
	const char *text = formats_find(&scan->file->formats, event);

	return text && format_text_field(text, name, out_field) && out_field->bytes <= 8
		       ? format_text_id(text)
		       : -1;
}

/* Formats stand before the samples, in a stream, too. */
static void know_formats(struct perf_scan *scan)
{
	struct perf_stacks *stacks = scan->stacks;
	const char *text = formats_find(&scan->file->formats, "sched/sched_switch");

	if (stacks->knows_formats)
		return;
	stacks->knows_formats = true;
	stacks->switch_id = field_of(scan, "sched/sched_switch", "prev_state", &stacks->prev_state);
	if (field_of(scan, "sched/sched_switch", "next_pid", &stacks->next_pid) < 0)
		stacks->switch_id = -1;
	stacks->waking_id = field_of(scan, "sched/sched_waking", "pid", &stacks->waking_pid);
	stacks->wakeup_id = field_of(scan, "sched/sched_wakeup", "pid", &stacks->wakeup_pid);
	if (text)
		format_text_states(text, &stacks->states);
}

/* A number in the record of a tracepoint; false: it is too short. */
static bool number_of(const struct perf_scan *scan, const struct perf_rest *rest,
		      const struct format_field *field, uint64_t *out_number)
{
	const uint8_t *at;

	if (!rest->raw || field->offset + field->bytes > rest->raw_bytes)
		return false;
	at = rest->raw + field->offset;
	if (field->bytes == 8)
		*out_number = perf_u64(at, scan->file->swap);
	else if (field->bytes == 4)
		*out_number = perf_u32(at, scan->file->swap);
	else
		return false;
	return true;
}

static void add_moment(struct perf_scan *scan, struct perf_moment moment)
{
	struct perf_stacks *stacks = scan->stacks;

	if (moment.tid <= 0 || !perf_scan_may_keep(scan))
		return;
	stacks->moments = vec_room(stacks->moments, stacks->moment_count, &stacks->moment_cap,
				   sizeof(*stacks->moments));
	stacks->moments[stacks->moment_count++] = moment;
}

/* What a sample is, while it is looked at. */
struct sample {
	const struct perf_record *record;
	const struct perf_attr *attr;
	const struct perf_where *where;
	uint64_t place;
	int32_t tgid;
	struct perf_rest rest;
};

/* The same chain of the same process is kept once. Returns PERF_MARK_WAKES where there is no room. */
static uint32_t keep_chain(struct perf_scan *scan, const struct sample *sample)
{
	struct perf_stacks *stacks = scan->stacks;
	const struct perf_rest *rest = &sample->rest;
	uint32_t count =
		rest->chain_count < PERF_STACK_CHAIN_MAX ? rest->chain_count : PERF_STACK_CHAIN_MAX;
	struct perf_copy copy =
		perf_copy_of(scan->file, sample->attr, sample->record, rest, sample->place);
	uint64_t hash = (uint64_t)sample->tgid ^ copy.hash ^ (uint64_t)copy.has_regs << 32;
	const uint64_t *known;

	if (count)
		hash = hash_bytes(rest->chain, (size_t)count * 8, hash);
	known = map_find(&stacks->by_hash, hash);
	if (known)
		return (uint32_t)*known;
	if ((!count && !copy.attr) || stacks->word_count + count > WORDS_MAX ||
	    !perf_scan_may_keep(scan))
		return PERF_MARK_WAKES;
	while (stacks->word_cap < stacks->word_count + count) {
		stacks->word_cap = stacks->word_cap ? 2 * stacks->word_cap : 4096;
		stacks->words = xrealloc(stacks->words, stacks->word_cap, sizeof(*stacks->words));
	}
	stacks->chains = vec_room(stacks->chains, stacks->chain_count, &stacks->chain_cap,
				  sizeof(*stacks->chains));
	stacks->chains[stacks->chain_count] = (struct perf_stack_chain){
		.tgid = sample->tgid, .first = stacks->word_count, .count = count, .copy = copy
	};
	for (uint32_t i = 0; i < count; i++)
		stacks->words[stacks->word_count++] =
			perf_u64(rest->chain + (size_t)8 * i, scan->file->swap);
	map_put(&stacks->by_hash, hash, stacks->chain_count);
	return (uint32_t)stacks->chain_count++;
}

static void take_tracepoint(struct perf_scan *scan, const struct sample *sample)
{
	const struct perf_where *where = sample->where;
	const struct perf_rest *rest = &sample->rest;
	struct perf_stacks *stacks = scan->stacks;
	struct perf_moment moment = { .tid = where->tid, .time_ns = where->time_ns };
	uint64_t state, tid;
	const int64_t id = (int64_t)sample->attr->config;

	know_formats(scan);
	if ((id == stacks->waking_id && number_of(scan, rest, &stacks->waking_pid, &tid)) ||
	    (id == stacks->wakeup_id && number_of(scan, rest, &stacks->wakeup_pid, &tid)) ||
	    (id == stacks->switch_id && number_of(scan, rest, &stacks->next_pid, &tid)))
		add_moment(scan, (struct perf_moment){ .tid = (int32_t)tid,
						       .chain = PERF_MARK_WAKES,
						       .time_ns = where->time_ns });
	if (id != stacks->switch_id || !number_of(scan, rest, &stacks->prev_state, &state) ||
	    !state || state & stacks->states.preempted)
		return;
	moment.chain = keep_chain(scan, sample);
	if (moment.chain != PERF_MARK_WAKES)
		add_moment(scan, moment);
}

/* Time of a CPU: a clock, or its cycles. */
static bool is_clock(const struct perf_attr *attr)
{
	return (attr->type == PERF_KIND_SOFTWARE && attr->config < SOFTWARE_CLOCKS) ||
	       (attr->type == PERF_KIND_HARDWARE && attr->config == 0);
}

static void take_work(struct perf_scan *scan, const struct sample *sample)
{
	struct perf_moment moment = { .tid = sample->where->tid,
				      .time_ns = sample->where->time_ns,
				      .is_sample = true };

	if (!scan->stacks->clock && is_clock(sample->attr))
		scan->stacks->clock = sample->attr;
	if (scan->stacks->clock != sample->attr)
		return;
	moment.chain = keep_chain(scan, sample);
	if (moment.chain != PERF_MARK_WAKES)
		add_moment(scan, moment);
}

static void take_sample(struct perf_scan *scan, const struct perf_record *record,
			const struct perf_attr *attr, const struct perf_where *where,
			uint64_t place)
{
	struct sample sample = { .record = record, .attr = attr, .where = where, .place = place };

	if (!where->time_ns || !attr->tid_at || record->bytes < attr->tid_at + 8u ||
	    !perf_attr_rest(attr, record, scan->file->swap, &sample.rest))
		return;
	sample.tgid = (int32_t)perf_u32(record->data + attr->tid_at, scan->file->swap);
	if (attr->is_tracepoint)
		take_tracepoint(scan, &sample);
	else
		take_work(scan, &sample);
}

void perf_stacks_take(struct perf_scan *scan, const struct perf_record *record,
		      const struct perf_attr *attr, const struct perf_where *where, uint64_t place)
{
	if (record->type == PERF_SAMPLE)
		take_sample(scan, record, attr, where, place);
	else
		perf_maps_take(&scan->stacks->maps, scan, record, attr, where->time_ns);
}
