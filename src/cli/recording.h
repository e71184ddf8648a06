/*
 * recording.h - the options of recording, which record and why share.
 */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/app_option.h"
#include "cli/opts.h"

struct err;
struct record_opts;
struct record_result;

struct recording_opts {
	const char *dir;
	const char *events;
	uint64_t buffer_bytes;
	uint32_t budget_ppm; /* 0 = none */
	bool stacks;
	const char *stack_min; /* "off", a duration; NULL = the command's default */
	const char *sample;    /* "off", "199", "all", "all:199"; NULL = the command's default */
	bool no_names;	       /* of code, where holdup names can add them */
	bool no_stacks;	       /* that default is "off" */
	bool as_root;
	bool no_bpf;
	struct opt_strings probes;
	struct opt_strings usdt;
	struct opt_strings apps;
	struct app_option known; /* owned; what they mean */
	const char *user;
	bool locks;
	char *user_and_locks; /* owned; what --user-events is with --locks */
};

/* How options of recordings were spelled before: a row of a table of struct opt_moved. */
#define RECORDING_MOVED                   \
	{                                 \
		"--user", "--user-events" \
	}

/* Rows of an option table; 'outer' is the options struct, 'member' its recording_opts. */
#define RECORDING_OPTIONS(outer, member)                                                                \
	{ "dir", "DIR", "Write the trace to DIR", opt_string, offsetof(outer, member.dir), 'o' },       \
		{ "events",                                                                             \
		  "SET",                                                                                \
		  "Record these events: core, lean, full or a list such as sched,irq:* (default full)", \
		  opt_string,                                                                           \
		  offsetof(outer, member.events),                                                       \
		  'e' },                                                                                \
		{ "buffer",                                                                             \
		  "SIZE",                                                                               \
		  "Set the kernel's buffer size per CPU, such as 4M (default: by memory, at most 64M)", \
		  opt_size,                                                                             \
		  offsetof(outer, member.buffer_bytes),                                                 \
		  'b' },                                                                                \
		{ "budget", "PERCENT",                                                                  \
		  "Record fewer events above PERCENT % of all CPUs' time (default: no limit)",          \
		  opt_percent, offsetof(outer, member.budget_ppm) },                                    \
		{ "stacks", NULL, "Record kernel stacks of blocking threads", opt_flag,                 \
		  offsetof(outer, member.stacks) },                                                     \
		{ "stack-min", "DURATION|off",                                                          \
		  "Record stacks of waits of at least DURATION (default: 1ms; in watch off)",           \
		  opt_string, offsetof(outer, member.stack_min) },                                      \
		{ "sample", "RATE|all[:RATE]|off",                                                      \
		  "Sample running code RATE times per second (default: 199; in watch off)",             \
		  opt_string, offsetof(outer, member.sample) },                                         \
		{ "no-names", NULL, "Leave function names to holdup names, where it can add them",      \
		  opt_flag, offsetof(outer, member.no_names) },                                         \
		{ "probe", "BIN:FUNC[(ARGS)]", "Record calls of a function; repeat for more",           \
		  opt_strings, offsetof(outer, member.probes) },                                        \
		{ "usdt", "[BIN:]PROVIDER:NAME", "Record a USDT point; repeat for more",                \
		  opt_strings, offsetof(outer, member.usdt) },                                          \
		{ "app", "auto|PROGRAM|FILE",                                                           \
		  "Record known wait points of known programs, for holdup why", opt_strings,            \
		  offsetof(outer, member.apps) },                                                       \
		{ "user-events", "EVENTS",                                                              \
		  "Record these user-space events, such as shop,net:rx*, or none (default: all)",       \
		  opt_string, offsetof(outer, member.user) },                                           \
		{ "locks", NULL, "Record the command's lock events, for holdup locks", opt_flag,        \
		  offsetof(outer, member.locks) },                                                      \
		{ "as-root", NULL, "Run the command as root under sudo", opt_flag,                      \
		  offsetof(outer, member.as_root) },                                                    \
	{                                                                                               \
		"no-bpf", NULL, "Record without BPF; fewer file names are known", opt_flag,             \
			offsetof(outer, member.no_bpf)                                                  \
	}

/* The part of the recorder's options that these decide. */
void recording_fill(const struct recording_opts *opts, struct record_opts *out_record);

/*
 * With --app: read the tables. With --locks: set the environment that the command inherits, and let
 * the recorder take what it tells. After recording_fill(). Returns 0, or a negative errno with err filled.
 */
int recording_preload(struct recording_opts *opts, struct record_opts *record, struct err *err);

/* What can be told wrong before any work is done. Returns 0, or -EINVAL with err filled. */
int recording_check(const struct recording_opts *opts, struct err *err);

/*
 * The recording in 'dir' is over. When it was given to the user who ran sudo, go on as that user, for
 * good: what lies there may be changed by now. With --as-root, and in a place of root's where the
 * user cannot get to it, root goes on. Returns 0, or negative with err filled: then nothing may be
 * done any more.
 */
int recording_leave_root(const struct recording_opts *opts, const char *dir, bool is_given,
			 struct err *err);

/* Free what the options own. */
void recording_fini(struct recording_opts *opts);

/* Whether any of them was given. */
bool recording_any(const struct recording_opts *opts);

/* Exit status of a shell for a wait status: 128 + signal when killed; 0 for -1. */
int recording_status(int wait_status);

/* What was recorded, what was not, and what to type next, on stderr. */
void recording_summary(const struct record_result *result, const struct record_opts *opts);

#endif
