/* mem.c - allocation that ends the program instead of failing. */
#include "base/mem.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *checked(void *memory, size_t bytes)
{
	if (!memory && bytes) {
		fprintf(stderr, "holdup: out of memory (%zu bytes wanted)\n", bytes);
		abort();
	}
	return memory;
}

void *xmalloc(size_t bytes)
{
	return checked(malloc(bytes), bytes);
}

void *xcalloc(size_t count, size_t bytes)
{
	return checked(calloc(count, bytes), count ? bytes : 0);
}

void *mem_pages(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return checked(pages == MAP_FAILED ? NULL : pages, bytes);
}

void mem_pages_free(void *pages, size_t bytes)
{
	if (pages)
		(void)munmap(pages, bytes); /* cannot fail: it is ours */
}

#define HUGE_PAGE  ((uintptr_t)2 << 20)
#define HUGE_BYTES ((size_t)8 << 20) /* arrays from this size on are backed by huge pages */

/* Large arrays are touched once, page by page: with huge pages that costs a fraction. */
static void hint_huge(void *memory, size_t bytes)
{
	uintptr_t first = ((uintptr_t)memory + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	uintptr_t last = ((uintptr_t)memory + bytes) & ~(HUGE_PAGE - 1);

	if (first < last)
		(void)madvise((void *)first, last - first, MADV_HUGEPAGE); /* a hint */
}

void *xrealloc(void *old, size_t count, size_t bytes)
{
	void *memory = checked(reallocarray(old, count, bytes), count ? bytes : 0);

	if (count && bytes >= HUGE_BYTES / count)
		hint_huge(memory, count * bytes);
	return memory;
}

#ifdef __GLIBC__
/* Let the heap's next 'bytes' be of large pages, which take one fault for 512. */
static void prefer_large_pages(size_t bytes)
{
	const uintptr_t large = 2 << 20;
	void *memory = malloc(bytes);
	const uintptr_t from = ((uintptr_t)memory + large - 1) / large * large;

	if (memory && bytes > large)
		madvise((void *)from, ((uintptr_t)memory + bytes - from) / large * large,
			MADV_HUGEPAGE);
	free(memory);
}
#endif

void mem_keep_freed(size_t bytes)
{
#ifdef __GLIBC__
	const int usual = 128 << 10; /* of both: mallopt(3) */

	mallopt(M_MMAP_THRESHOLD, bytes ? 32 << 20 : usual);
	mallopt(M_TRIM_THRESHOLD, bytes ? 256 << 20 : usual);
	if (bytes)
		prefer_large_pages(bytes);
	else
		malloc_trim(0);
#else
	(void)bytes;
#endif
}

void mem_one_heap(void)
{
#ifdef __GLIBC__
	mallopt(M_ARENA_MAX, 1);
#endif
}

char *xstrdup(const char *text)
{
	return checked(strdup(text), 1);
}

char *xstrndup(const char *text, size_t max)
{
	return checked(strndup(text, max), 1);
}

char *xasprintf(const char *format, ...)
{
	va_list args;
	char *text = NULL;
	int rc;

	va_start(args, format);
	rc = vasprintf(&text, format, args);
	va_end(args);
	return checked(rc < 0 ? NULL : text, 1);
}

void *vec_room(void *items, size_t count, size_t *cap, size_t item_bytes)
{
	if (count < *cap)
		return items;
	*cap = *cap ? *cap * 2 : 16;
	return xrealloc(items, *cap, item_bytes);
}

/* What vec_grow() makes room for. */
static size_t grown(size_t count)
{
	size_t room = 16;

	while (room < count)
		room *= 2;
	return room;
}

void *vec_grow(void *items, size_t have, size_t want, size_t item_bytes)
{
	if (want <= have)
		return items;
	if (!items || grown(have) < want)
		items = xrealloc(items, grown(want), item_bytes);
	memset((char *)items + have * item_bytes, 0, (want - have) * item_bytes);
	return items;
}

void mem_close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

void mem_close_file(FILE **file)
{
	int saved = errno;

	if (*file)
		fclose(*file);
	errno = saved;
}

void mem_free(void *pointer_to_pointer)
{
	void *memory;

	memcpy(&memory, pointer_to_pointer, sizeof(memory));
	free(memory);
}
