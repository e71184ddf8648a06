/*
 * completion.h - what bash, zsh and fish complete: made from the tables of commands and options.
 *
 * What a value is stands in the help already: "FILE", "PID", "auto|always|never". One table says
 * what each of these words completes to, and how each shell does that.
 */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include <stddef.h>
#include <stdio.h>

struct command;
struct err;

/* The commands, as main() has them. */
struct completion {
	const struct command *const *commands;
	size_t count;
};

/*
 * Print the completion of "bash", "zsh" or "fish". Returns 0, or -EINVAL with err filled for another
 * shell, and -ENOENT for an option whose value is called what the table of kinds does not know.
 */
int completion_print(const struct completion *completion, const char *shell, FILE *out,
		     struct err *err);

#endif
