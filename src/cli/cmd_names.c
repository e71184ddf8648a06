/* cmd_names.c - holdup names: function names and lines for a trace that was recorded without them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "cli/progress.h"
#include "record/name_debuginfod.h"
#include "record/name_trace.h"
#include "report/vocabulary.h"

#define FILES_SHOWN 10

struct names_cmd {
	bool all;
	bool debuginfod;
	bool json;
};

static const struct opt_spec names_options[] = {
	{ "all", NULL, "Add lines and inlined functions to frames that have only a name, too",
	  opt_flag, offsetof(struct names_cmd, all) },
	{ "debuginfod", NULL, "Read missing files from the servers in DEBUGINFOD_URLS, by build-id",
	  opt_flag, offsetof(struct names_cmd, debuginfod) },
	{ "json", NULL, "Print JSON", opt_flag, offsetof(struct names_cmd, json) },
	{ 0 },
};

static size_t left_in(const struct named_file *file)
{
	return file->wanted - file->named + file->unlined - file->lined;
}

static const char *why_left(const struct named_file *file)
{
	switch (file->state) {
	case NAMED_FILE_READ:
		if (file->wanted == file->named)
			return "no debug file has lines for these addresses";
		return file->unlined > file->lined ? "no symbols or lines for these addresses"
						   : "no symbols for these addresses";
	case NAMED_FILE_OTHER_BUILD:
		return "another build than the recorded one";
	case NAMED_FILE_NO_ELF:
		return "not a program or library";
	case NAMED_FILE_CLOSED:
	case NAMED_FILE_CUT:
		break;
	}
	return file->why ? file->why : "unreadable";
}

static void print_left(const struct named_file *file)
{
	AUTO_FREE char *path = text_escaped(file->path);
	AUTO_FREE char *why = text_escaped(why_left(file));

	printf("  %s: %s frame%s: %s\n", path, text_count(left_in(file)).s,
	       left_in(file) == 1 ? "" : "s", why);
	if (file->not_fetched) {
		AUTO_FREE char *not_fetched = text_escaped(file->not_fetched);

		printf("    not fetched: %s\n", not_fetched);
	}
}

static void print_files(const struct named_trace *named)
{
	size_t shown = 0, files = 0;

	for (size_t i = 0; i < named->file_count; i++)
		files += left_in(&named->files[i]) > 0;
	if (!files)
		return;
	puts("Left as they are:");
	for (size_t i = 0; i < named->file_count && shown < FILES_SHOWN; i++) {
		if (!left_in(&named->files[i]))
			continue;
		print_left(&named->files[i]);
		shown++;
	}
	if (files > shown)
		printf("  and frames of %s more file%s\n", text_count(files - shown).s,
		       files - shown == 1 ? "" : "s");
}

static void names_print(const struct names_cmd *cmd, const struct named_trace *named)
{
	if (!named->wanted && !named->unlined)
		puts(cmd->all ? "Nothing to add: all frames of files have names and lines."
			      : "Nothing to add: all frames of files have names.");
	if (named->wanted)
		printf("Named %s of %s frames that had no name.\n", text_count(named->named).s,
		       text_count(named->wanted).s);
	if (named->unlined)
		printf("Added lines to %s of %s frames that had only a name.\n",
		       text_count(named->lined).s, text_count(named->unlined).s);
	print_files(named);
	if (named->no_file)
		printf("No names can be added to %s frame%s: their code is in no file with a "
		       "build-id.\n",
		       text_count(named->no_file).s, named->no_file == 1 ? "" : "s");
}

static void names_json_file(struct json *json, const struct named_file *file)
{
	static const char *const states[] = {
		[NAMED_FILE_READ] = "read",
		[NAMED_FILE_CLOSED] = "unreadable",
		[NAMED_FILE_OTHER_BUILD] = "other_build",
		[NAMED_FILE_NO_ELF] = "no_elf",
		[NAMED_FILE_CUT] = "cut",
	};

	json_begin_object(json, NULL);
	json_print_string(json, "path", file->path);
	json_print_string(json, "build_id", file->build_id);
	json_print_string(json, "state", states[file->state]);
	json_print_u64(json, "wanted", file->wanted);
	json_print_u64(json, "named", file->named);
	json_print_u64(json, "unlined", file->unlined);
	json_print_u64(json, "lined", file->lined);
	json_print_string(json, "why_left", left_in(file) ? why_left(file) : NULL);
	json_print_string(json, "not_fetched", file->not_fetched);
	json_end_object(json);
}

static void names_print_json(const struct named_trace *named)
{
	struct json json = { .out = stdout };

	report_json_begin(&json, NULL, "names");
	json_print_bool(&json, "written", named->is_written);
	json_print_u64(&json, "wanted", named->wanted);
	json_print_u64(&json, "named", named->named);
	json_print_u64(&json, "unlined", named->unlined);
	json_print_u64(&json, "lined", named->lined);
	json_print_u64(&json, "no_file", named->no_file);
	json_begin_array(&json, "files");
	for (size_t i = 0; i < named->file_count; i++)
		names_json_file(&json, &named->files[i]);
	json_end_array(&json);
	json_end_object(&json);
	json_fini(&json);
}

static int add_names(const struct names_cmd *cmd, const char *path, struct err *err)
{
	AUTO_FREE char *program = NULL;
	struct named_trace named = { 0 };
	int rc = cmd->debuginfod ? debuginfod_find_program(&program, err) : 0;

	if (rc == 0)
		rc = name_trace(path,
				&(struct name_trace_opts){ .all = cmd->all,
							   .debuginfod = program,
							   .phase = progress_phase },
				&named, err);
	if (rc == 0 && cmd->json)
		names_print_json(&named);
	else if (rc == 0)
		names_print(cmd, &named);
	named_trace_fini(&named);
	return rc;
}

static int run_names(int argc, char **argv)
{
	struct names_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(names_options, &cmd, argc, argv, &err), rc;
	const char *trace;

	if (first < 0)
		return command_usage(&cmd_names, first, &err);
	if (argc - first > 1)
		return command_usage(&cmd_names, err_set(&err, -EINVAL, "expected one trace"),
				     &err);
	trace = argc > first ? argv[first] : DEFAULT_TRACE;
	rc = load_check_default(trace, &err);
	if (rc == 0)
		rc = add_names(&cmd, trace, &err);
	progress_clear();
	return rc < 0 ? command_fail(&cmd_names, &err) : EXIT_OK;
}

const struct command cmd_names = {
	.name = "names",
	.args = "[OPTIONS] [TRACE]",
	.summary = "Add function names to a trace recorded with --no-names",
	.options = names_options,
	.details =
		"Reads symbols and debug information of the programs and libraries in the trace,\n"
		"and writes the names into the trace. Run it on the machine of the recording. A\n"
		"file is used only if its build-id is the recorded one. Run it again with --all\n"
		"after debug packages were installed.\n"
		"\n"
		"Without --debuginfod it never uses the network.\n"
		"\n"
		"Exit status: 0 done, also if frames are left without a name, 2 wrong usage,\n"
		"3 the trace could not be read or written.\n"
		"\n"
		"  sudo holdup record --no-names -- make && holdup names\n"
		"  holdup names --all run.holdup\n"
		"  DEBUGINFOD_URLS=https://debuginfod.debian.net holdup names --debuginfod\n",
	.only_reads = true,
	.run = run_names,
};
