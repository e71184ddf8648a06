/* locks.c - locks of programs and of the kernel, as rows that the caller may keep. */
#include <errno.h>
#include <stdlib.h>

#include "ask/locks.h"
#include "base/mem.h"
#include "event/event.h"
#include "query/read_int.h"

struct hr_locks {
	struct hr_trace *trace; /* for what is wrong */
	struct locks_asked asked;
};

_Static_assert((int)HR_LOCK_MUTEX == (int)LOCK_KIND_MUTEX &&
		       (int)HR_LOCK_BARRIER == (int)LOCK_KIND_BARRIER &&
		       (int)HR_LOCK_COND == (int)LOCK_KIND_COND,
	       "kinds of locks are those of the events");

const char *hr_lock_kind_name(enum hr_lock_kind kind)
{
	return (unsigned int)kind < LOCK_KIND_COUNT ? locks_kind_name((uint8_t)kind) : "";
}

int hr_locks_new(struct hr_trace *trace, struct hr_locks **out_locks)
{
	struct locks_asked asked;
	int rc;

	if (!trace->path)
		return err_set(&trace->err, -EINVAL, "the trace has no path");
	rc = locks_ask(trace->path, LOCKS_BY_WAIT, &asked, &trace->err);
	if (rc < 0)
		return rc;
	*out_locks = xcalloc(1, sizeof(**out_locks));
	(*out_locks)->trace = trace;
	(*out_locks)->asked = asked;
	return 0;
}

void hr_locks_free(struct hr_locks *locks)
{
	if (!locks)
		return;
	locks_asked_fini(&locks->asked);
	free(locks);
}

/* ---------------------------------------------------------------------- of programs */

uint32_t hr_lock_count(const struct hr_locks *locks)
{
	return (uint32_t)locks->asked.programs.count;
}

static struct hr_lock lock_of(const struct locks_row *row)
{
	return (struct hr_lock){
		.program = read_text(row->program),
		.name = read_text(row->name),
		.address = row->address,
		.taken = row->taken,
		.taken_write = row->taken_write,
		.contended = row->contended,
		.failed = row->failed,
		.waiting = row->waiting,
		.wait_ns = row->wait_ns,
		.wait_max_ns = row->wait_max_ns,
		.nobody_ns = row->nobody_ns,
		.unknown_ns = row->unknown_ns,
		.holds = row->holds,
		.hold_ns = row->hold_ns,
		.hold_max_ns = row->hold_max_ns,
		.signals = row->signals,
		.broadcasts = row->broadcasts,
		.destroyed = row->destroyed,
		.pid = row->pid,
		.kind = row->kind,
		.owner_count = (uint32_t)row->owner_count,
		.site_count = (uint32_t)row->site_count,
	};
}

int hr_lock_get(struct hr_locks *locks, uint32_t lock, struct hr_lock *out_lock)
{
	const struct locks *from = &locks->asked.programs;
	int rc = read_check_row(locks->trace, out_lock, sizeof(*out_lock), lock, from->count);
	struct hr_lock given;

	if (rc < 0)
		return rc;
	given = lock_of(&from->rows[lock]);
	read_give(out_lock, &given, sizeof(given));
	return 0;
}

int hr_lock_owner_get(struct hr_locks *locks, uint32_t lock, uint32_t index,
		      struct hr_lock_owner *out_owner)
{
	const struct locks *from = &locks->asked.programs;
	size_t count = lock < from->count ? from->rows[lock].owner_count : 0;
	int rc = read_check_row(locks->trace, out_owner, sizeof(*out_owner), index, count);
	struct hr_lock_owner given;

	if (rc < 0)
		return rc;
	given = (struct hr_lock_owner){ .ns = from->rows[lock].owners[index].ns,
					.tid = from->rows[lock].owners[index].tid };
	read_give(out_owner, &given, sizeof(given));
	return 0;
}

int hr_lock_site_get(struct hr_locks *locks, uint32_t lock, uint32_t index,
		     struct hr_lock_site *out_site)
{
	const struct locks *from = &locks->asked.programs;
	size_t count = lock < from->count ? from->rows[lock].site_count : 0;
	int rc = read_check_row(locks->trace, out_site, sizeof(*out_site), index, count);
	const struct locks_site *site;
	struct hr_lock_site given;

	if (rc < 0)
		return rc;
	site = &from->rows[lock].sites[index];
	given = (struct hr_lock_site){
		.name = read_text(site->name),
		.address = site->address,
		.taken = site->taken,
		.contended = site->contended,
		.wait_ns = site->wait_ns,
		.wait_max_ns = site->wait_max_ns,
		.hold_ns = site->hold_ns,
		.hold_max_ns = site->hold_max_ns,
	};
	read_give(out_site, &given, sizeof(given));
	return 0;
}

/* -------------------------------------------------------------------- of the kernel */

uint32_t hr_kernel_lock_count(const struct hr_locks *locks)
{
	return (uint32_t)locks->asked.kernel.count;
}

int hr_kernel_lock_get(struct hr_locks *locks, uint32_t lock, struct hr_kernel_lock *out_lock)
{
	const struct klocks_sum *from = &locks->asked.kernel;
	int rc = read_check_row(locks->trace, out_lock, sizeof(*out_lock), lock, from->count);
	const struct klocks_row *row;
	struct hr_kernel_lock given;

	if (rc < 0)
		return rc;
	row = &from->rows[lock];
	given = (struct hr_kernel_lock){
		.name = read_text(row->name),
		.waits = row->waits,
		.spins = row->spins,
		.waiting = row->waiting,
		.wait_ns = row->wait_ns,
		.wait_max_ns = row->wait_max_ns,
		.spin_ns = row->spin_ns,
		.is_known = row->is_known,
		.owner_count = (uint32_t)row->owner_count,
		.caller_count = (uint32_t)row->caller_count,
	};
	read_give(out_lock, &given, sizeof(given));
	return 0;
}

int hr_kernel_lock_owner_get(struct hr_locks *locks, uint32_t lock, uint32_t index,
			     struct hr_kernel_lock_owner *out_owner)
{
	const struct klocks_sum *from = &locks->asked.kernel;
	size_t count = lock < from->count ? from->rows[lock].owner_count : 0;
	int rc = read_check_row(locks->trace, out_owner, sizeof(*out_owner), index, count);
	const struct klocks_owner *owner;
	struct hr_kernel_lock_owner given;

	if (rc < 0)
		return rc;
	owner = &from->rows[lock].owners[index];
	given = (struct hr_kernel_lock_owner){
		.comm = read_text(owner->comm),
		.in = read_text(owner->in),
		.count = owner->count,
		.ns = owner->ns,
		.tid = owner->tid,
		.is_told = owner->is_told,
	};
	read_give(out_owner, &given, sizeof(given));
	return 0;
}

int hr_kernel_lock_caller_get(struct hr_locks *locks, uint32_t lock, uint32_t index,
			      struct hr_kernel_lock_caller *out_caller)
{
	const struct klocks_sum *from = &locks->asked.kernel;
	size_t count = lock < from->count ? from->rows[lock].caller_count : 0;
	int rc = read_check_row(locks->trace, out_caller, sizeof(*out_caller), index, count);
	const struct klocks_caller *caller;
	struct hr_kernel_lock_caller given;

	if (rc < 0)
		return rc;
	caller = &from->rows[lock].callers[index];
	given = (struct hr_kernel_lock_caller){
		.call = read_text(caller->call),
		.function = read_text(caller->function),
		.count = caller->count,
		.ns = caller->ns,
	};
	read_give(out_caller, &given, sizeof(given));
	return 0;
}
