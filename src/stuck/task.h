/*
 * task.h - one look at one thread: what of /proc says whether it waits, and in what.
 */
#ifndef STUCK_TASK_H
#define STUCK_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "stuck/stuck.h"

#define TASK_ARGS 6

/* Memory around the word of a futex that a thread waits for. */
#define TASK_WINDOW_BEFORE 64
#define TASK_WINDOW_BYTES  192

struct task {
	int32_t tid;
	int32_t tgid;
	int32_t ppid;
	char comm[STUCK_COMM_MAX];
	char state;
	bool is_kernel; /* a thread of the kernel */
	int32_t prio;
	int32_t cpu;
	uint64_t birth; /* clock ticks since boot: with the tid, which thread this is */
	uint64_t runs;	/* how often it got a CPU; 0 = not known */
	bool is_barred; /* its system call may not be read */
	bool has_call;	/* the following are there */
	int32_t nr;	/* of the call; -1 = it sleeps outside of one */
	uint64_t args[TASK_ARGS];
	uint64_t sp;
	uint64_t pc;
	bool has_window;
	uint8_t window[TASK_WINDOW_BYTES]; /* of a futex; zeros where nothing is mapped */
	char wchan[48]; /* the kernel's function that it sleeps in; "" = not known */
};

/*
 * Read thread 'tid' of process 'tgid'. With 'before', what cannot have changed since then is not read
 * again. False when it is gone. May hang where the process does an execve().
 */
bool task_read(int proc_fd, int32_t tgid, int32_t tid, const struct task *before,
	       struct task *out_task);

/* Read the memory around the futex that it waits for, if it does. May hang, too. */
void task_read_window(struct task *task);

/* Whether it slept from that look to this one, in the same call. */
bool task_is_same(const struct task *before, const struct task *after);

/* Take a line of stat or of syscall apart. Exported for tests. */
bool task_parse_stat(const char *line, struct task *task);
bool task_parse_call(const char *line, struct task *task);

#endif
