/*
 * python_file.h - what a program or library tells of the CPython that is in it: version, addresses, layouts.
 *
 * The interpreter's objects lie differently in each version; versions that are not known are refused. The file
 * may be anything: what it tells is used for the memory of the processes that run it alone.
 */
#ifndef RECORD_PYTHON_FILE_H
#define RECORD_PYTHON_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/bpf/raw_python.h"

struct python_file {
	struct raw_python python;  /* addresses as the file counts */
	uint64_t eval, eval_bytes; /* the function that runs Python code; address as above */
	uint64_t eval_offset;	   /* in the file */
	bool has_no_gil;	   /* a build without it: its objects are not known */
};

/* May there be a Python in a file of that name? Others are not worth a look. */
bool python_file_is_named(const char *path);

/* False where there is none, or none that is known: 'has_no_gil' alone is set then. 'fd' is a view. */
bool python_file_read(int fd, const char *path, struct python_file *out_file);

#endif
