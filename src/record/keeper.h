/*
 * keeper.h - a child that is started again when it ends, by a process that keeps the rights to do so.
 *
 *	recorder <--- sockets, pipes --- child      gives up its rights, and reads what may be anybody's
 *	   \---- keeper ----/                       opens and reads nothing; ends with the recorder, and the child with it
 *
 * The recorder gives up its rights once it records, and could not start such a child again. The keeper is begun before
 * that. It waits 1 s before the next child, then 2 s, up to a minute; a child that lasts for a minute ends that.
 */
#ifndef RECORD_KEEPER_H
#define RECORD_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct flight;

struct keeper {
	const char *name; /* of the process, less than 16 bytes */
	void *context;	  /* is given back */
	/* In the child, whose signals are as any program expects them. 'before': so many were there. Returns: it ends. */
	void (*run)(void *context, uint32_t before);
	/* In the keeper; NULL = nobody wants to know. A child was begun. */
	void (*begun)(void *context, pid_t pid);
	/*
	 * In the keeper: a child has ended with this status of waitpid(), the next one comes in 'pause_s'. 'is_told': that was
	 * told already of those before it.
	 */
	void (*ended)(void *context, int status, unsigned int pause_s, bool is_told);
	int *fds; /* stay open in both, as of child_keep_fds() */
	size_t fd_count;
	uint64_t rights; /* of the keeper; 0 = all */
	int end_signal;	 /* for a child, when the recorder ends */
};

/* Returns the keeper's process, or a negative errno with err filled. */
pid_t keeper_start(const struct keeper *keeper, struct err *err);

/* End it and its child, and wait for it. 0 is fine. */
void keeper_end(pid_t pid);

/* "was ended by signal 9", "ended with status 1"; to be freed. */
char *keeper_how(int status);

/* CPU time of it and of all that it has begun. */
uint64_t keeper_cpu_ns(pid_t pid);

/* All these are no programs of a snapshot. */
void keeper_note(pid_t pid, struct flight *flight);

#endif
