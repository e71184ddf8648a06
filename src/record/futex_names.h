/*
 * futex_names.h - words that threads waited for in futex(2) get names: of variables, of known locks.
 *
 * A word has one name for as long as its process runs one program. Where what is known of it contradicts
 * itself (a library was unloaded, and something else came there), it has none.
 */
#ifndef RECORD_FUTEX_NAMES_H
#define RECORD_FUTEX_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "record/bpf/raw_futex.h"

struct futex_names;
struct images;
struct pythons;
struct unwind_map;
struct unwind_names;

/* What the process has mapped as code, and how its files are called; views. */
struct futex_files {
	const struct unwind_map *maps;
	const uint32_t *numbers; /* of the files of these */
	size_t count;
	struct unwind_names *(*names)(void *context, uint32_t number); /* NULL = no ELF file */
	void *context;
};

#define FUTEX_NO_FILE UINT32_MAX

/* A word, as it was waited for with a stack. */
struct futex_seen {
	struct raw_futex raw;
	int32_t tgid;
	uint64_t from_ns, until_ns; /* of the program that the process ran then */
	uint32_t stack;		    /* its number in the file of stacks */
	uint32_t
		malloc_file; /* the file of the C library of which malloc waited; FUTEX_NO_FILE = it did not */
};

/* 'images', 'pythons' and 'out' are views. It lives as long as the process. */
struct futex_names *futex_names_new(const struct images *images, const struct pythons *pythons,
				    FILE *out);

void futex_names_add(struct futex_names *names, const struct futex_files *files,
		     const struct futex_seen *seen);

/* All of a process was added: write what is known. */
void futex_names_write(struct futex_names *names);

/* Is it glibc's, by its path? */
int futex_is_libc(const char *path);

#endif
