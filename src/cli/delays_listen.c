/* delays_listen.c - holdup delays listen: exits, of a command or of everything. */
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/delays_cmd.h"
#include "cli/rights.h"
#include "accounts/cpus.h"
#include "accounts/heard.h"
#include "accounts/proc.h"
#include "accounts/sample.h"
#include "guard/caps.h"
#include "guard/user.h"
#include "record/command.h"
#include "record/interrupt.h"
#include "record/pidns.h"
#include "report/delays.h"

#define ANCESTORS_MAX 64u

struct hearing {
	const struct delays_cmd *cmd;
	struct delays_cpus cpus;	  /* owned */
	struct delays_listener *listener; /* owned */
	struct delays_tree *tree;	  /* owned */
	struct command command;
	struct delays_account account; /* when it began */
	FILE *output;		       /* owned; NULL = none */
	sigset_t signals;
	sigset_t signals_before;
	int signal_fd; /* owned */
	uint64_t begin_ns;
	uint64_t exits;
	uint64_t living;
	bool is_interrupted;
	int exec_rc; /* why the command could not be started; 0 = no such reason */
};

/* With the accounting off the rest is zero, which nobody counted. */
static void keep_counted(struct delays_stats *stats)
{
	stats->classes &= 1u << DELAYS_CPU;
	stats->ranges &= 1u << DELAYS_CPU;
}

static void on_exit_record(void *context, const struct delays_message *exit, uint64_t time_ns)
{
	struct hearing *hearing = context;
	struct delays_message counted;

	hearing->exits++;
	if (hearing->account.state != DELAYS_ACCOUNT_ON) {
		counted = *exit;
		keep_counted(&counted.thread);
		exit = &counted;
	}
	delays_tree_feed(hearing->tree, exit, time_ns);
	if (hearing->output)
		report_delays_exit(hearing->output, exit, time_ns);
}

static int hearing_take(struct hearing *hearing, struct err *err)
{
	const struct delays_exits exits = { on_exit_record, hearing };

	return delays_listener_take(hearing->listener, &exits, err);
}

/* ---------------------------------------------------------------------- set up */

/* Are all of 'some' in 'all'? Both rise. */
static int check_cpus(const struct delays_cpus *some, const struct delays_cpus *all,
		      struct err *err)
{
	size_t at = 0;

	for (size_t i = 0; i < some->count; i++) {
		while (at < all->count && all->cpus[at] < some->cpus[i])
			at++;
		if (at == all->count || all->cpus[at] != some->cpus[i]) {
			AUTO_FREE char *there = delays_cpus_text(all, 0, all->count);

			return err_set(err, -EINVAL, "this machine has no CPU %u, only CPUs %s",
				       some->cpus[i], there);
		}
	}
	return 0;
}

static int find_cpus(struct hearing *hearing, struct err *err)
{
	struct delays_cpus possible;
	int rc = delays_cpus_possible(&possible, err);

	if (rc < 0)
		return rc;
	if (!hearing->cmd->cpus) {
		hearing->cpus = possible;
		return 0;
	}
	rc = delays_cpus_parse(hearing->cmd->cpus, &hearing->cpus, err);
	if (rc == 0)
		rc = check_cpus(&hearing->cpus, &possible, err);
	delays_cpus_fini(&possible);
	return rc;
}

static int delays_listen_watch_signals(struct hearing *hearing, struct err *err)
{
	interrupt_signals(&hearing->signals);
	sigaddset(&hearing->signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &hearing->signals, &hearing->signals_before);
	hearing->signal_fd = signalfd(-1, &hearing->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (hearing->signal_fd < 0)
		return err_set(err, -errno, "cannot watch for signals: %s", strerror(errno));
	return 0;
}

static int delays_listen_open_output(struct hearing *hearing, struct err *err)
{
	if (!hearing->cmd->output)
		return 0;
	hearing->output = rights_fopen(hearing->cmd->output);
	if (!hearing->output)
		return err_set(err, -errno, "cannot write %s: %s", hearing->cmd->output,
			       strerror(errno));
	return 0;
}

static int set_up(struct hearing *hearing, struct err *err)
{
	struct delays_listen_opts opts = { .cpus = &hearing->cpus,
					   .buffer_bytes = hearing->cmd->buffer_bytes };
	int rc = hearing->cmd->command ? command_find(hearing->cmd->command[0], err) : 0;

	hearing->exec_rc = rc;
	if (rc == 0)
		rc = find_cpus(hearing, err);
	if (rc == 0)
		rc = delays_listen_open_output(hearing, err);
	if (rc == 0)
		rc = delays_listener_open(&opts, &hearing->listener, err);
	if (rc == 0)
		rc = delays_listen_watch_signals(hearing, err);
	hearing->tree = delays_tree_new(hearing->cmd->command ? getpid() : 0);
	return rc;
}

/*
 * What is left is to hear the kernel, to pass signals on to the command, and for who ran sudo to
 * write a file as that user.
 */
static int give_up_rights(struct err *err)
{
	uint64_t kept = GUARD_CAP(CAP_NET_ADMIN) | GUARD_CAP(CAP_KILL);
	uid_t uid;
	gid_t gid;

	if (geteuid() != 0)
		return 0;
	if (guard_user_ids(&uid, &gid))
		kept |= GUARD_CAP(CAP_SETUID) | GUARD_CAP(CAP_SETGID);
	guard_caps_seal();
	return guard_caps_keep(kept, err);
}

static int delays_listen_start_command(struct hearing *hearing, struct err *err)
{
	const struct pidns pidns = PIDNS_NONE;
	const struct command_setup setup = { .argv = hearing->cmd->command,
					     .signal_mask = &hearing->signals_before,
					     .pidns = &pidns };
	int rc;

	/* Descendants that lose their parent become our children, not init's. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_set(err, -errno, "cannot adopt orphans: %s", strerror(errno));
	rc = command_fork(&setup, &hearing->command, err);
	if (rc == 0)
		rc = give_up_rights(err);
	if (rc == 0)
		rc = interrupt_check(err); /* keys that came before the fork did not reach it */
	if (rc < 0)
		return rc;
	hearing->exec_rc = command_go(&hearing->command, hearing->cmd->command[0], err);
	return hearing->exec_rc;
}

/* -------------------------------------------------------------------- listening */

/* Bury descendants that came to us; the command itself is left for command_reap(). */
static void reap_orphans(const struct hearing *hearing)
{
	siginfo_t info = { 0 };

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid &&
	       info.si_pid != hearing->command.pid) {
		(void)waitpid(info.si_pid, NULL, WNOHANG); /* it has ended: known from above */
		info.si_pid = 0;
	}
}

static void handle_signals(struct hearing *hearing)
{
	struct signalfd_siginfo info;

	while (read(hearing->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			reap_orphans(hearing);
		} else if (!hearing->cmd->command) {
			hearing->is_interrupted = true;
		} else if (!interrupt_is_shared((int)info.ssi_signo, info.ssi_code)) {
			command_signal(&hearing->command, (int)info.ssi_signo);
		}
	}
}

/* How long poll() may wait, ms; 0 = the time is over. */
static int time_left_ms(const struct hearing *hearing)
{
	uint64_t passed_ns = delays_now_ns() - hearing->begin_ns;

	if (!hearing->cmd->duration_ns)
		return -1;
	if (passed_ns >= hearing->cmd->duration_ns)
		return 0;
	return (int)((hearing->cmd->duration_ns - passed_ns) / 1000000) % 3600000 + 1;
}

static int hear(struct hearing *hearing, struct err *err)
{
	struct pollfd fds[] = {
		{ .fd = hearing->signal_fd, .events = POLLIN },
		{ .fd = hearing->cmd->command ? hearing->command.pid_fd : -1, .events = POLLIN },
	};
	int rc = 0;

	while (rc == 0 && !hearing->is_interrupted && !fds[1].revents &&
	       time_left_ms(hearing) != 0) {
		rc = delays_listener_wait(hearing->listener, fds, ARRAY_LEN(fds),
					  time_left_ms(hearing), err);
		if (fds[0].revents)
			handle_signals(hearing);
		if (rc == 0)
			rc = hearing_take(hearing, err);
	}
	return rc;
}

/* -------------------------------------------------------------------- the end */

/* Does this process descend from us? */
static bool descends(const struct map *parents, int32_t tgid, int32_t root)
{
	for (uint32_t i = 0; i < ANCESTORS_MAX; i++) {
		const uint64_t *parent = map_find(parents, (uint64_t)(uint32_t)tgid);

		if (!parent)
			return false;
		if ((int32_t)*parent == root)
			return true;
		tgid = (int32_t)*parent;
	}
	return false;
}

static void add_living(struct hearing *hearing, const struct delays_sample *sample)
{
	int32_t root = getpid();
	struct map parents = { 0 };

	for (size_t i = 0; i < sample->count; i++) {
		if (sample->tasks[i].is_process)
			map_put(&parents, (uint64_t)(uint32_t)sample->tasks[i].tgid,
				(uint64_t)(uint32_t)sample->tasks[i].stats.ppid);
	}
	for (size_t i = 0; i < sample->count; i++) {
		const struct delays_task *task = &sample->tasks[i];

		if (!descends(&parents, task->tgid, root) || task->tgid == hearing->command.pid)
			continue;
		if (task->is_process) {
			delays_tree_add_living(hearing->tree, task->tgid);
			continue;
		}
		delays_tree_add(hearing->tree, &task->stats);
		hearing->living++;
	}
	map_fini(&parents);
}

/* Descendants that run on count up to now. */
static int find_living(struct hearing *hearing, struct err *err)
{
	const struct delays_select select = { .all = true, .threads = true };
	struct delays_sampler *sampler;
	struct delays_sample sample;
	int rc;

	(void)delays_sampler_open(&sampler, NULL);
	rc = delays_sample_take(sampler, &select, 0, &sample, err);
	delays_sampler_close(sampler);
	if (rc < 0)
		return rc;
	add_living(hearing, &sample);
	delays_sample_fini(&sample);
	return 0;
}

static int delays_listen_save(const struct hearing *hearing, const struct delays_heard *heard,
			      struct err *err)
{
	char host[256] = "";
	const struct report_delays_opts opts = { .json = true, .host = host };
	struct output output = { .fd = -1 };
	FILE *file;
	int rc = delays_save_open(hearing->cmd, &output, &file, err);

	if (rc < 0 || !file)
		return rc;
	(void)gethostname(host, sizeof(host) - 1); /* it is a label */
	report_delays_heard(file, heard, &opts);
	return delays_save_close(hearing->cmd, &output, file, err);
}

static int delays_listen_report(struct hearing *hearing, uint64_t wall_ns, struct err *err)
{
	const struct report_delays_opts opts = { .json = hearing->cmd->json,
						 .top = hearing->cmd->top };
	struct delays_heard heard = {
		.command = hearing->cmd->command ? hearing->cmd->command[0] : NULL,
		.cpus = hearing->cmd->cpus,
		.cpu_count = (uint32_t)hearing->cpus.count,
		.wall_ns = wall_ns,
		.groups = delays_tree_groups(hearing->tree),
		.exits = hearing->exits,
		.living = hearing->living,
		.damaged = delays_listener_damaged(hearing->listener),
	};

	heard.losses = delays_listener_losses(hearing->listener, &heard.loss_count, &heard.lost);
	delays_account_read(&heard.account);
	if (hearing->account.state != DELAYS_ACCOUNT_ON)
		heard.account = hearing->account;
	delays_groups_sum(heard.groups, &heard.sum);
	report_delays_heard(hearing->cmd->command ? stderr : stdout, &heard, &opts);
	return delays_listen_save(hearing, &heard, err);
}

static int shell_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static int run_hearing(struct hearing *hearing, struct err *err)
{
	bool has_command = hearing->cmd->command != NULL;
	uint64_t wall_ns;
	int rc, status = 0;

	delays_account_read(&hearing->account);
	hearing->begin_ns = delays_now_ns();
	rc = has_command ? delays_listen_start_command(hearing, err) : 0;
	if (rc == 0)
		rc = hear(hearing, err);
	wall_ns = delays_now_ns() - hearing->begin_ns;
	if (rc == 0)
		rc = hearing_take(hearing, err);
	if (rc == 0 && has_command)
		rc = find_living(hearing, err);
	if (rc < 0)
		return rc;
	if (has_command) {
		status = shell_status(command_reap(&hearing->command));
		reap_orphans(hearing);
	}
	rc = delays_listen_report(hearing, wall_ns, err);
	return rc < 0 ? rc : status;
}

/* The status of a shell for it. */
static int tell_not_started(int exec_rc, const struct err *err)
{
	AUTO_FREE char *safe = text_escaped(err->text);

	fprintf(stderr, "holdup delays: %s\n", safe);
	return WEXITSTATUS(command_exec_status(exec_rc));
}

int delays_listen(const struct delays_cmd *cmd, struct err *err)
{
	struct hearing hearing = { .cmd = cmd, .command = COMMAND_NONE, .signal_fd = -1 };
	int rc = set_up(&hearing, err);

	if (rc == 0)
		rc = run_hearing(&hearing, err);
	if (rc < 0)
		command_drop(&hearing.command);
	if (hearing.output && fclose(hearing.output) != 0 && rc >= 0)
		rc = err_set(err, -errno, "cannot write %s: %s", cmd->output, strerror(errno));
	delays_listener_close(hearing.listener);
	delays_tree_free(hearing.tree);
	delays_cpus_fini(&hearing.cpus);
	mem_close_fd(&hearing.signal_fd);
	return hearing.exec_rc ? tell_not_started(hearing.exec_rc, err) : rc;
}
