/*
 * devices.h - the names of block devices, and what is behind those that are no hardware: the file of a
 * loop device, the disks below one of device mapper.
 *
 * They are lines of the state dump. What is set up while recording is added at its end.
 */
#ifndef RECORD_DEVICES_H
#define RECORD_DEVICES_H

struct devices;

/* Add the devices that there are to the dump, which exists. Never NULL; without /sys it knows less. */
struct devices *devices_begin(int kernel_fd);

/*
 * Add those that are new. One that had something else behind it before is told without: which of
 * the two a request was for is not known.
 */
void devices_end(const struct devices *devices, int kernel_fd);

/* NULL is fine. */
void devices_free(struct devices *devices);

#endif
