/*
 * probes.h - points in user programs as events of a recording.
 *
 *	choose     read what the user wrote, look into the programs; nothing is made
 *	register   tell the kernel, in the group of our instance
 *	enable     switch them on in the instance, and list them in the manifest
 *
 * The kernel knows them as GROUP:p0, GROUP:p1 ..., the trace as probe:FUNCTION and
 * PROVIDER:NAME. They are removed with the instance (instance.h).
 */
#ifndef RECORD_PROBES_H
#define RECORD_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct guard_user;
struct manifest;
struct probe_spec;

#define PROBES_MAX 256 /* places, of all points together */

/* Several places may be one event: a function of which there are copies. */
struct probe_event {
	char *name;	     /* "probe:work", or with _2 behind it if that was taken; owned */
	char *wanted;	     /* without that; owned */
	char kernel_name[8]; /* "p0" */
	char *shape;	     /* kind, names and types of arguments: what places share; owned */
	size_t wish;	     /* which of the user's points it comes from */
	bool is_known;	     /* of a table of known points: nobody asked for it by its name */
};

struct probe_line {
	size_t event;
	char kind;   /* 'p', or 'r' at a return */
	char *path;  /* as the user knows it; owned */
	char *place; /* "/proc/self/fd/5:0x1139(0x4010) a=%di:u64"; owned */
};

/* Zero-initialised memory has none. */
struct probes {
	struct probe_event *events; /* owned */
	size_t event_count, event_cap;
	struct probe_line *lines; /* owned */
	size_t line_count, line_cap;
	int *fds; /* owned: the files, as they were looked into */
	size_t fd_count, fd_cap;
	char *group; /* owned; NULL = not registered */
};

struct probes_wish {
	const char *const *functions; /* texts as in probe_spec.h */
	size_t function_count;
	const char *const *usdt;
	size_t usdt_count;
	const char *command; /* where points without a program are looked for; NULL = nowhere */
	const int32_t *pids; /* and in these processes */
	size_t pid_count;
	const struct guard_user *user; /* with whose rights programs are opened; NULL = ours */
};

/*
 * Returns 0, or a negative errno with err filled; nothing is found that could not be
 * recorded whole, but for arguments that go to manifest->missing.
 */
int probes_choose(struct probes *probes, int tracing_fd, const struct probes_wish *wish,
		  struct manifest *manifest, struct err *err);

/* Tell the kernel. Returns 0, or a negative errno with err filled. */
int probes_register(struct probes *probes, int tracing_fd, const char *instance_path,
		    struct err *err);

/* Returns 0, or a negative errno with err filled: the user asked for each of them. */
int probes_enable(const struct probes *probes, int instance_fd, struct manifest *manifest,
		  struct err *err);

/*
 * The format text of the event that the trace calls 'name', with that name in it; to be
 * freed. NULL = it is none of ours.
 */
char *probes_format(const struct probes *probes, int instance_fd, const char *name);

void probes_fini(struct probes *probes);

/* ------------------------------------------------- between probes.c and probe_find.c */

/*
 * Add a place. 'args': "a=%di:u64 b=..."; 'shape' as above. Returns 0, or -E2BIG with
 * err filled when there are too many.
 */
struct probe_found {
	const char *system;
	const char *event;
	const char *path; /* as the user knows it */
	int file_fd;	  /* the open file: its offsets are meant, whatever has its name by now */
	uint64_t offset;
	uint64_t counter_offset; /* 0 = none */
	const char *args;
	const char *shape;
	char kind;
	size_t wish;
	bool is_known;
};
int probes_add(struct probes *probes, const struct probe_found *found, struct err *err);

#endif
