/*
 * landlock.h - where this process can make, change and remove files, by the kernel's Landlock.
 */
#ifndef GUARD_LANDLOCK_H
#define GUARD_LANDLOCK_H

#include <stddef.h>

struct err;
struct guard_place;

/* Of the kernel's interface; 0 = it has none, or it is switched off. */
int landlock_version(void);

/*
 * From here on nothing is written, made, removed or executed but at 'places'; reading is as
 * before. Returns 1, 0 when the kernel has no such thing, or a negative errno with err filled.
 */
int landlock_writes(const struct guard_place *places, size_t count, struct err *err);

#endif
