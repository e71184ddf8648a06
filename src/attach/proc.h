/*
 * proc.h - what has to be known of a process in order to find its control file.
 */
#ifndef ATTACH_PROC_H
#define ATTACH_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct user_proc {
	int32_t pid;	 /* as we see it */
	int32_t ns_pid;	 /* as it sees itself */
	uint32_t uid;	 /* effective, as we see it */
	uint32_t ns_uid; /* effective, as it sees it */
	uint32_t gid;
	uint64_t pid_ns;  /* number of its pid namespace; 0 when we may not see it */
	uint64_t start;	  /* field 22 of /proc/PID/stat */
	bool same_mounts; /* its files have the names that ours have */
	char *runtime;	  /* owned; HOLDUP_RUNTIME_DIR of its environment, or NULL */
};

/* False when there is no such process, or it is a thread of the kernel. */
bool user_proc_read(int32_t pid, struct user_proc *out_proc);
void user_proc_fini(struct user_proc *proc);

/* May a process live that started at this moment (field 22)? True when that cannot be seen. */
bool user_proc_may_live(uint64_t start);

/* All processes, ascending. Returns their number; free *out_pids. */
size_t user_proc_all(int32_t **out_pids);

/*
 * Take the number behind the "Uid:" or "NSpid:" of a status file: the index-th, or the last
 * one (-1). False when there is none. Exported for tests.
 */
bool user_status_number(const char *status, const char *key, int index, uint64_t *out_number);

/* From outer to inner ids by the text of a uid_map; the same number when no line has it. */
uint32_t user_map_id(const char *map, uint32_t outer);

/* Field 22 of a line of /proc/PID/stat; 0 when it is not one. */
uint64_t user_stat_start(const char *line);

#endif
