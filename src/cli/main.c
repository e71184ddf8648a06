/* main.c - find the sub-command and run it. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/opts.h"

/* One line per sub-command, in the order of the help text. */
static const struct command *const commands[] = {
	&cmd_why,   &cmd_record, &cmd_run,     &cmd_stats,  &cmd_breakdown,   &cmd_states,
	&cmd_list,  &cmd_locks,	 &cmd_info,    &cmd_index,  &cmd_check_trace, &cmd_cut,
	&cmd_check, &cmd_watch,	 &cmd_learn,   &cmd_model,  &cmd_export,      &cmd_delays,
	&cmd_top,   &cmd_user,	 &cmd_recover, &cmd_doctor,
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

static void print_help(FILE *out)
{
	fputs("holdup says where a program was stuck, and why.\n\n"
	      "usage: holdup COMMAND [OPTIONS] ...\n\n",
	      out);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(out, "  %-13s%s\n", commands[i]->name, commands[i]->summary);
	fputs("  help         Show the options of a command: holdup help COMMAND\n\n"
	      "Start with:  sudo holdup why -- COMMAND ARGS...\n\n"
	      "Exit status: 0 done, 1 found the problem it looks for, 2 wrong usage, 3 could not.\n",
	      out);
}

static int unknown_command(const char *name)
{
	AUTO_FREE char *safe = text_escaped(name);
	const char *names[ARRAY_LEN(commands)];
	const char *near;

	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		names[i] = commands[i]->name;
	near = opts_near(name, names, ARRAY_LEN(names));
	fprintf(stderr, "holdup: there is no command \"%s\"%s%s%s\n", safe,
		near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
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
	command = find_command(name);
	if (!command)
		return unknown_command(name);
	command_help(command);
	return EXIT_OK;
}

/* Output that did not reach its end is a failure: a full disk, a closed pipe. */
static int flushed(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	perror("holdup: cannot write the output");
	return status == EXIT_OK ? EXIT_FAIL : status;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return flushed(run_help(NULL));
	if (strcmp(argv[1], "help") == 0)
		return flushed(run_help(argv[2]));
	if (strcmp(argv[1], "--version") == 0) {
		printf("holdup %s\n", command_version());
		return flushed(EXIT_OK);
	}
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return flushed(command->run(argc - 2, argv + 2));
}
