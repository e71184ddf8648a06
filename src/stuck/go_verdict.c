/*
 * go_verdict.c - whether goroutines wait for each other alone: by exclusion, as Go notes no owner of a lock or channel.
 *
 * Whoever else could end a wait is looked for: a timer, a descriptor, a system call, a signal that the program asked
 * for, code in C, a thread that does something else than to wait for work.
 */
#include <stddef.h>

#include "stuck/go_int.h"

#define PROCESSORS_MAX 65536u

/* What could end the wait of another goroutine, or its own; NULL = nothing that is known. */
static const char *go_open(const struct goroutine *goroutine)
{
	switch (goroutine->state) {
	case GO_WAITS:
		if (goroutine->is_signalled)
			return "a goroutine waits for a signal";
		return goroutine->is_timed ? "a goroutine waits for a timer" : NULL;
	case GO_IO:
		return goroutine->is_runtime ? NULL : "a goroutine waits for I/O";
	case GO_SLEEPS:
		return goroutine->is_runtime ? NULL : "a goroutine sleeps";
	case GO_CALLS: /* of Go's own: what passes signals on */
		return goroutine->is_runtime ? NULL
					     : "a goroutine is in a system call or in C code";
	case GO_RUNS:
	case GO_CHANGES:
		return "a goroutine runs";
	default:
		return goroutine->is_runtime ? NULL : "a goroutine waits for Go's runtime";
	}
}

/* Of one processor: those that are set; stopped ones may stay in its heap. False where they are not known. */
static bool go_timers_of(struct go_reader *reader, uint64_t processor, uint64_t *out_count)
{
	const struct go_layout *layout = reader->target->layout;
	bool is_apart = layout->has[GO_TIMERS_HEAP];
	uint64_t timers = processor + layout->at[GO_P_TIMERS];
	uint64_t heap = timers + (is_apart ? layout->at[GO_TIMERS_HEAP] : 0);
	uint64_t at = is_apart ? timers + layout->at[GO_TIMERS_STOPPED]
			       : processor + layout->at[GO_P_DELETED];
	uint32_t stopped = 0;

	if (!processor || !go_memory_read(&reader->memory, heap + 8, out_count, sizeof(*out_count)))
		return false;
	if (layout->has[is_apart ? GO_TIMERS_STOPPED : GO_P_DELETED])
		stopped = go_memory_u32(&reader->memory, at);
	if (stopped <= *out_count)
		*out_count -= stopped;
	return true;
}

/* Of all processors. */
static const char *go_timers(struct go_reader *reader)
{
	const struct go_layout *layout = reader->target->layout;
	uint64_t all = layout->variables[GO_ALL_PS] + reader->bias;
	uint64_t at = go_memory_u64(&reader->memory, all);
	uint64_t count = go_memory_u64(&reader->memory, all + 8);

	if (!layout->has_variables[GO_ALL_PS] || !layout->has[GO_P_TIMERS] || !at || !count ||
	    count > PROCESSORS_MAX)
		return "timers are not known";
	for (uint64_t i = 0; i < count; i++) {
		uint64_t processor = go_memory_u64(&reader->memory, at + i * 8), timers;

		if (!go_timers_of(reader, processor, &timers))
			return "timers are not known";
		if (timers)
			return "a timer is set";
	}
	return NULL;
}

static const char *go_threads(const struct go_reader *reader)
{
	for (size_t i = 0; i < reader->target->thread_count; i++) {
		const struct go_thread *thread = &reader->target->threads[i];

		if (!thread->is_in_runtime || !go_code_has(&reader->code, thread->pc))
			return "a thread is not in Go's scheduler";
	}
	return NULL;
}

bool go_verdict(struct go_reader *reader, const char **out_why)
{
	size_t own = 0;

	*out_why = reader->left_out ? "not all goroutines are known" : NULL;
	for (size_t i = 0; i < reader->count && !*out_why; i++) {
		own += !reader->all[i].is_runtime;
		*out_why = go_open(&reader->all[i]);
	}
	if (!*out_why && !own)
		*out_why = "";
	if (!*out_why)
		*out_why = go_timers(reader);
	if (!*out_why)
		*out_why = go_threads(reader);
	return !*out_why;
}
