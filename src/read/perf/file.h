/*
 * file.h - the files of a perf.data recording, and what stands around their records.
 *
 *	file   magic, sections | attributes, ids | records ... | features
 *	pipe   magic, size | records ..., attributes and features among them
 *	folder data (a file as above) | data.0, data.1 ...: records and nothing else
 */
#ifndef READ_PERF_FILE_H
#define READ_PERF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/perf/attr.h"
#include "read/perf/tracing.h"
#include "store/formats.h"

struct err;
struct facts;

/* Records one behind the other, in a file. */
struct perf_bytes {
	int fd;
	char *name; /* owned; for people */
	uint64_t begin, end;
	bool is_made; /* decompressed by us: offsets say nothing to people */
};

struct perf_file {
	struct facts *facts;	  /* not owned */
	struct perf_bytes *parts; /* owned; the first is the file itself */
	size_t part_count, part_cap;
	bool swap; /* another byte order than ours */
	bool is_pipe;
	bool is_cut;	     /* perf did not finish it */
	bool lacks_features; /* what stands behind the records is cut off */
	bool of_tasks;	     /* some event is one of a thread and its children, not of a CPU */
	struct perf_attrs attrs;
	struct formats formats;
	struct perf_tracing tracing;
	bool has_tracing;
	struct formats pmus;	    /* owned; name: number of the PMU, as a text */
	struct formats build_ids;   /* owned; name: path of a file, text: hexadecimal */
	int32_t clockid;	    /* of CLOCK_DATA; -1 = none */
	uint64_t first_ns, last_ns; /* as a feature told; 0 = not */
	char **words;		    /* owned; perf's own command line */
	size_t word_count;
	size_t command; /* word behind "--"; 0 = there is no such word */
};

/* Does what is at 'path' begin as such a file does, or a folder with one? */
bool perf_file_matches(const char *path);

/* Open it and read what is no record. Returns 0 or a negative errno with err filled. */
int perf_file_open(const char *path, struct perf_file *file, struct facts *facts, struct err *err);
void perf_file_fini(struct perf_file *file);

/* Another piece with records; 'fd' and 'name' are its. Returns its number. */
size_t perf_file_add(struct perf_file *file, struct perf_bytes part);

/* An attribute, and the ids behind it, as a record has them. False when it is none. */
bool perf_file_attr(struct perf_file *file, const uint8_t *data, size_t bytes);

#endif
