/*
 * idle_table.h - in which functions threads of known programs wait for work: a table, read from text.
 *
 *	program mariadbd mysqld                 files with such names; what follows is of code in these
 *	through os_event::wait*                 a wait for whatever: who called it says more
 *	idle tpool::*::wait_for_tasks           it waits for work there
 *	park runtime.findRunnable               a scheduler's thread: as above, if all threads are asked about
 *	poll runtime.netpoll                    the same, if only the runtime itself can end it
 *	idle uv_run < DelayedTaskScheduler::*   the same, called by that
 *	launch CallJavaMainInNewThread          it waits for the end of the thread that the program runs in
 *	lock *mutex*lock* take_gil              of all programs: a wait for a lock is none for work
 *	condition pthread_cond_*wait*           the same: a wait until somebody says that there is something
 *	task _worker@concurrent/futures/thread.py      what it calls is what a worker was given to do
 *	sleep pg_sleep                          it sleeps there, whatever it waits with
 *	await Future.result@concurrent/futures/_base.py    it waits for what such workers do, and for children
 *
 * docs/apps.md is the reference, known.idle the table that is built in.
 */
#ifndef EVENT_IDLE_TABLE_H
#define EVENT_IDLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idle_table;
struct stack_frame;
struct stacks;

/*
 * Read a table. Lines that are none are left out; *out_faulty is the number of the first of them, from 1; 0 = all
 * are good. Free it with idle_table_free().
 */
struct idle_table *idle_table_new(const char *text, size_t bytes, uint32_t *out_faulty);
void idle_table_free(struct idle_table *table); /* NULL is fine */

/*
 * Say of all stacks whether a thread with it waits for work: sets 'idle', and what stands with it. 'is_plain' tells of a frame whether it is of the
 * C library or a language's own, which wait for anybody.
 */
void idle_table_mark(const struct idle_table *table, struct stacks *stacks,
		     bool (*is_plain)(const struct stack_frame *frame));

/* The table that is built in. */
struct idle_table *idle_table_known(void);

#endif
