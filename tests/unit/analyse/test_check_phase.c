/*
 * What is certain in spite of lost events is true: by hand, and random models over random streams
 * of which random parts are lost, against the machine written down once more over all events.
 *
 * Events "a/1" are of the key 1. Some come in a state that does not expect them: before the first
 * loss all of that kind have done so once, as the check counts on.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check_live.h"
#include "check_run.h"

#define STATES 5
#define EVENTS 4
#define ANY    EVENTS /* a pattern that matches each of them */
#define NAMES  (EVENTS + 1)
#define KEYS   4
#define STEPS  160
#define EARLY  60 /* steps before anything is lost */
#define OPEN   (STEPS + 1)

/* ------------------------------------------------------------------- models */

struct machine {
	uint32_t states;
	bool is_overlap, is_strict;
	bool is_final[STATES];
	int8_t to[STATES][NAMES]; /* -1 = none */
	bool restarts[STATES][NAMES];
	uint32_t limit[STATES][NAMES], limit_all[STATES][NAMES];
	uint32_t order[NAMES], name_count; /* as the model names them first */
	bool has_any;
};

static const char *const names[NAMES] = { "a", "b", "c", "d", "any" };

static uint64_t seeded;

static uint32_t dice(uint32_t below)
{
	seeded = seeded * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seeded >> 33) % below);
}

static void note_order(struct machine *machine)
{
	bool is_there[NAMES] = { false };

	for (uint32_t s = 0; s < machine->states; s++) {
		for (uint32_t e = 0; e < NAMES; e++) {
			if (machine->to[s][e] >= 0 && !is_there[e])
				machine->order[machine->name_count++] = e;
			is_there[e] |= machine->to[s][e] >= 0;
		}
	}
	machine->has_any = is_there[ANY];
}

static struct machine random_machine(void)
{
	struct machine machine = { .states = 2 + dice(STATES - 1),
				   .is_overlap = dice(4) == 0,
				   .is_strict = dice(4) == 0,
				   .has_any = dice(4) == 0 };

	for (uint32_t s = 0; s < machine.states; s++) {
		machine.is_final[s] = s > 1 && dice(5) == 0;
		for (uint32_t e = 0; e < NAMES; e++) {
			bool is_used = (dice(100) < (s ? 45 : 30) || (!s && e == 0)) &&
				       (e != ANY || machine.has_any);

			machine.to[s][e] = -1;
			if (!is_used || machine.is_final[s])
				continue;
			machine.to[s][e] = (int8_t)dice(machine.states);
			/* An instance that is over as it begins is of no use. */
			if (!s)
				machine.to[s][e] = 1;
			machine.restarts[s][e] = !s || dice(4) == 0;
			machine.limit[s][e] = 5 + dice(80);
			machine.limit_all[s][e] = 5 + dice(150);
		}
	}
	note_order(&machine);
	return machine;
}

static char *append(char *text, char *more)
{
	char *longer = xasprintf("%s%s", text, more);

	free(text);
	free(more);
	return longer;
}

static struct model *model_of_machine(const struct machine *machine)
{
	char *text = xasprintf("model: m\nkey: n\ninitial: s0\nstrict: %s\ninstances: %s\n"
			       "variables: { all: elapsed }\nstates:\n",
			       machine->is_strict ? "true" : "false",
			       machine->is_overlap ? "overlap" : "one");
	struct model *model;

	for (uint32_t s = 0; s < machine->states; s++) {
		bool any = false;

		text = append(text, xasprintf("  s%u:%s\n", s,
					      machine->is_final[s] ? " { final: true }" : ""));
		for (uint32_t e = 0; e < NAMES; e++) {
			if (machine->to[s][e] < 0)
				continue;
			text = append(text,
				      xasprintf("%s      - event: %s\n        to: s%d\n%s",
						any ? "" : "    transitions:\n", names[e],
						machine->to[s][e],
						machine->restarts[s][e] ? "        start: [all]\n"
									: ""));
			if (s)
				text = append(text, xasprintf("        check: [ elapsed <= %uns, "
							      "all <= %uns ]\n",
							      machine->limit[s][e],
							      machine->limit_all[s][e]));
			any = true;
		}
		if (!any && !machine->is_final[s])
			text = append(text, xasprintf("    may_end: true\n"));
	}
	model = model_of(text);
	free(text);
	return model;
}

/* -------------------------------------------------------------------- the twin */

struct life {
	uint32_t key, state;
	uint64_t begin_ns, entered_ns, all_ns, end_ns;
	uint64_t last_ns; /* of the event that it took last */
	bool is_over, is_invalid;
};

/* A limit that was looked at when a transition was taken. */
struct look {
	uint32_t key, from, event, limit;
	uint64_t time_ns;
	bool is_kept;
};

struct truth {
	const struct machine *machine;
	struct life lives[OPEN];
	uint32_t life_count;
	struct look *looks; /* owned */
	size_t look_count, look_cap;
};

static void look(struct truth *truth, struct life *life, uint32_t event, uint64_t time_ns,
		 uint32_t limit)
{
	const struct machine *machine = truth->machine;
	uint64_t value = time_ns - (limit ? life->all_ns : life->entered_ns);
	uint32_t most =
		limit ? machine->limit_all[life->state][event] : machine->limit[life->state][event];

	truth->looks =
		vec_room(truth->looks, truth->look_count, &truth->look_cap, sizeof(*truth->looks));
	truth->looks[truth->look_count++] =
		(struct look){ life->key, life->state, event, limit, time_ns, value <= most };
	life->is_invalid |= value > most;
}

static void go(struct truth *truth, struct life *life, uint32_t event, uint64_t time_ns)
{
	const struct machine *machine = truth->machine;
	uint32_t to = (uint32_t)machine->to[life->state][event];

	for (uint32_t limit = 0; life->state && limit < 2; limit++)
		look(truth, life, event, time_ns, limit);
	if (machine->restarts[life->state][event])
		life->all_ns = time_ns;
	life->entered_ns = life->last_ns = time_ns;
	life->state = to;
	if (machine->is_final[to] || to == 0) {
		life->is_over = true;
		life->end_ns = time_ns;
	}
}

/* What an event does by one of its names. An instance takes it once. */
static void happen_as(struct truth *truth, uint32_t key, uint32_t event, uint64_t time_ns)
{
	const struct machine *machine = truth->machine;
	struct life *open = NULL;
	bool is_taken = false;

	for (uint32_t i = 0; i < truth->life_count; i++) {
		struct life *life = &truth->lives[i];

		if (life->is_over || life->key != key)
			continue;
		open = life;
		is_taken |= life->last_ns == time_ns;
		if (life->last_ns == time_ns || machine->to[life->state][event] < 0)
			continue;
		is_taken = true;
		go(truth, life, event, time_ns);
	}
	if (is_taken)
		return;
	if (machine->to[0][event] < 0 || (open && !machine->is_overlap)) {
		if (open && machine->is_strict)
			open->is_invalid = true;
		return;
	}
	open = &truth->lives[truth->life_count++];
	*open = (struct life){ .key = key, .begin_ns = time_ns, .entered_ns = time_ns };
	go(truth, open, event, time_ns);
}

static void happen(struct truth *truth, uint32_t key, uint32_t event, uint64_t time_ns)
{
	const struct machine *machine = truth->machine;

	for (uint32_t i = 0; i < machine->name_count; i++) {
		if (machine->order[i] == event || machine->order[i] == ANY)
			happen_as(truth, key, machine->order[i], time_ns);
	}
}

/* No way on keeps its limits. */
static void end(struct truth *truth, uint64_t end_ns)
{
	const struct machine *machine = truth->machine;

	for (uint32_t i = 0; i < truth->life_count; i++) {
		struct life *life = &truth->lives[i];
		uint32_t ways = 0, missed = 0;

		if (life->is_over)
			continue;
		life->end_ns = end_ns;
		for (uint32_t e = 0; e < NAMES; e++) {
			if (machine->to[life->state][e] < 0)
				continue;
			ways++;
			missed += end_ns - life->entered_ns > machine->limit[life->state][e] ||
				  end_ns - life->all_ns > machine->limit_all[life->state][e];
		}
		life->is_invalid |= ways && missed == ways;
	}
}

/* -------------------------------------------------------------------- streams */

static bool would_take(const struct truth *truth, uint32_t key, uint32_t event)
{
	const struct machine *machine = truth->machine;
	bool is_open = false;

	for (uint32_t i = 0; i < truth->life_count; i++) {
		const struct life *life = &truth->lives[i];

		if (life->is_over || life->key != key)
			continue;
		is_open = true;
		if (machine->to[life->state][event] >= 0)
			return true;
	}
	return machine->to[0][event] >= 0 && (!is_open || machine->is_overlap);
}

/* An event that the model does not name is none. */
static bool is_named_by(const struct machine *machine, uint32_t event)
{
	for (uint32_t s = 0; s < machine->states; s++) {
		if (machine->to[s][event] >= 0)
			return true;
	}
	return false;
}

static struct text_trace *random_stream(struct truth *truth, bool has_strays, uint32_t early_keys)
{
	struct text_trace *trace = text_trace_of("facts last 1\n");
	bool strays[EVENTS] = { false };
	uint64_t now = 10;

	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t key = dice(step < EARLY ? early_keys : KEYS), e = dice(EVENTS);
		bool is_taken = would_take(truth, key, e);
		struct event event = { .type = EV_OTHER, .cpu = (uint16_t)dice(3), .tid = 7 };

		if (!is_named_by(truth->machine, e))
			continue;
		/* One that has two names leaves no state out. */
		if (!truth->machine->has_any && !is_taken && !strays[e] &&
		    !(has_strays && step < EARLY))
			continue;
		strays[e] |= !is_taken;
		now += 1 + dice(20);
		event.time_ns = now;
		AUTO_FREE char *name = xasprintf("%s/%u", names[e], key);
		event.other = (struct ev_other){ "test", facts_keep(&trace->facts, name) };
		happen(truth, key, e, now);
		tt_add(trace, &event);
	}
	trace->facts.last_ns = now + 1 + dice(60);
	end(truth, trace->facts.last_ns);
	return trace;
}

static size_t next_on(const struct text_trace *trace, uint16_t cpu, size_t at)
{
	while (at < trace->count &&
	       (trace->events[at].cpu != cpu || trace->events[at].type == EV_LOST))
		at++;
	return at;
}

/* Some events of the stream of a CPU, from the one at 'at' on. */
static void lose(struct text_trace *trace, size_t at, uint32_t run)
{
	struct event lost = { .type = EV_LOST, .tid = -1, .context = EV_CTX_USER };
	size_t before = at;

	if (at >= trace->count || trace->events[at].type == EV_LOST)
		return;
	lost.cpu = trace->events[at].cpu;
	while (before > 0 && trace->events[before - 1].cpu != lost.cpu)
		before--;
	lost.lost.since_ns = before ? trace->events[before - 1].time_ns : 0;
	while (run-- && at < trace->count) {
		memmove(trace->events + at, trace->events + at + 1,
			(trace->count - at - 1) * sizeof(*trace->events));
		trace->count--;
		lost.lost.count++;
		at = next_on(trace, lost.cpu, at);
	}
	lost.time_ns = at < trace->count ? trace->events[at].time_ns : trace->facts.last_ns;
	tt_add(trace, &lost);
	memmove(trace->events + at + 1, trace->events + at,
		(trace->count - 1 - at) * sizeof(*trace->events));
	trace->events[at] = lost;
}

/* ----------------------------------------------------------------- compared */

static uint32_t key_of(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

static const struct life *life_of(const struct truth *truth, const struct check_instance *instance)
{
	for (uint32_t i = 0; i < truth->life_count; i++) {
		const struct life *life = &truth->lives[i];

		if (life->key == key_of(instance->key) && life->begin_ns == instance->begin_ns &&
		    life->end_ns == instance->end_ns)
			return life;
	}
	return NULL;
}

/* One that was not kept while this instance was open. */
static bool has_invalid_then(const struct truth *truth, const struct check_instance *instance)
{
	for (uint32_t i = 0; i < truth->life_count; i++) {
		const struct life *life = &truth->lives[i];

		if (life->is_invalid && life->key == key_of(instance->key) &&
		    life->begin_ns <= instance->end_ns && life->end_ns >= instance->begin_ns)
			return true;
	}
	return false;
}

static bool is_true(const struct truth *truth, const struct check_instance *instance)
{
	const struct life *life = life_of(truth, instance);

	if (instance->status == CHECK_VALID)
		return life && !life->is_invalid;
	return life ? life->is_invalid : has_invalid_then(truth, instance);
}

static bool was_looked_at(const struct truth *truth, const struct model *model,
			  const struct check_finding *finding)
{
	const struct model_transition *transition = &model->transitions[finding->transition];

	for (uint32_t i = 0; i < truth->look_count; i++) {
		const struct look *row = &truth->looks[i];

		if (row->key == key_of(finding->key) && row->time_ns == finding->end_ns &&
		    row->from == transition->from && row->limit == finding->constraint &&
		    strcmp(model->patterns[transition->pattern].name, names[row->event]) == 0 &&
		    !row->is_kept)
			return true;
	}
	return false;
}

struct counts {
	uint64_t valid, invalid, uncertain, dropped;
	uint64_t live; /* of those that are certain while it happens */
};

static void compare(const struct truth *truth, const struct run *run, uint64_t seed,
		    struct counts *counts)
{
	const struct check_result *result = check_result(run->check);

	for (size_t i = 0; i < result->list_count; i++) {
		const struct check_instance *instance = &result->list[i];

		*(instance->status == CHECK_VALID     ? &counts->valid
		  : instance->status == CHECK_INVALID ? &counts->invalid
						      : &counts->uncertain) += 1;
		if (instance->status != CHECK_UNCERTAIN && !is_true(truth, instance))
			fail_msg("seed %llu: no. %llu, key %s, %llu-%llu, is not %s",
				 (unsigned long long)seed, (unsigned long long)instance->number,
				 instance->key, (unsigned long long)instance->begin_ns,
				 (unsigned long long)instance->end_ns,
				 check_status_name((enum check_status)instance->status));
	}
	for (size_t i = 0; i < result->finding_count; i++) {
		const struct check_finding *finding = &result->findings[i];

		if (finding->status == CHECK_INVALID && finding->transition != UINT32_MAX &&
		    !was_looked_at(truth, run->model, finding))
			fail_msg(
				"seed %llu: key %s, at %llu: this limit was kept, or not asked for",
				(unsigned long long)seed, finding->key,
				(unsigned long long)finding->end_ns);
	}
	counts->dropped += result->dropped;
}

/* Without losses all is certain, and as the twin says. */
static void compare_whole(const struct truth *truth, const struct run *run, uint64_t seed)
{
	const struct check_result *result = check_result(run->check);
	struct counts counts = { 0 };

	compare(truth, run, seed, &counts);
	if (counts.uncertain || result->instances != truth->life_count)
		fail_msg("seed %llu: %llu uncertain; %llu instances, not %u",
			 (unsigned long long)seed, (unsigned long long)counts.uncertain,
			 (unsigned long long)result->instances, truth->life_count);
}

/* Behind the last loss that has begun by then. */
static size_t look_ahead(const struct text_trace *trace, uint64_t time_ns)
{
	size_t end = 0;

	for (size_t i = 0; i < trace->count; i++) {
		if (trace->events[i].type == EV_LOST && trace->events[i].lost.since_ns < time_ns)
			end = i + 1;
	}
	return end;
}

/* As watch does: it reads ahead, but not to the end. */
static void run_ahead(struct run *run)
{
	struct text_trace *trace = run->told->trace;
	struct check_opts opts = { .reader = { .context = run, .field = run_field },
				   .facts = &trace->facts,
				   .missing = run->missing };
	size_t ahead = 0;

	run->check = check_new(run->model, &opts);
	for (size_t i = 0; i < trace->count; i++) {
		struct event event = trace->events[i];
		uint32_t patterns[16], count = 0;

		for (size_t end = look_ahead(trace, event.time_ns); ahead < end; ahead++) {
			const struct event *lost = &trace->events[ahead];
			struct check_hole hole = { lost->lost.since_ns, lost->time_ns, true };

			if (lost->type == EV_LOST)
				check_live_hole(run->check, &hole);
		}
		event.context |= EV_CTX_USER;
		run->event = &event;
		for (uint32_t p = 0; p < run->model->pattern_count; p++) {
			if (is_named(run->event, run->model->patterns[p].name))
				patterns[count++] = p;
		}
		check_feed(run->check, run->event, patterns, count);
	}
	check_end(run->check, run->told->tl->end_ns);
}

static bool is_same(const struct check_instance *a, const struct check_instance *b)
{
	return a->begin_ns == b->begin_ns && a->end_ns == b->end_ns && a->status == b->status &&
	       strcmp(a->key, b->key) == 0;
}

/* What is certain while it happens is so afterwards. */
static void compare_ahead(const struct run *run, uint64_t seed, struct counts *counts)
{
	struct run ahead = { .told = run->told, .model = run->model };
	const struct check_result *result = check_result(run->check), *live;

	run_ahead(&ahead);
	live = check_result(ahead.check);
	for (size_t i = 0; i < live->list_count; i++) {
		const struct check_instance *instance = &live->list[i];
		size_t same = 0;

		if (instance->status == CHECK_UNCERTAIN)
			continue;
		counts->live++;
		while (same < result->list_count && !is_same(instance, &result->list[same]))
			same++;
		if (same == result->list_count)
			fail_msg("seed %llu: key %s, %llu-%llu, is only live %s",
				 (unsigned long long)seed, instance->key,
				 (unsigned long long)instance->begin_ns,
				 (unsigned long long)instance->end_ns,
				 check_status_name((enum check_status)instance->status));
	}
	check_free(ahead.check);
}

struct way {
	bool has_strays;
	uint32_t losses;
	uint32_t room; /* open instances; 0 = enough */
};

static void run_way(uint64_t seed, const struct way *way, struct counts *counts)
{
	struct machine machine;
	struct truth *truth = xcalloc(1, sizeof(*truth));
	struct run run = { .is_deaf = true };
	struct text_trace *trace;

	seeded = seed;
	(void)dice(2);
	machine = random_machine();
	truth->machine = &machine;
	trace = random_stream(truth, way->has_strays, way->room && !machine.is_overlap ? 1 : KEYS);
	run.model = model_of_machine(&machine);
	for (uint32_t i = 0; i < way->losses && trace->count > EARLY; i++)
		lose(trace, EARLY + dice((uint32_t)trace->count - EARLY), 1 + dice(4));
	run.told = told_trace(trace);
	run_on(&run, way->room ? (way->room - 1) * 400 + 1 : 0);
	if (way->losses || way->room)
		compare(truth, &run, seed, counts);
	else
		compare_whole(truth, &run, seed);
	if (way->losses && !way->room)
		compare_ahead(&run, seed, counts);
	run_fini(&run);
	free(truth->looks);
	free(truth);
}

#define SEEDS 600

static void run_all(const struct way *way, struct counts *counts)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_way(seed, way, counts);
}

static void without_losses_all_is_certain(void **unused)
{
	run_all(&(struct way){ .has_strays = true }, &(struct counts){ 0 });
}

static void assert_counts(const struct counts *counts, uint64_t least)
{
	if (counts->valid < least || counts->invalid < least || counts->uncertain < least)
		fail_msg("%llu valid, %llu invalid, %llu uncertain",
			 (unsigned long long)counts->valid, (unsigned long long)counts->invalid,
			 (unsigned long long)counts->uncertain);
}

static void what_is_certain_after_losses_is_true(void **unused)
{
	for (uint32_t losses = 1; losses <= 3; losses++) {
		struct counts counts = { 0 };

		run_all(&(struct way){ .has_strays = losses % 2, .losses = losses }, &counts);
		assert_counts(&counts, SEEDS);
		assert_int_equal(counts.live, counts.valid + counts.invalid);
	}
}

static void what_is_certain_after_instances_were_given_up_is_true(void **unused)
{
	struct counts counts = { 0 };

	run_all(&(struct way){ .has_strays = true, .room = 1 }, &counts);
	run_all(&(struct way){ .room = 2, .losses = 1 }, &counts);
	assert_counts(&counts, SEEDS / 4);
	if (counts.dropped < SEEDS / 4)
		fail_msg("%llu given up", (unsigned long long)counts.dropped);
}

/* ---------------------------------------------------------------------- by hand */

/* "valid uncertain invalid" of the instances. */
static const char *counts_of(struct run *run, const char *trace, const char *model)
{
	const struct check_result *result = checked(run, trace, model);

	return told_keep(run->told, xasprintf("%d %d %d", (int)result->count[CHECK_VALID],
					      (int)result->count[CHECK_UNCERTAIN],
					      (int)result->count[CHECK_INVALID]));
}

#define HEAD "facts last 400\nthread 7 7 1 R prog\n0 cpu0 switch 0(runnable) 7\n"

/* On 10, off 20, on 30, off 130 (lost), on 140, off 240, on 250, off 350. */
static const char switched[] = HEAD "10 cpu0 other flip\n"
				    "20 cpu0 other flip\n"
				    "30 cpu0 other flip\n"
				    "140 cpu0 lost 30 1 user\n"
				    "140 cpu0 other flip\n"
				    "240 cpu0 other flip\n"
				    "250 cpu0 other flip\n"
				    "350 cpu0 other flip\n";

#define SWITCH \
	"model: m\ninitial: off\nstates:\n  off:\n    transitions:\n      - { event: flip, to: on }\n"

static void a_switch_whose_event_was_lost_is_not_known_again(void **unused)
{
	struct run run = { 0 };

	/* It was on for 100 each time since: nothing of that may be said, nor that it was 10. */
	assert_string_equal(counts_of(&run, switched,
				      SWITCH
				      "  on:\n    transitions:\n      - { event: flip, to: off, "
				      "check: [ elapsed <= 50ns ] }\n"),
			    "1 3 0");
	run_fini(&run);
}

static const char switched_off[] = HEAD "10 cpu0 other flip\n"
					"100 cpu0 lost 20 3 user\n"
					"110 cpu0 other flip\n"
					"120 cpu0 other flip\n"
					"130 cpu0 other cut\n"
					"140 cpu0 other flip\n"
					"150 cpu0 other flip\n";

static void an_event_of_one_state_tells_it_again(void **unused)
{
	struct run run = { 0 };
	const char *counts =
		counts_of(&run, switched_off,
			  SWITCH
			  "  on:\n    transitions:\n      - { event: flip, to: off, check: [ "
			  "elapsed <= 50ns ] }\n      - { event: cut, to: off }\n");
	const struct check_result *result = check_result(run.check);

	/* 10-110 and 120-130, or none of the two: only 140-150 is certain. */
	assert_string_equal(counts, "1 2 0");
	assert_int_equal(result->list[2].begin_ns, 140);
	assert_int_equal(result->list[2].status, CHECK_VALID);
	run_fini(&run);
}

static void a_key_that_begins_after_a_loss_is_certain(void **unused)
{
	struct run run = { 0 };

	assert_string_equal(counts_of(&run,
				      HEAD "10 cpu0 other begin/1\n"
					   "20 cpu0 other begin/2\n"
					   "60 cpu0 lost 30 2 user\n"
					   "60 cpu0 other end/2\n"
					   "70 cpu0 other begin/3\n"
					   "80 cpu0 other end/3\n"
					   "90 cpu0 other begin/1\n"
					   "190 cpu0 other end/1\n",
				      "model: m\nkey: n\ninitial: out\nstates:\n  out:\n"
				      "    transitions:\n      - { event: begin, to: in }\n  in:\n"
				      "    transitions:\n      - { event: end, to: out, check: [ "
				      "elapsed <= 50ns ] }\n"),
			    "1 2 1");
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_whose_event_was_lost_is_not_known_again),
		cmocka_unit_test(an_event_of_one_state_tells_it_again),
		cmocka_unit_test(a_key_that_begins_after_a_loss_is_certain),
		cmocka_unit_test(without_losses_all_is_certain),
		cmocka_unit_test(what_is_certain_after_losses_is_true),
		cmocka_unit_test(what_is_certain_after_instances_were_given_up_is_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
