/*
 * delays_cmd.h - holdup delays: its options, and the ways to run it.
 */
#ifndef CLI_DELAYS_CMD_H
#define CLI_DELAYS_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/opts.h"
#include "cli/output.h"

struct delays_sample;
struct delays_select;
struct err;

struct delays_cmd {
	const char *comm;
	const char *cgroup;
	const char *user;
	bool all;
	bool threads;
	bool enable;
	bool json;
	uint32_t sort; /* enum delays_sort */
	uint32_t top;
	uint64_t interval_ns;
	uint64_t count;
	bool listen;
	const char *cpus;
	const char *output;
	uint64_t duration_ns;
	uint64_t buffer_bytes;
	const char *save;
	bool compare;
	bool advise;
	bool reconcile;
	const char *serve; /* "9123", "127.0.0.1:9123", "[::1]:9123" */
	const char *trace; /* a view into argv; NULL = the kernel is asked */
	uint32_t labels;   /* with serve: so many names and cgroups; 0 = the default */
	char **files;	   /* a view into argv: what is compared */
	size_t file_count;
	char **command; /* a view into argv; NULL = none */
	int32_t *pids;	/* owned */
	size_t pid_count;
};

/* Fill in the select; views into cmd. Returns 0, or -EINVAL with err filled (no such user). */
int delays_cmd_select(const struct delays_cmd *cmd, struct delays_select *out_select,
		      struct err *err);

/*
 * A sample of the tasks that the command asks for, by the kernel's delay accounting or, where that
 * cannot be had, by /proc: 'out_why' then says why. 'flags' are those of delays_sample_take(). Free
 * *out_sample with delays_sample_fini(). Returns 0, or a negative errno with err filled.
 */
int delays_sample_once(const struct delays_cmd *cmd, uint32_t flags,
		       struct delays_sample *out_sample, struct err *out_why, struct err *err);

/* Returns 0, or -ESRCH with err filled when there is no task in the sample. */
int delays_found_any(const struct delays_cmd *cmd, const struct delays_sample *sample,
		     struct err *err);

/* Which knobs the delays point to. Returns as delays_once(). */
int delays_advise_cmd(const struct delays_cmd *cmd, struct err *err);

/* The same from a recording. Returns as delays_once(). */
int delays_of_trace(const struct delays_cmd *cmd, struct err *err);

/* Answer requests for metrics until a signal comes. Returns as delays_once(). */
int delays_serve(const struct delays_cmd *cmd, struct err *err);

/* Once, since the start of each task. Returns an enum exit_status, or a negative errno. */
int delays_once(const struct delays_cmd *cmd, struct err *err);

/* Again and again; ends by the count or by a signal. Returns as delays_once(). */
int delays_watch(const struct delays_cmd *cmd, struct err *err);

/* Exits: of a command with all its descendants, or of everything for a time. Returns as
 * delays_once(); the exit status of the command when there is one. */
int delays_listen(const struct delays_cmd *cmd, struct err *err);

/* Saved runs, each against all, or those before "--" against those behind it. Returns 0, or a
 * negative errno with err filled. */
int delays_compare(const struct delays_cmd *cmd, struct err *err);

/* With --save: the file, to be written to; NULL without it. Returns 0 or a negative errno. */
int delays_save_open(const struct delays_cmd *cmd, struct output *out_output, FILE **out_file,
		     struct err *err);

/* Close it, and give it its name; a failure to write is found here. */
int delays_save_close(const struct delays_cmd *cmd, struct output *output, FILE *file,
		      struct err *err);

#endif
