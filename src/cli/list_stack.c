/* list_stack.c - see list_stack.h. */
#include "cli/list_stack.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "event/event.h"
#include "event/stacks.h"
#include "report/frames.h"

#define APART_NS 4000 /* the recorder notes the same switch a moment later, by another clock */
#define INDENT	 "                                "

uint32_t list_stack_of(const struct stacks *stacks, const struct event *event)
{
	const struct stack_wait *wait;
	size_t at;

	if (!stacks || event->type != EV_SCHED_SWITCH ||
	    event->sched_switch.prev_state == TASK_STATE_RUNNABLE)
		return STACK_NONE;
	at = stacks_first_wait(stacks, event->tid, event->time_ns);
	wait = at < stacks->wait_count ? &stacks->waits[at] : NULL;
	return wait && wait->tid == event->tid && wait->begin_ns <= event->time_ns + APART_NS
		       ? wait->stack
		       : STACK_NONE;
}

/* What 'print' writes into a stream. */
static void list_stack_write(const struct stacks *stacks, uint32_t stack, struct outbuf *out,
			     void (*print)(FILE *stream, const struct stacks *stacks,
					   uint32_t stack))
{
	AUTO_FREE char *text = NULL;
	size_t bytes = 0;
	FILE *stream = open_memstream(&text, &bytes);

	if (!stream)
		return;
	print(stream, stacks, stack);
	if (fclose(stream) == 0)
		outbuf_put(out, text, bytes);
}

static void print_text(FILE *stream, const struct stacks *stacks, uint32_t stack)
{
	frame_print_stack(stream, stacks, stack, stacks->stacks[stack].place, INDENT);
}

void list_stack_put(const struct stacks *stacks, uint32_t stack, struct outbuf *out)
{
	if (stack != STACK_NONE)
		list_stack_write(stacks, stack, out, print_text);
}

static void print_json(FILE *stream, const struct stacks *stacks, uint32_t stack)
{
	struct json json = { .out = stream };

	json_begin_array(&json, NULL);
	for (uint32_t i = 0; i < stacks->stacks[stack].count; i++) {
		json_begin_object(&json, NULL);
		frame_json_keys(&json, stacks_frame(stacks, stack, i));
		json_end_object(&json);
	}
	json_end_array(&json);
}

void list_stack_put_json(const struct stacks *stacks, uint32_t stack, struct outbuf *out)
{
	if (stack == STACK_NONE)
		outbuf_string(out, "null");
	else
		list_stack_write(stacks, stack, out, print_json);
}
