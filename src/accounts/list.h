/*
 * list.h - which tasks: processes and threads by id, name, cgroup or user.
 */
#ifndef ACCOUNTS_LIST_H
#define ACCOUNTS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct delays_select {
	const int32_t *pids; /* processes, or single threads */
	size_t pid_count;
	const char *comm;   /* processes of this name, as the kernel cuts it; NULL = not asked */
	const char *cgroup; /* processes in it or below; "/a/b", or a path of the file system */
	bool has_uid;	    /* processes of 'uid' */
	uint32_t uid;
	bool all;     /* every process */
	bool threads; /* list the threads of each process, too */
};

/* One row: a process, or one of its threads. */
struct delays_id {
	int32_t tgid;
	int32_t tid;	  /* of a process: its main thread */
	uint32_t threads; /* of a process: how many live */
	bool is_process;
};

struct delays_ids {
	struct delays_id *ids; /* owned; by process, each before its threads */
	size_t count;
	size_t cap;
	size_t missing; /* of the pids that were asked for */
};

/*
 * List them, by number. What is asked for by several ways (pids, a name ...) is taken together.
 * Who asks is no row, unless asked for by number.
 * Tasks may end at any time, also while they are listed.
 * Returns 0, also when there are none, or a negative errno with err filled (no such cgroup).
 */
int delays_list(const struct delays_select *select, struct delays_ids *out_ids, struct err *err);

/* Add the threads of a process, in no order; none when it is gone. */
void delays_list_threads(int32_t tgid, struct delays_ids *ids);

void delays_ids_fini(struct delays_ids *ids);

#endif
