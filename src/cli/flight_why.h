/*
 * flight_why.h - a child without any right explains a snapshot.
 *
 * A trace is hostile input, also of one's own recorder: names in it are anybody's. So the child has no
 * capability, no descriptor but its two, the filter of readers, and a limit of CPU time.
 */
#ifndef CLI_FLIGHT_WHY_H
#define CLI_FLIGHT_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct flight_on;

struct flight_why {
	pid_t pid;  /* 0 = none */
	int fd;	    /* the verdict comes from here, a line at most; its end: the child is done */
	char *name; /* owned; of the snapshot */
	char text[2048];
	size_t bytes; /* of text, that came */
};

struct flight_why_ask {
	const char *trace; /* path */
	const struct flight_on
		*on;	       /* what asked for the snapshot; NULL = nobody knows where to look */
	int32_t tid;	       /* of on, if that is about a thread; 0 = it is not */
	bool is_process;       /* it is a process, all threads of it */
	const int32_t *others; /* more processes, beside that; a view */
	size_t other_count;
	uint64_t from_ns, to_ns; /* its wait, or the window of the snapshot; CLOCK_MONOTONIC */
};

/* 'report_fd' gets the report, and stays the caller's. Returns 0, or a negative errno with err filled. */
int flight_why_start(const struct flight_why_ask *ask, const char *name, int report_fd,
		     struct flight_why *out_why, struct err *err);

/* When 'fd' is readable. Returns whether it is over: then 'text' is the verdict, "" = none. */
bool flight_why_read(struct flight_why *why);

/* End it if it runs, and free. */
void flight_why_end(struct flight_why *why);

#endif
