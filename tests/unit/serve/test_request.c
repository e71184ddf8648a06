#include "serve/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct http_request request;

static int parsed(const char *text)
{
	return http_request_parse(text, strlen(text), true, &request);
}

static void the_head_ends_with_an_empty_line(void **unused)
{
	assert_int_equal(http_head_bytes("GET / HTTP/1.0\r\n\r\nrest", 22), 18);
	assert_int_equal(http_head_bytes("GET / HTTP/1.0\n\n", 16), 16);
	assert_int_equal(http_head_bytes("GET / HTTP/1.0\r\n\r", 17), 0);
	assert_int_equal(http_head_bytes("", 0), 0);
}

static void requests_are_read(void **unused)
{
	assert_int_equal(parsed("GET /metrics?a=1 HTTP/1.1\r\nHost: [::1]:80\r\nA: b\r\n\r\n"), 0);
	assert_string_equal(request.path, "/metrics");
	assert_false(request.is_head);
	assert_int_equal(parsed("HEAD http://localhost/x HTTP/1.1\r\nhost:localhost:1\r\n\r\n"), 0);
	assert_string_equal(request.path, "/x");
	assert_true(request.is_head);
	assert_int_equal(parsed("GET / HTTP/1.0\n\n"), 0);
}

static void what_makes_no_sense_is_refused(void **unused)
{
	static const struct {
		int status;
		const char *text;
	} bad[] = {
		{ 400, "\r\n\r\n" },
		{ 400, "GET\r\n\r\n" },
		{ 400, "GET /\r\n\r\n" },
		{ 400, " / HTTP/1.1\r\n\r\n" },
		{ 400, "GET x HTTP/1.0\r\n\r\n" },
		{ 400, "GET / FTP/1.0\r\n\r\n" },
		{ 505, "GET / HTTP/2.0\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost: 1.1.1.1\r\nHost: 1.1.1.1\r\n\r\n" },
		{ 400, "GET / HTTP/1.0\r\nno field\r\n\r\n" },
		{ 400, "GET / HTTP/1.0\r\n: x\r\n\r\n" },
		{ 403, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n" },
		{ 403, "GET / HTTP/1.1\r\nHost:\r\n\r\n" },
		{ 403, "GET / HTTP/1.1\r\nHost: [\r\n\r\n" },
		{ 405, "POST / HTTP/1.0\r\n\r\n" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parsed(bad[i].text), bad[i].status);
	assert_int_equal(http_request_parse("GET /\0 HTTP/1.0\r\n\r\n", 19, true, &request), 400);
}

static void long_paths_and_foreign_hosts(void **unused)
{
	char text[400] = "GET /";

	memset(text + 5, 'a', 300);
	strcpy(text + 305, " HTTP/1.0\r\n\r\n");
	assert_int_equal(parsed(text), 414);
	strcpy(text, "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n");
	assert_int_equal(http_request_parse(text, strlen(text), false, &request), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_ends_with_an_empty_line),
		cmocka_unit_test(requests_are_read),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(long_paths_and_foreign_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
