/* cmd_user.c - holdup user: see and switch what running programs log themselves. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/opts.h"
#include "report/vocabulary.h"
#include "attach/control.h"
#include "attach/files.h"
#include "attach/trace.h"

#include <holdup/trace_hot.h>

struct user_cmd {
	const char *stream;
	const char *flight;
	bool json;
};

static const struct opt_spec user_options[] = {
	{ "stream", "DIR", "Log all events to a new trace in DIR; needs on", opt_string,
	  offsetof(struct user_cmd, stream) },
	{ "flight", "DIR", "Keep the most recent events in a new trace in DIR; needs on",
	  opt_string, offsetof(struct user_cmd, flight) },
	{ "json", NULL, "Print JSON", opt_flag, offsetof(struct user_cmd, json) },
	{ 0 },
};

/* ---------------------------------------------------------------------- list */

static uint64_t lost_of(const struct user_process *process, const char *trace)
{
	struct user_sum sum = { 0 };
	AUTO_CLOSE int fd = user_process_open_folder(process, trace);

	if (fd >= 0)
		user_trace_count(fd, &sum);
	return sum.lost;
}

/* What is listed of a process. */
struct row {
	char *comm;  /* owned */
	char *where; /* owned; of what stands in its control file, made safe */
	bool logs, is_flight;
	uint64_t lost;
	struct user_class *classes; /* owned */
	size_t class_count;
};

static struct row user_row(const struct user_process *process)
{
	const char *failed, *trace = user_process_trace(process, &failed);
	struct row row = {
		.logs = user_process_logs(process),
		.is_flight = process->control->mode == USER_FLIGHT,
		.comm = text_escaped(process->control->comm),
	};

	if (row.logs && trace)
		row.lost = lost_of(process, trace);
	row.where = text_escaped(!row.logs		  ? "nowhere"
				 : failed		  ? failed
				 : trace		  ? trace
				 : *process->control->dir ? process->control->dir
							  : "its runtime directory");
	row.classes = user_process_classes(process, &row.class_count);
	return row;
}

static void user_row_fini(struct row *row)
{
	free(row->comm);
	free(row->where);
	free(row->classes);
}

static void print_row(const struct user_process *process, const struct row *row)
{
	printf("%7d  %-15s  %s%s", process->proc.pid, row->comm,
	       !row->logs	? "logs "
	       : row->is_flight ? "keeps the last events in "
				: "logs to ",
	       row->where);
	if (row->lost)
		printf("; %s events lost", text_count(row->lost).s);
	fputs("\n", stdout);
	for (size_t i = 0; i < row->class_count; i++) {
		const struct user_class *class = &row->classes[i];
		AUTO_FREE char *name = text_escaped(class->name);

		printf("         %-15s  %u of %u events on\n", name, class->on, class->count);
	}
}

static void print_row_json(struct json *json, const struct user_process *process,
			   const struct row *row)
{
	json_begin_object(json, NULL);
	json_print_u64(json, "pid", (uint64_t)process->proc.pid);
	json_print_string(json, "comm", row->comm);
	json_print_bool(json, "logs", row->logs);
	json_print_string(json, "mode", row->is_flight ? "flight" : "stream");
	json_print_string(json, "where", row->where);
	json_print_u64(json, "lost_events", row->lost);
	json_begin_array(json, "classes");
	for (size_t i = 0; i < row->class_count; i++) {
		AUTO_FREE char *name = text_escaped(row->classes[i].name);

		json_begin_object(json, NULL);
		json_print_string(json, "class", name);
		json_print_u64(json, "events", row->classes[i].count);
		json_print_u64(json, "on", row->classes[i].on);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

static void list_one(struct json *json, const struct user_process *process)
{
	struct row row = user_row(process);

	if (json)
		print_row_json(json, process, &row);
	else
		print_row(process, &row);
	user_row_fini(&row);
}

static size_t list_all(struct json *json)
{
	int32_t *pids;
	size_t count = user_proc_all(&pids), found = 0;

	for (size_t i = 0; i < count; i++) {
		struct user_process *process;

		if (user_process_open(pids[i], &process, NULL) < 0)
			continue;
		list_one(json, process);
		user_process_close(process);
		found++;
	}
	free(pids);
	return found;
}

static int user_list(const struct user_cmd *cmd, int32_t pid, struct err *err)
{
	struct json json = { .out = stdout };
	struct user_process *process = NULL;
	size_t stale = user_remove_stale(), found = 1;
	int rc = pid ? user_process_open(pid, &process, err) : 0;

	if (rc < 0)
		return rc;
	if (cmd->json) {
		report_json_begin(&json, NULL, "user");
		json_begin_array(&json, "processes");
	}
	if (process)
		list_one(cmd->json ? &json : NULL, process);
	else
		found = list_all(cmd->json ? &json : NULL);
	if (cmd->json) {
		json_end_array(&json);
		json_end_object(&json);
	} else if (!found) {
		puts("No process here uses libholdup.");
	}
	if (stale)
		fprintf(stderr, "holdup user: removed %zu control file%s of dead processes\n",
			stale, stale == 1 ? "" : "s");
	json_fini(&json);
	user_process_close(process);
	return 0;
}

/* -------------------------------------------------------------------- switch */

/* The events, given one by one, as one list. */
static char *user_join(char **words, int count)
{
	char *all = xstrdup(words[0]);

	for (int i = 1; i < count; i++) {
		char *longer = xasprintf("%s,%s", all, words[i]);

		free(all);
		all = longer;
	}
	return all;
}

/* A path as the process sees it: it may be elsewhere. */
static char *user_absolute(const char *dir)
{
	AUTO_FREE char *here = *dir == '/' ? NULL : getcwd(NULL, 0);

	return here ? xasprintf("%s/%s", here, dir) : xstrdup(dir);
}

/* A process that logs nowhere begins to keep its last events. */
static int begin_trace(const struct user_cmd *cmd, struct user_process *process, struct err *err)
{
	const char *given = cmd->stream ? cmd->stream : cmd->flight;
	AUTO_FREE char *dir = given ? user_absolute(given) : xstrdup("");

	if (!given && user_process_logs(process))
		return 0;
	return user_process_ask(process, dir, cmd->stream ? USER_STREAM : USER_FLIGHT, NULL, err);
}

static int user_switch_events(const struct user_cmd *cmd, int32_t pid, const char *events, bool off,
			      struct err *err)
{
	struct user_process *process;
	int rc = user_process_open(pid, &process, err);

	if (rc < 0)
		return rc;
	rc = user_process_switch(process, events, off, err);
	if (rc == 0 && !off)
		rc = begin_trace(cmd, process, err);
	if (rc == 0 && user_process_read(process) && !cmd->json)
		list_one(NULL, process);
	user_process_close(process);
	return rc;
}

static int user_run(const struct user_cmd *cmd, char **words, int count, struct err *err)
{
	bool on = count && strcmp(words[0], "on") == 0, off = count && strcmp(words[0], "off") == 0;
	AUTO_FREE char *events = NULL;
	uint64_t pid = 0;

	if (!on && !off && !(count && strcmp(words[0], "list") == 0))
		return opts_unknown_word(count ? words[0] : NULL, "list|on|off", err);
	if (count > 1 && (!text_parse_u64(words[1], &pid) || !pid || pid > INT32_MAX)) {
		AUTO_FREE char *safe = text_escaped(words[1]);

		return err_set(err, -EINVAL, "\"%s\" is not a process ID", safe);
	}
	if ((cmd->stream || cmd->flight) && !on)
		return err_set(err, -EINVAL, "--stream and --flight need on");
	if (cmd->stream && cmd->flight)
		return err_set(err, -EINVAL, "only one of --stream and --flight");
	if (!on && !off && count <= 2)
		return user_list(cmd, (int32_t)pid, err);
	if (count < 3 || (!on && !off))
		return err_set(err, -EINVAL,
			       on || off ? "expected a process and events"
					 : "list takes at most one process");
	events = user_join(words + 2, count - 2);
	return user_switch_events(cmd, (int32_t)pid, events, off, err);
}

static int run_user(int argc, char **argv)
{
	struct user_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(user_options, &cmd, argc, argv, &err);
	int rc;

	if (first < 0)
		return command_usage(&cmd_user, first, &err);
	rc = user_run(&cmd, argv + first, argc - first, &err);
	if (rc == -EINVAL)
		return command_usage(&cmd_user, rc, &err);
	return rc < 0 ? command_fail(&cmd_user, &err) : EXIT_OK;
}

const struct command cmd_user = {
	.name = "user",
	.args = "[OPTIONS] list [PID] | on PID EVENTS... | off PID EVENTS...",
	.summary = "List and switch the user-space events of running programs",
	.options = user_options,
	.details =
		"Programs log events of their own with libholdup. list shows the processes that\n"
		"use libholdup: where they log to, which events are on, and how many events were\n"
		"lost. on and off switch events of a running process: shop is a class of events,\n"
		"shop:order_* some of a class, all is every event. A process that did not log\n"
		"before keeps its most recent events, which holdup recover PID reads; --stream\n"
		"and --flight choose otherwise.\n"
		"\n"
		"Root sees all processes, including those in containers; others see their own.\n"
		"\n"
		"Exit status: 0 done, 2 wrong usage, 3 the process does not exist or is another\n"
		"user's.\n"
		"\n"
		"  holdup user list\n"
		"  holdup user on 1234 shop 'net:rx*'\n"
		"  holdup user on 1234 all --stream /var/tmp/shop\n"
		"  holdup user off 1234 shop:tick\n",
	.run = run_user,
};
