/*
 * search.h - searches in arrays that are in the order of one of their fields.
 *
 * Macros, as the type of the items and the field are the caller's: an expression, inlined.
 */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>

/*
 * Index of the first item that is not before what is looked for; 'is_before' says that of 'item', a pointer. For an
 * order of several fields: SEARCH_ITEM(spans, count, span, span->tid < tid || (span->tid == tid && span->ns < ns)).
 */
#define SEARCH_ITEM(items, count, item, is_before)                                      \
	({                                                                              \
		size_t search_low = 0, search_high = (count);                           \
                                                                                        \
		while (search_low < search_high) {                                      \
			size_t search_at = search_low + (search_high - search_low) / 2; \
                                                                                        \
			const __typeof__((items)[0]) *item = &(items)[search_at];       \
                                                                                        \
			if (is_before)                                                  \
				search_low = search_at + 1;                             \
			else                                                            \
				search_high = search_at;                                \
		}                                                                       \
		search_low;                                                             \
	})

/* Index of the first item of which "item IS_BEFORE" is false: SEARCH_WHERE(numbers, count, < least). */
#define SEARCH_WHERE(items, count, is_before) \
	SEARCH_ITEM(items, count, search_item, (*search_item)is_before)

/* Index of the first item whose field is 'least' or more; 'count' = there is none. */
#define SEARCH_FROM(items, count, field, least) SEARCH_WHERE(items, count, .field < (least))

/* Index of the first item whose field is more than 'most'; 'count' = there is none. */
#define SEARCH_BEHIND(items, count, field, most) SEARCH_WHERE(items, count, .field <= (most))

#endif
