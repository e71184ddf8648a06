/* command.c - what all sub-commands say in the same way. */
#include "cli/command.h"

#include <stdio.h>

#include "base/err.h"
#include "base/text.h"
#include "base/mem.h"
#include "cli/opts.h"

static void print_error(const struct command *command, const struct err *err)
{
	AUTO_FREE char *safe = text_escaped(err->text);

	fprintf(stderr, "holdup %s: %s\n", command->name, safe);
}

int command_usage(const struct command *command, int code, const struct err *err)
{
	if (code == OPTS_HELP) {
		command_help(command);
		return EXIT_OK;
	}
	print_error(command, err);
	fprintf(stderr, "usage: holdup %s %s   (see: holdup help %s)\n", command->name,
		command->args, command->name);
	return EXIT_USAGE;
}

int command_fail(const struct command *command, const struct err *err)
{
	print_error(command, err);
	return EXIT_FAIL;
}

const char *command_version(void)
{
	return HOLDUP_VERSION;
}

void command_help(const struct command *command)
{
	printf("usage: holdup %s %s\n\n%s.\n\nOptions:\n", command->name, command->args,
	       command->summary);
	opts_print(command->options, stdout);
	if (command->details)
		printf("\n%s", command->details);
}
