/*
 * postgres_int.h - a server of PostgreSQL: its shared memory, and whose each PGPROC is.
 */
#ifndef STUCK_POSTGRES_INT_H
#define STUCK_POSTGRES_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "stuck/remote.h"

struct asleep;

/* Its processes are forks of one program: variables have one address in all, and so has shared memory. */
struct postgres {
	struct remote memory;  /* shared memory alone: else each process has its own */
	uint64_t my_proc;      /* the address of MyProc; 0 = it is no PostgreSQL */
	uint64_t my_pid;       /* of MyProcPid; 0 = not known */
	uint64_t wait_info;    /* of my_wait_event_info, since version 14; 0 = not known */
	struct map by_proc;    /* the address of a PGPROC, to the process whose MyProc it is */
	bool has_backends;     /* it is filled */
	bool has_all_backends; /* with all of them */
};

/* The server that a process is of, read once in a look. NULL = it is of none. */
struct postgres *postgres_of(struct asleep *asleep);

/* A variable of the process itself, of 8 bytes; 0 = not known. */
uint64_t postgres_variable(struct asleep *asleep, uint64_t address);

/* The process that has that PGPROC, in our numbers; 0 = none is known. */
int32_t postgres_backend(struct asleep *asleep, struct postgres *postgres, uint64_t proc);

#endif
