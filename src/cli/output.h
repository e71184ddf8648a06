/*
 * output.h - a file that a command was asked to write: whole, or as it was before.
 *
 * It is made beside its place (see export/unfinished.h) with the rights of the user who ran sudo, and gets
 * its name when all of it is written. What is no plain file (a pipe, a device, a link), or lies
 * where nothing can be made, is written where it is.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdio.h>

struct err;

struct output {
	int fd;		  /* -1 = there is none */
	const char *path; /* the caller's */
	char *name;	  /* owned; until it is whole. NULL: it is written where it is */
};

/* Before the work, so that a wrong path costs nobody any. Returns 0, or negative with err filled. */
int output_begin(const char *path, struct output *out_output, struct err *err);

/*
 * The same for a reader of traces, before the first one. It gets its name as the user, unless root reads
 * for a user.
 */
int output_begin_reader(const char *path, struct output *out_output, struct err *err);

/* The same, but written where it is: for root, in a folder that others may change meanwhile. */
int output_begin_here(const char *path, struct output *out_output, struct err *err);

/* Close what is written to before output_end(). NULL with errno set. */
FILE *output_stream(const struct output *output);

/*
 * With 'rc' 0: it gets its name. Else nothing is left of it. Returns 'rc', or negative with err
 * filled. What was not begun, or was ended, is left alone.
 */
int output_end(struct output *output, int rc, struct err *err);

#endif
