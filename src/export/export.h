/*
 * export.h - a trace in the formats of other tools.
 *
 *	perfetto   protobuf for Perfetto (ui.perfetto.dev, trace_processor)
 *	chrome     Trace Event JSON: chrome://tracing, Perfetto, speedscope
 *	folded     stacks of causes with their time: flamegraph.pl, inferno, speedscope
 *	pprof      a profile of code, gzip'd protobuf: pprof, speedscope, stores of profiles
 *	csv        a folder of tables: intervals, wake-ups, waits
 *	jsonl      one JSON object a line
 *	ctf        a folder: a CTF trace of the events
 *
 * A format is a row of export_formats[]. All of them are written as they are made: memory does
 * not grow with the trace. What they share is in struct export_job.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct facts;
struct lock_owners;
struct timeline;
struct trace;

/* What the lines of jsonl are. */
enum export_what {
	EXPORT_EVENTS, /* as holdup list --json: printed by the caller, not by export_run() */
	EXPORT_INTERVALS,
	EXPORT_EDGES,
	EXPORT_WAITS,
};

/* Which time the stacks of folded add up to. */
enum export_measure {
	EXPORT_BLOCKED, /* what it was blocked for */
	EXPORT_WAITING, /* and what it waited for a CPU, or was preempted */
	EXPORT_WALL,	/* all of its life */
	EXPORT_WORKING, /* when it worked */
};

/* What is to be exported. Views. */
struct export_job {
	struct trace *trace;
	const struct facts *facts;	 /* of the trace */
	const struct timeline *timeline; /* NULL for a format that does not need it */
	struct lock_owners *locks;	 /* what programs told of their locks; NULL = nothing */
	uint64_t start_ns, end_ns;	 /* the window; never empty */
	const bool *chosen;		 /* by slot of the timeline; NULL = all threads */
	enum export_what what;
	enum export_measure measure;
	int fd;	    /* set by export_run(): where the stream writes to */
	char *note; /* set by the format: what the user should know; owned by the caller */
};

/*
 * A format writes either to a stream or into a folder; the other function is NULL. Neither has to
 * look at ferror(out) at its end, and neither renames: export_run() does both. A folder exists and
 * is empty; what stands in it is forgotten when the format fails.
 * Returns 0, or negative with err filled.
 */
typedef int (*export_stream_fn)(struct export_job *job, FILE *out, struct err *err);
typedef int (*export_folder_fn)(struct export_job *job, const char *path, struct err *err);

struct export_format {
	const char *name; /* as in --to */
	const char *help; /* what reads it */
	export_stream_fn to_stream;
	export_folder_fn to_folder;
	bool is_binary;	     /* or as long as such: not for a terminal */
	bool needs_timeline; /* threads can be chosen only with a timeline */
	bool wants_locks;
	bool is_code; /* it is of what holdup hot is: the command's threads, unless some are chosen */
};

extern const struct export_format export_formats[];
extern const struct export_format export_format_code; /* folded, of code */
extern const size_t export_format_count;

/* NULL when there is none of that name. */
const struct export_format *export_find_format(const char *name);

/*
 * Write it to 'path': a file, or a folder that does not exist yet or is empty. It is made under
 * another name beside it and renamed when it is whole, so that 'path' never is half of it. NULL, or
 * "-": standard output. An error of writing (-ENOSPC, -EPIPE ...) is an error of this.
 */
int export_run(const struct export_format *format, struct export_job *job, const char *path,
	       struct err *err);

/* Is the thread of 'slot' among those that were chosen? */
static inline bool export_is_chosen(const struct export_job *job, uint32_t slot)
{
	return !job->chosen || job->chosen[slot];
}

/* The formats. */
int export_perfetto(struct export_job *job, FILE *out, struct err *err);
int export_chrome(struct export_job *job, FILE *out, struct err *err);
int export_folded(struct export_job *job, FILE *out, struct err *err);
int export_folded_code(struct export_job *job, FILE *out, struct err *err); /* not EXPORT_WAITING */
int export_pprof(struct export_job *job, FILE *out, struct err *err);
int export_csv(struct export_job *job, const char *path, struct err *err);
int export_jsonl(struct export_job *job, FILE *out, struct err *err);

/* The whole trace only: a part of one is what holdup cut makes. */
int export_ctf(struct export_job *job, const char *path, struct err *err);

#endif
