/* test_images.c - which files a process has mapped as code, also when they are at no path any more. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/images.h"

/* The map that begins at 'start'. */
static const struct image_file *file_at(struct images *images, const void *start)
{
	size_t count;
	const struct image_event *events = images_events(images, &count);

	for (size_t i = 0; i < count; i++) {
		if (events[i].start == (uint64_t)(uintptr_t)start)
			return images_file(images, events[i].file);
	}
	return NULL;
}

static void a_removed_library_is_held_and_has_its_name(void **unused)
{
	char path[] = "/tmp/holdup-image-XXXXXX", head[4];
	int fd = mkstemp(path);
	struct images *images = images_new_still();
	const struct image_file *file;
	void *code;

	assert_int_equal(write(fd, "CODE", 4), 4);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	unlink(path);
	if (code == MAP_FAILED || geteuid() != 0) /* who is not root may not open what is mapped */
		skip();
	images_want(images, getpid());
	file = file_at(images, code);
	assert_non_null(file);
	assert_string_equal(file->path, path);
	assert_int_equal(pread(file->fd, head, 4, 0), 4);
	assert_memory_equal(head, "CODE", 4);
	munmap(code, 4096);
	images_free(images);
}

static void another_file_in_its_place_is_not_taken(void **unused)
{
	char path[] = "/tmp/holdup-image-XXXXXX";
	int fd = mkstemp(path);
	struct images *images = images_new_still();
	const struct image_file *file;
	FILE *other;
	void *code;

	assert_int_equal(write(fd, "CODE", 4), 4);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	unlink(path);
	other = fopen(path, "w"); /* 'fd' keeps the inode from being used again */
	assert_non_null(other);
	fclose(other);
	if (code == MAP_FAILED || geteuid() != 0) {
		unlink(path);
		skip();
	}
	images_want(images, getpid());
	file = file_at(images, code);
	assert_non_null(file);
	assert_true(file->fd >= 0 && lseek(file->fd, 0, SEEK_END) == 4);
	close(fd);
	unlink(path);
	munmap(code, 4096);
	images_free(images);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_removed_library_is_held_and_has_its_name),
		cmocka_unit_test(another_file_in_its_place_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
