/*
 * event_stacks.h - stacks that a tracer wrote with its events, as stacks of waits: event/stacks.h.
 *
 *	ftrace:kernel_stack, ftrace:user_stack	of the event right before it of that CPU and instance, by the
 *						same thread; of binary records or of text
 *	callstack_kernel, callstack_user	contexts of LTTng, in the event itself
 *
 * The stack of a switch to sleep is that of the wait which begins there. Its user's part is the one of
 * that event; else the one of the system call that the thread is in, of an event in it: that
 * part does not change meanwhile, as long as no event is lost.
 */
#ifndef READ_EVENT_STACKS_H
#define READ_EVENT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct event;
struct stack_frame;
struct trace;
struct trace_meaning;
struct trace_record;

/* What the trace tells of files that processes had mapped. All may be NULL. */
struct code_map {
	void *context;
	const uint64_t *changes; /* how often that has changed; a number that learn() raises */
	/* Each event, in order, with its record or NULL. */
	void (*learn)(void *context, const struct event *event, const struct trace_record *record);
	/* Module, path, build-id and offset of code; false: not known. Asked when all before the end of the wait was learnt. */
	bool (*find)(void *context, int32_t tgid, uint64_t time_ns, uint64_t address,
		     struct stack_frame *out_frame);
};

/* Is there a kind of event of LTTng that has stacks? ftrace's formats are there, whatever was recorded. */
bool event_stacks_told(const struct trace_meaning *meaning);

/*
 * Read all events of the trace, whose merge must be there. It has facts.stacks then, if a wait has one; the source is at its start
 * before and after it. Returns 0, or negative with err filled.
 */
int event_stacks_read(struct trace *trace, const struct code_map *map, struct err *err);

#endif
