/* test_probes.c - points in this very program, as lines for the kernel. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/ftrace.h"
#include "record/probes.h"
#include "store/manifest.h"
#include "symbol/elf_file.h"

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#endif

__attribute__((noinline)) int test_probed_function(int number);
int test_probed_function(int number)
{
	__asm__ volatile("");
#ifdef DTRACE_PROBE
	DTRACE_PROBE2(test_probes, point, 5, -6);
	DTRACE_PROBE(sched, sched_switch);
#endif
	return number + 1;
}

/* A folder that looks like tracefs to what is tested here. */
struct fake {
	char dir[64];
	int fd;
	char self[4096];
	struct probes probes;
	struct manifest manifest;
	struct err err;
};

static struct fake *fake_new(bool has_uprobes)
{
	struct fake *fake = xcalloc(1, sizeof(*fake));
	ssize_t bytes = readlink("/proc/self/exe", fake->self, sizeof(fake->self) - 1);

	assert_true(bytes > 0);
	strcpy(fake->dir, "/tmp/holdup-probes-XXXXXX");
	assert_non_null(mkdtemp(fake->dir));
	fake->fd = open(fake->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (has_uprobes)
		close(openat(fake->fd, "uprobe_events", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	return fake;
}

static void fake_free(struct fake *fake)
{
	unlinkat(fake->fd, "uprobe_events", 0);
	close(fake->fd);
	rmdir(fake->dir);
	probes_fini(&fake->probes);
	manifest_fini(&fake->manifest);
	free(fake);
}

/* SELF in 'text' stands for this program. */
static int choose(struct fake *fake, const char *text, bool is_usdt)
{
	AUTO_FREE char *whole = NULL;
	const char *item;
	struct probes_wish wish = { 0 };
	const char *self = strstr(text, "SELF");

	whole = self ? xasprintf("%.*s%s%s", (int)(self - text), text, fake->self, self + 4)
		     : xstrdup(text);
	item = whole;
	if (is_usdt) {
		wish.usdt = &item;
		wish.usdt_count = 1;
	} else {
		wish.functions = &item;
		wish.function_count = 1;
	}
	return probes_choose(&fake->probes, fake->fd, &wish, &fake->manifest, &fake->err);
}

static uint64_t offset_of_function(const struct fake *fake)
{
	struct elf_file *file;
	uint64_t address = 0, offset = 0;

	assert_int_equal(elf_file_open(fake->self, &file, NULL), 0);
	assert_true(elf_file_find(file, "test_probed_function", &address));
	assert_true(elf_file_offset(file, address, true, &offset));
	elf_file_close(file);
	return offset;
}

static void a_function_becomes_a_line(void **state)
{
#if defined(__x86_64__)
	struct fake *fake = fake_new(true);
	AUTO_FREE char *list = NULL, *expected = NULL;

	assert_int_equal(choose(fake, "SELF:test_probed_function(number:s32, text:string)", false),
			 0);
	assert_int_equal(fake->probes.event_count, 1);
	assert_string_equal(fake->probes.events[0].name, "probe:test_probed_function");
	assert_int_equal(probes_register(&fake->probes, fake->fd, "/x/instances/holdup-1-2", NULL),
			 0);
	list = ftrace_read(fake->fd, "uprobe_events", NULL);
	assert_string_equal(fake->probes.lines[0].path, fake->self);
	expected = xasprintf(
		"p:holdup_1_2/p0 /proc/self/fd/%d:0x%llx number=%%di:s32 text=+0(%%si):string",
		fake->probes.fds[0], (unsigned long long)offset_of_function(fake));
	assert_string_equal(list, expected);
	fake_free(fake);
#else
	skip();
#endif
}

static void the_same_name_again_has_a_number_behind_it(void **state)
{
	struct fake *fake = fake_new(true);
	const char *const texts[] = { "test_probed_function", "test_probed_function",
				      "test_probed_function%return" };
	const char *items[3];
	struct probes_wish wish = { .functions = items, .function_count = 3 };

	for (size_t i = 0; i < 3; i++)
		items[i] = xasprintf("%s:%s", fake->self, texts[i]);
	assert_int_equal(probes_choose(&fake->probes, fake->fd, &wish, &fake->manifest, &fake->err),
			 0);
	assert_int_equal(fake->probes.event_count, 3);
	assert_string_equal(fake->probes.events[1].name, "probe:test_probed_function_2");
	assert_string_equal(fake->probes.events[2].name, "probe:test_probed_function__return");
	for (size_t i = 0; i < 3; i++)
		free((char *)items[i]);
	fake_free(fake);
}

static void a_point_of_a_provider_cannot_pass_for_an_event_of_the_kernel(void **state)
{
#ifdef DTRACE_PROBE
	struct fake *fake = fake_new(true);

	assert_int_equal(choose(fake, "SELF:*:*", true), 0);
	assert_int_equal(fake->probes.event_count, 2);
	assert_string_equal(fake->probes.events[0].name, "test_probes:point");
	assert_string_equal(fake->probes.events[1].name, "usdt_sched:sched_switch");
	assert_non_null(strstr(fake->probes.lines[0].place, " arg1=\\5:s32 arg2=\\-6:s32"));
	fake_free(fake);
#else
	skip();
#endif
}

static void what_cannot_be_recorded_is_told(void **state)
{
	static const struct {
		const char *text;
		bool is_usdt;
		int code;
		const char *told;
	} cases[] = {
		{ "SELF:test_probed_functoin", false, -ENOENT, "test_probed_function" },
		{ "SELF:mkdtemp", false, -ENOENT, "library" },
		{ "SELF:0x1", false, -ENOENT, "code" },
		{ "SELF:test_probed_function+1(n)", false, -ENOTSUP, "location" },
		{ "/dev/null:f", false, -ENOEXEC, "/dev/null" },
		{ "/nowhere/x:f", false, -ENOENT, "/nowhere/x" },
		{ "f", false, -EINVAL, "PROGRAM:FUNCTION" },
		{ "SELF:no:point", true, -ENOENT, "no:point" },
		{ "no:point", true, -EINVAL, "--pid" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fake *fake = fake_new(true);
		int rc = choose(fake, cases[i].text, cases[i].is_usdt);

		if (rc != cases[i].code || !strstr(fake->err.text, cases[i].told))
			fail_msg("%s: %d, %s", cases[i].text, rc, fake->err.text);
		fake_free(fake);
	}
}

static void a_kernel_without_uprobes_is_named(void **state)
{
	struct fake *fake = fake_new(false);

	assert_int_equal(choose(fake, "SELF:test_probed_function", false), -ENOTSUP);
	assert_non_null(strstr(fake->err.text, "CONFIG_UPROBE_EVENTS"));
	fake_free(fake);
}

static void the_trace_has_the_name_that_the_user_wrote(void **state)
{
	struct fake *fake = fake_new(true);
	AUTO_FREE char *dir = xasprintf("%s/events", fake->dir);
	AUTO_FREE char *group = xasprintf("%s/holdup_1_2", dir);
	AUTO_FREE char *event = xasprintf("%s/p0", group);
	AUTO_FREE char *path = xasprintf("%s/format", event);
	AUTO_FREE char *text = NULL, *other = NULL;
	FILE *file;

	assert_int_equal(choose(fake, "SELF:test_probed_function", false), 0);
	assert_int_equal(probes_register(&fake->probes, fake->fd, "/x/instances/holdup-1-2", NULL),
			 0);
	assert_int_equal(mkdir(dir, 0700) | mkdir(group, 0700) | mkdir(event, 0700), 0);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("name: p0\nID: 7\n", file);
	fclose(file);
	text = probes_format(&fake->probes, fake->fd, "probe:test_probed_function");
	assert_string_equal(text, "name: test_probed_function\nID: 7\n");
	other = probes_format(&fake->probes, fake->fd, "sched:sched_switch");
	assert_null(other);
	unlink(path);
	rmdir(event);
	rmdir(group);
	rmdir(dir);
	fake_free(fake);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_becomes_a_line),
		cmocka_unit_test(the_same_name_again_has_a_number_behind_it),
		cmocka_unit_test(a_point_of_a_provider_cannot_pass_for_an_event_of_the_kernel),
		cmocka_unit_test(what_cannot_be_recorded_is_told),
		cmocka_unit_test(a_kernel_without_uprobes_is_named),
		cmocka_unit_test(the_trace_has_the_name_that_the_user_wrote),
	};

	(void)test_probed_function(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
