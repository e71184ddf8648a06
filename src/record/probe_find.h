/*
 * probe_find.h - from what the user wrote to places in files.
 */
#ifndef RECORD_PROBE_FIND_H
#define RECORD_PROBE_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct err;
struct guard_user;
struct manifest;
struct probe_spec;
struct probes;
struct probes_wish;

/*
 * Add the places of one point to 'probes'. 'system_of' gives the first part of the name
 * that events of a USDT provider get. Returns 0, or a negative errno with err filled:
 *   -ENOENT   no such program, function or point (err names some like it),
 *   -ENOEXEC  it is no program of this machine,
 *   -ENOTSUP  it cannot be recorded: an indirect function, arguments that are nowhere,
 *   -E2BIG    too many places.
 */
struct probe_finder {
	struct probes *probes;
	const struct probes_wish *wish;
	struct manifest *manifest;
	const struct guard_user *user; /* files are opened with whose rights; NULL = ours */
	int tracing_fd;
	size_t index;  /* of the user's points */
	bool is_known; /* not of the user's, but of a table of known points */
};
int probe_find_function(struct probe_finder *finder, const struct probe_spec *spec,
			struct err *err);
int probe_find_usdt(struct probe_finder *finder, const struct probe_spec *spec, struct err *err);

/*
 * Add the places of one point that are in an open file, which 'path' was the name of. What is not
 * there is no failure. Returns 0, or a negative errno with err filled.
 */
int probe_find_here(struct probe_finder *finder, struct elf_file *file, const char *path,
		    const struct probe_spec *spec, struct err *err);

/* A program or library of this machine, opened with the user's rights. As elf_file_open(). */
int probe_open_named(const struct probe_finder *finder, const char *path,
		     struct elf_file **out_file, struct err *err);
/* The same of what a process sees at 'path': no link of it leads out of that. */
int probe_open_mapped(const char *path, int pid, struct elf_file **out_file, struct err *err);

/* Paths of the files of which a process executes something, as it sees them; one may come more than once. */
typedef void probe_mapped_fn(void *context, int32_t pid, const char *path);
void probe_each_mapped(int32_t pid, probe_mapped_fn *each, void *context);

#endif
