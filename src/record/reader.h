/*
 * reader.h - move the kernel's ring-buffer pages to files, one thread per CPU.
 *
 * Pages go from the kernel through a pipe into the file by splice(), whole and
 * without a copy in user space. A thread wakes when its buffer is filled to the
 * instance's buffer_percent, and once a second (more often at first); then it takes what is
 * in a sub-buffer that is not full, too, so that a killed recorder loses little.
 */
#ifndef RECORD_READER_H
#define RECORD_READER_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct manifest;
struct readers;

/*
 * Open the buffers of all online CPUs in the instance, make the files cpuN.ring in
 * 'kernel_fd' and start the threads; their tids go to manifest->recorder_tids and
 * their CPUs to manifest->cpus. 'page_bytes' is the size of a sub-buffer. Returns
 * 0, or a negative errno with err filled.
 */
int readers_start(int instance_fd, int kernel_fd, uint32_t page_bytes, struct manifest *manifest,
		  struct readers **out_readers, struct err *err);

/* Bytes written so far by all threads. Any thread. */
uint64_t readers_bytes(const struct readers *readers);

/*
 * From now on sub-buffers are fetched early, full or not, so that files can be read while they
 * grow: readers_drained_ns() is at most some 200 ms ago.
 */
void readers_follow(struct readers *readers);

/* Events of all CPUs before this moment of CLOCK_MONOTONIC are in the files. Any thread. */
uint64_t readers_drained_ns(const struct readers *readers);

/* Readable once a thread could not write; then readers_failure() says why. */
int readers_event_fd(const struct readers *readers);

/* The negative errno of the first failed write; 0 = none. Any thread. */
int readers_failure(const struct readers *readers);

/*
 * Take everything that is left, end the threads and fill the sizes in
 * manifest->cpus. Call it when tracing is off; CPUs that came online meanwhile are
 * added. After a failure the end of what was written on a CPU may be given up, so
 * that the other CPUs reach about as far. Calling it twice is fine.
 */
void readers_stop(struct readers *readers, struct manifest *manifest);

/*
 * After a failure: the raw time up to which all CPUs are in the files; 0 = nowhere.
 * Without one: UINT64_MAX. Call it after readers_stop().
 */
uint64_t readers_whole_until(const struct readers *readers);

/* Free; stops the threads first if need be. NULL is fine. */
void readers_free(struct readers *readers);

#endif
