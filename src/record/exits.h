/*
 * exits.h - run a BPF program at the exits of chosen system calls, and let go at once.
 *
 * The exit tracepoint of one call costs the other calls a bit test. But each takes
 * the kernel tens of milliseconds to detach (an RCU grace period), and whoever
 * closes the last descriptor of it waits. So a small process holds copies: the
 * recorder closes its own without waiting, and the holder, which holds nothing
 * else, lets go after the recorder and everything that waits for it have gone on.
 */
#ifndef RECORD_EXITS_H
#define RECORD_EXITS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXITS_MAX 64

struct err;

struct exits {
	int tracing_fd;	    /* the tracing directory; -1 = not open */
	int fds[EXITS_MAX]; /* perf events */
	size_t count;
	pid_t holder; /* 0 = none */
	int alive_fd; /* open in us alone: its end is what the holder waits for */
};

#define EXITS_NONE ((struct exits){ .tracing_fd = -1, .alive_fd = -1 })

/*
 * Get ready. Returns 0, or a negative errno with err filled; -ENOENT when this kernel
 * has no tracepoints of single calls.
 */
int exits_open(struct exits *out_exits, struct err *err);

/*
 * Attach 'program_fd' to the exit of the call with this name. Returns 0, -ENOENT
 * when the kernel does not have that call, or another negative errno with err filled.
 */
int exits_add(struct exits *exits, const char *call, int program_fd, struct err *err);

/* Have those with indices from 'from' up to 'until' run the program: they were added without one (-1). */
void exits_add_program(const struct exits *exits, size_t from, size_t until, int program_fd);

/*
 * Start the holder. Without one (no process could be made) detaching takes a second.
 * 'ended', in memory shared with the program, is set to 1 when the recorder is gone.
 */
void exits_hold(struct exits *exits, uint32_t *ended);

/*
 * Close our copies: no last ones while the holder lives. The program goes on running
 * until the holder has let go: it must be told to do nothing.
 */
void exits_leave(struct exits *exits);

/* exits_leave(), and the holder may let go. Calling it twice is fine. */
void exits_close(struct exits *exits);

#endif
