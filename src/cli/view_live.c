/* view_live.c - the process that records, and what it draws meanwhile. */
#include "cli/view_live.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ask/growing.h"
#include "ask/loaded.h"
#include "ask/other_lanes.h"
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
#include "view/others.h"

#define STEP_MS	    1000u
#define PRINTED_MAX (1 << 20) /* bytes of what the command printed: the last ones */
#define SHOWN_NS    UINT64_C(30000000000)

/* Between recorder and server; the recorder's ends are -1 where they are not open. */
struct pipes {
	int told[2]; /* the server listens; its address is printed */
	int begun
		[2]; /* recording has begun; both ends stay open here: no write can fail for want of a reader */
};

/* A recording under way. */
struct showing {
	const struct view_live_job *job;
	uint32_t ends; /* so often the user wanted the end */
	struct pipes pipes;
	pid_t server;
	bool has_begun;
	struct view_live *live;
	struct growing *growing; /* owned */
	bool is_broken;		 /* nothing is drawn any more; recording goes on */
};

/* ------------------------------------------------------------------- the server */

static bool say_listening(void *of)
{
	const struct pipes *pipes = of;
	char byte;

	return write(pipes->told[1], "", 1) == 1 && read(pipes->begun[0], &byte, 1) == 1;
}

static void say_served(void *of)
{
	const struct pipes *pipes = of;

	(void)!write(pipes->told[1], "", 1);
}

static void run_server(const struct view_live_job *job, const char *dir, struct view_live *live,
		       struct pipes *pipes)
{
	const struct view_live_door door = { say_listening, say_served, pipes };
	AUTO_FREE char *copy = xstrdup(dir);
	struct err err = { 0 };
	int rc;

	(void)close(pipes->told[0]);
	(void)close(pipes->begun[1]);
	if (!job->has_terminal)
		(void)setpgid(0, 0); /* Ctrl-C is the recorder's */
	rc = guard_drop_to_sudo_user(&err);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (rc == 0) {
		reading_indexes(dirname(copy));
		rc = job->serve(job->context, dir, live, &door, &err);
	}
	if (rc < 0)
		fprintf(stderr, "holdup: %s\n", err.text);
	(void)fflush(stdout);
	_exit(rc < 0 ? EXIT_FAIL : EXIT_OK);
}

static void pipes_close(struct pipes *pipes)
{
	if (pipes->told[0] >= 0)
		(void)close(pipes->told[0]);
	for (size_t i = 0; i < 2 && pipes->begun[i] >= 0; i++)
		(void)close(pipes->begun[i]);
	pipes->told[0] = pipes->begun[0] = pipes->begun[1] = -1;
}

static pid_t fork_server(const struct view_live_job *job, const char *dir, struct view_live *live,
			 struct pipes *pipes)
{
	sigset_t signals, before;
	pid_t child;

	(void)fflush(NULL);
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &signals, &before);
	child = fork();
	if (child == 0)
		run_server(job, dir, live, pipes);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)close(pipes->told[1]);
	return child;
}

/* Returns once it listens; nothing is printed yet. */
static int start_server(const struct view_live_job *job, const char *dir, struct view_live *live,
			struct showing *showing, struct err *err)
{
	struct pipes *pipes = &showing->pipes;
	char byte;

	if (pipe2(pipes->told, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(pipes->begun, O_CLOEXEC) < 0) {
		(void)close(pipes->told[1]);
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	}
	showing->server = fork_server(job, dir, live, pipes);
	if (showing->server < 0 || read(pipes->told[0], &byte, 1) != 1)
		return err_set(err, -EIO, "the server did not start");
	return 0;
}

/* Recording has begun: the server prints its address, and the command may print behind that. */
static void on_begun(void *context)
{
	struct showing *showing = context;
	char byte;

	showing->has_begun = write(showing->pipes.begun[1], "", 1) == 1;
	if (showing->has_begun)
		(void)!read(showing->pipes.told[0], &byte, 1);
}

/* Until it ends; our end is its end, and where it stops, a job of the shell, so do we. Returns its status. */
static int wait_for_server(pid_t child)
{
	const struct timespec second = { .tv_sec = 1 };
	sigset_t signals;
	int status = 0;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	for (;;) {
		pid_t ended = waitpid(child, &status, WNOHANG | WUNTRACED);
		int signal;

		if (ended == child && WIFSTOPPED(status)) {
			(void)raise(SIGSTOP);
			continue;
		}
		if (ended != 0)
			return ended == child ? status : 0;
		signal = sigtimedwait(&signals, NULL, &second);
		if (signal == SIGINT || signal == SIGTERM)
			(void)kill(child, SIGTERM);
	}
}

/* Recording failed: a page that is open gets to hear of it, and the terminal does not wait long. */
static void end_server(const struct showing *showing)
{
	const struct timespec moment = { .tv_sec = 1, .tv_nsec = 500000000 };

	if (showing->has_begun)
		(void)nanosleep(&moment, NULL);
	(void)kill(showing->server, SIGTERM);
}

/* ------------------------------------------------------- the command's terminal */

/* What the recorder's own were, and where the command prints to meanwhile. */
struct stdio {
	int before[3]; /* -1 = as they are */
	int printed;
};

#define STDIO_NONE ((struct stdio){ { -1, -1, -1 }, -1 })

/*
 * A file without a name: beside the trace, so that no user's program fills memory with it; where the file
 * system there makes none (vfat), in another folder; at last in memory.
 */
static int open_printed(const char *dir)
{
	AUTO_FREE char *copy = xstrdup(dir);
	const char *folders[] = { dirname(copy), "/var/tmp", "/tmp" };
	int fd = -1;

	for (size_t i = 0; i < ARRAY_LEN(folders) && fd < 0; i++)
		fd = open(folders[i], O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0) {
		fd = memfd_create("holdup-printed", MFD_CLOEXEC);
		if (fd >= 0)
			(void)fcntl(fd, F_SETFL, O_APPEND); /* of a regular file it cannot fail */
	}
	return fd;
}

static int stdio_begin(struct stdio *stdio, const char *dir, struct err *err)
{
	AUTO_CLOSE int none = open("/dev/null", O_RDONLY | O_CLOEXEC);

	stdio->printed = open_printed(dir);
	if (none < 0 || stdio->printed < 0)
		return err_set(err, -errno, "cannot keep what the command prints: %s",
			       strerror(errno));
	(void)fflush(NULL);
	for (int fd = 0; fd < 3; fd++) {
		stdio->before[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (stdio->before[fd] < 0 || dup2(fd ? stdio->printed : none, fd) < 0)
			return err_set(err, -errno, "cannot lead the command's output away: %s",
				       strerror(errno));
	}
	return 0;
}

static void stdio_restore(struct stdio *stdio)
{
	(void)fflush(NULL);
	for (int fd = 0; fd < 3; fd++) {
		if (stdio->before[fd] < 0)
			continue;
		(void)dup2(stdio->before[fd], fd);
		(void)close(stdio->before[fd]);
		stdio->before[fd] = -1;
	}
}

/* As it would have stood there; of much the end. */
static void stdio_print(struct stdio *stdio)
{
	off_t size = stdio->printed < 0 ? 0 : lseek(stdio->printed, 0, SEEK_END), at;
	char bytes[4096];
	ssize_t got;

	at = size > PRINTED_MAX ? size - PRINTED_MAX : 0;
	if (at)
		printf("[%lld bytes that the command printed before are left out]\n",
		       (long long)at);
	while (size > 0 && (got = pread(stdio->printed, bytes, sizeof(bytes), at)) > 0) {
		(void)fwrite(bytes, 1, (size_t)got, stdout);
		at += got;
	}
	(void)fflush(stdout);
	if (stdio->printed >= 0)
		(void)close(stdio->printed);
	stdio->printed = -1;
}

/* ---------------------------------------------------------------- the recording */

/* The last seconds, as far as they are known. */
static void draw(struct showing *showing, const char *dir)
{
	const struct timeline *timeline = growing_timeline(showing->growing);
	struct loaded loaded = { .timeline = (struct timeline *)(uintptr_t)timeline };
	struct view view = { .path = dir, .loaded = &loaded };
	struct other_lanes lanes = { 0 };

	if (!timeline || timeline->end_ns <= timeline->origin_ns)
		return;
	loaded.facts = growing_facts(showing->growing);
	view.to_ns = timeline->end_ns;
	view.from_ns = timeline->end_ns - timeline->origin_ns > SHOWN_NS
			       ? timeline->end_ns - SHOWN_NS
			       : timeline->origin_ns;
	lanes.others = (struct others *)(uintptr_t)growing_others(showing->growing);
	view.others = view_others_ready(&lanes);
	if (showing->job->draw)
		showing->job->draw(showing->live, &view);
	else
		view_live_put(showing->live, &view);
	view_others_end(view.others);
}

struct step {
	struct showing *showing;
	const char *dir;
};

/* Keys of the one that looks, as if they were Ctrl-C: the first one ends the command, the next one the recording. */
static void heed_ends(struct showing *showing)
{
	if (showing->ends >= 2 || view_live_ends(showing->live) <= showing->ends)
		return;
	showing->ends++;
	(void)kill(getpid(), SIGINT);
}

static void on_step(void *context, uint64_t whole_ns)
{
	const struct step *step = context;
	struct showing *showing = step->showing;
	struct err err = { 0 };

	heed_ends(showing);
	if (showing->is_broken || whole_ns == UINT64_MAX)
		return;
	showing->is_broken = growing_step(showing->growing, whole_ns, &err) < 0;
	if (showing->is_broken)
		fprintf(stderr, "holdup: nothing is drawn until the end: %s\n", err.text);
	else
		draw(showing, step->dir);
}

static int record(const struct view_live_job *job, struct record_opts *opts, struct err *err)
{
	struct record_result result = { .status = -1 };
	bool is_given;
	int rc = recording_preload(job->recording, opts, err);

	if (rc == 0)
		rc = record_run(opts, &result, err);
	is_given = result.is_given;
	record_result_fini(&result);
	return rc < 0 ? rc : recording_leave_root(job->recording, opts->dir, is_given, err);
}

int view_live_run(const struct view_live_job *job, struct err *err)
{
	struct record_opts opts = { .argv = job->command, .seconds = job->seconds };
	struct showing showing = { .job = job, .pipes = { { -1, -1 }, { -1, -1 } }, .server = -1 };
	struct step step = { .showing = &showing };
	struct stdio stdio = STDIO_NONE;
	int rc, status;

	recording_fill(job->recording, &opts);
	rc = opts.dir ? 0 : tempdir_make(&opts.dir, err);
	if (rc == 0)
		rc = view_live_new(&showing.live, err);
	if (rc == 0)
		rc = start_server(job, opts.dir, showing.live, &showing, err);
	if (rc < 0) {
		pipes_close(&showing.pipes);
		tempdir_remove();
		return rc;
	}
	showing.growing = growing_new(opts.dir);
	step.dir = opts.dir;
	opts.begun = on_begun;
	opts.begun_context = &showing;
	opts.step = on_step;
	opts.step_context = &step;
	opts.step_ms = STEP_MS;
	rc = job->has_terminal ? stdio_begin(&stdio, opts.dir, err) : 0;
	if (rc == 0)
		rc = record(job, &opts, err);
	stdio_restore(&stdio);
	growing_free(showing.growing);
	view_live_end(showing.live, rc < 0 ? err->text : NULL);
	pipes_close(&showing.pipes);
	if (rc < 0)
		end_server(&showing);
	status = wait_for_server(showing.server);
	stdio_print(&stdio);
	tempdir_remove();
	if (rc == 0 && job->has_terminal && status)
		rc = err_set(err, -EIO, "the viewer failed");
	return rc;
}
