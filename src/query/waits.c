/* waits.c - what threads waited for, who ended it, and wake-ups in both directions. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "query/read_int.h"
#include "timeline/totals.h"

struct hr_waits {
	struct hr_trace *trace;
	uint32_t generation;
	uint32_t thread;
	uint32_t last; /* given out already */
	struct tl_iter iter;
};

struct hr_edges {
	struct hr_trace *trace;
	uint32_t generation;
	uint32_t thread;
	bool in;		  /* into the thread: its waits from 'wait' on */
	struct tl_edge_iter iter; /* out of it */
	uint32_t wait;
	uint64_t start_ns;
	uint64_t end_ns;
};

_Static_assert((int)HR_ACTOR_SOFTIRQ == (int)ACTOR_SOFTIRQ, "actors are those of the timeline");
_Static_assert((int)HR_WAIT_DISK_SLEEP == (int)WAIT_DISK_SLEEP &&
		       (int)HR_WAIT_START_UNKNOWN == (int)WAIT_START_UNKNOWN &&
		       (int)HR_WAIT_MANY == (int)WAIT_MANY && (int)HR_WAIT_NO_IO == (int)WAIT_NO_IO,
	       "flags are those of the timeline");
_Static_assert((int)HR_WAIT_FOR_STOP == (int)WAIT_FOR_STOP &&
		       (int)HR_WAIT_FOR_NETWORK == (int)WAIT_FOR_NETWORK &&
		       (int)HR_WAIT_FOR_UNKNOWN == (int)WAIT_FOR_UNKNOWN,
	       "kinds of waits are those of the timeline");

const char *hr_wait_kind_name(enum hr_wait_kind kind)
{
	return wait_kind_name((enum wait_kind)kind);
}

static struct hr_actor actor_of(const struct timeline *tl, const struct actor *actor)
{
	return (struct hr_actor){
		.time_ns = actor->time_ns,
		.state = state_of_word(actor->word, false),
		.below = state_of_word(actor->below, false),
		.name = timeline_name(tl, actor->name),
		.kind = actor->kind,
		.thread = actor->slot < tl->thread_count ? actor->slot : HR_NONE,
		.signal = actor->signal,
	};
}

/* Give wait 'index', which exists, to the caller. */
/* What is awaited, by the name that the recorder found for a futex, where there is one. */
static const char *object_of(struct hr_trace *trace, uint32_t thread, const struct wait *wait)
{
	const struct timeline *tl = trace->loaded.timeline;
	const struct stacks *stacks = trace->loaded.facts->stacks;
	const char *object = wait->flags & WAIT_ASKED ? "" : timeline_name(tl, wait->object);
	const struct stack_futex *futex =
		stacks ? stacks_named_futex(stacks, tl->threads[thread]->tgid, object,
					    wait->begin_ns)
		       : NULL;

	return futex ? read_keep(trace, stack_futex_text(stacks, futex, "futex")) : object;
}

static int give_wait(struct hr_trace *trace, uint32_t thread, uint32_t index,
		     struct hr_wait *out_wait)
{
	static const struct actor nobody = { .slot = SLOT_NONE };
	const struct timeline *tl = trace->loaded.timeline;
	struct hr_wait given;
	struct wait wait;
	int rc;

	timeline_wait(tl, thread, index, &wait);
	rc = read_check_damage(trace);
	if (rc < 0)
		return rc;
	given = (struct hr_wait){
		.begin_ns = wait.begin_ns,
		.woken_ns = wait.woken_ns,
		.in = state_of_word(wait.in, false),
		.thread = thread,
		.index = index,
		.kind = wait_kind(&wait),
		.flags = wait.flags & WAIT_FLAGS,
		.fd = wait.flags & WAIT_ASKED ? -1 : wait.fd,
		.object = object_of(trace, thread, &wait),
		.stack = timeline_name(tl, wait.stack),
		.waker = actor_of(tl, &wait.waker),
		.origin = actor_of(tl, wait.flags & (WAIT_ASKED | WAIT_GROUP) || wait_asked(&wait)
					       ? &nobody
					       : &wait.origin),
	};
	read_give(out_wait, &given, sizeof(given));
	return 0;
}

int hr_wait_get(struct hr_trace *trace, uint32_t thread, uint32_t index, struct hr_wait *out_wait)
{
	int rc = read_check_thread(trace, thread);

	if (rc == 0)
		rc = read_check_size(trace, out_wait, sizeof(*out_wait));
	if (rc < 0)
		return rc;
	if (index >= trace->loaded.timeline->threads[thread]->wait_count)
		return err_set(&trace->err, -EINVAL, "there is no wait with index %u", index);
	return give_wait(trace, thread, index, out_wait);
}

/* -------------------------------------------------------------------------- actors */

static const char *named(struct hr_trace *trace, const char *what, const char *name)
{
	return *name ? read_keep(trace, xasprintf("%s %s", what, name)) : what;
}

static const char *signal_text(struct hr_trace *trace, const struct hr_actor *actor)
{
	const char *abbrev = sigabbrev_np((int)actor->signal);
	const char *by = actor->kind == HR_ACTOR_TIMER ? " by a timer" : "";

	if (actor->signal == SIGNAL_FREEZER)
		return "the freezer of its cgroup";
	return read_keep(trace, abbrev ? xasprintf("SIG%s%s", abbrev, by)
				       : xasprintf("signal %u%s", actor->signal, by));
}

const char *hr_actor_text(struct hr_trace *trace, const struct hr_actor *actor)
{
	const char *name = actor->name;

	/* The end of a child sends SIGCHLD: what it was in says more. */
	if (actor->signal && !(actor->signal == SIGCHLD && actor->kind == HR_ACTOR_THREAD))
		return signal_text(trace, actor);
	switch ((enum hr_actor_kind)actor->kind) {
	case HR_ACTOR_THREAD:
	case HR_ACTOR_IPI:
		return hr_state_text(trace, actor->state);
	case HR_ACTOR_TIMER:
		return named(trace, "timer", name);
	case HR_ACTOR_DISK:
		return *name ? name : "disk interrupt";
	case HR_ACTOR_NETWORK:
		return named(trace, "packet on", *name ? name : "an interface");
	case HR_ACTOR_IRQ:
		return *name ? named(trace, "irq", name) : "an interrupt";
	case HR_ACTOR_SOFTIRQ:
		return hr_state_kind(actor->state) == HR_KIND_SOFTIRQ
			       ? hr_state_text(trace, actor->state)
			       : "a softirq";
	case HR_ACTOR_NONE:
		break;
	}
	return "";
}

/* --------------------------------------------------------------------------- waits */

int hr_waits_new(struct hr_trace *trace, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
		 struct hr_waits **out_waits)
{
	const struct timeline *tl = trace->loaded.timeline;
	int rc = read_check_thread(trace, thread);
	struct hr_waits *waits;

	if (rc == 0)
		rc = read_cut_window(trace, &start_ns, &end_ns);
	if (rc < 0)
		return rc;
	waits = xcalloc(1, sizeof(*waits));
	waits->trace = trace;
	waits->generation = trace->generation;
	waits->thread = thread;
	waits->last = HR_NONE;
	tl_iter_thread(&waits->iter, tl, thread, start_ns, end_ns);
	*out_waits = waits;
	return 0;
}

/* The next wait of the intervals; HR_NONE at the end. */
static uint32_t next_wait(struct hr_waits *waits)
{
	struct tl_interval in;

	while (tl_iter_next(&waits->iter, &in)) {
		if (word_kind(in.word) == WORD_BLOCKED && word_arg(in.word) != waits->last) {
			waits->last = word_arg(in.word);
			return waits->last;
		}
	}
	return HR_NONE;
}

int hr_waits_next(struct hr_waits *waits, struct hr_wait *out_wait)
{
	struct hr_trace *trace = waits->trace;
	int rc = read_check_generation(trace, waits->generation);
	uint32_t index;

	if (rc == 0)
		rc = read_check_size(trace, out_wait, sizeof(*out_wait));
	if (rc < 0)
		return rc;
	index = next_wait(waits);
	rc = read_check_damage(trace);
	if (rc < 0 || index == HR_NONE)
		return rc;
	rc = give_wait(trace, waits->thread, index, out_wait);
	return rc < 0 ? rc : 1;
}

void hr_waits_free(struct hr_waits *waits)
{
	free(waits);
}

/* --------------------------------------------------------------------------- edges */

/* The first wait that may have ended at or after 'start_ns': waits follow one another. */
static uint32_t first_wait(const struct timeline *tl, uint32_t thread, uint64_t start_ns)
{
	uint32_t low = 0, high = tl->threads[thread]->wait_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct wait wait;

		timeline_wait(tl, thread, middle, &wait);
		if (wait.begin_ns < start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : 0;
}

static int edges_new(struct hr_trace *trace, const struct hr_edges *wanted,
		     struct hr_edges **out_edges)
{
	const struct timeline *tl = trace->loaded.timeline;
	struct hr_edges edges = *wanted, *made;
	int rc = read_check_thread(trace, edges.thread);

	if (rc == 0)
		rc = read_cut_window(trace, &edges.start_ns, &edges.end_ns);
	if (rc < 0)
		return rc;
	edges.trace = trace;
	edges.generation = trace->generation;
	if (edges.in)
		edges.wait = first_wait(tl, edges.thread, edges.start_ns);
	else
		tl_edges_begin(&edges.iter, tl, edges.thread, edges.start_ns, edges.end_ns);
	rc = read_check_damage(trace);
	if (rc < 0)
		return rc;
	made = xmalloc(sizeof(*made));
	*made = edges;
	*out_edges = made;
	return 0;
}

int hr_edges_out_new(struct hr_trace *trace, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
		     struct hr_edges **out_edges)
{
	const struct hr_edges wanted = {
		.thread = thread, .in = false, .start_ns = start_ns, .end_ns = end_ns
	};

	return edges_new(trace, &wanted, out_edges);
}

int hr_edges_in_new(struct hr_trace *trace, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
		    struct hr_edges **out_edges)
{
	const struct hr_edges wanted = {
		.thread = thread, .in = true, .start_ns = start_ns, .end_ns = end_ns
	};

	return edges_new(trace, &wanted, out_edges);
}

/* What ended 'wait' of thread 'to', as an edge. */
static struct hr_edge edge_of(const struct wait *wait, uint32_t to, uint32_t index)
{
	bool has_thread = wait->waker.kind == ACTOR_THREAD || wait->waker.kind == ACTOR_NETWORK;

	return (struct hr_edge){
		.time_ns = wait->woken_ns,
		.from = has_thread ? wait->waker.slot : HR_NONE,
		.to = to,
		.wait = index,
		.kind = wait->waker.kind,
	};
}

static bool next_in(struct hr_edges *edges, struct hr_edge *out_edge)
{
	const struct timeline *tl = edges->trace->loaded.timeline;
	struct wait wait;

	while (edges->wait < tl->threads[edges->thread]->wait_count) {
		uint32_t index = edges->wait++;

		timeline_wait(tl, edges->thread, index, &wait);
		if (wait.begin_ns >= edges->end_ns)
			return false;
		if (!wait.woken_ns || wait.woken_ns < edges->start_ns ||
		    wait.woken_ns >= edges->end_ns)
			continue;
		*out_edge = edge_of(&wait, edges->thread, index);
		return true;
	}
	return false;
}

static bool next_out(struct hr_edges *edges, struct hr_edge *out_edge)
{
	struct tl_edge edge;
	struct wait wait;

	if (!tl_edges_next(&edges->iter, &edge))
		return false;
	timeline_wait(edges->trace->loaded.timeline, edge.slot, edge.wait, &wait);
	*out_edge = edge_of(&wait, edge.slot, edge.wait);
	out_edge->time_ns = edge.time_ns;
	out_edge->from = edges->thread;
	return true;
}

int hr_edges_next(struct hr_edges *edges, struct hr_edge *out_edge)
{
	struct hr_trace *trace = edges->trace;
	int rc = read_check_generation(trace, edges->generation);
	struct hr_edge edge;
	bool got;

	if (rc == 0)
		rc = read_check_size(trace, out_edge, sizeof(edge));
	if (rc < 0)
		return rc;
	got = edges->in ? next_in(edges, &edge) : next_out(edges, &edge);
	rc = read_check_damage(trace);
	if (rc < 0 || !got)
		return rc;
	read_give(out_edge, &edge, sizeof(edge));
	return 1;
}

void hr_edges_free(struct hr_edges *edges)
{
	free(edges);
}
