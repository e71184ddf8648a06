/*
 * stat.h - one line of /proc/PID/stat taken apart. Its fields have the numbers of proc(5).
 */
#ifndef PROC_STAT_H
#define PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAT_KERNEL_THREAD 0x00200000u /* of STAT_FLAGS; linux/sched.h */
#define STAT_BYTES_MAX	   1024	       /* of a line, with its terminator */

enum stat_field {
	STAT_PPID = 4,
	STAT_FLAGS = 9,
	STAT_USER = 14,	  /* ticks */
	STAT_SYSTEM = 15, /* ticks */
	STAT_PRIO = 18,
	STAT_NICE = 19,
	STAT_BIRTH = 22, /* ticks since boot */
	STAT_STACK =
		28, /* where it begins, at random with each execve(); 0 for who may not read its memory */
	STAT_CPU = 39,
	STAT_POLICY = 41,
	STAT_DISK = 42, /* ticks */
	STAT_FIELDS,
};

struct proc_stat {
	const char *comm; /* in the line, not terminated; it may hold anything, ')' too */
	size_t comm_bytes;
	char state;
	int last;		     /* the last field that was read; those behind it are 0 */
	uint64_t field[STAT_FIELDS]; /* from STAT_PPID on; a negative one in two's complement */
};

/* False when it is no such line, or ends before the state. */
bool stat_parse(const char *line, struct proc_stat *out_stat);

/* Read the file 'path' under 'dir_fd' into 'line', too. False also when it cannot be read. */
bool stat_read(int dir_fd, const char *path, char line[STAT_BYTES_MAX], struct proc_stat *out_stat);

/* Copy the name, cut to what there is room for. */
void stat_copy_comm(const struct proc_stat *stat, char *out_comm, size_t room);

/* It has ended; only its parent has not asked for its status yet. */
static inline bool stat_is_over(const struct proc_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X';
}

#endif
