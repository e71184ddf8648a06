/*
 * pid_window.h - a command line that names a process or thread, a window and a trace.
 */
#ifndef CLI_PID_WINDOW_H
#define CLI_PID_WINDOW_H

#include <stdint.h>

#include "ask/window.h"
#include "cli/load.h"

struct err;

struct pid_window {
	int32_t pid;
	struct when from, to;
	const char *path;
};

/*
 * Read the operands "PID [TRACE]" and the options --from and --to, which may be NULL.
 * 'noun' is what the number is: "process". Returns 0, or -EINVAL with err filled.
 */
int pid_window_parse(struct pid_window *window, const char *noun, const char *const times[2],
		     int count, char **operands, struct err *err);

/* Open the trace and find the window in it. 0, or negative with err filled. */
int pid_window_load(const struct pid_window *window, struct loaded *out_loaded,
		    uint64_t *out_start_ns, uint64_t *out_end_ns, struct err *err);

#endif
