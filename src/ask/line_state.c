/* line_state.c - the state engine beside the list. */
#include "ask/line_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "event/event.h"
#include "event/facts.h"
#include "state/state.h"
#include "timeline/index.h"
#include "timeline/timeline.h"

struct stack {
	uint32_t words[STATE_FRAMES];
	uint32_t count;
};

struct line_state {
	const struct facts *facts;
	struct state *state;
	struct index_writer *writer; /* owned */
	struct stack shown;	     /* what 'text' says */
	struct outbuf text;
};

int line_state_new(const struct facts *facts, struct line_state **out_state, struct err *err)
{
	struct line_state *state = xcalloc(1, sizeof(*state));
	struct index_key key = { 0 };
	int rc = index_begin(NULL, &key, false, &state->writer, err);

	if (rc < 0) {
		free(state);
		return rc;
	}
	state->facts = facts;
	state->state = state_new(facts);
	index_attach(state->writer, state_timeline(state->state));
	outbuf_to_memory(&state->text);
	*out_state = state;
	return 0;
}

void line_state_free(struct line_state *state)
{
	struct timeline *timeline;

	if (!state)
		return;
	timeline = state_finish(state->state);
	index_abort(state->writer);
	timeline_free(timeline);
	outbuf_fini(&state->text);
	free(state);
}

static void put_syscall(struct line_state *state, uint32_t arg)
{
	const char *name = facts_syscall(state->facts, arg & 0xffff, arg & WORD_COMPAT);

	if (name) {
		outbuf_string(&state->text, name);
		return;
	}
	outbuf_string(&state->text, "system call ");
	state->text.at = digits_u32(state->text.at, arg & 0xffff);
}

static void put_named(struct outbuf *out, const char *what, const char *name)
{
	outbuf_string(out, what);
	if (name)
		outbuf_foreign(out, name, strlen(name));
}

static void put_word(struct line_state *state, uint32_t word)
{
	static const char *const plain[WORD_KIND_COUNT] = {
		[WORD_UNCERTAIN] = "uncertain",
		[WORD_RUN] = "running",
		[WORD_USER] = "user",
		[WORD_TRAP] = "page fault",
		[WORD_KERNEL] = "kernel thread",
		[WORD_IDLE] = "idle",
		[WORD_PREEMPTED] = "preempted",
		[WORD_WAIT_CPU] = "waiting for CPU",
		[WORD_BLOCKED] = "blocked",
	};
	const struct timeline *tl = state_timeline(state->state);
	struct outbuf *out = &state->text;
	uint32_t arg = word_arg(word);

	switch (word_kind(word)) {
	case WORD_SYSCALL:
		put_syscall(state, arg);
		break;
	case WORD_WORK:
		put_named(out, "work ", timeline_name(tl, arg));
		break;
	case WORD_IRQ:
		put_named(out, "irq ", timeline_name(tl, arg));
		break;
	case WORD_VECTOR:
		put_named(out, event_vector_name(arg), " interrupt");
		break;
	case WORD_SOFTIRQ:
		put_named(out, "softirq ", event_softirq_name(arg));
		break;
	default:
		outbuf_string(out, plain[word_kind(word)] ? plain[word_kind(word)] : "?");
		break;
	}
}

static struct stack stack_of(const struct line_state *state, const struct event *event)
{
	struct stack stack;

	stack.count = state_frames(state->state, event->tid, event->cpu, stack.words);
	return stack;
}

/* Make the text of 'stack', unless it is there. */
static void show(struct line_state *state, const struct stack *stack)
{
	if (stack->count == state->shown.count &&
	    memcmp(stack->words, state->shown.words, stack->count * sizeof(uint32_t)) == 0)
		return;
	state->shown = *stack;
	outbuf_reset(&state->text);
	for (uint32_t i = 0; i < stack->count; i++) {
		outbuf_string(&state->text, i ? " > " : "");
		put_word(state, stack->words[i]);
	}
	outbuf_char(&state->text, '\0');
}

const char *line_state_feed(struct line_state *state, const struct event *event)
{
	struct stack before, after;

	if (event->tid < 0) {
		state_feed(state->state, event);
		return "";
	}
	before = stack_of(state, event);
	state_feed(state->state, event);
	after = stack_of(state, event);
	show(state, after.count > before.count ||
				    (before.count && word_kind(before.words[0]) == WORD_UNCERTAIN)
			    ? &after
			    : &before);
	return state->shown.count ? state->text.start : "";
}
