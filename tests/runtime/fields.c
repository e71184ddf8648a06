/*
 * fields.c - one event of each type of field, and their values as readers should show them.
 *
 * C and C++. Prints a line "EVENT FIELD=VALUE ..." for each event that it logs; sequences and
 * arrays as [ V V V ].
 */
#include <holdup/trace.h>

#include <float.h>
#include <inttypes.h>
#include <stdio.h>

HOLDUP_ENUM(colours, { "red", 0 }, { "green", 5 }, { "blue", -3 })

#define ONE(type)                                      \
	HOLDUP_EVENT(field, t_##type, (type, v))       \
	HOLDUP_EVENT(field, s_##type, (seq_##type, v)) \
	HOLDUP_EVENT(field, a_##type, (arr_##type, v, 3))
/* clang-format off: it takes these for one endless expression */
ONE(u8)
ONE(u16)
ONE(u32)
ONE(u64)
ONE(i8)
ONE(i16)
ONE(i32)
ONE(i64)
HOLDUP_EVENT(field, none)
HOLDUP_EVENT(field, t_bool, (bool, v))
HOLDUP_EVENT(field, t_f32, (f32, v))
HOLDUP_EVENT(field, t_f64, (f64, v))
HOLDUP_EVENT(field, t_str, (str, v))
HOLDUP_EVENT(field, t_bytes, (bytes, v))
HOLDUP_EVENT(field, t_enum, (enum, v, colours))
HOLDUP_EVENT(field, t_flow, (flow, v))
HOLDUP_EVENT(field, t_x32, (x32, v))
HOLDUP_EVENT(field, four, (u64, a), (u64, b), (u64, c), (u64, d))
HOLDUP_EVENT(field, five, (u64, a), (u64, b), (u64, c), (u64, d), (u8, e))
HOLDUP_EVENT(field, twelve, (u8, a), (u16, b), (u32, c), (u64, d), (i8, e), (i16, f), (i32, g),
	     (i64, h), (str, i), (u8, j), (seq_u16, k), (u32, l))
HOLDUP_EVENT_AS(field, shown, "{v:x} \"quoted\" \\ and\nmore", (u32, v))
HOLDUP_SPAN(field, span, (u32, v))
/* clang-format on */

#define SIGNED(type, c_type, low, high)                                             \
	do {                                                                        \
		const c_type values[] = { 0, 1, low, high, (c_type)0x5a };          \
		for (unsigned i = 0; i < 5; i++) {                                  \
			holdup_field_t_##type(values[i]);                           \
			printf("t_" #type " v=%" PRId64 "\n", (int64_t)values[i]);  \
			holdup_field_s_##type(values, i);                           \
			printf("s_" #type " v=[");                                  \
			for (unsigned j = 0; j < i; j++)                            \
				printf(" %" PRId64, (int64_t)values[j]);            \
			printf(" ]\n");                                             \
		}                                                                   \
		holdup_field_a_##type(values + 1);                                  \
		printf("a_" #type " v=[ %" PRId64 " %" PRId64 " %" PRId64 " ]\n",   \
		       (int64_t)values[1], (int64_t)values[2], (int64_t)values[3]); \
	} while (0)

static void strings(void)
{
	static const char *const values[] = { "",	 "a",	     "two words",
					      "1234567", "12345678", "123456789" };

	for (unsigned i = 0; i < 6; i++) {
		holdup_field_t_str(values[i]);
		printf("t_str v=\"%s\"\n", values[i]);
	}
	holdup_field_t_str(NULL);
	printf("t_str v=\"\"\n");
}

/* Lengths about those where another way is taken: words, 512 bytes, the longest. */
static void lengths(void)
{
	static uint8_t many[40000];
	static const size_t counts[] = { 0,  1,	  3,   4,   5,	   27,	  28,
					 29, 507, 508, 509, 32764, 32765, 40000 };

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		holdup_field_s_u8(many, counts[i]);
		if (counts[i] > 32764) /* with its own length, too long */
			continue;
		printf("s_u8 v=[");
		for (size_t j = 0; j < counts[i]; j++)
			printf(" 0");
		printf(" ]\n");
	}
}

int main(void)
{
	const uint16_t two[2] = { 7, 65535 };

	SIGNED(u8, uint8_t, 127, 255);
	SIGNED(u16, uint16_t, 32767, 65535);
	SIGNED(u32, uint32_t, INT32_MAX, UINT32_MAX);
	SIGNED(u64, uint64_t, 77, INT64_MAX);
	SIGNED(i8, int8_t, INT8_MIN, INT8_MAX);
	SIGNED(i16, int16_t, INT16_MIN, INT16_MAX);
	SIGNED(i32, int32_t, INT32_MIN, INT32_MAX);
	SIGNED(i64, int64_t, INT64_MIN, INT64_MAX);
	holdup_field_none();
	printf("none\n");
	holdup_field_t_bool(true);
	printf("t_bool v=1\n");
	holdup_field_t_f32(1.5F);
	printf("t_f32 v=1.5\n");
	holdup_field_t_f64(-0.25);
	printf("t_f64 v=-0.25\n");
	strings();
	lengths();
	holdup_field_t_bytes("\1\2", 2);
	printf("t_bytes v=[ 1 2 ]\n");
	holdup_field_t_enum(5);
	printf("t_enum v=5\n");
	holdup_field_t_enum(-3);
	printf("t_enum v=-3\n");
	holdup_field_t_flow(4711);
	printf("t_flow v=4711\n");
	holdup_field_t_x32(48879);
	printf("t_x32 v=48879\n");
	holdup_field_four(1, 2, 3, UINT64_C(1) << 62);
	printf("four a=1 b=2 c=3 d=4611686018427387904\n");
	holdup_field_five(1, 2, 3, 4, 5);
	printf("five a=1 b=2 c=3 d=4 e=5\n");
	holdup_field_twelve(1, 2, 3, 4, -1, -2, -3, -4, "i", 5, two, 2, 6);
	printf("twelve a=1 b=2 c=3 d=4 e=-1 f=-2 g=-3 h=-4 i=\"i\" j=5 k=[ 7 65535 ] l=6\n");
	holdup_field_shown(9);
	printf("shown v=9\n");
	holdup_field_span_begin(3);
	printf("span_begin v=3\n");
	holdup_field_span_end();
	printf("span_end\n");
	{
		HOLDUP_SCOPE(field, span, 4);
		printf("span_begin v=4\n");
	}
	printf("span_end\n");
	fprintf(stderr, "lost %" PRIu64 "\n", holdup_lost_count());
	return 0;
}
