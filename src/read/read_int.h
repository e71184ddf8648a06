/*
 * read_int.h - what the formats of read/ share. Only for this room.
 */
#ifndef READ_READ_INT_H
#define READ_READ_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "event/facts.h"

struct err;
struct merge;
struct source;
struct stack_walker;
struct trace;
struct trace_meaning;

/* A trace format: one file of this room has the row, read.c lists it. */
struct trace_format {
	const char *name;
	/* Is the file or folder at 'path' of this format? Looks at its content. */
	bool (*matches)(const char *path);
	/* Open it. Returns 0 and *out_trace, or a negative errno with err filled. */
	int (*open)(const char *path, struct trace **out_trace, struct err *err);
};

struct trace_ops {
	/* These may be NULL: the format has no records. */
	void (*meaning)(const struct trace *trace, struct trace_meaning *out_meaning);
	int (*find_place)(struct trace *trace, uint32_t cpu, uint64_t place, uint64_t *out_ns,
			  struct err *err);
	/* May be NULL: it has no copies of stacks. */
	void (*walk_stacks)(struct trace *trace, const struct stack_walker *walker);
	void (*close)(struct trace *trace);
};

/* First member of every format's own struct. */
struct trace {
	const struct trace_ops *ops;
	struct source *source;
	struct source *twins;  /* owned by read.c; NULL = no call can be told twice */
	struct source *widths; /* owned by read.c; NULL = no program can have 32 bits */
	struct merge *merge;   /* behind the source: hands out the events and their records */
	struct facts facts;
	bool keeps_records;
};

/* Can anything be read there at all? Returns 0, or negative with err filled: who may read it. */
int read_check_place(const char *path, struct err *err);

/* No format knows it: fill err with what it is instead, or who may read it. Returns negative. */
int read_refuse(const char *path, struct err *err);

/* Of a recording that is still being made; see read_open_growing(). */
int holdup_dir_open_growing(const char *path, uint64_t from_ns, uint64_t until_ns,
			    struct trace **out_trace, struct err *err);

extern const struct trace_format holdup_dir_format;
extern const struct trace_format ctf_dir_format;
extern const struct trace_format text_format;
extern const struct trace_format dat_trace_format;
extern const struct trace_format perf_data_format;
extern const struct trace_format raw_dir_format;

#endif
