/*
 * sorting.h - functions for qsort() that go by fields: the first that differs decides.
 *
 *	ORDER_FUNCTION(by_size, struct file, ORDER_DOWN(bytes), ORDER_TEXT(name));
 */
#ifndef BASE_SORTING_H
#define BASE_SORTING_H

#include <string.h>

#define ORDER_UP(field)	  ((order_a->field > order_b->field) - (order_a->field < order_b->field))
#define ORDER_DOWN(field) ((order_a->field < order_b->field) - (order_a->field > order_b->field))
#define ORDER_TEXT(field) strcmp(order_a->field, order_b->field)

#define ORDER_1(first)			      first
#define ORDER_2(first, second)		      first ?: second
#define ORDER_3(first, second, third)	      first ?: second ?: third
#define ORDER_4(first, second, third, fourth) first ?: second ?: third ?: fourth

#define ORDER_PICK(first, second, third, fourth, pick, ...) pick

/* Up to four fields. Defines a static function of that name. */
#define ORDER_FUNCTION(name, type, ...)                                                            \
	static int name(const void *order_left, const void *order_right)                           \
	{                                                                                          \
		const type *order_a = order_left, *order_b = order_right;                          \
                                                                                                   \
		return ORDER_PICK(__VA_ARGS__, ORDER_4, ORDER_3, ORDER_2, ORDER_1, )(__VA_ARGS__); \
	}                                                                                          \
	_Static_assert(sizeof(type), "a type that is known")

#endif
