/* test_raw_text.c - paths, peers and arguments out of what the BPF program tells, whatever is in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "record/bpf/raw.h"
#include "record/raw_text.h"

#define ROOM 4096

static void says(struct raw_name *raw, const char *bytes, size_t count, const char *expected)
{
	char out[ROOM];

	memcpy(raw->text, bytes, count);
	raw->text_bytes = (uint32_t)count;
	assert_true(raw_text(raw, out, sizeof(out)));
	assert_string_equal(out, expected);
}

#define TEXT(raw, bytes, expected) says(raw, bytes, sizeof(bytes) - 1, expected)

static void a_path_from_its_folder(void **unused)
{
	struct raw_name raw = { .kind = RAW_KIND_ASKED };

	(void)unused;
	TEXT(&raw, "/a/b\0", "/a/b");
	TEXT(&raw, "b\0r\0tmp\0", "/tmp/r/b");
	TEXT(&raw, "././b\0r\0tmp\0", "/tmp/r/b");
	TEXT(&raw, "../b\0r\0", "/r/../b");
	TEXT(&raw, "b\0", "/b");
	TEXT(&raw, "", "");
	TEXT(&raw, "unended", "/unended");
}

static void what_is_too_long_is_cut(void **unused)
{
	struct raw_name *raw = xcalloc(1, sizeof(*raw));
	char out[ROOM];

	(void)unused;
	raw->kind = RAW_KIND_ASKED;
	memset(raw->text, 'x', sizeof(raw->text));
	for (size_t i = 200; i < sizeof(raw->text); i += 200)
		raw->text[i] = '\0';
	raw->text_bytes = sizeof(raw->text);
	assert_true(raw_text(raw, out, sizeof(out)));
	assert_in_range(strlen(out), 200, sizeof(out) - 1);
	free(raw);
}

static void a_peer(void **unused)
{
	struct raw_name raw = { .kind = RAW_KIND_ASKED_PEER, .family = AF_INET, .remote_port = 80 };
	static const uint8_t here[] = { 127, 0, 0, 1 };

	(void)unused;
	memcpy(raw.remote, here, sizeof(here));
	TEXT(&raw, "", "127.0.0.1:80");
	raw.family = AF_INET6;
	memset(raw.remote, 0, sizeof(raw.remote));
	raw.remote[15] = 1;
	TEXT(&raw, "", "[::1]:80");
	raw.family = AF_UNIX;
	TEXT(&raw, "/run/x\0", "/run/x");
	TEXT(&raw, "", "");
	raw.family = 77;
	TEXT(&raw, "x", "");
}

static void arguments(void **unused)
{
	struct raw_name raw = { .kind = RAW_KIND_ARGS };

	(void)unused;
	TEXT(&raw, "java\0-jar\0x.jar\0", "java -jar x.jar");
	TEXT(&raw, "sh\0-c\0\0\0", "sh -c");
	TEXT(&raw, "\0\0", "");
	raw.flags = RAW_CUT;
	TEXT(&raw, "a\0b", "a b...");
}

static void a_number_of_a_container(void **unused)
{
	struct raw_name raw = { .kind = RAW_KIND_VTID, .pid = 4711 };

	(void)unused;
	TEXT(&raw, "", "4711");
}

static void of_descriptors_it_says_nothing(void **unused)
{
	struct raw_name raw = { .kind = RAW_KIND_PATH };
	char out[ROOM];

	(void)unused;
	assert_false(raw_text(&raw, out, sizeof(out)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_from_its_folder),
		cmocka_unit_test(what_is_too_long_is_cut),
		cmocka_unit_test(a_peer),
		cmocka_unit_test(arguments),
		cmocka_unit_test(a_number_of_a_container),
		cmocka_unit_test(of_descriptors_it_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
