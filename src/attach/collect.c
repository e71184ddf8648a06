/*
 * collect.c - make DIR/user, let others write there, and make it clean.
 *
 * DIR is ours alone, but for its x bit while it is recorded into: so another user's processes
 * can go through it to DIR/user, and see nothing else.
 */
#include "attach/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <holdup/trace_hot.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/drop.h"
#include "guard/user.h"
#include "attach/control.h"
#include "attach/files.h"
#include "attach/trace.h"

#define OPEN_DIR     (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define SETTLE_NS    20000000 /* longer than an event takes that has begun */
#define PASS_MODE    0711
#define PRIVATE_MODE 0700

/* A running process that was asked. */
struct asked {
	struct user_process *process;
	struct holdup_control_ *before; /* owned */
	bool copies;			/* it logs to its own runtime folder ... */
	char *trace;			/* owned; ... here, as it said; NULL = nothing */
};

struct user_collect {
	struct user_wish wish;
	char *path;	      /* owned; absolute, of DIR/user */
	char *environment[3]; /* owned */
	int fd;		      /* DIR/user */
	struct asked *asked;
	size_t asked_count;
	bool stopped;
};

/* --------------------------------------------------------------------- begin */

static int make_folder(struct user_collect *collect, struct err *err)
{
	const struct user_wish *wish = &collect->wish;
	AUTO_FREE char *whole = realpath(wish->dir, NULL);

	if (!whole)
		return err_set(err, -errno, "cannot find %s: %s", wish->dir, strerror(errno));
	collect->path = xasprintf("%s/user", whole);
	if (mkdirat(wish->dir_fd, "user", PRIVATE_MODE) == 0)
		collect->fd = openat(wish->dir_fd, "user", OPEN_DIR);
	if (collect->fd < 0)
		return err_set(err, -errno, "cannot create user/: %s", strerror(errno));
	/* Others can go through to the folders of their own that are made for them. */
	if (fchmod(wish->dir_fd, PASS_MODE) < 0 ||
	    fchmod(collect->fd, wish->pid_count ? PASS_MODE : PRIVATE_MODE) < 0)
		return err_set(err, -errno, "cannot give the command access: %s", strerror(errno));
	if (wish->has_command && wish->gives)
		(void)!fchown(collect->fd, wish->uid,
			      wish->gid); /* some file systems have no owners */
	return 0;
}

int user_collect_begin(const struct user_wish *wish, struct user_collect **out_collect,
		       struct err *err)
{
	struct user_collect *collect = xcalloc(1, sizeof(*collect));
	int rc;

	collect->wish = *wish;
	collect->fd = -1;
	rc = make_folder(collect, err);
	if (rc < 0) {
		collect->stopped = true;
		user_collect_free(collect);
		return rc;
	}
	if (wish->has_command) {
		collect->environment[0] = xasprintf("HOLDUP=stream:%s", collect->path);
		collect->environment[1] =
			xasprintf("HOLDUP_EVENTS=%s", wish->events ? wish->events : "all");
	}
	*out_collect = collect;
	return 0;
}

const char *const *user_collect_environment(const struct user_collect *collect)
{
	return (const char *const *)collect->environment;
}

/* ------------------------------------------------------------------------ ask */

/*
 * Can that user make files there? One is made with that user's rights; not by a child of ours that
 * becomes the user, since the user could stop it, and we would wait.
 */
static bool may_write(const char *path, const struct user_proc *proc)
{
	const struct guard_user user = { .uid = proc->uid, .gid = proc->gid };
	AUTO_FREE char *name = xasprintf("%s/.holdup-try", path);
	AUTO_CLOSE int fd = -1;
	struct guard_lent lent;

	if (geteuid() != 0)
		return proc->uid == geteuid() && access(path, W_OK | X_OK) == 0;
	if (guard_lend(&user, &lent, NULL) < 0)
		return false;
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)unlink(name); /* nobody but that user is hurt by one that stays */
	guard_take_back(&lent);
	return fd >= 0;
}

/* DIR/user/pidN, the process's own; NULL when it could not use it. */
static char *make_own(const struct user_collect *collect, const struct user_proc *proc)
{
	AUTO_FREE char *name = xasprintf("pid%d", proc->pid);
	char *path = xasprintf("%s/%s", collect->path, name);
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (proc->same_mounts && mkdirat(collect->fd, name, PRIVATE_MODE) == 0)
		fd = openat(collect->fd, name, OPEN_DIR);
	/* Who owns the folder above could have put another one there. */
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    (proc->uid == geteuid() || fchown(fd, proc->uid, proc->gid) == 0) &&
	    may_write(path, proc))
		return path;
	(void)unlinkat(collect->fd, name, AT_REMOVEDIR);
	free(path);
	return NULL;
}

static int ask_one(struct user_collect *collect, int32_t pid, struct err *err)
{
	const char *events = collect->wish.events;
	struct asked asked = { 0 };
	AUTO_FREE char *dir = NULL;
	int rc = user_process_open(pid, &asked.process, err);

	if (rc < 0)
		return rc;
	asked.before = xmalloc(sizeof(*asked.before));
	memcpy(asked.before, asked.process->control, sizeof(*asked.before));
	dir = make_own(collect, &asked.process->proc);
	asked.copies = !dir;
	rc = user_process_ask(asked.process, dir ? dir : "", USER_STREAM, events ? events : "all",
			      err);
	if (rc < 0) {
		user_process_close(asked.process);
		free(asked.before);
		return rc;
	}
	collect->asked[collect->asked_count++] = asked;
	return 0;
}

void user_collect_ask(struct user_collect *collect,
		      void (*note)(void *context, int32_t pid, const char *why), void *context)
{
	const struct user_wish *wish = &collect->wish;

	collect->asked = xcalloc(wish->pid_count + 1, sizeof(*collect->asked));
	for (size_t i = 0; i < wish->pid_count; i++) {
		struct err err = { 0 };
		int rc = ask_one(collect, wish->pids[i], &err);

		if (rc < 0 && rc != -ENOENT && rc != -ESRCH)
			note(context, wish->pids[i], err.text);
	}
}

/* ------------------------------------------------------------------------ end */

static int make_copy_folder(const struct user_collect *collect, const char *trace)
{
	AUTO_FREE char *name = user_make_folder(collect->fd, trace);

	return name ? openat(collect->fd, name, OPEN_DIR) : -1;
}

static void copy_own(struct user_collect *collect, const struct asked *asked)
{
	AUTO_CLOSE int from = -1;
	AUTO_CLOSE int to = -1;
	struct user_sum sum;

	if (!asked->trace || strcmp(asked->trace, asked->before->trace) == 0)
		return; /* it logged nothing */
	from = user_process_open_folder(asked->process, asked->trace);
	if (from >= 0)
		to = make_copy_folder(collect, strrchr(asked->trace, '/') + 1);
	if (to >= 0)
		(void)user_trace_copy(from, to, NULL, &sum,
				      NULL); /* the rest is as good as it gets */
}

/* Where it logs is not written there any more when it has been told to go back. */
static void remember_trace(struct asked *asked)
{
	const char *failed, *trace;

	(void)user_process_read(asked->process); /* or as it was before */
	trace = user_process_trace(asked->process, &failed);
	asked->trace = asked->copies && trace ? xstrdup(trace) : NULL;
}

static void take_back(struct user_collect *collect)
{
	const struct timespec settle = { .tv_nsec = SETTLE_NS };

	for (size_t i = 0; i < collect->asked_count; i++) {
		remember_trace(&collect->asked[i]);
		(void)user_process_restore(collect->asked[i].process, collect->asked[i].before,
					   NULL); /* it may have ended */
	}
	if (collect->asked_count)
		(void)nanosleep(&settle, NULL);
}

/* Processes that live on and log to this recording, which is over. */
static void stop_living(const struct user_collect *collect)
{
	int32_t *pids;
	size_t count = user_proc_all(&pids), bytes = strlen(collect->path);

	for (size_t i = 0; i < count; i++) {
		struct user_process *process;

		if (user_process_open(pids[i], &process, NULL) < 0)
			continue;
		if (user_process_logs(process) && process->proc.same_mounts &&
		    strncmp(process->control->dir, collect->path, bytes) == 0)
			(void)user_process_stop(process, NULL); /* it may have ended */
		user_process_close(process);
	}
	free(pids);
}

struct cleaning {
	struct user_collected *collected;
};

static void clean(void *context, int parent_fd, const char *name)
{
	struct cleaning *cleaning = context;
	struct user_collected *collected = cleaning->collected;
	AUTO_CLOSE int fd = openat(parent_fd, name, OPEN_DIR);
	struct user_sum sum = { 0 };

	if (fd < 0)
		return;
	if (!user_trace_trim(fd, &sum)) {
		(void)unlinkat(parent_fd, name, AT_REMOVEDIR); /* something else may be in it */
		return;
	}
	collected->processes++;
	collected->living += sum.in_use;
	collected->bytes += sum.bytes;
	collected->lost += sum.lost;
	collected->half_bytes += sum.in_use ? 0 : sum.half_bytes;
	collected->unread_bytes += sum.unread_bytes;
}

static void remove_empty(struct user_collect *collect)
{
	for (size_t i = 0; i < collect->wish.pid_count; i++) {
		AUTO_FREE char *name = xasprintf("pid%d", collect->wish.pids[i]);
		AUTO_FREE char *clock = xasprintf("%s/.clock", name);

		(void)unlinkat(collect->fd, clock, 0); /* libholdup's notes of the counter */
		(void)unlinkat(collect->fd, name, AT_REMOVEDIR); /* it is not empty, mostly */
	}
	(void)unlinkat(collect->fd, ".clock", 0);
	(void)unlinkat(collect->wish.dir_fd, "user", AT_REMOVEDIR);
}

void user_collect_stop(struct user_collect *collect)
{
	if (collect->stopped)
		return;
	collect->stopped = true;
	if (collect->wish.has_command)
		stop_living(collect);
	take_back(collect);
}

void user_collect_end(struct user_collect *collect, struct user_collected *out_collected)
{
	struct user_collected collected = { 0 };
	struct cleaning cleaning = { .collected = &collected };

	for (size_t i = 0; i < collect->asked_count; i++) {
		if (collect->asked[i].copies)
			copy_own(collect, &collect->asked[i]);
	}
	collected.is_cut = !user_traces_each(collect->fd, clean, &cleaning);
	remove_empty(collect);
	(void)fchmod(collect->wish.dir_fd, PRIVATE_MODE);
	(void)user_remove_stale();
	*out_collected = collected;
}

void user_collect_free(struct user_collect *collect)
{
	if (!collect)
		return;
	user_collect_stop(collect);
	for (size_t i = 0; i < collect->asked_count; i++) {
		user_process_close(collect->asked[i].process);
		free(collect->asked[i].before);
		free(collect->asked[i].trace);
	}
	for (size_t i = 0; i < ARRAY_LEN(collect->environment); i++)
		free(collect->environment[i]);
	mem_close_fd(&collect->fd);
	free(collect->asked);
	free(collect->path);
	free(collect);
}
