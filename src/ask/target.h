/*
 * target.h - which threads of a recording the user means.
 */
#ifndef ASK_TARGET_H
#define ASK_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct facts;
struct timeline;

struct target_opts {
	int32_t pid;	     /* all threads of this process; 0 = not given */
	int32_t tid;	     /* this thread */
	const char *comm;    /* all threads of this name; main threads when there are any */
	bool threads;	     /* all threads of the process */
	const int32_t *pids; /* each of these processes; a view. NULL = not given */
	size_t pid_count;
	bool every;	  /* each process */
	uint32_t at_slot; /* this thread of the timeline, plus 1; 0 = not given */
};

struct targets {
	uint32_t *slots; /* owned; threads of the timeline, in its order */
	size_t count;
	size_t cap;
	uint32_t main_slot; /* of a process: the thread it is named by */
};

/*
 * Find them: at least one. Without a choice it is the command that was recorded.
 * Returns 0, or -ESRCH with err filled when there is none.
 */
int targets_find(const struct timeline *timeline, const struct facts *facts,
		 const struct target_opts *opts, struct targets *out_targets, struct err *err);

/*
 * The processes of opts->pids or, with 'every', of the recording but for the kernel and the recorder:
 * in each the thread that it is found by, as main_slot is. Returns 0, or -ESRCH with err filled when
 * there is none.
 */
int targets_find_processes(const struct timeline *timeline, const struct facts *facts,
			   const struct target_opts *opts, struct targets *out_targets,
			   struct err *err);

void targets_fini(struct targets *targets);

#endif
