/*
 * expects.h - of a wait that nobody ended: what is said of it, and of who was awaited.
 */
#ifndef TEST_EXPECTS_H
#define TEST_EXPECTS_H

#include "told.h"

/* 7 and 8 are processes that share a pipe: 7 has one end as 3, 8 the other one as 4. */
#define PIPE                                  \
	"thread 7 7 1 R reader\n"             \
	"thread 8 8 1 R writer\n"             \
	"thread 9 9 1 R other\n"              \
	"  0 cpu0 switch 0(runnable) 7\n"     \
	"  0 cpu1 switch 0(runnable) 8\n"     \
	"  1 cpu0 fdname 7 3 pipe:[5] pipe\n" \
	"  1 cpu1 fdname 8 4 pipe:[5] pipe\n"

#define READS                     \
	"  5 cpu0 enter read 3\n" \
	" 10 cpu0 switch 7(blocked) 0\n"

static inline void says(const char *text, const char *verdict)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_in(told, 7, 10, 60), verdict);
	told_free(told);
}

/* The verdict, and from what it is inferred who was awaited; "" = it is known. */
static inline void says_inferred(const char *text, const char *verdict, const char *inferred)
{
	struct told *told = replayed(text);

	assert_string_equal(verdict_in(told, 7, 10, 60), verdict);
	assert_string_equal(told_reason(told->why.chain[0].expects_by), inferred);
	assert_string_equal(told_reason(told->why.roots[0].inferred), inferred);
	told_free(told);
}

#endif
