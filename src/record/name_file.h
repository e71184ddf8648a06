/*
 * name_file.h - what addresses of one file are called, read by a child that has given up its rights.
 */
#ifndef RECORD_NAME_FILE_H
#define RECORD_NAME_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct stacks;

struct name_wanted {
	uint64_t address; /* as the ELF file counts */
	uint32_t id;	  /* any number */
};

struct name_file_job {
	int fd;
	int debug_fd; /* of its debug file, used where none is at its places; -1 = none */
	const char *path;
	const char *build_id; /* the file must be this build */
	const struct name_wanted *wanted;
	size_t count;
};

enum name_file_state {
	NAME_FILE_CUT, /* the child did not get to the end */
	NAME_FILE_READ,
	NAME_FILE_OTHER_BUILD,
	NAME_FILE_NO_ELF,
};

/* Is it that build, and are there lines in it or beside it? err is filled for NAME_FILE_CUT. */
enum name_file_state name_file_look(const struct name_file_job *job, bool *out_has_lines,
				    struct err *err);

/*
 * Read the names into 'out_names', zeroed: a stack for each address of which something is known, with functions, lines and
 * is_inlined in its frames; its 'end' is the id, decimal. What a child wrote is as true as the file: check it. err is filled
 * for NAME_FILE_CUT, and then names are there, too. Free them in any case.
 */
enum name_file_state name_file_read(const struct name_file_job *job, struct stacks *out_names,
				    struct err *err);

#endif
