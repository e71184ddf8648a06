/* test_stuck.c - why a condition is met, in one line: what is inferred says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "report/stuck.h"
#include "stuck/condition.h"
#include "stuck/graph.h"
#include "stuck/stuck.h"

static void add(struct stuck *stuck, int32_t tid, int32_t for_tid, bool is_inferred)
{
	struct stuck_thread *thread = &stuck->threads[stuck->count];

	map_put(&stuck->by_tid, (uint64_t)tid, stuck->count++);
	*thread = (struct stuck_thread){
		.tid = tid, .tgid = 1, .kind = STUCK_TIMER, .is_complete = true
	};
	snprintf(thread->comm, sizeof(thread->comm), "t%d", tid);
	snprintf(thread->in, sizeof(thread->in), "read");
	if (!for_tid)
		return;
	thread->kind = STUCK_TASKS;
	thread->edges = xcalloc(1, sizeof(*thread->edges));
	thread->edges[thread->edge_count++] =
		(struct stuck_edge){ .tid = for_tid, .is_inferred = is_inferred };
}

/* Thread 1 waits for 2, and 2 for 3; one of the two is inferred, or none. */
static char *reason(int32_t inferred)
{
	struct stuck *stuck = xcalloc(1, sizeof(*stuck));
	const struct condition condition = { .kind = CONDITION_CHAIN, .text = "chain>1s" };
	int32_t tid = 1;
	const struct condition_met met = { .tid = 3, .tids = &tid, .count = 1 };
	char *text;

	stuck->threads = xcalloc(4, sizeof(*stuck->threads));
	add(stuck, 1, 2, inferred == 1);
	add(stuck, 2, 3, inferred == 2);
	add(stuck, 3, 0, false);
	graph_run(stuck);
	text = report_met_reason(&(struct report_met){ &condition, &met, 0 },
				 &(struct report_stuck){ .stuck = stuck });
	stuck_free(stuck);
	return text;
}

static void what_is_known_is_said(void **unused)
{
	AUTO_FREE char *text = reason(0);

	assert_string_equal(text, "long wait: t1[1] in read; t3[3] sleeps until a time (read)");
}

static void what_is_inferred_anywhere_says_so(void **unused)
{
	for (int32_t at = 1; at <= 2; at++) {
		AUTO_FREE char *text = reason(at);

		assert_string_equal(
			text,
			"long wait: t1[1] in read; inferred: t3[3] sleeps until a time (read)");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_is_said),
		cmocka_unit_test(what_is_inferred_anywhere_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
