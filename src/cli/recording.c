/* recording.c - options into the recorder, results out of it. */
#include "cli/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/preload.h"
#include "cli/progress.h"
#include "cli/rights.h"
#include "cli/tempdir.h"
#include "guard/drop.h"
#include "guard/user.h"
#include "runtime/rules.h"
#include "record/probe_spec.h"
#include "record/record.h"
#include "record/wait_stacks.h"
#include "record/work_samples.h"
#include "store/manifest.h"

/* 0 = no stacks. */
static bool parse_stack_min(const struct recording_opts *opts, uint64_t *out_ns)
{
	*out_ns = 0;
	if (!opts->stack_min) {
		*out_ns = opts->no_stacks ? 0 : WAIT_STACKS_MIN_NS;
		return true;
	}
	return strcmp(opts->stack_min, "off") == 0 ||
	       (text_parse_duration(opts->stack_min, out_ns) && *out_ns > 0);
}

/* A rate of 0 = no samples. */
static bool parse_sample(const struct recording_opts *opts, uint32_t *out_hz, bool *out_all)
{
	const char *rate = opts->sample;
	uint64_t hz = WORK_SAMPLES_HZ;

	*out_hz = opts->no_stacks ? 0 : WORK_SAMPLES_HZ;
	*out_all = false;
	if (!rate)
		return true;
	if (strcmp(rate, "off") == 0)
		hz = 0;
	else if (strcmp(rate, "all") == 0)
		*out_all = true;
	else {
		*out_all = strncmp(rate, "all:", strlen("all:")) == 0;
		rate += *out_all ? strlen("all:") : 0;
		if (!text_parse_u64(rate, &hz) || !hz || hz > WORK_SAMPLES_HZ_MAX)
			return false;
	}
	*out_hz = (uint32_t)hz;
	return true;
}

static void say_awaits(void *unused, int32_t pid)
{
	(void)unused;
	fprintf(stderr,
		"holdup: the recording has ended, the command still runs: process %d; Ctrl-C ends "
		"the waiting\n",
		(int)pid);
}

void recording_fill(const struct recording_opts *opts, struct record_opts *out_record)
{
	out_record->dir = opts->dir;
	out_record->replace = true;
	out_record->is_temporary = !opts->dir; /* record, which has none, sets its own */
	out_record->events = opts->events;
	out_record->buffer_bytes = opts->buffer_bytes;
	out_record->budget_ppm = opts->budget_ppm;
	out_record->stacks = opts->stacks;
	(void)parse_stack_min(opts, &out_record->stack_min_ns); /* recording_check() told */
	(void)parse_sample(opts, &out_record->sample_hz, &out_record->samples_all); /* the same */
	out_record->names_later = opts->no_names;
	out_record->as_root = opts->as_root;
	out_record->no_bpf = opts->no_bpf;
	out_record->probes = opts->probes.items;
	out_record->probe_count = opts->probes.count;
	out_record->usdt = opts->usdt.items;
	out_record->usdt_count = opts->usdt.count;
	out_record->no_user = opts->user && strcmp(opts->user, "none") == 0;
	out_record->user = opts->user;
	out_record->phase = progress_phase;
	out_record->awaits = say_awaits;
}

static int check_points(const struct opt_strings *texts, bool is_usdt, struct err *err)
{
	for (size_t i = 0; i < texts->count; i++) {
		struct probe_spec spec;
		int rc = probe_spec_parse(texts->items[i], is_usdt, &spec, err);

		probe_spec_fini(&spec);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int recording_check(const struct recording_opts *opts, struct err *err)
{
	int rc = check_points(&opts->probes, false, err);
	uint64_t min_ns;
	uint32_t hz;
	bool all;

	if (rc == 0 && !parse_sample(opts, &hz, &all))
		return err_set(err, -EINVAL,
			       "--sample needs a rate from 1 to %u per second, all, all:RATE or "
			       "off",
			       WORK_SAMPLES_HZ_MAX);
	if (rc == 0 && !parse_stack_min(opts, &min_ns))
		return err_set(err, -EINVAL, "--stack-min needs a duration such as 1ms, or off");

	if (rc == 0 && opts->budget_ppm &&
	    (opts->stacks || opts->probes.count || opts->usdt.count || opts->apps.count))
		return err_set(err, -EINVAL,
			       "--budget conflicts with --stacks, --probe, --usdt and --app: what "
			       "these cost is not measured");
	if (rc == 0 && opts->user && !rules_are_sane(opts->user)) {
		AUTO_FREE char *safe = text_escaped(opts->user);

		return err_set(err, -EINVAL,
			       "--user-events needs patterns such as shop,net:rx*, got \"%s\"",
			       safe);
	}
	if (rc == 0 && opts->locks && opts->user && strcmp(opts->user, "none") == 0)
		return err_set(err, -EINVAL, "--user-events none conflicts with --locks");
	return rc < 0 ? rc : check_points(&opts->usdt, true, err);
}

int recording_preload(struct recording_opts *opts, struct record_opts *record, struct err *err)
{
	const struct preload_locks all = { .contended = false };
	int rc = app_option_read(opts->apps.items, opts->apps.count, &opts->known, err);

	if (rc < 0)
		return rc;
	record->apps = opts->known.table;
	record->apps_costly = opts->known.costly;
	if (!opts->locks)
		return 0;
	if (record->argv)
		preload_note(record->argv[0]);
	if (opts->user) {
		free(opts->user_and_locks);
		record->user = opts->user_and_locks = xasprintf("%s,lock", opts->user);
	}
	return preload_locks(NULL, &all, err);
}

int recording_leave_root(const struct recording_opts *opts, const char *dir, bool is_given,
			 struct err *err)
{
	if (opts->as_root)
		return 0;
	if (!opts->dir)
		tempdir_give();
	return is_given ? guard_drop_to_sudo_user(err) : rights_drop_for_trace(dir, err);
}

void recording_fini(struct recording_opts *opts)
{
	free(opts->probes.items);
	free(opts->usdt.items);
	free(opts->apps.items);
	app_option_fini(&opts->known);
	free(opts->user_and_locks);
}

bool recording_any(const struct recording_opts *opts)
{
	return opts->dir || opts->events || opts->buffer_bytes || opts->budget_ppm ||
	       opts->stacks || opts->stack_min || opts->sample || opts->no_names || opts->as_root ||
	       opts->no_bpf || opts->probes.count || opts->usdt.count || opts->apps.count ||
	       opts->user || opts->locks;
}

int recording_status(int wait_status)
{
	if (wait_status == -1)
		return 0;
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
}

static void recording_print_losses(const struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->cpu_count; i++) {
		const struct manifest_cpu *cpu = &manifest->cpus[i];

		if (cpu->lost + cpu->dropped > 0)
			fprintf(stderr,
				"  CPU %" PRIu32 " lost %s events; a larger --buffer loses fewer\n",
				cpu->cpu, text_count(cpu->lost + cpu->dropped).s);
	}
	for (size_t i = 0; i < manifest->missing_count; i++) {
		AUTO_FREE char *what = text_escaped(manifest->missing[i].what);
		AUTO_FREE char *why = text_escaped(manifest->missing[i].why);

		fprintf(stderr, "  not recorded: %s (%s)\n", what, why);
	}
}

/* A path as a word for a shell. */
static void recording_put_path(FILE *out, const char *path)
{
	AUTO_FREE char *safe = text_escaped(path);
	bool quote = safe[strspn(safe, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789/._-+:@%,")] != '\0';

	if (!quote) {
		fputs(safe, out);
		return;
	}
	fputc('\'', out);
	for (const char *c = safe; *c; c++)
		fputs(*c == '\'' ? "'\\''" : (char[]){ *c, '\0' }, out);
	fputc('\'', out);
}

/* The recorder gives the trace to the user who ran sudo, if it can and may. */
static bool needs_sudo(const char *dir)
{
	uid_t user = geteuid();
	gid_t group;
	struct stat st;

	/* Root by hand stays root. */
	if (user == 0 && !guard_user_ids(&user, &group))
		return false;
	return stat(dir, &st) < 0 || st.st_uid != user;
}

#define SHARE_SECONDS 5 /* the shortest recording of which a share of a CPU says something */

static double percent_of(uint64_t part_ns, double whole_ns)
{
	return whole_ns > 0 ? 100 * (double)part_ns / whole_ns : 0;
}

/* With what who had the events paid for them. */
static void tell_whole_cost(const struct record_result *result)
{
	const struct fact_cost cost = result->manifest->cost;
	double all_ns = result->seconds * 1e9 * cost.cpus;

	if (!cost.events_ns || !(all_ns > 0))
		return;
	fprintf(stderr,
		"  the events cost the programs about %s (estimated: %s ns each); all together about %.2f %% of the CPUs' time",
		text_duration(cost.events_ns).s,
		text_count(cost.events_ns / (result->events ? result->events : 1)).s,
		100 * (double)fact_cost_all_ns(&cost) / all_ns);
	if (cost.budget_ns)
		fprintf(stderr,
			"; without beginning and ending %.2f %%; the budget is %g %%, with %zu "
			"steps",
			fact_cost_kept(&cost), cost.budget_ppm / 1e4, result->manifest->step_count);
	fputc('\n', stderr);
}

/* What it cost: as holdup info tells it later. */
static void tell_cost(const struct record_result *result)
{
	const struct manifest *manifest = result->manifest;
	double seconds = result->seconds > 0 ? result->seconds : 1;

	if (!manifest->cost.cpu_ns)
		return;
	fprintf(stderr, "  the recorder used %s of CPU time",
		text_duration(manifest->cost.cpu_ns).s);
	/* Of a short one most is for beginning and ending. */
	if (seconds >= SHARE_SECONDS)
		fprintf(stderr, " (%.1f %% of a CPU)",
			percent_of(manifest->cost.cpu_ns, seconds * 1e9));
	if (manifest->cost.bpf_window_ns)
		fprintf(stderr, ", its BPF programs %.1f %% of a CPU in the first %s",
			percent_of(manifest->cost.bpf_ns, (double)manifest->cost.bpf_window_ns),
			text_duration(manifest->cost.bpf_window_ns).s);
	fprintf(stderr, "; %s events and %s a second\n",
		text_count((uint64_t)((double)result->events / seconds)).s,
		text_size((uint64_t)((double)result->bytes / seconds)).s);
	tell_whole_cost(result);
}

void recording_summary(const struct record_result *result, const struct record_opts *opts)
{
	/* What the kernel counted: of a trace that is cut, the last of them are not in it. */
	fprintf(stderr, "holdup: recorded %s: %s%s events, %s, ",
		text_duration((uint64_t)(result->seconds * 1e9)).s,
		result->is_cut ? "less than " : "", text_count(result->events).s,
		text_size(result->bytes).s);
	if (result->lost > 0)
		fprintf(stderr, "%s events lost%s\n", text_count(result->lost).s,
			result->is_cut ? ", and the end" : "");
	else
		fputs(result->is_cut ? "the end is lost\n" : "no events lost\n", stderr);
	tell_cost(result);
	if (result->user_processes)
		fprintf(stderr, "  and of %s %s: %s of events%s%s%s\n",
			text_count(result->user_processes).s,
			result->user_processes == 1 ? "program itself" : "programs themselves",
			text_size(result->user_bytes).s, result->user_lost ? ", " : "",
			result->user_lost ? text_count(result->user_lost).s : "",
			result->user_lost ? " lost" : "");
	if (result->user_half_bytes)
		fprintf(stderr, "  %s after incomplete events not copied\n",
			text_size(result->user_half_bytes).s);
	if (result->user_unread_bytes || result->user_is_cut)
		fprintf(stderr,
			"  %s of programs' trace files%s not read for lack of time; they are "
			"unchanged\n",
			text_size(result->user_unread_bytes).s,
			result->user_is_cut ? ", and more folders" : "");
	if (result->manifest)
		recording_print_losses(result->manifest);
	fprintf(stderr, "  see: %sholdup why ", needs_sudo(opts->dir) ? "sudo " : "");
	if (!opts->argv && opts->pid_count)
		fprintf(stderr, "--pid %d ", opts->pids[0]);
	else if (!opts->argv)
		fputs("-a ", stderr);
	recording_put_path(stderr, opts->dir);
	fputc('\n', stderr);
	if (!opts->names_later)
		return;
	fputs("  names of functions: holdup names ", stderr);
	recording_put_path(stderr, opts->dir);
	fputc('\n', stderr);
}
