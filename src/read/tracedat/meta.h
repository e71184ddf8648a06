/*
 * meta.h - all of a trace.dat but the data of its CPUs.
 *
 * Version 6 is one sequence: formats, symbols, print formats, command lines, options, and
 * where the data of each CPU is. Version 7 has sections anywhere in the file, which may be
 * compressed, and a chain of sections of options that tell where they are.
 */
#ifndef READ_TRACEDAT_META_H
#define READ_TRACEDAT_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/tracedat/input.h"
#include "read/tracedat/maps.h"
#include "store/formats.h"

struct err;
struct fact_symbol;
struct facts;

#define DAT_MAX_CPUS	65535u /* struct event has 16 bits for it */
#define DAT_MAX_BUFFERS 1024u
#define DAT_MAX_TABLES	(256u << 10) /* CPUs of all instances together */

/* Where the data of one CPU is. */
struct dat_cpu {
	uint32_t cpu;
	uint64_t offset; /* in the file */
	uint64_t bytes;	 /* in the file, compressed if it is */
	uint64_t lost;	 /* events, as the kernel counted; 0 = none, or unknown */
	uint64_t unread; /* in the kernel's buffer when it counted: written after that */
	uint64_t read;
	bool has_unread, has_read;
};

/* The data of one tracing instance. */
struct dat_buffer {
	char *name;  /* owned; "" = the top instance */
	char *clock; /* owned; NULL = unknown */
	uint64_t offset;
	uint32_t page_bytes;
	bool zipped;
	bool is_text;	      /* what a latency tracer printed: no records */
	struct dat_cpu *cpus; /* owned */
	size_t cpu_count;
};

/* A moment when the clocks of host and guest were compared. */
struct dat_sample {
	uint64_t time;
	int64_t offset;
	uint64_t scaling;
	uint64_t fraction; /* bits of 'scaling' behind the point */
};

struct dat_sync {		    /* of one CPU */
	struct dat_sample *samples; /* owned; times grow */
	size_t count;
};

/* A section that is not read. */
struct dat_unread {
	uint32_t id;
	uint64_t offset;
};

#define DAT_MAX_UNREAD 16u

/* Sections of version 7 by the number of the option that tells where they are. */
enum dat_section {
	DAT_HEADER_INFO = 16,
	DAT_FTRACE_EVENTS = 17,
	DAT_EVENT_FORMATS = 18,
	DAT_KALLSYMS = 19,
	DAT_PRINTK = 20,
	DAT_CMDLINES = 21,
	DAT_SECTION_COUNT
};

struct dat_meta {
	uint32_t version;
	uint32_t page_bytes;
	uint32_t long_bytes; /* of the kernel, as the page header has it */
	struct formats formats;
	char *printk;	    /* owned; NULL = none, the same below */
	char *cmdlines;	    /* "TID NAME\n" */
	char *uname;	    /* system, host, release, machine */
	char *tool_version; /* of trace-cmd: "3.1.6 (not-a-git-repo)" */
	char *stats;	    /* per_cpu/cpuN/stats of all CPUs and instances */
	size_t stats_bytes;
	char *clock; /* "[local] global ..." */

	struct dat_buffer *buffers; /* owned; the top one first, if it is there */
	size_t buffer_count, buffer_cap;
	uint32_t cpu_count;
	size_t table_count;    /* CPUs of all buffers */
	uint64_t option_bytes; /* of all options */

	bool has_date;
	int64_t date_ns; /* time of day minus trace clock */
	int64_t offset_ns;
	bool has_tsc; /* counter to ns: x * tsc_mult >> tsc_shift */
	uint32_t tsc_mult, tsc_shift;
	uint32_t sync_flags;
	struct dat_sync *sync; /* owned; index = CPU */
	size_t sync_count;
	struct dat_maps maps;

	uint64_t sections[DAT_SECTION_COUNT]; /* version 7; 0 = there is none */
	struct dat_unread unread[DAT_MAX_UNREAD];
	uint32_t unread_count;
	bool clock_behind; /* version 6: the clock's name stands behind the list of CPUs */
	bool is_text;	   /* version 6: nothing but a latency tracer's text */
};

/* struct dat_meta.sync_flags: between two samples the offset is a straight line. */
#define DAT_SYNC_INTERPOLATE 1u

/*
 * Read it all. What is damaged but not needed is noted in 'facts', which also get the
 * symbols. Returns 0, or -EBADMSG, -ENOTSUP with err filled; free *out_meta in any case.
 */
int dat_meta_read(struct dat_file *file, struct facts *facts, struct dat_meta *out_meta,
		  struct err *err);
void dat_meta_fini(struct dat_meta *meta);

/* ---------------------------------------------------- for the other dat_*.c */

/* Something that the file does not have, said once. */
void dat_missing(struct facts *facts, const char *what, const char *why);

/* Version 6: options one behind the other, up to the one that ends them. */
int dat_options_read(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		     struct err *err);

/* Version 7: follow the chain of sections that begins at 'offset'. */
int dat_options_chain(struct dat_file *file, uint64_t offset, struct dat_meta *meta,
		      struct facts *facts, struct err *err);

/*
 * The inside of the section at 'offset', which must have the number 'id'. What was unpacked
 * is in *out_memory, to be freed after use; NULL = it stands in the file.
 */
int dat_section_open(struct dat_file *file, uint64_t offset, uint32_t id,
		     struct dat_input *out_input, char **out_memory, struct err *err);

/* The contents of sections; the same in both versions. */
int dat_read_headers(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		     struct err *err);
int dat_read_ftrace(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		    struct err *err);
int dat_read_events(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		    struct err *err);
int dat_read_symbols(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		     struct err *err);
int dat_read_printk(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		    struct err *err);
int dat_read_cmdlines(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		      struct err *err);

/*
 * A line of /proc/kallsyms, "ffffffff81000000 T name\t[module]": false when it is none, or of data.
 * Ends the name.
 */
bool dat_take_symbol(char *line, struct fact_symbol *out_symbol);

#endif
