/*
 * fuzz_model.c - any bytes as a model; one that is accepted is run over events that fit it.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "analyse/check/check.h"
#include "event/event.h"
#include "model/model.h"

#define EVENTS 200u

static bool passes(void *context, uint32_t pattern)
{
	const uint64_t *random = context;

	return (*random >> 40) % (pattern + 2) != 0;
}

static bool field(void *context, uint32_t index, struct check_field *out_field)
{
	const uint64_t *random = context;

	*out_field = (struct check_field){ .is_text = (*random + index) % 5 == 0,
					   .number = (long double)(int64_t)*random,
					   .text = "text",
					   .bytes = 4 };
	return (*random + index) % 7 != 0;
}

/* What the engine is told beside the event. */
static void tell(struct check *check, const struct event *event, uint64_t random)
{
	struct event lock = *event;

	lock.type = EV_USER_LOCK;
	lock.user_lock =
		(struct ev_user_lock){ .address = random % 3,
				       .mutex = random % 5,
				       .path = "",
				       .pid = (int32_t)(random % 2),
				       .op = (uint8_t)((random >> 8) % USER_LOCK_OP_COUNT),
				       .kind = (uint8_t)((random >> 16) % LOCK_KIND_COUNT) };
	check_tell_lock(check, &lock);
	check_tell_memory(check, event, random % 4096);
}

static void run(const struct model *model, const struct check_hole *holes, size_t hole_count)
{
	uint64_t random = 1, counted = 0;
	struct check_opts opts = { .reader = { &random, passes, field },
				   .open_bytes = 100000,
				   .holes = holes,
				   .hole_count = hole_count,
				   .took_user = hole_count > 0 };
	struct check *check = check_new(model, &opts);
	const struct check_result *result = check_result(check);

	for (uint32_t i = 0; i < EVENTS; i++) {
		struct event event = { .type = i % 50 == 49 ? EV_LOST : EV_OTHER,
				       .time_ns = 1000 * (uint64_t)i };
		uint32_t pattern;

		random = random * 6364136223846793005u + 1442695040888963407u;
		event.tid = (int32_t)(random >> 60);
		tell(check, &event, random >> 7);
		pattern = (uint32_t)(random >> 33) % model->pattern_count;
		check_feed(check, &event, &pattern, 1);
	}
	check_end(check, 1000 * EVENTS);
	for (uint32_t i = 0; i < CHECK_STATUS_COUNT; i++)
		counted += result->count[i];
	assert(counted == result->instances);
	for (uint32_t i = 0; i < model->transition_count; i++) {
		const struct check_transition *transition = &result->transitions[i];

		assert(transition->taken == transition->count[CHECK_VALID] +
						    transition->count[CHECK_UNCERTAIN] +
						    transition->count[CHECK_INVALID]);
	}
	check_free(check);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const struct check_hole holes[] = { { 5000, 20000, true }, { 10000, 15000, false } };
	struct model_errors errors = { 0 };
	struct model *model;

	if (model_parse((const char *)data, bytes, &model, &errors) == 0) {
		assert(errors.count == 0 && model->transition_count > 0);
		run(model, NULL, 0);
		run(model, holes, 2);
		model_free(model);
	} else {
		assert(errors.count > 0);
	}
	model_errors_fini(&errors);
	return 0;
}
