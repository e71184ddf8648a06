/* test_buffer.c - buffer sizes, header_page and the counts of the kernel. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/buffer.h"
#include "store/manifest.h"

static void the_default_is_bounded_by_memory(void **state)
{
	assert_int_equal(buffer_default_bytes(24ull << 30, 2), 64u << 20);
	assert_int_equal(buffer_default_bytes(2ull << 30, 4), 16u << 20);
	assert_int_equal(buffer_default_bytes(64u << 20, 64), BUFFER_MIN_BYTES);
	assert_int_equal(buffer_default_bytes(1ull << 30, 0), 32u << 20);
}

static void header_page_tells_the_sizes(void **state)
{
	const char *header = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			     "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
			     "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			     "\tfield: char data;\toffset:16;\tsize:65520;\tsigned:0;\n";

	assert_int_equal(buffer_page_bytes(header), 65536);
	assert_int_equal(buffer_long_bytes(header), 8);
}

static void a_strange_header_page_gives_nothing(void **state)
{
	assert_int_equal(buffer_page_bytes(NULL), 0);
	assert_int_equal(buffer_page_bytes(""), 0);
	assert_int_equal(buffer_page_bytes("field: char data;\n offset:16; size:4080;"), 0);
	assert_int_equal(buffer_page_bytes("field: char data; offset:16; size:99999999999;"), 0);
	assert_int_equal(buffer_long_bytes("field: local_t commit;"), 0);
}

static void counts_are_added_from_what_was_read_and_what_waits(void **state)
{
	struct manifest_cpu cpu = { .cpu = 3, .events = 99, .bytes = 7 };

	buffer_parse_stats("entries: 10\noverrun: 5\ncommit overrun: 2\nbytes: 480\n"
			   "oldest event ts: 123\nnow ts: 456\ndropped events: 1\n"
			   "read events: 1000\n",
			   &cpu);
	assert_int_equal(cpu.events, 1010);
	assert_int_equal(cpu.lost, 5);
	assert_int_equal(cpu.dropped, 3);
	assert_int_equal(cpu.bytes, 7);
	assert_int_equal(cpu.cpu, 3);
	buffer_parse_stats("", &cpu);
	assert_int_equal(cpu.events, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_is_bounded_by_memory),
		cmocka_unit_test(header_page_tells_the_sizes),
		cmocka_unit_test(a_strange_header_page_gives_nothing),
		cmocka_unit_test(counts_are_added_from_what_was_read_and_what_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
