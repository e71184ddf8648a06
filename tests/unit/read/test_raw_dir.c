/* test_raw_dir.c - pages and formats as they lie in tracefs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/page_maker.h"
#include "read/read.h"

#define HEADER(commit, data)                                                 \
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"           \
	"\tfield: local_t commit;\toffset:8;\tsize:" commit ";\tsigned:1;\n" \
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"           \
	"\tfield: char data;\t" data ";\tsigned:1;\n"

/* Files by their names, folders with them. */
static void put_file(const struct made_dir *dir, const char *name, const void *bytes, size_t count)
{
	char path[256];

	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(path, sizeof(path), "%s/%.*s", dir->path, (int)(slash - name), name);
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			abort();
	}
	made_file(dir, name, bytes, count);
}

static struct made_dir folder_made(void)
{
	struct made_dir dir = { "/tmp/holdup-raw-XXXXXX" };

	if (!mkdtemp(dir.path))
		abort();
	return dir;
}

static void folder_remove(const struct made_dir *dir)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r '%s'", dir->path);
	assert_int_equal(system(command), 0);
}

static void put_formats(const struct made_dir *dir, const char *folder, uint32_t long_bytes)
{
	static const char header_8[] = HEADER("8", "offset:16;\tsize:496");
	static const char header_4[] = HEADER("4", "offset:12;\tsize:500");
	const char *header = long_bytes == 8 ? header_8 : header_4;
	AUTO_FREE char *page = xasprintf("%s/header_page", folder);
	AUTO_FREE char *format = xasprintf("%s/irq/softirq_raise/format", folder);

	put_file(dir, page, header, strlen(header));
	put_file(dir, format, MADE_SOFTIRQ, strlen(MADE_SOFTIRQ));
}

static struct made_page page_of(uint64_t time, uint32_t vec, uint32_t long_bytes, bool big_endian)
{
	struct made_page page = page_made(time, long_bytes, big_endian);

	made_event(&page, 10, 7, 11, vec);
	made_event(&page, 10, 7, 11, vec + 1);
	return page;
}

static const struct event *next(struct trace *trace)
{
	const struct event *event;

	return source_next(trace_source(trace), &event, NULL) > 0 ? event : NULL;
}

static void expect_event(struct trace *trace, uint64_t ns, uint16_t cpu, int32_t vec)
{
	const struct event *event = next(trace);

	assert_non_null(event);
	assert_int_equal(event->type, EV_SOFTIRQ_RAISE);
	assert_int_equal(event->time_ns, ns);
	assert_int_equal(event->cpu, cpu);
	assert_int_equal(event->irq.nr, vec);
	assert_int_equal(event->tid, 11);
}

static const struct {
	const char *cpu0, *cpu3, *formats;
} layouts[] = {
	{ "per_cpu/cpu0/trace_pipe_raw", "per_cpu/cpu3/trace_pipe_raw", "events" },
	{ "cpu0/trace_pipe_raw", "cpu3/trace_pipe_raw", "events" },
	{ "cpu0.raw", "cpu3.raw", "formats" },
};

static void pages_are_read_however_they_were_copied(void **unused)
{
	for (int i = 0; i < 12; i++) {
		uint32_t long_bytes = i & 1 ? 4 : 8;
		bool big_endian = i & 2;
		struct made_page first = page_of(100, 1, long_bytes, big_endian);
		struct made_page other = page_of(105, 5, long_bytes, big_endian);
		struct made_dir dir = folder_made();
		struct trace *trace = NULL;
		struct err err = { 0 };

		put_formats(&dir, layouts[i / 4].formats, long_bytes);
		put_file(&dir, layouts[i / 4].cpu0, first.bytes, MADE_PAGE_BYTES);
		put_file(&dir, layouts[i / 4].cpu3, other.bytes, MADE_PAGE_BYTES);
		if (read_open(dir.path, &trace, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(trace_facts(trace)->format, "pages of ftrace");
		assert_int_equal(trace_facts(trace)->damage_count, 0);
		assert_true(trace_facts(trace)->complete);
		expect_event(trace, 110, 0, 1);
		expect_event(trace, 115, 3, 5);
		expect_event(trace, 120, 0, 2);
		expect_event(trace, 125, 3, 6);
		assert_null(next(trace));
		trace_close(trace);
		folder_remove(&dir);
	}
}

static void texts_of_tracefs_beside_the_pages_are_used(void **unused)
{
	struct made_page page = page_of(100, 1, 8, false);
	static const char stats[] = "entries: 0\noverrun: 7\ncommit overrun: 0\nread events: 2\n";
	struct made_dir dir = folder_made();
	struct trace *trace = NULL;
	const struct facts *facts;
	struct err err = { 0 };

	put_formats(&dir, "events", 8);
	put_file(&dir, layouts[0].cpu0, page.bytes, MADE_PAGE_BYTES);
	put_file(&dir, "per_cpu/cpu0/stats", stats, strlen(stats));
	put_file(&dir, "trace_clock", "local [x86-tsc] mono\n", 21);
	put_file(&dir, "saved_cmdlines", "11 worker\n", 10);
	put_file(&dir, "kallsyms", "ffffffff81000000 T __x64_sys_read\n", 34);
	assert_int_equal(read_open(dir.path, &trace, &err), 0);
	facts = trace_facts(trace);
	assert_int_equal(facts->cpus[0].lost, 7);
	assert_int_equal(facts->comm_count, 1);
	assert_string_equal(facts->comms[0].name, "worker");
	assert_string_equal(facts->arch, "x86_64");
	assert_string_equal(facts->clock, "x86-tsc");
	assert_string_equal(facts->missing[0].what, "times in ns");
	trace_close(trace);
	folder_remove(&dir);
}

static void pages_that_are_cut_are_told(void **unused)
{
	struct made_page page = page_of(100, 1, 8, false);
	struct made_dir dir = folder_made();

	put_formats(&dir, "events", 8);
	for (size_t bytes = 1; bytes < MADE_PAGE_BYTES; bytes++) {
		struct trace *trace = NULL;
		struct err err = { 0 };

		put_file(&dir, "cpu0.raw", page.bytes, MADE_PAGE_BYTES);
		put_file(&dir, "cpu1.raw", page.bytes, bytes);
		assert_int_equal(read_open(dir.path, &trace, &err), 0);
		if (trace_facts(trace)->complete)
			fail_msg("%zu bytes of a page are called whole", bytes);
		trace_close(trace);
	}
	folder_remove(&dir);
}

/* "print fmt:" is the last line of each. Cut before the number, it is that of no event at all. */
static void a_text_that_is_cut_is_told(void **unused)
{
	static const char names[] = "11 worker\n", clock[] = "[local] mono\n";
	struct made_page page = page_of(100, 1, 8, false);
	struct made_dir dir = folder_made();
	struct trace *trace = NULL;
	struct err err = { 0 };

	put_formats(&dir, "events", 8);
	put_file(&dir, "cpu0.raw", page.bytes, MADE_PAGE_BYTES);
	put_file(&dir, "saved_cmdlines", names, strlen(names));
	put_file(&dir, "trace_clock", clock, strlen(clock));
	assert_int_equal(read_open(dir.path, &trace, &err), 0);
	assert_true(trace_facts(trace)->complete);
	trace_close(trace);
	put_file(&dir, "saved_cmdlines", names, strlen(names) - 2);
	assert_int_equal(read_open(dir.path, &trace, &err), 0);
	assert_int_equal(trace_facts(trace)->damage_count, 1);
	trace_close(trace);
	put_file(&dir, "saved_cmdlines", names, strlen(names));
	for (size_t bytes = 0; bytes < strlen(MADE_SOFTIRQ); bytes++) {
		put_file(&dir, "events/irq/softirq_raise/format", MADE_SOFTIRQ, bytes);
		trace = NULL;
		if (read_open(dir.path, &trace, &err) < 0)
			continue;
		if (trace_facts(trace)->complete)
			fail_msg("%zu bytes of a format are called whole", bytes);
		trace_close(trace);
	}
	folder_remove(&dir);
}

static void links_are_not_followed_and_formats_must_be_there(void **unused)
{
	struct made_page page = page_of(100, 1, 8, false);
	struct made_dir dir = folder_made();
	AUTO_FREE char *link = xasprintf("%s/cpu0.raw", dir.path);
	AUTO_FREE char *formats = xasprintf("%s/events", dir.path);
	struct trace *trace = NULL;
	struct err err = { 0 };

	put_file(&dir, "page", page.bytes, MADE_PAGE_BYTES);
	assert_int_equal(mkdir(formats, 0700), 0);
	assert_int_equal(symlink("page", link), 0);
	assert_int_equal(read_open(dir.path, &trace, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "not a trace"));
	assert_int_equal(unlink(link), 0);
	put_file(&dir, "cpu0.raw", page.bytes, MADE_PAGE_BYTES);
	assert_int_equal(read_open(dir.path, &trace, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "no formats"));
	folder_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_read_however_they_were_copied),
		cmocka_unit_test(texts_of_tracefs_beside_the_pages_are_used),
		cmocka_unit_test(pages_that_are_cut_are_told),
		cmocka_unit_test(a_text_that_is_cut_is_told),
		cmocka_unit_test(links_are_not_followed_and_formats_must_be_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
