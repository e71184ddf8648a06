/*
 * name_child.h - names of code are read by a child that has nothing to lose: files and stacks may be anything.
 */
#ifndef RECORD_NAME_CHILD_H
#define RECORD_NAME_CHILD_H

#include <sys/types.h>

struct err;

/* In the child: from here on it reads and writes what is open, with a limit of CPU time and memory; or it ends. */
void name_child_give_up(void);

/*
 * Wait for its end, and end it after 'wait_ms'. Where it has to wait for a CPU, that is CPU time, but some seconds more
 * at the latest. Returns 0, or a negative errno with err filled: why it came to no end.
 */
int name_child_await(pid_t child, int wait_ms, struct err *err);

#endif
