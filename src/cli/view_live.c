/* view_live.c - the process that records, and what it draws meanwhile. */
#include "cli/view_live.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ask/growing.h"
#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/reading.h"
#include "cli/tempdir.h"
#include "guard/drop.h"
#include "record/record.h"
#include "timeline/timeline.h"
#include "view/answer.h"
#include "view/live.h"

#define STEP_MS	 1000u
#define SHOWN_NS UINT64_C(30000000000)

/* A recording under way. */
struct showing {
	struct view_live *live;
	struct growing *growing; /* owned */
	bool is_broken;		 /* nothing is drawn any more; recording goes on */
};

/* ------------------------------------------------------------------- the server */

static void say_served(void *of)
{
	const int *fd = of;

	(void)!write(*fd, "", 1);
}

static void run_server(const struct view_live_job *job, const char *dir,
		       const struct view_live *live, int fd)
{
	AUTO_FREE char *copy = xstrdup(dir);
	struct err err = { 0 };
	int rc;

	(void)setpgid(0, 0); /* Ctrl-C is the recorder's */
	rc = guard_drop_to_sudo_user(&err);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (rc == 0) {
		reading_indexes(dirname(copy));
		rc = job->serve(job->context, dir, live, say_served, &fd, &err);
	}
	if (rc < 0)
		fprintf(stderr, "holdup: %s\n", err.text);
	(void)fflush(stdout);
	_exit(rc < 0 ? EXIT_FAIL : EXIT_OK);
}

/* Returns once its address is printed. */
static int start_server(const struct view_live_job *job, const char *dir,
			const struct view_live *live, pid_t *out_child, struct err *err)
{
	int ends[2];
	char byte;
	sigset_t signals, before;
	pid_t child;

	if (pipe(ends) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	(void)fflush(NULL);
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &signals, &before);
	child = fork();
	if (child == 0) {
		(void)close(ends[0]);
		run_server(job, dir, live, ends[1]);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)close(ends[1]);
	*out_child = child;
	if (child < 0 || read(ends[0], &byte, 1) != 1) {
		(void)close(ends[0]);
		return err_set(err, -EIO, "the server did not start");
	}
	(void)close(ends[0]);
	return 0;
}

/* Until it ends; our end is its end. */
static void wait_for_server(pid_t child)
{
	const struct timespec second = { .tv_sec = 1 };
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	while (waitpid(child, NULL, WNOHANG) == 0) {
		int signal = sigtimedwait(&signals, NULL, &second);

		if (signal == SIGINT || signal == SIGTERM)
			(void)kill(child, SIGTERM);
	}
}

/* ---------------------------------------------------------------- the recording */

/* The last seconds, as far as they are known. */
static void draw(struct showing *showing, const char *dir)
{
	const struct timeline *timeline = growing_timeline(showing->growing);
	struct loaded loaded = { .timeline = (struct timeline *)(uintptr_t)timeline };
	struct view view = { .path = dir, .loaded = &loaded };

	if (!timeline || timeline->end_ns <= timeline->origin_ns)
		return;
	loaded.facts = growing_facts(showing->growing);
	view.to_ns = timeline->end_ns;
	view.from_ns = timeline->end_ns - timeline->origin_ns > SHOWN_NS
			       ? timeline->end_ns - SHOWN_NS
			       : timeline->origin_ns;
	view_live_put(showing->live, &view);
}

struct step {
	struct showing *showing;
	const char *dir;
};

static void on_step(void *context, uint64_t whole_ns)
{
	const struct step *step = context;
	struct showing *showing = step->showing;
	struct err err = { 0 };

	if (showing->is_broken || whole_ns == UINT64_MAX)
		return;
	showing->is_broken = growing_step(showing->growing, whole_ns, &err) < 0;
	if (showing->is_broken)
		fprintf(stderr, "holdup: nothing is drawn until the end: %s\n", err.text);
	else
		draw(showing, step->dir);
}

static int record(struct view_live_job *job, struct record_opts *opts, struct err *err)
{
	struct record_result result = { .status = -1 };
	bool is_given;
	int rc = recording_preload(&job->recording, opts, err);

	if (rc == 0)
		rc = record_run(opts, &result, err);
	is_given = result.is_given;
	record_result_fini(&result);
	return rc < 0 ? rc : recording_leave_root(&job->recording, opts->dir, is_given, err);
}

int view_live_run(struct view_live_job *job, struct err *err)
{
	struct record_opts opts = { .argv = job->command, .seconds = job->seconds };
	struct showing showing = { 0 };
	struct step step = { .showing = &showing };
	pid_t child = -1;
	int rc;

	recording_fill(&job->recording, &opts);
	rc = tempdir_make(&opts.dir, err);
	if (rc == 0)
		rc = view_live_new(&showing.live, err);
	if (rc == 0)
		rc = start_server(job, opts.dir, showing.live, &child, err);
	if (rc < 0) {
		tempdir_remove();
		return rc;
	}
	showing.growing = growing_new(opts.dir);
	step.dir = opts.dir;
	opts.step = on_step;
	opts.step_context = &step;
	opts.step_ms = STEP_MS;
	rc = record(job, &opts, err);
	growing_free(showing.growing);
	view_live_end(showing.live, rc < 0 ? err->text : NULL);
	wait_for_server(child);
	tempdir_remove();
	return rc;
}
