/*
 * probe_find.h - from what the user wrote to places in files.
 */
#ifndef RECORD_PROBE_FIND_H
#define RECORD_PROBE_FIND_H

#include <stddef.h>

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
	size_t index; /* of the user's points */
};
int probe_find_function(struct probe_finder *finder, const struct probe_spec *spec,
			struct err *err);
int probe_find_usdt(struct probe_finder *finder, const struct probe_spec *spec, struct err *err);

#endif
