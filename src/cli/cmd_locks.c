/* cmd_locks.c - holdup locks: the locks of programs that were run with --locks, and of the kernel. */
#include <errno.h>
#include <stdio.h>

#include "analyse/kernel_locks.h"
#include "analyse/locks.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/lock_source.h"
#include "cli/opts.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/read.h"
#include "report/locks.h"

struct locks_cmd {
	uint32_t sort; /* enum locks_sort */
	uint32_t top;
	bool json;
};

static const struct opt_spec locks_options[] = {
	{ "sort",
	  "wait|longest|waits|taken|held|average|longest-held|spins|spun|owner|chain|lock|process",
	  "Sort the rows, the largest first (default wait)", opt_choice,
	  offsetof(struct locks_cmd, sort) },
	{ "top", "N", "Print N rows (default 20)", opt_u32, offsetof(struct locks_cmd, top) },
	{ "json", NULL, "Print JSON with all rows, times in ns", opt_flag,
	  offsetof(struct locks_cmd, json) },
	{ 0 },
};

static bool is_waited_for(const struct locks *locks)
{
	for (size_t i = 0; i < locks->count; i++) {
		if (locks->rows[i].waiting)
			return true;
	}
	return false;
}

/*
 * Programs do not tell how long they go on to wait, nor that they were ended: where the kernel was
 * recorded, it does. Else *locks stays as it is.
 */
static void run_beside(const struct locks_cmd *cmd, const char *path, struct locks *locks)
{
	struct source *source = NULL;
	struct locks again;
	bool is_good;

	if (lock_source_open_beside(path, &source, NULL) < 0 || !source)
		return;
	is_good = locks_run(source, (enum locks_sort)cmd->sort, lock_source_facts(source)->last_ns,
			    &again, NULL) == 0;
	source_close(source);
	if (!is_good)
		return;
	locks_fini(locks);
	*locks = again;
}

/* The kernel's own locks, whoever recorded them. Returns whether the trace could be read. */
static int run_kernel(const struct locks_cmd *cmd, const char *path, struct trace **out_trace,
		      struct klocks_sum *out_sum, struct err *err)
{
	struct trace *trace;
	int rc = load_plain(path, &trace, err);

	if (rc < 0)
		return rc;
	rc = klocks_run(trace_source(trace), trace_facts(trace), (enum locks_sort)cmd->sort,
			trace_facts(trace)->last_ns, out_sum, err);
	if (rc < 0)
		trace_close(trace);
	else
		*out_trace = trace;
	return rc;
}

static int print_locks(const struct locks_cmd *cmd, const char *path, struct err *err)
{
	const struct report_locks_opts report = { .json = cmd->json, .top = cmd->top };
	struct klocks_sum kernel = { 0 };
	struct trace *trace = NULL;
	struct source *source;
	struct locks locks;
	int rc = lock_source_open(path, &source, err);

	if (rc < 0)
		return rc;
	rc = locks_run(source, (enum locks_sort)cmd->sort, lock_source_facts(source)->last_ns,
		       &locks, err);
	if (rc == 0 && is_waited_for(&locks))
		run_beside(cmd, path, &locks);
	if (rc == 0) {
		rc = run_kernel(cmd, path, &trace, &kernel, err);
		if (rc == 0)
			report_locks(stdout, &locks, &kernel, lock_source_facts(source), &report);
		locks_fini(&locks);
	}
	klocks_fini(&kernel);
	trace_close(trace);
	source_close(source);
	return rc;
}

static int run_locks(int argc, char **argv)
{
	struct locks_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(locks_options, &cmd, argc, argv, &err);
	int rc;

	if (first < 0)
		return command_usage(&cmd_locks, first, &err);
	if (argc - first > 1) {
		rc = err_set(&err, -EINVAL, "it takes one trace");
		return command_usage(&cmd_locks, rc, &err);
	}
	rc = print_locks(&cmd, argc > first ? argv[first] : DEFAULT_TRACE, &err);
	return rc < 0 ? command_fail(&cmd_locks, &err) : EXIT_OK;
}

const struct command cmd_locks = {
	.name = "locks",
	.args = "[OPTIONS] [TRACE]",
	.summary = "Say which locks were waited for, and who had them",
	.options = locks_options,
	.details =
		"Prints a row for each lock of the programs in a trace of holdup run --locks or\n"
		"record --locks: how long it was waited for and held, how often; then for the first\n"
		"rows who had it meanwhile, and which places in the program ask for it. Conditions\n"
		"and barriers come last: waiting for them is what they are for.\n"
		"\n"
		"Locks of the kernel have a table of their own, of every trace with the events\n"
		"lock:contention_begin and contention_end: what each is (in recordings of holdup\n"
		"with BPF), how often threads only spun for it, who had it, and who asks for it.\n"
		"\n"
		"A lock is named by its symbol when it is a static variable, else by its address and\n"
		"the place that waits for it most.\n"
		"\n"
		"Exit status: 0 printed, 2 wrong usage, 3 could not read the trace.\n"
		"\n"
		"  holdup run --locks -- ./server && holdup locks\n"
		"  holdup locks --sort held --top 5 run.holdup\n"
		"  sudo holdup record -- make && holdup locks --sort longest\n"
		"  holdup locks --json run.holdup | jq '.locks[0].owners'\n",
	.only_reads = true,
	.run = run_locks,
};
