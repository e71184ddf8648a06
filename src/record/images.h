/*
 * images.h - which files the programs of the machine had mapped as code, while recording and before.
 *
 * The kernel tells of each mapping, fork and exec as it happens (perf_event_open(2), a ring for each
 * CPU); of what a process had mapped before, its /proc/PID/maps, when it is first asked about. So
 * processes that ended are known, too. Each file is opened when it is first told of, and held: what
 * is at its path later is another matter. Only a plain file with the device and inode that the kernel
 * told is opened.
 *
 * By one thread at a time.
 */
#ifndef RECORD_IMAGES_H
#define RECORD_IMAGES_H

#include <stddef.h>
#include <stdint.h>

struct images;

enum image_kind {
	IMAGE_MAP,
	IMAGE_EXEC, /* nothing that was mapped before is there any more */
	IMAGE_FORK, /* it has what 'parent' has */
};

struct image_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC; 0 = before the recording, or not known */
	uint64_t start, bytes;
	uint64_t offset; /* in the file */
	int32_t tgid;
	int32_t parent;
	uint32_t file; /* of IMAGE_MAP: index for images_file() */
	enum image_kind kind;
};

struct image_file {
	char *path;	 /* as the program saw it; owned */
	uint64_t inode;	 /* 0: [vdso], the kernel's own code for programs */
	uint64_t device; /* makedev() */
	int fd;		 /* -1 = not open */
	const char *why; /* it is not; else NULL */
};

/*
 * Ready to listen. Where the kernel does not tell, *out_why says why, and only /proc is read. End it
 * with images_free().
 */
struct images *images_new(const char **out_why);

/* Listen from now on: the buffers are small, so images_take() has to be called soon. */
void images_listen(const struct images *images);

/* The same, but it never listens: what processes have mapped when they are asked about. */
struct images *images_new_still(void);

/* The descriptors to poll for input: one for each CPU. A view. */
const int *images_fds(const struct images *images, size_t *out_count);

/* Take what the kernel told since. */
void images_take(struct images *images);

/* The process is about to be asked about: read what it has mapped, unless that is known. */
void images_want(struct images *images, int32_t tgid);

/*
 * Event number *cursor, in the order in which they were told, and on to the next; NULL = there are no more yet. A
 * view, until more is taken. Not after images_events().
 */
const struct image_event *images_next(const struct images *images, size_t *cursor);

/* All that was told, in order of time from now on; a view. */
const struct image_event *images_events(struct images *images, size_t *out_count);

const struct image_file *images_file(const struct images *images, uint32_t file);

/* Events that the kernel had no room for, or that were more than are kept. */
uint64_t images_lost(const struct images *images);

/* The memory that events and rings take. */
uint64_t images_bytes(const struct images *images);

void images_free(struct images *images); /* NULL is fine */

#endif
