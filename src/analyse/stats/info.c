/* info.c - counting by type and by stream. */
#include "analyse/stats/info.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/stats/info_int.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/facts.h"

#define CPUS 65536u

struct info *info_new(const struct facts *facts)
{
	struct info *info = xcalloc(1, sizeof(*info));
	struct info_work *work = xcalloc(1, sizeof(*work));

	info->facts = facts;
	info->work = work;
	work->kinds = xcalloc(INFO_KINDS, sizeof(uint64_t));
	work->kind_types = xcalloc(INFO_KINDS, sizeof(uint8_t));
	work->others = xcalloc(INFO_MAX_NAMES + 1, sizeof(uint64_t));
	return info;
}

static void free_work(struct info_work *work)
{
	for (size_t i = 0; i < work->added_count; i++)
		free((char *)(uintptr_t)work->added[i].name);
	free(work->added);
	free(work->kinds);
	free(work->kind_types);
	free(work->others);
	free(work->cpus[0]);
	free(work->cpus[1]);
	names_fini(&work->other_names);
	map_fini(&work->other_ids);
	free(work);
}

void info_free(struct info *info)
{
	if (!info)
		return;
	for (size_t i = 0; i < info->type_count; i++)
		free((char *)(uintptr_t)info->types[i].title);
	free(info->types);
	free(info->streams);
	free_work(info->work);
	free(info);
}

/* ------------------------------------------------------------------ counting */

static struct info_stream *stream_of(struct info_work *work, const struct event *event)
{
	bool is_user = event->context & EV_CTX_USER;
	size_t *cap = &work->cpu_cap[is_user];

	if (event->cpu >= *cap) {
		size_t room = event->cpu < 64 ? 64 : CPUS;

		work->cpus[is_user] =
			xrealloc(work->cpus[is_user], room, sizeof(struct info_stream));
		memset(work->cpus[is_user] + *cap, 0, (room - *cap) * sizeof(struct info_stream));
		*cap = room;
	}
	return &work->cpus[is_user][event->cpu];
}

/* An event without a number of its kind: by its name, whose address stays the same. */
static void count_other(struct info_work *work, const struct event *event)
{
	bool is_new;
	uint64_t *id = map_add(&work->other_ids, (uintptr_t)event->other.name, &is_new);

	if (is_new && work->other_names.count < INFO_MAX_NAMES) {
		AUTO_FREE char *title =
			xasprintf("%s%s%s", event->other.system ? event->other.system : "",
				  event->other.system && *event->other.system ? ":" : "",
				  event->other.name ? event->other.name : "");

		*id = names_add(&work->other_names, title, 1024);
	}
	work->others[*id <= INFO_MAX_NAMES ? *id : 0]++;
}

static void count_hole(struct info *info, const struct event *event)
{
	struct info_stream *stream = stream_of(info->work, event);
	uint64_t lost = event->lost.count ? event->lost.count : 1;

	if (event->lost.is_step)
		return;
	info->holes++;
	info->holes_unknown += event->lost.count == 0;
	info->lost_packets += event->lost.packets ? event->lost.packets : event->lost.count == 0;
	info->lost_events += lost;
	stream->holes++;
	stream->lost += lost;
}

void info_count(struct info *info, const struct event *event, uint32_t kind)
{
	struct info_work *work = info->work;
	struct info_stream *stream;

	work->types[event->type]++;
	if (event->type == EV_LOST) {
		count_hole(info, event);
		return;
	}
	if (event->type == EV_FD_NAME)
		return; /* of no stream of events */
	if (kind < INFO_KINDS) {
		work->kinds[kind]++;
		work->kind_types[kind] = event->type;
	} else if (event->type == EV_OTHER) {
		count_other(work, event);
	} else {
		work->plain[event->type]++;
	}
	if (event->type == EV_BLOCKED_IN && info->facts->has_calls_beside)
		return; /* nor this */
	stream = stream_of(work, event);
	if (stream->events++ == 0)
		stream->first_ns = event->time_ns;
	stream->last_ns = event->time_ns;
	work->user_events += (event->context & EV_CTX_USER) || info->facts->only_programs;
	if (info->events++ == 0)
		info->first_ns = event->time_ns;
	info->last_ns = event->time_ns;
}

void info_add_stream(struct info *info, const struct info_stream *stream)
{
	struct info_work *work = info->work;

	work->added = vec_room(work->added, work->added_count, &work->added_cap, sizeof(*stream));
	work->added[work->added_count] = *stream;
	work->added[work->added_count++].name = xstrdup(stream->name);
}

/* The kernel's events that have a type, by the last part of their name. */
static enum event_type type_named(const char *name)
{
	for (uint32_t type = EV_SCHED_SWITCH; type < EV_TYPE_COUNT; type++) {
		if (strcmp(event_type_name(type), name) == 0)
			return type;
	}
	if (strncmp(name, "syscall_entry_", 14) == 0 || strncmp(name, "sys_enter_", 10) == 0)
		return EV_SYS_ENTER;
	if (strncmp(name, "syscall_exit_", 13) == 0 || strncmp(name, "sys_exit_", 9) == 0)
		return EV_SYS_EXIT;
	return EV_NONE;
}

void info_recorded(struct info *info, const char *title)
{
	const char *slash = strchr(title, '/');

	if (strcmp(title, "lock/acquired") == 0)
		info->work->user_locks = true;
	if (slash && strncmp(title, "irq_vectors/", 12) == 0)
		info->work->recorded[EV_VECTOR_ENTRY] = info->work->recorded[EV_VECTOR_EXIT] = true;
	if (slash)
		info->work->recorded[type_named(slash + 1)] = true;
}

/* ------------------------------------------------------------------ lists */

static void add_type(struct info *info, size_t *cap, char *title, uint64_t count, uint8_t type)
{
	info->types = vec_room(info->types, info->type_count, cap, sizeof(*info->types));
	info->types[info->type_count++] = (struct info_type){ title, count, type };
}

ORDER_FUNCTION(more_first, struct info_type, ORDER_DOWN(count), ORDER_TEXT(title));

ORDER_FUNCTION(by_title, struct info_type, ORDER_TEXT(title));

/* Traces that were read as one each have a kind of that name: they are one type. */
static void join_types(struct info *info)
{
	size_t kept = 0;

	if (info->type_count == 0)
		return;
	qsort(info->types, info->type_count, sizeof(*info->types), by_title);
	for (size_t i = 1; i < info->type_count; i++) {
		if (strcmp(info->types[kept].title, info->types[i].title) == 0) {
			info->types[kept].count += info->types[i].count;
			free((char *)(uintptr_t)info->types[i].title);
		} else {
			info->types[++kept] = info->types[i];
		}
	}
	info->type_count = kept + 1;
}

static char *title_for(uint32_t kind, const char *(*title_of)(void *context, uint32_t kind),
		       void *context)
{
	const char *title = title_of ? title_of(context, kind) : NULL;

	return title ? xstrdup(title) : xasprintf("event %u", kind);
}

static void list_types(struct info *info, const char *(*title_of)(void *context, uint32_t kind),
		       void *context)
{
	struct info_work *work = info->work;
	size_t cap = 0;

	for (uint32_t kind = 0; kind < INFO_KINDS; kind++) {
		if (work->kinds[kind])
			add_type(info, &cap, title_for(kind, title_of, context), work->kinds[kind],
				 work->kind_types[kind]);
	}
	for (uint32_t type = 0; type < EV_TYPE_COUNT; type++) {
		if (work->plain[type])
			add_type(info, &cap, xstrdup(event_type_name(type)), work->plain[type],
				 (uint8_t)type);
	}
	for (uint32_t id = 0; id <= INFO_MAX_NAMES; id++) {
		if (work->others[id])
			add_type(info, &cap,
				 xstrdup(id ? names_text(&work->other_names, id) : "others"),
				 work->others[id], EV_OTHER);
	}
	join_types(info);
	if (info->type_count)
		qsort(info->types, info->type_count, sizeof(*info->types), more_first);
}

static void add_stream(struct info *info, size_t *cap, const struct info_stream *stream)
{
	info->streams = vec_room(info->streams, info->stream_count, cap, sizeof(*stream));
	info->streams[info->stream_count++] = *stream;
}

/* The kernel's by CPU; the programs' by process where that is known, else by CPU. */
static void list_streams(struct info *info)
{
	struct info_work *work = info->work;
	const struct facts *facts = info->facts;
	size_t cap = 0;

	for (size_t cpu = 0; cpu < work->cpu_cap[0] || cpu < facts->cpu_count; cpu++) {
		struct info_stream stream = { 0 };

		if (cpu < work->cpu_cap[0])
			stream = work->cpus[0][cpu];
		stream.cpu = (int32_t)cpu;
		if (cpu < facts->cpu_count) {
			stream.bytes = facts->cpus[cpu].bytes;
			if (facts->cpus[cpu].lost > stream.lost)
				stream.lost = facts->cpus[cpu].lost;
		}
		if (stream.events || stream.bytes || stream.lost)
			add_stream(info, &cap, &stream);
	}
	for (size_t cpu = 0; work->added_count == 0 && cpu < work->cpu_cap[1]; cpu++) {
		struct info_stream stream = work->cpus[1][cpu];

		stream.cpu = (int32_t)cpu;
		stream.is_user = true;
		if (stream.events || stream.lost)
			add_stream(info, &cap, &stream);
	}
	for (size_t i = 0; i < work->added_count; i++)
		add_stream(info, &cap, &work->added[i]);
}

void info_end(struct info *info, const char *(*title_of)(void *context, uint32_t kind),
	      void *context)
{
	uint64_t lost = 0;

	list_types(info, title_of, context);
	list_streams(info);
	info_find_abilities(info);
	/* What is known to be lost, whether or not a hole in a stream shows it. */
	for (size_t i = 0; i < info->stream_count; i++)
		lost += info->streams[i].lost;
	if (lost > info->lost_events)
		info->lost_events = lost;
}

bool info_is_whole(const struct info *info)
{
	return info->facts->complete && info->lost_events == 0 && info->holes == 0 &&
	       info->facts->damage_count == 0;
}
