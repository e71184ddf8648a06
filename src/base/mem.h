/*
 * mem.h - allocation that cannot fail, growing arrays, and cleanup by scope.
 *
 * Running out of memory ends the program with a message: no caller could do
 * better. So a size that comes from a file is checked against a limit before it
 * gets here.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void *xmalloc(size_t bytes) __attribute__((malloc, warn_unused_result));
void *xcalloc(size_t count, size_t bytes) __attribute__((malloc, warn_unused_result));
void *xrealloc(void *old, size_t count, size_t bytes) __attribute__((warn_unused_result));

/* Zeros in pages of their own, which take no memory until they are written. Free them with mem_pages_free(). */
void *mem_pages(size_t bytes) __attribute__((malloc, warn_unused_result));
void mem_pages_free(void *pages, size_t bytes); /* NULL is fine */

/*
 * Keep what is freed for the next allocation, however large, and let about the first 'bytes' be of
 * large pages; 0: as usual, and what is free goes back. For a library that takes and frees megabytes
 * several times: each fresh page costs a fault.
 */
void mem_keep_freed(size_t bytes);

/*
 * All threads take from one heap: less memory, for a process that counts its own. Threads that allocate
 * much at once wait for each other. Call it while there is one thread.
 */
void mem_one_heap(void);

char *xstrdup(const char *text) __attribute__((malloc, warn_unused_result));
char *xstrndup(const char *text, size_t max) __attribute__((malloc, warn_unused_result));
char *xasprintf(const char *format, ...)
	__attribute__((malloc, warn_unused_result, format(printf, 1, 2)));

/*
 * Make room for one more item: returns the (possibly moved) array and updates
 * *cap. Doubles, so appending costs O(1) on average.
 *
 *	items = vec_room(items, count, &cap, sizeof(*items));
 *	items[count++] = item;
 */
void *vec_room(void *items, size_t count, size_t *cap, size_t item_bytes)
	__attribute__((warn_unused_result));

/*
 * For arrays whose items have fixed numbers, as CPUs do: room for 'want' items where this
 * function made room for 'have' before. New ones are zero. Whatever the numbers and their order,
 * it moves the array seldom.
 */
void *vec_grow(void *items, size_t have, size_t want, size_t item_bytes)
	__attribute__((warn_unused_result));

void mem_close_fd(int *fd);	  /* close if not negative; keeps errno */
void mem_close_file(FILE **file); /* fclose if not NULL; keeps errno */
void mem_free(void *pointer_to_pointer);

/* Freed, closed when the variable goes out of scope. */
#define AUTO_FREE  __attribute__((cleanup(mem_free)))
#define AUTO_CLOSE __attribute__((cleanup(mem_close_fd)))
#define AUTO_FILE  __attribute__((cleanup(mem_close_file)))

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

#endif
