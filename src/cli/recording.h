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
	bool stacks;
	bool as_root;
	bool no_bpf;
	struct opt_strings probes;
	struct opt_strings usdt;
	struct opt_strings apps;
	struct app_option known; /* owned; what they mean */
	const char *user;
	bool locks;
	char *user_and_locks; /* owned; what --user is with --locks */
};

/* Rows of an option table; 'outer' is the options struct, 'member' its recording_opts. */
#define RECORDING_OPTIONS(outer, member)                                                                \
	{ "dir", "DIR", "Write the trace to DIR", opt_string, offsetof(outer, member.dir), 'o' },       \
		{ "events",                                                                             \
		  "SET",                                                                                \
		  "Record these events: core, full or a list such as sched,irq:* (default full)",       \
		  opt_string,                                                                           \
		  offsetof(outer, member.events),                                                       \
		  'e' },                                                                                \
		{ "buffer",                                                                             \
		  "SIZE",                                                                               \
		  "Set the kernel's buffer for each CPU, such as 4M (default: by memory, at most 64M)", \
		  opt_size,                                                                             \
		  offsetof(outer, member.buffer_bytes),                                                 \
		  'b' },                                                                                \
		{ "stacks", NULL, "Record kernel stacks where threads block", opt_flag,                 \
		  offsetof(outer, member.stacks) },                                                     \
		{ "probe", "BIN:FUNC[(ARGS)]", "Record calls of a function; repeat for more",           \
		  opt_strings, offsetof(outer, member.probes) },                                        \
		{ "usdt", "[BIN:]PROVIDER:NAME", "Record a USDT point; repeat for more",                \
		  opt_strings, offsetof(outer, member.usdt) },                                          \
		{ "app", "auto|PROGRAM|FILE",                                                           \
		  "Record known points of known programs, so that why can tell what they wait for",     \
		  opt_strings, offsetof(outer, member.apps) },                                          \
		{ "user", "EVENTS",                                                                     \
		  "Record these events of programs: shop,net:rx* or none (default: all)",               \
		  opt_string, offsetof(outer, member.user) },                                           \
		{ "locks", NULL, "Record the locks of the command, for holdup locks", opt_flag,         \
		  offsetof(outer, member.locks) },                                                      \
		{ "as-root", NULL, "Run the command as root under sudo", opt_flag,                      \
		  offsetof(outer, member.as_root) },                                                    \
	{                                                                                               \
		"no-bpf", NULL, "Record without BPF, and so with fewer names of files", opt_flag,       \
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
