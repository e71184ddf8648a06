/* test_binary.c - programs and libraries by name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "symbol/binary.h"

#if defined(__aarch64__)
#define OURS 0x0a03u
#else
#define OURS 0x0303u
#endif
#define FOREIGN 0x0003u

/* A cache of three libraries, as glibc's dl-cache.h describes it. */
struct cache {
	uint8_t bytes[512];
	size_t count;
};

static void put_word(struct cache *cache, size_t at, uint32_t word)
{
	memcpy(cache->bytes + at, &word, sizeof(word));
}

static uint32_t put_text(struct cache *cache, size_t head, const char *text)
{
	size_t at = cache->count;

	strcpy((char *)cache->bytes + at, text);
	cache->count += strlen(text) + 1;
	return (uint32_t)(at - head);
}

/* 'head': bytes of an older head before it. */
static struct cache make_cache(size_t head)
{
	static const struct {
		uint32_t flags;
		const char *name, *path;
	} rows[] = {
		{ FOREIGN, "libx.so.1", "/foreign/libx.so.1" },
		{ OURS, "libx.so.1", "/ours/libx.so.1" },
		{ OURS, "libxy.so.2", "/ours/libxy.so.2" },
	};
	struct cache cache = { .count = head + 48 + ARRAY_LEN(rows) * 24 };

	memcpy(cache.bytes + head, "glibc-ld.so.cache1.1", 20);
	put_word(&cache, head + 20, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t entry = head + 48 + i * 24;

		put_word(&cache, entry, rows[i].flags);
		put_word(&cache, entry + 4, put_text(&cache, head, rows[i].name));
		put_word(&cache, entry + 8, put_text(&cache, head, rows[i].path));
	}
	return cache;
}

static void check(const struct cache *cache, const char *name, const char *expected)
{
	AUTO_FREE char *path = binary_search_cache(cache->bytes, cache->count, name);

	if (expected)
		assert_string_equal(path ? path : "(none)", expected);
	else
		assert_null(path);
}

static void libraries_are_those_of_this_machine(void **state)
{
	for (size_t head = 0; head <= 16; head += 16) {
		struct cache cache = make_cache(head);

		check(&cache, "libx.so.1", "/ours/libx.so.1");
		check(&cache, "libx", "/ours/libx.so.1");
		check(&cache, "libxy", "/ours/libxy.so.2");
		check(&cache, "libx.so", NULL);
		check(&cache, "lib", NULL);
		check(&cache, "libz", NULL);
	}
}

static void a_broken_cache_has_nothing_more(void **state)
{
	struct cache cache = make_cache(0);
	unsigned int random = 5;

	for (size_t count = 0; count < cache.count; count++) {
		/* A block of that very size, so that reading behind it is seen. */
		AUTO_FREE uint8_t *cut = xmalloc(count + 1);
		AUTO_FREE char *path = NULL;

		memcpy(cut, cache.bytes, count);
		path = binary_search_cache(cut, count, "libxy");
		assert_null(path);
	}
	for (int round = 0; round < 20000; round++) {
		struct cache broken = cache;
		AUTO_FREE char *path = NULL;

		for (int n = 0; n < 3; n++)
			broken.bytes[20 + (size_t)rand_r(&random) % (cache.count - 20)] =
				(uint8_t)rand_r(&random);
		path = binary_search_cache(broken.bytes, broken.count, "libxy");
		assert_true(!path || path[0] == '/');
	}
}

static void names_are_looked_for_along_the_path_first(void **state)
{
	char dir[] = "/tmp/holdup-binary-XXXXXX";
	AUTO_FREE char *program = NULL, *found = NULL, *old = xstrdup(getenv("PATH"));
	struct err err = { 0 };

	assert_non_null(mkdtemp(dir));
	program = xasprintf("%s/libc.so.6", dir);
	assert_true(mknod(program, S_IFREG | 0755, 0) == 0);
	setenv("PATH", dir, 1);
	assert_int_equal(binary_find("libc.so.6", &found, &err), 0);
	assert_string_equal(found, program);
	assert_int_equal(binary_find("holdup-no-such", &found, &err), -ENOENT);
	assert_non_null(strstr(err.text, "holdup-no-such"));
	assert_int_equal(binary_find("", &found, &err), -ENOENT);
	setenv("PATH", old, 1);
	unlink(program);
	rmdir(dir);
}

static void the_c_library_is_found(void **state)
{
	AUTO_FREE char *path = binary_find_library("libc.so.6", BINARY_LOADER_CACHE);
	AUTO_FREE char *without_cache = binary_find_library("libc.so.6", "/nowhere");

	if (!path)
		skip(); /* another C library */
	assert_non_null(strstr(path, "libc.so.6"));
	assert_non_null(without_cache);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries_are_those_of_this_machine),
		cmocka_unit_test(a_broken_cache_has_nothing_more),
		cmocka_unit_test(names_are_looked_for_along_the_path_first),
		cmocka_unit_test(the_c_library_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
