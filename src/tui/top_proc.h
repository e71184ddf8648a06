/* top_proc.h - what the kernel tells beside the accounting: pressure, what one task does now, our own cost. */
#ifndef TUI_TOP_PROC_H
#define TUI_TOP_PROC_H

#include <stdbool.h>
#include <stdint.h>

enum top_pressure_kind {
	TOP_PRESSURE_CPU,
	TOP_PRESSURE_IO,
	TOP_PRESSURE_MEMORY,
	TOP_PRESSURES,
};

/* Share of the last ten seconds in which some, or all, tasks were held up; percent. */
struct top_pressure {
	bool is_there; /* kernels may be built, or booted, without */
	double some;
	double full; /* negative = not told */
};

/* CPU time of this process, between the last two looks. Zeroed: there was none. */
struct top_own {
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;    /* until then */
	uint64_t used_ns;   /* ns of a CPU ... */
	uint64_t span_ns;   /* ... in so long; 0 = not known yet */
};

/* One task, for a person: each text is what was found, or why not, in brackets. */
struct top_details {
	char state[32];
	char wchan[64];
	char syscall[128];
	char file[256]; /* of the descriptor that is the first argument; "" = it has none */
	char cgroup[256];
	char command[256];
};

void top_pressure_read(struct top_pressure out_pressure[TOP_PRESSURES]);

/* Read "some avg10=..." lines. Returns whether there was one. */
bool top_pressure_parse(const char *text, struct top_pressure *out_pressure);

/* Look again; the first look only begins. */
void top_own_look(struct top_own *own);

void top_details_read(int32_t tgid, int32_t tid, struct top_details *out_details);

/*
 * The line of /proc/PID/syscall as words; *out_fd is the first argument when that is a descriptor,
 * else -1. 'arch' as uname -m says it.
 */
void top_syscall_words(const char *line, const char *arch, char out_words[128], int *out_fd);

#endif
