/* flight_why.c - fork, give up all, explain, and tell the verdict in a line. */
#include "cli/flight_why.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analyse/why/why.h"
#include "ask/explain.h"
#include "base/child.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/load.h"
#include "guard/caps.h"
#include "record/flight_on.h"
#include "record/share.h"
#include "report/why.h"

#define CPU_MAX_S 120
#define VERDICT	  3 /* descriptors of the child */
#define REPORT	  4

/* A unit's main process, if it is known, and the others. Returns how many. */
static size_t list_processes(const struct flight_why_ask *ask, int32_t *pids)
{
	size_t count = 0;

	if (ask->tid > 0)
		pids[count++] = ask->tid;
	memcpy(pids + count, ask->others, ask->other_count * sizeof(*pids));
	return count + ask->other_count;
}

/* What is asked: the wait that fired, one class of delay of everybody, or everybody. */
static void fill_opts(const struct flight_why_ask *ask, int32_t *pids, struct explain_opts *opts)
{
	static const uint32_t classes[] = {
		[FLIGHT_ON_CPU] = 1u << DELAYS_CPU,
		[FLIGHT_ON_MEMORY] = WHY_CLASS_MEMORY,
		[FLIGHT_ON_IO] = 1u << DELAYS_DISK,
	};

	opts->from = (struct when){ .kind = WHEN_TRACE_CLOCK, .ns = ask->from_ns };
	opts->to = (struct when){ .kind = WHEN_TRACE_CLOCK, .ns = ask->to_ns };
	if (ask->other_count) {
		opts->target.pids = pids;
		opts->target.pid_count = list_processes(ask, pids);
		return;
	}
	if (ask->tid) {
		opts->target.pid = ask->is_process ? ask->tid : 0;
		opts->target.tid = ask->is_process ? 0 : ask->tid;
		return;
	}
	opts->target.every = true;
	if (!ask->on)
		return;
	if (ask->on->kind == FLIGHT_ON_PSI)
		opts->classes = classes[ask->on->resource];
	if (ask->on->kind == FLIGHT_ON_RUNQ)
		opts->classes = classes[FLIGHT_ON_CPU];
	if (ask->on->kind == FLIGHT_ON_OOM)
		opts->classes = classes[FLIGHT_ON_MEMORY];
}

/*
 * What held somebody up for certain. Without system calls in the trace a server that waits for work
 * looks as one that waits for an answer: such waits are a verdict only of the thread that was asked for.
 */
static bool is_delay(enum why_kind kind)
{
	static const bool delays[WHY_KIND_COUNT] = {
		[WHY_CPU_QUEUE] = true, [WHY_PREEMPTED] = true, [WHY_DISK] = true,
		[WHY_LOCK] = true,	[WHY_GRACE] = true,	[WHY_THROTTLED] = true,
	};

	return delays[kind];
}

/* The largest row of the verdicts that is not one's own work, and whose it is. */
static const struct why_root *find_root(const struct explained *explained, bool is_asked,
					const struct why **out_why)
{
	const struct why_root *found = NULL;

	for (size_t i = 0; i < explained->answer.count; i++) {
		const struct why *why = &explained->answer.results[i];

		for (size_t k = 0; k < why->root_count; k++) {
			const struct why_root *root = &why->roots[k];

			if (root->kind == WHY_WORKING || (!is_asked && !is_delay(root->kind)) ||
			    (found && root->ns <= found->ns))
				continue;
			found = root;
			*out_why = why;
		}
	}
	return found;
}

static void tell_verdict(const struct explained *explained, bool is_asked, FILE *out)
{
	const struct why *why = NULL;
	const struct why_root *root = find_root(explained, is_asked, &why);
	AUTO_FREE char *text = root ? report_why_root(why, root) : NULL;
	AUTO_FREE char *comm = root ? text_escaped(why->target.comm) : NULL;
	AUTO_FREE char *safe = text ? text_escaped(text) : NULL;

	if (root)
		fprintf(out, "%s%s (%d): %s of %s: %s\n",
			is_asked ? "" : "the largest delay: ", comm, why->target.tid,
			text_duration(root->ns).s, text_duration(why->end_ns - why->start_ns).s,
			safe);
	else
		fprintf(out, "nobody was held up by what is known\n");
}

static int flight_why_explain(const struct flight_why_ask *ask, FILE *verdict, FILE *report,
			      struct err *err)
{
	struct explain_opts opts = { 0 };
	struct explained explained = { 0 };
	struct report_why_opts shown = { .window_chosen = true };
	int rc = load_begin(ask->trace, err);
	bool is_asked = ask->tid || ask->other_count;
	AUTO_FREE int32_t *pids = xcalloc(ask->other_count + 1, sizeof(*pids));

	fill_opts(ask, pids, &opts);
	if (rc == 0)
		rc = explain_trace(ask->trace, &opts, &explained, err);
	if (rc == -ESRCH && ask->is_process) { /* it did nothing that is in the recording */
		is_asked = false;
		opts.target = (struct target_opts){ .every = true };
		rc = explain_trace(ask->trace, &opts, &explained, err);
	}
	if (rc < 0)
		return rc;
	shown.processes = opts.target.every;
	shown.lines = explained.answer.count > 1;
	report_why(report, explained.answer.results, explained.answer.count, explained.facts,
		   &shown);
	tell_verdict(&explained, is_asked || opts.classes, verdict);
	explained_fini(&explained);
	return 0;
}

static void give_up_all(int verdict_fd, int report_fd)
{
	const struct rlimit cpu = { CPU_MAX_S, CPU_MAX_S };
	sigset_t none;
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high = fcntl(report_fd, F_DUPFD_CLOEXEC, 16);
	int other = fcntl(verdict_fd, F_DUPFD_CLOEXEC, 16);

	for (int fd = 0; fd < VERDICT; fd++)
		(void)dup2(null_fd, fd);
	if (dup2(other, VERDICT) < 0 || dup2(high, REPORT) < 0 ||
	    close_range(REPORT + 1, ~0u, 0) < 0)
		_exit(1);
	(void)setrlimit(RLIMIT_CPU, &cpu);
	share_lower();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "holdup-explain");
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	guard_caps_helper(0);
}

static void __attribute__((noreturn)) child_main(const struct flight_why_ask *ask)
{
	FILE *verdict = fdopen(VERDICT, "w"), *report = fdopen(REPORT, "w");
	struct err err = { 0 };

	if (!verdict || !report)
		_exit(1);
	if (flight_why_explain(ask, verdict, report, &err) < 0) {
		AUTO_FREE char *safe = text_escaped(err.text);

		fprintf(verdict, "cannot be explained: %s\n", safe);
		fprintf(report, "%s\n", safe);
	}
	_exit(fclose(report) != 0 || fclose(verdict) != 0);
}

int flight_why_start(const struct flight_why_ask *ask, const char *name, int report_fd,
		     struct flight_why *out_why, struct err *err)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		give_up_all(fds[1], report_fd);
		child_main(ask);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return err_set(err, -EAGAIN, "cannot fork");
	}
	*out_why = (struct flight_why){ .pid = pid, .fd = fds[0], .name = xstrdup(name) };
	return 0;
}

bool flight_why_read(struct flight_why *why)
{
	ssize_t got = read(why->fd, why->text + why->bytes, sizeof(why->text) - 1 - why->bytes);

	if (got > 0)
		why->bytes += (size_t)got;
	if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
		return false;
	why->text[why->bytes] = '\0';
	why->text[strcspn(why->text, "\n")] = '\0';
	return true;
}

void flight_why_end(struct flight_why *why)
{
	if (!why->pid)
		return;
	(void)kill(why->pid, SIGKILL); /* it is over, or must be */
	(void)child_await(why->pid);
	mem_close_fd(&why->fd);
	free(why->name);
	*why = (struct flight_why){ .fd = -1 };
}
