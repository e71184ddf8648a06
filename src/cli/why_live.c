/* why_live.c - a process that runs now, and traces that have the programs' own events alone. */
#include "cli/why_live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/locks.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/lock_source.h"
#include "cli/reading.h"
#include "cli/target.h"
#include "event/facts.h"
#include "event/source.h"
#include "report/locks.h"

/* It has ended, and its parent has not asked for its status yet: there is nothing to record. */
static bool is_zombie(int32_t id)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/stat", id);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char line[256] = "";
	const char *state = NULL;

	if (fd >= 0 && read(fd, line, sizeof(line) - 1) > 0)
		state = strrchr(line, ')');
	return state && (strncmp(state, ") Z", 3) == 0 || strncmp(state, ") X", 3) == 0);
}

bool why_is_live(const struct target_opts *target)
{
	int32_t id = target->pid ? target->pid : target->tid;

	return id > 0 && (kill(id, 0) == 0 || errno == EPERM) && !is_zombie(id);
}

int why_no_trace(const struct target_opts *target, struct err *err)
{
	int32_t id = target->pid ? target->pid : target->tid;

	if (id)
		return err_set(err, -ENOENT,
			       "no %s %d runs now, and there is no " DEFAULT_TRACE
			       " here that could explain it: name the trace",
			       target->pid ? "process" : "thread", id);
	return err_set(err, -ENOENT,
		       "there is no " DEFAULT_TRACE
		       " here. Name what to explain: a command (sudo holdup why -- make -j4), a "
		       "process that runs (sudo holdup why --pid 1234), or a trace (holdup why "
		       "TRACE)");
}

/* Recordings of the system have trace.json; those of programs alone have not. */
static bool is_folder_of_others(const char *trace)
{
	AUTO_FREE char *path = xasprintf("%s/trace.json", trace);
	struct stat st;

	return stat(trace, &st) == 0 && S_ISDIR(st.st_mode) && access(path, F_OK) < 0;
}

bool why_locks_alone(const char *trace, bool json)
{
	const struct report_locks_opts opts = { .json = json };
	struct source *source;
	struct locks locks;
	bool any = false;

	if (!is_folder_of_others(trace) || reading_begin(trace, NULL) < 0 ||
	    lock_source_open(trace, &source, NULL) < 0)
		return false;
	if (lock_source_is_alone(source) &&
	    locks_run(source, (enum locks_sort)0, lock_source_facts(source)->last_ns, &locks,
		      NULL) == 0) {
		any = locks.count > 0;
		if (any && !json)
			puts("This trace has the program's own events alone: what follows is what "
			     "its locks tell,\nas in holdup locks. What else it waited for only the "
			     "kernel tells:\nsudo holdup why --locks -- COMMAND\n");
		if (any)
			report_locks(stdout, &locks, NULL, lock_source_facts(source), &opts);
		locks_fini(&locks);
	}
	source_close(source);
	return any;
}

int why_needs_switches(const char *trace, struct err *err)
{
	struct source *source;
	const char *tracer;
	bool has;

	if (!is_folder_of_others(trace) || lock_source_open(trace, &source, NULL) < 0)
		return 0;
	/* Others may have switches in other words, or what every thread was in as it began. */
	tracer = lock_source_facts(source)->tracer;
	has = !tracer || strncmp(tracer, "lttng-ust", strlen("lttng-ust")) != 0 ||
	      lock_source_has_switches(source);
	source_close(source);
	if (has)
		return 0;
	return err_set(err, -ENODATA,
		       "%s does not tell when threads ran or waited: it has no sched:sched_switch; "
		       "holdup list and stats tell what it has, and to have it: sudo holdup why -- "
		       "COMMAND",
		       trace);
}
