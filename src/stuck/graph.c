/*
 * graph.c - nodes are threads, and processes, any thread of which could do it.
 *
 * Both are numbered: threads as they stand in the result, then processes. Everything costs as much as
 * there are edges.
 */
#include "stuck/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

#define NONE	  UINT32_MAX
#define CHAIN_MAX 512 /* how far a chain is followed: a power of two */

struct graph {
	struct stuck *stuck;
	uint32_t threads;
	uint32_t nodes;
	struct map process_of; /* tgid to its node */
	uint32_t *first;       /* of a process: its first thread */
	uint32_t *next;	       /* of a node: where its edges begin in 'to'; one more at the end */
	uint32_t *to;	       /* targets */
	bool *is_soft;	       /* of such an edge: not needed for a wait that needs_all */
	bool *goes_on;	       /* could go on by itself or by somebody */
	bool *has_hope;	       /* the same, where what names nobody is for its own process to end */
	uint32_t *circle;      /* which strongly connected part; NONE = not stuck */
};

static uint32_t thread_node(const struct stuck *stuck, int32_t tid)
{
	const struct stuck_thread *thread = stuck_find(stuck, tid);

	return thread ? (uint32_t)(thread - stuck->threads) : NONE;
}

static uint32_t target_of(const struct graph *graph, const struct stuck_edge *edge)
{
	uint64_t *process;

	if (!edge->is_process)
		return thread_node(graph->stuck, edge->tid);
	process = map_find(&graph->process_of, (uint64_t)(uint32_t)edge->tid);
	return process ? (uint32_t)*process : NONE;
}

static void add_processes(struct graph *graph)
{
	const struct stuck *stuck = graph->stuck;

	graph->first = xcalloc(graph->threads + 1, sizeof(*graph->first));
	for (uint32_t i = 0; i < graph->threads; i++) {
		if (i && stuck->threads[i - 1].tgid == stuck->threads[i].tgid)
			continue;
		graph->first[graph->nodes - graph->threads] = i;
		map_put(&graph->process_of, (uint64_t)(uint32_t)stuck->threads[i].tgid,
			graph->nodes++);
	}
}

/* Those that live; of a process that is a zombie, that one. */
static uint32_t add_members(struct graph *graph, uint32_t first, uint32_t at)
{
	const struct stuck_thread *threads = graph->stuck->threads;
	uint32_t begin = at;

	for (uint32_t i = first; i < graph->threads && threads[i].tgid == threads[first].tgid;
	     i++) {
		if (threads[i].kind != STUCK_EXITED)
			graph->to[at++] = i;
	}
	if (at == begin)
		graph->to[at++] = first;
	return at;
}

static void add_edges(struct graph *graph)
{
	struct stuck *stuck = graph->stuck;
	uint32_t at = 0;
	size_t total = 2 * (size_t)graph->threads;

	for (uint32_t i = 0; i < graph->threads; i++)
		total += stuck->threads[i].edge_count;
	graph->next = xcalloc(graph->nodes + 1, sizeof(*graph->next));
	graph->to = xcalloc(total + 1, sizeof(*graph->to));
	graph->is_soft = xcalloc(total + 1, sizeof(*graph->is_soft));
	for (uint32_t i = 0; i < graph->threads; i++) {
		graph->next[i] = at;
		for (size_t k = 0; k < stuck->threads[i].edge_count; k++) {
			const struct stuck_edge *edge = &stuck->threads[i].edges[k];
			uint32_t to = target_of(graph, edge);

			if (to == NONE) { /* whoever that is: it may go on */
				stuck->threads[i].is_complete = false;
				continue;
			}
			graph->is_soft[at] = stuck->threads[i].needs_all && edge->is_inferred;
			graph->to[at++] = to;
		}
		if (stuck->threads[i].is_inside) {
			const uint64_t *own = map_find(&graph->process_of,
						       (uint64_t)(uint32_t)stuck->threads[i].tgid);

			graph->to[at++] = own ? (uint32_t)*own : i;
		}
	}
	for (uint32_t node = graph->threads; node < graph->nodes; node++) {
		graph->next[node] = at;
		at = add_members(graph, graph->first[node - graph->threads], at);
	}
	graph->next[graph->nodes] = at;
}

/* Whether it goes on as far as it is known of its targets that they do. */
static bool goes_on_with(const struct graph *graph, uint32_t node, const bool *goes_on)
{
	if (node >= graph->threads || !graph->stuck->threads[node].needs_all)
		return true;
	for (uint32_t i = graph->next[node]; i < graph->next[node + 1]; i++) {
		if (!graph->is_soft[i] && !goes_on[graph->to[i]])
			return false;
	}
	return true;
}

static bool goes_on_alone(const struct graph *graph, uint32_t node, const bool *goes_on)
{
	const struct stuck_thread *thread = &graph->stuck->threads[node];

	if ((thread->kind != STUCK_TASKS && thread->kind != STUCK_TRACED) || thread->is_timed)
		return true;
	if (thread->needs_all) /* those who are not known could go on */
		return goes_on_with(graph, node, goes_on);
	if (!thread->is_complete)
		return true;
	for (size_t i = 0; i < thread->edge_count; i++) {
		if (thread->edges[i].is_inferred)
			return true;
	}
	return thread->edge_count == 0;
}

/* Backwards from those that go on: who waits for them goes on, too. */
static void spread(const struct graph *graph, bool *goes_on, bool is_inside)
{
	uint32_t edges = graph->next[graph->nodes];
	AUTO_FREE uint32_t *begin = xcalloc(graph->nodes + 2, sizeof(*begin));
	AUTO_FREE uint32_t *from = xcalloc(edges + 1, sizeof(*from));
	AUTO_FREE uint32_t *queue = xcalloc(graph->nodes + 1, sizeof(*queue));
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < edges; i++)
		begin[graph->to[i] + 2]++;
	for (uint32_t i = 2; i < graph->nodes + 2; i++)
		begin[i] += begin[i - 1];
	for (uint32_t node = 0; node < graph->nodes; node++) {
		for (uint32_t i = graph->next[node]; i < graph->next[node + 1]; i++)
			from[begin[graph->to[i] + 1]++] = node;
	}
	for (uint32_t node = 0; node < graph->threads; node++) {
		const struct stuck_thread *thread = &graph->stuck->threads[node];

		goes_on[node] = goes_on_alone(graph, node, goes_on) &&
				!(is_inside && thread->is_inside) && !thread->is_closed;
		if (goes_on[node])
			queue[tail++] = node;
	}
	while (head < tail) {
		uint32_t node = queue[head++];

		for (uint32_t i = begin[node]; i < begin[node + 1]; i++) {
			if (goes_on[from[i]] || !goes_on_with(graph, from[i], goes_on))
				continue;
			goes_on[from[i]] = true;
			queue[tail++] = from[i];
		}
	}
}

/* Tarjan's algorithm, without recursion: a chain may be as long as there are threads. */
struct walk {
	uint32_t *order; /* when a node was met; NONE = not yet */
	uint32_t *low;
	uint32_t *stack;
	uint32_t *path; /* nodes under way */
	uint32_t *edge; /* the next edge of each */
	uint32_t met;
	uint32_t depth;
	uint32_t stacked;
};

static void walk_enter(const struct graph *graph, struct walk *walk, uint32_t node)
{
	walk->order[node] = walk->low[node] = walk->met++;
	walk->edge[node] = graph->next[node];
	walk->stack[walk->stacked++] = node;
	walk->path[walk->depth++] = node;
}

static void walk_leave(struct graph *graph, struct walk *walk, uint32_t node)
{
	uint32_t member;

	walk->depth--;
	if (walk->depth && walk->low[node] < walk->low[walk->path[walk->depth - 1]])
		walk->low[walk->path[walk->depth - 1]] = walk->low[node];
	if (walk->low[node] != walk->order[node])
		return;
	do {
		member = walk->stack[--walk->stacked];
		graph->circle[member] = node;
	} while (member != node);
}

static void walk_from(struct graph *graph, struct walk *walk, uint32_t start)
{
	walk_enter(graph, walk, start);
	while (walk->depth) {
		uint32_t node = walk->path[walk->depth - 1], to;

		if (walk->edge[node] == graph->next[node + 1]) {
			walk_leave(graph, walk, node);
			continue;
		}
		to = graph->to[walk->edge[node]];
		if (graph->is_soft[walk->edge[node]++] || graph->goes_on[to])
			continue;
		if (walk->order[to] == NONE)
			walk_enter(graph, walk, to);
		else if (graph->circle[to] == NONE && walk->order[to] < walk->low[node])
			walk->low[node] = walk->order[to];
	}
}

static void find_circles(struct graph *graph)
{
	size_t nodes = graph->nodes + 1;
	AUTO_FREE uint32_t *memory = xcalloc(nodes * 5, sizeof(*memory));
	struct walk walk = { memory,
			     memory + nodes,
			     memory + 2 * nodes,
			     memory + 3 * nodes,
			     memory + 4 * nodes,
			     0,
			     0,
			     0 };

	memset(walk.order, 0xff, nodes * sizeof(*walk.order));
	memset(graph->circle, 0xff, nodes * sizeof(*graph->circle));
	for (uint32_t node = 0; node < graph->threads; node++) {
		if (!graph->goes_on[node] && walk.order[node] == NONE)
			walk_from(graph, &walk, node);
	}
}

static bool waits_for_itself(const struct graph *graph, uint32_t node)
{
	for (uint32_t i = graph->next[node]; i < graph->next[node + 1]; i++) {
		if (graph->to[i] == node && !graph->is_soft[i])
			return true;
	}
	return false;
}

static struct stuck_cycle *add_cycle(struct stuck *stuck, size_t *cap)
{
	stuck->cycles = vec_room(stuck->cycles, stuck->cycle_count, cap, sizeof(*stuck->cycles));
	stuck->cycles[stuck->cycle_count] = (struct stuck_cycle){ 0 };
	return &stuck->cycles[stuck->cycle_count++];
}

/*
 * Parts in which somebody waits for what names nobody, and from where other ones are reached: those who wait for
 * somebody there tell more, and who of all was to end the wait is not known.
 */
static void find_vague_parts(const struct graph *graph, bool *is_closed, bool *is_vague)
{
	for (uint32_t node = 0; node < graph->threads; node++) {
		if (graph->circle[node] != NONE && graph->stuck->threads[node].is_closed)
			is_closed[graph->circle[node]] = true;
	}
	for (uint32_t node = 0; node < graph->nodes; node++) {
		uint32_t part = graph->circle[node];

		for (uint32_t i = graph->next[node]; part != NONE && i < graph->next[node + 1];
		     i++) {
			uint32_t to = graph->circle[graph->to[i]];

			if (to != NONE && to != part && !graph->is_soft[i])
				is_vague[part] = is_closed[part];
		}
	}
}

/* Parts of one node are circles only when it waits for itself. By the first thread of each. */
static void add_cycles(struct graph *graph)
{
	struct stuck *stuck = graph->stuck;
	AUTO_FREE uint32_t *size = xcalloc(graph->nodes + 1, sizeof(*size));
	AUTO_FREE uint32_t *cycle = xcalloc(graph->nodes + 1, sizeof(*cycle));
	AUTO_FREE bool *is_closed = xcalloc(graph->nodes + 1, sizeof(*is_closed));
	AUTO_FREE bool *is_vague = xcalloc(graph->nodes + 1, sizeof(*is_vague));
	size_t cap = 0;

	find_vague_parts(graph, is_closed, is_vague);
	for (uint32_t node = 0; node < graph->nodes; node++) {
		if (graph->circle[node] != NONE)
			size[graph->circle[node]]++;
	}
	for (uint32_t node = 0; node < graph->threads; node++) {
		uint32_t part = graph->circle[node];
		struct stuck_cycle *to;

		if (part == NONE)
			continue;
		if (is_vague[part]) {
			stuck->threads[node].root = stuck->threads[node].is_inside
							    ? STUCK_ROOT_INSIDE
							    : STUCK_ROOT_VICTIM;
			continue;
		}
		if (size[part] < 2 && !waits_for_itself(graph, node)) {
			stuck->threads[node].root = STUCK_ROOT_VICTIM;
			continue;
		}
		stuck->threads[node].root = STUCK_ROOT_DEADLOCK;
		if (!cycle[part]) {
			(void)add_cycle(stuck, &cap);
			cycle[part] = (uint32_t)stuck->cycle_count;
		}
		to = &stuck->cycles[cycle[part] - 1];
		to->is_closed = is_closed[part];
		to->tids = xrealloc(to->tids, to->count + 1, sizeof(*to->tids));
		to->tids[to->count++] = stuck->threads[node].tid;
	}
}

/* All threads of a process are stopped, or frozen: the first one stands for all. */
static bool are_held(const struct graph *graph, uint32_t process)
{
	enum stuck_kind kind = STUCK_UNKNOWN;

	for (uint32_t i = graph->next[process]; i < graph->next[process + 1]; i++) {
		kind = graph->stuck->threads[graph->to[i]].kind;
		if (kind != graph->stuck->threads[graph->to[graph->next[process]]].kind)
			return false;
	}
	return kind == STUCK_STOPPED || kind == STUCK_FROZEN;
}

/* The one thread of the process; beside that which waits, unless a signal's handler could run in it. NONE = several. */
static uint32_t only_other(const struct graph *graph, uint32_t process, uint32_t waits)
{
	const uint32_t *members = graph->to + graph->next[process];
	uint32_t count = graph->next[process + 1] - graph->next[process];

	if (count == 1)
		return members[0];
	if (count != 2 || !graph->stuck->threads[waits].is_complete)
		return NONE;
	if (members[0] == waits)
		return members[1];
	return members[1] == waits ? members[0] : NONE;
}

/* The one task that is waited for; NULL = several come into question. */
static const struct stuck_thread *only_target(const struct graph *graph, uint32_t node)
{
	const struct stuck *stuck = graph->stuck;
	uint32_t to;

	if (stuck->threads[node].edge_count != 1 || graph->next[node + 1] - graph->next[node] != 1)
		return NULL;
	to = graph->to[graph->next[node]];
	if (to >= graph->threads) { /* a process: when it has one thread alone */
		uint32_t other = only_other(graph, to, node);

		if (other == NONE && !are_held(graph, to))
			return NULL;
		to = other == NONE ? graph->to[graph->next[to]] : other;
	}
	return &stuck->threads[to];
}

/* Brent's way of noticing that a chain leads back: it is compared with where it was at powers of two. */
static void graph_follow(const struct graph *graph, uint32_t start)
{
	struct stuck_thread *first = &graph->stuck->threads[start];
	const struct stuck_thread *at = first, *kept = first;
	uint32_t steps = 0, power = 1;

	while (power <= CHAIN_MAX) {
		const struct stuck_thread *to =
			at->edge_count ? only_target(graph, (uint32_t)(at - graph->stuck->threads))
				       : NULL;

		if (!to)
			break;
		at = to;
		if (at->root == STUCK_ROOT_DEADLOCK) {
			first->root = STUCK_ROOT_BEFORE;
			first->root_tid = at->tid;
			return;
		}
		if (at == kept) {
			first->root = STUCK_ROOT_RING;
			return;
		}
		if (++steps == power) {
			kept = at;
			power *= 2;
			steps = 0;
		}
	}
	first->root = at->edge_count ? STUCK_ROOT_ANY
		      : at == first  ? STUCK_ROOT_SELF
				     : STUCK_ROOT_TASK;
	first->root_tid = at->tid;
}

static void find_roots(const struct graph *graph)
{
	struct stuck *stuck = graph->stuck;

	for (uint32_t node = 0; node < graph->threads; node++) {
		if (stuck->threads[node].root != STUCK_ROOT_SELF)
			continue;
		if (graph->has_hope[node])
			graph_follow(graph, node);
		else
			stuck->threads[node].root = STUCK_ROOT_INSIDE;
	}
}

/* Waiters by whom they wait for, and what for. */
struct waiter {
	int32_t owner;
	int32_t tid;
	const char *object;
	bool is_inferred; /* that it is that owner */
};

/* "lock of fd 3 = /x": each has its own number of the file. */
static const char *common_object(const struct stuck_thread *thread)
{
	return thread->object + thread->common_at;
}

static int by_owner(const void *left, const void *right)
{
	const struct waiter *a = left, *b = right;
	int order;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	order = strcmp(a->object, b->object);
	return order ? order : (a->tid > b->tid) - (a->tid < b->tid);
}

static void add_convoy(struct stuck *stuck, size_t *cap, const struct waiter *waiters, size_t count)
{
	struct stuck_convoy *convoy;

	stuck->convoys =
		vec_room(stuck->convoys, stuck->convoy_count, cap, sizeof(*stuck->convoys));
	convoy = &stuck->convoys[stuck->convoy_count++];
	*convoy = (struct stuck_convoy){ .tid = waiters[0].owner, .count = count };
	memcpy(convoy->object, waiters[0].object, strnlen(waiters[0].object, STUCK_OBJECT_MAX - 1));
	convoy->tids = xcalloc(count, sizeof(*convoy->tids));
	convoy->is_inferred = true;
	for (size_t i = 0; i < count; i++) {
		convoy->tids[i] = waiters[i].tid;
		convoy->is_inferred &= waiters[i].is_inferred;
	}
}

/* Only of what has one owner: a lock. Those who wait for any of a process's threads queue for nobody. */
static void find_convoys(struct stuck *stuck)
{
	struct waiter *waiters = xcalloc(stuck->count + 1, sizeof(*waiters));
	size_t count = 0, cap = 0, from = 0;

	for (size_t i = 0; i < stuck->count; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];

		if (thread->kind == STUCK_TASKS && thread->edge_count == 1 &&
		    (!thread->edges[0].is_process || thread->common_at))
			waiters[count++] = (struct waiter){ thread->edges[0].tid, thread->tid,
							    common_object(thread),
							    thread->edges[0].is_inferred };
	}
	qsort(waiters, count, sizeof(*waiters), by_owner);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && waiters[i].owner == waiters[from].owner &&
		    strcmp(waiters[i].object, waiters[from].object) == 0)
			continue;
		if (i - from >= STUCK_CONVOY_MIN)
			add_convoy(stuck, &cap, waiters + from, i - from);
		from = i;
	}
	free(waiters);
}

void graph_run(struct stuck *stuck)
{
	struct graph graph = { .stuck = stuck,
			       .threads = (uint32_t)stuck->count,
			       .nodes = (uint32_t)stuck->count };

	add_processes(&graph);
	add_edges(&graph);
	graph.goes_on = xcalloc(graph.nodes + 1, sizeof(*graph.goes_on));
	graph.circle = xcalloc(graph.nodes + 1, sizeof(*graph.circle));
	graph.has_hope = xcalloc(graph.nodes + 1, sizeof(*graph.has_hope));
	spread(&graph, graph.goes_on, false);
	spread(&graph, graph.has_hope, true);
	find_circles(&graph);
	add_cycles(&graph);
	find_roots(&graph);
	find_convoys(stuck);
	map_fini(&graph.process_of);
	free(graph.first);
	free(graph.next);
	free(graph.to);
	free(graph.is_soft);
	free(graph.goes_on);
	free(graph.has_hope);
	free(graph.circle);
}

void graph_undo(struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->cycle_count; i++)
		free(stuck->cycles[i].tids);
	for (size_t i = 0; i < stuck->convoy_count; i++)
		free(stuck->convoys[i].tids);
	free(stuck->cycles);
	free(stuck->convoys);
	stuck->cycles = NULL;
	stuck->convoys = NULL;
	stuck->cycle_count = stuck->convoy_count = 0;
	for (size_t i = 0; i < stuck->count; i++) {
		stuck->threads[i].root = STUCK_ROOT_SELF;
		stuck->threads[i].root_tid = 0;
	}
}
