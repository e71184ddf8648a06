/*
 * vtids.h - which thread of the machine a program in a container means by a number.
 *
 * A program within a pid namespace knows its threads by the numbers of that. The recorder wrote
 * down which are whose: those that lived from /proc, those that began meanwhile as the kernel
 * made them. Who is in neither is nobody: who had the CPU then does not prove it, since a
 * program's clock and the kernel's are not the same to the nanosecond.
 */
#ifndef READ_VTIDS_H
#define READ_VTIDS_H

#include <stdint.h>

struct facts;
struct vtids;

/* A process as its trace tells of it. */
struct vtid_process {
	uint64_t space; /* inode of its pid namespace; 0 = it does not tell */
	int32_t vpid;
	uint64_t start; /* field 22 of /proc/PID/stat; 0 = it does not tell */
};

/* What facts->vtids says; these are not needed any more then. Free with vtids_free(). */
struct vtids *vtids_new(const struct facts *facts);
void vtids_free(struct vtids *vtids);

/* The machine's number of thread 'vtid' of the process at that time; -1 = not known. */
int32_t vtids_find(const struct vtids *vtids, const struct vtid_process *process, int32_t vtid,
		   uint64_t time_ns);

#endif
