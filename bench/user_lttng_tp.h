/* user_lttng_tp.h - events of user_lttng.c, as LTTng-UST wants them declared. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./user_lttng_tp.h"

#if !defined(USER_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define USER_LTTNG_TP_H

#include <stdint.h>

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(bench, u64, LTTNG_UST_TP_ARGS(uint64_t, value),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, value, value)))
LTTNG_UST_TRACEPOINT_EVENT(bench, cold, LTTNG_UST_TP_ARGS(uint64_t, value),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, value, value)))
LTTNG_UST_TRACEPOINT_EVENT(bench, u64x4,
	LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b, uint64_t, c, uint64_t, d),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a) lttng_ust_field_integer(uint64_t, b, b)
		lttng_ust_field_integer(uint64_t, c, c) lttng_ust_field_integer(uint64_t, d, d)))
LTTNG_UST_TRACEPOINT_EVENT(bench, str15, LTTNG_UST_TP_ARGS(const char *, text),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_string(text, text)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
