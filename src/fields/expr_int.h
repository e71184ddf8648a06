/* expr_int.h - an expression as read. Only for expr*.c. */
#ifndef FIELDS_EXPR_INT_H
#define FIELDS_EXPR_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "fields/value.h"

struct pattern;

enum expr_kind {
	EXPR_AND, /* a, b */
	EXPR_OR,
	EXPR_NOT,   /* a */
	EXPR_EVENT, /* the event is called text, a glob */
	EXPR_TEST,  /* name op value */
};

enum expr_op {
	EXPR_SET, /* not 0, not empty */
	EXPR_EQ,
	EXPR_NE,
	EXPR_LT,
	EXPR_LE,
	EXPR_GT,
	EXPR_GE,
	EXPR_BITS,    /* name & mask */
	EXPR_BITS_EQ, /* (name & mask) == number */
	EXPR_GLOB,
	EXPR_NOT_GLOB,
	EXPR_REGEX,
};

struct expr_node {
	enum expr_kind kind;
	enum expr_op op;
	struct expr_node *a, *b;
	struct value_name *name; /* owned */
	char *text;		 /* owned; the value or the event as written */
	bool is_number;		 /* the value is 'number'; of type double when it has a point */
	bool is_negative;
	uint64_t number;  /* two's complement when negative */
	uint64_t time_ns; /* the value as a time */
	bool is_time;
	uint64_t mask;
	struct pattern *pattern; /* owned; of EXPR_REGEX */
	uint32_t index;		 /* of this test among all */
	size_t at;		 /* where it stands in the text */
};

struct err;

/* Read 'text'. Returns 0 and *out_node (free with expr_node_free()), or -EINVAL. */
int expr_parse(const char *text, const struct value_context *context, struct expr_node **out_node,
	       uint32_t *out_test_count, struct err *err);
void expr_node_free(struct expr_node *node);

#endif
