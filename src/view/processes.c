/*
 * processes.c - threads by process: the tree of who made whom, and the threads of one of them.
 *
 * A process stands where its main thread was made, below the process that made it; kernel threads
 * are together, as process 0. Idle tasks are CPUs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/facts_at.h"
#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/facts.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/lanes.h"
#include "view/processes.h"
#include "view/rows.h"

#define PROCESSES_MAX 1000u /* told */
#define NONE	      UINT32_MAX

struct process {
	int32_t tgid;
	uint32_t slot;	      /* of its main thread, else of the first one */
	uint32_t threads;     /* that lived in the window */
	uint32_t active;      /* that worked in it */
	uint32_t parent;      /* index; NONE = not known, or not among them */
	uint32_t first, next; /* children, and the next one of its parent's */
};

struct tree {
	const struct timeline *timeline;
	struct process *all; /* owned; by tgid */
	uint32_t count;
};

static int32_t tgid_of(const struct tl_thread *thread)
{
	return thread->kernel ? 0 : thread_process(thread);
}

ORDER_FUNCTION(compare_tgids, struct process, ORDER_UP(tgid));

static struct process *find(const struct tree *tree, int32_t tgid)
{
	const struct process wanted = { .tgid = tgid };

	return bsearch(&wanted, tree->all, tree->count, sizeof(*tree->all), compare_tgids);
}

static bool is_main(const struct tl_thread *thread)
{
	return thread->tid == thread_process(thread);
}

/* One for each process of the threads of 'slots'. */
static void collect(struct tree *tree, const uint32_t *slots, uint32_t count)
{
	uint32_t kept = 0;

	tree->all = xcalloc(count + 1, sizeof(*tree->all));
	for (uint32_t i = 0; i < count; i++)
		tree->all[i] = (struct process){ .tgid = tgid_of(tree->timeline->threads[slots[i]]),
						 .slot = slots[i],
						 .parent = NONE,
						 .first = NONE,
						 .next = NONE };
	qsort(tree->all, count, sizeof(*tree->all), compare_tgids);
	for (uint32_t i = 0; i < count; i++) {
		if (kept && tree->all[kept - 1].tgid == tree->all[i].tgid)
			continue;
		tree->all[kept++] = tree->all[i];
	}
	tree->count = kept;
}

static void add_threads(struct tree *tree, const struct rows_busy *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct tl_thread *thread = tree->timeline->threads[rows->slots[i]];
		struct process *process = find(tree, tgid_of(thread));

		process->threads++;
		process->active += rows->ns[i] != 0;
		if (process->tgid && is_main(thread))
			process->slot = rows->slots[i];
	}
}

/* Children in the order of their numbers: from the last to the first, each put in front. */
static void link_children(struct tree *tree)
{
	for (uint32_t i = tree->count; i-- > 0;) {
		struct process *process = &tree->all[i], *parent = NULL;
		uint32_t maker = tree->timeline->threads[process->slot]->parent;

		if (process->tgid && maker < tree->timeline->thread_count)
			parent = find(tree, tgid_of(tree->timeline->threads[maker]));
		/* Numbers come again: a process made by a later one is no child of it here. */
		if (!parent || parent == process || !parent->tgid ||
		    tree->timeline->threads[parent->slot]->birth_ns >
			    tree->timeline->threads[process->slot]->birth_ns)
			continue;
		process->parent = (uint32_t)(parent - tree->all);
		process->next = parent->first;
		parent->first = i;
	}
}

/* Parents before their children. A circle of parents has no begin, and is left out: births rule it out. */
static void put_in_order(const struct tree *tree, struct view_processes *out_list)
{
	for (uint32_t root = 0; root < tree->count; root++) {
		uint32_t at = tree->all[root].parent == NONE ? root : NONE, depth = 0;

		while (at != NONE && out_list->count < PROCESSES_MAX) {
			const struct process *process = &tree->all[at];

			out_list->at[out_list->count++] = (struct view_process){
				.tgid = process->tgid,
				.slot = process->slot,
				.threads = process->threads,
				.active = process->active,
				.depth = depth,
			};
			if (process->first != NONE) {
				at = process->first;
				depth++;
				continue;
			}
			while (at != NONE && (at == root || tree->all[at].next == NONE)) {
				at = at == root ? NONE : tree->all[at].parent;
				depth -= depth != 0;
			}
			at = at == NONE ? NONE : tree->all[at].next;
		}
	}
}

const char *view_process_name(const struct timeline *timeline, const struct view_process *process)
{
	return process->tgid ? timeline_comm(timeline, process->slot) : "kernel threads";
}

void view_processes_make(const struct timeline *timeline, uint64_t start_ns, uint64_t end_ns,
			 struct view_processes *out_list)
{
	struct tree tree = { .timeline = timeline };
	struct rows_busy rows;

	rows_busy_make(timeline, start_ns, end_ns, &rows);
	collect(&tree, rows.slots, rows.count);
	add_threads(&tree, &rows, rows.count);
	link_children(&tree);
	*out_list = (struct view_processes){ .at = xcalloc(tree.count + 1, sizeof(*out_list->at)) };
	put_in_order(&tree, out_list);
	out_list->more = tree.count - out_list->count;
	rows_busy_fini(&rows);
	free(tree.all);
}

void view_processes_fini(struct view_processes *list)
{
	free(list->at);
	*list = (struct view_processes){ 0 };
}

uint32_t view_process_threads(const struct timeline *timeline, int32_t tgid,
			      const struct rows_busy *rows, uint32_t *out_slots, uint32_t most)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rows->count && count < most; i++) {
		if (tgid_of(timeline->threads[rows->slots[i]]) == tgid)
			out_slots[count++] = rows->slots[i];
	}
	return count;
}

/* ------------------------------------------------------------------- the answer */

/* Where it was when the recorder looked; NULL = it did not see this one itself, or it is in none. */
static const char *cgroup_of(const struct facts *facts, const uint32_t *fact_of,
			     const struct view_process *process)
{
	const struct fact_thread *fact =
		fact_of[process->slot] ? &facts->threads[fact_of[process->slot] - 1] : NULL;

	return fact && fact->tid == process->tgid && fact->cgroup && fact->cgroup[0] &&
			       strcmp(fact->cgroup, "/") != 0
		       ? fact->cgroup
		       : NULL;
}

static void put_process(struct json *json, const struct view *view,
			const struct view_process *process, const char *cgroup)
{
	json_begin_object(json, NULL);
	json_print_i64(json, "tgid", process->tgid);
	view_json_text(json, "comm", view_process_name(view->loaded->timeline, process));
	view_json_text(json, "cgroup", cgroup);
	json_print_u64(json, "depth", process->depth);
	json_print_u64(json, "threads", process->threads);
	json_print_u64(json, "active", process->active);
	json_end_object(json);
}

void view_answer_processes(const struct view *view, const struct view_query *query,
			   struct view_answer *out_answer)
{
	AUTO_FREE uint32_t *fact_of = NULL;
	struct view_processes list;
	uint64_t start_ns, end_ns;
	struct err err = { 0 };
	struct view_json json;

	if (view_window(view, query, &start_ns, &end_ns, &err) < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	view_processes_make(view->loaded->timeline, start_ns, end_ns, &list);
	fact_of = fact_of_threads(view->loaded->timeline, view->loaded->facts);
	view_json_begin(&json);
	json_begin_array(&json.json, "processes");
	for (uint32_t i = 0; i < list.count; i++)
		put_process(&json.json, view, &list.at[i],
			    cgroup_of(view->loaded->facts, fact_of, &list.at[i]));
	json_end_array(&json.json);
	json_print_u64(&json.json, "more", list.more);
	view_json_end(&json, out_answer);
	view_processes_fini(&list);
}

/* The threads of a process, busiest first. */
void view_answer_threads(const struct view *view, const struct view_query *query,
			 struct view_answer *out_answer)
{
	const struct timeline *timeline = view->loaded->timeline;
	uint32_t slots[VIEW_LANES_MAX / 2], count;
	struct rows_busy rows;
	uint64_t start_ns, end_ns, tgid;
	struct err err = { 0 };
	struct view_json json;
	int rc = view_window(view, query, &start_ns, &end_ns, &err);

	if (rc == 0)
		rc = view_query_number(query, "tgid", 0, INT32_MAX, 0, &tgid, &err);
	if (rc < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	rows_busy_make(timeline, start_ns, end_ns, &rows);
	count = view_process_threads(timeline, (int32_t)tgid, &rows, slots, ARRAY_LEN(slots));
	view_json_begin(&json);
	json_begin_array(&json.json, "lanes");
	for (uint32_t i = 0; i < count; i++)
		view_json_slot(&json.json, NULL, view, slots[i]);
	json_end_array(&json.json);
	view_json_end(&json, out_answer);
	rows_busy_fini(&rows);
}
