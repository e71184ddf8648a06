/* command.c - what all sub-commands say in the same way. */
#include "cli/command.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/text.h"
#include "base/mem.h"
#include "cli/opts.h"
#include "cli/pager.h"
#include "cli/tempdir.h"

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

int command_end_by(int signal_number)
{
	const struct rlimit no_core = { 0 };
	sigset_t one;

	tempdir_remove();
	(void)fflush(NULL);
	pager_end();
	(void)setrlimit(RLIMIT_CORE, &no_core); /* SIGQUIT: nothing is wrong with us */
	(void)signal(signal_number, SIG_DFL);
	(void)sigemptyset(&one);
	(void)sigaddset(&one, signal_number);
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
	(void)raise(signal_number);
	return 128 + signal_number;
}

const char *command_version(void)
{
	return HOLDUP_VERSION;
}

/* Paragraphs are filled; lines that begin with a blank (examples, lists) stand for themselves. */
static void command_print_details(const char *text)
{
	AUTO_FREE char *paragraph = xstrdup("");

	for (bool more = true; more;) {
		size_t len = strcspn(text, "\n");
		AUTO_FREE char *line = xstrndup(text, len);
		bool is_prose = len > 0 && line[0] != ' ';

		more = text[len] != '\0' && text[len + 1] != '\0';
		text += len + (text[len] != '\0');
		if (is_prose) {
			char *longer = xasprintf("%s%s%s", paragraph, *paragraph ? " " : "", line);

			free(paragraph);
			paragraph = longer;
		}
		if (*paragraph && (!is_prose || !more)) {
			opts_print_wrapped(stdout, 0, 0, paragraph, ' ');
			putchar('\n');
			paragraph[0] = '\0';
		}
		if (!is_prose)
			puts(line);
	}
}

void command_help(const struct command *command)
{
	int used = printf("usage: holdup %s", command->name);

	opts_print_wrapped(stdout, (size_t)used, 14, command->args, ' ');
	printf("\n\n%s.\n\nOptions:\n", command->summary);
	opts_print(command->options, stdout);
	if (command->details) {
		putchar('\n');
		command_print_details(command->details);
	}
}
