/*
 * flight_run.h - the flight recorder itself: rings, triggers, snapshots, who asks.
 */
#ifndef CLI_FLIGHT_RUN_H
#define CLI_FLIGHT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct flight_on;

struct flight_run_opts {
	const char *dir;
	const char *events;  /* NULL: "lean", or "core" where there is no BPF program for that */
	uint32_t budget_ppm; /* 0 = none */
	uint64_t keep_ns, memory_bytes, disk_bytes, pause_ns;
	struct flight_on *ons; /* parsed; not owned */
	size_t on_count;
	bool is_foreground; /* tell on stderr what happens */
};

/*
 * Run until SIGTERM, SIGINT or "stop". 'ready_fd' gets what there is to say once it records, and is
 * closed then; -1 = nobody waits. Returns 0, or a negative errno with err filled: it did not begin.
 */
int flight_run(const struct flight_run_opts *opts, int ready_fd, struct err *err);

#endif
