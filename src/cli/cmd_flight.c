/* cmd_flight.c - holdup flight: a recorder that is always on, and what it kept. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flight_ask.h"
#include "cli/flight_model.h"
#include "cli/flight_run.h"
#include "cli/flight_store.h"
#include "cli/opts.h"
#include "guard/user.h"
#include "record/flight_on.h"
#include "report/flight.h"

#define DEFAULT_DIR    "/var/lib/holdup/flight"
#define DEFAULT_KEEP   (UINT64_C(30) * 1000000000)
#define DEFAULT_PAUSE  (UINT64_C(60) * 1000000000)
#define DEFAULT_MEMORY (UINT64_C(256) << 20)
#define DEFAULT_DISK   (UINT64_C(2) << 30)
#define MEMORY_PART    16 /* of the machine's, at most by default */
#define WORDS	       "start|stop|status|snapshot|list"

struct flight_cmd {
	uint64_t keep_ns, memory_bytes, pause_ns, disk_bytes;
	uint32_t budget_ppm;
	const char *dir, *events;
	struct opt_strings on;
	bool foreground, json;
};

static const struct opt_spec flight_options[] = {
	{ "keep", "DURATION", "Keep at least the last DURATION of events, or warn (default 30s)",
	  opt_duration, offsetof(struct flight_cmd, keep_ns) },
	{ "memory", "SIZE",
	  "Use SIZE of memory for all that is recorded (default 256M, at most 1/16)", opt_size,
	  offsetof(struct flight_cmd, memory_bytes) },
	{ "dir", "DIR", "Keep snapshots in DIR (default " DEFAULT_DIR ")", opt_string,
	  offsetof(struct flight_cmd, dir), 'o' },
	{ "events", "SET",
	  "Record these events: core, lean, full or a list as in record (default lean)", opt_string,
	  offsetof(struct flight_cmd, events), 'e' },
	{ "budget", "PERCENT",
	  "Record fewer events above PERCENT % of all CPUs' time (default: no limit)", opt_percent,
	  offsetof(struct flight_cmd, budget_ppm) },
	{ "on", "TRIGGER", "Take a snapshot on psi:io>10%/1s, D>500ms or the like; repeat for more",
	  opt_strings, offsetof(struct flight_cmd, on) },
	{ "pause", "DURATION", "Let triggers pause for DURATION after a snapshot (default 60s)",
	  opt_duration, offsetof(struct flight_cmd, pause_ns) },
	{ "disk", "SIZE", "Keep at most SIZE of snapshots: the oldest go (default 2G)", opt_size,
	  offsetof(struct flight_cmd, disk_bytes) },
	{ "foreground", NULL, "Run in the foreground, as a service", opt_flag,
	  offsetof(struct flight_cmd, foreground) },
	{ "json", NULL, "Print JSON; with status and list", opt_flag,
	  offsetof(struct flight_cmd, json), 'j' },
	{ 0 },
};

/* -------------------------------------------------------------------- start */

static uint64_t default_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t part = pages > 0 && page_bytes > 0
				? (uint64_t)pages * (uint64_t)page_bytes / MEMORY_PART
				: DEFAULT_MEMORY;

	return part < DEFAULT_MEMORY ? part : DEFAULT_MEMORY;
}

/* What the child says, and whether it records. */
static int await_ready(int fd)
{
	char text[4096];
	bool is_ready = false;
	ssize_t got;

	for (bool first = true; (got = read(fd, text, sizeof(text))) != 0; first = false) {
		size_t skip;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		is_ready |= first && text[0] == 'k';
		skip = first && text[0] == 'k';
		(void)fwrite(text + skip, 1, (size_t)got - skip, stderr);
	}
	return is_ready ? EXIT_OK : EXIT_FAIL;
}

static void leave_terminal(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid();
	(void)!chdir("/");
	for (int i = 0; i < 3 && fd >= 0; i++)
		(void)dup2(fd, i);
	mem_close_fd(&fd);
}

static void __attribute__((noreturn)) detached(const struct flight_run_opts *opts, int ready_fd)
{
	struct err err = { 0 };
	int rc;

	leave_terminal();
	rc = flight_run(opts, ready_fd, &err);
	if (rc < 0)
		(void)dprintf(ready_fd, "holdup flight: %s\n", err.text);
	_exit(rc < 0 ? EXIT_FAIL : EXIT_OK);
}

static int start_detached(const struct flight_run_opts *opts, struct err *err)
{
	int fds[2];
	pid_t pid;
	int status;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		detached(opts, fds[1]);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return err_set(err, -EAGAIN, "cannot fork");
	}
	status = await_ready(fds[0]);
	close(fds[0]);
	if (status == EXIT_OK)
		fprintf(stderr,
			"holdup: the flight recorder runs, process %d; snapshots go to %s\n",
			(int)pid, opts->dir);
	return status;
}

static int parse_triggers(const struct flight_cmd *cmd, struct flight_run_opts *opts,
			  struct err *err)
{
	opts->ons = xcalloc(cmd->on.count + 1, sizeof(*opts->ons));
	for (size_t i = 0; i < cmd->on.count; i++) {
		int rc = flight_on_parse(cmd->on.items[i], &opts->ons[i], err);

		if (rc < 0)
			return rc;
		if (opts->ons[opts->on_count++].kind == FLIGHT_ON_MODEL)
			rc = flight_model_check(opts->ons[i].model, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int start(const struct flight_cmd *cmd, struct err *err)
{
	struct flight_run_opts opts = {
		.dir = cmd->dir ? cmd->dir : DEFAULT_DIR,
		.events = cmd->events,
		.budget_ppm = cmd->budget_ppm,
		.keep_ns = cmd->keep_ns ? cmd->keep_ns : DEFAULT_KEEP,
		.memory_bytes = cmd->memory_bytes ? cmd->memory_bytes : default_memory(),
		.disk_bytes = cmd->disk_bytes ? cmd->disk_bytes : DEFAULT_DISK,
		.pause_ns = cmd->pause_ns ? cmd->pause_ns : DEFAULT_PAUSE,
		.is_foreground = cmd->foreground,
	};
	int rc = parse_triggers(cmd, &opts, err);

	if (rc == 0 && opts.dir[0] != '/')
		rc = err_set(err, -EINVAL,
			     "--dir needs a path from /, as the recorder outlives "
			     "this folder");
	if (rc == 0 && opts.events && strlen(opts.events) > 200)
		rc = err_set(err, -EINVAL, "--events is longer than 200 characters");
	if (rc == 0 && geteuid() != 0)
		rc = err_set(err, -EPERM, "the flight recorder needs root; run it with sudo");
	if (rc == 0) {
		guard_user_forget(); /* it is the machine's: its snapshots are root's */
		rc = cmd->foreground ? flight_run(&opts, -1, err) : start_detached(&opts, err);
	}
	for (size_t i = 0; i < opts.on_count; i++)
		flight_on_fini(&opts.ons[i]);
	free(opts.ons);
	return rc;
}

/* --------------------------------------------------------------- other words */

static int flight_send(const char *line, struct err *err)
{
	AUTO_FREE char *text = NULL;
	int status = flight_ask(line, &text, err);

	if (status == EXIT_OK)
		fputs(text, stdout);
	else if (status > 0)
		fprintf(stderr, "holdup flight: %s\n", text);
	return status;
}

/* Who looks at snapshots should know that some are not taken. */
static void tell_off(const char *dir)
{
	AUTO_FREE char *used = NULL;
	AUTO_FREE char *text = NULL;

	if (flight_ask("dir", &used, NULL) == EXIT_OK && strcmp(used, dir) == 0 &&
	    flight_ask("off", &text, NULL) == EXIT_OK)
		fputs(text, stderr);
}

static int list(const struct flight_cmd *cmd, struct err *err)
{
	AUTO_FREE char *asked = NULL;
	const char *dir = cmd->dir;
	AUTO_CLOSE int fd = -1;
	struct flight_list found;
	int rc;

	if (!dir && flight_ask("dir", &asked, NULL) == EXIT_OK)
		dir = asked;
	dir = dir ? dir : DEFAULT_DIR;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = fd < 0 ? -errno : flight_store_list(fd, &found);
	if (rc < 0)
		return err_set(err, rc, "cannot list %s: %s", dir, strerror(-rc));
	report_flight_list(stdout, dir, found.rows, found.count, cmd->json);
	flight_list_fini(&found);
	if (!cmd->json)
		tell_off(dir);
	return EXIT_OK;
}

static int run_word(const struct flight_cmd *cmd, char **words, int count, struct err *err)
{
	const char *word = count ? words[0] : NULL;
	bool is_snapshot = word && strcmp(word, "snapshot") == 0;
	AUTO_FREE char *line = NULL;

	if (count > 1 + is_snapshot)
		return err_set(err, -EINVAL, "%s",
			       is_snapshot ? "the reason is one word, or in quotes"
					   : "it takes one word: " WORDS);
	if (word && strcmp(word, "start") == 0)
		return start(cmd, err);
	if (word && strcmp(word, "list") == 0)
		return list(cmd, err);
	if (word && strcmp(word, "stop") == 0)
		return flight_send("stop", err);
	if (word && strcmp(word, "status") == 0)
		return flight_send(cmd->json ? "status json" : "status", err);
	if (!is_snapshot)
		return opts_unknown_word(word, WORDS, err);
	if (count > 1 && (strlen(words[1]) > FLIGHT_ASK_MAX / 2 || strchr(words[1], '\n')))
		return err_set(err, -EINVAL, "the reason is one line of at most %d characters",
			       FLIGHT_ASK_MAX / 2);
	line = xasprintf("snapshot %s", count > 1 ? words[1] : "");
	return flight_send(line, err);
}

static int run_flight(int argc, char **argv)
{
	struct flight_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(flight_options, &cmd, argc, argv, &err);
	int rc;

	if (first < 0) {
		rc = command_usage(&cmd_flight, first, &err);
	} else {
		rc = run_word(&cmd, argv + first, argc - first, &err);
		if (rc == -EINVAL)
			rc = command_usage(&cmd_flight, rc, &err);
		else if (rc < 0)
			rc = command_fail(&cmd_flight, &err);
	}
	free(cmd.on.items);
	return rc;
}

const struct command cmd_flight = {
	.name = "flight",
	.args = "[OPTIONS] start | stop | status | snapshot [WHY] | list",
	.summary = "Record always, and keep what came before a stall",
	.options = flight_options,
	.details =
		"\"start\" runs a recorder in memory that overwrites the oldest events. Nothing is\n"
		"written to disk until \"snapshot\", SIGUSR1 or a trigger. A snapshot is a trace, and\n"
		"its verdict is worked out at once. \"list\" prints one line per snapshot: when, why,\n"
		"the verdict and its size. \"status\" prints how many seconds are held, and the cost.\n"
		"\n"
		"TRIGGER is one of\n"
		"  psi:io>10%/1s            threads waited for io in 10 % of 1 s; cpu, memory,\n"
		"                           io; psi:io:full all of them; psi:io@/web.slice of a\n"
		"                           cgroup\n"
		"  D>500ms, D:NAME>500ms    a thread (of this name) sleeps in D for longer\n"
		"  runnable>100ms           a thread that can run has no CPU for longer\n"
		"  runq>8/2s                more than 8 threads run or can run, for 2 s\n"
		"  oom, oom@/web.slice      the kernel kills a process for want of memory\n"
		"  event:oom:mark_victim    a kernel event; event:sched:sched_switch:prev_pid==7\n"
		"                           only where the kernel's filter matches\n"
		"  pair:A:B->C:D>200ms      a thread passes event C:D that long after event A:B;\n"
		"                           either may be a point in a program, as below\n"
		"  probe:/usr/bin/x:work    a function of a program begins; work%return: ends\n"
		"  usdt:/usr/bin/x:a:b      a USDT point of a program is passed\n"
		"  user:shop:timeout        a program logs this event with libholdup; also\n"
		"                           pair:user:shop:a->user:shop:b>1s\n"
		"  model:/etc/x.yaml        a model is violated, as holdup watch finds it\n"
		"  unit:nginx, unit:web@*   a unit of systemd fails; unit: any\n"
		"\n"
		"A recorder that was killed leaves its rings in the kernel: the next \"start\" saves\n"
		"these as a snapshot.\n"
		"\n"
		"Exit status: 0 done, 2 wrong usage, 3 failed: no recorder runs, or one already.\n"
		"\n"
		"  sudo holdup flight start --on 'psi:io>10%/1s' --on 'D>500ms'\n"
		"  sudo holdup flight snapshot 'checkout was slow'\n"
		"  sudo holdup flight list\n",
	.run = run_flight,
};
