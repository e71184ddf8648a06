/*
 * klock_places.h - where file systems are mounted.
 *
 * Read when first asked for, and again when one is not known, so that a recording without
 * contention costs nothing. For one thread.
 */
#ifndef RECORD_KLOCK_PLACES_H
#define RECORD_KLOCK_PLACES_H

#include <stdint.h>

struct klock_places;

struct klock_places *klock_places_new(void);
void klock_places_free(struct klock_places *places); /* NULL is fine */

/*
 * The path of 'path', which begins at the root of the file system 'dev' (the kernel's dev_t), where
 * this process sees it. Returns memory to free, or NULL when it is not mounted here.
 */
char *klock_places_path(struct klock_places *places, uint32_t dev, const char *path);

#endif
