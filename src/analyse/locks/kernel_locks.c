/*
 * kernel_locks.c - contention for kernel locks, added up by lock.
 *
 * A thread may wait for one lock, and in an interrupt spin for another one: its waits are a short
 * stack. One wait has several beginnings, when it spins first, or finds the lock taken again as it wakes up.
 */
#include "analyse/locks/kernel_locks.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "event/comms.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/kernel_lock.h"
#include "event/source.h"

#define OPEN_MAX  4u
#define CLOCKS_NS 50000u     /* what is told is before the event by so much at most */
#define KNOWN_NS  100000000u /* what was told of a lock is not believed for longer */
#define TEXT_MAX  4096u

/* A thread's wait for one lock. */
struct contention {
	uint64_t address;
	uint64_t begin_ns, phase_ns;
	uint64_t sleep_ns; /* when it first slept; 0 = it only spun */
	uint64_t spin_ns;
	uint32_t flags; /* of the phase */
	uint32_t all_flags;
	uint32_t function; /* name id; 0 = not known */
	int32_t waker;	   /* 0 = nobody yet */
	uint32_t waker_in; /* name id */
};

struct kernel_thread {
	int32_t call; /* number; -1 = in none, or not known */
	bool compat;
	bool in_fault;
	uint32_t open_count;
	struct contention open[OPEN_MAX];
	/* What the recorder told last. */
	uint64_t told_address, told_ns;
	int32_t told_owner;
	uint32_t told_owner_in; /* name id */
	uint32_t told_function; /* name id */
};

/* What was told of a lock last. */
struct told_lock {
	uint64_t ns;
	uint32_t text; /* name id of what the recorder told */
};

struct klocks_store {
	struct names names;
	struct comms *comms;
};

struct run {
	struct klocks_sum *sum;
	const struct facts *facts;
	struct klocks_store *store;
	struct map threads;	   /* tid -> index into all */
	struct kernel_thread *all; /* owned */
	size_t thread_count, thread_cap;
	struct map told_index; /* address -> index into told */
	struct told_lock *told;
	size_t told_count, told_cap;
	struct map row_index; /* name id -> row */
	uint32_t fault;	      /* name id of a page fault */
	uint64_t now_ns;
};

static uint32_t intern(struct run *run, const char *text)
{
	return names_add(&run->store->names, text, TEXT_MAX);
}

static struct kernel_thread *kernel_thread_of(struct run *run, int32_t tid, uint32_t cpu)
{
	/* The idle task is another one on each CPU. */
	uint64_t key = tid ? (uint32_t)tid : (uint64_t)1 << 32 | cpu;
	bool is_new;
	uint64_t *index = map_add(&run->threads, key, &is_new);

	if (is_new) {
		*index = run->thread_count;
		run->all =
			vec_room(run->all, run->thread_count, &run->thread_cap, sizeof(*run->all));
		run->all[run->thread_count++] = (struct kernel_thread){ .call = -1 };
	}
	return &run->all[*index];
}

/* What the thread is in, as far as events told. */
static uint32_t doing(struct run *run, const struct kernel_thread *thread)
{
	const char *name;

	if (thread->call >= 0) {
		name = facts_syscall(run->facts, thread->call, thread->compat);
		return intern(run, name ? name : "");
	}
	return thread->in_fault ? run->fault : 0;
}

/* Is what doing() returned a system call? Each name is kept once. */
static bool is_call(const struct run *run, uint32_t in)
{
	return in && in != run->fault && names_text(&run->store->names, in)[0];
}

/* ----------------------------------------------------------------------- rows */

static struct klocks_row *klocks_row_of(struct run *run, const char *name, bool is_known)
{
	struct klocks_sum *sum = run->sum;
	uint32_t id = intern(run, name);
	bool is_new;
	uint64_t *index = map_add(&run->row_index, id, &is_new);

	if (is_new) {
		*index = sum->count;
		sum->rows = vec_room(sum->rows, sum->count, &sum->cap, sizeof(*sum->rows));
		sum->rows[sum->count++] = (struct klocks_row){
			.name = names_text(&run->store->names, id),
			.is_known = is_known,
		};
	}
	return &sum->rows[*index];
}

static void add_owner(struct run *run, struct klocks_row *row, struct klocks_owner add)
{
	struct klocks_owner *owner = row->owners;
	char comm[COMMS_BYTES + 1] = "?";

	while (owner < row->owners + row->owner_count &&
	       (owner->tid != add.tid || owner->is_told != add.is_told))
		owner++;
	if (owner == row->owners + row->owner_count) {
		if (comms_knows(run->store->comms, add.tid))
			memcpy(comm, comms_find(run->store->comms, add.tid), COMMS_BYTES);
		add.comm = names_text(&run->store->names, intern(run, comm));
		row->owners = vec_room(row->owners, row->owner_count, &row->owner_cap,
				       sizeof(*row->owners));
		row->owners[row->owner_count++] = add;
		return;
	}
	owner->count += add.count;
	owner->ns += add.ns;
	if (!add.in[0])
		return;
	owner->in = add.in;
	owner->in_call = add.in_call;
}

static void add_caller(struct klocks_row *row, struct klocks_caller add)
{
	struct klocks_caller *caller = row->callers;

	/* Names are kept once each: the same text has the same place. */
	while (caller < row->callers + row->caller_count &&
	       (caller->call != add.call || caller->function != add.function))
		caller++;
	if (caller < row->callers + row->caller_count) {
		caller->count += add.count;
		caller->ns += add.ns;
		return;
	}
	row->callers =
		vec_room(row->callers, row->caller_count, &row->caller_cap, sizeof(*row->callers));
	row->callers[row->caller_count++] = add;
}

/* What the recorder told of the lock around that time; "" = nothing. */
static const char *told_of(const struct run *run, uint64_t address, uint64_t from_ns,
			   uint64_t to_ns)
{
	const uint64_t *index = map_find(&run->told_index, address);
	const struct told_lock *told = index ? &run->told[*index] : NULL;

	if (!told || told->ns + KNOWN_NS < from_ns || told->ns > to_ns)
		return "";
	return names_text(&run->store->names, told->text);
}

static bool is_told(const struct kernel_thread *thread, const struct contention *open)
{
	return thread->told_address == open->address && open->sleep_ns &&
	       thread->told_ns + CLOCKS_NS > open->sleep_ns;
}

static void count_owner(struct run *run, struct klocks_row *row, const struct kernel_thread *thread,
			const struct contention *open, uint64_t ns)
{
	const struct names *names = &run->store->names;

	if (is_told(thread, open) && thread->told_owner)
		add_owner(run, row,
			  (struct klocks_owner){ .tid = thread->told_owner,
						 .is_told = true,
						 .in = names_text(names, thread->told_owner_in),
						 .in_call = is_call(run, thread->told_owner_in),
						 .count = 1,
						 .ns = ns });
	else if (open->waker)
		add_owner(run, row,
			  (struct klocks_owner){ .tid = open->waker,
						 .in = names_text(names, open->waker_in),
						 .in_call = is_call(run, open->waker_in),
						 .count = 1,
						 .ns = ns });
}

/* The wait is over, or the trace is. */
static void kernel_locks_count(struct run *run, const struct kernel_thread *thread,
			       struct contention *open, bool is_over)
{
	uint64_t ns = run->now_ns - open->begin_ns;
	const char *told = told_of(run, open->address, open->begin_ns, run->now_ns);
	uint32_t function = is_told(thread, open) && thread->told_function ? thread->told_function
									   : open->function;
	uint32_t in = doing(run, thread);
	struct klocks_row *row;
	char text[TEXT_MAX];

	if (open->flags & KERNEL_LOCK_SPIN)
		open->spin_ns += run->now_ns - open->phase_ns;
	kernel_lock_text(run->facts, told, open->all_flags, open->address, text, sizeof(text));
	row = klocks_row_of(run, text, told[0] && told[0] != '\t');
	row->flags |= open->all_flags;
	row->waits++;
	row->spins += !open->sleep_ns;
	row->waiting += !is_over;
	row->wait_ns += ns;
	row->spin_ns += open->spin_ns;
	if (ns > row->wait_max_ns)
		row->wait_max_ns = ns;
	count_owner(run, row, thread, open, ns);
	add_caller(row, (struct klocks_caller){
				.call = names_text(&run->store->names, in),
				.in_call = is_call(run, in),
				.function = names_text(&run->store->names, function),
				.count = 1,
				.ns = ns,
			});
}

/* --------------------------------------------------------------------- events */

static struct contention *find_open(struct kernel_thread *thread, uint64_t address)
{
	for (uint32_t i = thread->open_count; i > 0; i--) {
		if (thread->open[i - 1].address == address)
			return &thread->open[i - 1];
	}
	return NULL;
}

static void on_begin(struct run *run, const struct event *ev)
{
	struct kernel_thread *thread = kernel_thread_of(run, ev->tid, ev->cpu);
	struct contention *open = find_open(thread, ev->lock.address);
	bool spins = ev->lock.flags & KERNEL_LOCK_SPIN;

	if (!open) {
		/* Deeper than any kernel nests: ends were lost. */
		if (thread->open_count == OPEN_MAX)
			thread->open_count--;
		open = &thread->open[thread->open_count++];
		*open = (struct contention){ .address = ev->lock.address, .begin_ns = ev->time_ns };
	} else if (open->flags & KERNEL_LOCK_SPIN) {
		open->spin_ns += ev->time_ns - open->phase_ns;
	}
	open->phase_ns = ev->time_ns;
	open->flags = ev->lock.flags;
	/* A mutex spins first: that is not what kind of lock it is. */
	open->all_flags |= ev->lock.flags & KERNEL_LOCK_MUTEX ? KERNEL_LOCK_MUTEX : ev->lock.flags;
	if (!spins && !open->sleep_ns)
		open->sleep_ns = ev->time_ns;
}

static void on_end(struct run *run, const struct event *ev)
{
	struct kernel_thread *thread = kernel_thread_of(run, ev->tid, ev->cpu);
	struct contention *open = find_open(thread, ev->lock.address);

	if (!open)
		return; /* it began before the recording, or in a hole */
	kernel_locks_count(run, thread, open, true);
	/* What lay above it has lost its end. */
	thread->open_count = (uint32_t)(open - thread->open);
}

static void on_told(struct run *run, const struct event *ev)
{
	const char *told = ev->fd_name.name ? ev->fd_name.name : "";
	const char *function = kernel_lock_function(run->facts, told);
	int32_t owner = fd_owner(ev->fd_name.fd);
	uint32_t in = owner ? doing(run, kernel_thread_of(run, owner, 0)) : 0;
	struct kernel_thread *thread = kernel_thread_of(run, ev->fd_name.tid, 0);
	bool is_new;
	uint64_t *index;

	thread->told_address = ev->fd_name.inode;
	thread->told_ns = ev->time_ns;
	thread->told_owner = owner;
	thread->told_owner_in = in;
	thread->told_function = function ? intern(run, function) : 0;
	index = map_add(&run->told_index, ev->fd_name.inode, &is_new);
	if (is_new) {
		*index = run->told_count;
		run->told =
			vec_room(run->told, run->told_count, &run->told_cap, sizeof(*run->told));
		run->told_count++;
	}
	run->told[*index] = (struct told_lock){ ev->time_ns, intern(run, told) };
}

static void on_waking(struct run *run, const struct event *ev)
{
	struct kernel_thread *waker, *thread;
	uint32_t in;

	if (ev->tid <= 0 || ev->wake.tid <= 0 || ev->context & (EV_CTX_HARDIRQ | EV_CTX_SOFTIRQ) ||
	    !map_find(&run->threads, (uint32_t)ev->wake.tid))
		return;
	waker = kernel_thread_of(run, ev->tid, ev->cpu); /* may move the others */
	in = doing(run, waker);
	thread = kernel_thread_of(run, ev->wake.tid, 0);
	if (!thread->open_count || thread->open[0].flags & KERNEL_LOCK_SPIN)
		return;
	thread->open[0].waker = ev->tid;
	thread->open[0].waker_in = in;
}

static void on_stack(struct run *run, const struct event *ev)
{
	struct kernel_thread *thread = kernel_thread_of(run, ev->tid, ev->cpu);
	struct contention *open = thread->open_count ? &thread->open[0] : NULL;

	for (uint32_t i = 0; open && !open->function && i < ev->stack.count; i++) {
		uint64_t address;
		const char *function;

		memcpy(&address, (const char *)ev->stack.frames + i * sizeof(address),
		       sizeof(address));
		function = facts_symbol(run->facts, address);
		if (function && !kernel_lock_is_inside(function))
			open->function = intern(run, function);
	}
}

static void on_call(struct run *run, const struct event *ev, bool begins)
{
	struct kernel_thread *thread = kernel_thread_of(run, ev->tid, ev->cpu);

	thread->call = begins && ev->syscall.nr >= 0 ? (int32_t)ev->syscall.nr : -1;
	thread->compat = ev->syscall.compat;
	thread->in_fault = false;
}

static void klocks_feed(struct run *run, const struct event *ev)
{
	switch (ev->type) {
	case EV_LOCK_BEGIN:
		run->sum->events++;
		if (ev->tid >= 0)
			on_begin(run, ev);
		break;
	case EV_LOCK_END:
		if (ev->tid >= 0)
			on_end(run, ev);
		break;
	case EV_FD_NAME:
		if (ev->fd_name.watch == FD_LOCK)
			on_told(run, ev);
		break;
	case EV_SYS_ENTER:
	case EV_SYS_EXIT:
		if (ev->tid > 0)
			on_call(run, ev, ev->type == EV_SYS_ENTER);
		break;
	case EV_FAULT_USER:
		if (ev->tid > 0)
			kernel_thread_of(run, ev->tid, ev->cpu)->in_fault = true;
		break;
	case EV_SCHED_WAKING:
		on_waking(run, ev);
		break;
	case EV_STACK:
		if (ev->tid > 0)
			on_stack(run, ev);
		break;
	case EV_LOST:
		if (!(ev->context & EV_CTX_USER)) {
			run->sum->is_lost = true;
			run->sum->lost += ev->lost.count;
		}
		break;
	default:
		break;
	}
	comms_feed(run->store->comms, ev);
}

/* ------------------------------------------------------------------------ run */

static int klocks_compare(uint64_t x, uint64_t y)
{
	return x != y ? (x > y ? -1 : 1) : 0;
}

static int by_owner(const void *a, const void *b)
{
	const struct klocks_owner *x = a, *y = b;

	if (x->is_told != y->is_told)
		return x->is_told ? -1 : 1;
	return x->ns != y->ns ? klocks_compare(x->ns, y->ns)
			      : klocks_compare((uint32_t)y->tid, (uint32_t)x->tid);
}

static int by_caller(const void *a, const void *b)
{
	const struct klocks_caller *x = a, *y = b;
	int order = klocks_compare(x->ns, y->ns);

	order = order ? order : strcmp(x->call, y->call);
	return order ? order : strcmp(x->function, y->function);
}

static uint64_t average(const struct klocks_row *row)
{
	return row->waits ? row->wait_ns / row->waits : 0;
}

/* Those without come last. */
static int by_owner_name(const struct klocks_row *x, const struct klocks_row *y)
{
	if (!x->owner_count || !y->owner_count)
		return klocks_compare(x->owner_count != 0, y->owner_count != 0);
	return strcmp(x->owners[0].comm, y->owners[0].comm);
}

static int by_caller_name(const struct klocks_row *x, const struct klocks_row *y)
{
	int order = strcmp(x->callers[0].call, y->callers[0].call);

	return order ? order : strcmp(x->callers[0].function, y->callers[0].function);
}

static int by_key(const struct klocks_row *x, const struct klocks_row *y, enum locks_sort sort)
{
	switch (sort) {
	case LOCKS_BY_LONGEST:
		return klocks_compare(x->wait_max_ns, y->wait_max_ns);
	case LOCKS_BY_AVERAGE:
		return klocks_compare(average(x), average(y));
	case LOCKS_BY_CONTENDED:
		return klocks_compare(x->waits, y->waits);
	case LOCKS_BY_SPINS:
		return klocks_compare(x->spins, y->spins);
	case LOCKS_BY_SPUN:
		return klocks_compare(x->spin_ns, y->spin_ns);
	case LOCKS_BY_OWNER:
		return by_owner_name(x, y);
	case LOCKS_BY_CHAIN:
		return by_caller_name(x, y);
	case LOCKS_BY_NAME:
		return strcmp(x->name, y->name);
	default:
		return 0;
	}
}

static int by_row(const void *a, const void *b, void *sort)
{
	const struct klocks_row *x = a, *y = b;
	int order = by_key(x, y, *(enum locks_sort *)sort);

	order = order ? order : klocks_compare(x->wait_ns, y->wait_ns);
	order = order ? order : klocks_compare(x->waits, y->waits);
	return order ? order : strcmp(x->name, y->name);
}

static void klocks_finish(struct run *run, enum locks_sort sort, uint64_t end_ns)
{
	struct klocks_sum *sum = run->sum;

	if (end_ns > run->now_ns)
		run->now_ns = end_ns;
	for (size_t i = 0; i < run->thread_count; i++) {
		for (uint32_t j = 0; j < run->all[i].open_count; j++)
			kernel_locks_count(run, &run->all[i], &run->all[i].open[j], false);
	}
	for (size_t i = 0; i < sum->count; i++) {
		struct klocks_row *row = &sum->rows[i];

		if (row->owner_count)
			qsort(row->owners, row->owner_count, sizeof(*row->owners), by_owner);
		qsort(row->callers, row->caller_count, sizeof(*row->callers), by_caller);
		sum->waits += row->waits;
		sum->spins += row->spins;
		sum->wait_ns += row->wait_ns;
		sum->spin_ns += row->spin_ns;
	}
	if (sum->count)
		qsort_r(sum->rows, sum->count, sizeof(*sum->rows), by_row, &sort);
}

int klocks_run(struct source *source, const struct facts *facts, enum locks_sort sort,
	       uint64_t end_ns, struct klocks_sum *out_sum, struct err *err)
{
	struct klocks_sum sum = { .store = xcalloc(1, sizeof(*sum.store)) };
	struct run run = { .sum = &sum, .facts = facts, .store = sum.store };
	const struct event *ev;
	int rc;

	sum.store->comms = comms_new(facts);
	run.fault = intern(&run, "page fault");
	while ((rc = source_next(source, &ev, err)) > 0) {
		run.now_ns = ev->time_ns;
		klocks_feed(&run, ev);
	}
	if (rc == 0) {
		klocks_finish(&run, sort, end_ns);
		*out_sum = sum;
	} else {
		klocks_fini(&sum);
	}
	map_fini(&run.threads);
	map_fini(&run.told_index);
	map_fini(&run.row_index);
	free(run.all);
	free(run.told);
	return rc;
}

void klocks_fini(struct klocks_sum *sum)
{
	for (size_t i = 0; i < sum->count; i++) {
		free(sum->rows[i].owners);
		free(sum->rows[i].callers);
	}
	free(sum->rows);
	if (sum->store) {
		comms_free(sum->store->comms);
		names_fini(&sum->store->names);
	}
	free(sum->store);
	*sum = (struct klocks_sum){ 0 };
}
