/*
 * fold.h - roots of a verdict that are alike, as one row.
 *
 * Beside a build, or in a server with a thread for each request, what held the target up is one
 * thing to a reader and a hundred roots. Rows fold by what the roots are: kind, class, the name of
 * the thread without its numbers ("worker-7" is "worker-*"), call and object. The rows add up to
 * what the roots add up to.
 */
#ifndef ANALYSE_WHY_FOLD_H
#define ANALYSE_WHY_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/why/why.h"
#include "base/names.h"

struct why_row {
	struct why_root sum; /* of one root: that root; who: the first thread */
	size_t threads;	     /* that did it or waited for it; 0 = none: hardware, a queue */
	const char *name;    /* of several threads: "cc1", "worker-*" */
	bool many_whats;     /* sum.what is "" as the roots differ in it */
	bool any_timers;     /* why_root_is_any_timer() of one root at least */
	bool many_objects;
	uint32_t first_root; /* a run in members[] */
	uint32_t root_count;
};

struct why_rows {
	struct why_row *at; /* owned; largest first, but as why_roots_rank() has it */
	size_t count;
	uint32_t *members;	     /* owned; indices into why->roots, each once */
	uint64_t ns[WHY_KIND_COUNT]; /* by kind: add up to what the roots add up to */
	struct names texts;
};

/* What of a verdict comes first, 0, or later. */
int why_rank(enum why_class class, uint64_t ns, uint64_t all_ns);

/* Does a wait of that class say more than a longer one for work? Interrupts and the like do not. */
bool why_outranks_idle(enum why_class class, uint64_t ns, uint64_t all_ns);

/*
 * Of roots that lie largest first: waiting for work holds nothing up, however long it took. Where something did, for at
 * least one in fifty parts of all, that comes first, and so does work.
 */
void why_roots_rank(struct why_root *roots, size_t count);

/*
 * Fold so that 'fit' rows tell what there is, where that can be done; SIZE_MAX: a row for each
 * root. 'rows' views 'why'; free it with why_rows_fini().
 */
void why_fold(const struct why *why, size_t fit, struct why_rows *out_rows);

void why_rows_fini(struct why_rows *rows);

/* "worker-*" of "worker-12"; free it with free() */
char *why_name_pattern(const char *comm);

/* Do roots of this kind tell what a thread worked at? */
bool why_kind_works(enum why_kind kind);

#endif
