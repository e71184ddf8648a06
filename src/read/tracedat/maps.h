/*
 * maps.h - files that processes had mapped, as trace-cmd tells of those that it recorded alone (option PROCMAPS).
 *
 *	PID COUNT PROGRAM
 *	START END PATH		COUNT times; all but the path hexadecimal
 *
 * They are as they were when trace-cmd looked last, and that of one process: what it ran before an exec had others. No line
 * tells where in the file a mapping begins: offsets count from where the first one of the file does.
 */
#ifndef READ_TRACEDAT_MAPS_H
#define READ_TRACEDAT_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/names.h"

struct event;
struct stack_frame;
struct trace_record;

struct dat_map {
	int32_t tgid;
	uint32_t path; /* of 'paths' */
	uint64_t start, end;
	uint64_t base; /* start of the first one of the file, if there are no others between */
};

struct dat_maps {
	struct dat_map *items; /* owned; sorted by (tgid, start) by dat_maps_finish() */
	size_t count, cap;
	struct names paths;
	struct map execs; /* process: when it began to run what it ran at the end, ns */
	uint64_t changes; /* programs that began since dat_maps_learn() was over */
};

/* The text of an option. False: it is damaged. */
bool dat_maps_add(struct dat_maps *maps, const char *text);
void dat_maps_finish(struct dat_maps *maps);

/* Each event, before anything is asked for: which programs processes ran. */
void dat_maps_learn(struct dat_maps *maps, const struct event *event);

/* For struct code_map of event_stacks.h: 'context' is the maps. */
void dat_maps_follow(void *context, const struct event *event, const struct trace_record *record);
bool dat_maps_find(void *context, int32_t tgid, uint64_t time_ns, uint64_t address,
		   struct stack_frame *out_frame);

void dat_maps_fini(struct dat_maps *maps); /* zeroed is fine */

#endif
