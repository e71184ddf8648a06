/*
 * query.h - what stands behind the "?" of a request: names and values, each with its limit.
 *
 * It comes from anybody: a name or a value that is too long, a name given twice, an escape that is
 * none is refused as a whole.
 */
#ifndef VIEW_QUERY_H
#define VIEW_QUERY_H

#include <stdbool.h>
#include <stdint.h>

struct err;

#define VIEW_QUERY_MAX	 8192 /* bytes of all of it */
#define VIEW_QUERY_NAMES 12

struct view_query {
	char text[VIEW_QUERY_MAX]; /* the pieces below are views into it */
	const char *names[VIEW_QUERY_NAMES];
	const char *values[VIEW_QUERY_NAMES]; /* unescaped */
	uint32_t count;
};

/* Returns 0, or -EINVAL with err filled. */
int view_query_parse(const char *text, struct view_query *out_query, struct err *err);

/* NULL when it was not given. */
const char *view_query_text(const struct view_query *query, const char *name);

/* 'otherwise' when it was not given. -EINVAL with err filled when it is no number from 'least' to 'most'. */
int view_query_number(const struct view_query *query, const char *name, uint64_t least,
		      uint64_t most, uint64_t otherwise, uint64_t *out_value, struct err *err);

#endif
