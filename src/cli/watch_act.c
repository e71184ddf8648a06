/* watch_act.c - children for snapshots and commands, signals; all of it counted. */
#include "cli/watch_act.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/check/check.h"
#include "analyse/why/why.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/tree.h"
#include "cli/watch_flight.h"
#include "cli/watch_tree.h"
#include "guard/drop.h"
#include "guard/give.h"
#include "guard/user.h"
#include "model/model.h"
#include "report/check.h"
#include "report/why_reason.h"

#define SELF		 "/proc/self/exe"
#define COMMANDS_MOST	 4u /* at a time */
#define FOR_COMMANDS	 2u /* the first child of theirs */
#define SIGNAL_GAP_NS	 1000000000u
#define SNAPSHOT_WAIT_MS 60000
#define COMMAND_WAIT_MS	 5000
#define SIGNAL_WAIT_MS	 1000
#define POLL_MS		 20

/*
 * A snapshot is made in a folder of its own beside its place, which is root's until it is whole:
 * then it becomes the user's who ran sudo, and gets its name with the rights of that user.
 */
struct stage {
	int parent_fd; /* --snapshot */
	int fd;
	char *name; /* owned; of the stage */
	char *last; /* owned; that the snapshot gets */
};

#define STAGE_NONE ((struct stage){ .parent_fd = -1, .fd = -1 })
#define STAGED	   "trace" /* in the stage */
#define STAGE_DEEP 4

/* Something that runs beside. */
enum child_kind {
	CHILD_COMMAND,
	CHILD_SNAPSHOT,
	CHILD_FLIGHT,
};

struct child {
	pid_t pid; /* 0 = none */
	enum child_kind kind;
	char *path;	    /* owned; of a snapshot */
	struct stage stage; /* of a snapshot */
};

struct watch_act {
	const struct watch_actions *actions;
	const char *trace;
	const struct watch_tree *tree;
	bool json;
	int signal;
	struct child children[COMMANDS_MOST +
			      FOR_COMMANDS]; /* the first one: a snapshot, then a question */
	struct watch_flight flight;
	uint64_t last_snapshot_ns, last_signal_ns;
	int32_t last_signal_pid;
	uint64_t snapshots, snapshots_failed, snapshots_left_out;
	uint64_t commands, commands_failed, commands_left_out;
	uint64_t signals, signals_failed, signals_left_out, signals_refused;
};

/* "USR1", "SIGUSR1", "10"; 0 = none of that. */
static int signal_number(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*text && !*end)
		return number > 0 && number < NSIG ? (int)number : 0;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);

		if (name && strcasecmp(name, text) == 0)
			return i;
	}
	return 0;
}

int watch_actions_check(const struct watch_actions *actions, struct err *err)
{
	struct stat st;

	if (actions->signal && !signal_number(actions->signal))
		return err_set(err, -EINVAL,
			       "option --signal needs a signal such as USR1, got "
			       "\"%s\"",
			       actions->signal);
	if (!actions->snapshot)
		return 0;
	if (!actions->snapshot[0])
		return err_set(err, -EINVAL, "option --snapshot needs a directory");
	if (stat(actions->snapshot, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(err, -EINVAL, "%s (--snapshot) is not a directory",
			       actions->snapshot);
	return 0;
}

struct watch_act *watch_act_new(const struct watch_actions *actions, const char *trace,
				const struct watch_tree *tree, bool json)
{
	struct watch_act *act = xcalloc(1, sizeof(*act));

	act->actions = actions;
	act->trace = trace;
	act->tree = tree;
	act->json = json;
	act->signal = actions->signal ? signal_number(actions->signal) : 0;
	watch_flight_begin(&act->flight);
	return act;
}

void watch_act_free(struct watch_act *act)
{
	if (!act)
		return;
	for (size_t i = 0; i < ARRAY_LEN(act->children); i++)
		free(act->children[i].path);
	free(act);
}

/* ---------------------------------------------------------------- to tell */

static void act_tell(const struct watch_act *act, const char *what, const char *about, bool is_done)
{
	AUTO_FREE char *safe = text_escaped(about);
	struct json json = { .out = stdout };

	if (!act->json) {
		printf("    %s%s %s\n", is_done ? "" : "could not: ", what, safe);
		return;
	}
	json_begin_object(&json, NULL);
	json_begin_object(&json, "action");
	json_print_string(&json, "what", what);
	json_print_string(&json, "about", about);
	json_print_bool(&json, "done", is_done);
	json_end_object(&json);
	json_end_object(&json);
	json_fini(&json);
}

/* ---------------------------------------------------------------- children */

/* With the rights of the user. */
static bool stage_make(struct stage *stage, const char *folder)
{
	struct stat st;

	(void)mkdir(folder, 0700); /* it may be there */
	stage->parent_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (uint32_t i = 1; stage->parent_fd >= 0 && !stage->last && i < 1000000; i++) {
		char *name = xasprintf("%06u.holdup", i);

		if (fstatat(stage->parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
		    errno == ENOENT)
			stage->last = name;
		else
			free(name);
	}
	if (!stage->last)
		return false;
	stage->name = xasprintf(".%s.new-%d", stage->last, (int)getpid());
	if (mkdirat(stage->parent_fd, stage->name, 0700) == 0)
		stage->fd = openat(stage->parent_fd, stage->name,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return stage->fd >= 0;
}

static bool stage_open(struct stage *stage, const char *folder)
{
	struct guard_user user = { 0 };
	bool is_found = guard_user_find(&user), is_made = false;
	uid_t owner = is_found ? user.uid : geteuid();
	struct guard_lent lent;

	if (guard_lend(is_found ? &user : NULL, &lent, NULL) == 0) {
		is_made = stage_make(stage, folder);
		guard_take_back(&lent);
	}
	guard_user_fini(&user);
	is_made = is_made && guard_take_new(stage->fd, owner) == 0;
	if (!is_made)
		mem_close_fd(&stage->fd); /* nothing in it becomes anybody's */
	if (!is_made)
		stage->fd = -1;
	return is_made;
}

/* With the rights of the user. */
static bool stage_finish(const struct stage *stage, bool is_done)
{
	if (is_done && renameat(stage->fd, STAGED, stage->parent_fd, stage->last) < 0)
		is_done = false;
	(void)tree_remove(stage->parent_fd, stage->name); /* the user sees what is left */
	return is_done;
}

/* Returns whether the snapshot has its name. */
static bool stage_close(struct stage *stage, bool is_done)
{
	struct guard_user user = { 0 };
	bool is_found = guard_user_find(&user);
	struct guard_lent lent;

	if (is_found && stage->fd >= 0)
		guard_give(stage->fd, &(struct guard_give){ user.uid, user.gid }, STAGE_DEEP);
	if (stage->fd >= 0 && guard_lend(is_found ? &user : NULL, &lent, NULL) == 0) {
		is_done = stage_finish(stage, is_done);
		guard_take_back(&lent);
	}
	guard_user_fini(&user);
	mem_close_fd(&stage->fd);
	mem_close_fd(&stage->parent_fd);
	free(stage->name);
	free(stage->last);
	*stage = STAGE_NONE;
	return is_done;
}

static void watch_act_on_end(struct watch_act *act, struct child *child, int status)
{
	bool is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	if (child->kind == CHILD_FLIGHT) {
		watch_flight_ended(&act->flight, status);
	} else if (child->kind == CHILD_SNAPSHOT) {
		is_done = stage_close(&child->stage, is_done);
		act->snapshots += is_done;
		act->snapshots_failed += !is_done;
		act_tell(act, "snapshot", child->path, is_done);
	} else {
		act->commands_failed += !is_done;
	}
	free(child->path);
	*child = (struct child){ 0 };
}

void watch_act_step(struct watch_act *act)
{
	for (size_t i = 0; i < ARRAY_LEN(act->children); i++) {
		struct child *child = &act->children[i];
		int status;

		if (child->pid > 0 && waitpid(child->pid, &status, WNOHANG) == child->pid)
			watch_act_on_end(act, child, status);
	}
}

static bool any_runs(const struct watch_act *act, bool snapshot)
{
	for (size_t i = 0; i < ARRAY_LEN(act->children); i++) {
		if (act->children[i].pid > 0 &&
		    (act->children[i].kind == CHILD_SNAPSHOT) == snapshot)
			return true;
	}
	return false;
}

static void watch_act_wait_for(struct watch_act *act, bool snapshot, uint64_t most_ms)
{
	for (uint64_t ms = 0; any_runs(act, snapshot) && ms < most_ms; ms += POLL_MS) {
		(void)poll(NULL, 0, POLL_MS);
		watch_act_step(act);
	}
}

void watch_act_settle(struct watch_act *act)
{
	watch_act_wait_for(act, true, SNAPSHOT_WAIT_MS);
	for (size_t i = 0; i < ARRAY_LEN(act->children); i++) {
		if (act->children[i].pid > 0 && act->children[i].kind == CHILD_SNAPSHOT)
			(void)kill(act->children[i].pid, SIGKILL); /* our own, not reaped yet */
	}
	watch_act_wait_for(act, true, COMMAND_WAIT_MS);
}

void watch_act_end(struct watch_act *act)
{
	watch_act_wait_for(act, true, SNAPSHOT_WAIT_MS);
	watch_act_wait_for(act, false, COMMAND_WAIT_MS);
}

/* --------------------------------------------------------------- snapshots */

static void exec_cut(const struct watch_act *act, const struct stage *stage, uint64_t from_ns,
		     uint64_t to_ns)
{
	AUTO_FREE char *from = xasprintf("+%" PRIu64 "ns", from_ns);
	AUTO_FREE char *to = xasprintf("+%" PRIu64 "ns", to_ns);
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d/" STAGED, stage->fd);
	const char *const argv[] = { SELF, "cut", "--from", from,	"--to",
				     to,   "-o",  path,	    act->trace, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		/* Progress would be drawn there; what goes wrong is told where nobody draws. */
		if (isatty(STDERR_FILENO))
			(void)dup2(null, STDERR_FILENO);
	}
	(void)fcntl(stage->fd, F_SETFD, 0);
	guard_user_forget(); /* root for root, in a folder of root's */
	child_reset_signals();
	/* Keys of the terminal are for the one that waits for it. */
	(void)setpgid(0, 0);
	execv(SELF, (char *const *)(uintptr_t)argv);
	_exit(127);
}

static void watch_act_snapshot(struct watch_act *act, uint64_t first_ns,
			       const struct check_finding *finding)
{
	const struct watch_actions *actions = act->actions;
	uint64_t end_ns = finding->end_ns - first_ns + 1;
	uint64_t from_ns = end_ns > actions->keep_ns ? end_ns - actions->keep_ns : 0;
	struct child *child = &act->children[0];
	uint64_t now = clock_now_ns();

	if (child->pid || act->snapshots + act->snapshots_failed >= actions->most_snapshots ||
	    (act->last_snapshot_ns &&
	     (double)(now - act->last_snapshot_ns) < actions->snapshot_gap_s * 1e9)) {
		act->snapshots_left_out++;
		return;
	}
	child->kind = CHILD_SNAPSHOT;
	child->stage = STAGE_NONE;
	if (stage_open(&child->stage, actions->snapshot))
		child->path = xasprintf("%s/%s", actions->snapshot, child->stage.last);
	child->pid = child->path ? fork() : -1;
	if (child->pid == 0)
		exec_cut(act, &child->stage, from_ns, end_ns);
	act->last_snapshot_ns = now;
	if (child->pid > 0)
		return;
	(void)stage_close(&child->stage, false);
	act->snapshots_failed++;
	act_tell(act, "snapshot", child->path ? child->path : actions->snapshot, false);
	free(child->path);
	*child = (struct child){ 0 };
}

/* ----------------------------------------------------------------- signals */

/* Under sudo as the user who called, as the command that is recorded; in a child, for good. */
static bool become_user(void)
{
	uid_t uid;
	gid_t gid;

	if (!guard_user_ids(&uid, &gid))
		return true;
	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	       setresuid(uid, uid, uid) == 0;
}

/*
 * The child's status. It is the user's, whose other processes may stop it: then it is ended, and no
 * signal was sent.
 */
static int wait_for_sender(pid_t child)
{
	AUTO_CLOSE int pid_fd = pidfd_open(child, 0);
	struct pollfd ended = { .fd = pid_fd, .events = POLLIN };
	int status;

	if (pid_fd < 0 || poll(&ended, 1, SIGNAL_WAIT_MS) <= 0)
		(void)kill(child, SIGKILL); /* our own, not reaped yet */
	status = child_await(child);
	if (status < 0)
		return -status;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

/* The kernel decides what the user may signal. Returns 0 or an errno. */
static int signal_as_user(const struct watch_act *act, int pid_fd)
{
	pid_t child = fork();

	if (child == 0) {
		if (!become_user())
			_exit(EPERM);
		_exit(pidfd_send_signal(pid_fd, act->signal, NULL, 0) < 0 ? errno : 0);
	}
	return child < 0 ? errno : wait_for_sender(child);
}

static int deliver(const struct watch_act *act, int pid_fd)
{
	uid_t uid;
	gid_t gid;

	/* With --as-root the command is root's, and so is the right to signal it. */
	if (!act->actions->as_root && guard_user_ids(&uid, &gid))
		return signal_as_user(act, pid_fd);
	return pidfd_send_signal(pid_fd, act->signal, NULL, 0) < 0 ? errno : 0;
}

static void refuse_signal(struct watch_act *act, int32_t tid, const char *why)
{
	AUTO_FREE char *about =
		xasprintf("%s to thread %d: it %s", sigabbrev_np(act->signal), tid, why);

	act->signals_refused++;
	act_tell(act, "signal", about, false);
}

static void send_signal(struct watch_act *act, const struct watch_proven *proven, int32_t tid)
{
	AUTO_FREE char *about = NULL;
	uint64_t now = clock_now_ns();
	int error;

	if (proven->why_not) {
		refuse_signal(act, tid, proven->why_not);
		return;
	}
	if (proven->pid == act->last_signal_pid && now - act->last_signal_ns < SIGNAL_GAP_NS) {
		act->signals_left_out++;
		return;
	}
	error = deliver(act, proven->pid_fd);
	if (error == EPERM) {
		refuse_signal(act, tid, "belongs to a process that you may not signal");
		return;
	}
	about = xasprintf("%s to process %d", sigabbrev_np(act->signal), proven->pid);
	act->signals += !error;
	act->signals_failed += error != 0;
	act->last_signal_pid = proven->pid;
	act->last_signal_ns = now;
	act_tell(act, "signal", about, !error);
}

/* ---------------------------------------------------------------- commands */

static void set_text(const char *name, const char *value)
{
	(void)setenv(name, value, 1); /* out of memory: the command sees less */
}

static void watch_act_set_number(const char *name, double value)
{
	char digits[40];

	snprintf(digits, sizeof(digits), "%.17g", value);
	set_text(name, isfinite(value) ? digits : "");
}

static void set_constraint(const struct model *model, const struct check_finding *finding)
{
	const struct model_transition *transition = &model->transitions[finding->transition];

	set_text("HOLDUP_FROM", model->states[transition->from].name);
	set_text("HOLDUP_TO", model->states[transition->to].name);
	set_text("HOLDUP_EVENT", model->patterns[transition->pattern].name);
	set_text("HOLDUP_CONSTRAINT", transition->constraints[finding->constraint].text);
	watch_act_set_number("HOLDUP_VALUE", finding->left.low);
	watch_act_set_number("HOLDUP_LIMIT", finding->right.low);
}

/* What an own event of a program says of its thread is told as that, unless the kernel says so. */
static void set_thread(const struct check_finding *finding, int32_t pid)
{
	set_text("HOLDUP_TID", "");
	set_text("HOLDUP_PID", "");
	watch_act_set_number("HOLDUP_SAID_TID", finding->tid);
	if (pid < 0)
		return;
	watch_act_set_number("HOLDUP_TID", finding->tid);
	watch_act_set_number("HOLDUP_PID", pid);
}

static void set_facts(const struct check_result *result, const struct check_finding *finding,
		      int32_t pid)
{
	AUTO_FREE char *reason = report_check_reason(result, finding);
	const struct model *model = result->model;

	set_text("HOLDUP_MODEL", model->name);
	set_text("HOLDUP_STATUS", check_status_name((enum check_status)finding->status));
	watch_act_set_number("HOLDUP_INSTANCE", (double)finding->instance);
	set_text("HOLDUP_KEY", finding->key);
	set_text("HOLDUP_STATE", model->states[finding->state].name);
	set_thread(finding, pid);
	watch_act_set_number("HOLDUP_START_NS", (double)finding->start_ns);
	watch_act_set_number("HOLDUP_END_NS", (double)finding->end_ns);
	set_text("HOLDUP_REASON", reason);
	if (finding->transition != UINT32_MAX)
		set_constraint(model, finding);
	if (finding->why && finding->why->root_count) {
		const struct why_root *root = &finding->why->roots[0];
		AUTO_FREE char *did = report_why_did(root);
		AUTO_FREE char *object = report_why_object(root->object, root->objects);
		AUTO_FREE char *why =
			xasprintf("%s: %s%s%s", root->who.comm, did, object[0] ? ", " : "", object);

		set_text("HOLDUP_WHY", why);
	}
}

static void exec_shell(const struct watch_act *act, const struct check_result *result,
		       const struct check_finding *finding, int32_t pid)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		(void)dup2(null, STDIN_FILENO);
	set_facts(result, finding, pid);
	child_reset_signals();
	if (!become_user())
		_exit(126);
	execl("/bin/sh", "sh", "-c", act->actions->exec, (char *)NULL);
	_exit(127);
}

static struct child *free_child(struct watch_act *act)
{
	for (size_t i = FOR_COMMANDS; i < ARRAY_LEN(act->children); i++) {
		if (!act->children[i].pid)
			return &act->children[i];
	}
	return NULL;
}

static void watch_act_run_command(struct watch_act *act, const struct check_result *result,
				  const struct check_finding *finding, int32_t pid)
{
	struct child *child;

	watch_act_step(act);
	child = free_child(act);
	if (!child) {
		act->commands_left_out++;
		return;
	}
	/* What is in the buffer is ours to print. */
	(void)fflush(stdout);
	child->pid = fork();
	if (child->pid == 0)
		exec_shell(act, result, finding, pid);
	if (child->pid > 0) {
		act->commands++;
		return;
	}
	child->pid = 0;
	act->commands_failed++;
	act_tell(act, "command", act->actions->exec, false);
}

static char *broken_text(const struct check_result *result, const struct check_finding *finding)
{
	const struct model *model = result->model;

	if (finding->transition == UINT32_MAX)
		return report_check_reason(result, finding);
	return xasprintf(
		"%s broken",
		model->transitions[finding->transition].constraints[finding->constraint].text);
}

/* By the kernel's word: a call, or all of those that the recorder which started us has watched. */
static bool is_of_kernel(const struct watch_act *act, const struct model *model,
			 const struct check_finding *finding)
{
	return act->flight.pipe_fd >= 0 ||
	       (finding->transition != UINT32_MAX &&
		model->patterns[model->transitions[finding->transition].pattern].take !=
			TAKE_EVENT);
}

/* To the recorder that started us each one, and it has a pause of its own; else as often as snapshots are kept. */
static void watch_act_ask_flight(struct watch_act *act, const struct check_result *result,
				 const struct check_finding *finding, bool is_proven)
{
	const struct watch_actions *actions = act->actions;
	AUTO_FREE char *what = broken_text(result, finding);
	AUTO_FREE char *why =
		watch_flight_why(actions->model_path, finding->key, what, finding->tid,
				 is_proven || is_of_kernel(act, result->model, finding));
	struct child *child = &act->children[1];

	watch_act_step(act);
	if (act->flight.pipe_fd >= 0)
		watch_flight_tell(&act->flight, why);
	else if (child->pid || !watch_flight_may_ask(&act->flight, actions->most_snapshots,
						     actions->snapshot_gap_s))
		act->flight.left_out++;
	else
		*child = (struct child){ .pid = watch_flight_ask(&act->flight, why),
					 .kind = CHILD_FLIGHT };
}

void watch_act_on(struct watch_act *act, uint64_t first_ns, const struct check_result *result,
		  const struct check_finding *finding)
{
	struct watch_proven proven = { .pid_fd = -1, .pid = -1 };

	if (act->actions->snapshot)
		watch_act_snapshot(act, first_ns, finding);
	if (act->signal || act->actions->exec || act->actions->flight)
		watch_tree_open(act->tree, finding->tid, finding->end_ns, &proven);
	if (act->signal)
		send_signal(act, &proven, finding->tid);
	if (act->actions->flight)
		watch_act_ask_flight(act, result, finding, proven.pid >= 0);
	if (act->actions->exec)
		watch_act_run_command(act, result, finding, proven.pid);
	mem_close_fd(&proven.pid_fd);
}

/* ----------------------------------------------------------------- summary */

static void print_count(FILE *out, const char *what, uint64_t done, uint64_t failed, uint64_t left)
{
	fprintf(out, "  %s: %s", what, text_count(done).s);
	if (failed)
		fprintf(out, ", %s failed", text_count(failed).s);
	if (left)
		fprintf(out, ", %s skipped: too many at a time", text_count(left).s);
	fputc('\n', out);
}

void watch_act_print(const struct watch_act *act, FILE *out)
{
	if (act->actions->snapshot)
		print_count(out, "Snapshots", act->snapshots, act->snapshots_failed,
			    act->snapshots_left_out);
	if (act->actions->flight)
		print_count(out, "Snapshots of the flight recorder", act->flight.done,
			    act->flight.failed, act->flight.left_out);
	if (act->signal)
		print_count(out, "Signals", act->signals, act->signals_failed,
			    act->signals_left_out);
	if (act->signals_refused)
		fprintf(out,
			"  Signals refused: %s, to threads outside the recorded tree or of other "
			"users\n",
			text_count(act->signals_refused).s);
	if (act->actions->exec)
		print_count(out, "Commands", act->commands, act->commands_failed,
			    act->commands_left_out);
}

static void put_count(struct json *json, const char *key, uint64_t done, uint64_t failed,
		      uint64_t left)
{
	json_begin_object(json, key);
	json_print_u64(json, "done", done);
	json_print_u64(json, "failed", failed);
	json_print_u64(json, "left_out", left);
	json_end_object(json);
}

static void put_signals(const struct watch_act *act, struct json *json)
{
	json_begin_object(json, "signals");
	json_print_u64(json, "done", act->signals);
	json_print_u64(json, "failed", act->signals_failed);
	json_print_u64(json, "left_out", act->signals_left_out);
	json_print_u64(json, "refused", act->signals_refused);
	json_end_object(json);
}

void watch_act_put(const struct watch_act *act, struct json *json)
{
	put_count(json, "snapshots", act->snapshots, act->snapshots_failed,
		  act->snapshots_left_out);
	put_count(json, "flight", act->flight.done, act->flight.failed, act->flight.left_out);
	put_signals(act, json);
	put_count(json, "commands", act->commands, act->commands_failed, act->commands_left_out);
}
