/*
 * command.h - the command that is recorded: start it held, let it go, watch it.
 *
 * The command stays in our process group, as with time(1) or strace(1): so it owns
 * the terminal as long as we do, job control of the shell stops and continues both,
 * and keys that send signals reach it without our help.
 *
 *	command_find    does it exist? before anything is made
 *	command_fork    a child that waits; its fork is in the trace
 *	command_go      the child executes; returns when that has worked or failed
 *	command_signal, command_reap
 */
#ifndef RECORD_COMMAND_H
#define RECORD_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct pidns;

struct command {
	pid_t pid;	   /* 0 = none */
	int pid_fd;	   /* readable when it has ended */
	int go_fd;	   /* the child waits for a byte from here */
	int error_fd;	   /* the errno of a failed exec comes from here */
	bool had_terminal; /* our process group was in the foreground */
};

#define COMMAND_NONE ((struct command){ .pid_fd = -1, .go_fd = -1, .error_fd = -1 })

/* What command_fork() needs to know. */
struct command_setup {
	char *const *argv;
	bool as_root;			/* do not become the user who ran sudo */
	const sigset_t *signal_mask;	/* for the command */
	const struct pidns *pidns;	/* for the child to mark */
	const char *const *environment; /* NAME=VALUE to add, ended by NULL; NULL = none */
};

/* Is there such a program on the PATH? Returns 0, or -ENOENT, -EACCES ... with err filled. */
int command_find(const char *name, struct err *err);

/* The first file of that name on the PATH that may be executed (or 'any'), or NULL. Free it. */
char *command_search(const char *name, bool any);

/*
 * Fork a child that becomes the user who ran sudo (if any) and waits: it sleeps when this
 * returns. Returns 0, or a negative errno with err filled.
 */
int command_fork(const struct command_setup *setup, struct command *out_command, struct err *err);

/*
 * Let the child execute the command. Returns 0 once it runs. If it could not be
 * executed the child is reaped and the negative errno returned with err filled.
 */
int command_go(struct command *command, const char *name, struct err *err);

/* Send a signal. Harmless when the command has ended. */
void command_signal(const struct command *command, int sig);

/* Take the wait status of a command that has ended, and close the descriptors. */
int command_reap(struct command *command);

/* Give up a child that waits, or one that runs (it goes on); close the descriptors. */
void command_drop(struct command *command);

/* The wait status a shell would show for this failure of exec: 127 or 126 as exit status. */
int command_exec_status(int code);

#endif
