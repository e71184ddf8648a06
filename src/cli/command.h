/*
 * command.h - a sub-command is a row: what the user types, its help, its function.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/exit.h"

struct err;
struct opt_moved;
struct opt_spec;

#define DEFAULT_TRACE "run.holdup" /* what is recorded, and read, when no other name is given */

struct command {
	const char *name;		/* what the user types */
	const char *args;		/* what follows it, for the usage line */
	const char *summary;		/* one line: starts with a verb, no full stop */
	const struct opt_spec *options; /* for parsing, help and completion */
	const struct opt_moved *moved;	/* old spellings; NULL = none */
	const char *details;		/* the end of the help: paragraphs, examples */
	bool only_reads;    /* needs no rights but to read its files; with "--" it may record */
	bool prints_report; /* on a terminal it goes through a pager */
	/* argv[0] is the first word after the name. Returns an enum exit_status, or what a
	 * recorded command exited with. */
	int (*run)(int argc, char **argv);
};

extern const struct command cmd_record;
extern const struct command cmd_recover;
extern const struct command cmd_user;
extern const struct command cmd_view;
extern const struct command cmd_watch;
extern const struct command cmd_why;
extern const struct command cmd_run;
extern const struct command cmd_locks;
extern const struct command cmd_cut;
extern const struct command cmd_delays;
extern const struct command cmd_top;
extern const struct command cmd_flight;
extern const struct command cmd_hot;
extern const struct command cmd_index;
extern const struct command cmd_info;
extern const struct command cmd_check;
extern const struct command cmd_check_trace;
extern const struct command cmd_learn;
extern const struct command cmd_model;
extern const struct command cmd_list;
extern const struct command cmd_names;
extern const struct command cmd_doctor;
extern const struct command cmd_stats;
extern const struct command cmd_breakdown;
extern const struct command cmd_states;
extern const struct command cmd_stuck;
extern const struct command cmd_export;

/*
 * For an opts_parse() that failed: print the help on stdout when it was asked for
 * (returns EXIT_OK), else the error and the usage line on stderr (returns EXIT_USAGE).
 */
int command_usage(const struct command *command, int code, const struct err *err);

/* Print "holdup NAME: <err>" on stderr. Returns EXIT_FAIL. */
int command_fail(const struct command *command, const struct err *err);

/*
 * End as this signal ends programs, so that a shell stops what it does; its status there is
 * 128 + signal. What was made is removed before. Returns that status if the signal is blocked.
 */
int command_end_by(int signal_number);

/* "1.2.3" */
const char *command_version(void);

/* The help of one command. */
void command_help(const struct command *command);

#endif
