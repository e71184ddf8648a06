/* test_names_log.c - names in memory: a snapshot has what a descriptor named when it begins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "record/names_log.h"
#include "record/recent.h"
#include "wire/wire.h"

struct record {
	struct wire_name wire;
	char text[8];
};

static void add_of(struct names_log *log, int32_t tgid, uint64_t ns, int32_t fd,
		   enum fd_watch watch, const char *name)
{
	struct record record = {
		.wire = { .magic = WIRE_NAME_MAGIC,
			  .name_bytes = (uint32_t)strlen(name),
			  .mono_ns = ns,
			  .tgid = tgid,
			  .tid = tgid + 1,
			  .fd = fd,
			  .role = (uint32_t)watch << FD_WATCH_SHIFT },
	};

	memcpy(record.text, name, strlen(name));
	assert_true(names_log_write(log, &record, sizeof(record), ns));
}

static void add(struct names_log *log, uint64_t ns, int32_t fd, enum fd_watch watch,
		const char *name)
{
	add_of(log, 42, ns, fd, watch, name);
}

/* One that a poll watched is told of, too, and has no name by it. */
static bool has_names(const char *text)
{
	return *text && !strstr(text, "polled") && strcmp(text, "500 again") != 0;
}

/* What a snapshot has of descriptor 'fd', "100 a, 200 b". */
static char *told_of(const struct names_log *log, uint64_t begin_ns, int32_t fd)
{
	char dir[] = "/tmp/holdup-names-XXXXXX";
	AUTO_CLOSE int folder = mkdtemp(dir) ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	AUTO_CLOSE int file = -1;
	char *text = xstrdup("");
	struct err err = { 0 };
	struct names_told all = { 0 };
	struct record record;

	assert_int_equal(names_log_snapshot(log, folder, begin_ns, &all, &err), 0);
	assert_true(all.is_whole);
	file = openat(folder, "names", O_RDONLY | O_CLOEXEC);
	while (read(file, &record, sizeof(record)) == sizeof(record)) {
		char *more;

		/* Who told of what is older may be another thread by now. */
		assert_int_equal(record.wire.tid,
				 record.wire.tgid + (record.wire.mono_ns != begin_ns));
		if (record.wire.fd != fd || record.wire.tgid != 42)
			continue;
		more = xasprintf("%s%s%llu %.*s", text, *text ? ", " : "",
				 (unsigned long long)record.wire.mono_ns,
				 (int)record.wire.name_bytes, record.text);
		free(text);
		text = more;
	}
	/* Who looks at what is open leaves it out. */
	assert_true(!map_find(&all.keys, UINT64_C(42) << 32 | (uint32_t)fd) == !has_names(text));
	map_fini(&all.keys);
	(void)unlinkat(folder, "names", 0);
	(void)rmdir(dir);
	return text;
}

static void check(const struct names_log *log, uint64_t begin_ns, int32_t fd, const char *want)
{
	AUTO_FREE char *told = told_of(log, begin_ns, fd);

	assert_string_equal(told, want);
}

static void the_last_name_before_it_begins_is_told_as_of_then(void **state)
{
	struct names_log log = NAMES_LOG_NONE;

	(void)state;
	names_log_keep(&log, 1 << 20);
	add(&log, 100, 7, FD_NAMED, "old");
	add(&log, 200, 7, FD_NAMED, "new");
	add(&log, 250, 8, FD_WATCHED, "polled");
	add(&log, 400, 7, FD_NAMED, "other");
	add(&log, 500, 8, FD_WATCHED, "again");
	check(&log, 300, 7, "300 new, 400 other");
	check(&log, 300, 8, "500 again"); /* what it waited for before says nothing */
	check(&log, 50, 7, "100 old, 200 new, 400 other");
	names_log_close(&log);
}

/* A thread may wait for it since long. */
static void names_that_went_from_memory_are_known(void **state)
{
	struct names_log log = NAMES_LOG_NONE;

	(void)state;
	names_log_keep(&log, 1 << 20);
	add(&log, 100, 7, FD_NAMED, "first");
	add(&log, 101, 7, FD_NAMED, "second");
	add(&log, 102, 9, FD_NAMED, "third");
	recent_forget(log.recent, 200);
	assert_null(recent_at(log.recent, 0));
	add(&log, 250, 9, FD_NAMED, "fourth");
	check(&log, 300, 7, "300 second");
	check(&log, 300, 9, "300 fourth");
	check(&log, 240, 9, "240 third, 250 fourth");
	assert_true(names_log_bytes(&log) > 0);
	names_log_close(&log);
}

/* For as long as its end is held. */
static void names_of_who_has_ended_are_forgotten(void **state)
{
	struct names_log log = NAMES_LOG_NONE;
	uint64_t bytes;
	pid_t ended = fork();

	(void)state;
	if (ended == 0)
		_exit(0);
	assert_int_equal(waitpid(ended, NULL, 0), ended);
	names_log_keep(&log, 1 << 20);
	add_of(&log, getpid(), 100, 7, FD_NAMED, "lives");
	add_of(&log, ended, 100, 7, FD_NAMED, "ended");
	recent_forget(log.recent, 200);
	bytes = names_log_bytes(&log);
	names_log_sweep(&log, 300, 250);
	names_log_sweep(&log, 400, 300);
	assert_int_equal(log.gone.count, 2);
	assert_int_equal(names_log_bytes(&log), bytes);
	names_log_sweep(&log, 500, 301);
	assert_int_equal(log.gone.count, 1);
	assert_non_null(map_find(&log.gone, (uint64_t)getpid() << 32 | 7));
	assert_true(names_log_bytes(&log) < bytes);
	names_log_close(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_name_before_it_begins_is_told_as_of_then),
		cmocka_unit_test(names_that_went_from_memory_are_known),
		cmocka_unit_test(names_of_who_has_ended_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
