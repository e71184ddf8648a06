/*
 * kernel_lock.h - kernel locks in words: what the recorder tells of one, and what its event says.
 *
 * The name of an EV_FD_NAME with FD_LOCK is "WHAT", or nothing where that is not known, or a variable
 * of the kernel's without a blank; then, after a tab, the addresses of the functions that it was waited for
 * in, innermost first, as hexadecimal numbers with blanks between. 'inode' is the lock's address.
 */
#ifndef EVENT_KERNEL_LOCK_H
#define EVENT_KERNEL_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct facts;

/* include/trace/events/lock.h: LCB_F_* */
#define KERNEL_LOCK_SPIN   1u
#define KERNEL_LOCK_READ   2u
#define KERNEL_LOCK_WRITE  4u
#define KERNEL_LOCK_RT	   8u
#define KERNEL_LOCK_PERCPU 16u
#define KERNEL_LOCK_MUTEX  32u

/* "kernel mutex", "kernel rw lock" ...; of two events of one wait for a mutex, spinning is one. */
const char *kernel_lock_kind(uint32_t flags);

/* Part of every lock's own code, or of what looks at it: not who takes the lock. */
bool kernel_lock_is_inside(const char *function);

/* The function that wanted the lock, of those in a told name; NULL = not known. Lives as the facts. */
const char *kernel_lock_function(const struct facts *facts, const char *told);

/*
 * "address space lock (mmap_lock) of python3[12]", "kernel mutex rtnl_mutex", "kernel mutex
 * 0xffff888100075e78", with ", taken in alloc_super()" where a function is known and nothing else is.
 * 'told' may be "". 'address' 0 is left out.
 */
void kernel_lock_text(const struct facts *facts, const char *told, uint32_t flags, uint64_t address,
		      char *out, size_t room);

#endif
