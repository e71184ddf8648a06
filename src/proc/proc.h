/*
 * proc.h - read the files of /proc that never block.
 *
 * Files that may block (they look into a process's memory) are read by opened.h.
 */
#ifndef PROC_PROC_H
#define PROC_PROC_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_COMM_MAX 64

struct proc_thread {
	int32_t tid;
	int32_t tgid;
	int32_t ppid;
	uint32_t uid;
	int32_t policy;
	int32_t prio;
	char state;
	bool kernel;
	char comm[PROC_COMM_MAX];
	uint64_t seen_ns;    /* CLOCK_MONOTONIC */
	uint64_t born_ticks; /* since boot, CLOCK_BOOTTIME: field 22; 0 = not known */
	int32_t vtid;	     /* in the pid namespace that it is in, below ours; 0 = it is in ours */
};

/*
 * Read a small file under 'dir_fd' into 'out', which is terminated: at most room - 1
 * bytes. Returns the bytes read, or a negative errno.
 */
int proc_read(int dir_fd, const char *path, char *out, size_t room);

/*
 * The numeric entries of the directory 'path' under 'dir_fd', ascending. Returns their
 * number and sets *out_numbers (free with free()), or a negative errno.
 */
int proc_numbers(int dir_fd, const char *path, int32_t **out_numbers);

/*
 * Of the text of /proc/PID/task/TID/children, "PID PID ": the next number, and *at moves behind it; 0 = there is no more. A
 * number that was cut off is none.
 */
int32_t proc_next_child(const char **at);

/* Read thread 'tid' of process 'tgid'. False when it is gone. */
bool proc_read_thread(int proc_fd, int32_t tgid, int32_t tid, struct proc_thread *out_thread);

/*
 * How often a thread was put on a CPU: the same number at two looks means that it did not run between
 * them. 0 = not known.
 */
uint64_t proc_runs(int proc_fd, int32_t tgid, int32_t tid);

/* Take a line of /proc/TID/stat apart. False when it is not one. Exported for tests. */
bool proc_parse_stat(const char *line, struct proc_thread *out_thread);

/* The last number behind "NSpid:", if there are several; else 0. Exported for tests. */
int32_t proc_parse_vtid(const char *status);

/* Number of the pid namespace of a process; 0 = we may not see it. */
uint64_t proc_pid_namespace(int proc_fd, int32_t tgid);

/* Are process ids here those of the kernel, and are all processes seen? True as well where there are no namespaces. */
bool proc_is_outermost(void);

/*
 * The path in a text of /proc/PID/cgroup: of the hierarchy of that controller, "" = the unified one. A view into the text, up to
 * the end of its line; NULL = there is none. A line that is not whole does not count.
 */
const char *proc_cgroup_path(const char *text, const char *controller);

/* Path in the unified hierarchy, else in the first one; "" when unknown. */
void proc_read_cgroup(int proc_fd, int32_t tgid, char *out, size_t room);

/* Does a thread that sleeps in this function of the kernel, as wchan says, sleep for the freezer of its cgroup? */
bool proc_wchan_frozen(const char *wchan);

/*
 * Path of the cgroup that keeps a frozen process so: in the unified hierarchy, if its main thread sleeps in what that
 * one freezes by, else in that of the freezer; "" when unknown.
 */
void proc_read_frozen(int proc_fd, int32_t tgid, char *out, size_t room);

/* Does this one, which sleeps? False also where that may not be read. */
bool proc_is_frozen(int proc_fd, int32_t tgid, int32_t tid);

/*
 * Since Linux 6.1 the freezer of version 1 leaves many sleeps as they are, and shows them as 'D'. Are those of a
 * process frozen, by the state of its cgroup below 'root'? False also where that may not be read.
 */
bool proc_is_frozen_asleep(int proc_fd, int32_t tgid, const char *root);

#define PROC_FREEZER_ROOT "/sys/fs/cgroup/freezer"

#endif
