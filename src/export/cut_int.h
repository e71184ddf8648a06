/* cut_int.h - what the files of cut.h share. */
#ifndef EXPORT_CUT_INT_H
#define EXPORT_CUT_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/map.h"
#include "event/facts.h"
#include "export/cut.h"

struct ctf_choice;
struct event;
struct trace;

struct cut {
	struct trace *trace;
	const char *path;
	const struct cut_opts *opts;
	struct facts facts; /* at the start; its lists of threads and descriptors are owned */
	struct map tids;    /* those that are wanted; empty = all */
	struct map tgids;
	uint64_t events;
	bool is_start; /* nothing was before it */
	uint32_t
		known_threads; /* so many slots of the timeline are of threads known at the start */
};

/* cut_filter.c: which events are kept, as the writer of CTF asks for them. */
void cut_filter_init(struct cut *cut);
struct ctf_choice cut_choice(struct cut *cut);
bool cut_wants(void *context, const struct event *event);

/* cut_state.c: fill cut->facts. */
int cut_find_state(struct cut *cut, struct err *err);
void cut_state_fini(struct cut *cut);

/* cut_stacks.c: write kernel/stacks of the cut, whose facts have stacks. */
void cut_stacks_put(const struct cut *cut, FILE *out);

/* cut_dir.c: write our own trace directory to 'dir', which exists. */
int cut_write_dir(struct cut *cut, const char *dir, struct err *err);

#endif
