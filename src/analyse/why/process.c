/*
 * process.c - explain each thread, tell those apart that only waited, add up the rest.
 */
#include "analyse/why/process.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/why/background.h"
#include "analyse/why/fold.h"
#include "analyse/why/why_int.h"
#include "analyse/why/worst.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/facts.h"
#include "timeline/timeline.h"

#define FIRST_ROWS 10 /* as many as a report has: the first of them is compared with */

struct adding {
	struct why *parts; /* owned; one for each thread that lived in its window */
	uint32_t *sources; /* owned; index of its part, for each */
	bool *is_apart;	   /* owned; the same */
	size_t count;
	struct why *sum;
	const struct stacks *stacks; /* NULL = none */
	size_t root_cap;
};

void why_process_free(struct why_process *process)
{
	if (!process)
		return;
	why_fini(&process->told);
	free(process->apart);
	free(process->differs);
	free(process);
}

/* NULL stays that. */
static const char *kept(struct adding *adding, const char *text)
{
	return text ? why_keep(adding->sum, xstrdup(text)) : NULL;
}

static struct why_thread kept_thread(struct adding *adding, struct why_thread thread)
{
	thread.comm = kept(adding, thread.comm ? thread.comm : "");
	return thread;
}

static struct why_root kept_root(struct adding *adding, const struct why_root *root)
{
	struct why_root copy = *root;

	copy.who = kept_thread(adding, root->who);
	copy.what = kept(adding, root->what);
	copy.what_data = why_reason_keep(adding->sum, root->what_data);
	copy.object = kept(adding, root->object);
	copy.why = why_reason_keep(adding->sum, root->why);
	copy.kept_off = kept_thread(adding, root->kept_off);
	copy.client = kept_thread(adding, root->client);
	copy.polls.call = kept(adding, root->polls.call);
	copy.polls.error = kept(adding, root->polls.error);
	copy.polls.object = kept(adding, root->polls.object);
	copy.inferred = why_reason_keep(adding->sum, root->inferred);
	copy.told = kept(adding, root->told);
	copy.spans = NULL;
	copy.span_count = copy.span_cap = 0;
	return copy;
}

/* -------------------------------------------------------------- told apart */

/* It slept for a time that it chose, and for nothing else that is known. */
static bool is_sleep(const struct why_root *root, const struct why *why)
{
	return root->kind == WHY_TIMER && root->class == WHY_ASKED &&
	       root->who.tid == why->target.tid;
}

/* What it waited for did not come; who could have brought it is known by exclusion at most. */
static bool is_vain(const struct why_root *root, const struct why *why)
{
	if (root->inferred && root->inferred->kind == WHY_REASON_ONLY_ONE_LEFT)
		return true;
	return root->kind == WHY_STUCK && root->class != WHY_IDLE && !root->in_circle &&
	       root->who.tid == why->target.tid;
}

/* Of its time, that which passed without what it waited for, without work, or asleep for a time. */
static uint64_t waited_ns(const struct why *why)
{
	uint64_t ns = why->idle_ns;

	for (size_t i = 0; i < why->root_count; i++) {
		const struct why_root *root = &why->roots[i];

		if (is_vain(root, why) || is_sleep(root, why))
			ns += root->ns;
	}
	return ns;
}

/*
 * How the threads' names begin with which runtimes serve themselves: they compile, collect garbage,
 * look after timers. They are given work by others, which are not what holds them up.
 */
static const char *const runtime_threads[] = {
	/* HotSpot */
	"C1 CompilerThre",
	"C2 CompilerThre",
	"JVMCI CompilerT",
	"Common-Cleaner",
	"Finalizer",
	"G1 Conc#",
	"G1 Main Marker",
	"G1 Refine#",
	"G1 Service",
	"GC Thread#",
	"Monitor Deflati",
	"Notification Th",
	"Reference Handl",
	"Service Thread",
	"Signal Dispatch",
	"Sweeper thread",
	"VM Periodic Tas",
	"VM Thread",
	/* V8, node */
	"DelayedTaskSche",
	"V8 DefaultWorke",
	"V8Worker",
	"libuv-worker",
	/* .NET */
	".NET Finalizer",
	".NET SigHandler",
	".NET Tiered Com",
	/* Redis, jemalloc */
	"bio_aof",
	"bio_close_file",
	"bio_lazy_free",
	"jemalloc_bg_thd",
	/* memcached */
	"mc-assocmaint",
	"mc-idletimeout",
	"mc-itemcrawler",
	"mc-log",
	"mc-lrumaint",
	"mc-slabmaint",
};

bool why_serves_runtime(const char *comm)
{
	for (size_t i = 0; i < ARRAY_LEN(runtime_threads); i++) {
		if (strncmp(comm, runtime_threads[i], strlen(runtime_threads[i])) == 0)
			return true;
	}
	return false;
}

/* One of them that did next to nothing: it waited for work. */
static bool is_runtimes(const struct why *why)
{
	uint64_t window = why->end_ns - why->start_ns;

	return why->target.tid != why->target.tgid && why->working_ns <= window / 20 &&
	       why_serves_runtime(why->target.comm);
}

/*
 * It worked, or others had it wait, for one of 100 parts of its time at most. That it had no CPU as it came back
 * tells of the machine, not of the thread; but for more than a tenth it is what held the thread up.
 */
static bool only_waited(const struct why *why)
{
	uint64_t window = why->end_ns - why->start_ns;
	uint64_t waited = waited_ns(why), no_cpu = why->interrupted_ns;
	uint64_t rest = window > waited ? window - waited : 0;

	if (!why->classes && is_runtimes(why))
		return true;
	return !why->classes && no_cpu <= window / 10 &&
	       rest - (no_cpu < rest ? no_cpu : rest) <= window / 100;
}

/* Where it was blocked longest: the call and the object, as the summary names them. */
static void longest_wait(const struct why *why, struct why_root *root)
{
	const struct why_line *call = NULL, *object = NULL;
	const struct why_line *longest_call = NULL, *longest_object = NULL;
	bool blocked = false;

	for (size_t i = 0; i < why->line_count; i++) {
		const struct why_line *line = &why->lines[i];

		if (line->depth == 0)
			blocked = strcmp(line->name, "Blocked") == 0;
		if (!blocked)
			continue;
		if (line->depth == 1) {
			call = line;
			object = NULL;
			if (longest_call && call->ns <= longest_call->ns)
				continue;
			longest_call = call;
			longest_object = NULL;
		} else if (line->depth == 2 && call == longest_call) {
			object = line;
			if (!longest_object || object->ns > longest_object->ns)
				longest_object = object;
		}
	}
	root->what = longest_call ? longest_call->name : "";
	root->is_call = longest_call && longest_call->is_call;
	root->object = longest_object ? longest_object->name : "";
}

static struct why_root apart_root(struct adding *adding, const struct why *part)
{
	struct why_root root = {
		.kind = WHY_STUCK,
		.class =
			part->idle_ns * 2 >= part->end_ns - part->start_ns ? WHY_IDLE : WHY_HELD_UP,
		.who = part->target,
		.count = 1,
		.kept_off = { .comm = "" },
		.client = { .comm = "" },
	};

	longest_wait(part, &root);
	for (size_t i = 0; i < part->root_count && root.class == WHY_IDLE && !root.why; i++) {
		const struct why_root *own = &part->roots[i];

		/* Idle, and for another reason than that it waited for work. */
		if (own->class == WHY_IDLE && own->why && own->ns * 2 >= part->idle_ns &&
		    why_reason_is_idle(own->why->kind))
			root.why = own->why;
	}
	for (size_t i = 0; i < part->root_count && root.class != WHY_IDLE; i++) {
		if (is_vain(&part->roots[i], part) || is_sleep(&part->roots[i], part)) {
			root = part->roots[i];
			break;
		}
	}
	root.ns = root.longest_ns = part->end_ns - part->start_ns;
	return kept_root(adding, &root);
}

/* ---------------------------------------------------------------- added up */

static int compare_threads(const struct why_thread *a, const struct why_thread *b)
{
	int order = strcmp(a->comm, b->comm);

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return order;
}

/* The same cause, whichever thread was held up by it. What work was is made of shares. */
static int compare_causes(const void *a, const void *b)
{
	const struct why_root *x = a, *y = b;
	int order;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->timed_out != y->timed_out)
		return x->timed_out ? 1 : -1;
	if (!x->inferred != !y->inferred)
		return x->inferred ? 1 : -1;
	order = compare_threads(&x->who, &y->who);
	if (order == 0 && !why_kind_works(x->kind))
		order = why_root_compare_what(x, y);
	if (order == 0)
		order = why_root_compare_object(x, y);
	if (order == 0)
		order = why_reason_compare(x->inferred, y->inferred);
	return order ? order : why_reason_compare(x->why, y->why);
}

/* Of equal causes the largest comes first: what it is called by, all are. */
static int by_cause(const void *a, const void *b)
{
	const struct why_root *x = a, *y = b;
	int order = compare_causes(x, y);

	if (order)
		return order;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return why_root_compare_what(x, y);
}

static int by_time(const void *a, const void *b)
{
	const struct why_root *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return by_cause(a, b);
}

/* The spans of 'from' go behind those of 'to'. */
static void move_spans(struct why_root *to, struct why_root *from)
{
	if (!to->span_count) {
		free(to->spans);
		to->spans = from->spans;
		to->span_cap = from->span_cap;
		to->span_count = from->span_count;
	} else {
		for (size_t i = 0; i < from->span_count; i++) {
			to->spans = vec_room(to->spans, to->span_count, &to->span_cap,
					     sizeof(*to->spans));
			to->spans[to->span_count++] = from->spans[i];
		}
		free(from->spans);
	}
	from->spans = NULL;
	from->span_count = from->span_cap = 0;
}

static void join_causes(struct why *sum)
{
	size_t count = 0;

	if (sum->root_count)
		qsort(sum->roots, sum->root_count, sizeof(*sum->roots), by_cause);
	for (size_t i = 0; i < sum->root_count; i++) {
		const struct why_root *root = &sum->roots[i];
		struct why_root *last = count ? &sum->roots[count - 1] : NULL;

		if (!last || compare_causes(last, root) != 0) {
			sum->roots[count++] = *root;
			continue;
		}
		last->ns += root->ns;
		last->count += root->count;
		why_codes_add(&last->waited, &root->waited);
		why_codes_add(&last->code, &root->code);
		move_spans(last, &sum->roots[i]);
		if (last->told && root->told && strcmp(last->told, root->told) == 0)
			last->told_ns += root->told_ns;
		if (root->longest_ns > last->longest_ns)
			last->longest_ns = root->longest_ns;
		if (last->kept_off.tid != root->kept_off.tid)
			last->kept_off = (struct why_thread){ .comm = "" };
		if (last->client.tid != root->client.tid)
			last->client = (struct why_thread){ .comm = "" };
	}
	sum->root_count = count;
	if (count)
		qsort(sum->roots, count, sizeof(*sum->roots), by_time);
	why_roots_rank(sum->roots, count);
}

static void add_roots(struct adding *adding, struct why *part)
{
	struct why *sum = adding->sum;

	for (size_t i = 0; i < part->root_count; i++) {
		sum->roots = vec_room(sum->roots, sum->root_count, &adding->root_cap,
				      sizeof(*sum->roots));
		sum->roots[sum->root_count] = kept_root(adding, &part->roots[i]);
		move_spans(&sum->roots[sum->root_count++], &part->roots[i]);
	}
}

static void add_part(struct adding *adding, struct why *part)
{
	struct why *sum = adding->sum;

	add_roots(adding, part);
	sum->working_ns += part->working_ns;
	sum->interrupted_ns += part->interrupted_ns;
	sum->blocked_ns += part->blocked_ns;
	sum->uncertain_ns += part->uncertain_ns;
	sum->held_up_ns += part->held_up_ns;
	sum->asked_ns += part->asked_ns;
	sum->idle_ns += part->idle_ns;
	sum->class_ns += part->class_ns;
	sum->class_count += part->class_count;
	sum->slice_count += part->slice_count;
	sum->slice_ns += part->slice_ns;
	sum->answer_count += part->answer_count;
	sum->answer_ns += part->answer_ns;
	sum->missed_count += part->missed_count;
	sum->missed_ns += part->missed_ns;
	sum->repairs_ns += part->repairs_ns;
	sum->depth_limit_hits += part->depth_limit_hits;
}

/* The window of the process is that of all its threads; what was lost there is told of it. */
static void span_parts(struct adding *adding)
{
	struct why *sum = adding->sum;

	sum->start_ns = UINT64_MAX;
	for (size_t i = 0; i < adding->count; i++) {
		const struct why *part = &adding->parts[i];

		if (part->start_ns < sum->start_ns)
			sum->start_ns = part->start_ns;
		if (part->end_ns > sum->end_ns)
			sum->end_ns = part->end_ns;
		/* No thread's window has more holes than that of all: the widest stands for it. */
		if (part->lost_events > sum->lost_events)
			sum->lost_events = part->lost_events;
		if (part->lost_span_ns > sum->lost_span_ns)
			sum->lost_span_ns = part->lost_span_ns;
		sum->repairs = part->repairs;
		sum->repairs_exact = part->repairs_exact;
		sum->classes = part->classes;
	}
}

/* The same part of two threads; one's own work is like another's own. */
static bool is_same_part(const struct why_root *a, const struct why_root *b, int32_t tgid)
{
	bool both_own = a->who.tgid == tgid && b->who.tgid == tgid;

	return a->kind == b->kind && a->class == b->class && a->timed_out == b->timed_out &&
	       (a->who.tid == b->who.tid || both_own) &&
	       (why_kind_works(a->kind) || why_root_compare_what(a, b) == 0);
}

ORDER_FUNCTION(by_part, struct why_differs, ORDER_DOWN(root.ns), ORDER_UP(who.tid));

/* Threads that the first row of the sum does not tell of. */
static void find_differing(struct adding *adding, struct why_process *process)
{
	struct why *sum = adding->sum;
	struct why_rows rows;

	why_fold(sum, FIRST_ROWS, &rows);
	process->differs = xcalloc(adding->count + 1, sizeof(*process->differs));
	for (size_t i = 0; i < adding->count && rows.count; i++) {
		const struct why *part = &adding->parts[i];

		if (!part->root_count || adding->is_apart[i] ||
		    is_same_part(&part->roots[0], &rows.at[0].sum, sum->target.tgid))
			continue;
		process->differs[process->differs_count++] = (struct why_differs){
			.who = kept_thread(adding, part->target),
			.ns = part->end_ns - part->start_ns,
			.root = kept_root(adding, &part->roots[0]),
		};
	}
	qsort(process->differs, process->differs_count, sizeof(*process->differs), by_part);
	why_rows_fini(&rows);
}

/*
 * The main thread waits in vain, and looks again and again whether what it waits for is there: who parks it for good
 * does not look.
 */
static bool looks_in_vain(const struct why *why)
{
	uint64_t vain_ns = 0;

	for (size_t i = 0; i < why->root_count; i++)
		vain_ns += is_vain(&why->roots[i], why) ? why->roots[i].ns : 0;
	return why->target.tid == why->target.tgid && why->slice_count > 1 &&
	       why->slice_ns * 2 >= vain_ns && vain_ns * 2 >= why->end_ns - why->start_ns;
}

/* The same, and not deep in what it does. */
static bool waited_for_any(const struct why *why, const struct stacks *stacks)
{
	return only_waited(why) && !looks_in_vain(why) &&
	       (is_runtimes(why) || !why_is_amid_work(why, stacks));
}

/* It waited for work, most of all, or its runtime's. */
static bool only_idled(const struct why *why, const struct stacks *stacks)
{
	(void)stacks;
	return why->idle_ns * 2 >= why->end_ns - why->start_ns || is_runtimes(why);
}

static bool is_only_runtimes(const struct why *why, const struct stacks *stacks)
{
	(void)stacks;
	return is_runtimes(why);
}

/* Who is told apart: those that only waited; where that are all of them, those that idled, and so on. Returns how many. */
static size_t find_apart(struct adding *adding)
{
	static bool (*const kinds[])(const struct why *,
				     const struct stacks *) = { waited_for_any, only_idled,
								is_only_runtimes };
	size_t apart = 0;

	for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++) {
		apart = 0;
		for (size_t i = 0; i < adding->count; i++) {
			adding->is_apart[i] = kinds[kind](&adding->parts[i], adding->stacks);
			apart += adding->is_apart[i];
		}
		if (apart < adding->count)
			return apart;
	}
	for (size_t i = 0; i < adding->count; i++)
		adding->is_apart[i] = false;
	return 0;
}

static void add_parts(struct adding *adding, struct why_process *process)
{
	struct why *sum = adding->sum;
	size_t apart = find_apart(adding);

	process->threads = adding->count;
	process->added = adding->count - apart;
	process->apart = xcalloc(apart + 1, sizeof(*process->apart));
	for (size_t i = 0; i < adding->count; i++) {
		struct why *part = &adding->parts[i];

		if (adding->is_apart[i]) {
			process->apart_ns += part->end_ns - part->start_ns;
			process->apart[process->apart_count++] = apart_root(adding, part);
		} else {
			add_part(adding, part);
		}
	}
	join_causes(sum);
	span_parts(adding);
	find_differing(adding, process);
}

/* ------------------------------------------------------------------ the rest */

static uint64_t time_of(const struct why *part, const struct why_root *cause)
{
	uint64_t ns = 0;

	for (size_t i = 0; cause && i < part->root_count; i++)
		ns += compare_causes(&part->roots[i], cause) == 0 ? part->roots[i].ns : 0;
	return cause ? ns : part->working_ns;
}

/* The largest hold-up of the process, as of a thread the chain's: see charge_result.c. NULL = all of it was work. */
static const struct why_root *largest_cause(const struct why *sum)
{
	const struct why_root *largest = NULL, *held = NULL;

	for (size_t i = 0; i < sum->root_count; i++) {
		const struct why_root *root = &sum->roots[i];

		if (root->kind == WHY_WORKING)
			continue;
		if (!largest || root->ns > largest->ns)
			largest = root;
		if (why_outranks_idle(root->class, root->ns, sum->class_ns) &&
		    (!held || root->ns > held->ns))
			held = root;
	}
	return held && largest->class == WHY_IDLE ? held : largest;
}

/* The part whose chain is told: of the largest hold-up it has most; the main thread has nearly so much. */
static size_t told_part(const struct adding *adding, const struct why_root *cause)
{
	uint64_t most_ns = 0;
	size_t most = 0;

	for (size_t i = 0; i < adding->count; i++) {
		uint64_t ns = time_of(&adding->parts[i], cause);

		if (ns > most_ns) {
			most = i;
			most_ns = ns;
		}
	}
	for (size_t i = 0; i < adding->count; i++) {
		const struct why *part = &adding->parts[i];

		if (part->target.tid == part->target.tgid &&
		    time_of(part, cause) >= most_ns - most_ns / 5)
			most = i;
	}
	return most;
}

static struct why_opts opts_of(const struct why_opts *opts, const struct timeline *tl,
			       const struct why_part *part, bool want_all)
{
	const struct tl_thread *thread = tl->threads[part->slot];
	struct why_opts one = *opts;

	one.slot = part->slot;
	one.start_ns = part->start_ns;
	one.end_ns = part->end_ns;
	one.want_waits &= want_all;
	one.want_paths &= want_all;
	one.of_process = true;
	/* Who stands in for it before its birth is another thread of the process, or none of it. */
	if (one.start_ns && one.start_ns < thread->birth_ns)
		one.start_ns = thread->birth_ns;
	return one;
}

static void explain_parts(struct adding *adding, const struct timeline *tl,
			  const struct facts *facts, const struct why_opts *opts,
			  const struct why_part *parts, size_t count, struct err *err)
{
	adding->parts = xcalloc(count + 1, sizeof(*adding->parts));
	adding->sources = xcalloc(count + 1, sizeof(*adding->sources));
	adding->is_apart = xcalloc(count + 1, sizeof(*adding->is_apart));
	for (size_t i = 0; i < count; i++) {
		const struct tl_thread *thread = tl->threads[parts[i].slot];
		struct why_opts one = opts_of(opts, tl, &parts[i], false);

		if ((one.end_ns && one.end_ns <= thread->birth_ns) ||
		    one.start_ns >= thread->death_ns ||
		    why_run(tl, facts, &one, &adding->parts[adding->count], err) < 0)
			continue;
		adding->sources[adding->count++] = (uint32_t)i;
	}
}

static const struct why_part *main_part(const struct why_part *parts, size_t count,
					uint32_t main_slot)
{
	for (size_t i = 0; i < count; i++) {
		if (parts[i].slot == main_slot)
			return &parts[i];
	}
	return parts;
}

int why_process_run(const struct timeline *timeline, const struct facts *facts,
		    const struct why_opts *opts, uint32_t main_slot, const struct why_part *parts,
		    size_t count, struct why *out_why, struct err *err)
{
	struct why sum = { 0 };
	struct adding adding = { .sum = &sum, .stacks = facts ? facts->stacks : NULL };
	struct query naming = { .tl = timeline, .facts = facts, .opts = opts, .why = &sum };
	const struct why_root *cause;
	const struct why_part *told;
	struct why_opts one, looking = *opts;
	int rc;

	looking.spans_ns = opts->spans_ns ? opts->spans_ns : worst_spans_ns(timeline, parts, count);
	if (count > 1)
		explain_parts(&adding, timeline, facts, &looking, parts, count, err);
	if (adding.count > 1) {
		why_mark_background(adding.parts, adding.count, adding.stacks);
		sum.process = xcalloc(1, sizeof(*sum.process));
		sum.target = why_thread(&naming, main_slot);
		sum.cmdline = kept(&adding,
				   timeline_name(timeline, timeline->threads[main_slot]->cmdline));
		add_parts(&adding, sum.process);
		cause = largest_cause(&sum);
		told = &parts[adding.sources[told_part(&adding, cause)]];
		one = opts_of(opts, timeline, told, true);
		one.chain_of = cause;
		rc = why_run(timeline, facts, &one, &sum.process->told, err);
	} else {
		told = adding.count ? &parts[adding.sources[0]]
				    : main_part(parts, count, main_slot);
		one = opts_of(&looking, timeline, told, true);
		one.of_process = false;
		one.start_ns = told->start_ns; /* an ancestor may stand in */
		rc = why_run(timeline, facts, &one, &sum, err);
	}
	if (rc == 0)
		worst_find(&sum, opts->spans_ns != 0);
	for (size_t i = 0; i < adding.count; i++)
		why_fini(&adding.parts[i]);
	free(adding.parts);
	free(adding.sources);
	free(adding.is_apart);
	if (rc < 0)
		why_fini(&sum);
	else
		*out_why = sum;
	return rc;
}
