/*
 * child.h - wait for a process that was started; what it does first.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <sys/types.h>

/* Until it ends. Returns its status, as of waitpid(), or a negative errno. May be called by a handler. */
int child_await(pid_t child);

/* In a child, before it executes another program: every signal as any program expects it, none blocked. */
void child_reset_signals(void);

#endif
