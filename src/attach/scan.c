/* scan.c - see scan.h. */
#include "attach/scan.h"

#include <stdlib.h>

#include "attach/proc.h"
#include "base/mem.h"
#include "base/search.h"

#define NEW_ASKS 4u /* a new one is asked so often in a row */

struct user_asked {
	int32_t pid;
	uint32_t times;
};

static uint32_t times_asked(const struct user_scan *scan, int32_t pid)
{
	size_t at = SEARCH_WHERE(scan->asked, scan->count, .pid < pid);

	return at < scan->count && scan->asked[at].pid == pid ? scan->asked[at].times : 0;
}

void user_scan_take(struct user_scan *scan, const struct user_scan_ops *ops, void *context)
{
	AUTO_FREE int32_t *pids = NULL;
	size_t count = user_proc_all(&pids), kept = 0;
	struct user_asked *asked = xcalloc(count + 1, sizeof(*asked));
	uint64_t until_ns = ops->cpu_ns(context) + ops->ask_ns;
	int32_t next_old = 0;

	for (size_t i = 0; i < count; i++) {
		bool knows = ops->knows(context, pids[i]);
		uint32_t times = knows ? 0 : times_asked(scan, pids[i]);
		bool is_old = times >= NEW_ASKS, is_turn = is_old && pids[i] >= scan->next_old;

		if (knows)
			continue;
		if (is_turn && ops->cpu_ns(context) > until_ns) {
			next_old = next_old ? next_old : pids[i];
			is_turn = false;
		}
		if ((is_turn || !is_old) && ops->asks(context, pids[i], !times))
			continue;
		asked[kept++] = (struct user_asked){ pids[i], is_old ? times : times + 1 };
	}
	free(scan->asked);
	scan->asked = asked;
	scan->count = kept;
	scan->next_old = next_old;
}

void user_scan_fini(struct user_scan *scan)
{
	free(scan->asked);
	*scan = (struct user_scan){ 0 };
}
