/*
 * go_runtime.h - whether a process runs Go: its threads wait for work in futexes of Go's scheduler.
 *
 * What goroutines wait for: see goroutines.h. Who has a sync.Mutex, which notes no owner, is not seen.
 */
#ifndef STUCK_GO_RUNTIME_H
#define STUCK_GO_RUNTIME_H

#include <stdbool.h>

struct asleep;

/* By the note that Go's linker puts into each program. */
bool runs_go(struct asleep *asleep);

#endif
