/* delays_watch.c - holdup delays, asking the kernel: once, or at intervals. */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <poll.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/delays_cmd.h"
#include "cli/exit.h"
#include "accounts/proc.h"
#include "accounts/rank.h"
#include "accounts/sample.h"
#include "report/delays.h"

static int parse_user(const char *user, uint32_t *out_uid, struct err *err)
{
	const struct passwd *entry = getpwnam(user);
	uint64_t number;

	if (entry) {
		*out_uid = entry->pw_uid;
		return 0;
	}
	if (text_parse_u64(user, &number) && number < UINT32_MAX) {
		*out_uid = (uint32_t)number;
		return 0;
	}
	return err_set(err, -EINVAL, "no user \"%s\"", user);
}

int delays_cmd_select(const struct delays_cmd *cmd, struct delays_select *out_select,
		      struct err *err)
{
	struct delays_select select = {
		.pids = cmd->pids,
		.pid_count = cmd->pid_count,
		.comm = cmd->comm,
		.cgroup = cmd->cgroup,
		.has_uid = cmd->user != NULL,
		.all = cmd->all,
		.threads = cmd->threads,
	};
	int rc = cmd->user ? parse_user(cmd->user, &select.uid, err) : 0;

	if (rc == 0)
		*out_select = select;
	return rc;
}

int delays_sample_once(const struct delays_cmd *cmd, uint32_t flags,
		       struct delays_sample *out_sample, struct err *out_why, struct err *err)
{
	struct delays_sampler *sampler;
	struct delays_select select;
	int rc = delays_cmd_select(cmd, &select, err);

	if (rc < 0)
		return rc;
	(void)delays_sampler_open(&sampler, out_why); /* falls back to /proc; out_why says why */
	rc = delays_sample_take(sampler, &select, flags, out_sample, err);
	delays_sampler_close(sampler);
	return rc;
}

int delays_found_any(const struct delays_cmd *cmd, const struct delays_sample *sample,
		     struct err *err)
{
	if (sample->count)
		return 0;
	if (cmd->pid_count == 1)
		return err_set(err, -ESRCH, "no process or thread %d%s", cmd->pids[0],
			       delays_proc_hides() ? "; /proc hides those of other users (hidepid)"
						   : "");
	return err_set(err, -ESRCH, "%s%s",
		       sample->missing || sample->gone ? "no process or thread has one of these IDs"
						       : "no process matches",
		       delays_proc_hides() ? "; /proc hides those of other users (hidepid)" : "");
}

static int delays_watch_save(const struct delays_cmd *cmd, const struct delays_sample *sample,
			     const struct delays_rows *rows, struct err *err)
{
	char host[256] = "";
	const struct report_delays_opts report = { .json = true, .host = host };
	struct output output = { .fd = -1 };
	FILE *file;
	int rc = delays_save_open(cmd, &output, &file, err);

	if (rc < 0 || !file)
		return rc;
	(void)gethostname(host, sizeof(host) - 1); /* it is a label */
	report_delays(file, sample, rows, &report);
	return delays_save_close(cmd, &output, file, err);
}

int delays_once(const struct delays_cmd *cmd, struct err *err)
{
	struct report_delays_opts report = { .json = cmd->json, .top = cmd->top };
	struct delays_sample sample;
	struct delays_rows rows;
	struct err why = { 0 };
	int rc = delays_sample_once(cmd, DELAYS_TAKE_IO, &sample, &why, err);

	if (rc < 0)
		return rc;
	rc = delays_found_any(cmd, &sample, err);
	if (rc == 0) {
		report.why_not = sample.source == DELAYS_FROM_PROC ? why.text : NULL;
		delays_rows_of_sample(&sample, (enum delays_sort)cmd->sort, &rows);
		report_delays(stdout, &sample, &rows, &report);
		rc = delays_watch_save(cmd, &sample, &rows, err);
		delays_rows_fini(&rows);
	}
	delays_sample_fini(&sample);
	return rc;
}

/* ------------------------------------------------------------------- intervals */

struct watch {
	const struct delays_cmd *cmd;
	struct delays_select select;
	struct delays_sampler *sampler; /* owned */
	struct report_delays_opts report;
	int signals; /* owned; readable when we are to end */
};

/* Returns false when a signal came. */
static bool wait_until(const struct watch *watch, uint64_t until_ns)
{
	uint64_t now_ns = delays_now_ns();
	struct pollfd poll_fd = { .fd = watch->signals, .events = POLLIN };
	struct timespec left = { 0 };

	if (now_ns < until_ns) {
		left.tv_sec = (time_t)((until_ns - now_ns) / 1000000000);
		left.tv_nsec = (long)((until_ns - now_ns) % 1000000000);
	}
	return ppoll(&poll_fd, 1, &left, NULL) == 0;
}

static void print_interval(struct watch *watch, const struct delays_sample *before,
			   const struct delays_sample *after)
{
	struct delays_delta delta;
	struct delays_rows rows;

	delays_delta_make(before, after, &delta);
	delays_rows_of_delta(&delta, (enum delays_sort)watch->cmd->sort, &rows);
	watch->report.interval++;
	report_delays_delta(stdout, after, &delta, &rows, &watch->report);
	fflush(stdout);
	delays_rows_fini(&rows);
	delays_delta_fini(&delta);
}

static bool wants_more(const struct watch *watch)
{
	return !ferror(stdout) &&
	       (!watch->cmd->count || watch->report.interval < watch->cmd->count);
}

static int delays_watch_run(struct watch *watch, struct err *err)
{
	struct delays_sample before, after;
	uint64_t next_ns;
	int rc = delays_sample_take(watch->sampler, &watch->select, DELAYS_TAKE_IO, &before, err);

	if (rc < 0)
		return rc;
	rc = delays_found_any(watch->cmd, &before, err);
	next_ns = before.time_ns;
	while (rc == 0 && wants_more(watch)) {
		next_ns += watch->cmd->interval_ns;
		if (!wait_until(watch, next_ns))
			break;
		rc = delays_sample_take(watch->sampler, &watch->select, DELAYS_TAKE_IO, &after,
					err);
		if (rc < 0)
			break;
		print_interval(watch, &before, &after);
		delays_sample_fini(&before);
		before = after;
		if (!before.count && watch->select.pid_count)
			break; /* what was asked for by number has ended */
		if (delays_now_ns() > next_ns + watch->cmd->interval_ns)
			next_ns = delays_now_ns(); /* we are late: do not hurry after it */
	}
	delays_sample_fini(&before);
	return rc;
}

int delays_watch(const struct delays_cmd *cmd, struct err *err)
{
	struct watch watch = { .cmd = cmd,
			       .report = { .json = cmd->json, .top = cmd->top },
			       .signals = -1 };
	struct err why = { 0 };
	sigset_t ends;
	int rc = delays_cmd_select(cmd, &watch.select, err);

	if (rc < 0)
		return rc;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	watch.signals = signalfd(-1, &ends, SFD_CLOEXEC);
	if (watch.signals < 0)
		return err_set(err, -errno, "cannot watch for signals: %s", strerror(errno));
	(void)delays_sampler_open(&watch.sampler, &why);
	if (delays_sampler_source(watch.sampler) == DELAYS_FROM_PROC)
		watch.report.why_not = why.text;
	rc = delays_watch_run(&watch, err);
	delays_sampler_close(watch.sampler);
	close(watch.signals);
	return rc;
}
