/* test_manifest.c - trace.json there and back, and all the ways it can be wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/manifest.h"

struct fixture {
	char dir[32];
	char path[64];
};

static int setup(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	strcpy(fixture->dir, "/tmp/holdup-manifest-XXXXXX");
	assert_non_null(mkdtemp(fixture->dir));
	snprintf(fixture->path, sizeof(fixture->path), "%s/trace.json", fixture->dir);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	rmdir(fixture->dir);
	free(fixture);
	return 0;
}

static void put(const struct fixture *fixture, const char *text)
{
	FILE *file = fopen(fixture->path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int reads(const struct fixture *fixture, const char *text)
{
	struct manifest manifest = { 0 };
	struct err err = { 0 };
	int rc;

	put(fixture, text);
	rc = manifest_read(fixture->dir, &manifest, &err);
	assert_true(rc == 0 || err.text[0]);
	manifest_fini(&manifest);
	return rc;
}

static struct manifest whole_manifest(void)
{
	struct manifest manifest = {
		.version = 1,
		.complete = true,
		.host = xstrdup("h\xffst \"quoted\" \xc3\xa9"),
		.kernel = xstrdup("6.18"),
		.arch = xstrdup("x86_64"),
		.clock = xstrdup("x86-tsc"),
		.page_bytes = 65536,
		.long_bytes = 8,
		.buffer_bytes = UINT64_C(1) << 40,
		.begin_ns = 1,
		.end_ns = INT64_MAX,
		.has_syscalls = true,
		.target_tid = 4711,
		.target_cmdline = xstrdup("make -j2"),
		.target_status = -1,
	};
	struct manifest_cpu cpu = { .cpu = 3, .events = 5, .lost = 7, .dropped = 9, .bytes = 11 };

	manifest_add_event(&manifest, "sched:sched_switch");
	manifest_add_missing(&manifest, "file names", "no BPF");
	manifest_add_cpu(&manifest, &cpu);
	manifest_add_cpu(&manifest, &(struct manifest_cpu){ .cpu = 0 }); /* it came later */
	manifest_add_recorder_tid(&manifest, 815);
	manifest_add_throttle(&manifest,
			      &(struct manifest_throttle){ (char *)"/a/b", 20, 100, 27, 14, 101 });
	return manifest;
}

static void what_was_written_is_read(void **state)
{
	struct fixture *fixture = *state;
	struct manifest out = whole_manifest(), in = { 0 };
	struct stat st;

	assert_int_equal(manifest_write(&out, fixture->dir, NULL), 0);
	assert_int_equal(stat(fixture->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(manifest_read(fixture->dir, &in, NULL), 0);
	assert_true(in.complete);
	assert_string_equal(in.host, "h\xffst \"quoted\" \xc3\xa9");
	assert_string_equal(in.boot_id, "");
	assert_string_equal(in.target_cmdline, "make -j2");
	assert_int_equal(in.page_bytes, 65536);
	assert_int_equal(in.buffer_bytes, UINT64_C(1) << 40);
	assert_int_equal(in.end_ns, INT64_MAX);
	assert_int_equal(in.target_tid, 4711);
	assert_int_equal(in.target_status, -1);
	assert_int_equal(in.cpu_count, 2);
	assert_int_equal(in.cpus[0].cpu, 0);
	assert_int_equal(in.cpus[1].cpu, 3);
	assert_int_equal(in.cpus[1].cpu, out.cpus[1].cpu);
	assert_int_equal(in.cpus[1].events, out.cpus[1].events);
	assert_int_equal(in.cpus[1].lost, out.cpus[1].lost);
	assert_int_equal(in.cpus[1].dropped, out.cpus[1].dropped);
	assert_int_equal(in.cpus[1].bytes, out.cpus[1].bytes);
	assert_int_equal(in.recorder_tids[0], 815);
	assert_string_equal(in.events[0], "sched:sched_switch");
	assert_string_equal(in.missing[0].why, "no BPF");
	assert_int_equal(in.throttle_count, 1);
	assert_string_equal(in.throttles[0].cgroup, "/a/b");
	assert_int_equal(in.throttles[0].quota_ns, 20);
	assert_int_equal(in.throttles[0].period_ns, 100);
	assert_int_equal(in.throttles[0].periods, 27);
	assert_int_equal(in.throttles[0].times, 14);
	assert_int_equal(in.throttles[0].ns, 101);
	manifest_fini(&in);
	manifest_fini(&out);
}

static void the_same_manifest_gives_the_same_bytes(void **state)
{
	struct fixture *fixture = *state;
	struct manifest manifest = whole_manifest();
	char first[8192], second[8192];
	FILE *file;
	size_t bytes;

	assert_int_equal(manifest_write(&manifest, fixture->dir, NULL), 0);
	file = fopen(fixture->path, "r");
	bytes = fread(first, 1, sizeof(first), file);
	fclose(file);
	manifest_fini(&manifest);
	assert_int_equal(manifest_read(fixture->dir, &manifest, NULL), 0);
	assert_int_equal(manifest_write(&manifest, fixture->dir, NULL), 0);
	file = fopen(fixture->path, "r");
	assert_int_equal(fread(second, 1, sizeof(second), file), bytes);
	fclose(file);
	assert_memory_equal(first, second, bytes);
	manifest_fini(&manifest);
}

static void nothing_is_left_behind_when_writing_fails(void **state)
{
	struct manifest manifest = whole_manifest();
	struct err err = { 0 };

	assert_int_equal(manifest_write(&manifest, "/nonexistent/place", &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/place"));
	manifest_fini(&manifest);
}

#define GOOD "\"version\":1,\"page_bytes\":4096,\"long_bytes\":8"

static void missing_and_newer_ones_are_told_apart(void **state)
{
	struct fixture *fixture = *state;
	struct manifest manifest;

	assert_int_equal(manifest_read(fixture->dir, &manifest, NULL), -ENOENT);
	assert_int_equal(reads(fixture, "{" GOOD "}"), 0);
	assert_int_equal(reads(fixture, "{" GOOD ",\"new key\":[1]}"), 0);
	assert_int_equal(reads(fixture, "{\"version\":4}"), -ENOTSUP);
	assert_int_equal(reads(fixture, "{\"version\":18446744073709551615}"), -ENOTSUP);
	/* Some versions of json-c say that it is no number. */
	assert_in_set(-reads(fixture, "{\"version\":99999999999999999999}"),
		      ((uintmax_t[]){ ENOTSUP, EBADMSG }), 2);
}

/* json-c 0.18 takes such characters for control characters where it is strict. */
static void any_character_may_stand_as_it_is(void **state)
{
	struct fixture *fixture = *state;
	struct manifest manifest;

	put(fixture, "{" GOOD ",\"host\":\"gr\xc3\xbc\xc3\x9f \\u20ac \xf0\x9f\x98\x80\"}");
	assert_int_equal(manifest_read(fixture->dir, &manifest, NULL), 0);
	assert_string_equal(manifest.host, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
	manifest_fini(&manifest);
	assert_int_equal(reads(fixture, "{" GOOD ",\"host\":\"\xc3\"}"), -EBADMSG);
}

static void damage_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"null",
		"[]",
		"{}",
		"{\"version\":0}",
		"{\"version\":-1}",
		"{\"version\":\"1\"}",
		"{\"version\":1}",
		"{" GOOD,
		"{" GOOD "} x",
		"{" GOOD ",\"complete\":1}",
		"{" GOOD ",\"host\":5}",
		"{" GOOD ",\"host\":null}",
		"{" GOOD ",\"begin_ns\":-1}",
		"{" GOOD ",\"begin_ns\":1e3}",
		"{" GOOD ",\"begin_ns\":9223372036854775808}",
		"{" GOOD ",\"begin_ns\":5,\"end_ns\":4}",
		"{" GOOD ",\"target_tid\":2147483648}",
		"{\"version\":1,\"page_bytes\":0,\"long_bytes\":8}",
		"{\"version\":1,\"page_bytes\":4097,\"long_bytes\":8}",
		"{\"version\":1,\"page_bytes\":1073741824,\"long_bytes\":8}",
		"{\"version\":1,\"page_bytes\":4096,\"long_bytes\":7}",
		"{" GOOD ",\"events\":{}}",
		"{" GOOD ",\"events\":[1]}",
		"{" GOOD ",\"cpus\":[{}]}",
		"{" GOOD ",\"cpus\":[{\"cpu\":8192}]}",
		"{" GOOD ",\"cpus\":[{\"cpu\":1},{\"cpu\":1}]}",
		"{" GOOD ",\"cpus\":[{\"cpu\":1,\"lost\":-1}]}",
		"{" GOOD ",\"recorder_tids\":[-1]}",
		"{" GOOD ",\"missing\":[{\"what\":1}]}",
		"{" GOOD ",\"throttles\":[{\"times\":-1}]}",
		"{" GOOD ",\"throttles\":[{\"cgroup\":7}]}",
		"{" GOOD ",\"throttles\":[14]}",
		"{" GOOD ",\"x\":[[[[[[[[[[[[1]]]]]]]]]]]]}",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(reads(*state, bad[i]), -EBADMSG);
}

static void absurd_numbers_of_values_are_refused(void **state)
{
	size_t bytes = 3 << 20;
	char *text = xmalloc(bytes + 1);

	memset(text, ',', bytes);
	memcpy(text, "{\"a\":[", 6);
	text[bytes] = '\0';
	assert_int_equal(reads(*state, text), -EBADMSG);
	free(text);
}

static void only_a_regular_file_is_opened(void **state)
{
	struct fixture *fixture = *state;
	struct manifest manifest;

	assert_int_equal(symlink("/etc/passwd", fixture->path), 0);
	assert_int_equal(manifest_read(fixture->dir, &manifest, NULL), -ELOOP);
	unlink(fixture->path);
	assert_int_equal(mkfifo(fixture->path, 0600), 0);
	assert_int_equal(manifest_read(fixture->dir, &manifest, NULL), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_written_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(the_same_manifest_gives_the_same_bytes, setup,
						teardown),
		cmocka_unit_test(nothing_is_left_behind_when_writing_fails),
		cmocka_unit_test_setup_teardown(missing_and_newer_ones_are_told_apart, setup,
						teardown),
		cmocka_unit_test_setup_teardown(any_character_may_stand_as_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(absurd_numbers_of_values_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(only_a_regular_file_is_opened, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
