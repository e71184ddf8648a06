/* cmd_recover.c - holdup recover: what processes left of their own events, as a trace. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/opts.h"
#include "event/facts.h"
#include "guard/drop.h"
#include "read/read.h"
#include "attach/recover.h"

#define DEFAULT_OUT "recovered"
#define NS_PER_S    1000000000

struct recover_cmd {
	const char *out;
};

static const struct opt_spec recover_options[] = {
	{ "output", "OUT", "Write the trace to directory OUT (default recovered)", opt_string,
	  offsetof(struct recover_cmd, out), 'o' },
	{ 0 },
};

static void print_one(const struct user_recovered *item)
{
	const struct user_sum *sum = &item->sum;
	AUTO_FREE char *name = text_escaped(item->name);

	if (item->problem) {
		AUTO_FREE char *problem = text_escaped(item->problem);

		printf("  %s: not recovered: %s\n", name, problem);
		return;
	}
	printf("  %s: %s of events in %s packets, %s%s\n", name, text_size(sum->bytes).s,
	       text_count(sum->packets).s,
	       sum->is_flight	   ? "the last ones"
	       : sum->unread_bytes ? "some of them"
				   : "all of them",
	       sum->in_use ? "; the process lives" : "");
	if (sum->lost)
		printf("    %s events lost: the buffer was full\n", text_count(sum->lost).s);
	if (sum->half_bytes)
		printf("    %s at the end not copied: incomplete\n", text_size(sum->half_bytes).s);
	if (sum->overwritten)
		printf("    %s packets not copied: overwritten during the copy\n",
		       text_count(sum->overwritten).s);
	if (sum->damaged)
		printf("    %s packets not copied: damaged\n", text_count(sum->damaged).s);
	if (sum->unread_bytes)
		printf("    %s of its files not copied: unreadable, or no time left\n",
		       text_size(sum->unread_bytes).s);
}

static void print_moment(uint64_t mono_ns, const struct facts *facts)
{
	int64_t real_ns = (int64_t)mono_ns + facts->realtime_offset_ns;

	if (real_ns >= 0)
		printf("%s.%03d", text_local_time((uint64_t)real_ns).s,
		       (int)(real_ns % NS_PER_S / 1000000));
}

/* The result must open: what it says of itself is printed. */
static int print_span(const char *out, struct err *err)
{
	struct trace *trace;
	const struct facts *facts;
	int rc = read_open(out, &trace, err);

	if (rc < 0)
		return rc;
	facts = trace_facts(trace);
	if (facts->last_ns > 0) {
		fputs("  from ", stdout);
		print_moment(facts->first_ns, facts);
		fputs(" to ", stdout);
		print_moment(facts->last_ns, facts);
		printf(" (%s)\n", text_duration(facts->last_ns - facts->first_ns).s);
	}
	for (size_t i = 0; i < facts->damage_count; i++)
		printf("  damaged: %s\n", facts->damage[i]);
	trace_close(trace);
	return 0;
}

static int recover(const char *what, const char *out, struct err *err)
{
	struct user_recovery recovery;
	uint64_t pid;
	AUTO_FREE char *safe = NULL;
	struct stat st;
	size_t good = 0;
	int rc;

	if (stat(what, &st) < 0 && text_parse_u64(what, &pid) && pid <= INT32_MAX)
		rc = user_recover_pid((int32_t)pid, out, &recovery, err);
	else
		rc = user_recover_dir(what, out, &recovery, err);
	if (rc < 0) {
		user_recovery_fini(&recovery);
		return rc;
	}
	for (size_t i = 0; i < recovery.count; i++)
		good += !recovery.items[i].problem;
	safe = text_escaped(out);
	printf("Recovered %zu process%s into %s\n", good, good == 1 ? "" : "es", safe);
	for (size_t i = 0; i < recovery.count; i++)
		print_one(&recovery.items[i]);
	if (recovery.is_cut)
		puts("  more directories were skipped: no time left");
	user_recovery_fini(&recovery);
	if (good == 0)
		return err_set(err, -ENOENT, "nothing could be recovered");
	/* It is the user's by now, and may be changed already. */
	rc = guard_drop_to_sudo_user(err);
	return rc < 0 ? rc : print_span(out, err);
}

static int run_recover(int argc, char **argv)
{
	struct recover_cmd cmd = { .out = DEFAULT_OUT };
	struct err err = { 0 };
	int first = opts_parse(recover_options, &cmd, argc, argv, &err);

	if (first < 0)
		return command_usage(&cmd_recover, first, &err);
	if (argc - first != 1)
		return command_usage(&cmd_recover,
				     err_set(&err, -EINVAL, "expected one directory or process"),
				     &err);
	if (recover(argv[first], cmd.out, &err) < 0)
		return command_fail(&cmd_recover, &err);
	return EXIT_OK;
}

const struct command cmd_recover = {
	.name = "recover",
	.args = "[OPTIONS] DIR|PID",
	.summary = "Recover the user-space events of running or dead processes",
	.options = recover_options,
	.details =
		"Copies events that programs logged with libholdup from DIR or from the directory\n"
		"of process PID, running or dead: from a flight recorder or a stream. Only\n"
		"complete packets are copied; the others are reported. The trace is written to\n"
		"OUT (default recovered), one directory per process.\n"
		"\n"
		"Exit status: 0 recovered, 2 wrong usage, 3 nothing was found or readable.\n"
		"\n"
		"  holdup recover 1234\n"
		"  holdup recover -o crash /dev/shm/holdup-1000\n"
		"  holdup list crash\n",
	.run = run_recover,
};
