/* locks.c - a row for each lock, summed up from its holds and waits. */
#include "analyse/locks/locks.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/locks/lock_names.h"
#include "analyse/locks/lock_track.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/source.h"

#define OWNERS_MAX 1024u /* of one lock that are told apart; the rest is not known */
#define SITES_MAX  1024u /* of one lock; the last one stands for all others */

struct run {
	struct locks *locks;
	struct lock_tracker *tracker;
	enum locks_sort sort;
};

const char *locks_kind_name(uint8_t kind)
{
	static const char *const names[LOCK_KIND_COUNT] = {
		[LOCK_KIND_UNKNOWN] = "lock",	[LOCK_KIND_MUTEX] = "mutex",
		[LOCK_KIND_READ] = "rwlock",	[LOCK_KIND_WRITE] = "rwlock",
		[LOCK_KIND_SPIN] = "spin lock", [LOCK_KIND_BARRIER] = "barrier",
		[LOCK_KIND_COND] = "condition",
	};

	return kind < LOCK_KIND_COUNT ? names[kind] : names[LOCK_KIND_UNKNOWN];
}

/* ------------------------------------------------------------------------ sums */

/* Rows have the index that the tracker gives a lock. */
static struct locks_row *locks_row_of(struct run *run, uint32_t lock)
{
	struct locks *locks = run->locks;

	while (locks->count <= lock) {
		locks->rows =
			vec_room(locks->rows, locks->count, &locks->cap, sizeof(*locks->rows));
		locks->rows[locks->count++] = (struct locks_row){ 0 };
	}
	return &locks->rows[lock];
}

static struct locks_site *site_of(struct locks_row *row, uint64_t address)
{
	for (size_t i = 0; i < row->site_count; i++) {
		if (row->sites[i].address == address)
			return &row->sites[i];
	}
	if (row->site_count == SITES_MAX) {
		row->sites[SITES_MAX - 1].address = 0;
		return &row->sites[SITES_MAX - 1];
	}
	row->sites = vec_room(row->sites, row->site_count, &row->site_cap, sizeof(*row->sites));
	row->sites[row->site_count] = (struct locks_site){ .address = address };
	return &row->sites[row->site_count++];
}

static void add_to(uint64_t ns, uint64_t *sum_ns, uint64_t *most_ns)
{
	*sum_ns += ns;
	if (ns > *most_ns)
		*most_ns = ns;
}

static void on_taken(void *context, const struct lock_hold *hold)
{
	struct run *run = context;
	struct locks_row *row = locks_row_of(run, hold->lock);

	row->taken++;
	row->taken_write += hold->kind == LOCK_KIND_WRITE;
	run->locks->tells_all |= hold->came == LOCK_CAME_AT_ONCE;
	/* The site of one after a wait on a condition is the condition's. */
	if (hold->came != LOCK_CAME_AFTER_COND)
		site_of(row, hold->site)->taken++;
}

static void on_released(void *context, const struct lock_hold *hold)
{
	struct locks_row *row = locks_row_of(context, hold->lock);
	uint64_t ns = hold->end_ns - hold->start_ns;

	row->holds++;
	add_to(ns, &row->hold_ns, &row->hold_max_ns);
	if (hold->came != LOCK_CAME_AFTER_COND) {
		struct locks_site *site = site_of(row, hold->site);

		add_to(ns, &site->hold_ns, &site->hold_max_ns);
	}
}

static void charge(struct locks_row *row, int32_t tid, uint64_t ns)
{
	if (tid == LOCK_OWNER_NOBODY) {
		row->nobody_ns += ns;
		return;
	}
	for (size_t i = 0; i < row->owner_count; i++) {
		if (row->owners[i].tid == tid) {
			row->owners[i].ns += ns;
			return;
		}
	}
	if (tid == LOCK_OWNER_UNKNOWN || row->owner_count == OWNERS_MAX) {
		row->unknown_ns += ns;
		return;
	}
	row->owners =
		vec_room(row->owners, row->owner_count, &row->owner_cap, sizeof(*row->owners));
	row->owners[row->owner_count++] = (struct locks_owner){ tid, ns };
}

static void on_wait(void *context, const struct lock_wait *wait)
{
	struct locks_row *row = locks_row_of(context, wait->lock);
	struct locks_site *site = site_of(row, wait->site);
	uint64_t ns = wait->end_ns - wait->start_ns;

	row->contended++;
	row->waiting += wait->is_open;
	/* What barriers return to one of the threads is no error. */
	row->failed += !wait->is_open && wait->result > 0 && wait->kind != LOCK_KIND_BARRIER;
	site->contended++;
	add_to(ns, &row->wait_ns, &row->wait_max_ns);
	add_to(ns, &site->wait_ns, &site->wait_max_ns);
	for (size_t i = 0; i < wait->span_count; i++)
		charge(row, wait->spans[i].owner_tid,
		       wait->spans[i].end_ns - wait->spans[i].start_ns);
}

static void on_touched(void *context, uint32_t lock, uint8_t op)
{
	struct locks_row *row = locks_row_of(context, lock);

	row->signals += op == USER_LOCK_SIGNAL;
	row->broadcasts += op == USER_LOCK_BROADCAST;
	row->destroyed += op == USER_LOCK_DESTROYED;
}

static void on_module(void *context, uint32_t process, const struct ev_user_lock *module)
{
	struct run *run = context;

	lock_names_add(run->locks->names, process, module);
}

/* --------------------------------------------------------------------- order */

static int locks_compare(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

static int by_owner(const void *a, const void *b)
{
	const struct locks_owner *x = a, *y = b;

	return x->ns != y->ns ? locks_compare(x->ns, y->ns) : (x->tid > y->tid) - (x->tid < y->tid);
}

static int by_site(const void *a, const void *b)
{
	const struct locks_site *x = a, *y = b;

	if (x->wait_ns != y->wait_ns)
		return locks_compare(x->wait_ns, y->wait_ns);
	if (x->taken != y->taken)
		return locks_compare(x->taken, y->taken);
	return locks_compare(y->address, x->address);
}

static uint64_t sort_key(const struct locks_row *row, enum locks_sort sort)
{
	switch (sort) {
	case LOCKS_BY_LONGEST:
		return row->wait_max_ns;
	case LOCKS_BY_CONTENDED:
		return row->contended;
	case LOCKS_BY_TAKEN:
		return row->taken;
	case LOCKS_BY_HELD:
		return row->hold_ns;
	case LOCKS_BY_HELD_LONGEST:
		return row->hold_max_ns;
	case LOCKS_BY_AVERAGE:
		return row->contended ? row->wait_ns / row->contended : 0;
	default:
		return row->wait_ns;
	}
}

/* Nobody holds those, and waiting for them is what they are for: they come last. */
static bool is_held(const struct locks_row *row)
{
	return row->kind != LOCK_KIND_COND && row->kind != LOCK_KIND_BARRIER;
}

static int compare_texts(const char *x, const char *y)
{
	if (!x || !y)
		return locks_compare(x != NULL, y != NULL);
	return strcmp(x, y);
}

/* The keys that are words; 0 = equal, or the key is a number. */
static int by_words(const struct locks_row *x, const struct locks_row *y, enum locks_sort sort)
{
	switch (sort) {
	case LOCKS_BY_NAME:
		return compare_texts(x->name, y->name);
	case LOCKS_BY_PROCESS:
		return compare_texts(x->program, y->program);
	case LOCKS_BY_OWNER:
		return x->owner_count && y->owner_count
			       ? locks_compare((uint32_t)y->owners[0].tid,
					       (uint32_t)x->owners[0].tid)
			       : locks_compare(x->owner_count != 0, y->owner_count != 0);
	case LOCKS_BY_CHAIN:
		return compare_texts(x->site_count ? x->sites[0].name : NULL,
				     y->site_count ? y->sites[0].name : NULL);
	default:
		return 0;
	}
}

static int by_row(const void *a, const void *b, void *sort)
{
	const struct locks_row *x = a, *y = b;
	uint64_t key_x = sort_key(x, *(enum locks_sort *)sort);
	uint64_t key_y = sort_key(y, *(enum locks_sort *)sort);
	int words = by_words(x, y, *(enum locks_sort *)sort);

	if (is_held(x) != is_held(y))
		return is_held(x) ? -1 : 1;
	if (words)
		return words;
	if (key_x != key_y)
		return locks_compare(key_x, key_y);
	if (x->taken != y->taken)
		return locks_compare(x->taken, y->taken);
	if (x->process != y->process)
		return locks_compare(y->process, x->process);
	return locks_compare(y->address, x->address);
}

/* ------------------------------------------------------------------------ run */

static void name_row(struct run *run, uint32_t index)
{
	struct locks_row *row = locks_row_of(run, index);
	struct lock_identity lock = lock_tracker_identity(run->tracker, index);
	struct lock_names *names = run->locks->names;

	row->process = lock.process;
	row->pid = lock.pid;
	row->program = lock_names_program(names, lock.process);
	row->address = lock.address;
	row->kind = lock.kind == LOCK_KIND_WRITE ? LOCK_KIND_READ : lock.kind;
	row->name = lock_names_find(names, lock.process, lock.address);
	for (size_t i = 0; i < row->site_count; i++)
		row->sites[i].name = lock_names_find(names, lock.process, row->sites[i].address);
	if (row->owner_count)
		qsort(row->owners, row->owner_count, sizeof(*row->owners), by_owner);
	if (row->site_count)
		qsort(row->sites, row->site_count, sizeof(*row->sites), by_site);
}

static void free_row(struct locks_row *row)
{
	for (size_t i = 0; i < row->site_count; i++)
		free(row->sites[i].name);
	free(row->sites);
	free(row->owners);
	free(row->name);
}

/* Those that have a row. */
static void count_processes(struct locks *locks, uint32_t known)
{
	AUTO_FREE bool *seen = xcalloc(known + 1u, sizeof(*seen));

	for (size_t i = 0; i < locks->count; i++) {
		locks->processes += !seen[locks->rows[i].process];
		seen[locks->rows[i].process] = true;
	}
}

/* Name what is to be shown, leave out the rest, and add up. */
static void locks_finish(struct run *run)
{
	struct locks *locks = run->locks;
	size_t kept = 0;

	for (size_t i = 0; i < locks->count; i++) {
		struct locks_row *row = &locks->rows[i];

		if (!row->taken && !row->contended && !row->signals && !row->broadcasts) {
			free_row(row);
			continue;
		}
		name_row(run, (uint32_t)i);
		if (is_held(row)) {
			locks->taken += row->taken;
			locks->contended += row->contended;
			locks->wait_ns += row->wait_ns;
		}
		locks->rows[kept++] = *row;
	}
	locks->count = kept;
	count_processes(locks, lock_tracker_process_count(run->tracker));
	if (kept)
		qsort_r(locks->rows, kept, sizeof(*locks->rows), by_row, &run->sort);
}

static void locks_count(struct locks *locks, const struct event *event)
{
	locks->events += event->type == EV_USER_LOCK;
	if (event->type == EV_LOST) {
		locks->is_lost = true;
		locks->lost += event->lost.count;
	}
}

int locks_run(struct source *source, enum locks_sort sort, uint64_t end_ns, struct locks *out_locks,
	      struct err *err)
{
	static const struct lock_track_ops ops = { on_taken, on_released, on_wait, on_touched,
						   on_module };
	struct locks locks = { .names = lock_names_new() };
	struct run run = { .locks = &locks, .sort = sort };
	const struct event *event;
	int rc;

	run.tracker = lock_tracker_new(&ops, &run);
	while ((rc = source_next(source, &event, err)) > 0) {
		lock_tracker_feed(run.tracker, event);
		locks_count(&locks, event);
	}
	if (rc == 0) {
		lock_tracker_finish(run.tracker, end_ns);
		locks_finish(&run);
		*out_locks = locks;
	} else {
		locks_fini(&locks);
	}
	lock_tracker_free(run.tracker);
	return rc;
}

void locks_fini(struct locks *locks)
{
	for (size_t i = 0; i < locks->count; i++)
		free_row(&locks->rows[i]);
	free(locks->rows);
	lock_names_free(locks->names);
	*locks = (struct locks){ 0 };
}
