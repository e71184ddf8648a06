/*
 * holders.h - which processes have which pipe, socket, file or terminal open.
 */
#ifndef STUCK_HOLDERS_H
#define STUCK_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct worker;

#define HOLDER_READS  1u
#define HOLDER_WRITES 2u

struct holder {
	uint64_t key; /* see holders_key() */
	int32_t tgid;
	int32_t fd;
	uint8_t modes;
};

struct holders {
	struct holder *all; /* owned; by key, tgid */
	size_t count;
	size_t cap;
	bool is_made;
	bool is_complete; /* the tables of all processes could be read */
	size_t barred;	  /* processes whose tables may not be read */
	size_t left_out;  /* those that took too long, or were too large */
};

/* What a link of /proc/PID/fd names. The inode of a pipe or a socket is in *out_inode, else 0. */
uint64_t holders_key(const char *link, uint64_t *out_inode);

/* What has the terminal /dev/pts/N as its other end. */
uint64_t holders_master_key(int32_t pts);

/* An eventfd, which has a number in its fdinfo: -1 = the kernel does not tell. */
int64_t holders_eventfd_id(const char *fdinfo);
uint64_t holders_eventfd_key(int64_t id);

/* Read the tables of all processes, unless that was done. Not beyond 'budget_ns'. */
void holders_make(struct holders *holders, int proc_fd, struct worker *worker, uint64_t budget_ns);

/*
 * Whether a descriptor of any process is on its way in a message of a unix socket: whoever takes it has it then, and
 * no table tells what it is of. Also when that is not known.
 */
bool holders_in_flight(const struct holders *holders, int proc_fd, struct worker *worker);

/* All who have it: the first of *out_count; NULL = nobody. */
const struct holder *holders_find(const struct holders *holders, uint64_t key, size_t *out_count);

void holders_fini(struct holders *holders);

#endif
