/*
 * compat.h - what tells a 32-bit program of a 64-bit kernel by its system calls.
 *
 * Nothing in sys_enter does on x86: the numbers are other ones, and mean other calls.
 */
#ifndef EVENT_COMPAT_H
#define EVENT_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * By the end of the execve() that began the program: the kernel puts there the number of the
 * new program's own execve(), 59 or, for a 32-bit program, 11. On the way out of execve() no
 * other call can end, so 11 is not munmap() there. 'arch' as uname -m says; NULL = not known.
 */
bool compat_by_exec(const char *arch, int64_t nr);

/*
 * Where that end was lost, by the first call of the program: brk(0), uname() or set_thread_area()
 * by their 32-bit numbers are calls (recvfrom, setfsuid, mq_timedreceive) that no 64-bit program
 * begins with.
 */
bool compat_by_first_call(const char *arch, int64_t nr, uint64_t arg0);

#endif
