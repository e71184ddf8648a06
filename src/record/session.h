/*
 * session.h - one recording, from the first check to the last byte.
 *
 *	prepare   check everything, make the instance, the directory, trace.json, texts
 *	begin     tracing on; readers, names, state dump
 *	end       tracing off; drain, count, remove the instance, trace.json complete
 *
 * All on the main thread. A session that fails before its end leaves nothing
 * behind: neither an instance nor a directory.
 */
#ifndef RECORD_SESSION_H
#define RECORD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/budget.h"
#include "record/clock.h"
#include "record/directory.h"
#include "record/events.h"
#include "record/instance.h"
#include "record/meter.h"
#include "record/names.h"
#include "record/probes.h"
#include "attach/collect.h"

struct accounts;
struct err;
struct manifest;
struct names_recorder;
struct devices;
struct quotas;
struct readers;
struct record_opts;
struct wait_stacks;
struct waiting;

struct session {
	const struct record_opts *opts;
	struct manifest *manifest; /* owned until taken */
	char *tracing_dir;	   /* owned */
	int tracing_fd;
	struct event_set events;
	struct probes probes;
	struct instance instance;
	struct directory directory;
	struct readers *readers;
	struct names_recorder *names;
	uint64_t dispatch;		 /* see texts_write_symbols() */
	struct wait_stacks *stacks;	 /* NULL = none are taken */
	struct wait_stacks *kept_stacks; /* of a recorder that is always on; not owned */
	struct meter meter;
	struct budget budget;	 /* share_ppm 0 = there is none */
	struct waiting *waiting; /* owned; who is looked at; NULL = nobody, or not any more */
	struct quotas *quotas;
	struct devices *devices;
	struct accounts *accounts; /* NULL = the kernel's accounts are not kept */
	struct user_collect *user; /* NULL = nothing is collected */
	struct user_collected collected;
	int sync_fd; /* kernel/sync */
	struct sync_point first_sync;
	const struct sync_point *earlier; /* a view; written before the first one; NULL = none */
	size_t earlier_count;
	const char
		*old_rings; /* a view; the instance that a killed recorder left; NULL = a new one */
	bool is_tsc;
	bool is_on;	/* events are being recorded */
	bool is_ended;	/* the trace is whole; nothing is discarded */
	bool is_cut;	/* its end could not be written */
	bool is_packed; /* ring files were compressed */
	bool is_given;	/* the directory and its name are the user's who ran sudo */
};

#define KERNEL_TYPES_BYTES \
	(16 << 20) /* libbpf's copy of them, and its tables: for mem_keep_freed() */

#define SESSION_NONE                                    \
	((struct session){ .tracing_fd = -1,            \
			   .sync_fd = -1,               \
			   .instance = INSTANCE_NONE,   \
			   .meter = { .stats_fd = -1 }, \
			   .directory = DIRECTORY_NONE })

/* What session_prepare() makes: a recording needs all, the flight recorder one after the other. */
enum session_part {
	SESSION_RINGS = 1 << 0,	    /* the instance, its buffers, events on; nothing on disk */
	SESSION_OLD_RINGS = 1 << 1, /* those of 'old_rings', as they are */
	SESSION_DIRECTORY = 1 << 2, /* the trace directory, with what makes it a trace */
	SESSION_TEXTS = 1 << 3,	    /* formats and symbols */
	SESSION_USER = 1 << 4,	    /* where programs put their own events */
	SESSION_RECORDING = SESSION_RINGS | SESSION_DIRECTORY | SESSION_TEXTS | SESSION_USER,
};

/*
 * Check and make what is needed of 'parts', bits of enum session_part. Returns 0, or a negative errno
 * with err filled.
 */
int session_prepare(struct session *session, unsigned int parts, struct err *err);

/* What session->names shall tell of, by the events that were chosen. */
enum names_of session_names_of(const struct session *session);

/* Tell the manifest of session->names: its threads, and what it cannot tell. */
void session_note_names(struct session *session);

/* Start recording. Returns 0, or a negative errno with err filled. */
int session_begin(struct session *session, struct err *err);

/* Append a sync point. A full disk is noticed by the readers. */
void session_sync(struct session *session);

/* Write trace.json as it is now. Returns 0, or a negative errno with err filled. */
int session_write(struct session *session, struct err *err);

/*
 * Stop recording and make the trace whole. 'failure' is the negative errno of a
 * reader, or 0. Returns 0, or a negative errno with err filled when trace.json
 * could not be written. Calling it again is fine.
 */
int session_end(struct session *session, int failure, struct err *err);

/* Seconds since recording began, or that it lasted. */
double session_seconds(const struct session *session);

/* After the last session_end(): make the trace the user's who ran sudo. Nothing is written to it then. */
void session_give(struct session *session);

/* Free all; discards a trace that was not ended. */
void session_fini(struct session *session);

#endif
