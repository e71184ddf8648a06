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
#include "probe/rules.h"
#include "record/probe_spec.h"
#include "record/record.h"
#include "store/manifest.h"

void recording_fill(const struct recording_opts *opts, struct record_opts *out_record)
{
	out_record->dir = opts->dir;
	out_record->replace = true;
	out_record->is_temporary = !opts->dir; /* record, which has none, sets its own */
	out_record->events = opts->events;
	out_record->buffer_bytes = opts->buffer_bytes;
	out_record->stacks = opts->stacks;
	out_record->as_root = opts->as_root;
	out_record->no_bpf = opts->no_bpf;
	out_record->probes = opts->probes.items;
	out_record->probe_count = opts->probes.count;
	out_record->usdt = opts->usdt.items;
	out_record->usdt_count = opts->usdt.count;
	out_record->no_user = opts->user && strcmp(opts->user, "none") == 0;
	out_record->user = opts->user;
	out_record->phase = progress_phase;
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

	if (rc == 0 && opts->user && !rules_are_sane(opts->user)) {
		AUTO_FREE char *safe = text_escaped(opts->user);

		return err_set(err, -EINVAL,
			       "--user needs patterns such as shop,net:rx*, got \"%s\"", safe);
	}
	if (rc == 0 && opts->locks && opts->user && strcmp(opts->user, "none") == 0)
		return err_set(err, -EINVAL,
			       "--user none leaves out what --locks lets the command tell");
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
	return opts->dir || opts->events || opts->buffer_bytes || opts->stacks || opts->as_root ||
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

static void print_losses(const struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->cpu_count; i++) {
		const struct manifest_cpu *cpu = &manifest->cpus[i];

		if (cpu->lost + cpu->dropped > 0)
			fprintf(stderr,
				"  CPU %" PRIu32 " lost %s events: a larger --buffer loses less\n",
				cpu->cpu, text_count(cpu->lost + cpu->dropped).s);
	}
	for (size_t i = 0; i < manifest->missing_count; i++) {
		AUTO_FREE char *what = text_escaped(manifest->missing[i].what);
		AUTO_FREE char *why = text_escaped(manifest->missing[i].why);

		fprintf(stderr, "  not recorded: %s (%s)\n", what, why);
	}
}

/* A path as a word for a shell. */
static void put_path(FILE *out, const char *path)
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

void recording_summary(const struct record_result *result, const struct record_opts *opts)
{
	/* What the kernel counted: of a trace that is cut, the last of them are not in it. */
	fprintf(stderr, "holdup: recorded %s: %s%s events, %s, ",
		text_duration((uint64_t)(result->seconds * 1e9)).s,
		result->is_cut ? "less than " : "", text_count(result->events).s,
		text_size(result->bytes).s);
	if (result->lost > 0)
		fprintf(stderr, "%s events lost%s\n", text_count(result->lost).s,
			result->is_cut ? ", and its end" : "");
	else
		fputs(result->is_cut ? "its end is lost\n" : "no event lost\n", stderr);
	if (result->user_processes)
		fprintf(stderr, "  and of %s %s: %s of events%s%s%s\n",
			text_count(result->user_processes).s,
			result->user_processes == 1 ? "program itself" : "programs themselves",
			text_size(result->user_bytes).s, result->user_lost ? ", " : "",
			result->user_lost ? text_count(result->user_lost).s : "",
			result->user_lost ? " lost" : "");
	if (result->user_half_bytes)
		fprintf(stderr, "  without %s behind events that were half-written\n",
			text_size(result->user_half_bytes).s);
	if (result->user_unread_bytes || result->user_is_cut)
		fprintf(stderr,
			"  not looked at for lack of time: %s of programs' files%s; they stay as they were\n",
			text_size(result->user_unread_bytes).s,
			result->user_is_cut ? ", and more folders" : "");
	if (result->manifest)
		print_losses(result->manifest);
	fprintf(stderr, "  see: %sholdup why ", needs_sudo(opts->dir) ? "sudo " : "");
	if (!opts->argv && opts->pid_count)
		fprintf(stderr, "--pid %d ", opts->pids[0]);
	else if (!opts->argv)
		fputs("--pid PID ", stderr);
	put_path(stderr, opts->dir);
	fputc('\n', stderr);
}
