/*
 * fold.c - sort the roots by what they are: those alike lie side by side.
 *
 * First only what differs by its thread alone is joined, and writes with the flushes of the same device. Where there are
 * still more rows than fit, long runs are joined that differ by call and object, too.
 */
#include "analyse/why/fold.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* So many are told as one: few workers, each with what it worked at, say more. */
#define TOLD_AS_ONE	3
#define TOLD_AS_ONE_FEW 8
#define RANKED_PARTS	50 /* what is of less than one in so many parts comes behind waits for work */

/* A root while it is sorted. */
struct item {
	const struct why_root *root;
	const char *name; /* without numbers */
	const char *disk; /* the device that is written to, or flushed; NULL = neither */
	uint32_t index;
	bool is_target;
};

struct folding {
	const struct why *why;
	struct why_rows *rows;
	struct item *items; /* as many as roots */
	size_t fit;
	bool coarse; /* call and object may differ */
};

bool why_kind_works(enum why_kind kind)
{
	return kind == WHY_WORKING || kind == WHY_LOCK || kind == WHY_OTHER_THREAD;
}

int why_rank(enum why_class class, uint64_t ns, uint64_t all_ns)
{
	if (ns < all_ns / RANKED_PARTS)
		return 2;
	return class == WHY_IDLE;
}

bool why_outranks_idle(enum why_class class, uint64_t ns, uint64_t all_ns)
{
	return class != WHY_RUNS && why_rank(class, ns, all_ns) == 0;
}

/* The root of a list's element, of which a list of roots and one of rows each have one. */
static const struct why_root *root_at(const void *list, size_t bytes, size_t i)
{
	return (const struct why_root *)(const void *)((const char *)list + i * bytes);
}

/* Elements that begin with a root, of 'bytes' each. */
static void put_into_ranks(void *list, size_t bytes, size_t count)
{
	AUTO_FREE char *ranked = xcalloc(count + 1, bytes);
	uint64_t all_ns = 0;
	size_t put = 0;
	bool any = false;

	for (size_t i = 0; i < count; i++)
		all_ns += root_at(list, bytes, i)->ns;
	for (size_t i = 0; i < count; i++) {
		const struct why_root *root = root_at(list, bytes, i);

		any |= why_outranks_idle(root->class, root->ns, all_ns);
	}
	for (int rank = 0; any && rank <= 2; rank++) {
		for (size_t i = 0; i < count; i++) {
			const struct why_root *root = root_at(list, bytes, i);

			if (why_rank(root->class, root->ns, all_ns) == rank)
				memcpy(ranked + put++ * bytes, (char *)list + i * bytes, bytes);
		}
	}
	if (any)
		memcpy(list, ranked, count * bytes);
}

void why_roots_rank(struct why_root *roots, size_t count)
{
	put_into_ranks(roots, sizeof(*roots), count);
}

static bool is_about_cpu(enum why_kind kind)
{
	return kind == WHY_CPU_QUEUE || kind == WHY_PREEMPTED;
}

char *why_name_pattern(const char *comm)
{
	char *text = xcalloc(strlen(comm) + 1, 1);
	size_t used = 0;

	for (size_t i = 0; comm[i]; i++) {
		bool digit = isdigit((unsigned char)comm[i]) != 0;

		if (!digit)
			text[used++] = comm[i];
		else if (i == 0 || !isdigit((unsigned char)comm[i - 1]))
			text[used++] = '*';
	}
	return text;
}

static const char *name_without_numbers(struct why_rows *rows, const char *comm)
{
	AUTO_FREE char *text = why_name_pattern(comm);

	return names_text(&rows->texts, names_add(&rows->texts, text, 64));
}

/* "vda", of "vda write" and "vda flush" */
static const char *written_disk(struct why_rows *rows, const struct why_root *root)
{
	static const char *const ends[] = { " write", " flush" };
	size_t len = strlen(root->what);

	for (size_t i = 0; i < 2 && root->kind == WHY_DISK; i++) {
		size_t end = strlen(ends[i]);

		if (len > end && strcmp(root->what + len - end, ends[i]) == 0) {
			AUTO_FREE char *text = xstrndup(root->what, len - end);

			return names_text(&rows->texts, names_add(&rows->texts, text, 4096));
		}
	}
	return NULL;
}

#define DIFFER(a, b)                               \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/* What a row is of: never joined where it differs. */
static int compare_kinds(const struct item *x, const struct item *y)
{
	const struct why_root *a = x->root, *b = y->root;
	int order;

	DIFFER(a->kind, b->kind);
	DIFFER(a->class, b->class);
	DIFFER(x->is_target, y->is_target);
	DIFFER(a->timed_out, b->timed_out);
	DIFFER(!a->inferred, !b->inferred);
	DIFFER(a->who.tid == 0, b->who.tid == 0);
	order = strcmp(x->name, y->name);
	return order ? order : why_reason_compare(a->why, b->why);
}

static int compare_whats(const struct item *x, const struct item *y)
{
	DIFFER(!x->disk, !y->disk);
	return x->disk ? strcmp(x->disk, y->disk) : why_root_compare_what(x->root, y->root);
}

/* What it worked at is made of shares, and who had a CPU is told by that alone. */
static int compare_things(const struct item *x, const struct item *y)
{
	const struct why_root *a = x->root, *b = y->root;
	bool whats = !why_kind_works(a->kind) && !(is_about_cpu(a->kind) && a->who.tid);
	int order = whats ? compare_whats(x, y) : 0;

	return order ? order : why_root_compare_object(a, b);
}

static int compare_threads(const struct item *x, const struct item *y)
{
	DIFFER(x->root->who.tid, y->root->who.tid);
	DIFFER(x->index, y->index);
	return 0;
}

static int by_thing(const void *a, const void *b)
{
	int order = compare_kinds(a, b);

	if (!order)
		order = compare_things(a, b);
	return order ? order : compare_threads(a, b);
}

static int by_kind(const void *a, const void *b)
{
	int order = compare_kinds(a, b);

	return order ? order : compare_threads(a, b);
}

static int by_time(const void *a, const void *b)
{
	const struct why_row *x = a, *y = b;

	if (x->sum.ns != y->sum.ns)
		return x->sum.ns > y->sum.ns ? -1 : 1;
	/* Its first root: no two rows have the same. */
	return x->first_root < y->first_root ? -1 : x->first_root > y->first_root;
}

static void add_polls(struct why_polls *sum, const struct why_polls *polls)
{
	sum->bare = sum->bare_ns = 0; /* of each it is told of how many of its own sleeps */
	if (!sum->call || !polls->call || strcmp(sum->call, polls->call) != 0 ||
	    strcmp(sum->error, polls->error) != 0) {
		*sum = (struct why_polls){ 0 };
		return;
	}
	sum->count += polls->count;
	sum->sleeps += polls->sleeps;
}

/* What holds of two rows: who woke it at last may not be the same. */
static const struct why_reason *inferred_of_both(const struct why_reason *a,
						 const struct why_reason *b)
{
	static const struct why_reason several = { .kind = WHY_REASON_SEVERAL };
	static const struct why_reason again = { .kind = WHY_REASON_WAITED_AGAIN };

	if (!a || why_reason_compare(a, b) == 0)
		return a;
	return a->kind == WHY_REASON_WAITED_AGAIN && b->kind == a->kind ? &again : &several;
}

static void add_root(struct why_row *row, const struct item *item)
{
	const struct why_root *root = item->root;
	struct why_root *sum = &row->sum;

	sum->ns += root->ns;
	sum->count += root->count;
	if (root->longest_ns > sum->longest_ns)
		sum->longest_ns = root->longest_ns;
	if (sum->kept_off.tid != root->kept_off.tid)
		sum->kept_off.tid = 0;
	if (sum->client.tid != root->client.tid)
		sum->client.tid = 0;
	sum->inferred = inferred_of_both(sum->inferred, root->inferred);
	if (!sum->told) {
		sum->told = root->told;
		sum->told_ns = root->told_ns;
	} else if (root->told && strcmp(sum->told, root->told) == 0) {
		sum->told_ns += root->told_ns;
	}
	add_polls(&sum->polls, &root->polls);
	why_codes_add(&sum->waited, &root->waited);
	why_codes_add(&sum->code, &root->code);
	if (is_about_cpu(root->kind) && root->who.tid) {
		if (why_reason_compare(sum->why, root->why) != 0)
			sum->why = NULL;
	} else {
		row->many_whats |= why_root_compare_what(sum, root) != 0;
	}
	row->any_timers |= why_root_is_any_timer(root);
	row->many_objects |= why_root_compare_object(sum, root) != 0;
	if (strcmp(sum->who.comm, root->who.comm) != 0)
		row->name = item->name;
}

/* The stack that is told with a place is the root's that was there for longest. */
static void take_stack(struct why_code *code, const struct why_codes *codes, uint64_t *most_ns)
{
	for (uint32_t i = 0; i < codes->count; i++) {
		const struct why_code *one = &codes->at[i];

		if (one->place != code->place || one->is_work != code->is_work ||
		    one->ns <= *most_ns)
			continue;
		code->stack = one->stack;
		*most_ns = one->ns;
	}
}

static void take_stacks(struct why_row *row, const struct item *items, size_t run)
{
	for (uint32_t k = 0; k < row->sum.waited.count; k++) {
		uint64_t most_ns = 0;

		for (size_t i = 0; i < run; i++)
			take_stack(&row->sum.waited.at[k], &items[i].root->waited, &most_ns);
	}
	for (uint32_t k = 0; k < row->sum.code.count; k++) {
		uint64_t most_ns = 0;

		for (size_t i = 0; i < run; i++)
			take_stack(&row->sum.code.at[k], &items[i].root->code, &most_ns);
	}
}

/* All are writes and flushes of one device. */
static bool joins_writes(const struct item *items, size_t run)
{
	for (size_t i = 0; i < run; i++) {
		if (!items[i].disk || strcmp(items[i].disk, items[0].disk) != 0)
			return false;
	}
	return true;
}

/* One row of 'run' items; two threads of one number, one after the other, are two. */
static void put_row(struct folding *folding, const struct item *items, size_t run)
{
	struct why_rows *rows = folding->rows;
	struct why_row *row = &rows->at[rows->count++];

	*row = (struct why_row){
		.sum = *items[0].root,
		.name = items[0].root->who.comm,
		.threads = items[0].root->who.tid != 0,
		.any_timers = why_root_is_any_timer(items[0].root),
		.first_root = (uint32_t)(items - folding->items),
		.root_count = (uint32_t)run,
	};
	for (size_t i = 1; i < run; i++) {
		add_root(row, &items[i]);
		row->threads += items[i].root->who.tid != items[i - 1].root->who.tid;
	}
	take_stacks(row, items, run);
	if (row->many_whats && joins_writes(items, run)) {
		AUTO_FREE char *text = xasprintf("%s write and flush", items[0].disk);

		row->sum.what = names_text(&rows->texts, names_add(&rows->texts, text, 4096));
		row->many_whats = false;
	}
	if (row->many_whats) {
		row->sum.what = "";
		row->sum.what_data = NULL;
	}
	if (row->many_objects) {
		row->sum.object = "";
		row->sum.objects = 0;
	}
	for (size_t i = 0; i < run; i++)
		rows->members[row->first_root + i] = items[i].index;
}

/* How many that differ by the thread alone are told as one. */
static size_t least_of(const struct folding *folding, const struct why_root *root)
{
	bool crowded = folding->why->root_count > folding->fit + 1;

	if (why_kind_works(root->kind))
		return TOLD_AS_ONE_FEW;
	if (root->class == WHY_IDLE)
		return TOLD_AS_ONE;
	return is_about_cpu(root->kind) || crowded ? TOLD_AS_ONE : TOLD_AS_ONE_FEW;
}

/* The words of both would be the same: the number of a thread was used again. */
static bool same_words(const struct item *x, const struct item *y)
{
	const struct why_root *a = x->root, *b = y->root;

	return compare_kinds(x, y) == 0 && a->who.tid == b->who.tid &&
	       strcmp(a->who.comm, b->who.comm) == 0 && compare_things(x, y) == 0 &&
	       (compare_whats(x, y) == 0 || is_about_cpu(a->kind));
}

/* How many of 'left' items are alike from the first on. */
static size_t run_length(const struct item *items, size_t left, bool things)
{
	size_t run = 1;

	while (run < left && compare_kinds(items, &items[run]) == 0 &&
	       (!things || compare_things(items, &items[run]) == 0))
		run++;
	return run;
}

/* The length of the row that begins with the first of 'left' items. */
static size_t row_length(const struct folding *folding, struct item *items, size_t left)
{
	size_t run = folding->coarse ? run_length(items, left, false) : 0, same = 1;

	if (folding->fit == SIZE_MAX)
		return 1;
	if (run >= TOLD_AS_ONE_FEW) {
		qsort(items, run, sizeof(*items), by_kind);
		return run;
	}
	run = run_length(items, left, true);
	while (same < run && same_words(items, &items[same]))
		same++;
	return run < least_of(folding, items[0].root) ? same : run;
}

static void fold(struct folding *folding)
{
	size_t count = folding->why->root_count, run;

	folding->rows->count = 0;
	if (folding->fit != SIZE_MAX)
		qsort(folding->items, count, sizeof(*folding->items), by_thing);
	for (size_t i = 0; i < count; i += run) {
		run = row_length(folding, &folding->items[i], count - i);
		put_row(folding, &folding->items[i], run);
	}
}

/* The target, or a thread of the process that is. */
static bool is_target(const struct why *why, const struct why_thread *who)
{
	return who->tid &&
	       (why->process ? who->tgid == why->target.tgid : who->tid == why->target.tid);
}

void why_fold(const struct why *why, size_t fit, struct why_rows *out_rows)
{
	struct why_rows rows = { 0 };
	struct folding folding = { .why = why, .rows = &rows, .fit = fit };

	rows.at = xcalloc(why->root_count + 1, sizeof(*rows.at));
	rows.members = xcalloc(why->root_count + 1, sizeof(*rows.members));
	folding.items = xcalloc(why->root_count + 1, sizeof(*folding.items));
	for (size_t i = 0; i < why->root_count; i++) {
		const struct why_root *root = &why->roots[i];

		folding.items[i] = (struct item){
			.root = root,
			.name = name_without_numbers(&rows, root->who.comm),
			.disk = written_disk(&rows, root),
			.index = (uint32_t)i,
			.is_target = is_target(why, &root->who),
		};
		rows.ns[root->kind] += root->ns;
	}
	fold(&folding);
	if (fit < SIZE_MAX && rows.count > fit + 1) {
		folding.coarse = true;
		fold(&folding);
	}
	free(folding.items);
	qsort(rows.at, rows.count, sizeof(*rows.at), by_time);
	put_into_ranks(rows.at, sizeof(*rows.at), rows.count);
	*out_rows = rows;
}

void why_rows_fini(struct why_rows *rows)
{
	free(rows->at);
	free(rows->members);
	names_fini(&rows->texts);
	*rows = (struct why_rows){ 0 };
}
