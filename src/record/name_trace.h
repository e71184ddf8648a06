/*
 * name_trace.h - names of code for a trace that was recorded without them, or before debug files were there.
 *
 * Files are opened where the trace says that programs had them, and by build-id; one that is not that build tells
 * nothing. Each is read by a child that has given up its rights (name_child.h). kernel/stacks is written anew beside the old
 * one, and takes its place when it is whole.
 */
#ifndef RECORD_NAME_TRACE_H
#define RECORD_NAME_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct name_trace_opts {
	bool all;		/* also of frames that have a name, and no line */
	const char *debuginfod; /* debuginfod_find_program(); NULL = servers are not asked */
	/* What is done now; NULL: nothing any more. May be NULL. */
	void (*phase)(void *context, const char *what);
	void *phase_context;
};

enum named_file_state {
	NAMED_FILE_READ,
	NAMED_FILE_CLOSED,	/* it could not be opened: .why */
	NAMED_FILE_OTHER_BUILD, /* than the one that was recorded */
	NAMED_FILE_NO_ELF,
	NAMED_FILE_CUT, /* its child did not get to the end: .why; names up to then are taken */
};

/* A file of which frames were wanted. */
struct named_file {
	char *path;	/* owned */
	char *build_id; /* owned */
	enum named_file_state state;
	char *why;	   /* owned; NULL = nothing to tell */
	char *not_fetched; /* owned; why servers were asked in vain; NULL = they were not */
	size_t wanted;	   /* frames without a name */
	size_t named;	   /* of these */
	size_t unlined;	   /* frames with a name and without a line, when these are wanted */
	size_t lined;	   /* of these */
};

struct named_trace {
	struct named_file *files; /* owned; those with most left first */
	size_t file_count;
	size_t wanted, named, unlined, lined; /* of all files */
	size_t no_file; /* frames without a name, of code in no file that is known by build-id */
	bool is_written;
};

/*
 * Returns 0, or a negative errno with err filled, and the trace as it was: -ENOENT = there is none, or it has no stacks;
 * -ENOTSUP = it is no trace of holdup; -EPERM = others could change it, or it is another user's; -EBUSY = it is being written;
 * -EBADMSG = damaged; as writing reports. Free *out_named with named_trace_fini() in any case.
 */
int name_trace(const char *path, const struct name_trace_opts *opts, struct named_trace *out_named,
	       struct err *err);

void named_trace_fini(struct named_trace *named);

#endif
