/*
 * learn.c - the machine: pairs of events that follow each other, by key.
 *
 * Only pairs are counted, so memory does not grow with the length of the traces.
 */
#include "analyse/check/learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"

/* Of all sequences, so many percent begin with an event that begins instances. */
#define BEGIN_PERCENT 10

struct symbol {
	char *name; /* owned */
	enum learn_take take;
	uint64_t count, firsts, lasts;
	bool is_begin, is_end;
	uint32_t state; /* LEARN_NONE = the initial one: it ends instances */
};

struct learn {
	struct symbol symbols[LEARN_MAX_SYMBOLS];
	uint32_t symbol_count;
	struct map last;  /* key -> symbol that came last + 1; 0 = it was before a hole */
	struct map pairs; /* before << 32 | after -> count */
	bool has_hole;	  /* in this trace */
	struct learned result;
};

struct learn *learn_new(void)
{
	return xcalloc(1, sizeof(struct learn));
}

static void free_transition(struct learn_transition *transition)
{
	for (uint32_t i = 0; i < learn_metric_count; i++) {
		if (transition->values)
			learn_value_fini(&transition->values[i]);
		if (transition->whole)
			learn_value_fini(&transition->whole[i]);
	}
	free(transition->values);
	free(transition->whole);
}

void learn_free(struct learn *learn)
{
	if (!learn)
		return;
	for (uint32_t i = 0; i < learn->symbol_count; i++)
		free(learn->symbols[i].name);
	for (uint32_t i = 0; i < learn->result.state_count; i++)
		free(learn->result.states[i].name);
	for (uint32_t i = 0; i < learn->result.transition_count; i++)
		free_transition(&learn->result.transitions[i]);
	free(learn->result.states);
	free(learn->result.transitions);
	map_fini(&learn->last);
	map_fini(&learn->pairs);
	free(learn);
}

/* ------------------------------------------------------------------ symbols */

uint32_t learn_symbol(struct learn *learn, const char *name, enum learn_take take)
{
	for (uint32_t i = 0; i < learn->symbol_count; i++) {
		if (learn->symbols[i].take == take && strcmp(learn->symbols[i].name, name) == 0)
			return i;
	}
	if (learn->symbol_count >= LEARN_MAX_SYMBOLS)
		return LEARN_NONE;
	learn->symbols[learn->symbol_count] =
		(struct symbol){ .name = xstrdup(name), .take = take, .state = LEARN_NONE };
	return learn->symbol_count++;
}

const char *learn_symbol_name(const struct learn *learn, uint32_t symbol)
{
	return learn->symbols[symbol].name;
}

enum learn_take learn_symbol_take(const struct learn *learn, uint32_t symbol)
{
	return learn->symbols[symbol].take;
}

/* ------------------------------------------------------------------- events */

static void add_pair(struct learn *learn, uint32_t before, uint32_t after)
{
	bool is_new;

	++*map_add(&learn->pairs, (uint64_t)before << 32 | after, &is_new);
}

void learn_feed(struct learn *learn, uint64_t key, uint32_t symbol)
{
	bool is_new;
	uint64_t *last = map_add(&learn->last, key, &is_new);

	learn->result.events++;
	learn->symbols[symbol].count++;
	/* Behind a hole a key may be in the middle of anything. */
	if (is_new && !learn->has_hole) {
		learn->result.keys++;
		learn->symbols[symbol].firsts++;
	}
	if (*last)
		add_pair(learn, (uint32_t)*last - 1, symbol);
	*last = (uint64_t)symbol + 1;
}

void learn_end_key(struct learn *learn, uint64_t key)
{
	uint64_t *last = map_find(&learn->last, key);

	if (!last)
		return;
	if (*last)
		learn->symbols[*last - 1].lasts++;
	(void)map_remove(&learn->last, key);
}

void learn_hole(struct learn *learn)
{
	learn->has_hole = true;
	learn->result.holes++;
	for (size_t i = 0; i < learn->last.cap; i++) {
		if (learn->last.used[i])
			learn->last.slots[i].value = 0;
	}
}

void learn_end_trace(struct learn *learn)
{
	for (size_t i = 0; i < learn->last.cap; i++) {
		if (learn->last.used[i] && learn->last.slots[i].value)
			learn->symbols[learn->last.slots[i].value - 1].lasts++;
	}
	map_fini(&learn->last);
	learn->last = (struct map){ 0 };
	learn->has_hole = false;
	learn->result.traces++;
}

/* ------------------------------------------------------------------ machine */

static uint64_t pair_count(struct learn *learn, uint32_t before, uint32_t after)
{
	const uint64_t *count = map_find(&learn->pairs, (uint64_t)before << 32 | after);

	return count ? *count : 0;
}

/* "shop:request_begin" -> "request_begin" */
static const char *short_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon && colon[1] ? colon + 1 : name;
}

static bool symbol_is_named(const char *symbol, const char *name)
{
	return strcmp(symbol, name) == 0 || strcmp(short_name(symbol), name) == 0;
}

static int set_begins(struct learn *learn, const char *const *begins, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		bool is_known = false;

		for (uint32_t s = 0; s < learn->symbol_count; s++) {
			if (symbol_is_named(learn->symbols[s].name, begins[i]))
				learn->symbols[s].is_begin = is_known = true;
		}
		if (!is_known)
			return err_set(err, -EINVAL, "no event \"%s\" was seen", begins[i]);
	}
	return 0;
}

/* What most sequences begin with; the others were cut off. */
static void find_begins(struct learn *learn)
{
	for (uint32_t s = 0; s < learn->symbol_count; s++) {
		struct symbol *symbol = &learn->symbols[s];

		symbol->is_begin = symbol->firsts &&
				   symbol->firsts * 100 >= learn->result.keys * BEGIN_PERCENT;
	}
}

static void find_ends(struct learn *learn)
{
	for (uint32_t s = 0; s < learn->symbol_count; s++) {
		struct symbol *symbol = &learn->symbols[s];

		symbol->is_end = !symbol->is_begin;
		for (uint32_t t = 0; t < learn->symbol_count && symbol->is_end; t++)
			symbol->is_end = learn->symbols[t].is_begin || !pair_count(learn, s, t);
		if (!symbol->is_begin)
			learn->result.cut += symbol->firsts;
	}
}

static bool is_taken(const struct learned *result, const char *name)
{
	for (uint32_t i = 0; i < result->state_count; i++) {
		if (strcmp(result->states[i].name, name) == 0)
			return true;
	}
	return false;
}

/* "request_begin" is where "request" is; any other event is behind it. */
static char *state_name(const struct learned *result, const struct symbol *symbol)
{
	static const char *const endings[] = { "_begin", "_start", "_enter", "_entry" };
	const char *name = short_name(symbol->name);
	char *made = NULL;

	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		size_t bytes = strlen(name), end = strlen(endings[i]);

		if (bytes > end && strcmp(name + bytes - end, endings[i]) == 0)
			made = xstrndup(name, bytes - end);
	}
	made = made ? made : xasprintf("after_%s", name);
	if (is_taken(result, made)) {
		free(made);
		made = xasprintf("after_%s", symbol->name);
	}
	for (uint32_t n = 2; is_taken(result, made); n++) {
		free(made);
		made = xasprintf("after_%s_%u", symbol->name, n);
	}
	return made;
}

static void make_states(struct learn *learn)
{
	struct learned *result = &learn->result;

	result->states = xcalloc((size_t)learn->symbol_count + 1, sizeof(*result->states));
	result->states[result->state_count++] =
		(struct learn_state){ .name = xstrdup("start"), .symbol = LEARN_NONE };
	for (uint32_t s = 0; s < learn->symbol_count; s++) {
		struct symbol *symbol = &learn->symbols[s];

		if (symbol->is_end)
			continue;
		symbol->state = result->state_count;
		result->states[result->state_count] = (struct learn_state){
			.name = state_name(result, symbol),
			.symbol = s,
			.may_end = symbol->lasts > 0,
			.ended = symbol->lasts,
		};
		result->state_count++;
	}
}

static void add_transition(struct learn *learn, uint32_t from, uint32_t symbol, uint64_t taken)
{
	struct learned *result = &learn->result;
	uint32_t to = learn->symbols[symbol].state == LEARN_NONE ? 0 : learn->symbols[symbol].state;
	struct learn_transition *transition = &result->transitions[result->transition_count++];

	*transition = (struct learn_transition){
		.from = from, .to = to, .symbol = symbol, .taken = taken
	};
	if (from != 0)
		transition->values = xcalloc(learn_metric_count, sizeof(struct learn_value));
}

/* All ways out of the initial state: what began sequences, and what followed an end. */
static void leave_start(struct learn *learn)
{
	for (uint32_t s = 0; s < learn->symbol_count; s++) {
		uint64_t taken = learn->symbols[s].firsts;

		if (!learn->symbols[s].is_begin)
			continue;
		for (uint32_t before = 0; before < learn->symbol_count; before++) {
			if (learn->symbols[before].is_end)
				taken += pair_count(learn, before, s);
		}
		learn->result.instances += taken;
		add_transition(learn, 0, s, taken);
	}
}

/* Is there a way to the state but straight from the initial one? */
static bool has_way_before(const struct learned *result, uint32_t state)
{
	for (uint32_t i = 0; i < result->transition_count; i++) {
		if (result->transitions[i].to == state && result->transitions[i].from != 0)
			return true;
	}
	return false;
}

/* Whole instances are measured where they end; one of two events is the span between them. */
static void measure_wholes(struct learn *learn)
{
	struct learned *result = &learn->result;

	for (uint32_t i = 0; i < result->transition_count; i++) {
		struct learn_transition *transition = &result->transitions[i];

		if (transition->from != 0 && transition->to == 0 &&
		    has_way_before(result, transition->from))
			transition->whole = xcalloc(learn_metric_count, sizeof(struct learn_value));
	}
}

static void make_transitions(struct learn *learn)
{
	struct learned *result = &learn->result;

	result->transitions =
		xcalloc(learn->pairs.count + learn->symbol_count + 1, sizeof(*result->transitions));
	leave_start(learn);
	for (uint32_t state = 1; state < result->state_count; state++) {
		uint32_t before = result->states[state].symbol;

		for (uint32_t s = 0; s < learn->symbol_count; s++) {
			uint64_t taken = pair_count(learn, before, s);

			if (taken)
				add_transition(learn, state, s, taken);
		}
	}
}

int learn_finish(struct learn *learn, const char *const *begins, size_t begin_count,
		 struct err *err)
{
	int rc = set_begins(learn, begins, begin_count, err);

	if (rc < 0)
		return rc;
	if (!learn->result.events)
		return err_set(err, -EINVAL, "no event to learn from");
	if (!begin_count)
		find_begins(learn);
	find_ends(learn);
	make_states(learn);
	make_transitions(learn);
	measure_wholes(learn);
	if (!learn->result.instances)
		return err_set(
			err, -EINVAL,
			"the first event of an instance is unknown; name the event with --begin");
	return 0;
}

struct learned *learn_result(struct learn *learn)
{
	return &learn->result;
}
