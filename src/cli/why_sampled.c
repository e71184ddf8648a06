/* why_sampled.c - say what it rests on, look, print. */
#include "cli/why_sampled.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/why_live.h"
#include "record/ftrace.h"
#include "report/sampled.h"
#include "stuck/sampled.h"

#define EVERY_NS   UINT64_C(50000000)
#define FOREVER_NS (UINT64_C(1) << 60)

static volatile sig_atomic_t is_stopped;
static volatile sig_atomic_t passed_on; /* a signal that the command did not get by itself */

static void why_sampled_on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	is_stopped = 1;
	/* What the terminal sends, the command gets as well. */
	if (number != SIGCHLD && info->si_code != SI_KERNEL)
		passed_on = number;
}

static void why_sampled_watch(bool has_command)
{
	struct sigaction action = { .sa_sigaction = why_sampled_on_signal, .sa_flags = SA_SIGINFO };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	action.sa_flags |= SA_NOCLDSTOP;
	if (has_command)
		(void)sigaction(SIGCHLD, &action, NULL);
}

bool why_sampled_helps(int rc, const struct why_live *live)
{
	return (rc == -EACCES || rc == -EPERM) && geteuid() != 0 && live->count > 0;
}

static void print(const struct sampled *sampled, FILE *out, bool json, uint32_t top,
		  bool is_command)
{
	if (json)
		report_sampled_json(out, sampled);
	else
		report_sampled_text(out, sampled, top, is_command);
}

int why_sampled(const struct why_live *live, FILE *out, bool json, uint32_t top, struct err *err)
{
	const struct stuck_select select = { .tgids = live->pids, .count = live->count };
	double seconds = live->seconds > 0 ? live->seconds : WHY_LIVE_SECONDS;
	struct sampled *sampled;
	int rc;

	why_sampled_watch(false);
	fprintf(stderr,
		"holdup why: no permission to trace; sampling %u times per second for %g s "
		"instead; Ctrl-C stops\n",
		(unsigned int)(UINT64_C(1000000000) / EVERY_NS), seconds);
	rc = sampled_run(&select, (uint64_t)(seconds * 1e9), EVERY_NS, &is_stopped, &sampled, err);
	if (rc < 0)
		return err_wrap(err, "sampling without tracing");
	print(sampled, out, json, top, false);
	sampled_free(sampled);
	return 0;
}

bool why_sampled_must(void)
{
	AUTO_FREE char *path = NULL;
	struct err ignored = { 0 };

	return geteuid() != 0 && ftrace_find(&path, &ignored) == -EACCES;
}

/* Returns its number, or a negative errno: it is not there, or cannot be run. */
static pid_t begin_command(char **command)
{
	int ends[2], error = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		child_reset_signals();
		(void)execvp(command[0], command);
		error = errno;
		(void)!write(ends[1], &error, sizeof(error)); /* else it is told by its status */
		_exit(error == ENOENT ? 127 : 126);
	}
	error = pid < 0 ? errno : 0;
	(void)close(ends[1]);
	if (pid > 0 && read(ends[0], &error, sizeof(error)) != (ssize_t)sizeof(error))
		error = 0;
	(void)close(ends[0]);
	if (pid > 0 && error)
		(void)child_await(pid);
	return error ? -error : pid;
}

static int refuse_command(const char *name, int rc, struct err *err)
{
	AUTO_FREE char *safe = text_escaped(name);

	return err_set(err, rc, "cannot run %s: %s", safe, strerror(-rc));
}

int why_sampled_command(char **command, FILE *out, bool json, uint32_t top, int *out_status,
			struct err *err)
{
	struct stuck_select select = { .count = 1, .with_children = true };
	struct sampled *sampled = NULL;
	int32_t pid;
	int rc;

	*out_status = -1;
	why_sampled_watch(true);
	fprintf(stderr,
		"holdup why: no permission to trace; sampling the command and its children %u times "
		"per second instead\n",
		(unsigned int)(UINT64_C(1000000000) / EVERY_NS));
	pid = begin_command(command);
	if (pid < 0)
		return refuse_command(command[0], pid, err);
	select.tgids = &pid;
	rc = sampled_run(&select, FOREVER_NS, EVERY_NS, &is_stopped, &sampled, err);
	if (passed_on)
		(void)kill(pid, passed_on); /* our child, not reaped yet */
	*out_status = child_await(pid);
	if (rc < 0 && rc != -ESRCH)
		return err_wrap(err, "sampling without tracing");
	if (rc < 0 || !sampled->thread_count)
		rc = err_set(err, -ESRCH, "%s",
			     "the command ended before it could be looked at; to trace it needs "
			     "root: use sudo");
	else
		print(sampled, out, json, top, true);
	sampled_free(sampled);
	return rc;
}
