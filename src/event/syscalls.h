/*
 * syscalls.h - the names of system calls of every architecture that is known.
 */
#ifndef EVENT_SYSCALLS_H
#define EVENT_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The name of system call 'nr' on the architecture that uname -m calls 'arch', or
 * NULL when the number or the architecture is not known. 'compat' asks for the
 * table of 32-bit programs on a 64-bit kernel.
 */
const char *syscalls_name(const char *arch, int64_t nr, bool compat);

#endif
