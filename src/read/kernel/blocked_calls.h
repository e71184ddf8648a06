/*
 * blocked_calls.h - the calls that threads of one CPU blocked in, each joined to its switch.
 *
 * The recorder's BPF program writes one record for each thread that goes to sleep; the kernel's buffer
 * has one switch for it. Both are in the order of the CPU, and both name the thread. Their times differ
 * by what lies between them, and by how well the clocks are converted: so times only tell where to
 * begin, and what was lost on either side.
 */
#ifndef READ_KERNEL_BLOCKED_CALLS_H
#define READ_KERNEL_BLOCKED_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct blocked_calls;
struct wire_call;

/* NULL when there is no such file. Free with blocked_calls_close(). */
struct blocked_calls *blocked_calls_open(const char *path, bool big_endian);

/* The record of the switch at 'time_ns' at which 'tid' went to sleep. False: there is none, or it is lost. */
bool blocked_calls_take(struct blocked_calls *calls, int32_t tid, uint64_t time_ns,
			struct wire_call *out_call);

/* Switches at or after 'time_ns' are asked for next. */
void blocked_calls_seek(struct blocked_calls *calls, uint64_t time_ns);

/* NULL is fine. */
void blocked_calls_close(struct blocked_calls *calls);

#endif
