/*
 * look.h - one look at processes and their threads, as they are asked for.
 *
 * Whatever may hang is done by a worker; a process that hangs is not looked into any more.
 */
#ifndef STUCK_LOOK_H
#define STUCK_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "stuck/task.h"

struct worker;

struct process {
	int32_t tgid;
	int32_t via; /* a thread to read it by: a main thread that ended has no memory and no files; 0 = that one */
	size_t first; /* its tasks: by tid, one after the other */
	size_t count;
	bool is_hung;	 /* something in it took too long: nothing in it is read any more */
	bool has_nested; /* the following is known */
	bool has_numbers;
	struct map numbers; /* where they are not ours: by its own number of a thread, ours */
	uint64_t private_from, private_to; /* of maps_is_private(); 0 = nothing known yet */
	bool is_nested;			   /* the numbers that it knows tasks by are not ours */
};

struct look {
	int proc_fd;
	struct worker *worker;	   /* not owned */
	const struct look *before; /* NULL = this is the first one */
	uint64_t budget_ns;	   /* of look_spent_ns(): no new processes from then on */
	uint64_t until_ns;	   /* the same of look_now_ns(); 0 = whenever */
	size_t most;		   /* tasks: none are added behind so many */
	struct task *tasks;	   /* owned; moves as processes are added */
	size_t count;
	size_t cap;
	struct map by_tid; /* index into tasks */
	struct process *processes;
	size_t process_count;
	size_t process_cap;
	struct map by_tgid;
	size_t hung;	/* processes that took too long */
	size_t skipped; /* tasks not looked at: for want of time, or too many */
	size_t barred;	/* tasks of which the system call may not be read */
};

void look_fini(struct look *look);

/* The process, which is looked at when it was not yet; NULL = gone, hangs, or not looked at. */
struct process *look_process(struct look *look, int32_t tgid);

/* The process that thread 'tid' is of, looked at as above. */
struct process *look_process_of(struct look *look, int32_t tid);

/* NULL = not looked at. */
const struct task *look_task(const struct look *look, int32_t tid);

/* Whether its time is used up. */
bool look_is_over(const struct look *look);

/* The process of a task; it is there when the task is. Not looked at: NULL. */
struct process *look_owner(const struct look *look, const struct task *task);

/* Whether the process is in a PID namespace below ours, and so knows tasks by other numbers. */
bool look_is_nested(struct look *look, struct process *process);

/* Our number of the thread that the process knows as 'number'; 0 = it has none such. */
int32_t look_thread(struct look *look, struct process *process, int32_t number);

/* The same of a task that is one of 'candidates', in our numbers. 0 = none of them. */
int32_t look_number(struct look *look, struct process *process, int32_t number,
		    const int32_t *candidates, size_t count);

uint64_t look_now_ns(void);

/* CPU time of this process: what is done on a busy machine does not depend on how busy it is. */
uint64_t look_spent_ns(void);

/* How much of memory at 'address' of the process could be read into 'buffer': all, or nothing. */
bool look_memory(struct look *look, struct process *process, uint64_t address, void *buffer,
		 size_t bytes);

/* A file below /proc/TGID: its length, or a negative errno. -ETIME: it hangs. */
int look_file(struct look *look, struct process *process, const char *name, char *text,
	      size_t bytes);

/* A link below /proc/TGID, likewise. */
int look_link(struct look *look, struct process *process, const char *name, char *text,
	      size_t bytes);

#endif
