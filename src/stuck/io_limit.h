/*
 * io_limit.h - who waits for a disk that has nothing to do for it: a limit of its cgroup holds the request back.
 *
 * blk-throttle keeps such a request before the disk knows of it (Documentation/admin-guide/cgroup-v2.rst, "IO Interface
 * Files"; cgroup-v1/blkio-controller.rst, "Throttling/Upper limit policy").
 */
#ifndef STUCK_IO_LIMIT_H
#define STUCK_IO_LIMIT_H

#include <stdbool.h>

struct asleep;

/*
 * Where that is so, the limit is added to what the wait is for, as inferred: it sleeps for I/O, its cgroup has a limit
 * for that disk and direction, and no such request is with the disk. Where the file is not known, and so not the disk,
 * that must be so of one disk.
 */
void io_limit_add(struct asleep *asleep);

#endif
