/* why_live.c - a process that runs now, and traces that have the programs' own events alone. */
#include "cli/why_live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounts/list.h"
#include "ask/lock_source.h"
#include "ask/locks.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/progress.h"
#include "proc/stat.h"
#include "record/instance.h"
#include "record/record.h"
#include "report/locks.h"
#include "stuck/stuck.h"

/* It has ended, and its parent has not asked for its status yet: there is nothing to record. */
static bool is_zombie(int32_t id)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/stat", id);
	char line[STAT_BYTES_MAX];
	struct proc_stat stat;

	return stat_read(AT_FDCWD, path, line, &stat) && stat_is_over(&stat);
}

bool why_is_named(const struct target_opts *target, const struct why_live *live)
{
	return target->pid || target->tid || target->comm || live->cgroup || target->every;
}

static bool is_living(int32_t id)
{
	return (kill(id, 0) == 0 || errno == EPERM) && !is_zombie(id);
}

/* The processes of a name or a cgroup, those that ended and were not reaped left out. */
static int why_live_list(struct why_live *live, const struct target_opts *target, struct err *err)
{
	const struct delays_select select = { .comm = target->comm, .cgroup = live->cgroup };
	struct delays_ids ids;
	int rc = delays_list(&select, &ids, err);

	if (rc < 0)
		return rc;
	live->pids = xcalloc(ids.count + 1, sizeof(*live->pids));
	for (size_t i = 0; i < ids.count; i++) {
		if (ids.ids[i].tgid != getpid() && !is_zombie(ids.ids[i].tgid))
			live->pids[live->count++] = ids.ids[i].tgid;
	}
	delays_ids_fini(&ids);
	return 0;
}

static int say_none(const struct why_live *live, const struct target_opts *target, struct err *err)
{
	AUTO_FREE char *safe = text_escaped(target->comm ? target->comm : live->cgroup);

	if (target->comm)
		return err_set(err, -ESRCH,
			       "no running process is named \"%s\", and there is no " DEFAULT_TRACE
			       " here with that name; ps -e lists names, --pid takes an ID",
			       safe);
	return err_set(err, -ESRCH, "no process is running in the cgroup \"%s\"", safe);
}

int why_live_find(struct why_live *live, struct target_opts *target, struct err *err)
{
	int32_t id = target->pid ? target->pid : target->tid;
	int rc;

	live->target = *target;
	if (target->every)
		return 0;
	if (id) {
		if (!is_living(id))
			return why_no_trace(target, err);
		live->pids = xcalloc(1, sizeof(*live->pids));
		live->pids[0] = target->pid;
		live->count = target->pid != 0;
		return 0;
	}
	rc = why_live_list(live, target, err);
	if (rc == 0 && live->count == 0)
		rc = say_none(live, target, err);
	if (rc < 0)
		return rc;
	target->comm = NULL;
	if (live->count == 1) {
		target->pid = live->pids[0];
	} else {
		target->pids = live->pids;
		target->pid_count = live->count;
	}
	return 0;
}

static void say_live(void *context)
{
	const struct why_live *live = context;
	const char *of = live->target.comm ? live->target.comm : live->cgroup;
	AUTO_FREE char *safe = text_escaped(of ? of : "");
	AUTO_FREE char *what = NULL;

	if (live->target.every)
		what = xstrdup("the whole system");
	else if (live->target.tid)
		what = xasprintf("thread %d", live->target.tid);
	else if (live->count == 1)
		what = xasprintf("process %d", live->pids[0]);
	else
		what = xasprintf("%zu processes of %s", live->count, safe);
	fprintf(stderr, "holdup: recording %s for %g s; Ctrl-C stops and explains\n", what,
		live->seconds > 0 ? live->seconds : WHY_LIVE_SECONDS);
}

/* By its number a process may be another one by now. */
static uint64_t why_live_birth_of(int32_t pid)
{
	uint64_t birth = 0;

	return instance_process_start(pid, &birth) ? birth : 0;
}

void why_live_fill(struct why_live *live, struct record_opts *opts)
{
	live->births = xcalloc(live->count + 1, sizeof(*live->births));
	for (size_t i = 0; i < live->count; i++)
		live->births[i] = why_live_birth_of(live->pids[i]);
	opts->seconds = live->seconds > 0 ? live->seconds : WHY_LIVE_SECONDS;
	opts->pids = live->pids;
	opts->pid_count = live->count < WHY_LIVE_AWAITED ? live->count : WHY_LIVE_AWAITED;
	opts->progress = progress_recording;
	opts->begun = say_live;
	opts->begun_context = live;
	opts->looks_after = live->count > 0;
}

/* Those that are still the same; the others are gone. */
static size_t list_living(struct why_live *live, int32_t *out_pids)
{
	size_t count = 0;

	for (size_t i = 0; i < live->count; i++) {
		if (live->births[i] && why_live_birth_of(live->pids[i]) == live->births[i])
			out_pids[count++] = live->pids[i];
		else
			live->births[i] = 0;
	}
	return count;
}

void why_live_look(struct why_live *live)
{
	AUTO_FREE int32_t *pids = xcalloc(live->count + 1, sizeof(*pids));
	const struct stuck_select select = { .tgids = pids,
					     .count = list_living(live, pids),
					     .may_be_gone = true };

	if (!select.count || stuck_look(&select, &live->stuck, NULL) < 0) {
		live->stuck = NULL;
		return;
	}
	/* Who is the same after the look was that during it. */
	if (list_living(live, pids) != select.count) {
		stuck_free(live->stuck);
		live->stuck = NULL;
	}
}

void why_live_fini(struct why_live *live)
{
	stuck_free(live->stuck);
	live->stuck = NULL;
	free(live->pids);
	free(live->births);
	live->pids = NULL;
	live->births = NULL;
	live->count = 0;
}

int why_no_trace(const struct target_opts *target, struct err *err)
{
	int32_t id = target->pid ? target->pid : target->tid;

	if (id)
		return err_set(err, -ENOENT,
			       "no %s %d is running, and there is no " DEFAULT_TRACE
			       " here; name a trace",
			       target->pid ? "process" : "thread", id);
	return err_set(err, -ENOENT,
		       "there is no " DEFAULT_TRACE
		       " here. Give a command (sudo holdup why -- make -j4), a running process "
		       "(sudo holdup why --pid 1234) or a trace (holdup why TRACE)");
}

bool why_locks_alone(const char *trace, bool json)
{
	const struct report_locks_opts opts = { .json = json };
	struct locks_asked locks;

	if (!lock_source_is_of_programs(trace) || load_begin(trace, NULL) < 0 ||
	    !locks_ask_alone(trace, LOCKS_BY_WAIT, &locks))
		return false;
	if (!json)
		puts("This trace has no kernel events; the report below covers locks only, as in "
		     "holdup\nlocks. To record all waits: sudo holdup why --locks -- COMMAND\n");
	report_locks(stdout, &locks.programs, NULL, locks.facts, &opts);
	locks_asked_fini(&locks);
	return true;
}
