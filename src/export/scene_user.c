/*
 * scene_user.c - events that are known by their names and fields alone: those of programs, of
 * probes, and what else was recorded.
 *
 * Two events of one thread named X_begin and X_end (start and stop, enter and exit ...) of the same
 * system are a slice "SYSTEM:X", with the fields of both. Slices of a thread nest: an end that
 * fits one further out ends what stands open in it; one that fits none is an instant.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/outbuf.h"
#include "event/event.h"
#include "event/facts.h"
#include "export/scene_int.h"
#include "fields/print.h"
#include "read/read.h"
#include "fields/value.h"

#define OPEN_DEPTH   64u    /* slices within slices of one thread */
#define OPEN_THREADS 65536u /* threads that have one open; more have none */
#define NAME_BYTES   256u   /* bytes of a name */

enum side {
	SIDE_NONE,
	SIDE_BEGIN,
	SIDE_END
};

static const struct {
	const char *word;
	enum side side;
} sides[] = {
	{ "begin", SIDE_BEGIN }, { "end", SIDE_END },	  { "start", SIDE_BEGIN },
	{ "stop", SIDE_END },	 { "enter", SIDE_BEGIN }, { "exit", SIDE_END },
	{ "entry", SIDE_BEGIN }, { "return", SIDE_END },  { "done", SIDE_END },
};

/* What is open on one track. */
struct stack {
	struct scene_track track;
	uint32_t names[OPEN_DEPTH]; /* ids */
	uint32_t depth;
};

struct scene_user {
	struct scene *scene;
	struct printer *printer; /* NULL: the trace has no fields */
	struct print_memory *memory;
	struct names names;
	struct map by_track; /* lane and id -> index into stacks */
	struct stack **stacks;
	size_t stack_count, stack_cap;
	struct outbuf texts[SCENE_ARGS];
	struct scene_arg args[SCENE_ARGS];
};

struct scene_user *scene_user_new(struct scene *scene)
{
	struct scene_user *user = xcalloc(1, sizeof(*user));
	struct trace_meaning meaning;

	user->scene = scene;
	for (size_t i = 0; i < SCENE_ARGS; i++)
		outbuf_to_memory(&user->texts[i]);
	if (trace_meaning(scene->job->trace, &meaning)) {
		const struct print_setup setup = {
			.formats = meaning.formats,
			.facts = scene->job->facts,
			.big_endian = meaning.big_endian,
			.long_bytes = meaning.long_bytes,
		};

		user->printer = printer_new(&setup);
		user->memory = print_memory_new(user->printer);
	}
	return user;
}

/* --------------------------------------------------------------------- arguments */

/* The field as an argument; its text is in 'text' until the next event. */
static struct scene_arg arg_of(const struct scene_user *user, const struct print_event *kind,
			       const struct print_field *field, const struct trace_record *record,
			       struct outbuf *text)
{
	struct scene_arg arg = { .name = field->name, .kind = SCENE_TEXT };

	outbuf_reset(text);
	if (!print_field_words(user->printer, kind, field, record, text)) {
		outbuf_reset(text);
		if (field->is_text) {
			print_field_text(user->printer, field, record, text);
		} else {
			arg.kind = SCENE_JSON;
			print_field_json(user->printer, field, record, text);
		}
	}
	outbuf_char(text, '\0');
	arg.text = text->start;
	return arg;
}

/* All fields but the common ones. */
static size_t fill_args(struct scene_user *user, const struct event *event)
{
	const struct print_event *kind;
	struct trace_record record;
	size_t count = 0;

	if (!user->printer || !trace_record(user->scene->job->trace, &record))
		return 0;
	kind = value_kind_of(user->printer, event, &record);
	for (uint32_t i = kind->common_count; i < kind->field_count && count < SCENE_ARGS; i++) {
		user->args[count] =
			arg_of(user, kind, &kind->fields[i], &record, &user->texts[count]);
		count++;
	}
	return count;
}

/* ------------------------------------------------------------------------- slices */

/* What the last word of 'name' says, and how long the name is without it. */
static enum side side_of(const char *name, size_t *out_bytes)
{
	const char *last = strrchr(name, '_');

	if (!last || last == name)
		return SIDE_NONE;
	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		if (strcmp(last + 1, sides[i].word) == 0) {
			*out_bytes = (size_t)(last - name);
			return sides[i].side;
		}
	}
	return SIDE_NONE;
}

static struct stack *scene_user_stack_of(struct scene_user *user, struct scene_track track)
{
	uint64_t key = (uint64_t)track.lane << 32 | track.id;
	bool is_new = false;
	uint64_t *place = map_find(&user->by_track, key);

	if (place)
		return user->stacks[*place];
	if (user->stack_count == OPEN_THREADS)
		return NULL;
	place = map_add(&user->by_track, key, &is_new);
	*place = user->stack_count;
	user->stacks =
		vec_room(user->stacks, user->stack_count, &user->stack_cap, sizeof(struct stack *));
	user->stacks[user->stack_count] = xcalloc(1, sizeof(struct stack));
	user->stacks[user->stack_count]->track = track;
	return user->stacks[user->stack_count++];
}

/* End the slices of 'stack' from 'depth' on; the arguments belong to the outermost. */
static void end_slices(struct scene_user *user, struct stack *stack, uint32_t depth,
		       struct scene_mark *mark)
{
	size_t arg_count = mark->arg_count;

	while (stack->depth > depth) {
		stack->depth--;
		mark->name = names_text(&user->names, stack->names[stack->depth]);
		mark->arg_count = stack->depth == depth ? arg_count : 0;
		user->scene->ops->end(user->scene->context, mark);
	}
}

/* True when the mark is the beginning or the end of a slice, and was put. */
static bool scene_user_put_side(struct scene_user *user, enum side side, const char *name,
				struct scene_mark *mark)
{
	struct stack *stack = scene_user_stack_of(user, mark->track);
	uint32_t id = names_add(&user->names, name, NAME_BYTES);

	if (!stack)
		return false;
	if (side == SIDE_BEGIN) {
		if (stack->depth == OPEN_DEPTH)
			return false;
		stack->names[stack->depth++] = id;
		mark->name = names_text(&user->names, id);
		user->scene->ops->begin(user->scene->context, mark);
		return true;
	}
	for (uint32_t depth = stack->depth; depth > 0; depth--) {
		if (stack->names[depth - 1] == id) {
			end_slices(user, stack, depth - 1, mark);
			return true;
		}
	}
	return false;
}

void scene_user_feed(struct scene_user *user, const struct event *event, struct scene_track track)
{
	const char *system = event->other.system ? event->other.system : "";
	const char *name = event->other.name ? event->other.name : "event";
	const char *colon = *system ? ":" : "";
	AUTO_FREE char *title = NULL;
	struct scene_mark mark = {
		.track = track,
		.time_ns = event->time_ns,
		.category = *system ? system : "event",
		.args = user->args,
	};
	size_t bytes = 0;
	enum side side;

	if (event->type != EV_OTHER)
		return;
	side = side_of(name, &bytes);
	mark.arg_count = fill_args(user, event);
	if (side != SIDE_NONE && track.lane == SCENE_USER) {
		title = xasprintf("%s%s%.*s", system, colon, (int)bytes, name);
		if (scene_user_put_side(user, side, title, &mark))
			return;
		free(title);
	}
	title = xasprintf("%s%s%s", system, colon, name);
	mark.name = title;
	user->scene->ops->instant(user->scene->context, &mark);
}

void scene_user_free(struct scene_user *user)
{
	struct scene_mark mark = { .time_ns = user->scene->job->end_ns, .category = "event" };

	for (size_t i = 0; i < user->stack_count; i++) {
		mark.track = user->stacks[i]->track;
		end_slices(user, user->stacks[i], 0, &mark);
		free(user->stacks[i]);
	}
	free(user->stacks);
	map_fini(&user->by_track);
	names_fini(&user->names);
	for (size_t i = 0; i < SCENE_ARGS; i++)
		outbuf_fini(&user->texts[i]);
	print_memory_free(user->memory);
	printer_free(user->printer);
	free(user);
}
