/*
 * load.h - open a trace with its timeline (query/loaded.h), with progress on a terminal,
 * and find a window in it.
 */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include <stdint.h>

#include "query/loaded.h"

struct err;
struct when;

/*
 * Both below make the process a mere reader first (reading.h).
 * 'flags' are of enum load_flag. As loaded_open().
 */
int load_trace(const char *path, uint32_t flags, struct loaded *out_loaded, struct err *err);

/* A trace without its timeline. As read_open(). */
int load_plain(const char *path, struct trace **out_trace, struct err *err);

/*
 * The moment of 'when', looked for at or after 'from_ns' when it is an event; 'otherwise' when
 * it was not given.
 */
int load_moment(struct loaded *loaded, const struct when *when, uint64_t from_ns,
		uint64_t otherwise, uint64_t *out_ns, struct err *err);

/* The same of a trace without its timeline. */
int load_find(struct trace *trace, const struct when *when, uint64_t from_ns, uint64_t otherwise,
	      uint64_t *out_ns, struct err *err);

/* The window of --from and --to; what was not given is where the recording begins or ends. */
int load_window(struct loaded *loaded, const struct when *from, const struct when *to,
		uint64_t *out_start_ns, uint64_t *out_end_ns, struct err *err);

#endif
