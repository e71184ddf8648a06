/*
 * pager.h - a report that a terminal would show is shown by a pager, as git does it.
 *
 * The pager is a child that waits for the first byte of the report: until then the terminal is ours, for
 * progress and messages, and where no report comes no pager starts. It is made before the command becomes
 * a reader, which can execute nothing, and never runs as root for a user: under sudo the child becomes
 * that user for good before we rely on it.
 *
 *	pager_want   the command prints a report, and the user did not say --no-pager
 *	pager_begin  from here on stdout leads to the pager; before the rights are given up
 *	pager_end    the report is over: wait until the user has read it
 */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include <stdbool.h>

/* Does nothing unless stdout is a terminal and there is a pager to run. */
void pager_want(void);

/* Does nothing unless wanted, and when called again. Where the pager cannot begin, there is none. */
void pager_begin(void);

/* Stdout leads to a pager. */
bool pager_is_begun(void);

/*
 * A signal that ends us (SIGINT ...) waits until the pager has ended, as it has the terminal. For who had
 * handlers of their own when the pager began, and has them no more.
 */
void pager_catch_signals(void);

/* All was printed: nothing follows to stdout. Says when the pager could not run. */
void pager_end(void);

#endif
