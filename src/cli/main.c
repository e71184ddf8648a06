/* main.c - find the sub-command and run it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/opts.h"
#include "cli/pager.h"
#include "cli/rights.h"
#include "cli/tempdir.h"

#define SUMMARY_COLUMN 15 /* of the help */
#define NO_PAGER       "--no-pager"

/* One line per sub-command, in the order of the help text. */
static const struct command *const commands[] = {
	&cmd_why,	&cmd_view,    &cmd_stuck,	&cmd_record, &cmd_run,	  &cmd_stats,
	&cmd_breakdown, &cmd_states,  &cmd_hot,		&cmd_list,   &cmd_locks,  &cmd_info,
	&cmd_names,	&cmd_index,   &cmd_check_trace, &cmd_cut,    &cmd_check,  &cmd_watch,
	&cmd_flight,	&cmd_learn,   &cmd_model,	&cmd_export, &cmd_delays, &cmd_top,
	&cmd_user,	&cmd_recover, &cmd_doctor,
};

static const struct command *main_find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

static void print_help(FILE *out)
{
	fputs("holdup shows where a program was stuck, and why.\n\n"
	      "usage: holdup COMMAND [OPTIONS] ...\n\n",
	      out);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		fprintf(out, "  %-13s", commands[i]->name);
		opts_print_wrapped(out, SUMMARY_COLUMN, SUMMARY_COLUMN, commands[i]->summary, ' ');
		fputc('\n', out);
	}
	fputs("  help         Show the options of a command: holdup help COMMAND\n\n"
	      "On a terminal reports go through $HOLDUP_PAGER, $PAGER or less;\n"
	      "holdup --no-pager COMMAND prints them directly.\n"
	      "Start with:  sudo holdup why -- COMMAND ARGS...\n"
	      "Completion of bash, zsh and fish:  holdup completion SHELL\n\n"
	      "Exit status: 0 success, 1 problem found, 2 wrong usage, 3 failure.\n",
	      out);
}

static int unknown_command(const char *name)
{
	AUTO_FREE char *safe = text_escaped(name);
	const char *names[ARRAY_LEN(commands) + 4] = { "help", "completion", "--version",
						       "--help" };
	AUTO_FREE char *hint = NULL;

	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		names[4 + i] = commands[i]->name;
	hint = opts_hint(name, "", names, ARRAY_LEN(names));
	fprintf(stderr, "holdup: unknown command \"%s\"%s\n", safe, hint);
	fputs("usage: holdup COMMAND [OPTIONS] ...   (see: holdup help)\n", stderr);
	return EXIT_USAGE;
}

static int run_help(const char *name)
{
	const struct command *command;

	if (!name) {
		print_help(stdout);
		return EXIT_OK;
	}
	command = main_find_command(name);
	if (!command)
		return unknown_command(name);
	command_help(command);
	return EXIT_OK;
}

static int run_completion(const char *shell)
{
	const struct completion completion = { commands, ARRAY_LEN(commands) };
	struct err err = { 0 };
	int rc = completion_print(&completion, shell, stdout, &err);

	if (rc < 0)
		fprintf(stderr, "holdup: %s\n", err.text);
	return rc == 0 ? EXIT_OK : rc == -EINVAL ? EXIT_USAGE : EXIT_FAIL;
}

/* Output that did not reach its end is a failure: a full disk, a closed pipe. Who left the pager has seen enough. */
static int flushed(int status)
{
	int rc = terminal_finish();
	bool is_left = rc == -EPIPE && pager_is_begun();

	pager_end();
	if (rc == 0 || is_left)
		return status;
	fprintf(stderr, "holdup: cannot write the output: %s\n", strerror(-rc));
	return status == EXIT_USAGE ? status : EXIT_FAIL; /* who saw nothing has no answer */
}

static bool has_command(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0 || strcmp(argv[i], "--live") == 0)
			return true;
	}
	return false;
}

static int main_run_command(const struct command *command, bool pages, int argc, char **argv)
{
	struct err err = { 0 };

	tempdir_sweep();
	if (command->only_reads && !has_command(argc, argv) &&
	    rights_drop_for_words(argc, argv, &err) < 0)
		return command_fail(command, &err);
	opts_set_moved(command->moved);
	if (command->prints_report && pages)
		pager_want();
	return command->run(argc, argv);
}

int main(int argc, char **argv)
{
	const struct command *command;
	bool pages = argc < 2 || strcmp(argv[1], NO_PAGER) != 0;

	terminal_guard();
	argc -= !pages;
	argv += !pages;
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return flushed(run_help(NULL));
	if (strcmp(argv[1], "help") == 0)
		return flushed(run_help(argv[2]));
	if (strcmp(argv[1], "completion") == 0)
		return flushed(run_completion(argv[2]));
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		printf("holdup %s\n", command_version());
		return flushed(EXIT_OK);
	}
	command = main_find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return flushed(main_run_command(command, pages, argc - 2, argv + 2));
}
