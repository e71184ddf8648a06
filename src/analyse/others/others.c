/* others.c - disks, network devices, programs, models; and how much is kept of all lanes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounts/recorded.h"
#include "analyse/check/check.h"
#include "analyse/others/others_int.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/event.h"
#include "event/facts.h"
#include "model/model.h"

#define LANES_MAX   2048u /* of a group */
#define FLIGHT_MAX  65536u
#define CHANGES_MAX (1u << 20)
#define SPANS_MAX   (1u << 19)
#define LEAST_KEPT  64u /* changes, or spans, of a lane */
#define TEXT_BYTES  200u

/* A request on its way to a device. */
struct request {
	uint64_t start_ns;
	int32_t tid;
	uint32_t lane, text;
	uint32_t next_free;
};

struct others *others_new(const struct others_opts *opts)
{
	struct others *others = xcalloc(1, sizeof(*others));

	others->opts = *opts;
	if (!others->opts.most_changes)
		others->opts.most_changes = CHANGES_MAX;
	if (!others->opts.most_spans)
		others->opts.most_spans = SPANS_MAX;
	others->lane_changes = others->opts.most_changes / 2;
	others->lane_spans = others->opts.most_spans / 2;
	others->locks = others_locks_new(others);
	return others;
}

void others_free(struct others *others)
{
	if (!others)
		return;
	for (size_t i = 0; i < others->lane_count; i++) {
		free(others->lanes[i].label);
		free(others->lanes[i].spans);
		series_fini(&others->lanes[i].series);
	}
	others_locks_free(others->locks);
	free(others->lanes);
	free(others->requests);
	names_fini(&others->names);
	names_fini(&others->devices);
	map_fini(&others->disks);
	map_fini(&others->flight);
	map_fini(&others->network);
	map_fini(&others->programs);
	map_fini(&others->cpus);
	free(others);
}

uint32_t others_new_lane(struct others *others, enum other_group group, enum series_kind kind,
			 char *label)
{
	if (others->in_group[group] == LANES_MAX) {
		others->left_out[group]++;
		free(label);
		return OTHERS_NONE;
	}
	others->in_group[group]++;
	others->lanes = vec_room(others->lanes, others->lane_count, &others->lane_cap,
				 sizeof(*others->lanes));
	others->lanes[others->lane_count] = (struct other_lane){
		.group = group,
		.label = label,
		.series = { .kind = kind },
	};
	return (uint32_t)others->lane_count++;
}

/* ----------------------------------------------------------------- what is kept */

static int compare_lengths(const void *a, const void *b)
{
	const struct other_span *x = a, *y = b;
	uint64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;

	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	if (!x_ns && x->start_ns != y->start_ns) /* of moments the last ones stay */
		return x->start_ns > y->start_ns ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

ORDER_FUNCTION(compare_begins, struct other_span, ORDER_UP(start_ns), ORDER_UP(end_ns));

/* The longest stay. */
static void thin_spans(struct other_lane *lane, size_t most)
{
	if (lane->span_count <= most)
		return;
	qsort(lane->spans, lane->span_count, sizeof(*lane->spans), compare_lengths);
	lane->spans_left_out += lane->span_count - most;
	lane->span_count = lane->span_cap = most;
	lane->spans = xrealloc(lane->spans, most, sizeof(*lane->spans));
}

static void thin_changes(struct others *others)
{
	others->changes = 0;
	for (size_t i = 0; i < others->lane_count; i++) {
		series_thin(&others->lanes[i].series, others->lane_changes);
		others->changes += others->lanes[i].series.count;
	}
	if (others->lane_changes > LEAST_KEPT)
		others->lane_changes /= 2;
}

static void thin_all_spans(struct others *others)
{
	others->spans = 0;
	for (size_t i = 0; i < others->lane_count; i++) {
		thin_spans(&others->lanes[i], others->lane_spans);
		others->spans += others->lanes[i].span_count;
	}
	if (others->lane_spans > LEAST_KEPT)
		others->lane_spans /= 2;
}

static void count_change(struct others *others)
{
	if (++others->changes > others->opts.most_changes)
		thin_changes(others);
}

void others_set(struct others *others, uint32_t lane, uint64_t time_ns, uint32_t value)
{
	if (lane == OTHERS_NONE || others->lanes[lane].series.value == value)
		return;
	series_set(&others->lanes[lane].series, time_ns, value);
	count_change(others);
}

void others_add_amount(struct others *others, uint32_t lane, uint64_t time_ns, uint64_t amount)
{
	if (lane == OTHERS_NONE)
		return;
	series_add(&others->lanes[lane].series, time_ns, amount);
	others->lanes[lane].weight++;
	count_change(others);
}

void others_put_span(struct others *others, uint32_t index, const struct other_span *span)
{
	struct other_lane *lane;

	if (index == OTHERS_NONE)
		return;
	lane = &others->lanes[index];
	lane->spans =
		vec_room(lane->spans, lane->span_count, &lane->span_cap, sizeof(*lane->spans));
	lane->spans[lane->span_count++] = *span;
	if (++others->spans > others->opts.most_spans)
		thin_all_spans(others);
}

/* ------------------------------------------------------------------------ disks */

static char *disk_label(const struct others *others, uint32_t dev)
{
	const char *name = facts_device(others->opts.facts, dev);

	return name ? xasprintf("disk %s", name)
		    : xasprintf("disk %u:%u", dev >> 20, dev & 0xfffff);
}

static uint32_t disk_of(struct others *others, uint32_t dev)
{
	bool is_new;
	uint64_t *lane = map_add(&others->disks, dev, &is_new);

	if (is_new)
		*lane = others_new_lane(others, OTHER_DISKS, SERIES_LEVEL, disk_label(others, dev));
	return (uint32_t)*lane;
}

static uint32_t new_request(struct others *others)
{
	uint32_t at = others->first_free;

	if (at) {
		others->first_free = others->requests[at - 1].next_free;
		return at - 1;
	}
	others->requests = vec_room(others->requests, others->request_count, &others->request_cap,
				    sizeof(*others->requests));
	return (uint32_t)others->request_count++;
}

static uint64_t request_key(const struct ev_block *block)
{
	return (uint64_t)block->dev << 44 ^ ev_block_start(block);
}

/* What was in flight when events were lost may have ended in the hole: it is not known to be there. */
static void forget_requests(struct others *others, uint64_t time_ns)
{
	for (size_t i = 0; i < others->lane_count; i++) {
		if (others->lanes[i].group == OTHER_DISKS)
			others_set(others, (uint32_t)i, time_ns, 0);
	}
	map_fini(&others->flight);
	others->flight = (struct map){ 0 };
	others->request_count = others->first_free = 0;
}

static void on_issue(struct others *others, const struct event *event)
{
	char text[TEXT_BYTES];
	uint32_t lane = disk_of(others, event->block.dev), at;
	bool is_new;
	uint64_t *place = map_add(&others->flight, request_key(&event->block), &is_new);

	if (!is_new || lane == OTHERS_NONE)
		return;
	*place = at = new_request(others);
	if (others->opts.is_live)
		(void)snprintf(text, sizeof(text), "%.10s, %u bytes",
			       event->block.rwbs ? event->block.rwbs : "?", event->block.bytes);
	else
		(void)snprintf(text, sizeof(text), "%.10s, %u bytes, sector %" PRIu64,
			       event->block.rwbs ? event->block.rwbs : "?", event->block.bytes,
			       ev_block_start(&event->block));
	others->requests[at] = (struct request){
		.start_ns = event->time_ns,
		.tid = event->tid > 0 ? event->tid : 0,
		.lane = lane,
		.text = names_add(&others->names, text, sizeof(text)),
	};
	others->lanes[lane].weight++;
	others_set(others, lane, event->time_ns, others->lanes[lane].series.value + 1);
	if (others->flight.count > FLIGHT_MAX)
		forget_requests(others, event->time_ns);
}

static void end_request(struct others *others, uint32_t at, uint64_t time_ns)
{
	const struct request *request = &others->requests[at];
	const struct other_span span = {
		.start_ns = request->start_ns,
		.end_ns = time_ns,
		.tid = request->tid,
		.text = request->text,
		.what = OTHER_REQUEST,
	};

	others_put_span(others, request->lane, &span);
}

static void on_complete(struct others *others, const struct event *event)
{
	uint64_t key = request_key(&event->block);
	const uint64_t *place = map_find(&others->flight, key);
	uint32_t at, lane;

	if (!place)
		return; /* issued before the recording, or in a hole */
	at = (uint32_t)*place;
	lane = others->requests[at].lane;
	end_request(others, at, event->time_ns);
	others_set(others, lane, event->time_ns, others->lanes[lane].series.value - 1);
	others->requests[at].next_free = others->first_free;
	others->first_free = at + 1;
	(void)map_remove(&others->flight, key);
}

/* --------------------------------------------------------------- network, programs */

static void on_packet(struct others *others, const struct event *event)
{
	bool is_sent = event->type == EV_NET_QUEUE, is_new;
	const char *dev = event->net.dev && event->net.dev[0] ? event->net.dev : "?";
	uint64_t key = (uint64_t)names_add(&others->devices, dev, TEXT_BYTES) << 1 | is_sent;
	uint64_t *lane = map_add(&others->network, key, &is_new);

	if (is_new)
		*lane = others_new_lane(others, OTHER_NETWORK, SERIES_AMOUNT,
					xasprintf("%.200s %s", dev, is_sent ? "sent" : "received"));
	others_add_amount(others, (uint32_t)*lane, event->time_ns, event->net.len);
}

static void put_program_event(struct others *others, uint32_t lane, const struct event *event)
{
	const struct ev_other *other = &event->other;
	char text[TEXT_BYTES];
	struct other_span span = {
		.start_ns = event->time_ns,
		.end_ns = event->time_ns,
		.tid = event->tid > 0 ? event->tid : 0,
		.what = OTHER_EVENT,
	};

	(void)snprintf(text, sizeof(text), "%.80s%s%.100s", other->system ? other->system : "",
		       other->system && other->system[0] ? ":" : "",
		       other->name ? other->name : "?");
	span.text = names_add(&others->names, text, sizeof(text));
	others_put_span(others, lane, &span);
}

static char *amount_label(const struct others_opts *opts, const char *what, int32_t tgid,
			  int32_t tid)
{
	AUTO_FREE char *name =
		tgid > 0 && opts->process_name ? opts->process_name(opts->context, tgid) : NULL;

	if (name)
		return xasprintf("%s of %s", what, name);
	return tid > 0 ? xasprintf("%s of %s %d", what, tgid > 0 ? "process" : "thread",
				   tgid > 0 ? tgid : tid)
		       : xasprintf("%s of unknown threads", what);
}

uint32_t others_lane_of(struct others *others, enum other_group group, const char *what,
			struct map *lanes, int32_t tid, uint64_t time_ns)
{
	const struct others_opts *opts = &others->opts;
	int32_t tgid = tid > 0 && opts->process ? opts->process(opts->context, tid, time_ns) : 0;
	int64_t key = tgid > 0 ? tgid : tid > 0 ? -(int64_t)tid : 0;
	bool is_new;
	uint64_t *lane = map_add(lanes, (uint64_t)key, &is_new);

	if (is_new)
		*lane = others_new_lane(others, group, SERIES_AMOUNT,
					amount_label(opts, what, tgid, tid));
	return (uint32_t)*lane;
}

static void on_program(struct others *others, const struct event *event)
{
	uint32_t lane = others_lane_of(others, OTHER_PROGRAMS, "events", &others->programs,
				       event->tid, event->time_ns);

	others_add_amount(others, lane, event->time_ns, 0);
	if (others->opts.is_live)
		put_program_event(others, lane, event);
}

/* ------------------------------------------------------------------------- CPUs */

/* In MHz, so that the sums of a year fit. CPUs stand in the order of their numbers. */
static void on_frequency(struct others *others, const struct event *event)
{
	uint32_t cpu = (uint32_t)event->frequency.cpu;
	bool is_new;
	uint64_t *lane = map_add(&others->cpus, cpu, &is_new);

	if (is_new) {
		*lane = others_new_lane(others, OTHER_FREQUENCY, SERIES_LEVEL,
					xasprintf("frequency of CPU %" PRIu32, cpu));
		if (*lane != OTHERS_NONE)
			others->lanes[*lane].weight = UINT32_MAX - cpu;
	}
	others_set(others, (uint32_t)*lane, event->time_ns, (event->frequency.khz + 500) / 1000);
}

static bool is_of_program(const struct others *others, const struct event *event)
{
	const struct facts *facts = others->opts.facts;

	return event->context & EV_CTX_USER || event->other.is_probe ||
	       (facts && facts->only_programs);
}

void others_feed(struct others *others, const struct event *event)
{
	switch ((enum event_type)event->type) {
	case EV_BLOCK_ISSUE:
		on_issue(others, event);
		break;
	case EV_BLOCK_COMPLETE:
		on_complete(others, event);
		break;
	case EV_NET_QUEUE:
	case EV_NET_RECEIVE:
		on_packet(others, event);
		break;
	case EV_CPU_FREQUENCY:
		on_frequency(others, event);
		break;
	case EV_LOCK_BEGIN:
	case EV_LOCK_END:
	case EV_FD_NAME:
		others_locks_kernel(others->locks, event);
		break;
	case EV_OTHER:
		if (is_of_program(others, event))
			on_program(others, event);
		break;
	case EV_LOST:
		if (event->context & EV_CTX_USER)
			break;
		forget_requests(others, event->time_ns);
		others_locks_lost(others->locks, event->time_ns);
		break;
	default:
		break;
	}
}

/* ----------------------------------------------------------------------- models */

struct moment {
	uint64_t ns;
	int32_t by;
};

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->by - y->by;
}

/* How many of the lane's spans are under way: its series. */
static void level_spans(struct others *others, uint32_t index)
{
	const struct other_lane *lane = &others->lanes[index];
	size_t count = lane->span_count, at = 0;
	AUTO_FREE struct moment *moments = xcalloc(2 * count + 1, sizeof(*moments));
	uint32_t level = 0;

	for (size_t i = 0; i < count; i++) {
		struct other_span *span = &lane->spans[i];

		if (span->end_ns <= span->start_ns) /* at a moment: it is seen as a nanosecond */
			span->end_ns = span->start_ns + 1;
		moments[at++] = (struct moment){ span->start_ns, 1 };
		moments[at++] = (struct moment){ span->end_ns, -1 };
	}
	if (at)
		qsort(moments, at, sizeof(*moments), compare_moments);
	for (size_t i = 0; i < at; i++) {
		level += (uint32_t)moments[i].by;
		others_set(others, index, moments[i].ns, level);
	}
}

/* "instance 3, order 7: valid" */
static char *instance_text(uint64_t number, const char *key, const char *what)
{
	return xasprintf("instance %" PRIu64 "%s%s: %s", number, key && key[0] ? ", " : "",
			 key ? key : "", what ? what : "");
}

static void put_instances(struct others *others, uint32_t lane, const struct check_result *result)
{
	for (size_t i = 0; i < result->list_count; i++) {
		const struct check_instance *instance = &result->list[i];
		AUTO_FREE char *text =
			instance_text(instance->number, instance->key,
				      check_status_name((enum check_status)instance->status));
		const struct other_span span = {
			.start_ns = instance->begin_ns,
			.end_ns = instance->end_ns,
			.tid = instance->tid,
			.text = names_add(&others->names, text, TEXT_BYTES),
			.what = OTHER_INSTANCE,
		};

		others_put_span(others, lane, &span);
	}
}

/* NULL: no constraint is behind it. */
static const char *constraint_text(const struct model *model, const struct check_finding *finding)
{
	const struct model_transition *transition;

	if (finding->transition >= model->transition_count)
		return NULL;
	transition = &model->transitions[finding->transition];
	return finding->constraint < transition->constraint_count
		       ? transition->constraints[finding->constraint].text
		       : NULL;
}

static void put_findings(struct others *others, uint32_t lane, const struct check_result *result,
			 others_reason *reason_of)
{
	for (size_t i = 0; i < result->finding_count; i++) {
		const struct check_finding *finding = &result->findings[i];
		const char *constraint = constraint_text(result->model, finding);
		AUTO_FREE char *reason = constraint ? NULL : reason_of(result, finding);
		AUTO_FREE char *text = instance_text(finding->instance, finding->key,
						     constraint ? constraint : reason);
		const struct other_span span = {
			.start_ns = finding->start_ns,
			.end_ns = finding->end_ns,
			.tid = finding->tid > 0 ? finding->tid : 0,
			.text = names_add(&others->names, text, TEXT_BYTES),
			.what = OTHER_VIOLATION,
		};

		if (finding->status == CHECK_INVALID)
			others_put_span(others, lane, &span);
	}
}

void others_add_model(struct others *others, const struct check_result *result,
		      others_reason *reason_of)
{
	uint32_t violations = others_new_lane(others, OTHER_MODEL, SERIES_LEVEL,
					      xasprintf("violations of %s", result->model->name));
	uint32_t instances = others_new_lane(others, OTHER_MODEL, SERIES_LEVEL,
					     xasprintf("instances of %s", result->model->name));

	put_findings(others, violations, result, reason_of);
	put_instances(others, instances, result);
	level_spans(others, violations);
	level_spans(others, instances);
	others->lanes[violations].weight = 1; /* it stands first */
}

/* --------------------------------------------------------------------- pressure */

static bool is_of(const struct recorded_pressure *row, const char *resource)
{
	return !row->cgroup[0] && strcmp(row->resource, resource) == 0;
}

/* Some task was stalled so long since 'first'; all that could have run were, at once. False: totals only grow. */
static bool pressure_since(const struct recorded_pressure *first,
			   const struct recorded_pressure *row, uint64_t *out_some_ns,
			   uint64_t *out_full_ns)
{
	*out_full_ns = row->full_ns - first->full_ns;
	*out_some_ns = row->has_some ? row->some_ns - first->some_ns : *out_full_ns;
	return row->time_ns >= first->time_ns && row->full_ns >= first->full_ns &&
	       (!row->has_some || row->some_ns >= first->some_ns) && *out_some_ns >= *out_full_ns;
}

/* Where totals shrink they are none. Returns the first row; NULL = nothing can be told. */
static const struct recorded_pressure *first_pressure(const struct recorded *recorded,
						      const char *resource)
{
	const struct recorded_pressure *first = NULL, *last = NULL;
	uint64_t some_ns, full_ns;

	for (size_t i = 0; i < recorded->pressure_count; i++) {
		const struct recorded_pressure *row = &recorded->pressures[i];

		if (!is_of(row, resource))
			continue;
		if (last && !pressure_since(last, row, &some_ns, &full_ns))
			return NULL;
		first = first ? first : row;
		last = row;
	}
	return first == last ? NULL : first;
}

static void add_pressure(struct others *others, const struct recorded *recorded,
			 const char *resource, const char *label)
{
	const struct recorded_pressure *first = first_pressure(recorded, resource);
	uint32_t lane;

	if (!first)
		return;
	lane = others_new_lane(others, OTHER_PRESSURE, SERIES_STATES, xstrdup(label));
	for (size_t i = 0; i < recorded->pressure_count; i++) {
		const struct recorded_pressure *row = &recorded->pressures[i];
		uint64_t sums[SERIES_SUMS] = { 0 };

		if (!is_of(row, resource))
			continue;
		(void)pressure_since(first, row, &sums[0], &sums[1]);
		sums[0] -= sums[1];
		series_put(&others->lanes[lane].series, row->time_ns, sums);
	}
}

void others_add_pressure(struct others *others, const struct recorded *recorded)
{
	static const char *const resources[][2] = {
		{ "cpu", "CPU" },
		{ "memory", "memory" },
		{ "io", "I/O" },
		{ "irq", "interrupts" },
	};

	for (size_t i = 0; i < ARRAY_LEN(resources); i++)
		add_pressure(others, recorded, resources[i][0], resources[i][1]);
}

/* ---------------------------------------------------------------------- the end */

ORDER_FUNCTION(compare_lanes, struct other_lane, ORDER_UP(group), ORDER_DOWN(weight),
	       ORDER_TEXT(label));

void others_end(struct others *others, uint64_t end_ns)
{
	for (size_t i = 0; i < others->flight.cap; i++) {
		if (others->flight.used[i])
			end_request(others, (uint32_t)others->flight.slots[i].value, end_ns);
	}
	others_locks_end(others->locks, end_ns);
	for (size_t i = 0; i < others->lane_count; i++) {
		struct other_lane *lane = &others->lanes[i];

		series_end(&lane->series, end_ns);
		if (lane->span_count)
			qsort(lane->spans, lane->span_count, sizeof(*lane->spans), compare_begins);
	}
	if (others->lane_count)
		qsort(others->lanes, others->lane_count, sizeof(*others->lanes), compare_lanes);
}

void others_look(struct others *others, uint64_t now_ns)
{
	others_locks_name(others->locks);
	for (size_t i = 0; i < others->lane_count; i++)
		series_end(&others->lanes[i].series, now_ns);
}

size_t others_count(const struct others *others)
{
	return others->lane_count;
}

const struct other_lane *others_lane(const struct others *others, size_t index)
{
	return &others->lanes[index];
}

const char *others_text(const struct others *others, uint32_t text)
{
	return names_text(&others->names, text);
}

uint64_t others_left_out(const struct others *others, enum other_group group)
{
	return others->left_out[group];
}
