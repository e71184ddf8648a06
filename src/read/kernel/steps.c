/* steps.c - see steps.h. */
#include "read/kernel/steps.h"

#include <stdlib.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/steps.h"
#include "read/lane.h"

struct steps {
	struct lane lane;
	const struct facts *facts;
	uint16_t *cpus; /* owned; those that have a stream */
	size_t cpu_count;
	size_t next, next_cpu;
};

/* A step that was taken before the first event holds from there on. */
static uint64_t begin_of(const struct facts *facts, size_t i)
{
	uint64_t since_ns = facts->steps[i].since_ns;

	return since_ns < facts->first_ns ? facts->first_ns : since_ns;
}

static bool kernel_steps_is_over(const struct facts *facts, size_t i)
{
	return i + 1 < facts->step_count && facts->steps[i + 1].since_ns <= facts->first_ns;
}

/* What is being written goes on behind what is read of it. */
static size_t known_of(const struct facts *facts)
{
	size_t count = facts->step_count;

	while (count && facts->steps[count - 1].since_ns > facts->last_ns)
		count--;
	return count;
}

/* Behind the last one: the end of the recording ends a time without events. */
static size_t count_of(const struct facts *facts)
{
	size_t count = known_of(facts);

	return count + (count && facts->steps[count - 1].step == STEP_NONE);
}

static uint64_t kernel_steps_time_of(const struct steps *steps, size_t i)
{
	const struct facts *facts = steps->facts;

	return i < known_of(facts) ? begin_of(facts, i) : facts->last_ns;
}

static struct event kernel_steps_event_of(const struct steps *steps, size_t i, uint16_t cpu)
{
	const struct facts *facts = steps->facts;
	bool ends = i > 0 && facts->steps[i - 1].step == STEP_NONE;
	uint64_t at_ns = kernel_steps_time_of(steps, i);

	return (struct event){
		.time_ns = at_ns,
		.tid = -1,
		.cpu = cpu,
		.type = EV_LOST,
		.lost.since_ns = ends ? begin_of(facts, i - 1) : at_ns,
		.lost.is_step = true,
		.lost.step = (uint8_t)facts->steps[i < known_of(facts) ? i : i - 1].step,
	};
}

static bool steps_fill(struct lane *lane, struct batch *batch)
{
	struct steps *steps = (struct steps *)lane;

	batch_clear(batch, lane);
	while (batch->count < batch->max && steps->next < count_of(steps->facts)) {
		struct cell *cell = &batch->cells[batch->count];

		if (steps->next_cpu == steps->cpu_count ||
		    kernel_steps_is_over(steps->facts, steps->next)) {
			steps->next++;
			steps->next_cpu = 0;
			continue;
		}
		cell->event =
			kernel_steps_event_of(steps, steps->next, steps->cpus[steps->next_cpu++]);
		cell->record.data = NULL;
		batch->count++;
	}
	return batch->count > 0;
}

static void steps_seek(struct lane *lane, uint64_t time_ns)
{
	struct steps *steps = (struct steps *)lane;

	steps->next = steps->next_cpu = 0;
	while (steps->next < count_of(steps->facts) &&
	       kernel_steps_time_of(steps, steps->next) < time_ns)
		steps->next++;
}

static void steps_close(struct lane *lane)
{
	struct steps *steps = (struct steps *)lane;

	lane_fini(lane);
	free(steps->cpus);
	free(steps);
}

static const struct lane_ops steps_ops = {
	.fill = steps_fill,
	.seek = steps_seek,
	.close = steps_close,
};

struct lane *steps_open(const struct facts *facts, const bool *present, uint32_t cpu_count)
{
	struct steps *steps;

	if (!facts->step_count)
		return NULL;
	steps = xcalloc(1, sizeof(*steps));
	steps->lane.ops = &steps_ops;
	steps->facts = facts;
	steps->cpus = xcalloc(cpu_count + 1, sizeof(*steps->cpus));
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		if (present[cpu])
			steps->cpus[steps->cpu_count++] = (uint16_t)cpu;
	}
	return &steps->lane;
}
