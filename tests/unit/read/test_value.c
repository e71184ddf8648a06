/* test_value.c - columns of a line as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/outbuf.h"
#include "event/event.h"
#include "event/facts.h"
#include "fields/print.h"
#include "fields/value.h"

/* Of a clock that is a counter. */
static void a_time_beyond_2_to_63_is_not_negative(void **unused)
{
	const struct facts facts = { 0 };
	const struct value_context context = { .facts = &facts };
	const struct event event = { .time_ns = (UINT64_C(1) << 63) + 5, .type = EV_LOST };
	const struct value_line line = { .event = &event,
					 .kind = value_kind_of(NULL, &event, NULL) };
	const struct value_place place = value_column_place(COLUMN_TIME, line.kind);
	struct outbuf out;

	outbuf_to_memory(&out);
	value_json(&context, &place, &line, &out);
	outbuf_char(&out, '\0');
	assert_string_equal(out.start, "9223372036854775813");
	outbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_beyond_2_to_63_is_not_negative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
