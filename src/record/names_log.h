/*
 * names_log.h - where the records of kernel/names go: into the file, or into memory until a snapshot.
 *
 * In memory the oldest go, but for the last name of each descriptor, which a thread may wait for since long. What
 * a descriptor named when a snapshot begins is told as of its begin.
 */
#ifndef RECORD_NAMES_LOG_H
#define RECORD_NAMES_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"

struct err;
struct recent;

struct names_log {
	int file;	       /* -1 = it is in memory, or not open */
	off_t file_bytes;      /* whole records in the file */
	struct recent *recent; /* owned; NULL = it is a file */
	struct map
		gone; /* process and descriptor -> its last record that is not in 'recent' any more, with more; owned */
	uint64_t gone_bytes;
	bool forgot; /* some of them */
};

/* What descriptors there are records of. */
struct names_told {
	struct map keys; /* owned; process << 32 | descriptor -> 1 */
	bool is_whole;	 /* none was forgotten */
};

#define NAMES_LOG_NONE ((struct names_log){ .file = -1 })

/* Make DIR/kernel/names. Returns 0, or a negative errno with err filled. */
int names_log_open(struct names_log *log, const char *dir, struct err *err);

/* Keep at most so many bytes in memory. */
void names_log_keep(struct names_log *log, uint64_t most_bytes);

/* Append whole records, none of them younger than 'now_ns'. Returns whether they are kept. */
bool names_log_write(struct names_log *log, const void *records, size_t bytes, uint64_t now_ns);

/*
 * Make the file "names" in 'kernel_fd' of what is in memory, for a trace that begins at 'begin_ns' of
 * CLOCK_MONOTONIC, and fill *out_told, zeroed before. Returns 0, or a negative errno with err filled.
 */
int names_log_snapshot(const struct names_log *log, int kernel_fd, uint64_t begin_ns,
		       struct names_told *out_told, struct err *err);

/*
 * In memory: what processes named that were seen to be gone, and that before 'before_ns', is not needed any more. They
 * are known by their numbers here.
 */
void names_log_sweep(struct names_log *log, uint64_t now_ns, uint64_t before_ns);

/* In memory: what it takes now. */
uint64_t names_log_bytes(const struct names_log *log);

void names_log_close(struct names_log *log);

#endif
