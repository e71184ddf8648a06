/* charge_result.c - what was charged as the result has it: roots with words, the chain, the paths. */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/charge_int.h"
#include "analyse/why/fold.h"
#include "analyse/why/why_int.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/sorting.h"

#define PARTS 6 /* of a thread's work that are named */

static uint32_t text_id(const struct charged *charged, const char *text)
{
	return names_add(&charged->query->why->texts, text, 4096);
}

int why_root_compare_what(const struct why_root *a, const struct why_root *b)
{
	int order = strcmp(a->what, b->what);

	return order ? order : why_reason_compare(a->what_data, b->what_data);
}

int why_root_compare_object(const struct why_root *a, const struct why_root *b)
{
	int order = strcmp(a->object, b->object);

	return order ? order : (a->objects > b->objects) - (a->objects < b->objects);
}

bool why_root_is_any_timer(const struct why_root *root)
{
	return root->kind == WHY_TIMER && !root->is_call && !root->timed_out && !root->why &&
	       strcmp(root->what, "sleep") == 0;
}

static int compare_roots(const void *a, const void *b)
{
	const struct why_root *x = a, *y = b;
	int by_text;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->who.tid != y->who.tid)
		return x->who.tid < y->who.tid ? -1 : 1;
	by_text = why_root_compare_what(x, y);
	if (!by_text)
		by_text = why_root_compare_object(x, y);
	return by_text ? by_text : why_reason_compare(x->inferred, y->inferred);
}

static const char *kept(const struct charged *charged, uint32_t id)
{
	return names_text(&charged->query->why->texts, id);
}

static const struct why_reason *reason_at(const struct charged *charged, uint32_t id)
{
	return why_reason_at(charged->query->why, id);
}

ORDER_FUNCTION(compare_parts, struct part, ORDER_DOWN(ns), ORDER_UP(id));

/* One word, or shares, largest first, where no part is nearly all. */
static void name_work(const struct charged *charged, struct root *root)
{
	struct query *query = charged->query;
	const struct why_reason *shares = NULL;
	size_t count = 1;

	if (root->parts[0].ns * 10 >= root->ns * 9) {
		root->what = text_id(charged, describe_word(query, root->parts[0].id));
		root->is_call = word_is_call(query, root->parts[0].id);
		return;
	}
	while (count < root->part_count && count < PARTS && root->parts[count].ns * 20 >= root->ns)
		count++;
	while (count-- > 0)
		shares = why_reason_keep(
			query->why, &(struct why_reason){
					    .kind = WHY_REASON_SHARE,
					    .name = describe_word(query, root->parts[count].id),
					    .part_ns = root->parts[count].ns,
					    .whole_ns = root->ns,
					    .inner = shares,
				    });
	root->what_data = why_reason_id(shares);
}

/* The file that a disk read or wrote, or which of how many took longest. */
static void name_files(struct root *root)
{
	const struct part *most = &root->parts[0];

	root->object = most->id;
	root->objects = root->part_count == 1 || most->ns * 10 >= root->ns * 9
				? 0
				: (uint32_t)root->part_count;
}

static bool is_about_cpu(const struct root *root)
{
	return root->kind == WHY_CPU_QUEUE || root->kind == WHY_PREEMPTED;
}

static void name_parts(const struct charged *charged, struct root *root)
{
	root->kept_off = SLOT_NONE;
	if (!root->part_count)
		return;
	qsort(root->parts, root->part_count, sizeof(*root->parts), compare_parts);
	if (is_about_cpu(root))
		root->kept_off =
			root->parts[0].ns * 10 >= root->ns * 9 ? root->parts[0].id : SLOT_NONE;
	else if (root->kind == WHY_DISK)
		name_files(root);
	else
		name_work(charged, root);
}

/* What was said most: the part of it; NULL = nothing. */
static const struct part *told_most(const struct part *told, size_t count)
{
	const struct part *most = NULL;

	for (size_t i = 0; i < count; i++) {
		if (told[i].id && (!most || told[i].ns > most->ns))
			most = &told[i];
	}
	return most;
}

/* The same of a root; what is of less than a twentieth of it says nothing about it. */
static const struct part *root_told(const struct root *root)
{
	const struct part *most = told_most(root->told, root->told_count);

	return most && most->ns * 20 >= root->ns ? most : NULL;
}

/* Asked of sleeps that matter: it is a walk over all that the thread did. */
static bool may_poll(const struct charged *charged, const struct root *root)
{
	return root->kind == WHY_TIMER && !root->timed_out && root->slot != SLOT_NONE &&
	       root->ns * 20 >= charged->query->why->class_ns;
}

/* Whose requests it worked at for most of the time, but for those of who is held up by that. */
static uint32_t client_of(const struct charged *charged, const struct root *root)
{
	struct tl_thread *const *threads = charged->query->tl->threads;

	for (size_t i = 0; i < root->client_count; i++) {
		uint32_t slot = root->clients[i].id;

		if (root->clients[i].ns * 3 >= root->ns * 2 &&
		    threads[slot]->tgid != threads[charged->query->slot]->tgid)
			return slot;
	}
	return SLOT_NONE;
}

static void publish_roots(const struct charged *charged)
{
	struct why *why = charged->query->why;

	why->roots = xcalloc(charged->root_count, sizeof(*why->roots));
	for (size_t i = 0; i < charged->root_count; i++) {
		struct root *root = &charged->roots[i];
		const struct part *told = root_told(root);

		name_parts(charged, root);
		why->roots[i] = (struct why_root){
			.ns = root->ns,
			.kind = (enum why_kind)root->kind,
			.class = (enum why_class)root->class,
			.who = why_thread(charged->query, root->slot),
			.what = kept(charged, root->what),
			.is_call = root->is_call,
			.what_data = reason_at(charged, root->what_data),
			.object = kept(charged, root->object),
			.objects = root->objects,
			.no_name = root->no_name,
			.why = reason_at(charged, root->reason),
			.inferred = reason_at(charged, root->inferred),
			.timed_out = root->timed_out,
			.in_circle = root->in_circle,
			.kept_off = why_thread(charged->query, root->kept_off),
			.client = why_thread(charged->query, client_of(charged, root)),
			.count = root->count,
			.longest_ns = root->longest_ns,
			.told = told ? kept(charged, told->id) : NULL,
			.told_ns = told ? told->ns : 0,
			.waited = code_result(root->waited, root->waited_count),
			.code = code_root_result(root),
			.spans = root->spans,
			.span_count = root->span_count,
			.span_cap = root->span_cap,
		};
		root->spans = NULL;
		if (may_poll(charged, root))
			why->roots[i].polls = query_polls(charged->query, root->slot);
	}
	why->root_count = charged->root_count;
	qsort(why->roots, why->root_count, sizeof(*why->roots), compare_roots);
	why_roots_rank(why->roots, why->root_count);
}

static bool is_asked_for(const struct charged *charged, const struct root *root)
{
	const struct why_root *of = charged->query->opts->chain_of;
	const struct timeline *tl = charged->query->tl;
	int32_t tid = root->slot < tl->thread_count ? tl->threads[root->slot]->tid : 0;

	return of && root->kind == of->kind && root->class == of->class && tid == of->who.tid;
}

/* The largest that is not the target's own work, of those that 'may' allows; UINT32_MAX = there is none. */
static uint32_t largest_root(const struct charged *charged,
			     bool (*may)(const struct charged *charged, const struct root *root))
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < charged->root_count; i++) {
		const struct root *root = &charged->roots[i];

		if (root->kind != WHY_WORKING && (!may || may(charged, root)) &&
		    (best == UINT32_MAX || root->ns > charged->roots[best].ns))
			best = i;
	}
	return best;
}

static bool outranks_idle(const struct charged *charged, const struct root *root)
{
	return why_outranks_idle(root->class, root->ns, charged->query->why->class_ns);
}

/* The root whose chain is told: that asked for, or the largest; a wait for work only where nothing else tells more. */
static uint32_t chain_root(const struct charged *charged)
{
	uint32_t best = largest_root(charged, is_asked_for), held;

	if (best != UINT32_MAX)
		return best;
	best = largest_root(charged, NULL);
	if (best == UINT32_MAX || charged->roots[best].class != WHY_IDLE)
		return best;
	held = largest_root(charged, outranks_idle);
	return held == UINT32_MAX ? best : held;
}

static uint32_t widest_node(const struct charged *charged, uint32_t root)
{
	uint32_t best = NODE_NONE;
	uint64_t best_ns = 0;

	for (size_t i = 0; i < charged->flow_count; i++) {
		const struct flow *flow = &charged->flows[i];

		if (flow->root == root && flow->ns > best_ns) {
			best_ns = flow->ns;
			best = flow->node;
		}
	}
	return best;
}

static bool under(const struct charged *charged, uint32_t node, uint32_t ancestor)
{
	while (node != NODE_NONE && node != ancestor)
		node = charged->nodes[node].parent;
	return node == ancestor;
}

static uint64_t time_through(const struct charged *charged, uint32_t root, uint32_t node)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < charged->flow_count; i++) {
		if (charged->flows[i].root == root && under(charged, charged->flows[i].node, node))
			ns += charged->flows[i].ns;
	}
	return ns;
}

/* Of a root that had the CPU, at the end of the chain: who waited for that. */
static struct why_thread root_kept_off(const struct charged *charged, const struct root *root,
				       uint32_t node)
{
	bool had_cpu = is_about_cpu(root) && node != NODE_NONE && root->slot != SLOT_NONE;

	return why_thread(charged->query, had_cpu ? charged->nodes[node].waker : SLOT_NONE);
}

static void publish_chain(const struct charged *charged)
{
	struct why *why = charged->query->why;
	uint32_t root = chain_root(charged);
	uint32_t last, depth = 0;
	const struct part *said;
	const struct root *end;

	if (root == UINT32_MAX)
		return;
	end = &charged->roots[root];
	said = root_told(end);
	last = widest_node(charged, root);
	for (uint32_t node = last; node != NODE_NONE; node = charged->nodes[node].parent)
		depth++;
	why->chain = xcalloc(depth + 1, sizeof(*why->chain));
	why->chain_count = depth + 1;
	for (uint32_t node = last, i = depth; node != NODE_NONE;
	     node = charged->nodes[node].parent) {
		const struct node *at = &charged->nodes[node];
		const struct part *told = told_most(at->told, at->told_count);
		const struct part *woke = told_most(at->woke, at->woke_count);

		why->chain[--i] = (struct why_hop){
			.who = why_thread(charged->query, at->slot),
			.what = kept(charged, at->what),
			.object = kept(charged, at->object),
			.woken_by = kept(charged, at->woken_by),
			.woken_by_data = reason_at(charged, at->woken_by_data),
			.is_call = at->is_call,
			.no_name = at->no_name,
			.woken_by_call = at->woken_by_call,
			.holding_call = at->holding_call,
			.helper = reason_at(charged, at->helper),
			.ns = time_through(charged, root, node),
			.count = at->count,
			.slices = at->slices,
			.waker = why_thread(charged->query, at->waker),
			.lock = at->lock ? kept(charged, at->lock) : NULL,
			.owner = why_thread(charged->query, at->owner),
			.expects =
				why_thread(charged->query, at->instead ? at->expects : SLOT_NONE),
			.expects_by = at->instead ? reason_at(charged, at->expects_by) : NULL,
			.inferred = reason_at(charged, at->inferred),
			.answerer =
				why_thread(charged->query, at->inferred ? at->answerer : SLOT_NONE),
			.holder = why_thread(charged->query, at->holder),
			.holding = at->holding ? kept(charged, at->holding) : "",
			.many_held = at->many_held,
			.halted = at->halted,
			.by_packet = at->by_packet,
			.known = at->known,
			.instead = reason_at(charged, at->instead),
			.told = told ? kept(charged, told->id) : NULL,
			.told_count = told ? told->ns : 0,
			.waker_told = woke ? kept(charged, woke->id) : NULL,
			.code = code_owned(at->code, at->code_count),
			.waker_code = code_owned(at->woken_in, at->woken_in_count),
		};
	}
	why->chain[depth] = (struct why_hop){
		.who = why_thread(charged->query, end->slot),
		.what = kept(charged, end->what),
		.why = reason_at(charged, end->reason),
		.what_data = reason_at(charged, end->what_data),
		.is_call = end->is_call,
		.objects = end->objects,
		.no_name = end->no_name,
		.kept_off = root_kept_off(charged, end, last),
		.object = kept(charged, end->object),
		.woken_by = "",
		.answerer = why_thread(charged->query, SLOT_NONE),
		.holder = why_thread(charged->query, SLOT_NONE),
		.holding = "",
		.ns = end->ns,
		.count = end->count,
		.waker = why_thread(charged->query, SLOT_NONE),
		.owner = why_thread(charged->query, SLOT_NONE),
		.told = said ? kept(charged, said->id) : NULL,
	};
}

/* All ways down, and how much time came to each end. */
static void publish_paths(const struct charged *charged)
{
	struct why *why = charged->query->why;
	why->step_count = charged->node_count;
	why->steps = xcalloc(charged->node_count + 1, sizeof(*why->steps));
	for (size_t i = 0; i < charged->node_count; i++) {
		const struct node *node = &charged->nodes[i];

		why->steps[i] = (struct why_step){
			.up = node->parent,
			.who = why_thread(charged->query, node->slot),
			.what = kept(charged, node->what),
			.object = kept(charged, node->object),
			.lock = node->lock ? kept(charged, node->lock) : NULL,
		};
	}
	why->path_count = charged->flow_count;
	why->paths = xcalloc(charged->flow_count + 1, sizeof(*why->paths));
	for (size_t i = 0; i < charged->flow_count; i++) {
		const struct flow *flow = &charged->flows[i];
		const struct root *root = &charged->roots[flow->root];
		const struct why_reason *reason = reason_at(charged, root->reason);
		bool several = root->part_count && root->kind != WHY_DISK && !is_about_cpu(root) &&
			       root->parts[0].ns * 10 < root->ns * 9;

		why->paths[i] = (struct why_path){
			.ns = flow->ns,
			.step = flow->node,
			.runnable = flow->node == NODE_NONE &&
				    (root->kind == WHY_PREEMPTED || root->kind == WHY_CPU_QUEUE ||
				     (reason && reason->kind == WHY_REASON_CPU_UNKNOWN)),
			.who = why_thread(charged->query, root->slot),
			.kind = (enum why_kind)root->kind,
			.what = several ? "" : kept(charged, root->what),
			.object = kept(charged, root->object),
			.objects = root->objects,
			.why = root->what_data && !several ? reason_at(charged, root->what_data)
							   : reason,
		};
	}
}

void charge_publish(const struct charged *charged)
{
	publish_roots(charged);
	publish_chain(charged);
	if (charged->query->opts->want_paths)
		publish_paths(charged);
}
