/* test_pack.c - what was packed reads as before; cut and damaged parts of it cost only themselves. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/page_maker.h"
#include "read/read.h"
#include "record/pack.h"

#define PAGES 1200u /* of several chunks */
#define EACH  14u

static void put_pages(const struct made_dir *dir, uint32_t cpu)
{
	for (uint32_t i = 0; i < PAGES; i++) {
		struct made_page page = page_made(100 + 1000 * i + cpu, 8, false);

		for (uint32_t k = 0; k < EACH; k++)
			made_event(&page, k ? 10 : 0, 7, 1, EACH * i + k);
		made_append(dir, cpu, &page, MADE_PAGE_BYTES);
	}
}

/* The events as text, and how many notes of damage there were. */
static char *all_of(const struct made_dir *dir, size_t *out_damage)
{
	const struct event *event;
	struct trace *trace = NULL;
	struct err err = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (read_open(dir->path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	while (source_next(trace_source(trace), &event, NULL) > 0) {
		if (event->type == EV_LOST)
			fprintf(out, "lost ");
		else
			fprintf(out, "%" PRIu64 ".%u:%d ", event->time_ns, event->cpu,
				event->irq.nr);
	}
	fclose(out);
	*out_damage = trace_facts(trace)->damage_count;
	trace_close(trace);
	return text;
}

static int kernel_of(const struct made_dir *dir)
{
	AUTO_FREE char *path = xasprintf("%s/kernel", dir->path);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static struct made_dir packed_dir(int *out_fd)
{
	struct made_dir dir = dir_made("");

	put_pages(&dir, 0);
	*out_fd = kernel_of(&dir);
	assert_int_equal(pack_ring(*out_fd, 0), 0);
	made_manifest(&dir, ",\"version\":3");
	return dir;
}

static void packed_rings_read_as_before(void **state)
{
	struct made_dir dir = dir_made("");
	AUTO_FREE char *before = NULL, *after = NULL;
	AUTO_CLOSE int fd = kernel_of(&dir);
	size_t damage;

	(void)state;
	put_pages(&dir, 0);
	put_pages(&dir, 3);
	before = all_of(&dir, &damage);
	assert_int_equal(damage, 0);
	assert_int_equal(pack_ring(fd, 0), 0);
	assert_int_equal(pack_ring(fd, 3), 0);
	assert_int_equal(faccessat(fd, "cpu0.ring", F_OK, 0), -1);
	made_manifest(&dir, ",\"version\":3");
	after = all_of(&dir, &damage);
	assert_int_equal(damage, 0);
	assert_string_equal(after, before);
	dir_unmade(&dir);
}

static void what_is_not_there_is_not_packed(void **state)
{
	struct made_dir dir = dir_made("");
	AUTO_CLOSE int fd = kernel_of(&dir);

	(void)state;
	assert_true(pack_ring(fd, 0) < 0);
	assert_int_equal(faccessat(fd, "cpu0.packed", F_OK, 0), -1);
	dir_unmade(&dir);
}

/* It would be refused when it is read. */
static void what_shrinks_to_nothing_is_left(void **state)
{
	struct made_dir dir = dir_made("");
	struct made_page page = page_made(100, 8, false);
	AUTO_CLOSE int fd = kernel_of(&dir);

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		made_append(&dir, 0, &page, MADE_PAGE_BYTES);
	assert_int_equal(pack_ring(fd, 0), -E2BIG);
	assert_int_equal(faccessat(fd, "cpu0.packed", F_OK, 0), -1);
	assert_int_equal(faccessat(fd, "cpu0.ring", F_OK, 0), 0);
	dir_unmade(&dir);
}

static void a_cut_file_has_what_came_before(void **state)
{
	int fd;
	struct made_dir dir = packed_dir(&fd);
	size_t whole_damage, damage;
	AUTO_FREE char *whole = all_of(&dir, &whole_damage);
	struct stat st;

	(void)state;
	assert_int_equal(fstatat(fd, "cpu0.packed", &st, 0), 0);
	for (off_t bytes = st.st_size - 1; bytes > 0; bytes -= st.st_size / 7) {
		AUTO_CLOSE int file = openat(fd, "cpu0.packed", O_RDWR | O_CLOEXEC);
		AUTO_FREE char *text = NULL;

		assert_int_equal(ftruncate(file, bytes), 0);
		text = all_of(&dir, &damage);
		assert_true(damage > 0);
		assert_true(strlen(text) < strlen(whole));
		text[strcspn(text, "l")] = '\0'; /* lost */
		assert_memory_equal(text, whole, strlen(text));
	}
	close(fd);
	dir_unmade(&dir);
}

/* Nothing breaks, whatever byte is another one; what is read is at most what was there. */
static void a_damaged_byte_costs_a_part(void **state)
{
	int fd;
	struct made_dir dir = packed_dir(&fd);
	AUTO_CLOSE int file = openat(fd, "cpu0.packed", O_RDWR | O_CLOEXEC);
	size_t damage;
	struct stat st;

	(void)state;
	assert_int_equal(fstat(file, &st), 0);
	for (off_t at = 0; at < st.st_size; at += at < 40 ? 1 : st.st_size / 50) {
		AUTO_FREE char *text = NULL;
		uint8_t was, is;

		assert_int_equal(pread(file, &was, 1, at), 1);
		is = was ^ 0xff;
		assert_int_equal(pwrite(file, &is, 1, at), 1);
		text = all_of(&dir, &damage);
		assert_int_equal(pwrite(file, &was, 1, at), 1);
	}
	close(fd);
	dir_unmade(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_rings_read_as_before),
		cmocka_unit_test(what_is_not_there_is_not_packed),
		cmocka_unit_test(what_shrinks_to_nothing_is_left),
		cmocka_unit_test(a_cut_file_has_what_came_before),
		cmocka_unit_test(a_damaged_byte_costs_a_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
