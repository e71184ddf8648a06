/*
 * opts.h - options as a table: parsed, explained and checked from the same rows.
 *
 *	static const struct opt_spec options[] = {
 *		{ "thread", "TID", "Explain this thread", opt_i32, offsetof(struct my_opts, tid) },
 *		{ "json", NULL, "Print JSON", opt_flag, offsetof(struct my_opts, json), 'j' },
 *		{ 0 },
 *	};
 *
 * "--thread 7", "--thread=7", "-j". Options may stand before and after operands;
 * "--" ends them. "-h" and "--help" are in every table without a row.
 */
#ifndef CLI_OPTS_H
#define CLI_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;

/* What the field of the options struct is. */
enum opt_type {
	opt_flag,     /* bool */
	opt_u32,      /* uint32_t */
	opt_u64,      /* uint64_t */
	opt_pid,      /* int32_t, above 0 */
	opt_pids,     /* struct opt_pids; repeated, or separated by commas */
	opt_size,     /* uint64_t, bytes: "64K", "1.5M" */
	opt_percent,  /* uint32_t, millionths, above 0, at most 100 %: "2", "0.5%" */
	opt_seconds,  /* double, above 0: "10", "0.5", "300ms" */
	opt_duration, /* uint64_t, ns: "300ms", "1.2s" */
	opt_string,   /* const char *, a view into argv */
	opt_strings,  /* struct opt_strings; repeated */
	opt_choice,   /* uint32_t: which word of 'arg', "auto|always|never" */
	opt_maybe,    /* struct opt_maybe: "--name" or "--name=NUMBER" */
};

struct opt_spec {
	const char *name; /* without dashes; NULL ends the table */
	const char *arg;  /* what the help calls its value; NULL for flags */
	const char *help; /* one line */
	enum opt_type type;
	size_t offset; /* of the field */
	char letter;   /* short option; 0 = none */
};

struct opt_pids {
	int32_t *pids; /* owned; free with free() */
	size_t count;
	size_t cap;
};

struct opt_strings {
	const char **items; /* owned, the texts are views into argv; free with free() */
	size_t count;
	size_t cap;
};

struct opt_maybe {
	bool given;
	uint32_t value; /* 0 without "=NUMBER" */
};

/* How an option was spelled before, and what it is now; a table of them ends with {0}. */
struct opt_moved {
	const char *old; /* "--until", "-F" */
	const char *now; /* "--to", "-f" */
};

/* Old spellings that opts_parse() refuses with the new ones named; NULL = none. The table must live on. */
void opts_set_moved(const struct opt_moved *moved);

/* What opts_parse() returns for --help; err has no text then. */
#define OPTS_HELP (-125) /* -ECANCELED */

/*
 * Parse argv[0..argc) into the struct at 'opts' (zeroed by the caller or preset).
 * argv is put in order: options, then operands, then "--" and the rest. Returns
 * the index of the first operand (or of "--", or argc), OPTS_HELP, or -EINVAL with
 * err filled: "option --buffer needs a size such as 512K or 4M, got \"12Q\"".
 */
int opts_parse(const struct opt_spec *specs, void *opts, int argc, char **argv, struct err *err);

/*
 * The command after "--" in argv[first..*argc), NULL without "--". *argc becomes
 * the end of the operands.
 */
char **opts_command(char **argv, int first, int *argc);

/* The table as help text, two columns. */
void opts_print(const struct opt_spec *specs, FILE *out);

/*
 * Words between blanks, or with '|' those of a choice, from where the line is now ('at'); what
 * does not fit into 80 columns goes on at 'column' of the next line.
 */
void opts_print_wrapped(FILE *out, size_t at, size_t column, const char *text, char between);

/* The candidate that 'word' was most likely meant to be, or NULL. */
const char *opts_near(const char *word, const char *const *candidates, size_t count);

/* The same as the end of a message, without regard to capitals: "; did you mean --pid?", or "". Owned. */
char *opts_hint(const char *word, const char *before, const char *const *candidates, size_t count);

/* 'word' is none of "list|on|off", or missing (NULL). Returns -EINVAL with err filled. */
int opts_unknown_word(const char *word, const char *choice, struct err *err);

#endif
