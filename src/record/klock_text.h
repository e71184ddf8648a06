/*
 * klock_text.h - what a record of the BPF program says of a kernel lock, in words.
 *
 *	address space lock (mmap_lock) of python3[12]
 *	inode lock (i_rwsem) of /tmp/x/file
 *	pipe lock (pipe->mutex) of pipe:[4711]
 *
 * a variable of the kernel's by its name ("rtnl_mutex"), and "" where nothing is proven. Behind it, after
 * a tab, stand the addresses of the functions that it was waited for in, innermost first, as hexadecimal
 * numbers.
 */
#ifndef RECORD_KLOCK_TEXT_H
#define RECORD_KLOCK_TEXT_H

#include <stddef.h>

struct klock_places;
struct raw_lock;

/* 'raw' has 'bytes' bytes, at least its head; what it says of lengths is not trusted. */
void klock_text(const struct raw_lock *raw, size_t bytes, struct klock_places *places, char *out,
		size_t room);

#endif
