/*
 * child.h - wait for a process that was started; what it does first.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Until it ends. Returns its status, as of waitpid(), or a negative errno. May be called by a handler. */
int child_await(pid_t child);

/* In a child, before it executes another program: every signal as any program expects it, none blocked. */
void child_reset_signals(void);

/* In a child: these become 3, 4 and so on, and what is open behind them is closed. False: it cannot go on. */
bool child_keep_fds(int *fds, size_t count);

#endif
