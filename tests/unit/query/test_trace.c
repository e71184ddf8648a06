/*
 * Recordings as files: opening them, their index, what goes wrong.
 *
 * A recorded trace of tests/data lies unpacked in a folder of its own; the cache is beside it.
 */
#include "asking.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

#define NOBODY 65534

static char *base;	 /* owned; the temporary folder */
static char *path;	 /* owned; the trace in it */
static char *index_path; /* owned */

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void shell(const char *format, ...)
{
	va_list args;
	char *line;

	va_start(args, format);
	assert_true(vasprintf(&line, format, args) > 0);
	va_end(args);
	if (system(line) != 0)
		fail_msg("%s", line);
	free(line);
}

/* A fresh trace without an index. */
static int unpack(void **unused)
{
	const char *tests = getenv("HOLDUP_TESTS");

	if (!tests)
		return -1;
	shell("rm -rf %s/*", base);
	shell("tar --no-same-owner -C %s -xzf %s/data/futex-convoy.tar.gz", base, tests);
	return 0;
}

static int make_base(void **unused)
{
	base = xstrdup("/tmp/holdup-query-XXXXXX");
	if (!mkdtemp(base) || chmod(base, 0755) < 0)
		return -1;
	path = xasprintf("%s/futex-convoy.holdup", base);
	index_path = xasprintf("%s/timeline/index", path);
	return setenv("XDG_CACHE_HOME", base, 1);
}

static int remove_base(void **unused)
{
	shell("rm -rf %s", base);
	free(base);
	free(path);
	free(index_path);
	return 0;
}

static bool has_index(void)
{
	return access(index_path, F_OK) == 0;
}

static struct hr_trace *open_with(uint32_t flags)
{
	const struct hr_options options = { .struct_size = sizeof(options), .flags = flags };
	struct hr_trace *trace;
	char error[512];

	if (hr_open(path, &options, &trace, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	return trace;
}

/* What hr_open() fails with; the reason is in 'error'. */
static int open_fails(const char *where, uint32_t flags, char error[512])
{
	const struct hr_options options = { .struct_size = sizeof(options), .flags = flags };
	struct hr_trace *trace = NULL;
	int rc = hr_open(where, &options, &trace, error, 512);

	assert_null(trace);
	assert_int_not_equal(error[0], 0);
	return rc;
}

/* --------------------------------------------------------------- all there is to ask */

struct digest {
	struct hr_trace *trace;
	uint64_t hash;
};

static void mix(struct digest *digest, const void *bytes, size_t count)
{
	digest->hash = hash_bytes(bytes, count, digest->hash);
}

static int ask_intervals(struct digest *digest, uint32_t thread)
{
	struct hr_interval in = { .struct_size = sizeof(in) };
	struct hr_intervals *intervals = NULL;
	int rc = hr_intervals_new(digest->trace, thread, 0, UINT64_MAX, &intervals);

	while (rc == 0 && (rc = hr_intervals_next(intervals, &in)) > 0) {
		mix(digest, &in, sizeof(in));
		rc = 0;
	}
	hr_intervals_free(intervals);
	return rc;
}

static int ask_waits(struct digest *digest, uint32_t thread)
{
	struct hr_wait wait = { .struct_size = sizeof(wait) };
	struct hr_waits *waits = NULL;
	int rc = hr_waits_new(digest->trace, thread, 0, UINT64_MAX, &waits);

	while (rc == 0 && (rc = hr_waits_next(waits, &wait)) > 0) {
		mix(digest, &wait.begin_ns, sizeof(wait.begin_ns));
		mix(digest, &wait.woken_ns, sizeof(wait.woken_ns));
		mix(digest, wait.object, strlen(wait.object));
		mix(digest, &wait.waker.thread, sizeof(wait.waker.thread));
		rc = 0;
	}
	hr_waits_free(waits);
	return rc;
}

static int ask_edges(struct digest *digest, uint32_t thread, bool in)
{
	struct hr_edge edge = { .struct_size = sizeof(edge) };
	struct hr_edges *edges = NULL;
	int rc = in ? hr_edges_in_new(digest->trace, thread, 0, UINT64_MAX, &edges)
		    : hr_edges_out_new(digest->trace, thread, 0, UINT64_MAX, &edges);

	while (rc == 0 && (rc = hr_edges_next(edges, &edge)) > 0) {
		mix(digest, &edge, sizeof(edge));
		rc = 0;
	}
	hr_edges_free(edges);
	return rc;
}

static int ask_sums(struct digest *digest, uint32_t thread)
{
	uint64_t begin = hr_begin_ns(digest->trace), length = hr_end_ns(digest->trace) - begin;
	struct hr_total total = { .struct_size = sizeof(total) };
	struct hr_totals *totals = NULL;
	uint64_t states[50];
	int rc = hr_thread_totals(digest->trace, thread, begin + length / 3, begin + length / 2,
				  &totals);

	while (rc == 0 && hr_totals_next(totals, &total) > 0)
		mix(digest, &total, sizeof(total));
	hr_totals_free(totals);
	if (rc == 0)
		rc = hr_columns(digest->trace, thread, begin, begin + length, 50, states);
	if (rc == 0)
		mix(digest, states, sizeof(states));
	return rc;
}

static int ask_cpu(struct digest *digest, uint32_t cpu)
{
	struct hr_stay stay = { .struct_size = sizeof(stay) };
	struct hr_stays *stays = NULL;
	int rc = hr_stays_new(digest->trace, cpu, 0, UINT64_MAX, &stays);

	while (rc == 0 && (rc = hr_stays_next(stays, &stay)) > 0) {
		mix(digest, &stay, sizeof(stay));
		rc = 0;
	}
	hr_stays_free(stays);
	return rc;
}

/* Ask everything; the answers as one number. Returns what the first question failed with. */
static int ask_all(struct hr_trace *trace, uint64_t *out_hash)
{
	struct digest digest = { .trace = trace };
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < hr_thread_count(trace); i++) {
		rc = ask_intervals(&digest, i);
		rc = rc ? rc : ask_waits(&digest, i);
		rc = rc ? rc : ask_edges(&digest, i, true);
		rc = rc ? rc : ask_edges(&digest, i, false);
		rc = rc ? rc : ask_sums(&digest, i);
	}
	for (uint32_t cpu = 0; rc == 0 && cpu < hr_cpu_count(trace); cpu++)
		rc = ask_cpu(&digest, cpu);
	*out_hash = digest.hash;
	return rc;
}

static uint64_t answers(struct hr_trace *trace)
{
	uint64_t hash;

	if (ask_all(trace, &hash) < 0)
		fail_msg("%s", hr_error(trace));
	return hash;
}

/* ------------------------------------------------------------------------------ open */

struct told_progress {
	uint32_t calls;
	uint64_t done_ns;
	uint64_t whole_ns;
};

static void count_progress(void *context, uint64_t done_ns, uint64_t whole_ns)
{
	struct told_progress *told = context;

	told->calls++;
	told->done_ns = done_ns;
	told->whole_ns = whole_ns;
}

static void the_index_is_built_once_and_kept(void **unused)
{
	struct told_progress told = { 0 };
	struct hr_options options = { .struct_size = sizeof(options),
				      .progress = count_progress,
				      .context = &told };
	struct hr_trace *trace;
	struct stat first, second;
	uint64_t hash;

	assert_false(has_index());
	assert_int_equal(hr_open(path, &options, &trace, NULL, 0), 0);
	hash = answers(trace);
	hr_close(trace);
	assert_int_equal(stat(index_path, &first), 0);
	assert_true(told.done_ns <= told.whole_ns); /* small ones may be done before any is told */
	trace = open_with(HR_OPEN_NO_BUILD);
	assert_int_equal(answers(trace), hash);
	hr_close(trace);
	trace = open_with(HR_OPEN_REBUILD);
	assert_int_equal(answers(trace), hash);
	hr_close(trace);
	assert_int_equal(stat(index_path, &second), 0);
	assert_true(first.st_ino != second.st_ino ||
		    first.st_mtim.tv_nsec != second.st_mtim.tv_nsec);
	assert_int_equal(hr_open(path, NULL, &trace, NULL, 0), 0);
	assert_int_equal(answers(trace), hash);
	hr_close(trace);
	hr_close(NULL);
}

static void a_temporary_index_leaves_nothing(void **unused)
{
	struct hr_trace *trace = open_with(HR_OPEN_TEMPORARY), *again;
	char error[512];

	assert_false(has_index());
	assert_int_equal(open_fails(path, HR_OPEN_NO_BUILD, error), -ENOENT);
	assert_non_null(strstr(error, "no valid index"));
	assert_int_equal(hr_open(path, NULL, &again, NULL, 0), 0); /* two at a time */
	assert_int_equal(answers(trace), answers(again));
	hr_close(again);
	hr_close(trace);
}

static void what_is_no_recording_is_refused_in_words(void **unused)
{
	AUTO_FREE char *none = xasprintf("%s/none", base);
	AUTO_FREE char *file = xasprintf("%s/file", base);
	AUTO_FREE char *empty = xasprintf("%s/empty", base);
	struct hr_trace *trace = NULL;
	char error[512], small[8];

	shell("echo text > %s; mkdir %s", file, empty);
	assert_int_equal(open_fails(none, 0, error), -ENOENT);
	assert_non_null(strstr(error, "none"));
	assert_int_equal(open_fails(file, 0, error), -EBADMSG);
	assert_true(open_fails(empty, 0, error) < 0);
	assert_int_equal(open_fails(NULL, 0, error), -EINVAL);
	assert_int_equal(hr_open(path, NULL, NULL, error, sizeof(error)), -EINVAL);
	memset(small, 'x', sizeof(small));
	assert_int_equal(hr_open(none, NULL, &trace, small, sizeof(small)), -ENOENT);
	assert_int_equal(strlen(small), sizeof(small) - 1);
	assert_int_equal(hr_open(none, NULL, &trace, NULL, 0), -ENOENT);
	assert_null(trace);
}

static void options_are_checked(void **unused)
{
	struct {
		struct hr_options known;
		uint64_t newer;
	} larger = { .known = { .struct_size = sizeof(larger) } };
	struct hr_options small = { .struct_size = 8 };
	static const uint32_t bad[] = {
		1u << 30,
		HR_OPEN_NO_BUILD | HR_OPEN_REBUILD,
		HR_OPEN_NO_BUILD | HR_OPEN_TEMPORARY,
		HR_OPEN_TEMPORARY | HR_OPEN_MUST_KEEP,
	};
	struct hr_trace *trace;
	char error[512];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(open_fails(path, bad[i], error), -EINVAL);
	assert_int_equal(hr_open(path, &small, &trace, NULL, 0), -EINVAL);
	assert_int_equal(hr_open(path, &larger.known, &trace, NULL, 0), 0);
	hr_close(trace);
	larger.newer = 1;
	assert_int_equal(hr_open(path, &larger.known, &trace, NULL, 0), -E2BIG);
}

/* Root may write anywhere: so this is done as somebody who may not. */
static void a_trace_that_must_not_be_written_to_is_answered_too(void **unused)
{
	struct hr_trace *trace = open_with(HR_OPEN_TEMPORARY);
	uint64_t hash = answers(trace);
	char error[512];
	int rc;

	hr_close(trace);
	shell("chmod -R a+rX,a-w %s", base);
	if (geteuid() == 0)
		assert_int_equal(seteuid(NOBODY), 0);
	trace = open_with(0);
	assert_int_equal(answers(trace), hash);
	assert_non_null(strstr(hr_about(trace, HR_ABOUT_INDEX), "could not be kept"));
	hr_close(trace);
	rc = open_fails(path, HR_OPEN_MUST_KEEP, error);
	if (geteuid() == NOBODY)
		assert_int_equal(seteuid(0), 0);
	shell("chmod -R u+w %s", base);
	assert_true(rc == -EACCES || rc == -EROFS || rc == -EPERM);
	assert_non_null(strstr(error, "cannot find a directory for the index"));
	assert_false(has_index());
}

static void another_place_is_the_cache(void **unused)
{
	struct hr_trace *trace;

	shell("echo in the way > %s/timeline", path);
	trace = open_with(HR_OPEN_MUST_KEEP);
	hr_close(trace);
	trace = open_with(HR_OPEN_NO_BUILD);
	assert_string_equal(hr_about(trace, HR_ABOUT_INDEX), "");
	hr_close(trace);
	shell("ls %s/holdup/*/index >/dev/null", base);
}

/* -------------------------------------------------------------------------- contents */

static void a_recording_says_what_it_is(void **unused)
{
	struct hr_trace *trace = open_with(0);
	uint32_t thread = hr_command_thread(trace), missing = 0;

	assert_string_equal(hr_version(), HOLDUP_VERSION);
	assert_string_equal(hr_about(trace, HR_ABOUT_ARCH), "x86_64");
	assert_non_null(strstr(hr_about(trace, HR_ABOUT_COMMAND), "futex-convoy"));
	assert_non_null(strstr(hr_about(trace, HR_ABOUT_FORMAT), "holdup"));
	assert_int_not_equal(hr_about(trace, HR_ABOUT_HOST)[0], 0);
	assert_int_not_equal(hr_about(trace, HR_ABOUT_KERNEL)[0], 0);
	assert_string_equal(hr_about(trace, HR_ABOUT_INDEX), "");
	assert_string_equal(hr_about(trace, (enum hr_about)99), "");
	assert_int_equal(hr_thread_tid(trace, thread), 140);
	assert_string_equal(hr_thread_comm(trace, thread), "futex-convoy");
	assert_non_null(strstr(hr_thread_cmdline(trace, thread), "futex-convoy"));
	assert_int_equal(hr_event_count(trace), 6253);
	assert_int_equal(hr_lost_count(trace), 0);
	assert_int_equal(hr_gap_count(trace), 0);
	assert_int_equal(hr_cpu_count(trace), 2);
	assert_true(hr_realtime_offset_ns(trace) > 0);
	assert_null(hr_damage(trace, 0));
	for (; hr_missing(trace, missing); missing++)
		assert_non_null(hr_missing_reason(trace, missing));
	assert_true(missing > 0);
	assert_null(hr_missing_reason(trace, missing));
	hr_close(trace);
}

static void a_damaged_recording_says_so_now_and_later(void **unused)
{
	struct hr_trace *trace;

	shell("dd if=/dev/zero of=%s/kernel/cpu0.ring bs=1 seek=40960 count=4096 conv=notrunc "
	      "status=none",
	      path);
	for (int i = 0; i < 2; i++) { /* built, and out of the index */
		trace = open_with(0);
		assert_non_null(hr_damage(trace, 0));
		assert_non_null(strstr(hr_damage(trace, 0), "cpu0"));
		assert_null(hr_damage(trace, 99));
		(void)answers(trace);
		hr_close(trace);
	}
}

static void holes_are_told(void **unused)
{
	struct text_trace *text = text_trace_of("facts last 100\n"
						"thread 7 7 1 R prog\n"
						"0 cpu0 switch 0(runnable) 7\n"
						"60 cpu0 lost 20 5\n"
						"70 cpu0 enter read 3\n"
						"90 cpu0 lost 80 0\n");
	struct asking asking = asking_text(text, 0);
	struct hr_gap gap = { .struct_size = sizeof(gap) };

	assert_int_equal(hr_gap_count(asking.trace), 2);
	assert_int_equal(hr_gap_get(asking.trace, 0, &gap), 0);
	assert_int_equal(gap.since_ns, 20);
	assert_int_equal(gap.until_ns, 60);
	assert_int_equal(gap.lost, 5);
	assert_int_equal(gap.cpu, 0);
	assert_int_equal(hr_gap_get(asking.trace, 1, &gap), 0);
	assert_int_equal(gap.lost, 0);
	assert_int_equal(hr_gap_get(asking.trace, 2, &gap), -EINVAL);
	gap.struct_size = 0;
	assert_int_equal(hr_gap_get(asking.trace, 0, &gap), -EINVAL);
	assert_int_equal(hr_rebuild(asking.trace), -EINVAL); /* no file is behind it */
	asking_end(&asking);
}

/* ------------------------------------------------------------------- a damaged index */

static void flip(off_t at)
{
	int fd = open(index_path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x40;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static off_t index_size(void)
{
	struct stat stat_;

	assert_int_equal(stat(index_path, &stat_), 0);
	return stat_.st_size;
}

/* Whatever byte is wrong: the right answers, or an error, after which it can be mended. */
static void a_damaged_index_never_gives_wrong_answers(void **unused)
{
	struct hr_trace *trace = open_with(0);
	uint64_t right = answers(trace), hash;
	uint32_t noticed = 0, rebuilt = 0;

	hr_close(trace);
	for (off_t at = 0; at < index_size(); at += 397) {
		flip(at);
		trace = open_with(0);
		rebuilt += hr_about(trace, HR_ABOUT_INDEX)[0] != '\0';
		if (ask_all(trace, &hash) < 0) {
			assert_non_null(strstr(hr_error(trace), "damaged"));
			assert_non_null(hr_damage(trace, 0));
			assert_int_equal(ask_all(trace, &hash), -EBADMSG); /* still */
			assert_int_equal(hr_rebuild(trace), 0);
			assert_null(hr_damage(trace, 0));
			noticed++;
			hash = answers(trace);
		} else if (!hr_about(trace, HR_ABOUT_INDEX)[0]) {
			flip(at); /* of no matter */
		}
		assert_int_equal(hash, right);
		hr_close(trace);
	}
	assert_true(noticed > 10);
	assert_true(rebuilt > 0);
}

/* Damage that comes while it is open: each question by itself says so. */
static void every_question_notices_damage(void **unused)
{
	const struct hr_options options = { .struct_size = sizeof(options) };
	struct hr_interval in = { .struct_size = sizeof(in) };
	struct hr_intervals *intervals;
	struct hr_trace *trace = open_with(0);
	struct hr_totals *totals = NULL;
	uint64_t state, states[4], end = hr_end_ns(trace);
	uint32_t thread = hr_command_thread(trace), other, cpus = hr_cpu_count(trace);
	struct hr_waits *waits;
	struct hr_edges *edges;
	struct hr_stays *stays;
	struct hr_trace *fresh;
	struct hr_why *why;

	hr_close(trace);
	assert_int_equal(hr_open(path, &options, &trace, NULL, 0), 0);
	assert_int_equal(hr_open(path, &options, &fresh, NULL, 0), 0);
	assert_int_equal(hr_intervals_new(trace, thread, 0, end, &intervals), 0);
	for (off_t at = 4096, size = index_size(); at < size * 3 / 4; at++)
		flip(at);
	assert_int_equal(hr_process_totals(trace, thread, 0, end, &totals), -EBADMSG);
	assert_int_equal(hr_thread_totals(trace, thread, 0, end, &totals), -EBADMSG);
	assert_int_equal(hr_cpu_totals(trace, cpus - 1, 0, end, &totals), -EBADMSG);
	assert_null(totals);
	assert_int_equal(hr_state_at(trace, thread, end - 1, &state, NULL), -EBADMSG);
	assert_int_equal(hr_running_at(trace, 0, end - 1, &other), -EBADMSG);
	assert_int_equal(hr_columns(trace, thread, 0, end, 4, states), -EBADMSG);
	assert_int_equal(hr_intervals_next(intervals, &in), -EBADMSG);
	assert_int_equal(hr_waits_new(trace, thread, 0, end, &waits), -EBADMSG);
	assert_int_equal(hr_edges_in_new(trace, thread, 0, end, &edges), -EBADMSG);
	assert_int_equal(hr_edges_out_new(trace, thread, 0, end, &edges), -EBADMSG);
	assert_int_equal(hr_stays_new(trace, 0, 0, end, &stays), -EBADMSG);
	assert_int_equal(hr_why_new(fresh, NULL, &why), -EBADMSG);
	hr_intervals_free(intervals);
	hr_close(fresh);
	hr_close(trace);
}

static void what_is_under_way_ends_when_the_index_is_built_again(void **unused)
{
	struct hr_trace *trace = open_with(0);
	uint64_t right = answers(trace);
	uint32_t thread = hr_command_thread(trace);
	struct hr_interval in = { .struct_size = sizeof(in) };
	struct hr_wait wait = { .struct_size = sizeof(wait) };
	struct hr_edge edge = { .struct_size = sizeof(edge) };
	struct hr_stay stay = { .struct_size = sizeof(stay) };
	struct hr_total total = { .struct_size = sizeof(total) };
	struct hr_intervals *intervals;
	struct hr_totals *totals;
	struct hr_waits *waits;
	struct hr_edges *edges;
	struct hr_stays *stays;

	assert_int_equal(hr_intervals_new(trace, thread, 0, UINT64_MAX, &intervals), 0);
	assert_int_equal(hr_waits_new(trace, thread, 0, UINT64_MAX, &waits), 0);
	assert_int_equal(hr_edges_in_new(trace, thread, 0, UINT64_MAX, &edges), 0);
	assert_int_equal(hr_stays_new(trace, 0, 0, UINT64_MAX, &stays), 0);
	assert_int_equal(hr_thread_totals(trace, thread, 0, UINT64_MAX, &totals), 0);
	assert_int_equal(hr_intervals_next(intervals, &in), 1);
	assert_int_equal(hr_rebuild(trace), 0);
	assert_int_equal(hr_intervals_next(intervals, &in), -ESTALE);
	assert_int_equal(hr_waits_next(waits, &wait), -ESTALE);
	assert_int_equal(hr_edges_next(edges, &edge), -ESTALE);
	assert_int_equal(hr_stays_next(stays, &stay), -ESTALE);
	assert_int_equal(hr_totals_next(totals, &total), 1); /* these are numbers only */
	assert_int_equal(hr_command_thread(trace), thread);
	assert_int_equal(answers(trace), right);
	hr_intervals_free(intervals);
	hr_waits_free(waits);
	hr_edges_free(edges);
	hr_stays_free(stays);
	hr_totals_free(totals);
	hr_close(trace);
}

static void what_cannot_be_built_again_stays(void **unused)
{
	struct hr_trace *trace = open_with(0);
	uint64_t right = answers(trace);

	shell("mv %s %s/away", path, base);
	assert_int_equal(hr_rebuild(trace), -ENOENT);
	assert_non_null(strstr(hr_error(trace), "futex-convoy"));
	assert_int_equal(answers(trace), right);
	hr_close(trace);
}

static void why_is_told_of_a_window_and_outlives_a_new_index(void **unused)
{
	struct hr_trace *trace = open_with(0);
	uint64_t begin = hr_begin_ns(trace), length = hr_end_ns(trace) - begin;
	struct hr_why_sum sum = { .struct_size = sizeof(sum) };
	struct hr_cause cause = { .struct_size = sizeof(cause) };
	const struct hr_why_options options = { .struct_size = sizeof(options),
						.start_ns = begin + length / 4,
						.end_ns = begin + length / 2,
						.thread = hr_command_thread(trace) };
	struct hr_why *why;

	assert_int_equal(hr_why_new(trace, &options, &why), 0);
	assert_int_equal(hr_why_sum_get(why, &sum), 0);
	assert_int_equal(sum.start_ns, options.start_ns);
	assert_int_equal(sum.end_ns, options.end_ns);
	assert_int_equal(hr_rebuild(trace), 0);
	assert_int_equal(hr_cause_get(why, 0, &cause), 0);
	assert_true(*cause.what && cause.ns);
	hr_why_free(why);
	hr_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_index_is_built_once_and_kept, unpack),
		cmocka_unit_test_setup(a_temporary_index_leaves_nothing, unpack),
		cmocka_unit_test_setup(what_is_no_recording_is_refused_in_words, unpack),
		cmocka_unit_test_setup(options_are_checked, unpack),
		cmocka_unit_test_setup(a_trace_that_must_not_be_written_to_is_answered_too, unpack),
		cmocka_unit_test_setup(another_place_is_the_cache, unpack),
		cmocka_unit_test_setup(a_recording_says_what_it_is, unpack),
		cmocka_unit_test_setup(a_damaged_recording_says_so_now_and_later, unpack),
		cmocka_unit_test(holes_are_told),
		cmocka_unit_test_setup(a_damaged_index_never_gives_wrong_answers, unpack),
		cmocka_unit_test_setup(every_question_notices_damage, unpack),
		cmocka_unit_test_setup(what_is_under_way_ends_when_the_index_is_built_again,
				       unpack),
		cmocka_unit_test_setup(what_cannot_be_built_again_stays, unpack),
		cmocka_unit_test_setup(why_is_told_of_a_window_and_outlives_a_new_index, unpack),
	};

	return cmocka_run_group_tests(tests, make_base, remove_base);
}
