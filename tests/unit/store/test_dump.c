/* test_dump.c - the state dump comes back as it was written, and damage costs its line only. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "store/dump.h"

/* Facts read from a file that holds 'text'. */
static struct facts facts_of(const char *text, size_t bytes)
{
	char path[] = "/tmp/holdup-test-dump-XXXXXX";
	struct facts facts = { 0 };
	struct err err = { 0 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, bytes), bytes);
	close(fd);
	assert_int_equal(dump_read(path, &facts, &err), 0);
	unlink(path);
	return facts;
}

static struct facts facts_of_text(const char *text)
{
	return facts_of(text, strlen(text));
}

static const struct fact_thread whole_thread = {
	.tid = 12,
	.tgid = 10,
	.ppid = 1,
	.comm = "a \"b\" \\c\n",
	.cmdline = "x y z",
	.cgroup = "/user.slice",
	.uid = 4000000000u,
	.policy = -1,
	.prio = -51,
	.state = 'D',
	.frozen = "/pods/x y",
	.allowed = "CPUs 0-2,5",
	.kernel = true,
	.seen_ns = 18446744073709551615u,
	.call = 202,
	.arg0 = 18446744073709551615u,
	.arg1 = 128,
	.arg2 = 7,
	.untimed = true,
	.call_ns = 7,
};

static void every_field_comes_back(void **unused)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	struct facts facts;

	dump_print_thread(out, &whole_thread);
	dump_print_fd(out,
		      &(struct fact_fd){ 10, 3, FD_ROLE_LISTEN, 1ull << 63, "tcp listen *:80" });
	dump_print_epoll(out, &(struct fact_epoll){ 10, 4, 3 });
	dump_print_vtid(out, &(struct fact_vtid){ 4026532177, 7, 4711, 4700, 0, 1ull << 62 });
	dump_print_wait(out, &(struct fact_wait){ 12, 9, true, true, 1ull << 60, 1ull << 62,
						  "futex", "Java monitor", "java_monitor" });
	dump_print_wait(out, &(struct fact_wait){ 11, 0, false, false, 5, 0, "poll", "", "" });
	dump_print_irq(out, &(struct fact_name){ 24, "virtio0-req.0" });
	dump_print_device(out, &(struct fact_name){ 254 << 20 | 1, "vda1" });
	fclose(out);
	facts = facts_of(text, bytes);
	free(text);

	assert_int_equal(facts.damage_count, 0);
	assert_int_equal(facts.thread_count, 1);
	assert_int_equal(facts.threads[0].tid, 12);
	assert_int_equal(facts.threads[0].tgid, 10);
	assert_int_equal(facts.threads[0].ppid, 1);
	assert_string_equal(facts.threads[0].comm, whole_thread.comm);
	assert_string_equal(facts.threads[0].cmdline, whole_thread.cmdline);
	assert_string_equal(facts.threads[0].cgroup, whole_thread.cgroup);
	assert_int_equal(facts.threads[0].uid, whole_thread.uid);
	assert_int_equal(facts.threads[0].policy, -1);
	assert_int_equal(facts.threads[0].prio, -51);
	assert_int_equal(facts.threads[0].state, 'D');
	assert_string_equal(facts.threads[0].frozen, whole_thread.frozen);
	assert_string_equal(facts.threads[0].allowed, whole_thread.allowed);
	assert_true(facts.threads[0].kernel);
	assert_true(facts.threads[0].seen_ns == whole_thread.seen_ns);
	assert_int_equal(facts.threads[0].call, 202);
	assert_true(facts.threads[0].arg0 == whole_thread.arg0);
	assert_true(facts.threads[0].arg2 == whole_thread.arg2);
	assert_true(facts.threads[0].untimed);
	assert_int_equal(facts.threads[0].arg1, 128);
	assert_int_equal(facts.threads[0].call_ns, 7);
	assert_int_equal(facts.fd_count, 1);
	assert_int_equal(facts.fds[0].role, FD_ROLE_LISTEN);
	assert_true(facts.fds[0].inode == 1ull << 63);
	assert_string_equal(facts.fds[0].name, "tcp listen *:80");
	assert_int_equal(facts.epoll_count, 1);
	assert_int_equal(facts.epolls[0].target, 3);
	assert_int_equal(facts.vtid_count, 1);
	assert_true(facts.vtids[0].space == 4026532177);
	assert_int_equal(facts.vtids[0].vtid, 7);
	assert_int_equal(facts.vtids[0].tid, 4711);
	assert_int_equal(facts.vtids[0].tgid, 4700);
	assert_true(facts.vtids[0].start == 1ull << 62);
	assert_int_equal(facts.wait_count, 2);
	assert_int_equal(facts.waits[0].tid, 11); /* in order */
	assert_int_equal(facts.waits[1].who, 9);
	assert_true(facts.waits[1].is_process && facts.waits[1].is_inferred);
	assert_true(facts.waits[1].seen_ns == 1ull << 60 && facts.waits[1].word == 1ull << 62);
	assert_string_equal(facts.waits[1].call, "futex");
	assert_string_equal(facts.waits[1].object, "Java monitor");
	assert_string_equal(facts.waits[1].how, "java_monitor");
	assert_int_equal(facts.irq_count, 1);
	assert_string_equal(facts.irqs[0].name, "virtio0-req.0");
	assert_int_equal(facts.device_count, 1);
	assert_string_equal(facts_device(&facts, 254 << 20 | 1), "vda1");
	facts_fini(&facts);
}

static void names_of_any_bytes_come_back(void **unused)
{
	static const char *const names[] = {
		"gr\xc3\xbc\xc3\x9f"
		"e",
		"\xe2\x82\xac \xf0\x9f\x98\x80",
		"a\xff"
		"b",
		"\xc3",
		"\xc0\xaf",	    /* too long a form of '/' */
		"\xed\xa0\x80",	    /* half of a surrogate pair */
		"\xf4\x90\x80\x80", /* above the last character */
		"\"\\\n\t\x1b[31m\x7f",
		"\\xff \\x5c",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *text = NULL;
		size_t bytes = 0;
		FILE *out = open_memstream(&text, &bytes);
		struct facts facts;

		dump_print_irq(out, &(struct fact_name){ 1, names[i] });
		fclose(out);
		facts = facts_of(text, bytes);
		free(text);
		assert_int_equal(facts.irq_count, 1);
		assert_string_equal(facts.irqs[0].name, names[i]);
		facts_fini(&facts);
	}
}

static void descriptors_are_sorted_whatever_their_order(void **unused)
{
	struct facts facts = facts_of_text("{\"fd\":{\"tgid\":9,\"fd\":1,\"name\":\"d\"}}\n"
					   "{\"fd\":{\"tgid\":2,\"fd\":11,\"name\":\"c\"}}\n"
					   "{\"fd\":{\"tgid\":2,\"fd\":3,\"name\":\"a\"}}\n"
					   "{\"fd\":{\"tgid\":2,\"fd\":10,\"name\":\"b\"}}\n");

	assert_int_equal(facts.fd_count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(facts.fds[i].name[0], 'a' + i);
	facts_fini(&facts);
}

static void a_cut_file_loses_its_last_line_only(void **unused)
{
	struct facts facts = facts_of_text("{\"irq\":{\"nr\":1,\"name\":\"a\"}}\n"
					   "{\"irq\":{\"nr\":2,\"na");

	assert_int_equal(facts.irq_count, 1);
	assert_int_equal(facts.damage_count, 1);
	assert_non_null(strstr(facts.damage[0], "the last line is cut"));
	facts_fini(&facts);
}

static void a_damaged_line_is_noted_and_skipped(void **unused)
{
	static const char *const lines[] = {
		"nonsense",
		"[]",
		"{\"irq\":3}",
		"{\"irq\":{\"nr\":-1,\"name\":\"x\"}}",
		"{\"irq\":{\"nr\":\"1\",\"name\":\"x\"}}",
		"{\"irq\":{\"name\":\"x\"}}",
		"{\"fd\":{\"tgid\":2147483648,\"fd\":1,\"name\":\"x\"}}",
		"{\"fd\":{\"tgid\":1,\"fd\":-1,\"name\":\"x\"}}",
		"{\"thread\":{\"tid\":1,\"tgid\":1,\"state\":\"long\"}}",
		"{\"irq\":{\"nr\":1,\"name\":\"\xff\"}}",
		"{{{{{{{{{{",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		char *text = xasprintf("%s\n{\"irq\":{\"nr\":7,\"name\":\"good\"}}\n", lines[i]);
		struct facts facts = facts_of_text(text);

		free(text);
		assert_int_equal(facts.damage_count, 1);
		assert_non_null(strstr(facts.damage[0], "line 1 "));
		assert_int_equal(facts.irq_count, 1);
		assert_int_equal(facts.irqs[0].nr, 7);
		facts_fini(&facts);
	}
}

static void what_a_newer_recorder_adds_does_no_harm(void **unused)
{
	struct facts facts = facts_of_text(
		"{\"planet\":{\"nr\":1}}\n"
		"{\"fd\":{\"tgid\":1,\"fd\":2,\"role\":250,\"name\":\"x\",\"colour\":\"red\"}}\n");

	assert_int_equal(facts.damage_count, 0);
	assert_int_equal(facts.fd_count, 1);
	assert_int_equal(facts.fds[0].role, FD_ROLE_UNKNOWN);
	facts_fini(&facts);
}

static void a_thread_may_lack_what_is_not_needed(void **unused)
{
	struct facts facts = facts_of_text("{\"thread\":{\"tid\":5,\"tgid\":5}}\n");

	assert_int_equal(facts.thread_count, 1);
	assert_string_equal(facts.threads[0].comm, "");
	assert_string_equal(facts.threads[0].cgroup, "");
	assert_int_equal(facts.threads[0].policy, -1);
	assert_int_equal(facts.threads[0].state, '?');
	facts_fini(&facts);
}

static void a_line_without_end_costs_a_bounded_amount(void **unused)
{
	static const char tail[] = "\n{\"irq\":{\"nr\":7,\"name\":\"good\"}}\n";
	size_t long_bytes = (3u << 20) + 5;
	char *text = xmalloc(long_bytes + sizeof(tail));
	struct facts facts;

	memset(text, ' ', long_bytes);
	memcpy(text + long_bytes, tail, sizeof(tail));
	facts = facts_of(text, long_bytes + sizeof(tail) - 1);
	free(text);
	assert_int_equal(facts.damage_count, 1);
	assert_non_null(strstr(facts.damage[0], "line 1 is too long"));
	assert_int_equal(facts.irq_count, 1);
	facts_fini(&facts);
}

static void a_file_that_is_not_there_is_an_error(void **unused)
{
	struct facts facts = { 0 };
	struct err err = { 0 };

	assert_int_equal(dump_read("/nonexistent/dump.jsonl", &facts, &err), -ENOENT);
	assert_true(err.text[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_comes_back),
		cmocka_unit_test(names_of_any_bytes_come_back),
		cmocka_unit_test(descriptors_are_sorted_whatever_their_order),
		cmocka_unit_test(a_cut_file_loses_its_last_line_only),
		cmocka_unit_test(a_damaged_line_is_noted_and_skipped),
		cmocka_unit_test(what_a_newer_recorder_adds_does_no_harm),
		cmocka_unit_test(a_thread_may_lack_what_is_not_needed),
		cmocka_unit_test(a_line_without_end_costs_a_bounded_amount),
		cmocka_unit_test(a_file_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
