/* cmd_stuck.c - holdup stuck: what threads wait for now, and who could end it. */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/opts.h"
#include "cli/pager.h"
#include "cli/stuck_runner.h"
#include "cli/stuck_watch.h"
#include "event/stacks.h"
#include "guard/caps.h"
#include "record/go_take.h"
#include "record/share.h"
#include "record/sleeper_stacks.h"
#include "report/stuck.h"
#include "stuck/condition.h"
#include "stuck/goroutines.h"
#include "stuck/named.h"
#include "stuck/stuck.h"

/* Other users' processes: their calls and memory, their files, the peers of their sockets. */
#define RIGHTS \
	(GUARD_CAP(CAP_SYS_PTRACE) | GUARD_CAP(CAP_DAC_READ_SEARCH) | GUARD_CAP(CAP_SYS_ADMIN))

#define STACKS_MAX 256	/* threads */
#define PLACES_MS  700	/* an answer is there within a second */
#define STACKS_MS  5000 /* with --stacks */
#define GO_MS	   600	/* for what files say, and again for memory */

#define EVERY_LEAST_NS 10000000u /* between looks */

struct stuck_cmd {
	const char *comm;
	bool all;
	bool json;
	bool stacks;
	bool unfold;
	int32_t *pids; /* owned */
	size_t pid_count;
	uint64_t every_ns; /* 0 = once */
	struct opt_strings on;
	const char *exec;
	uint32_t most;
	bool flight;
	struct condition *conditions; /* owned */
	size_t condition_count;
};

static const struct opt_spec stuck_options[] = {
	{ "comm", "NAME", "Show processes with this name", opt_string,
	  offsetof(struct stuck_cmd, comm) },
	{ "all", NULL, "Show all processes", opt_flag, offsetof(struct stuck_cmd, all), 'a' },
	{ "stacks", NULL, "Print whole stacks, not only the waiting function", opt_flag,
	  offsetof(struct stuck_cmd, stacks), 's' },
	{ "unfold", NULL, "Print each idle thread, also where several wait alike", opt_flag,
	  offsetof(struct stuck_cmd, unfold) },
	{ "watch", "DURATION", "Watch until Ctrl-C, every DURATION, and print what --on names",
	  opt_duration, offsetof(struct stuck_cmd, every_ns), 'w' },
	{ "on", "CONDITION",
	  "Print each deadlock, chain>5s, D>10s or convoy>20; repeat for more (default deadlock)",
	  opt_strings, offsetof(struct stuck_cmd, on) },
	{ "exec", "COMMAND", "Run COMMAND in a shell on each report", opt_string,
	  offsetof(struct stuck_cmd, exec) },
	{ "flight", NULL, "Take a snapshot of the flight recorder on each report", opt_flag,
	  offsetof(struct stuck_cmd, flight) },
	{ "count", "N", "Stop after N reports (default: no limit)", opt_u32,
	  offsetof(struct stuck_cmd, most) },
	{ "json", NULL, "Print JSON with all threads, times in ns", opt_flag,
	  offsetof(struct stuck_cmd, json), 'j' },
	{ 0 },
};

static int parse_pids(struct stuck_cmd *cmd, char **argv, int count, struct err *err)
{
	cmd->pids = xcalloc((size_t)count + 1, sizeof(*cmd->pids));
	for (int i = 0; i < count; i++) {
		uint64_t pid;

		if (!text_parse_u64(argv[i], &pid) || pid == 0 || pid > INT32_MAX)
			return err_set(err, -EINVAL, "\"%s\" is not a process ID", argv[i]);
		cmd->pids[cmd->pid_count++] = (int32_t)pid;
	}
	if (!cmd->pid_count && !cmd->comm && !cmd->all)
		return err_set(err, -EINVAL, "name a process: PID, --comm or --all");
	return 0;
}

/* What belongs to --watch alone. */
static int parse_watch(struct stuck_cmd *cmd, struct err *err)
{
	static const char *const usual = "deadlock";
	const char *const *texts = cmd->on.count ? cmd->on.items : &usual;
	int rc = 0;

	if (!cmd->every_ns && (cmd->on.count || cmd->exec || cmd->flight || cmd->most))
		return err_set(err, -EINVAL, "--on, --exec, --flight and --count need --watch");
	if (cmd->every_ns && cmd->every_ns < EVERY_LEAST_NS)
		return err_set(err, -EINVAL, "--watch needs at least 10ms");
	cmd->condition_count = cmd->on.count ? cmd->on.count : 1;
	cmd->conditions = xcalloc(cmd->condition_count, sizeof(*cmd->conditions));
	for (size_t i = 0; i < cmd->condition_count && rc == 0; i++)
		rc = condition_parse(texts[i], &cmd->conditions[i], err);
	return rc;
}

/* Of all processes, only those whose stack is asked for, or who can never go on. */
static bool wants_stack(const struct stuck_cmd *cmd, const struct stuck_thread *thread)
{
	return thread->sp && thread->runs &&
	       (cmd->stacks || thread->root == STUCK_ROOT_DEADLOCK ||
		(thread->is_asked && (!cmd->all || cmd->every_ns)));
}

/* In which code they wait: what cannot be had is told as missing. */
static void take_stacks(const void *context, struct stuck *stuck, struct stacks *stacks)
{
	const struct stuck_cmd *cmd = context;
	AUTO_FREE struct sleeper *sleepers = xcalloc(STACKS_MAX, sizeof(*sleepers));
	size_t count = 0, left_out = 0;
	struct err err = { 0 };

	for (size_t i = 0; i < stuck->count; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];

		if (!wants_stack(cmd, thread))
			continue;
		if (count == STACKS_MAX)
			left_out++;
		else
			sleepers[count++] =
				(struct sleeper){ thread->tid,	stuck_living(stuck, thread),
						  thread->sp,	thread->pc,
						  thread->runs, thread->futex };
	}
	if (count && sleeper_stacks_take(sleepers, count, cmd->stacks ? STACKS_MS : PLACES_MS,
					 stacks, &err) < 0)
		stuck_add_missing(stuck, "in which code threads wait", err.text);
	stuck_name_futexes(stuck, stacks);
	if (left_out) {
		AUTO_FREE char *why =
			xasprintf("%zu threads more wait than stacks are taken of", left_out);

		stuck_add_missing(stuck, "in which code threads wait", why);
	}
}

/* Before anything else is looked at: what is known of them holds while their threads sleep. */
static void take_goroutines(struct stuck *stuck, struct goroutines *goroutines)
{
	const struct go_wanted wanted = { .wait_ms = GO_MS };
	struct err err = { 0 };

	if (go_take(stuck, &wanted, goroutines, &err) < 0)
		stuck_add_missing(stuck, "what goroutines wait for", err.text);
}

/* From here on nothing can become the user. */
static int keep_rights(struct err *err)
{
	guard_caps_seal();
	return guard_caps_keep(RIGHTS, err);
}

static int watch(const struct stuck_cmd *cmd, const struct stuck_select *select, struct err *err)
{
	struct stuck_runner *runner = cmd->exec ? stuck_runner_start(cmd->exec, err) : NULL;
	const struct stuck_watch watch = {
		.every_ns = cmd->every_ns,
		.conditions = cmd->conditions,
		.condition_count = cmd->condition_count,
		.most = cmd->most,
		.runner = runner,
		.flight = cmd->flight,
		.json = cmd->json,
		.whole = cmd->stacks,
		.take_stacks = take_stacks,
		.context = cmd,
	};
	int rc;

	if (cmd->exec && !runner)
		return -EIO;
	rc = keep_rights(err);
	if (rc == 0)
		rc = stuck_watch_run(&watch, select, err);
	stuck_runner_end(runner);
	return rc;
}

static int stuck_look_once(const struct stuck_cmd *cmd, const struct stuck_select *select,
			   struct err *err)
{
	struct stuck *stuck;
	struct stacks stacks = { 0 };
	struct goroutines goroutines = { 0 };
	struct report_stuck report;
	int rc;

	rc = keep_rights(err);
	if (rc == 0)
		rc = stuck_look(select, &stuck, err);
	if (rc < 0)
		return rc;
	take_goroutines(stuck, &goroutines);
	take_stacks(cmd, stuck, &stacks);
	report = (struct report_stuck){ stuck,	     &stacks,	  !cmd->all,
					cmd->stacks, cmd->unfold, &goroutines };
	if (cmd->json)
		report_stuck_json(stdout, &report);
	else
		report_stuck_text(stdout, &report);
	rc = stuck->cycle_count || goroutines_deadlocks(&goroutines) ? EXIT_FOUND : EXIT_OK;
	goroutines_fini(&goroutines);
	stacks_fini(&stacks);
	stuck_free(stuck);
	return rc;
}

/* In a child. */
static _Noreturn void stuck_look_apart(const struct stuck_cmd *cmd,
				       const struct stuck_select *select, struct err *err)
{
	int rc;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setsid();
	share_raise();
	share_raise_session();
	rc = stuck_look_once(cmd, select, err);
	if (rc >= 0 && fflush(stdout) != 0)
		rc = err_set(err, -errno, "cannot write: %s", strerror(errno));
	_exit(rc < 0 ? command_fail(&cmd_stuck, err) : rc);
}

/*
 * Among many busy programs, too, the answer is to come at once. Where the kernel shares CPUs out by session, that
 * needs a session of its own: see docs/decisions/share.md.
 */
static int stuck_look_soon(const struct stuck_cmd *cmd, struct stuck_select *select,
			   struct err *err)
{
	pid_t child = -1;
	int status;

	pager_begin(); /* as the user */
	if (share_goes_by_session()) {
		select->without_parent = true;
		child = fork();
	}
	if (child == 0)
		stuck_look_apart(cmd, select, err);
	if (child < 0) {
		select->without_parent = false;
		share_raise();
		return stuck_look_once(cmd, select, err);
	}
	status = child_await(child);
	return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status)
						: err_set(err, -EIO, "the inspection was ended");
}

static int run_stuck(int argc, char **argv)
{
	struct stuck_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(stuck_options, &cmd, argc, argv, &err);
	int rc = first;

	if (first >= 0)
		rc = parse_pids(&cmd, argv + first, argc - first, &err);
	if (rc >= 0)
		rc = parse_watch(&cmd, &err);
	if (rc < 0) {
		rc = command_usage(&cmd_stuck, rc, &err);
	} else {
		struct stuck_select select = { .tgids = cmd.pids,
					       .count = cmd.pid_count,
					       .comm = cmd.comm,
					       .all = cmd.all,
					       .may_be_gone = cmd.every_ns };

		rc = cmd.every_ns ? watch(&cmd, &select, &err)
				  : stuck_look_soon(&cmd, &select, &err);
	}
	free(cmd.pids);
	free(cmd.on.items);
	free(cmd.conditions);
	return rc < 0 ? command_fail(&cmd_stuck, &err) : rc;
}

const struct command cmd_stuck = {
	.name = "stuck",
	.args = "[OPTIONS] [PID...]",
	.summary = "Show what threads wait for now and who could end the waits",
	.options = stuck_options,
	.details =
		"Inspects running processes without recording: for each thread, its current wait,\n"
		"since when, and which thread could end the wait. Chains of waits are followed\n"
		"until a thread runs, sleeps for a given time, or waits for input from outside. A\n"
		"deadlock is a cycle of waits; a convoy is many threads behind one. Everything is\n"
		"read twice, and only what was true both times is reported. Processes are neither\n"
		"stopped nor written to. Where a thread's stack can be read, the function that\n"
		"waits is named.\n"
		"\n"
		"A deadlock is reported only if all threads that could end the waits are known;\n"
		"inferred holders are labelled and never make a deadlock. Without root, only your\n"
		"own processes are inspected. Of Go programs goroutines are shown, too: Go notes no\n"
		"owners, so their deadlocks are known by exclusion.\n"
		"\n"
		"With --watch it inspects again and again, with at most 1 % of one CPU, and prints\n"
		"each occurrence of a condition once:\n"
		"  deadlock     threads, or goroutines, wait for each other\n"
		"  chain>5s     a thread waits for others for longer\n"
		"  D>10s        a thread sleeps in the kernel, in state D, for longer\n"
		"  convoy>20    more threads than that wait for one\n"
		"COMMAND gets HOLDUP_ON, HOLDUP_PID, HOLDUP_TID, HOLDUP_TIDS and HOLDUP_WHY.\n"
		"\n"
		"Exit status: 1 a deadlock was found, 0 none, 2 wrong usage, 3 inspection failed.\n"
		"\n"
		"  holdup stuck 1234\n"
		"  holdup stuck --stacks --comm postgres\n"
		"  holdup stuck --all --json | jq .cycles\n"
		"  sudo holdup stuck --all --watch 1s --on deadlock --on 'D>10s' --flight\n",
	.prints_report = true,
	.run = run_stuck,
};
