/*
 * check.c - events take transitions of instances.
 *
 *	event -> patterns it matches -> key -> instances -> transition: check, set, start
 *
 * Cost of an event: one look-up for each pattern whose name it has, and one for its key; of a
 * transition: one walk over the sums of its thread and one evaluation for each constraint.
 */
#include "analyse/check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check_int.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/event.h"

#define OPEN_BYTES   ((size_t)96 << 20)
#define FINDINGS_MAX 10000u /* of each status */
#define KEY_TEXT_MAX 64u

const char *check_status_name(enum check_status status)
{
	static const char *const names[] = { "valid", "uncertain", "invalid" };

	return names[status];
}

/* ------------------------------------------------------------ made and freed */

static void init_result(struct check *check)
{
	const struct model *model = check->model;
	struct check_result *result = &check->result;

	result->model = model;
	result->matched = xcalloc(model->pattern_count + 1, sizeof(*result->matched));
	result->transitions = xcalloc(model->transition_count, sizeof(*result->transitions));
	for (uint32_t i = 0; i < model->transition_count; i++) {
		const struct model_transition *transition = &model->transitions[i];

		result->transitions[i].constraints =
			xcalloc(transition->constraint_count + 1, sizeof(struct check_constraint));
	}
}

struct check *check_new(const struct model *model, const struct check_opts *opts)
{
	struct check *check = xcalloc(1, sizeof(*check));

	check->model = model;
	check->opts = *opts;
	check_metrics_init(&check->metrics, model, opts);
	check->now.values = xcalloc(model->metric_count + 1, sizeof(uint64_t));
	check->other.values = xcalloc(model->metric_count + 1, sizeof(uint64_t));
	check_instances_init(check, opts->open_bytes ? opts->open_bytes : OPEN_BYTES);
	check->seed = 1;
	init_result(check);
	check_plan_init(check);
	check->phases = check_phases_new(model);
	return check;
}

void check_free(struct check *check)
{
	if (!check)
		return;
	check_instances_fini(check);
	check_plan_fini(check);
	check_phases_free(check->phases);
	map_fini(&check->unexpected);
	check_metrics_fini(&check->metrics);
	free(check->now.values);
	free(check->other.values);
	check_result_fini(&check->result);
	free(check);
}

/* What an event says of the instance that it is about. */
struct key {
	uint64_t value;
	const char *text; /* NULL = a number */
	size_t bytes;
	uint32_t slot; /* thread of the event */
};

static struct instance *begin_instance(struct check *check, const struct event *event,
				       const struct key *key)
{
	struct instance *instance = check_instance_add(check, key->value, event->time_ns);

	if (key->text)
		instance->key_text =
			xstrndup(key->text, key->bytes < KEY_TEXT_MAX ? key->bytes : KEY_TEXT_MAX);
	instance->slot = key->slot;
	instance->tid = event->tid;
	return instance;
}

/* ----------------------------------------------------------------- findings */

static struct check_finding *add_finding(struct check *check, const struct instance *instance,
					 enum check_status status)
{
	struct check_result *result = &check->result;
	struct check_finding *finding;

	if (check->found[status] >= FINDINGS_MAX) {
		result->findings_left_out[status]++;
		return NULL;
	}
	check->found[status]++;
	result->findings = vec_room(result->findings, result->finding_count, &result->finding_cap,
				    sizeof(*result->findings));
	finding = &result->findings[result->finding_count++];
	*finding = (struct check_finding){
		.status = (uint8_t)status,
		.instance = instance->number,
		.key = check_instance_key(instance),
		.transition = NONE,
		.constraint = NONE,
		.state = instance->state,
		.start_ns = instance->entered_ns,
		.slot = instance->slot,
		.tid = instance->tid,
		.grown = NONE,
	};
	return finding;
}

static void worsen(uint8_t *status, enum check_status other)
{
	if (other > *status)
		*status = (uint8_t)other;
}

/* A finding that no constraint is behind. */
void check_find(struct check *check, struct instance *instance, enum check_status status,
		uint64_t time_ns, struct check_reason reason)
{
	struct check_finding *finding = add_finding(check, instance, status);

	worsen(&instance->status, status);
	if (!finding)
		return;
	finding->end_ns = time_ns;
	finding->reason = reason;
}

/* --------------------------------------------------------------- transitions */

/* A transition that is being taken. */
struct step {
	struct check *check;
	struct instance *instance;
	const struct event *event;
	const struct key *key;
	uint32_t index;
	const struct model_transition *transition;
	struct check_transition *result;
	struct check_eval eval;
	enum check_status status;
};

void check_sums_at(struct check *check, uint32_t slot, int32_t tid, uint64_t time_ns,
		   struct check_sums *sums)
{
	if (sums->known && sums->slot == slot && sums->tid == tid && sums->time_ns == time_ns)
		return;
	check_metrics_at(&check->metrics, slot, tid, time_ns, sums);
}

static struct check_reason reason_of(const struct step *step, bool is_range)
{
	if (step->instance->is_guess)
		return (struct check_reason){ REASON_GUESS };
	return is_range ? step->eval.reason : (struct check_reason){ REASON_NONE };
}

static void check_constraint(struct step *step, uint32_t index)
{
	const struct model_constraint *constraint = &step->transition->constraints[index];
	struct eval_range left, right;
	enum check_status status = check_eval_constraint(&step->eval, constraint, &left, &right);
	struct check_finding *finding;

	if (step->instance->is_guess) {
		left = right = (struct eval_range){ -INFINITY, INFINITY };
		status = CHECK_UNCERTAIN;
	}
	step->result->constraints[index].count[status]++;
	if (status > step->status)
		step->status = status;
	if (status == CHECK_VALID)
		return;
	finding = add_finding(step->check, step->instance, status);
	if (!finding)
		return;
	finding->transition = step->index;
	finding->constraint = index;
	finding->left = (struct check_range){ (double)left.low, (double)left.high };
	finding->right = (struct check_range){ (double)right.low, (double)right.high };
	finding->reason = reason_of(step, status == CHECK_UNCERTAIN || left.low != left.high);
	finding->start_ns = check_eval_start(&step->eval, constraint);
	finding->end_ns = step->event->time_ns;
}

static void note_value(struct step *step, struct check_value *value)
{
	struct check_eval *eval = &step->eval;
	uint64_t exact;
	double told;

	if (!eval->variables[value->variable].is_set)
		return;
	if (step->instance->is_guess) {
		value->uncertain++;
		return;
	}
	if (check_eval_exact(eval, value->variable, &exact)) {
		told = (double)exact;
	} else {
		struct eval_range range = check_eval_variable(eval, value->variable);

		if (range.low != range.high) {
			value->uncertain++;
			return;
		}
		told = (double)range.low;
	}
	if (!value->stats.count || told > value->stats.max) {
		value->worst_instance = step->instance->number;
		free(value->worst_key);
		value->worst_key = check_instance_key(step->instance);
	}
	check_stats_add(&value->stats, told);
}

/* Algorithm R: each valid span has the same chance to be kept. */
static void keep_sample(struct step *step)
{
	struct check_transition *result = step->result;
	uint64_t seen = result->count[CHECK_VALID], place = seen;

	if (seen >= CHECK_SAMPLES) {
		step->check->seed = step->check->seed * 6364136223846793005u + 1442695040888963407u;
		place = (step->check->seed >> 33) % (seen + 1);
	}
	if (place >= CHECK_SAMPLES)
		return;
	result->samples[place] =
		(struct check_span){ step->instance->entered_ns, step->event->time_ns,
				     step->instance->slot, step->instance->tid };
	if (result->sample_count < CHECK_SAMPLES)
		result->sample_count++;
}

/* Events were lost that could have been this instance's. */
void check_find_lost_way(struct check *check, struct instance *instance, uint64_t time_ns)
{
	check_find(check, instance, CHECK_UNCERTAIN, time_ns, (struct check_reason){ REASON_LOST });
}

bool check_has_lost_way(const struct check *check, const struct instance *instance,
			uint64_t time_ns)
{
	struct check_eval eval = { .metrics = &check->metrics, .time_ns = time_ns };
	uint64_t until_ns;

	return check_eval_lost_way(&eval, instance->entered_ns, &until_ns);
}

static void check_way(struct step *step)
{
	struct instance *instance = step->instance;

	if (!instance->transitions ||
	    !check_has_lost_way(step->check, instance, step->event->time_ns))
		return;
	check_find_lost_way(step->check, instance, step->event->time_ns);
	if (step->status < CHECK_UNCERTAIN)
		step->status = CHECK_UNCERTAIN;
}

static void check_step(struct step *step)
{
	for (uint32_t i = 0; i < step->transition->constraint_count; i++)
		check_constraint(step, i);
	check_way(step);
	if (step->instance->is_guess && step->status < CHECK_UNCERTAIN)
		step->status = CHECK_UNCERTAIN;
	for (uint32_t i = 0; i < step->result->value_count; i++)
		note_value(step, &step->result->values[i]);
	if (step->status == CHECK_VALID && step->transition->constraint_count)
		keep_sample(step);
	step->result->taken++;
	step->result->count[step->status]++;
	worsen(&step->instance->status, step->status);
}

static void set_values(struct step *step)
{
	for (uint32_t i = 0; i < step->transition->set_count; i++) {
		const struct model_set *set = &step->transition->sets[i];
		struct check_variable *variable = &step->instance->variables[set->variable];
		struct eval_range range;

		step->eval.constraint = NULL;
		range = check_eval_expr(&step->eval, &set->value);
		variable->is_set = true;
		variable->is_known = range.low == range.high;
		variable->value = range.low;
		variable->start_ns = step->event->time_ns;
	}
}

static void start_variable(struct step *step, uint32_t index, const struct check_sums *sums)
{
	struct check_variable *variable = &step->instance->variables[index];
	const struct model *model = step->check->model;
	uint32_t metric = model->variables[index].metric;

	variable->is_set = true;
	variable->base = sums->values[metric];
	variable->base_unsure_ns = sums->unsure_ns;
	variable->base_blurred_ns = check_sums_blurred(sums, model->metrics[metric].kind);
	variable->base_rss_jump = sums->rss_jump;
	variable->base_untold_ns = sums->untold_ns;
	variable->start_ns = step->event->time_ns;
}

void check_move_variables(const struct check *check, struct instance *instance,
			  const struct check_sums *from, const struct check_sums *to)
{
	const struct model *model = check->model;

	for (uint32_t i = 0; i < model->variable_count; i++) {
		struct check_variable *variable = &instance->variables[i];
		uint32_t metric = model->variables[i].metric;
		enum metric_kind kind;

		if (!model->variables[i].is_metric || !variable->is_set)
			continue;
		kind = model->metrics[metric].kind;
		variable->base = to->values[metric] - (from->values[metric] - variable->base);
		variable->base_unsure_ns =
			to->unsure_ns - (from->unsure_ns - variable->base_unsure_ns);
		variable->base_blurred_ns =
			check_sums_blurred(to, kind) -
			(check_sums_blurred(from, kind) - variable->base_blurred_ns);
		variable->base_untold_ns =
			to->untold_ns - (from->untold_ns - variable->base_untold_ns);
		/* Of whom nothing was told, what it was before is not known either. */
		variable->base_rss_jump =
			to->rss_jump - !from->has_rss - (from->rss_jump - variable->base_rss_jump);
	}
}

static void start_variables(struct step *step)
{
	struct check *check = step->check;
	const struct check_plan *plan = &check->plans[step->index];
	const struct check_sums *sums = &check->now;
	uint64_t time_ns = step->event->time_ns;
	uint32_t slot = step->key->slot;
	int32_t tid = step->event->tid;
	bool moves =
		check->has_sums && (slot != step->instance->slot || tid != step->instance->tid);

	if (moves || plan->starts)
		check_sums_at(check, step->instance->slot, step->instance->tid, time_ns,
			      &check->now);
	if (moves) {
		check_sums_at(check, slot, tid, time_ns, &check->other);
		check_move_variables(check, step->instance, &check->now, &check->other);
		sums = &check->other;
	}
	for (uint32_t i = 0; i < step->transition->start_count; i++)
		start_variable(step, step->transition->starts[i], sums);
	for (uint32_t i = 0; i < plan->auto_count; i++)
		start_variable(step, plan->autos[i], sums);
}

/* The states "final" and, once left, "initial" end an instance. */
static void enter_state(struct step *step)
{
	struct check *check = step->check;
	struct instance *instance = step->instance;

	instance->state = step->transition->to;
	instance->entered_ns = instance->known_ns = step->event->time_ns;
	instance->slot = step->key->slot;
	instance->tid = step->event->tid;
	instance->transitions++;
	if (check->model->states[instance->state].is_final ||
	    instance->state == check->model->initial) {
		check_instance_end(check, instance, CHECK_ENDED, step->event->time_ns);
		return;
	}
	check_instance_renew(check, instance);
}

static void edge_take(struct check *check, struct instance *instance, uint32_t index,
		      const struct event *event, const struct key *key)
{
	struct step step = {
		.check = check,
		.instance = instance,
		.event = event,
		.key = key,
		.index = index,
		.transition = &check->model->transitions[index],
		.result = &check->result.transitions[index],
	};

	if (check->plans[index].asks)
		check_sums_at(check, instance->slot, instance->tid, event->time_ns, &check->now);
	step.eval = (struct check_eval){
		.metrics = &check->metrics,
		.reader = &check->opts.reader,
		.event = event,
		.variables = instance->variables,
		.now = &check->now,
		.time_ns = event->time_ns,
		.slot = instance->slot,
		.entered_ns = instance->entered_ns,
	};
	check_step(&step);
	set_values(&step);
	start_variables(&step);
	enter_state(&step);
}

/* -------------------------------------------------------------------- events */

static void unexpected(struct check *check, struct instance *instance, uint32_t state,
		       uint32_t pattern, const struct event *event)
{
	uint64_t key = (uint64_t)state << 32 | pattern;
	uint64_t *count = map_find(&check->unexpected, key);

	if (count)
		++*count;
	else
		map_put(&check->unexpected, key, 1);
	if (!check->model->is_strict || !instance)
		return;
	if (instance->is_guess)
		return;
	if (check_has_lost_way(check, instance, event->time_ns)) {
		check_find_lost_way(check, instance, event->time_ns);
		return;
	}
	check_find(check, instance, CHECK_INVALID, event->time_ns,
		   (struct check_reason){ REASON_UNEXPECTED, .index = pattern });
}

static bool field_key(struct check *check, uint32_t field, struct key *out_key)
{
	struct check_field value;

	if (!check->opts.reader.field(check->opts.reader.context, field, &value))
		return false;
	if (value.is_text) {
		out_key->text = value.text;
		out_key->bytes = value.bytes;
		out_key->value = hash_bytes(value.text, value.bytes, 1);
	} else if (value.number >= -9.2e18L && value.number <= 1.8e19L) {
		out_key->value =
			value.number < 0 ? (uint64_t)(int64_t)value.number : (uint64_t)value.number;
	} else {
		return false;
	}
	return true;
}

static bool make_key(struct check *check, uint32_t pattern, const struct event *event,
		     struct key *out_key)
{
	const struct model_pattern *row = &check->model->patterns[pattern];
	const struct timeline *timeline = check->opts.timeline;

	*out_key = (struct key){ .slot = SLOT_NONE };
	if (timeline && event->tid >= 0)
		out_key->slot = timeline_find_thread(timeline, event->tid, event->time_ns);
	switch (row->key) {
	case KEY_THREAD:
		out_key->value = (uint64_t)(int64_t)event->tid;
		return event->tid >= 0;
	case KEY_PROCESS:
		if (out_key->slot == SLOT_NONE)
			return false;
		out_key->value = (uint64_t)timeline->threads[out_key->slot]->tgid;
		return true;
	case KEY_CPU:
		out_key->value = event->cpu;
		return true;
	case KEY_ALL:
		return true;
	default:
		return field_key(check, row->field, out_key);
	}
}

/* Let the open instances of the key take it. True when one did or was not to. */
static bool offer(struct check *check, uint32_t pattern, const struct event *event,
		  const struct key *key)
{
	struct instance *instance = check_instance_first(check, key->value), *next;
	bool is_taken = false;

	for (; instance; instance = next) {
		uint32_t index = check_next(check, instance->state, pattern);

		next = instance->same_key;
		if (instance->last_event == check->result.events) {
			is_taken = true;
			continue;
		}
		if (index == NONE)
			continue;
		is_taken = true;
		instance->last_event = check->result.events;
		edge_take(check, instance, index, event, key);
	}
	return is_taken;
}

/* No open instance took it: does it begin one? */
static void begin_or_not(struct check *check, uint32_t pattern, const struct event *event,
			 const struct key *key)
{
	struct instance *first = check_instance_first(check, key->value);
	uint32_t index = check_next(check, check->model->initial, pattern);

	if (index == NONE || (first && !check->model->is_overlap)) {
		check_phase_stray(check, pattern);
		unexpected(check, first, first ? first->state : check->model->initial, pattern,
			   event);
		return;
	}
	first = begin_instance(check, event, key);
	first->last_event = check->result.events;
	edge_take(check, first, index, event, key);
}

/* ------------------------------------------------- events where some were lost */

/* Which way it went is not known: it is uncertain, and so is all that is found from now on. */
static void doubt(struct check *check, struct instance *instance, uint64_t time_ns)
{
	if (instance->is_guess)
		return;
	instance->is_guess = true;
	check_find(check, instance, CHECK_UNCERTAIN, time_ns,
		   (struct check_reason){ REASON_LOST_TRACK });
}

static void lose_track(struct check *check, struct instance *instance, uint64_t time_ns)
{
	check_find_lost_way(check, instance, time_ns);
	check_instance_end(check, instance, CHECK_OPEN, time_ns);
}

/* The event begins an instance, if it is not one of another that is not known of. */
static struct instance *begin_in_doubt(struct check *check, uint32_t pattern,
				       const struct event *event, const struct key *key,
				       bool is_sure)
{
	struct instance *instance = begin_instance(check, event, key);

	instance->last_event = check->result.events;
	if (!is_sure)
		doubt(check, instance, event->time_ns);
	edge_take(check, instance, check_next(check, check->model->initial, pattern), event, key);
	return check_instance_first(check, key->value);
}

/* Of the states that the key may be in, the engine follows one: it goes on as long as that may be. */
static struct instance *instance_follow(struct check *check, uint32_t pattern,
					const struct event *event, const struct key *key,
					const struct check_ways *ways)
{
	struct instance *instance = check_instance_first(check, key->value);
	uint32_t index;

	if (instance && !ways->has_believed) {
		lose_track(check, instance, event->time_ns);
		instance = NULL;
	}
	index = check_next(check, instance ? instance->state : check->model->initial, pattern);
	if (instance && instance->last_event == check->result.events)
		return instance;
	if (!instance && index != NONE && ways->has_initial)
		return begin_in_doubt(check, pattern, event, key, ways->count == 1);
	if (instance && (ways->count > 1 && ways->takers))
		doubt(check, instance, event->time_ns);
	if (instance && index != NONE) {
		instance->last_event = check->result.events;
		edge_take(check, instance, index, event, key);
		return check_instance_first(check, key->value);
	}
	if (!ways->takers && instance && check->model->is_strict)
		doubt(check, instance, event->time_ns);
	return instance;
}

static void match_one(struct check *check, uint32_t pattern, const struct event *event,
		      const struct key *key)
{
	struct instance *instance = check_instance_first(check, key->value);
	uint32_t set = check_phase_at(check, key->value, instance, event->time_ns);
	struct check_coming coming = {
		.pattern = pattern,
		.believed = instance ? instance->state : check->model->initial,
		.is_alone = check->is_alone,
	};
	struct check_ways ways;

	if (set == PHASE_BELIEVED) {
		if (!offer(check, pattern, event, key))
			begin_or_not(check, pattern, event, key);
		instance = check_instance_first(check, key->value);
	} else {
		check_phase_step(check, &coming, set, &ways);
		instance = instance_follow(check, pattern, event, key, &ways);
		set = check_phase_after(check, instance ? instance->state : check->model->initial);
	}
	check_phase_keep(check, key->value, instance, set, event->time_ns);
}

/* Instances that events of theirs may be missing of are among those that are not known of. */
static bool lose_some(struct check *check, const struct key *key, uint64_t time_ns)
{
	struct instance *instance = check_instance_first(check, key->value), *next;
	bool is_lost = false;

	for (; instance; instance = next) {
		next = instance->same_key;
		if (!check_has_lost_way(check, instance, time_ns))
			continue;
		is_lost = true;
		lose_track(check, instance, time_ns);
	}
	return is_lost;
}

static void match_overlap(struct check *check, uint32_t pattern, const struct event *event,
			  const struct key *key)
{
	uint32_t set = check_phase_at(check, key->value, NULL, event->time_ns);
	struct check_coming coming = {
		.pattern = pattern,
		.believed = check->model->initial,
		.is_alone = check->is_alone,
		.is_overlap = true,
	};
	bool begins = check_next(check, check->model->initial, pattern) != NONE, is_sure;
	uint64_t dropped = check->result.dropped;
	struct check_ways ways;

	if (lose_some(check, key, event->time_ns))
		set = PHASE_ANY;
	/* By another name of the event it may have begun one that is not known of. */
	is_sure = set == PHASE_BELIEVED ||
		  (check->is_alone && !check_phase_may_take(check, set, pattern));
	if (offer(check, pattern, event, key))
		is_sure = true;
	else if (is_sure && (begins || set == PHASE_BELIEVED))
		begin_or_not(check, pattern, event, key);
	else if (begins)
		lose_track(check, begin_instance(check, event, key), event->time_ns);
	else if (check->model->is_strict && check_instance_first(check, key->value))
		check_find_lost_way(check, check_instance_first(check, key->value), event->time_ns);
	/* What was given up for the new one may be of this key. */
	if (check->result.dropped != dropped)
		set = PHASE_ANY;
	coming.is_known = is_sure;
	check_phase_step(check, &coming, set, &ways);
	check_phase_keep(check, key->value, NULL, check_phase_after(check, coming.believed),
			 event->time_ns);
}

static void match(struct check *check, uint32_t pattern, const struct event *event)
{
	const struct check_reader *reader = &check->opts.reader;
	struct key key;

	if (check->model->patterns[pattern].filter && !reader->passes(reader->context, pattern))
		return;
	check->result.matched[pattern]++;
	check->metrics.took[(event->context & EV_CTX_USER) != 0] = true;
	if (!make_key(check, pattern, event, &key)) {
		check->result.no_key++;
		return;
	}
	if (!check_phase_in_doubt(check)) {
		if (!offer(check, pattern, event, &key))
			begin_or_not(check, pattern, event, &key);
	} else if (check->model->is_overlap) {
		match_overlap(check, pattern, event, &key);
	} else {
		match_one(check, pattern, event, &key);
	}
}

static bool matches_one(const struct check *check, const uint32_t *patterns, uint32_t count)
{
	const struct check_reader *reader = &check->opts.reader;
	uint32_t matching = 0;

	for (uint32_t i = 0; i < count; i++)
		matching += !check->model->patterns[patterns[i]].filter ||
			    reader->passes(reader->context, patterns[i]);
	return matching == 1;
}

static void note_hole(struct check *check, const struct event *event)
{
	bool is_user = event->context & EV_CTX_USER;

	check->result.lost += event->lost.count ? event->lost.count : 1;
	check->metrics.holes[is_user].last_ns = event->time_ns;
	check->metrics.has_holes = true;
}

/* A number of a thread may be used again: nothing goes on in the next one. */
static void end_thread(struct check *check, const struct event *event)
{
	struct instance *instance = check_instance_first(check, (uint64_t)(int64_t)event->task.tid),
			*next;

	for (; instance; instance = next) {
		next = instance->same_key;
		if (instance->key_text)
			continue;
		if (check_has_lost_way(check, instance, event->time_ns))
			check_find_lost_way(check, instance, event->time_ns);
		check_instance_end(check, instance, CHECK_OPEN, event->time_ns);
	}
	if (check_phase_in_doubt(check))
		check_phase_keep(check, (uint64_t)(int64_t)event->task.tid, NULL, PHASE_BELIEVED,
				 event->time_ns);
}

void check_feed(struct check *check, const struct event *event, const uint32_t *patterns,
		uint32_t count)
{
	check->result.events++;
	if (event->type == EV_LOST) {
		note_hole(check, event);
		return;
	}
	check->now.known = check->other.known = false;
	check_metrics_count(&check->metrics, event);
	check->is_alone =
		count && check_phase_in_doubt(check) && matches_one(check, patterns, count);
	for (uint32_t i = 0; i < count; i++)
		match(check, patterns[i], event);
	if (event->type == EV_SCHED_EXIT && check->metrics.is_one_thread)
		end_thread(check, event);
}

const struct check_result *check_result(const struct check *check)
{
	return &check->result;
}
