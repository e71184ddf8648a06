/* cmd_list.c - holdup list: the events themselves, one line each. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/line_reader.h"
#include "base/err.h"
#include "cli/code_names.h"
#include "cli/command.h"
#include "cli/list_count.h"
#include "cli/list_pipe.h"
#include "cli/list_print.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "event/facts.h"
#include "event/stacks.h"

#define DEFAULT_TOP 50u

struct list_cmd {
	const char *filter;
	const char *from, *to;
	struct opt_pids follow;
	bool children;
	const char *cpus;
	bool state;
	uint64_t lines; /* 0 = all */
	uint64_t last;
	const char *fields;
	bool place;
	bool stack;
	const char *count_by;
	uint32_t top;
	bool json;
};

static const struct opt_spec list_options[] = {
	{ "filter", "EXPR", "List only events that match EXPR", opt_string,
	  offsetof(struct list_cmd, filter), 'f' },
	{ "from", "WHEN", "Start at a time, event or place (default: start of the trace)",
	  opt_string, offsetof(struct list_cmd, from) },
	{ "to", "WHEN", "End at a time, event or place (default: end of the trace)", opt_string,
	  offsetof(struct list_cmd, to) },
	{ "follow", "TID", "List events of these threads and wake-ups of them; repeat for more",
	  opt_pids, offsetof(struct list_cmd, follow) },
	{ "children", NULL, "Follow children and new threads, too; needs --follow", opt_flag,
	  offsetof(struct list_cmd, children) },
	{ "cpu", "LIST", "List events of these CPUs, such as 0 or 0,2-5 (default: all)", opt_string,
	  offsetof(struct list_cmd, cpus) },
	{ "lines", "N", "Stop after N lines (default 0: no limit)", opt_u64,
	  offsetof(struct list_cmd, lines), 'n' },
	{ "last", "N", "List only the last N lines (default 0: all)", opt_u64,
	  offsetof(struct list_cmd, last) },
	{ "state", NULL, "Print the thread's control-flow stack on each line", opt_flag,
	  offsetof(struct list_cmd, state) },
	{ "place", NULL, "Print the place of each event, for --from", opt_flag,
	  offsetof(struct list_cmd, place) },
	{ "stack", NULL, "Print the stack of the wait that a switch begins", opt_flag,
	  offsetof(struct list_cmd, stack) },
	{ "fields", "LIST", "Print these columns and fields", opt_string,
	  offsetof(struct list_cmd, fields) },
	{ "count-by", "LIST", "Count events by these columns and fields", opt_string,
	  offsetof(struct list_cmd, count_by) },
	{ "top", "N", "Print N rows of counts (default 50)", opt_u32,
	  offsetof(struct list_cmd, top) },
	{ "json", NULL, "Print JSON, one object per line, times in ns", opt_flag,
	  offsetof(struct list_cmd, json) },
	{ 0 },
};

/* Print lines until 'most' are done (0 = all), leaving out the first 'skip'. */
static int list_print_lines(struct line_reader *reader, const struct list_print *print,
			    uint64_t skip, uint64_t most, struct err *err)
{
	struct list_pipe *pipe = list_pipe_new(print, line_reader_context(reader), STDOUT_FILENO);
	struct value_line line;
	uint64_t count = 0;
	int rc = 0, failed = 0, written;

	while ((most == 0 || count < most) && !failed &&
	       (rc = line_reader_next(reader, &line, err)) > 0) {
		if (skip) {
			skip--;
			continue;
		}
		failed = list_pipe_put(pipe, &line);
		count++;
	}
	written = list_pipe_finish(pipe, rc < 0 ? NULL : err);
	return rc < 0 ? rc : written;
}

/* Begin where there are at least 'count' lines up to the end; *out_more: so many more. */
static int seek_last(struct line_reader *reader, uint64_t count, uint64_t *out_more,
		     struct err *err)
{
	uint64_t from_ns, to_ns, span_ns = 1000000, lines;
	struct value_line line;
	int rc;

	/* A window that ends before it begins has no line, and is not longer than any span. */
	line_reader_window(reader, &from_ns, &to_ns);
	for (;; span_ns = span_ns < UINT64_MAX / 4 ? span_ns * 4 : UINT64_MAX) {
		bool is_longer = to_ns > from_ns && to_ns - from_ns > span_ns;
		uint64_t begin_ns = is_longer ? to_ns - span_ns : from_ns;

		lines = 0;
		rc = line_reader_seek(reader, begin_ns, err);
		while (rc == 0 && (rc = line_reader_next(reader, &line, err)) > 0) {
			lines++;
			rc = 0;
		}
		if (rc < 0)
			return rc;
		if (lines < count && is_longer)
			continue;
		*out_more = lines > count ? lines - count : 0;
		return line_reader_seek(reader, begin_ns, err);
	}
}

static int list(struct line_reader *reader, const struct list_cmd *cmd, struct err *err)
{
	struct list_print_opts opts = { cmd->fields, cmd->json, cmd->place, cmd->state, NULL };
	struct list_print *print;
	uint64_t skip = 0;
	int rc;

	if (cmd->stack) {
		opts.stacks = line_reader_facts(reader)->stacks;
		if (!opts.stacks || !opts.stacks->wait_count)
			return err_set(err, -ENODATA,
				       "the trace has no stacks of waits; record without "
				       "--stack-min off");
	}
	if (cmd->count_by)
		return list_count(reader, cmd->count_by, cmd->top ? cmd->top : DEFAULT_TOP,
				  cmd->json, err);
	rc = list_print_new(line_reader_context(reader), &opts, &print, err);
	if (rc < 0)
		return rc;
	if (cmd->last)
		rc = seek_last(reader, cmd->last, &skip, err);
	if (rc == 0)
		rc = list_print_lines(reader, print, skip, cmd->lines, err);
	list_print_free(print);
	return rc;
}

/* What the list rests on, on stderr: it is no line of it. */
static void say_gaps(const struct facts *facts)
{
	for (size_t i = 0; i < facts->damage_count; i++)
		fprintf(stderr, "holdup list: damaged: %s\n", facts->damage[i]);
	for (size_t i = 0; i < facts->unshown_count; i++)
		fprintf(stderr, "holdup list: omitted: %s\n", facts->unshown[i]);
}

static int list_check_usage(const struct list_cmd *cmd, struct err *err)
{
	if (cmd->count_by && (cmd->fields || cmd->lines || cmd->last || cmd->place))
		return err_set(err, -EINVAL,
			       "--count-by excludes --fields, -n, --last and --place");
	if (cmd->stack && (cmd->fields || cmd->count_by))
		return err_set(err, -EINVAL, "--stack excludes --fields and --count-by");
	if (cmd->lines && cmd->last)
		return err_set(err, -EINVAL, "only one of -n and --last");
	if (cmd->children && cmd->follow.count == 0)
		return err_set(err, -EINVAL, "--children needs --follow");
	if (cmd->top && !cmd->count_by)
		return err_set(err, -EINVAL, "--top needs --count-by");
	return 0;
}

static int run_choice(const struct list_cmd *cmd, const struct line_choice *choice,
		      const char *path)
{
	struct line_reader *reader;
	struct err err = { 0 };
	int rc = load_begin(path, &err);

	if (rc == 0)
		rc = line_reader_open(path, choice, &reader, &err);
	if (rc == 0) {
		rc = list(reader, cmd, &err);
		if (rc == 0)
			say_gaps(line_reader_facts(reader));
		line_reader_close(reader);
	}
	if (rc == -EPIPE)
		return EXIT_OK; /* who read it has seen enough */
	if (rc == -EINVAL)
		return command_usage(&cmd_list, rc, &err);
	return rc < 0 ? command_fail(&cmd_list, &err) : EXIT_OK;
}

static int run_list(int argc, char **argv)
{
	struct list_cmd cmd = { 0 };
	struct line_choice choice = { 0 };
	struct err err = { 0 };
	int first = opts_parse(list_options, &cmd, argc, argv, &err);
	int rc = first < 0 ? first : 0, status;

	if (rc == 0 && argc - first > 1)
		rc = err_set(&err, -EINVAL, "expected one trace");
	if (rc == 0)
		rc = list_check_usage(&cmd, &err);
	if (rc == 0)
		rc = when_parse(cmd.from, false, &choice.from, &err);
	if (rc == 0)
		rc = when_parse(cmd.to, true, &choice.to, &err);
	if (rc < 0) {
		free(cmd.follow.pids);
		return command_usage(&cmd_list, rc, &err);
	}
	choice.filter = cmd.filter;
	choice.follow = cmd.follow.pids;
	choice.follow_count = cmd.follow.count;
	choice.children = cmd.children;
	choice.cpus = cmd.cpus;
	choice.state = cmd.state;
	choice.code = cmd.stack ? code_names_add : NULL;
	(void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is the end, not an accident */
	status = run_choice(&cmd, &choice, argc > first ? argv[first] : DEFAULT_TRACE);
	free(cmd.follow.pids);
	return status;
}

const struct command cmd_list = {
	.name = "list",
	.args = "[OPTIONS] [TRACE]",
	.summary = "List events, one per line",
	.options = list_options,
	.details =
		"A line shows the time (seconds on the trace clock), the time since the previous\n"
		"line (us), CPU, context (as in ftrace), thread, event, and the event's fields as\n"
		"printed by the kernel. Lost events have a line, too.\n"
		"\n"
		"EXPR compares columns and fields, with and, or, not and parentheses:\n"
		"  sched_switch and prev_state == S     an event and one of its fields\n"
		"  comm ~ \"kworker/*\"                   a glob; =~ is a regular expression\n"
		"  bytes >= 4096 and rwbs ~ \"*W*\"       numbers and text\n"
		"  sys_enter: id == openat              a system call by name\n"
		"\n"
		"LIST of --fields and --count-by has columns (time, since, wall, delta, cpu, tid,\n"
		"comm, thread, latency, event, system, place, text, syscall, state, instance) and\n"
		"fields of events.\n"
		"\n"
		"WHEN is as in holdup why, or a place as printed by --place: 1@3f20.\n"
		"\n"
		"Exit status: 0 done, 2 wrong usage, 3 failed.\n"
		"\n"
		"  holdup list -n 20 run.holdup\n"
		"  holdup list --filter 'sched_switch and next_comm == sh' --fields time,next_pid\n"
		"  holdup list --follow 1234 --state --from +1s --to +1.1s\n"
		"  holdup list --count-by comm,event\n",
	.only_reads = true,
	.prints_report = true,
	.run = run_list,
};
