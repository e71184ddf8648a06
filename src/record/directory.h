/*
 * directory.h - make the trace directory, or replace an older one.
 */
#ifndef RECORD_DIRECTORY_H
#define RECORD_DIRECTORY_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

struct directory {
	char *path; /* owned; leads to dir_fd whatever the names on the way become */
	char *name; /* owned; in the folder that parent_fd is */
	int parent_fd;
	int dir_fd;    /* -1 = not made */
	int kernel_fd; /* DIR/kernel */
	bool is_new;   /* it was not there before */
	bool is_roots; /* in a place of root's, where the user who ran sudo may make nothing */
	uid_t old_uid; /* whose it was, if not new */
	gid_t old_gid;
};

#define DIRECTORY_NONE ((struct directory){ .parent_fd = -1, .dir_fd = -1, .kernel_fd = -1 })

/*
 * May a trace be made at 'path'? It must not exist, be an empty directory, or hold
 * nothing but a trace when 'replace'. Changes nothing. Returns 0, or
 *   -EEXIST   something else is there, or a trace and not 'replace',
 *   other     as open(2); err filled.
 */
int directory_check(const char *path, bool replace, struct err *err);

/*
 * Make it, after the same checks; an old trace is removed. Under sudo it is made with the rights of
 * the user who ran sudo, and then taken from that user until directory_give(): what lies in it is
 * root's work. Where the user may not make it, root does, if all on the way is root's own and it is
 * not there yet, or an older trace: then 'is_roots' says so. It is locked until it is closed or this
 * process is gone. Returns 0, or -EBUSY when another recorder has it, or another negative errno;
 * err filled.
 */
int directory_open(const char *path, bool replace, struct directory *out_directory,
		   struct err *err);

/* Remove what was recorded so far: nothing worth keeping was recorded. */
void directory_discard(struct directory *directory);

/*
 * Keep some room on the disk, so that trace.json can still be written when the
 * disk is full; give it back.
 */
void directory_reserve(const struct directory *directory);
void directory_release(const struct directory *directory);

/*
 * Make the directory and what is in it the user's. What the user could have put there
 * meanwhile is left alone: links, and files that have another name elsewhere.
 */
void directory_give(const struct directory *directory, uid_t uid, gid_t gid);

void directory_close(struct directory *directory);

#endif
