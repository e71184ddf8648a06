/* proc.h - what this room reads from /proc. */
#ifndef ACCOUNTS_PROC_H
#define ACCOUNTS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/stats.h"

/* The clock that births are told in: ns since boot, sleep of the machine included. */
uint64_t delays_now_ns(void);

/* Read a small file into 'text', terminated. Returns its length, or a negative errno. */
int delays_proc_read(const char *path, char *text, size_t bytes);

/* The number behind 'name' at the start of a line of such a file; 0 when there is none. */
uint64_t delays_proc_number(const char *text, const char *name);

/*
 * Exact I/O numbers of a thread, or of all living threads of a process, into stats. Returns
 * whether they could be read: needs ptrace rights on it. (/proc/PID/io would be one file for a
 * process, but has the children that it waited for in it.)
 */
bool delays_proc_io(int32_t tgid, int32_t tid, bool is_process, struct delays_stats *stats);

/*
 * Without rights: name, ids, life and run time, time without a CPU and, where it is counted, disk
 * of one thread, from stat and schedstat. Returns whether it lives.
 */
bool delays_proc_thread(int32_t tgid, int32_t tid, struct delays_stats *out_stats);

/* Path of the cgroup of a process in the second hierarchy, else in the first; "" = unknown. */
void delays_proc_cgroup(int32_t tgid, char *path, size_t bytes);

/* Whether tasks of other users are hidden from us (mounted with hidepid). */
bool delays_proc_hides(void);

#endif
