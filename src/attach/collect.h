/*
 * collect.h - DIR/user of a recording: what programs log themselves while it is made.
 *
 *	user_collect_begin	the folder, and the environment for the command
 *	user_collect_ask	running processes are asked for a trace in it
 *	user_collect_stop	what was switched on is switched back, while the kernel still
 *				tells who ran
 *	user_collect_end	the files are cut clean
 */
#ifndef ATTACH_COLLECT_H
#define ATTACH_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct user_collect;

struct user_wish {
	const char *dir;    /* of the recording */
	int dir_fd;	    /* the same, open; only we can change what is in it */
	const char *events; /* NULL = all */
	bool has_command;
	bool gives; /* the command runs as this user, not as us */
	uid_t uid;
	gid_t gid;
	const int32_t *pids; /* running processes to ask */
	size_t pid_count;
};

struct user_collected {
	uint32_t processes; /* whose events are there */
	uint32_t living;    /* of these, that have not ended */
	uint64_t bytes;
	uint64_t lost;
	uint64_t half_bytes; /* left out: from an event that nobody ended on */
	uint64_t
		unread_bytes; /* of files that there was no time to look at: they stay as they are */
	bool is_cut;	      /* nor was there for all folders */
};

/* Returns 0, or a negative errno with err filled. */
int user_collect_begin(const struct user_wish *wish, struct user_collect **out_collect,
		       struct err *err);

/* NAME=VALUE for the command, ended by NULL. Lives as long as 'collect'. */
const char *const *user_collect_environment(const struct user_collect *collect);

/*
 * Ask the running processes. Those without libholdup are left out; 'note' is called for those
 * that have it and cannot be asked.
 */
void user_collect_ask(struct user_collect *collect,
		      void (*note)(void *context, int32_t pid, const char *why), void *context);

void user_collect_stop(struct user_collect *collect);

/* Once, after user_collect_stop(). An empty DIR/user is removed. */
void user_collect_end(struct user_collect *collect, struct user_collected *out_collected);

/* What was asked for is taken back, if user_collect_stop() did not. NULL is fine. */
void user_collect_free(struct user_collect *collect);

#endif
