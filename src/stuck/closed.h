/*
 * closed.h - whether nobody but the threads of a process could end a wait for its own memory.
 *
 * A futex without an owner can be woken by any thread of the process. Where all of them sleep, that is nobody;
 * where all but one do, it is that one: unless a signal handler does it, another process that has the same memory, or an io_uring.
 */
#ifndef STUCK_CLOSED_H
#define STUCK_CLOSED_H

struct look;
struct stuck;

/*
 * Set is_closed of those threads that wait inside of such a process; where it is not known, it is not set. Where
 * not all threads of a process were found, is_inside is taken back. Where one thread alone could go on, and end the
 * waits of the others, it is their only_tid.
 */
void closed_find(struct stuck *stuck, struct look *look);

#endif
