/*
 * resolve.c - an instance of each declared type for each place where it is used.
 *
 * Of a place it is known what comes before it, so that a length or a tag can be found: the
 * integers it may be get a slot, to which they are copied as they are read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "read/ctf/meta.h"

#define MAX_TARGETS 64u /* integers that one length may be */

enum scope {
	SCOPE_PACKET_HEADER,
	SCOPE_PACKET_CONTEXT,
	SCOPE_EVENT_HEADER,
	SCOPE_STREAM_CONTEXT,
	SCOPE_EVENT_CONTEXT,
	SCOPE_FIELDS,
	SCOPE_COUNT
};

static const char *const scope_paths[SCOPE_COUNT] = {
	[SCOPE_PACKET_HEADER] = "trace.packet.header.",
	[SCOPE_PACKET_CONTEXT] = "stream.packet.context.",
	[SCOPE_EVENT_HEADER] = "stream.event.header.",
	[SCOPE_STREAM_CONTEXT] = "stream.event.context.",
	[SCOPE_EVENT_CONTEXT] = "event.context.",
	[SCOPE_FIELDS] = "event.fields.",
};

/* A type that is being made, and which of its members. */
struct frame {
	struct ctf_type *type;
	uint32_t index;
	struct frame *outer;
};

struct resolver {
	struct ctf_meta *meta;
	struct err *err;
	struct ctf_type *roots[SCOPE_COUNT]; /* instances */
	enum scope scope;
	uint32_t slots;
	size_t *types_left; /* instances that may still be made */
	bool has_clock;	    /* CTF 2: the stream has one */
};

/* The integers that a path leads to. */
struct found {
	struct ctf_type *items[MAX_TARGETS];
	uint32_t count;
};

static bool resolver_wrong(struct resolver *resolver, uint32_t line, const char *what,
			   const char *name)
{
	(void)err_set(resolver->err, -EBADMSG, "metadata line %u: %s%s", line, what, name);
	return false;
}

/* ------------------------------------------------------------------ paths */

static uint32_t member_called(const struct ctf_type *type, const char *name, size_t bytes)
{
	for (uint32_t i = 0; i < type->member_count; i++) {
		if (strncmp(type->members[i].name, name, bytes) == 0 &&
		    type->members[i].name[bytes] == '\0')
			return i;
	}
	return UINT32_MAX;
}

/* The first part of a path, and where the rest begins. */
static size_t part_of(const struct resolver *resolver, const char *path, const char **out_rest)
{
	char mark = resolver->meta->is_ctf2 ? CTF_PATH_MARK : '.';
	size_t bytes = (size_t)(strchrnul(path, mark) - path);

	*out_rest = path + bytes + (path[bytes] != '\0');
	return bytes;
}

static const struct frame *frame_of(const struct frame *frame, const struct ctf_type *type)
{
	while (frame && frame->type != type)
		frame = frame->outer;
	return frame;
}

/*
 * Follow the path from 'type'. Where that contains the place that asks ('frame'), only what
 * was read before counts, and of a variant only the option that was chosen.
 */
static bool resolver_follow(struct resolver *resolver, const struct frame *frame,
			    struct ctf_type *type, const char *path, struct found *found)
{
	const struct frame *here = frame_of(frame, type);
	const char *rest;
	size_t bytes = part_of(resolver, path, &rest);
	uint32_t index;

	switch ((enum ctf_kind)type->kind) {
	case CTF_STRUCT:
		if (!*path)
			return false;
		index = member_called(type, path, bytes);
		if (index == UINT32_MAX || (here && index > here->index) ||
		    !type->members[index].type)
			return false;
		return resolver_follow(resolver, frame, type->members[index].type, rest, found);
	case CTF_VARIANT:
		if (here)
			return *path &&
			       resolver_follow(resolver, frame, type->members[here->index].type,
					       path, found);
		if (!type->members)
			return false; /* it asks for itself */
		for (uint32_t i = 0; i < type->member_count; i++) {
			if (!resolver_follow(resolver, frame, type->members[i].type, path, found))
				return false;
		}
		return true;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		return here && type->element && *path &&
		       resolver_follow(resolver, frame, type->element, path, found);
	case CTF_INTEGER:
	case CTF_ENUM:
	case CTF_VARINT:
		if (*path || found->count == MAX_TARGETS)
			return false;
		found->items[found->count++] = type;
		return true;
	default:
		return false;
	}
}

static bool find_absolute(struct resolver *resolver, const struct frame *frame, const char *path,
			  struct found *found, bool *out_done)
{
	*out_done = true;
	for (uint32_t i = 0; i < SCOPE_COUNT; i++) {
		size_t bytes = strlen(scope_paths[i]);

		if (strncmp(path, scope_paths[i], bytes) == 0)
			return i <= resolver->scope && resolver->roots[i] &&
			       resolver_follow(resolver, frame, resolver->roots[i], path + bytes,
					       found);
	}
	*out_done = false;
	return false;
}

/* CTF 2: from a scope, or from a structure around. */
static bool find_declared(struct resolver *resolver, const struct frame *frame,
			  const struct ctf_type *type, struct found *found)
{
	uint32_t up = type->path_up;

	if (type->path_from >= CTF_PATH_SCOPE) {
		uint32_t scope = type->path_from - CTF_PATH_SCOPE;

		return scope <= resolver->scope && resolver->roots[scope] &&
		       resolver_follow(resolver, frame, resolver->roots[scope], type->path, found);
	}
	for (; frame; frame = frame->outer) {
		if (frame->type->kind != CTF_STRUCT)
			continue;
		if (up-- == 0)
			return resolver_follow(resolver, frame, frame->type, type->path, found);
	}
	return false;
}

/* Find what 'path', seen from 'frame', may be. */
static bool resolver_find(struct resolver *resolver, const struct frame *frame, const char *path,
			  struct found *found)
{
	const char *rest;
	size_t bytes = part_of(resolver, path, &rest);
	bool done, any = find_absolute(resolver, frame, path, found, &done);

	if (done)
		return any;
	for (const struct frame *around = frame; around; around = around->outer) {
		uint32_t index;

		if (around->type->kind != CTF_STRUCT)
			continue;
		index = member_called(around->type, path, bytes);
		if (index < around->index)
			return resolver_follow(resolver, frame, around->type->members[index].type,
					       rest, found);
	}
	return false;
}

static void ctf_resolve_add_slot(struct resolver *resolver, struct ctf_type *type, uint32_t slot)
{
	uint32_t *slots =
		ctf_take(&resolver->meta->arena, (type->slot_count + 1) * sizeof(uint32_t));

	if (type->slot_count)
		memcpy(slots, type->slots, type->slot_count * sizeof(uint32_t));
	slots[type->slot_count++] = slot;
	type->slots = slots;
}

/* The slot for what 'type' refers to, which is found by its path. */
static bool make_source(struct resolver *resolver, const struct frame *frame, struct ctf_type *type,
			struct found *found)
{
	if (!type->path)
		return resolver_wrong(resolver, type->line, "a variant has no tag", "");
	if (type->path_from == CTF_PATH_TSDL ? !resolver_find(resolver, frame, type->path, found)
					     : !find_declared(resolver, frame, type, found))
		found->count = 0;
	if (found->count == 0)
		return resolver_wrong(resolver, type->line,
				      "there is no integer before this called ", type->path);
	/* One that is referred to already has a slot of the same value. */
	if (found->count == 1 && found->items[0]->slot_count) {
		type->source = found->items[0]->slots[0];
		return true;
	}
	type->source = resolver->slots++;
	for (uint32_t i = 0; i < found->count; i++)
		ctf_resolve_add_slot(resolver, found->items[i], type->source);
	return true;
}

/* ------------------------------------------------------------------ instances */

/* LTTng puts an underscore before some names: that is nothing of a label's, or of an option's. */
static bool is_nearly(const char *label, const char *option)
{
	return (*option == '_' && strcmp(label, option + 1) == 0) ||
	       (*label == '_' && strcmp(label + 1, option) == 0);
}

/* The option that has the label's name, else one that differs by an underscore; or the count. */
static uint32_t option_of(const struct ctf_type *type, const char *label)
{
	uint32_t near = type->member_count;

	for (uint32_t m = 0; m < type->member_count; m++) {
		if (strcmp(label, type->members[m].name) == 0)
			return m;
		if (near == type->member_count && is_nearly(label, type->members[m].name))
			near = m;
	}
	return near;
}

/* An option that no label has is never chosen. */
static bool make_choices(struct resolver *resolver, struct ctf_type *type,
			 const struct ctf_type *tag)
{
	type->choices = ctf_take(&resolver->meta->arena, tag->range_count * sizeof(*type->choices));
	type->tag_signed = tag->is_signed;
	if ((uint64_t)tag->range_count * type->member_count > 1u << 24)
		return resolver_wrong(resolver, type->line, "a variant has too many options", "");
	for (uint32_t i = 0; i < tag->range_count; i++) {
		const struct ctf_range *range = &tag->ranges[i];
		uint32_t option = option_of(type, range->label);

		if (option < type->member_count)
			type->choices[type->choice_count++] =
				(struct ctf_choice){ range->low, range->high, option };
	}
	return true;
}

static const struct ctf_clock *clock_called(const struct ctf_meta *meta, const char *name)
{
	for (size_t i = 0; i < meta->clock_count; i++) {
		if (strcmp(meta->clocks[i]->name, name) == 0)
			return meta->clocks[i];
	}
	return NULL;
}

static const struct {
	const char *name;
	uint8_t scopes; /* bits */
	uint8_t role;
} role_rows[] = {
	{ "magic", 1 << SCOPE_PACKET_HEADER, CTF_ROLE_MAGIC },
	{ "stream_id", 1 << SCOPE_PACKET_HEADER, CTF_ROLE_STREAM_ID },
	{ "stream_instance_id", 1 << SCOPE_PACKET_HEADER, CTF_ROLE_INSTANCE_ID },
	{ "packet_size", 1 << SCOPE_PACKET_CONTEXT, CTF_ROLE_PACKET_SIZE },
	{ "content_size", 1 << SCOPE_PACKET_CONTEXT, CTF_ROLE_CONTENT_SIZE },
	{ "timestamp_begin", 1 << SCOPE_PACKET_CONTEXT, CTF_ROLE_BEGIN },
	{ "timestamp_end", 1 << SCOPE_PACKET_CONTEXT, CTF_ROLE_END },
	{ "events_discarded", 1 << SCOPE_PACKET_CONTEXT, CTF_ROLE_DISCARDED },
	{ "packet_seq_num", 1 << SCOPE_PACKET_CONTEXT, CTF_ROLE_SEQUENCE_NUMBER },
	{ "holdup_packet_number", 1 << SCOPE_PACKET_CONTEXT, CTF_ROLE_SEQUENCE_NUMBER },
	{ "cpu_id", 1 << SCOPE_PACKET_CONTEXT, CTF_ROLE_CPU },
	{ "id", 1 << SCOPE_EVENT_HEADER, CTF_ROLE_EVENT_ID },
	{ "timestamp", 1 << SCOPE_EVENT_HEADER, CTF_ROLE_TIMESTAMP },
	{ "tid", 1 << SCOPE_STREAM_CONTEXT | 1 << SCOPE_EVENT_CONTEXT, CTF_ROLE_TID },
	{ "perf_tid", 1 << SCOPE_STREAM_CONTEXT | 1 << SCOPE_EVENT_CONTEXT | 1 << SCOPE_FIELDS,
	  CTF_ROLE_TID },
	{ "vtid", 1 << SCOPE_STREAM_CONTEXT | 1 << SCOPE_EVENT_CONTEXT, CTF_ROLE_VTID },
	{ "cpu_id", 1 << SCOPE_STREAM_CONTEXT | 1 << SCOPE_EVENT_CONTEXT, CTF_ROLE_CPU },
	{ "cpu_id", 1 << SCOPE_FIELDS, CTF_ROLE_CPU }, /* of a nameless tracer: see is_nameless() */
	{ "perf_cpu", 1 << SCOPE_STREAM_CONTEXT | 1 << SCOPE_EVENT_CONTEXT | 1 << SCOPE_FIELDS,
	  CTF_ROLE_CPU },
};

/* Where the roles of CTF 2 mean something, and what a timestamp is there. */
static const struct {
	uint8_t role, scopes; /* bits */
} declared_rows[] = {
	{ CTF_ROLE_MAGIC, 1 << SCOPE_PACKET_HEADER },
	{ CTF_ROLE_STREAM_ID, 1 << SCOPE_PACKET_HEADER },
	{ CTF_ROLE_INSTANCE_ID, 1 << SCOPE_PACKET_HEADER },
	{ CTF_ROLE_PACKET_SIZE, 1 << SCOPE_PACKET_CONTEXT },
	{ CTF_ROLE_CONTENT_SIZE, 1 << SCOPE_PACKET_CONTEXT },
	{ CTF_ROLE_BEGIN, 1 << SCOPE_PACKET_CONTEXT },
	{ CTF_ROLE_END, 1 << SCOPE_PACKET_CONTEXT },
	{ CTF_ROLE_DISCARDED, 1 << SCOPE_PACKET_CONTEXT },
	{ CTF_ROLE_SEQUENCE_NUMBER, 1 << SCOPE_PACKET_CONTEXT },
	{ CTF_ROLE_EVENT_ID, 1 << SCOPE_EVENT_HEADER },
	{ CTF_ROLE_TIMESTAMP, 1 << SCOPE_EVENT_HEADER },
};

/* The first of the roles becomes 'role', the others stay bits. */
static void set_declared_roles(struct resolver *resolver, struct ctf_type *type)
{
	uint32_t declared = type->roles_also;

	type->role = CTF_ROLE_NONE;
	type->roles_also = 0;
	if (declared & 1u << CTF_ROLE_TIMESTAMP)
		declared |= 1u << CTF_ROLE_BEGIN; /* one name for both */
	for (size_t i = 0; i < ARRAY_LEN(declared_rows); i++) {
		uint8_t role = declared_rows[i].role;

		if (!(declared & 1u << role) || !(declared_rows[i].scopes & 1 << resolver->scope))
			continue;
		if (type->role == CTF_ROLE_NONE)
			type->role = role;
		else
			type->roles_also |= 1u << role;
	}
}

/* CTF 2 says what a field is for, but for what LTTng and perf add. */
static bool set_declared_role(struct resolver *resolver, struct ctf_type *type, const char *name)
{
	set_declared_roles(resolver, type);
	name += *name == '_';
	for (size_t i = 0; i < ARRAY_LEN(role_rows); i++) {
		uint8_t role = role_rows[i].role;

		if ((role == CTF_ROLE_CPU || role == CTF_ROLE_TID || role == CTF_ROLE_VTID) &&
		    type->role == CTF_ROLE_NONE && strcmp(role_rows[i].name, name) == 0 &&
		    role_rows[i].scopes & 1 << resolver->scope)
			type->role = role;
	}
	if ((type->role == CTF_ROLE_TIMESTAMP || type->role == CTF_ROLE_BEGIN ||
	     type->role == CTF_ROLE_END) &&
	    !resolver->has_clock)
		return resolver_wrong(resolver, type->line,
				      "a timestamp needs a default clock: ", name);
	if (type->role == CTF_ROLE_MAGIC && type->kind != CTF_VARINT && type->bits != 32)
		return resolver_wrong(resolver, type->line, "magic must have 32 bits", "");
	return true;
}

/* LTTng and perf say who they are, and their events may tell of other CPUs. */
static bool is_nameless(const struct ctf_meta *meta)
{
	return !ctf_meta_env(meta, "tracer_name") && !ctf_meta_env(meta, "domain");
}

/* What an integer of this name tells the reader here. */
static bool set_role(struct resolver *resolver, struct ctf_type *type, const char *name)
{
	bool is_unsigned = !type->is_signed || resolver->scope >= SCOPE_STREAM_CONTEXT;

	if (resolver->meta->is_ctf2)
		return set_declared_role(resolver, type, name);
	if (type->clock && resolver->scope == SCOPE_EVENT_HEADER) {
		type->role = CTF_ROLE_TIMESTAMP;
		return true;
	}
	name += *name == '_';
	for (size_t i = 0; i < ARRAY_LEN(role_rows); i++) {
		if (is_unsigned && strcmp(role_rows[i].name, name) == 0 &&
		    role_rows[i].scopes & 1 << resolver->scope &&
		    (role_rows[i].scopes != 1 << SCOPE_FIELDS || is_nameless(resolver->meta)))
			type->role = role_rows[i].role;
	}
	if (type->role == CTF_ROLE_MAGIC && type->bits != 32)
		return resolver_wrong(resolver, type->line, "magic must have 32 bits", "");
	return true;
}

static struct ctf_type *ctf_resolve_make(struct resolver *resolver, struct frame *outer,
					 const struct ctf_type *from, const char *name);

static bool make_members(struct resolver *resolver, struct frame *outer, struct ctf_type *type,
			 const struct ctf_type *from)
{
	struct frame frame = { type, 0, outer };
	size_t bytes = from->member_count * sizeof(*from->members);

	type->members = ctf_take(&resolver->meta->arena, bytes);
	for (uint32_t i = 0; i < from->member_count; i++)
		type->members[i].name = from->members[i].name;
	for (; frame.index < from->member_count; frame.index++) {
		struct ctf_member *member = &type->members[frame.index];

		member->type = ctf_resolve_make(resolver, &frame, from->members[frame.index].type,
						member->name);
		if (!member->type)
			return false;
	}
	return true;
}

static bool make_element(struct resolver *resolver, struct frame *outer, struct ctf_type *type,
			 const struct ctf_type *from)
{
	struct frame frame = { type, 0, outer };
	struct ctf_type *element;

	/* A path may lead through it to what was read before within the same element. */
	type->element = outer ? NULL : from->element;
	element = ctf_resolve_make(resolver, &frame, from->element, "");
	type->element = element;
	return element != NULL;
}

static bool make_number(struct resolver *resolver, struct ctf_type *type, const char *name)
{
	if (type->order == CTF_ORDER_NATIVE)
		type->order = resolver->meta->big_endian ? CTF_ORDER_BIG : CTF_ORDER_LITTLE;
	if (type->clock_name) {
		type->clock = clock_called(resolver->meta, type->clock_name);
		if (!type->clock)
			return resolver_wrong(resolver, type->line, "there is no clock ",
					      type->clock_name);
	}
	return type->kind == CTF_FLOAT || set_role(resolver, type, name);
}

/* One sign for all that a tag may be. */
static bool check_tags(struct resolver *resolver, struct ctf_type *type, const struct found *found)
{
	type->tag_signed = found->items[0]->is_signed;
	for (uint32_t i = 1; i < found->count; i++) {
		if (found->items[i]->is_signed != type->tag_signed)
			return resolver_wrong(
				resolver, type->line,
				"a selector has a sign at one place only: ", type->path);
	}
	return true;
}

static bool make_parts(struct resolver *resolver, struct frame *outer, struct ctf_type *type,
		       const struct ctf_type *from, const char *name)
{
	struct found found = { .count = 0 };

	switch ((enum ctf_kind)type->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
	case CTF_FLOAT:
	case CTF_VARINT:
		return make_number(resolver, type, name);
	case CTF_STRING:
		return true;
	case CTF_STRUCT:
		return make_members(resolver, outer, type, from);
	case CTF_VARIANT:
		if (!make_source(resolver, outer, type, &found))
			return false;
		if (type->has_choices)
			return check_tags(resolver, type, &found) &&
			       make_members(resolver, outer, type, from);
		if (found.count != 1 || found.items[0]->kind != CTF_ENUM)
			return resolver_wrong(resolver, type->line,
					      "the tag is no enumeration: ", type->path);
		return make_members(resolver, outer, type, from) &&
		       make_choices(resolver, type, found.items[0]);
	case CTF_ARRAY:
		return make_element(resolver, outer, type, from);
	case CTF_SEQUENCE:
		if (!make_source(resolver, outer, type, &found))
			return false;
		for (uint32_t i = 0; i < found.count; i++) {
			if (found.items[i]->is_signed)
				return resolver_wrong(resolver, type->line,
						      "a length has a sign: ", type->path);
		}
		return make_element(resolver, outer, type, from);
	}
	return false;
}

static struct ctf_type *ctf_resolve_make(struct resolver *resolver, struct frame *outer,
					 const struct ctf_type *from, const char *name)
{
	struct ctf_type *type;

	if (*resolver->types_left == 0) {
		(void)resolver_wrong(resolver, from->line, "there are too many fields", "");
		return NULL;
	}
	--*resolver->types_left;
	type = ctf_take(&resolver->meta->arena, sizeof(*type));
	*type = *from;
	/* Paths look for the frame's type; its parts are set as they are made. */
	if (outer && outer->type->kind == CTF_STRUCT)
		outer->type->members[outer->index].type = type;
	else if (outer && outer->type->kind == CTF_VARIANT)
		outer->type->members[outer->index].type = type;
	else if (outer)
		outer->type->element = type;
	else
		resolver->roots[resolver->scope] = type;
	type->members = NULL;
	type->element = NULL;
	if (!make_parts(resolver, outer, type, from, name))
		return NULL;
	return type;
}

static bool make_root(struct resolver *resolver, enum scope scope, struct ctf_type **type)
{
	resolver->roots[scope] = NULL;
	resolver->scope = scope;
	if (!*type)
		return true;
	*type = ctf_resolve_make(resolver, NULL, *type, "");
	return *type != NULL;
}

/* ------------------------------------------------------------------ streams and events */

static bool has_bits(const struct ctf_type *type)
{
	return type && !ctf_type_is_empty(type);
}

static bool ctf_resolve_make_event(struct resolver *resolver, struct ctf_stream *stream,
				   struct ctf_event *event)
{
	if (!has_bits(stream->event_header) && !has_bits(stream->event_context) &&
	    !has_bits(event->context) && !has_bits(event->fields))
		return resolver_wrong(resolver, event->line,
				      "an event has no bits at all: ", event->name);
	return make_root(resolver, SCOPE_EVENT_CONTEXT, &event->context) &&
	       make_root(resolver, SCOPE_FIELDS, &event->fields);
}

static const struct ctf_clock *ctf_resolve_clock_of(const struct ctf_type *type)
{
	const struct ctf_clock *clock = NULL;

	if (!type)
		return NULL;
	if (type->role == CTF_ROLE_TIMESTAMP || type->role == CTF_ROLE_BEGIN)
		return type->clock;
	for (uint32_t i = 0; i < type->member_count && !clock; i++)
		clock = ctf_resolve_clock_of(type->members[i].type);
	return clock;
}

static bool make_stream(struct resolver *resolver, struct ctf_stream *stream)
{
	memset(resolver->roots, 0, sizeof(resolver->roots));
	resolver->slots = 0;
	resolver->has_clock = stream->clock_name != NULL;
	stream->packet_header = resolver->meta->packet_header;
	if (!make_root(resolver, SCOPE_PACKET_HEADER, &stream->packet_header) ||
	    !make_root(resolver, SCOPE_PACKET_CONTEXT, &stream->packet_context) ||
	    !make_root(resolver, SCOPE_EVENT_HEADER, &stream->event_header) ||
	    !make_root(resolver, SCOPE_STREAM_CONTEXT, &stream->event_context))
		return false;
	stream->clock = stream->clock_name ? clock_called(resolver->meta, stream->clock_name)
					   : ctf_resolve_clock_of(stream->event_header);
	if (stream->clock_name && !stream->clock)
		return resolver_wrong(resolver, stream->line, "there is no clock ",
				      stream->clock_name);
	if (!stream->clock)
		stream->clock = ctf_resolve_clock_of(stream->packet_context);
	for (size_t i = 0; i < stream->event_count; i++) {
		if (!ctf_resolve_make_event(resolver, stream, stream->events[i]))
			return false;
	}
	stream->slot_count = resolver->slots;
	return true;
}

static int by_id(const void *a, const void *b)
{
	const struct ctf_event *x = *(struct ctf_event *const *)a;
	const struct ctf_event *y = *(struct ctf_event *const *)b;

	if (x->stream_id != y->stream_id)
		return x->stream_id < y->stream_id ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Each stream gets its part of the sorted events. */
static bool share_events(struct resolver *resolver)
{
	struct ctf_meta *meta = resolver->meta;
	struct ctf_event **sorted =
		ctf_take(&meta->arena, (meta->event_count + 1) * sizeof(struct ctf_event *));

	if (meta->event_count)
		memcpy(sorted, meta->events, meta->event_count * sizeof(struct ctf_event *));
	qsort(sorted, meta->event_count, sizeof(struct ctf_event *), by_id);
	for (size_t i = 0; i < meta->event_count; i++) {
		struct ctf_stream *stream = ctf_meta_stream(meta, sorted[i]->stream_id);

		if (!stream)
			return resolver_wrong(resolver, sorted[i]->line,
					      "there is no stream for the event ", sorted[i]->name);
		if (stream->event_count && sorted[i - 1]->id == sorted[i]->id)
			return resolver_wrong(resolver, sorted[i]->line,
					      "there are two events with the id of ",
					      sorted[i]->name);
		if (stream->event_count++ == 0)
			stream->events = &sorted[i];
	}
	return true;
}

static bool has_role(const struct ctf_type *type, uint8_t role)
{
	if (!type)
		return false;
	if (type->role == role)
		return true;
	for (uint32_t i = 0; i < type->member_count; i++) {
		if (has_role(type->members[i].type, role))
			return true;
	}
	return false;
}

/* Events without a stream block: there is one stream, of which nothing is said. */
static void ctf_resolve_add_stream(struct ctf_meta *meta)
{
	if (meta->stream_count)
		return;
	meta->streams = vec_room(meta->streams, 0, &meta->stream_cap, sizeof(struct ctf_stream *));
	meta->streams[meta->stream_count++] = ctf_take(&meta->arena, sizeof(struct ctf_stream));
}

int ctf_resolve(struct ctf_meta *meta, size_t *types_left, struct err *err)
{
	struct resolver resolver = { .meta = meta, .err = err, .types_left = types_left };
	struct ctf_type *header = meta->packet_header;

	ctf_resolve_add_stream(meta);
	if (!share_events(&resolver))
		return -EBADMSG;
	for (size_t i = 0; i < meta->stream_count; i++) {
		if (!make_stream(&resolver, meta->streams[i]))
			return -EBADMSG;
	}
	/* Once more by itself: it is read before the stream is known. */
	memset(resolver.roots, 0, sizeof(resolver.roots));
	resolver.slots = 0;
	if (!make_root(&resolver, SCOPE_PACKET_HEADER, &header))
		return -EBADMSG;
	meta->packet_header = header;
	meta->slot_count = resolver.slots;
	if (!meta->is_ctf2 && meta->stream_count > 1 && !has_role(header, CTF_ROLE_STREAM_ID))
		return err_set(
			err, -EBADMSG,
			"metadata: there are several streams, but packets have no stream_id");
	return 0;
}
